"""Replay under other game files than those that the journal keeps: what they would have told.

In: game files. Out: controllers under them, for the tables that were started with these games.
Must not know: what is compared, how it is shown.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from shoe_ctl.errors import GameFileError
from shoe_ctl.games import catalog, form
from shoe_ctl.games.game import Game
from shoe_ctl.history import rules, snapshots
from shoe_ctl.history.revised import Told
from shoe_ctl.journal.bodies import Meta, Snapshot
from shoe_ctl.table.controller import TableController


class OtherGames:
    """``games`` by id. ``used`` are those that a table was started with."""

    def __init__(self, games: dict[str, Game]) -> None:
        self.games = games
        self.used: set[str] = set()

    def controller(self, kept: Meta, before: TableController | None) -> TableController:
        """As ``rules.controller``, but under the other file of the same game where there is one.

        Raises:
            JournalError: the settings or the game file that was kept cannot be read.
            ConfigError: the table's settings do not go with the other file.
        """
        try:
            other = self.games.get(form.parse(kept.game, "the journal's game file").id)
        except GameFileError:
            other = None  # for whoever reads it next to complain of
        if other is not None:
            self.used.add(other.id)
            kept = msgspec.structs.replace(kept, game=other.source)
        return rules.controller(kept, before)

    def begin_late(self, kept: Meta, snapshot: Snapshot) -> tuple[TableController, Told] | None:
        """As ``resuming.begin_late``, but from then on under the other file of the same game.

        Raises:
            JournalError: the settings or the game file that was kept cannot be read.
            ConfigError: the table's settings do not go with the other file.
        """
        if (stood := snapshots.begin_late(kept, snapshot)) is None:
            return None
        return self.controller(kept, stood[0]), stood[1]

    def agrees(self, controller: TableController, snapshot: Snapshot) -> bool:
        """How a table would have stood under other rules, no snapshot says."""
        return controller.game.id in self.used or snapshots.agrees(controller, snapshot)


def _files(path: Path) -> list[Path]:
    try:
        return sorted(path.glob("*.toml")) if path.is_dir() else [path]
    except OSError as error:
        raise GameFileError(f"{path}: cannot be read: {error.strerror}") from None


def read(path: Path) -> OtherGames:
    """The game in a file, or all those in a folder.

    Raises:
        GameFileError: a file cannot be read or is no good, there is none, or two of one game.
    """
    found: dict[str, Game] = {}
    for file in _files(path):
        game = catalog.load_file(file)
        if game.id in found:
            raise GameFileError(f"{file}: another file beside it is of {game.id} too")
        found[game.id] = game
    if not found:
        raise GameFileError(f"{path}: there is no game file (*.toml) in it")
    return OtherGames(found)
