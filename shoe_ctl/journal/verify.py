"""Whether a journal still is what was written: walks every chain and places the first break.

In: a reader. Out: a Verification.
Must not know: what a body means. It proves that records follow from one another; whoever rewrites
every hash from a record on, and the heads too, leaves no trace here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from .bodies import Kind
from .chain import GENESIS, link
from .diagnosis import BadRecord, Break, diagnose, diagnose_gap
from .reader import Head, Reader


class Verification(msgspec.Struct, frozen=True):
    """What was found: ``records`` good ones of ``tables`` tables before the first bad one."""

    ok: bool
    records: int
    tables: int
    first_bad: BadRecord | None


def verify(reader: Reader) -> Verification:
    """Walks all records there are at this moment; a daemon may go on writing behind them.

    Raises:
        JournalError: the journal cannot be read.
    """
    last_n, heads = reader.heads()
    ends: dict[str, bytes] = {}
    seen: Counter[tuple[str, str]] = Counter()
    records = 0
    for row in reader.rows(after=None, upto=last_n):
        n, table, kind, body, digest = row
        gap = n != records + 1
        if gap or link(ends.get(table, GENESIS), n, table, kind, body) != digest:
            broken = Break(
                row,
                ends,
                heads,
                lambda: reader.rows(after=row[0], upto=last_n),  # noqa: B023
            )
            bad = diagnose_gap(broken, records + 1) if gap else diagnose(broken)
            return Verification(False, records, len(ends), bad)
        ends[table] = digest
        seen[table, kind] += 1
        records += 1
    wrong = _against_heads(last_n, ends, heads, seen)
    return Verification(wrong is None, records, len(ends), wrong)


def _against_heads(
    last_n: int,
    ends: Mapping[str, bytes],
    heads: Mapping[str, Head],
    seen: Mapping[tuple[str, str], int],
) -> BadRecord | None:
    beyond = [(head.n, table) for table, head in heads.items() if head.n > last_n]
    if beyond:
        n, table = min(beyond)
        return BadRecord(table, n, f"missing: the journal breaks off at record {last_n}")
    for table in sorted(ends.keys() | heads.keys()):
        head = heads.get(table)
        if head is None:
            return BadRecord(table, last_n, "the table's head is missing")
        if head.hash != ends.get(table):
            return BadRecord(table, head.n, "the table's head is not its last record")
        for kind, counted in (
            (Kind.PUBLIC, head.counters.public),
            (Kind.RESTRICTED, head.counters.restricted),
        ):
            stored = seen.get((table, kind.value), 0)
            if stored != counted:
                why = f"the head counts {counted} records of {kind.value}, there are {stored}"
                return BadRecord(table, head.n, why)
    return None
