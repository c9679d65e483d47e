"""A store in SQLite: positions and standing rounds, in one transaction with your own tables.

In: what is due, a function with your own effect. Out: rows. An example to copy for other databases.
Must not know: transports, what your effect is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from shoe_events.consumer import Due
from shoe_events.event import Audience
from shoe_events.position import Position
from shoe_events.rounds import Change, Round, Standing, change_of

_TABLES = """
CREATE TABLE IF NOT EXISTS shoe_position (
    source TEXT NOT NULL, audience TEXT NOT NULL, position TEXT NOT NULL,
    PRIMARY KEY (source, audience)
);
CREATE TABLE IF NOT EXISTS shoe_round (
    source TEXT NOT NULL, audience TEXT NOT NULL, round_id TEXT NOT NULL, result TEXT NOT NULL,
    event_id TEXT NOT NULL, number INTEGER NOT NULL, told_in TEXT NOT NULL,
    PRIMARY KEY (source, audience, round_id)
);
CREATE INDEX IF NOT EXISTS shoe_round_event ON shoe_round (event_id, audience);
"""
_COLUMNS = "source, audience, round_id, result, event_id, number, told_in"

Effect = Callable[[sqlite3.Connection, Due, Change | None], None]
"""What an application makes of an event: it writes to its own tables, and commits nothing."""


class SqliteStore:
    """Applies events to a database. The connection is yours; its tables begin with ``shoe_``.

    ``effect`` is called inside the transaction that also stores the position: both are in the
    database, or neither is, wherever the program ends.
    """

    def __init__(self, db: sqlite3.Connection, effect: Effect) -> None:
        self._db = db
        self._effect = effect
        db.executescript(_TABLES)

    def positions(self) -> list[Position]:
        """Return what a ``Consumer`` is to begin with."""
        rows = self._db.execute("SELECT position FROM shoe_position").fetchall()
        return [Position.from_json(text) for (text,) in rows]

    def apply(self, due: Due) -> None:
        """Apply an event: what ``effect`` does, how its round stands, and the position."""
        with self._db:
            change = change_of(due, self.round, self._round_of_event)
            if change is not None:
                self._set_round(change.now)
            self._effect(self._db, due, change)
            position = due.position
            self._db.execute(
                "INSERT OR REPLACE INTO shoe_position VALUES (?, ?, ?)",
                (position.source, position.audience, position.to_json()),
            )

    def round(self, key: Round) -> Standing | None:
        """Return how a round stands; None if nothing was told of it."""
        return self._find(
            "source = ? AND audience = ? AND round_id = ?", (key.source, key.audience, key.round_id)
        )

    def _round_of_event(self, event_id: str, audience: Audience) -> Standing | None:
        return self._find("event_id = ? AND audience = ? ORDER BY rowid DESC", (event_id, audience))

    def _find(self, where: str, values: tuple[str, ...]) -> Standing | None:
        found = self._db.execute(f"SELECT {_COLUMNS} FROM shoe_round WHERE {where}", values)
        row = found.fetchone()
        if row is None:
            return None
        source, audience, round_id, result, event_id, number, told_in = row
        return Standing(Round(source, audience, round_id), result, event_id, number, told_in)

    def _set_round(self, now: Standing) -> None:
        key = now.round
        self._db.execute(
            f"INSERT OR REPLACE INTO shoe_round ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                key.source, key.audience, key.round_id,
                now.result, now.event_id, now.number, now.told_in,
            ),
        )  # fmt: skip
