"""Whether a row of the log has the form of a record: in a damaged file it may hold anything.

In: rows as SQLite gives them. Out: the first that is no record, by place; an error that names it.
Must not know: files, chains, what a body means.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shoe_ctl.errors import JournalError

Row = tuple[int, str, str, bytes, bytes]
"""A record: n, table, kind, body, hash."""

LONGEST_NAME = 0xFFFF
"""Bytes of a table's name or a kind: their length is hashed in two."""

_TYPES = (int, str, str, bytes, bytes)


class SpoiltRecord(JournalError):
    """Record ``n`` cannot be read as one; ``table`` is None where that cannot be read either."""

    def __init__(self, journal: Path, n: int, table: str | None) -> None:
        super().__init__(
            f"journal {journal} is damaged: record {n} cannot be read; shoectl verify tells more"
        )
        self.n = n
        self.table = table


def first_spoilt(rows: Sequence[Row]) -> int | None:
    """The place of the first row that no writer stored; None where each has a record's form.

    SQLite holds a column to its type when it is written, and never looks again. Columns are looked
    at whole: there are millions of rows.
    """
    columns = list(zip(*rows, strict=True))
    if not columns:
        return None
    typed = all(set(map(type, of)) == {due} for due, of in zip(_TYPES, columns, strict=True))
    if typed and _short({*columns[1], *columns[2]}):
        return None
    return next(at for at, row in enumerate(rows) if not _is_sound(row))


def _is_sound(row: Row) -> bool:
    return tuple(map(type, row)) == _TYPES and _short({row[1], row[2]})


def _short(names: set[str]) -> bool:
    return all(len(name.encode()) <= LONGEST_NAME for name in names)
