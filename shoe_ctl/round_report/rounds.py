"""List the shoes and rounds of a journal, however long it is.

In: a reader. Out: a line of values for each, in the order of their records. By the journal's index
or, in a file without one, by reading every record.
Must not know: what a round consists of but its outcome, how a line is shown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from itertools import islice
from typing import Literal

import msgspec

from shoe_ctl.errors import JournalError
from shoe_ctl.journal.reader import IndexedEvent, Reader
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.journal.round_index import OPENED, IndexedRound, RoundId, RoundQuery, round_of
from shoe_ctl.records import Record, utc

_OF_A_ROUND = b'"type":"round.'
_IRREGULARITY = b'"type":"irregularity.raised"'
_OF_A_WAGER = (b'"type":"wager.settled"', b'"type":"wager.revised"')
_STEP = 2000
_ROUNDS_AT_ONCE = 300
ALL_ROUNDS = RoundQuery()


class ShoeLine(msgspec.Struct, kw_only=True, tag="shoe", tag_field="line"):
    """A set of cards, from the record of its first round that is listed."""

    table: str
    shoe_id: str
    n: int
    time: str


class RoundLine(msgspec.Struct, kw_only=True, gc=False, tag="round", tag_field="line"):
    """A round, from the record that opened it, with the outcome that was told last.

    ``state`` is ``open`` where nothing ended it in this journal. ``method`` and what follows are
    None where there was no outcome. ``paid``, ``commission``, ``collected`` and ``returned`` are
    the sums of its wagers in minor units, a fraction as ``"19/2"``, as they were settled last.
    """

    table: str
    shoe_id: str
    round_id: str
    n: int
    time: str
    state: Literal["open", "settled", "void"] = "open"
    method: str | None = None
    winner: str | None = None
    player: list[str] | None = None
    player_total: int | None = None
    banker: list[str] | None = None
    banker_total: int | None = None
    manual: bool = False
    revised: bool = False
    irregularities: list[str] = []
    paid: int | str = 0
    commission: int | str = 0
    collected: int | str = 0
    returned: int | str = 0


Line = ShoeLine | RoundLine


class _Hand(msgspec.Struct, gc=False):
    cards: list[str]
    total: int


class _Data(msgspec.Struct, gc=False):
    """The values that a line takes from an event. ``player`` is a hand, or who placed a wager."""

    round_id: str | None = None
    key: str = ""
    method: str | None = None
    winner: str | None = None
    player: _Hand | str | None = None
    banker: _Hand | None = None
    manual: bool = False
    number: int = 0
    pays: int | str = 0
    commission: int | str = 0
    collected: int | str = 0
    returned: int | str = 0


class _Event(msgspec.Struct, gc=False):
    type: str
    subject: str | None = None
    time: str = ""
    data: _Data = msgspec.field(default_factory=_Data)


_event = msgspec.json.Decoder(_Event)


def lines(
    reader: Reader,
    query: RoundQuery = ALL_ROUNDS,
    *,
    all_records: bool = False,
    progress: Callable[[int, int], None] = lambda _n, _last_n: None,
) -> Iterator[Line]:
    """Yield the rounds that a query asks for, each shoe before its rounds.

    They are found by the journal's index, which only says where to look: a round is told from its
    own records. With ``all_records``, and in a file without an index, every record is read.

    Raises:
        JournalError: the journal cannot be read, or its index leads to records that do not say so.
    """
    if reader.has_rounds and not all_records:
        found = _indexed_rounds(reader, query, progress)
    else:
        found = _among(_decoded_rounds(reader, query.table, progress), query)
    shoes: dict[str, str] = {}
    for line in found:
        if shoes.get(line.table) != line.shoe_id:
            shoes[line.table] = line.shoe_id
            yield ShoeLine(table=line.table, shoe_id=line.shoe_id, n=line.n, time=line.time)
        yield line


def _indexed_rounds(
    reader: Reader, query: RoundQuery, progress: Callable[[int, int], None]
) -> Iterator[RoundLine]:
    last_n, _ = reader.heads()
    found = reader.rounds(query)
    while some := list(islice(found, _ROUNDS_AT_ONCE)):
        opened = {one.records[0]: one.t_us for one in some}
        numbers = [n for one in some for n in one.records]
        events = {event.n: event for event in reader.events_at(numbers, unread=opened)}
        # Of what opened a round a line has the time alone. Nearly always its group begins with it.
        read = [n for n, t_us in opened.items() if n not in events or events[n].t_us != t_us]
        opening = {record.n: record for record in reader.records_at(read)}
        yield from (_line(reader, one, events, opening) for one in some)
        progress(some[-1].records[0], last_n)


def _line(
    reader: Reader,
    found: IndexedRound,
    events: Mapping[int, IndexedEvent],
    opening: Mapping[int, Record],
) -> RoundLine:
    """Return a round, from its records and no others.

    ``opening`` are events that open rounds, those whose time has to be read.

    Raises:
        JournalError: one of them is missing, or about something else.
    """
    line = _new_line(found.id, found.records[0], utc(found.t_us))
    wagers: dict[int, _Data] = {}
    for n in found.records:
        event = None
        if (indexed := events.get(n)) is not None and indexed.table == line.table:
            if n != line.n:
                assert indexed.content is not None, "only what opens a round is unread"
                event = _decoded(indexed.content)
                if event is not None and event.type == OPENED:
                    event = None
            elif n not in opening:
                continue
            else:
                event = _decoded(opening[n].body)
                if event is not None and (event.type, event.time) != (OPENED, line.time):
                    event = None
        if event is None or event.subject != line.round_id:
            raise JournalError(
                f"journal {reader.path}: its index leads from round {line.round_id} to record {n}, "
                f"which does not say so. Run: shoectl verify {reader.path}. To list rounds without "
                "the index, add --all-records"
            )
        _add_event(line, wagers, event)
    return _summed_up(line, wagers)


def _decoded(body: bytes) -> _Event | None:
    """Return an event; None where a line can take nothing from it."""
    try:
        return _event.decode(body)
    except ValueError:
        return None


def _among(found: Iterator[RoundLine], query: RoundQuery) -> Iterator[RoundLine]:
    """Return the rounds that a query asks for, of these."""
    since, until = (None if t is None else utc(t) for t in (query.since_us, query.until_us))
    wanted = (
        line
        for line in found
        if query.shoe in (None, int(line.shoe_id.rpartition("-s")[2]))
        and (since is None or since <= line.time)
        and (until is None or line.time < until)
        and (query.after is None or line.n > query.after)
        and (query.before is None or line.n < query.before)
    )
    return wanted if query.last is None else iter(deque(wanted, query.last))


def _decoded_rounds(
    reader: Reader, table: str | None, progress: Callable[[int, int], None]
) -> Iterator[RoundLine]:
    """Yield all rounds from all records. Those of two sets of cards are held for each table."""
    last_n, _ = reader.heads()
    tables: dict[str, _Table] = {}
    records = reader.records(upto=last_n, table=table, kinds=(Kind.RESTRICTED,))
    for count, record in enumerate(records):
        body = record.body
        if _OF_A_ROUND in body or _IRREGULARITY in body or any(t in body for t in _OF_A_WAGER):
            yield from tables.setdefault(record.table, _Table()).take(record)
        if count % _STEP == 0:
            progress(record.n, last_n)
    for of in tables.values():
        yield from of.end()


class _Table:
    """One table's rounds of the set of cards that is on and the one before: they may be revised."""

    def __init__(self) -> None:
        self._held: dict[RoundId, tuple[RoundLine, dict[int, _Data]]] = {}
        self._shoes: tuple[int | None, int | None] = (None, None)

    def take(self, record: Record) -> Iterator[RoundLine]:
        """Take the next event; a damaged one is skipped: replay and verify report it."""
        with suppress(ValueError):
            event = _event.decode(record.body)
            of = round_of(record.table, event.type, event.subject)
            if of is None:
                return
            if event.type == OPENED and of not in self._held:
                yield from self._opened(of, record.n, event.time)
            elif of in self._held:
                line, wagers = self._held[of]
                _add_event(line, wagers, event)

    def _opened(self, of: RoundId, n: int, time: str) -> Iterator[RoundLine]:
        if of.shoe != self._shoes[1]:
            self._shoes = (self._shoes[1], of.shoe)
            for old in [held for held in self._held if held.shoe not in self._shoes]:
                yield _summed_up(*self._held.pop(old))
        self._held[of] = (_new_line(of, n, time), {})

    def end(self) -> Iterator[RoundLine]:
        """Yield what is left after the last record."""
        for line, wagers in self._held.values():
            yield _summed_up(line, wagers)


def _new_line(of: RoundId, n: int, time: str) -> RoundLine:
    table, shoe, number = of
    shoe_id = f"{table}-s{shoe}"
    round_id = f"{shoe_id}-r{number}"
    return RoundLine(table=table, shoe_id=shoe_id, round_id=round_id, n=n, time=time)


def _add_event(found: RoundLine, wagers: dict[int, _Data], event: _Event) -> None:
    """Add an event to its round; ``wagers`` are how its wagers were settled last, by number."""
    data = event.data
    match event.type:
        case "irregularity.raised":
            found.irregularities = [*found.irregularities, data.key]
        case "round.outcome" | "round.revised":
            player, banker = data.player, data.banker
            if not isinstance(player, _Hand) or banker is None:
                return
            found.method, found.winner = data.method, data.winner
            found.player, found.player_total = player.cards, player.total
            found.banker, found.banker_total = banker.cards, banker.total
            found.manual = data.manual
            found.revised = event.type == "round.revised"
        case "round.settled":
            found.state = "settled"
        case "round.void":
            found.state = "void"
        case "wager.settled" | "wager.revised":
            wagers[data.number] = data


def _summed_up(found: RoundLine, wagers: Mapping[int, _Data]) -> RoundLine:
    """Return the round with what the house paid, kept, collected and gave back in it."""
    if wagers:
        found.paid = _sum(wager.pays for wager in wagers.values())
        found.commission = _sum(wager.commission for wager in wagers.values())
        found.collected = _sum(wager.collected for wager in wagers.values())
        found.returned = _sum(wager.returned for wager in wagers.values())
    return found


def _sum(amounts: Iterable[int | str]) -> int | str:
    exact = sum((Fraction(each) if isinstance(each, str) else each for each in amounts), 0)
    if isinstance(exact, int):
        return exact
    return exact.numerator if exact.denominator == 1 else str(exact)
