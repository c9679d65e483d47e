"""Whether a journal still is what was written: walks every chain and places the first break.

In: a reader, the public keys that may have signed it. Out: a Verification.
Must not know: what a body means, but for checkpoints. What is not signed yet only follows from what
stands before it: whoever rewrites every hash behind the last checkpoint leaves no trace here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from .beginning import Beginning, beginning
from .bodies import Kind
from .chain import GENESIS, Names
from .checkpoint import JOURNAL, Checkpoints, Coverage
from .diagnosis import BadRecord, Break, diagnose, diagnose_gap, diagnose_in_export
from .reader import Head, Reader


class Verification(msgspec.Struct, frozen=True):
    """What was found: ``records`` good ones of ``tables`` tables before the first bad one.

    ``signed`` says which of them are signed; those behind ``signed.upto``, up to ``last_n``, the
    journal's last, are not. ``first_n`` is the first record: those before it were taken out.
    """

    ok: bool
    records: int
    tables: int
    first_bad: BadRecord | None
    signed: Coverage
    last_n: int
    first_n: int = 1


def verify(
    reader: Reader, trusted: frozenset[bytes] = frozenset(), *, signed_to: int = 0
) -> Verification:
    """Walks all records there are at this moment; a daemon may go on writing behind them.

    ``trusted`` are the public keys (32 bytes each) that checkpoints may be signed with; where any
    is named there must be a checkpoint. None: any key may. ``signed_to`` is a record up to which
    the journal is known to have been signed: one that was cut off before it is told by that alone.

    Raises:
        JournalError: the journal cannot be read.
    """
    while True:
        found = _verified(reader, trusted)
        if found.ok and found.signed.upto < signed_to:
            why = f"missing: it was signed up to record {signed_to}, and is up to no more"
            bad = BadRecord(JOURNAL, found.signed.upto + 1, why)
            found = msgspec.structs.replace(found, ok=False, first_bad=bad)
        # a daemon may take old records out while others are read
        if found.ok or found.first_n >= _first_n(reader):
            return found


def _first_n(reader: Reader) -> int:
    try:
        return beginning(reader).n
    except ValueError:
        return 0


def _verified(reader: Reader, trusted: frozenset[bytes]) -> Verification:
    last_n, heads = reader.heads()
    try:
        begins = beginning(reader)
    except ValueError as error:
        bad = BadRecord(JOURNAL, 1, str(error))
        return Verification(False, 0, len(heads.keys() - {JOURNAL}), bad, Coverage(), last_n)
    walk = _Walk(reader, trusted, begins, last_n, heads)
    wrong = walk.records_hold() or walk.heads_hold()
    if wrong is None and trusted and not walk.checkpoints.coverage.checkpoints:
        wrong = BadRecord(None, last_n, "missing: no checkpoint signs any of it")
    return Verification(
        wrong is None,
        walk.records,
        len((heads if reader.is_export else walk.ends).keys() - {JOURNAL}),
        wrong,
        walk.checkpoints.coverage,
        last_n,
        begins.n,
    )


class _Walk:
    """One pass over the records, in order. ``ends`` are the chains' ends so far."""

    def __init__(
        self,
        reader: Reader,
        trusted: frozenset[bytes],
        begins: Beginning,
        last_n: int,
        heads: Mapping[str, Head],
    ) -> None:
        self._reader = reader
        self._begins = begins
        self._whole = not reader.is_export
        self._last_n, self._heads = last_n, heads
        self.records = 0
        self.ends: dict[str, bytes] = dict(begins.ends)
        self.checkpoints = Checkpoints(
            trusted, late=begins.n > 1, only=None if self._whole else frozenset(heads)
        )
        self._seen: dict[tuple[str, str], Names] = {}

    def records_hold(self) -> BadRecord | None:
        """What is wrong with the first record that is not what was written."""
        # A million records a few microseconds each: what is asked for once a record stands here.
        ends, seen, whole, due = self.ends, self._seen, self._whole, self._begins.n
        signed = Kind.CHECKPOINT.value
        for row in self._reader.rows(after=None, upto=self._last_n):
            n, table, kind, body, digest = row
            names = seen.get((table, kind))
            if names is None:
                names = seen[table, kind] = Names(table, kind)
            if (n != due and whole) or names.link(ends.get(table, GENESIS), n, body) != digest:
                return self._placed(row, due)
            if kind == signed and (bad := self.checkpoints.see(n, body, ends)) is not None:
                return bad
            ends[table] = digest
            names.count += 1
            self.records += 1
            due = n + 1
        return None

    def _placed(self, row: tuple[int, str, str, bytes, bytes], due: int) -> BadRecord:
        def after() -> Iterator[tuple[int, str, str, bytes, bytes]]:
            return self._reader.rows(after=row[0], upto=self._last_n)

        broken = Break(row, self.ends, self._heads, after)
        if not self._whole:
            return diagnose_in_export(broken)
        if row[0] != due:
            return diagnose_gap(broken, due)
        return diagnose(broken)

    def heads_hold(self) -> BadRecord | None:
        """What the heads say otherwise than the records, all of which follow from one another."""
        heads, last_n = self._heads, self._last_n
        beyond = [(head.n, table) for table, head in heads.items() if head.n > last_n]
        if beyond:
            n, table = min(beyond)
            return BadRecord(table, n, f"missing: the journal breaks off at record {last_n}")
        for table in sorted(self.ends.keys() | heads.keys() if self._whole else heads):
            head = heads.get(table)
            if head is None:
                return BadRecord(table, last_n, "the table's head is missing")
            if head.hash != self.ends.get(table):
                return BadRecord(table, head.n, "the table's head is not its last record")
            before = self._begins.told.get(table, (0, 0))
            for kind, counted, told in (
                (Kind.PUBLIC, head.counters.public, before[0]),
                (Kind.RESTRICTED, head.counters.restricted, before[1]),
            ):
                names = self._seen.get((table, kind.value))
                stored = told + (0 if names is None else names.count)
                if stored != counted:
                    why = f"the head counts {counted} records of {kind.value}, there are {stored}"
                    return BadRecord(table, head.n, why)
        return None
