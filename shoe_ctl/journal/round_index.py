"""The index of rounds: which records say how a round was opened, what came of it, how it ended.

In: the events of a commit; a query. Out: rows of the index's table; rounds, each with the numbers
of its records. Must not know: what an event's data means, how a round is shown.

The index says where, never what: a round is told from its own records. It follows from the records,
and verifying compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from struct import Struct
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from shoe_ctl.journal.batch import EventEntry

TABLES: Final = """
CREATE TABLE round (
    n       INTEGER PRIMARY KEY,
    "table" TEXT NOT NULL,
    shoe    INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    t_us    INTEGER NOT NULL,
    records BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX round_id ON round ("table", shoe, number);
"""
"""``n`` and ``t_us`` are the record that opened the round, and its time; ``records`` are its events
in ``TYPES``, that one first, each as eight bytes. Where an event has two copies it is the
restricted one."""

OPENED: Final = "round.opened"

TYPES: Final = frozenset(
    {
        OPENED,
        "round.outcome",
        "round.revised",
        "round.reopened",
        "round.settled",
        "round.void",
        "irregularity.raised",
        "wager.settled",
        "wager.revised",
    }
)
"""The events of a round that the index leads to."""

TAKE_OUT: Final = "DELETE FROM round WHERE n < ?"

_OPEN = "INSERT OR IGNORE INTO round VALUES (?, ?, ?, ?, ?, x'')"
_ADD = (
    "UPDATE round SET records = CAST(records || ? AS BLOB)"
    ' WHERE "table" = ? AND shoe = ? AND number = ?'
)
_COLUMNS = 'n, "table", shoe, number, t_us, records'
_TYPES_OF_COLUMNS = (int, str, int, int, int, bytes)
_NUMBER = Struct(">Q")
_ID = re.compile(r"(.+)-s(0|[1-9][0-9]{0,17})-r(0|[1-9][0-9]{0,17})")


class RoundId(NamedTuple):
    """A round by its table, the number of the table's set of cards, and its number in that set."""

    table: str
    shoe: int
    number: int

    def __str__(self) -> str:
        return f"{self.table}-s{self.shoe}-r{self.number}"


class IndexedRound(msgspec.Struct, frozen=True, gc=False):
    """A round, when it was opened (µs since 1970 UTC), and the records of its events in ``TYPES``.

    The first of ``records`` opened it.
    """

    id: RoundId
    t_us: int
    records: tuple[int, ...]


class RoundQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions for a list of rounds: those are listed for which every value given holds.

    ``since_us`` (inclusive) and ``until_us`` (exclusive) are when a round was opened, in µs since
    1970 UTC. ``after`` and ``before`` are records: it was opened by a later, an earlier one.
    ``last`` is how many of the newest.
    """

    table: str | None = None
    shoe: int | None = None
    since_us: int | None = None
    until_us: int | None = None
    after: int | None = None
    before: int | None = None
    last: int | None = None


@lru_cache(1 << 12)
def round_id(subject: str) -> RoundId | None:
    """Return the round that an event is about; None where its subject names none."""
    found = _ID.fullmatch(subject)
    return None if found is None else RoundId(found[1], int(found[2]), int(found[3]))


def round_of(table: str, type_: str, subject: str | None) -> RoundId | None:
    """Return the round whose entry leads to an event; None where the index has nothing to do."""
    if type_ not in TYPES or subject is None:
        return None
    found = round_id(subject)
    return found if found is not None and found.table == table else None


class Changes:
    """The changes that a transaction makes to the index."""

    def __init__(self) -> None:
        self._opened: list[tuple[int, str, int, int, int]] = []
        self._records: dict[RoundId, bytearray] = {}

    def take(self, events: Iterable[tuple[EventEntry, int]]) -> None:
        """Take events in ``TYPES``, each with its record's number."""
        for event, n in events:
            of = round_of(event.table, event.type, event.subject)
            if of is None:
                continue
            if event.type == OPENED:
                self._opened.append((n, *of, event.t_us))
            self._records.setdefault(of, bytearray()).extend(_NUMBER.pack(n))

    def write(self, connection: apsw.Connection) -> None:
        """Change the index. A round that was not opened in this journal is in none.

        Raises:
            apsw.Error: it cannot be written.
        """
        for row in self._opened:
            connection.execute(_OPEN, row)
        for of, records in self._records.items():
            connection.execute(_ADD, (bytes(records), *of))


def select(query: RoundQuery, *, limit: int, after: int | None) -> tuple[str, list[int | str]]:
    """Return a statement and its values: the next rows of a query, ``limit`` at most.

    They go up from the record ``after``; where a number of the last ones is asked for, down.
    """
    where, values = [], list[int | str]()
    by_number = "+" if query.shoe is None else ""  # SQLite would sort all rounds of the table
    for condition, value in (
        (f'{by_number}"table" = ?', query.table),
        ("shoe = ?", query.shoe),
        ("t_us >= ?", query.since_us),
        ("t_us < ?", query.until_us),
        ("n > ?", query.after),
        ("n < ?", query.before),
        ("n > ?" if query.last is None else "n < ?", after),
    ):
        if value is not None:
            where.append(condition)
            values.append(value)
    order = "ASC" if query.last is None else "DESC"
    conditions = f" WHERE {' AND '.join(where)}" if where else ""
    return f"SELECT {_COLUMNS} FROM round{conditions} ORDER BY n {order} LIMIT {limit:d}", values


def select_round(of: RoundId) -> tuple[str, list[int | str]]:
    """Return a statement and its values: the row of one round."""
    return f'SELECT {_COLUMNS} FROM round WHERE "table" = ? AND shoe = ? AND number = ?', [*of]


def indexed_round(row: tuple[Any, ...]) -> IndexedRound | None:
    """Return a row of the index as a round; None if no writer stored such a row."""
    if tuple(map(type, row)) != _TYPES_OF_COLUMNS:
        return None
    n, table, shoe, number, t_us, records = row
    if not records or len(records) % _NUMBER.size:
        return None
    numbers = tuple(at for (at,) in _NUMBER.iter_unpack(records))
    if numbers[0] != n or any(at >= behind for at, behind in pairwise(numbers)):
        return None
    return IndexedRound(RoundId(table, shoe, number), t_us, numbers)
