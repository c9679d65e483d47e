"""Both replays of a journal: raw bytes to inputs, inputs to events, compared byte for byte.

In: a reader; makers of controllers and of connections' sessions. Out: rounds and differences.
Must not know: which controllers and profiles those are, loops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Generic

import msgspec

from shoe_ctl.journal.group import InvalidGroup, read_header
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Kind, Meta, Row, Snapshot
from shoe_ctl.journal.recovery import read_anchor
from shoe_ctl.records import Record, event_head
from shoe_ctl.replay.difference import Difference, Differences, Money, Rounds
from shoe_ctl.replay.input_replay import FromSnapshot, H, InputReplay
from shoe_ctl.replay.wire_replay import SessionOf, WireReplay

_INPUTS = (Kind.META, Kind.SNAPSHOT, Kind.INPUT, Kind.PUBLIC, Kind.RESTRICTED)
_WIRE = (Kind.CONNECTION, Kind.WIRE, Kind.CALLS)
_LINK_KINDS = frozenset(kind.value for kind in (*_WIRE, Kind.INPUT, Kind.SNAPSHOT))
_TABLE_KINDS = frozenset(kind.value for kind in _INPUTS)
_OF_A_ROUND = b'"type":"round.'

MOST_MISSING = 20
"""Runs of missing records that are listed: shoectl verify says what was taken out."""

_STEP = 2000
"""Records between two reports of progress: tens of milliseconds."""


class Replay(msgspec.Struct, frozen=True):
    """The result of both replays: rounds opened in the journal, and the differences from it.

    ``differences`` are the first ones, ``found`` counts all and ``rounds_differing`` their rounds.
    ``connections`` and ``bytes`` were decoded again. ``overheard`` bytes are of connections that
    began before the journal does; they were compared with the inputs frame by frame. ``followed``
    counts inputs that differ only because of an earlier difference. ``stopped_at`` is the record
    behind which nothing was replayed, None where all was. ``not_compared`` counts snapshots that
    another version of the software wrote and that differ from what this one has, by that version.
    ``missing`` are the first of the records that a journal lacks, each run as its first and last;
    an export has records of one shoe only, and lacks none by that. ``money`` is None where no
    wager's money differs.
    """

    rounds: int
    differences: list[Difference]
    found: int = 0
    rounds_differing: int = 0
    connections: int = 0
    bytes: int = 0
    overheard: int = 0
    followed: int = 0
    stopped_at: int | None = None
    not_compared: dict[str, int] = {}
    missing: list[tuple[int, int]] = []
    money: Money | None = None


class Span(msgspec.Struct, frozen=True, array_like=True):
    """Records of a table: those behind ``after``, up to and with ``upto``."""

    after: int
    upto: int

    def has(self, n: int) -> bool:
        """Return True if this record is one of them."""
        return self.after < n <= self.upto


class Part(msgspec.Struct, frozen=True):
    """Records ``after`` (exclusive) to ``upto`` of a journal, of which some are replayed, by table.

    ``inputs`` begin with a snapshot, the record ``Span.after``, or with the journal. ``wire``
    begins with a connection, or with the journal.
    """

    after: int
    upto: int
    inputs: dict[str, Span]
    wire: dict[str, Span]

    @property
    def records(self) -> int:
        """Return the number of records that are read."""
        return self.upto - self.after


class _Table(Generic[H]):
    """The replays of one table, of the records in two spans."""

    def __init__(
        self, inputs: InputReplay[H], wire: WireReplay | None, spans: tuple[Span, Span]
    ) -> None:
        self.rounds = Rounds()
        self.rounds_before = 0
        self.inputs = inputs
        self.wire = wire
        self._inputs_of, self._wire_of = spans

    def add(self, record: Record, found: Differences) -> None:
        """Take the table's next record."""
        open_round = self.rounds.open
        if self._inputs_of.has(record.n):
            if record.kind == Kind.RESTRICTED.value and _OF_A_ROUND in record.body:
                self.rounds.add(event_head(record.body))
            if self.inputs.is_before_first_snapshot:
                self.rounds_before = self.rounds.count
            if record.kind in _TABLE_KINDS:
                found.add(self.inputs.add(record, open_round))
        if record.kind in _LINK_KINDS and self.wire is not None and self._wire_of.has(record.n):
            found.add(self.wire.add(record, open_round))

    def end(self, found: Differences) -> None:
        """There are no more records."""
        found.add(self.inputs.settle(self.rounds.open))
        if self.wire is not None:
            found.add(self.wire.settle(self.rounds.open))


def replay(  # noqa: PLR0913 - makers of all that a replay runs, each by name
    reader: Reader,
    make_handler: Callable[[Meta, H | None], H],
    agrees: Callable[[H, Snapshot], bool | None],
    session_of: SessionOf | None = None,
    progress: Callable[[int, int], None] = lambda _n, _last_n: None,
    *,
    from_first_snapshot: FromSnapshot[H] | None = None,
    resynchronise: bool = False,
    first_only: bool = False,
    part: Part | None = None,
) -> Replay:
    """Run every table's inputs again, and with ``session_of`` decode their bytes again too.

    With ``first_only`` it ends at the first difference. With ``resynchronise`` what only follows
    from a difference is not reported as one. With ``part`` only these records are replayed.

    ``progress`` is called now and then with the record reached and the last one. See
    ``InputReplay`` for the others.

    Raises:
        JournalError: the journal cannot be read.
        ShoeCtlError: ``make_handler`` cannot take what a table was started with.
    """
    tables: dict[str, _Table[H]] = {}
    found = Differences()
    if part is None:
        part = Part(0, reader.heads()[0], {}, {})
        whole = Span(0, part.upto)
    else:
        whole = Span(0, 0)  # of a table that the part does not name, nothing
    begins = read_anchor(reader)
    begun_before = begins.ends
    stopped_at: int | None = None
    kinds = _INPUTS if session_of is None else (*_INPUTS, *_WIRE)
    missing: list[tuple[int, int]] = []
    records = _records(reader, part, kinds, begins.n, missing)
    for count, record in enumerate(records):
        if record.table == JOURNAL:
            continue  # no table of play: a person's ruling on the journal itself
        table = tables.get(record.table)
        if table is None:
            inputs_of, wire_of = (of.get(record.table, whole) for of in (part.inputs, part.wire))
            wire = None
            if session_of is not None:
                wire = WireReplay(
                    record.table,
                    session_of,
                    whole=wire_of.after > 0 or record.table not in begun_before,
                    resynchronise=resynchronise,
                )
            begins_at_snapshot = inputs_of.after > 0 or record.table in begun_before
            first = from_first_snapshot if begins_at_snapshot else None
            resume = from_first_snapshot if resynchronise else None
            inputs = InputReplay(record.table, reader.path, make_handler, agrees, first, resume)
            for before in _start_records(reader, record.table, inputs_of.after):
                found.add(inputs.add(before, None))
            table = tables[record.table] = _Table(inputs, wire, (inputs_of, wire_of))
        table.add(record, found)
        if first_only and found.count:
            stopped_at = record.n
            break
        if count % _STEP == 0:
            progress(record.n, part.upto)
    else:
        for table in tables.values():
            table.end(found)
    decoded = [table.wire for table in tables.values() if table.wire is not None]
    return Replay(
        rounds=sum(table.rounds.count - table.rounds_before for table in tables.values()),
        differences=found.first,
        found=found.count,
        rounds_differing=found.rounds,
        money=found.money,
        connections=sum(one.connections for one in decoded),
        bytes=sum(one.octets for one in decoded),
        overheard=sum(one.overheard for one in decoded),
        followed=sum(table.inputs.followed for table in tables.values()),
        stopped_at=stopped_at,
        not_compared=add_up(table.inputs.not_compared for table in tables.values()),
        missing=missing,
    )


def _records(
    reader: Reader,
    part: Part,
    kinds: Sequence[Kind],
    begins: int,
    missing: list[tuple[int, int]],
) -> Iterator[Record]:
    """Yield the records of a part, and note which are missing in a journal from ``begins`` on."""
    rows = reader.rows(after=part.after, upto=part.upto)
    if not reader.is_export:
        rows = _note_missing(rows, max(part.after + 1, begins), missing)
    for record in reader.unpacked(rows, kinds, after=part.after):
        if record.n > part.upto:
            return  # its group goes on behind the part
        yield record


def _note_missing(rows: Iterable[Row], due: int, missing: list[tuple[int, int]]) -> Iterator[Row]:
    """Pass groups on, and note which records are missing before them: numbers have no gaps."""
    for row in rows:
        with suppress(InvalidGroup):  # whoever unpacks it reports it
            first = row[0] - read_header(row[2]).records + 1
            if first > due and len(missing) < MOST_MISSING:
                missing.append((due, first - 1))
        due = row[0] + 1
        yield row


def add_up(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sum of counts, each by its name."""
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items()))


def _start_records(reader: Reader, table: str, after: int) -> Iterator[Record]:
    """Yield the start and the snapshot from which the table's inputs are run; none from 0."""
    if after:
        yield from islice(reader.indexed_records(table, Kind.META, before=after), 1)
        yield from reader.records(after=after - 1, upto=after, table=table)
