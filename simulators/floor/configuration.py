"""The configuration of a daemon for the shoes of a floor.

In: the tables, the file's path. Out: the file, for ``shoectl run``.
Must not know: how the daemon reads it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from simulators.errors import PortFault, WrongUsage
from simulators.floor.paced_table import PacedTable

_FIRST_LINE = "# Written by shoe-sim floor, which overwrites it."

_HEAD = """\
{first_line}
# Run the daemon in another terminal: shoectl run --config {file}

[journal]
path = {journal}

[socket]
path = {socket}

[[socket.user]]
user = {user}
position = "gaming_shift_manager"
"""

_TABLE = """
[[table]]
id = "{name}"
game = {game}
decks = {decks}
announcements = "implied"
method_b = {{faces = "face_up", face_up_after_ms = 0}}
shoe = {{profile = "reference", port = "{port}"}}
"""


def check_writable(path: Path) -> None:
    """Check that the file is new, or was written by this command.

    Raises:
        WrongUsage: it is another file.
        PortFault: it cannot be read.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise WrongUsage("--config: the file's name is not UTF-8: name a new one") from None
    try:
        if path.exists() and not path.is_file():
            raise WrongUsage(f"--config {path}: there is something that is no file: name a new one")
        with path.open("rb") as file:
            found = file.read(len(_FIRST_LINE))
    except FileNotFoundError:
        return
    except OSError as error:
        raise PortFault(f"cannot read {path}: {error.strerror}") from None
    if found != _FIRST_LINE.encode():
        raise WrongUsage(
            f"--config {path}: this file is not of shoe-sim floor: name a new one, or remove it"
        )


def write(
    path: Path,
    tables: Sequence[PacedTable],
    *,
    game: str,
    decks: int,
    run: str,
) -> None:
    """Write the file, whole or not at all. The journal of each run is a new one beside it.

    Raises:
        PortFault: it cannot be written.
    """
    head = _HEAD.format(
        first_line=_FIRST_LINE,
        file=path if str(path).isprintable() else _text(str(path)),
        journal=_text(f"{path.stem}-{run}.journal"),
        socket=_text(f"{path.stem}.sock"),
        user=os.getuid(),
    )
    parts = [
        _TABLE.format(
            name=table.name,
            game=_text(game),
            decks=decks,
            port=table.address,
        )
        for table in tables
    ]
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        beside.write_text("".join((head, *parts)))
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise PortFault(f"cannot write {path}: {error.strerror}") from None


def _text(value: str) -> str:
    """Return a text as a TOML string, which is written as in JSON."""
    return json.dumps(value)
