"""Whether a journal still is what was written: walks every chain and places the first break.

In: a reader, the public keys that may have signed it. Out: a Verification.
Must not know: what a body means, but for checkpoints. What is not signed yet only follows from what
stands before it: whoever rewrites every hash behind the last checkpoint leaves no trace here.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from .bodies import Kind
from .chain import GENESIS, Names
from .checkpoint import JOURNAL, Checkpoints, Coverage
from .diagnosis import BadRecord, Break, diagnose, diagnose_gap
from .reader import Reader


class Verification(msgspec.Struct, frozen=True):
    """What was found: ``records`` good ones of ``tables`` tables before the first bad one.

    ``signed`` says which of them are signed; those behind ``signed.upto``, up to ``last_n``, the
    journal's last, are not.
    """

    ok: bool
    records: int
    tables: int
    first_bad: BadRecord | None
    signed: Coverage
    last_n: int


def verify(reader: Reader, trusted: frozenset[bytes] = frozenset()) -> Verification:
    """Walks all records there are at this moment; a daemon may go on writing behind them.

    ``trusted`` are the public keys (32 bytes each) that checkpoints may be signed with; where any
    is named there must be a checkpoint. None: any key may.

    Raises:
        JournalError: the journal cannot be read.
    """
    walk = _Walk(reader, trusted)
    bad = walk.records_hold() or walk.heads_hold()
    if bad is None and trusted and not walk.checkpoints.coverage.checkpoints:
        bad = BadRecord(None, walk.last_n, "missing: no checkpoint signs any of it")
    tables = len(walk.ends.keys() - {JOURNAL})
    return Verification(
        bad is None, walk.records, tables, bad, walk.checkpoints.coverage, walk.last_n
    )


class _Walk:
    """One pass over the records, in order. ``ends`` are the chains' ends so far."""

    def __init__(self, reader: Reader, trusted: frozenset[bytes]) -> None:
        self._reader = reader
        self.last_n, self._heads = reader.heads()
        self.records = 0
        self.ends: dict[str, bytes] = {}
        self.checkpoints = Checkpoints(trusted)
        self._seen: dict[tuple[str, str], Names] = {}

    def records_hold(self) -> BadRecord | None:
        """What is wrong with the first record that is not what was written."""
        # A million records a few microseconds each: what is asked for once a record stands here.
        ends, seen, records = self.ends, self._seen, 0
        signed = Kind.CHECKPOINT.value
        for row in self._reader.rows(after=None, upto=self.last_n):
            n, table, kind, body, digest = row
            names = seen.get((table, kind))
            if names is None:
                names = seen[table, kind] = Names(table, kind)
            if n != records + 1 or names.link(ends.get(table, GENESIS), n, body) != digest:
                self.records = records
                return self._placed(row)
            if kind == signed and (bad := self.checkpoints.see(n, body, ends)) is not None:
                self.records = records
                return bad
            ends[table] = digest
            names.count += 1
            records += 1
        self.records = records
        return None

    def _placed(self, row: tuple[int, str, str, bytes, bytes]) -> BadRecord:
        def after() -> Iterator[tuple[int, str, str, bytes, bytes]]:
            return self._reader.rows(after=row[0], upto=self.last_n)

        broken = Break(row, self.ends, self._heads, after)
        if row[0] != self.records + 1:
            return diagnose_gap(broken, self.records + 1)
        return diagnose(broken)

    def heads_hold(self) -> BadRecord | None:
        """What the heads say otherwise than the records, all of which follow from one another."""
        heads = self._heads
        beyond = [(head.n, table) for table, head in heads.items() if head.n > self.last_n]
        if beyond:
            n, table = min(beyond)
            return BadRecord(table, n, f"missing: the journal breaks off at record {self.last_n}")
        for table in sorted(self.ends.keys() | heads.keys()):
            head = heads.get(table)
            if head is None:
                return BadRecord(table, self.last_n, "the table's head is missing")
            if head.hash != self.ends.get(table):
                return BadRecord(table, head.n, "the table's head is not its last record")
            for kind, counted in (
                (Kind.PUBLIC, head.counters.public),
                (Kind.RESTRICTED, head.counters.restricted),
            ):
                names = self._seen.get((table, kind.value))
                stored = 0 if names is None else names.count
                if stored != counted:
                    why = f"the head counts {counted} records of {kind.value}, there are {stored}"
                    return BadRecord(table, head.n, why)
        return None
