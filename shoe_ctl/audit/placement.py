"""The place of a change that a tree of hashes shows, and what the journal has there now.

A root says that something is other than it was, not what. The change is between the last checkpoint
that agrees and the first that does not.

In: a reader, a stretch. Out: the tables in it, with their rounds. Must not know: who saw it.
"""

from __future__ import annotations

import msgspec

from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL
from shoe_ctl.journal.round_index import RoundQuery
from shoe_ctl.records import utc


class Stretch(msgspec.Struct, frozen=True):
    """Records from ``first`` to ``last`` as they were numbered when they were seen.

    ``since_us`` and ``until_us`` are when the checkpoints before and behind them were signed, in µs
    since 1970 UTC; ``since_us`` is None where the journal begins there.
    """

    first: int
    last: int
    since_us: int | None
    until_us: int

    @property
    def text(self) -> str:
        """The place, for people."""
        since = "" if self.since_us is None else f"from {utc(self.since_us)} "
        return f"records {self.first:,} to {self.last:,}, {since}to {utc(self.until_us)}"


class TableStretch(msgspec.Struct, frozen=True):
    """A table's rounds in a stretch: from the one that was open at its beginning to the last.

    None where it has no round there: also where one was taken out.
    """

    table: str
    first_round: str | None = None
    last_round: str | None = None

    @property
    def text(self) -> str:
        """The rounds, for people."""
        if self.first_round is None:
            return f"table {self.table}: no round there"
        if self.first_round == self.last_round:
            return f"table {self.table}: round {self.first_round}"
        return f"table {self.table}: rounds {self.first_round} to {self.last_round}"


def tables_of(reader: Reader, stretch: Stretch) -> list[TableStretch]:
    """Return what a journal has there now, a line for each table.

    Raises:
        JournalError: the file cannot be read.
    """
    found = []
    for table in sorted(reader.heads()[1].keys() - {JOURNAL}):
        before = RoundQuery(table=table, before=stretch.first, last=1)
        during = RoundQuery(table=table, after=stretch.first - 1, until_us=stretch.until_us)
        rounds = [*reader.rounds(before), *reader.rounds(during)]
        first = f"{rounds[0].id}" if rounds else None
        found.append(TableStretch(table, first, f"{rounds[-1].id}" if rounds else None))
    return found
