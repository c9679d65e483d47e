"""The report on a round that a proof gives: the same as of its journal, but for what is left out.

In: a proved round. Out: a RoundReport. Must not know: how it was proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from shoe_ctl.audit.round_proof import ProvedRound
from shoe_ctl.audit.round_standing import proved_standing
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.journal.round_index import OPENED, IndexedRound, RoundId
from shoe_ctl.records import Record
from shoe_ctl.round_report.collect import RoundReport, collect
from shoe_ctl.round_report.lookup import RoundLocation

_MARK = f'"type":"{OPENED}"'.encode()


class _ProvedRecords:
    """The records of a proof, as ``lookup.Records``."""

    def __init__(self, proved: ProvedRound, path: Path) -> None:
        self.path = path
        self.has_rounds = False
        self._records = proved.records
        self._rules = proved.rules

    def newest(self, before: int | None = None) -> int | None:
        return next(
            (one.n for one in reversed(self._records) if before is None or one.n < before), None
        )

    def records(
        self,
        *,
        after: int = 0,
        upto: int | None = None,
        table: str | None = None,
        kinds: Sequence[Kind] = (),
    ) -> Iterator[Record]:
        wanted = {kind.value for kind in kinds or Kind}
        for one in self._records:
            within = after < one.n and (upto is None or one.n <= upto)
            if within and table in (None, one.table) and one.kind in wanted:
                yield one

    def indexed_records(
        self, table: str, kind: Kind, *, before: int | None = None
    ) -> Iterator[Record]:
        rules = self._rules
        if kind is not Kind.META or rules is None or rules.table != table:
            return
        if before is None or rules.n < before:
            yield rules

    def round(self, of: RoundId) -> IndexedRound | None:  # noqa: ARG002 - as a journal has it
        return None


def proved_report(proved: ProvedRound, path: Path) -> RoundReport:
    """Return the report on a proved round; ``path`` is the file of its proof."""
    opened = next(
        one.n for one in proved.records if one.kind == Kind.RESTRICTED.value and _MARK in one.body
    )
    where = RoundLocation(proved.table, proved.round_id, opened)
    report = collect(_ProvedRecords(proved, path), where)
    return msgspec.structs.replace(report, standing=proved_standing(proved))
