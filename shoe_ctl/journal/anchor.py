"""The anchor of a journal: its first record, or the checkpoint that a truncated one begins at.

In: a reader. Out: the first record's number, every chain's end and the event counters before it.
Must not know: why older records were removed, who has them.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from shoe_ctl.journal.chain import GENESIS, Fault, read_checkpoint
from shoe_ctl.journal.merkle_tree import Frontier
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, InvalidRow, Kind
from shoe_ctl.records import Record


class Anchor(msgspec.Struct, frozen=True):
    """The journal's first record is ``n``. ``ends`` are the chains' ends before it.

    ``told`` counts the events, public and restricted, that each table had before it. ``size``
    counts the groups before it, and ``frontier`` is the right edge of their tree.
    """

    n: int = 1
    ends: Mapping[str, bytes] = {}
    counters: Mapping[str, tuple[int, int]] = {}
    size: int = 0
    frontier: tuple[bytes, ...] = ()

    def tree(self) -> Frontier:
        """Return the tree of the groups before the first record, to go on with."""
        return Frontier(self.size, self.frontier)

    def end(self, table: str) -> bytes:
        """Return the hash that the table's first record here follows."""
        return self.ends.get(table, GENESIS)


FIRST_RECORD = Anchor()


class WrongAnchor(Exception):
    """Record ``n`` is not the one that the journal begins with by its last checkpoint."""

    def __init__(self, n: int, fault: Fault, detail: str) -> None:
        super().__init__(f"record {n}: {fault.value}: {detail}")
        self.n = n
        self.fault = fault
        self.detail = detail


def find_anchor(reader: Reader) -> Anchor:
    """Return where the journal begins: as its last checkpoint says, or where an export begins.

    Raises:
        WrongAnchor: it does not begin where it says it does.
        JournalError: the journal cannot be read.
    """
    if reader.is_export:
        return _of_export(reader)
    try:
        return _of_journal(reader)
    except InvalidRow:
        return FIRST_RECORD  # whoever walks the records comes to it


def _of_journal(reader: Reader) -> Anchor:
    last = _last_checkpoint(reader)
    while True:
        try:
            return _named_by(reader, last)
        except WrongAnchor:  # or a daemon took records out between the two reads
            before, last = last, _last_checkpoint(reader)
            if last is None or before is None or last.n == before.n:
                raise


def _last_checkpoint(reader: Reader) -> Record | None:
    return next(reader.indexed_records(JOURNAL, Kind.CHECKPOINT), None)


def _named_by(reader: Reader, last: Record | None) -> Anchor:
    """Return where the journal begins, as this last checkpoint has it."""
    if last is None:
        return FIRST_RECORD
    try:
        begins = read_checkpoint(last.body).begins
    except ValueError:
        return FIRST_RECORD  # whoever walks the records comes to it
    if begins is None:
        return FIRST_RECORD
    if not 1 <= begins.n < last.n:
        raise WrongAnchor(last.n, Fault.ALTERED, "it is no checkpoint")
    first = next(reader.records(after=begins.n - 1, upto=begins.n), None)
    if first is None or (first.table, first.kind) != (JOURNAL, Kind.CHECKPOINT.value):
        raise WrongAnchor(begins.n, Fault.MISSING, "the checkpoint with which the journal begins")
    return anchor_at(first, begins.counters)


def _of_export(reader: Reader) -> Anchor:
    first = next(reader.records(), None)
    if first is None or (first.table, first.kind) != (JOURNAL, Kind.CHECKPOINT.value):
        return FIRST_RECORD
    return anchor_at(first, {})


def anchor_at(first: Record, counters: Mapping[str, tuple[int, int]]) -> Anchor:
    """Return the anchor that a checkpoint is, with so many events of each table before it.

    Raises:
        WrongAnchor: it is no checkpoint.
    """
    try:
        said = read_checkpoint(first.body)
        ends = {table: bytes.fromhex(head.hash) for table, head in said.heads.items()}
        edge = said.edge()
    except ValueError:
        raise WrongAnchor(first.n, Fault.ALTERED, "it is no checkpoint") from None
    return Anchor(first.n, ends, counters, edge.size, tuple(edge.hashes))
