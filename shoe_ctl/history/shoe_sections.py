"""The sections of a table's records: those that belong to one set of cards.

In: a reader. Out: sections of record numbers, oldest first, one for each set of cards.
Must not know: links, sinks, loops, what is done with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import msgspec

from shoe_ctl.errors import InputRefused
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Kind
from shoe_ctl.journal.recovery import chain_end, read_snapshot
from shoe_ctl.records import Record, event_head

MOST_NAMED = 12
"""An error lists so many shoes, or tables, one by one when the one asked for is not there."""


class ShoeSection(msgspec.Struct, frozen=True, kw_only=True):
    """The records of a table, ``first`` to ``last``, while it played from a set of cards.

    ``number`` counts the table's sets from 1; 0 is the time before the first one. ``current``: it
    is the table's last section, and may still grow.
    """

    table: str
    number: int
    first: int
    last: int
    current: bool = False

    @property
    def shoe_id(self) -> str:
        """The set's id in events."""
        return f"{self.table}-s{self.number}"


class _State(msgspec.Struct):
    shoes: int


def sections(reader: Reader, table: str) -> Iterator[ShoeSection]:
    """Yield the table's sets of cards that the journal has from their beginning, oldest first.

    A section begins at the first start record whose snapshot has the set. Records before the first
    such place are in no section.

    Raises:
        JournalError: the journal cannot be read.
    """
    begun: tuple[int, int] | None = None
    for meta in reader.indexed_records(table, Kind.META, after=0):
        number = _number(reader, meta)
        if begun is None:
            begun = (0 if number is None else number, meta.n)
        elif number is not None and number != begun[0]:
            yield ShoeSection(table=table, number=begun[0], first=begun[1], last=meta.n - 1)
            begun = (number, meta.n)
    if begun is not None:
        last = chain_end(reader, table).n
        yield ShoeSection(table=table, number=begun[0], first=begun[1], last=last, current=True)


def _number(reader: Reader, meta: Record) -> int | None:
    """Return the number of the table's set at that start; None if no snapshot shows it."""
    following = next(reader.indexed_records(meta.table, Kind.META, after=meta.n), None)
    for record in reader.indexed_records(meta.table, Kind.SNAPSHOT, after=meta.n):
        if following is None or record.n < following.n:
            with suppress(ValueError):
                snapshot = read_snapshot(record, reader.path)
                return msgspec.json.decode(snapshot.state, type=_State).shoes
        break
    return None


def current_shoe_start(reader: Reader, table: str) -> int | None:
    """Return the record of the first event about the set that the table plays from.

    None if the journal has none of the table's sets from its beginning. A section begins right
    after the event ``shoe.loaded`` of its set, which is returned here: it is about the set, too.

    Raises:
        JournalError: the journal cannot be read.
    """
    known = list(sections(reader, table))
    if not known:
        return None
    current = known[-1]
    for before in known[-2:-1]:
        events = (Kind.PUBLIC, Kind.RESTRICTED)
        upto = current.first - 1
        for record in reader.records(after=before.first - 1, upto=upto, table=table, kinds=events):
            head = event_head(record.body)
            if (head.type, head.subject) == ("shoe.loaded", current.shoe_id):
                return record.n
    return current.first


def find_section(reader: Reader, shoe_id: str | None) -> ShoeSection:
    """Return the section of the shoe with this id; without one, the last of the only table.

    Raises:
        InputRefused: the journal does not have it from its beginning; the error lists those it has.
        JournalError: the journal cannot be read.
    """
    tables = tables_of(reader)
    if not tables:
        raise InputRefused(f"{reader.path}: no shoe is recorded yet")
    if shoe_id is None:
        if len(tables) != 1:
            have = ", ".join(tables)
            raise InputRefused(f"{reader.path}: name a shoe: its tables are: {have}")
        of_one = list(sections(reader, tables[0]))
        if not of_one:
            raise InputRefused(f"{reader.path}: it has no shoe from its beginning")
        return of_one[-1]
    table = shoe_id.rpartition("-s")[0]
    if table in tables:
        for section in sections(reader, table):
            if section.shoe_id == shoe_id:
                return section
    have = _known(reader, [table] if table in tables else tables)
    raise InputRefused(f"{reader.path}: no shoe {shoe_id} from its beginning (it has: {have})")


def tables_of(reader: Reader) -> list[str]:
    """Return the journal's tables, in order.

    Raises:
        JournalError: the journal cannot be read.
    """
    return sorted(reader.heads()[1].keys() - {JOURNAL})


def _known(reader: Reader, tables: list[str]) -> str:
    """List the shoes of these tables: all where they are few, else the first and last of each."""
    lists: list[str] = []
    for table in tables[:MOST_NAMED]:
        known = [section.shoe_id for section in sections(reader, table)]
        if len(known) > MOST_NAMED // len(tables[:MOST_NAMED]):
            lists.append(f"{known[0]} to {known[-1]}")
        elif known:
            lists.append(", ".join(known))
    if len(tables) > MOST_NAMED:
        lists.append(f"and those of {len(tables) - MOST_NAMED} more tables")
    return "; ".join(lists) or "none"
