"""What happened to a record that does not follow from the one before it.

In: the record, the chains up to it, the records after it. Out: its place and why, in one line.
Must not know: files. It tries what would explain the record and its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from .chain import GENESIS, link
from .reader import Head

_Row = tuple[int, str, str, bytes, bytes]


class BadRecord(msgspec.Struct, frozen=True):
    """Where a journal first is not what was written.

    ``n`` is the record's number, of the missing one where one is missing. ``table`` is None where
    nothing that is left tells it.
    """

    table: str | None
    n: int
    why: str


class Break(msgspec.Struct, frozen=True):
    """A record that is not what is due: ``ends`` are the chains' ends before it.

    ``after`` gives the records behind it.
    """

    row: _Row
    ends: Mapping[str, bytes]
    heads: Mapping[str, Head]
    after: Callable[[], Iterator[_Row]]

    def end(self, table: str) -> bytes:
        """The hash that the next record of this table should follow."""
        return self.ends.get(table, GENESIS)


def diagnose_gap(broken: Break, expected: int) -> BadRecord:
    """``broken.row`` has another number than ``expected``."""
    n, table, *_ = broken.row
    if n < expected:
        return BadRecord(table, n, f"added: records are numbered from {expected}")
    last = "" if n == expected + 1 else f" to {n - 1}"
    return BadRecord(_widowed(broken), expected, f"missing: no record {expected}{last}")


def _widowed(broken: Break) -> str | None:
    """The first table whose chain lost a record."""
    ends = dict(broken.ends)
    for n, table, kind, body, digest in _from_break(broken):
        if link(ends.get(table, GENESIS), n, table, kind, body) != digest:
            return table
        ends[table] = digest
    for table, head in broken.heads.items():
        if ends.get(table) != head.hash:
            return table
    return None


def _from_break(broken: Break) -> Iterator[_Row]:
    yield broken.row
    yield from broken.after()


def diagnose(broken: Break) -> BadRecord:
    """``broken.row`` has the right number, but its hash is not the one due."""
    n, table, kind, body, digest = broken.row
    if n > max((head.n for head in broken.heads.values()), default=0):
        return BadRecord(table, n, "added: it stands behind the journal's end")
    displaced = _displaced(broken)
    if displaced is not None:
        return displaced
    if link(broken.end(table), n + 1, table, kind, body) == digest:
        return BadRecord(None, n, "missing: taken out, and the records after it renumbered")
    return _by_successor(broken)


def diagnose_in_export(broken: Break) -> BadRecord:
    """As ``diagnose``, where numbers have gaps: other tables' records stand elsewhere."""
    found = _by_successor(broken)
    if found.why == "altered":  # the same is seen where the record before it is not there
        return BadRecord(found.table, found.n, "altered: or missing, the record before it")
    return found


def _by_successor(broken: Break) -> BadRecord:
    """What the table's next record followed tells what stood here."""
    n, table, kind, body, digest = broken.row
    due = link(broken.end(table), n, table, kind, body)
    for later_n, later_table, later_kind, later_body, later_digest in broken.after():
        if later_table != table:
            continue

        def follows(
            before: bytes,
            number: int,
            *,
            record: tuple[str, bytes, bytes] = (later_kind, later_body, later_digest),
        ) -> bool:
            return link(before, number, table, record[0], record[1]) == record[2]

        if follows(digest, later_n):
            return BadRecord(table, n, "altered")
        if follows(due, later_n):
            return BadRecord(table, n, "altered: its hash")
        if follows(digest, later_n + 1):
            why = "missing: taken out, and the records after it renumbered"
            return BadRecord(table, n, why)
        break
    else:
        head = broken.heads.get(table)
        if head is not None and head.n == n and head.hash in (digest, due):
            return BadRecord(table, n, "altered" if head.hash == digest else "altered: its hash")
    return BadRecord(table, n, "altered: it does not follow from the table's record before it")


def _displaced(broken: Break) -> BadRecord | None:
    """Finds the record that stood here among those behind it, if it is there."""
    n, table, kind, body, digest = broken.row
    running = dict(broken.ends)
    for at, other, other_kind, other_body, other_digest in broken.after():
        if link(broken.end(other), n, other, other_kind, other_body) == other_digest:
            came_from = (running.get(table, GENESIS), other_digest)
            if any(link(before, at, table, kind, body) == digest for before in came_from):
                return BadRecord(other, n, f"out of order: record {n} stands at {at}")
            return BadRecord(table, n, f"added: what was record {n} stands at {at}")
        running[other] = other_digest
    return None
