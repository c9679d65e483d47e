"""The games there are: those shipped, and files a casino wrote.

In: a shipped game's id, or a path. Out: Games. The only module of the package that touches files.
"""

from __future__ import annotations

from pathlib import Path

from shoe_ctl.errors import GameFileError
from shoe_ctl.games.game import Game
from shoe_ctl.games.game_file import parse
from shoe_ctl.toml import MOST_BYTES

_DATA = Path(__file__).with_name("data")


def shipped() -> tuple[str, ...]:
    """Return the ids of the games that come with the product, in alphabetical order."""
    return tuple(sorted(path.stem for path in _DATA.glob("*.toml")))


def source(game: str) -> bytes:
    """Return the file of a shipped game, by its id."""
    return (_DATA / f"{game}.toml").read_bytes()


def load(ref: str) -> Game:
    """Return a shipped game by its id, or the game in the file at this path.

    Raises:
        GameFileError: no such game or file, or the file is not a good game file.
    """
    if ref in shipped():
        return parse(source(ref), f"{ref}.toml")
    path = Path(ref)
    if path.suffix != ".toml" and not _is_file(path):
        raise GameFileError(
            f"no such game: {ref} (shipped: {', '.join(shipped())}; or a path to a .toml file)"
        )
    return load_file(path)


def load_file(path: Path) -> Game:
    """Return the game in this file.

    Raises:
        GameFileError: the file cannot be read, or is not a good game file.
    """
    try:
        with path.open("rb") as file:
            source = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a path that no system takes
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise GameFileError(f"{path}: cannot be read: {why}") from None
    if len(source) > MOST_BYTES:
        raise GameFileError(f"{path}: no game file has more than {MOST_BYTES:,} bytes")
    return parse(source, str(path))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # no name that any file can have, a folder that is closed
        return False
