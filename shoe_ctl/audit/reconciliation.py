"""Reconciliation: a ledger against the journal whose events it holds.

In: a reader, a ledger. Out: the events that are missing in the ledger, foreign to the journal,
altered or doubled, by round, and the money that each round's differences are worth.
Must not know: how that is shown.

Memory does not grow with journal or ledger: a part of the ledger is sorted and compared at a time,
and of what was found only ranges of numbers are kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import groupby
from typing import Any, Literal, NamedTuple

import msgspec

from shoe_ctl.audit.ledger import Ledger, LedgerLine, Trouble, is_json
from shoe_ctl.audit.ledger_money import (
    RoundEvents,
    RoundMoney,
    StandingEvent,
    amount,
    plain,
    round_money,
)
from shoe_ctl.errors import InputRefused
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Kind
from shoe_ctl.journal.recovery import end_of_epoch, rulings
from shoe_ctl.journal.round_index import TYPES, RoundId, round_id
from shoe_ctl.records import Audience, EventId, Record, epoch_in, table_in, utc

DifferenceKind = Literal["missing", "foreign", "altered", "doubled"]

MOST_ROUNDS = 10_000
"""Rounds with differences that are listed; the differences of further ones are counted."""

_MOST_OF_A_ROUND = 500
"""Differences that are listed of one round: none has so many events."""

_PART_BYTES = 1 << 23
"""Bytes of the ledger that are sorted at a time."""

_NEAR = 256
"""So many events of a stream are read over rather than looked up."""

_KINDS = {Audience.PUBLIC: Kind.PUBLIC, Audience.RESTRICTED: Kind.RESTRICTED}
_WITH_VALUES = frozenset({"round.outcome", "round.revised", "round.void", "round.settled"})

_json = msgspec.json.Encoder(order="deterministic")


class AlteredKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key of an event, as in ``data.winner``, with both values as JSON.

    Without values where a card could be told by them that nobody turned; without one side's where
    the key is not there.
    """

    key: str
    journal: str | None = None
    ledger: str | None = None


class Difference(msgspec.Struct, kw_only=True):
    """One event, or several one after the other, in which ledger and journal differ.

    ``first`` and ``last`` are ids, ``types`` the events' types: the ledger's own where the event is
    foreign. ``file`` and ``line`` say where the ledger has it; None where it is missing. ``keys``
    are those that differ in an altered event.
    """

    kind: DifferenceKind
    first: str
    last: str
    events: int = 1
    types: list[str]
    file: str | None = None
    line: int | None = None
    keys: list[AlteredKey] = []
    why: str = ""


class RoundDifferences(msgspec.Struct, kw_only=True):
    """The differences in the events of one round and stream.

    ``round_id`` is the subject of the events: without an open round the set of cards; None before
    the first one. ``time`` is that of the first of them in the journal, or else in the ledger.
    """

    table: str
    stream: str
    round_id: str | None
    time: str
    differences: list[Difference]
    money: RoundMoney | None = None


class ComparedStream(msgspec.Struct, kw_only=True):
    """A table's events of one audience: ``first`` and ``last`` in the journal; how many agree.

    ``not_compared`` are lines of events from before the journal's first, which were taken out of
    it: an export has them.
    """

    table: str
    stream: str
    first: str | None
    last: str | None
    agree: int = 0
    not_compared: int = 0


class Reconciliation(msgspec.Struct, kw_only=True):
    """The result. ``counts`` are events, by kind of difference.

    ``worth`` is the sum over all rounds of what the house has more by the ledger, or if negative
    less, in minor units; None where no wager was recorded. ``not_listed`` counts differences
    beyond ``MOST_ROUNDS``.
    """

    agrees: bool
    lines: int
    streams: list[ComparedStream]
    counts: dict[DifferenceKind, int]
    rounds: list[RoundDifferences]
    worth: int | str | None
    not_listed: int
    troubles: list[Trouble]


class Comparison(NamedTuple):
    """The part of journal and ledger that is compared: these tables or all, events of a time.

    ``since_us`` is inclusive, ``until_us`` exclusive, in µs since 1970 UTC. With
    ``as_delivered`` a line that comes twice is no difference: events are delivered at least once.
    """

    tables: frozenset[str] | None = None
    since_us: int | None = None
    until_us: int | None = None
    as_delivered: bool = False


class _Event(msgspec.Struct):
    id: str = ""
    source: str = ""
    type: str = ""
    time: str = ""
    subject: str | None = None


_event = msgspec.json.Decoder(_Event)


class _Stored(NamedTuple):
    """An event in the journal: its number in its stream, its record, its bytes."""

    number: int
    n: int
    body: bytes


class Numbers:
    """A set of numbers, kept as ranges: little memory where they lie side by side."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []

    def add(self, number: int) -> bool:
        """Add a number; return False if it was there."""
        at = bisect_right(self._begins, number) - 1
        if at >= 0 and number <= self._ends[at]:
            return False
        joins_before = at >= 0 and self._ends[at] == number - 1
        joins_after = at + 1 < len(self._begins) and self._begins[at + 1] == number + 1
        if joins_before and joins_after:
            self._ends[at] = self._ends.pop(at + 1)
            del self._begins[at + 1]
        elif joins_before:
            self._ends[at] = number
        elif joins_after:
            self._begins[at + 1] = number
        else:
            self._begins.insert(at + 1, number)
            self._ends.insert(at + 1, number)
        return True

    def gaps(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of ``first`` to ``last`` that are not in the set."""
        for begin, end in zip(self._begins, self._ends, strict=True):
            if first < begin:
                yield first, min(begin - 1, last)
            first = max(first, end + 1)
            if first > last:
                return
        if first <= last:
            yield first, last


class _JournalStream:
    """A table's events of one audience in the journal, by their numbers."""

    def __init__(self, reader: Reader, table: str, audience: Audience, upto: int) -> None:
        self._reader = reader
        self.table, self.audience = table, audience
        numbers = reader.event_numbers(table, audience, upto=upto)
        self.first, self.last = numbers or (1, 0)
        self.seen = Numbers()
        self._next, self._after = self.first, 0
        self.compared = ComparedStream(
            table=table,
            stream=audience.name.lower(),
            first=None if numbers is None else self.id(self.first),
            last=None if numbers is None else self.id(self.last),
        )

    def restricted_n(self, n: int) -> int:
        """Return the record of an event's restricted copy: it follows the public one."""
        return n + 1 if self.audience is Audience.PUBLIC else n

    def id(self, number: int) -> str:
        """Return the id of the event with this number."""
        return str(EventId(self.table, self.audience, number))

    def events(self, numbers: Iterable[int]) -> Iterator[_Stored | None]:
        """Yield the event of each number, which rise; None where the journal has none."""
        stored: Iterator[_Stored] | None = None
        last: _Stored | None = None
        for number in numbers:
            if stored is None or last is None or number - last.number > _NEAR:
                stored = self._from(number)
                last = None
            while stored is not None and (last is None or last.number < number):
                last = next(stored, None)
                if last is None:
                    stored = None
            if last is not None:
                self._next, self._after = last.number + 1, last.n
            yield last if last is not None and last.number == number else None

    def _from(self, number: int) -> Iterator[_Stored] | None:
        """Return the events from this one on; None where the journal does not have it."""
        if number != self._next:
            n = self._reader.find_event(EventId(self.table, self.audience, number))
            if n is None:
                return None
            after = n - 1
        else:
            after = self._after
        kinds = (_KINDS[self.audience],)
        records = self._reader.records(after=after, table=self.table, kinds=kinds)
        return (_Stored(number + at, one.n, one.body) for at, one in enumerate(records))


def reconcile(reader: Reader, ledger: Ledger, compared: Comparison) -> Reconciliation:
    """Compare a ledger with the journal.

    A stream of which the ledger has no line at all is not compared: a public ledger lacks no
    restricted event. A table of which it has none is missing.

    Raises:
        InputRefused: the journal has no such table, or no line of the ledger is of this journal.
        JournalError: the journal cannot be read.
        EnvironmentFault: the ledger cannot be read.
    """
    return _Walk(reader, ledger, compared).run()


class _Walk:
    def __init__(self, reader: Reader, ledger: Ledger, compared: Comparison) -> None:
        self._reader, self._ledger, self._compared = reader, ledger, compared
        self._last_n, heads = reader.heads()
        tables = sorted(heads.keys() - {JOURNAL})
        if unknown := sorted((compared.tables or frozenset()) - heads.keys()):
            have = ", ".join(tables) or "none"
            raise InputRefused(f"{reader.path}: no table {unknown[0]} (have: {have})")
        self._tables = tables if compared.tables is None else sorted(compared.tables)
        self._known = frozenset(tables)
        self._streams: dict[tuple[str, Audience], _JournalStream] = {}
        self._since = None if compared.since_us is None else utc(compared.since_us)
        self._until = None if compared.until_us is None else utc(compared.until_us)
        self._found: dict[tuple[str, str, str | None], RoundDifferences] = {}
        self._events: dict[tuple[str, str, str | None], RoundEvents] = {}
        self._counts: Counter[DifferenceKind] = Counter()
        self._not_listed = 0
        self._lines = 0
        self._sources: dict[str, str | None] = {}

    def run(self) -> Reconciliation:
        audiences: set[Audience] = set()
        for part in _parts(self._ledger):
            of_journal = [line for line in part if self._is_compared(line)]
            self._lines += len(part)
            of_journal.sort(key=_order)  # stable: the first line of an event stays the first
            for (table, audience), lines in groupby(of_journal, _stream_of):
                audiences.add(audience)
                self._compare(self._stream(table, audience), list(lines))
        if not audiences:
            raise InputRefused(self._nothing_compared())
        for table in self._tables:
            for audience in sorted(audiences, key=lambda one: one.value):
                self._add_missing(self._stream(table, audience))
        rounds = sorted(self._found.values(), key=lambda one: (one.time, one.table, one.stream))
        worth = self._add_money()
        return Reconciliation(
            agrees=not (self._counts or self._ledger.troubles),
            lines=self._lines,
            streams=[one.compared for _, one in sorted(self._streams.items(), key=_place)],
            counts=dict(self._counts),
            rounds=rounds,
            worth=worth,
            not_listed=self._not_listed,
            troubles=self._ledger.troubles,
        )

    def _nothing_compared(self) -> str:
        journal = self._reader.path
        if not self._lines and not self._ledger.troubles:
            return f"the ledger has no line to compare with {journal}"
        if not self._ledger.troubles:
            return f"the ledger has no line of table {', '.join(self._tables)}"
        most = max(self._ledger.troubles, key=lambda one: one.lines)
        where = f"{most.file} line {most.line} {most.what}"
        return f"no line of the ledger can be compared with {journal}: {where}"

    def _stream(self, table: str, audience: Audience) -> _JournalStream:
        key = table, audience
        if key not in self._streams:
            self._streams[key] = _JournalStream(self._reader, table, audience, self._last_n)
        return self._streams[key]

    def _is_compared(self, line: LedgerLine) -> bool:
        """Return True if the line is of this journal; one of another is set aside."""
        if line.table not in self._known:
            what = f"is of table {line.table}, which the journal does not have"
        elif line.table not in self._tables:
            return False  # another table was asked for
        elif (other := self._other_journal(line.source)) is not None:
            what = other
        else:
            return True
        self._ledger.set_aside(line, what)
        return False

    def _other_journal(self, source: str) -> str | None:
        """Return None if this is a source of the journal; else what is wrong with it."""
        if source not in self._sources:
            if len(self._sources) > MOST_ROUNDS:
                self._sources.clear()
            known = end_of_epoch(self._reader, table_in(source), epoch_in(source))[0]
            self._sources[source] = None if known else f"is of another journal: {source}"
        return self._sources[source]

    # Lines of the ledger.

    def _compare(self, stream: _JournalStream, lines: list[LedgerLine]) -> None:
        numbers = dict.fromkeys(line.number for line in lines if line.number >= stream.first)
        stored = dict(zip(numbers, stream.events(numbers), strict=True))
        for line in lines:
            if line.number < stream.first:
                stream.compared.not_compared += 1
                continue
            event = stored[line.number]
            if event is None:
                self._add_foreign(stream, line, "the journal has no event of this number")
            elif not self._is_in_time(event.body):
                stream.seen.add(line.number)
            else:
                self._compare_event(stream, line, event)

    def _compare_event(self, stream: _JournalStream, line: LedgerLine, stored: _Stored) -> None:
        is_same = line.body == stored.body
        if not is_same and not is_json(line.body):
            self._ledger.set_torn(line)
            return
        is_same = is_same or _canonical(line.body) == _canonical(stored.body)
        if not is_same and _event.decode(stored.body).source != line.source:
            self._add_foreign(stream, line, "the journal lost what it had before under this number")
            return
        is_first = stream.seen.add(line.number)
        if not is_same:
            self._add_altered(stream, line, stored)
        elif is_first:
            stream.compared.agree += 1
        if not is_first and not self._compared.as_delivered:
            self._add_doubled(stream, line, stored)

    def _is_in_time(self, body: bytes) -> bool:
        if self._since is None and self._until is None:
            return True
        time = _event.decode(body).time
        after = self._since is None or self._since <= time
        return after and (self._until is None or time < self._until)

    def _add_foreign(self, stream: _JournalStream, line: LedgerLine, why: str) -> None:
        if not is_json(line.body):
            self._ledger.set_torn(line)
            return
        event = _said(line.body)
        if not self._is_in_time(_json.encode(event)):
            return
        of = self._note(
            stream, event, Difference(
                kind="foreign", first=stream.id(line.number), last=stream.id(line.number),
                types=[event.type], file=line.file, line=line.line, why=why,
            ),
        )  # fmt: skip
        if of is not None and event.type in TYPES:
            of.added.append(StandingEvent(event.type, _data(line.body)))

    def _add_altered(self, stream: _JournalStream, line: LedgerLine, stored: _Stored) -> None:
        event, said = _event.decode(stored.body), _said(line.body)
        altered = Difference(
            kind="altered", first=event.id, last=event.id, types=[event.type], file=line.file,
            line=line.line,
            keys=list(_differing_keys(stored.body, line.body, with_values=_tells_no_card(event))),
        )  # fmt: skip
        of = self._note(stream, event, altered)
        if of is not None and {event.type, said.type} & TYPES:
            of.changed[stream.restricted_n(stored.n)] = StandingEvent(said.type, _data(line.body))

    def _add_doubled(self, stream: _JournalStream, line: LedgerLine, stored: _Stored) -> None:
        event = _event.decode(stored.body)
        doubled = Difference(
            kind="doubled", first=event.id, last=event.id, types=[event.type], file=line.file,
            line=line.line,
        )  # fmt: skip
        of = self._note(stream, event, doubled)
        if of is not None and event.type in TYPES:
            of.doubled.append(StandingEvent(event.type, _data(line.body)))

    # Events that the ledger does not have.

    def _add_missing(self, stream: _JournalStream) -> None:
        unpublished = self._unpublished(stream.table)
        for first, last in stream.seen.gaps(stream.first, stream.last):
            for stored in stream.events(range(first, last + 1)):
                if stored is None or any(a <= stored.n <= b for a, b in unpublished):
                    continue
                if self._is_in_time(stored.body):
                    self._add_missing_event(stream, stored)

    def _unpublished(self, table: str) -> list[tuple[int, int]]:
        """Return records whose events are never published, by rulings on lost parts."""
        ranges = (ruling.unpublished.get(table) for _, ruling in rulings(self._reader))
        return [one for one in ranges if one is not None]

    def _add_missing_event(self, stream: _JournalStream, stored: _Stored) -> None:
        event = _event.decode(stored.body)
        missing = Difference(kind="missing", first=event.id, last=event.id, types=[event.type])
        of = self._note(stream, event, missing, number=stored.number)
        if of is not None and event.type in TYPES:
            of.changed[stream.restricted_n(stored.n)] = None

    def _note(
        self,
        stream: _JournalStream,
        event: _Event,
        difference: Difference,
        *,
        number: int | None = None,
    ) -> RoundEvents | None:
        """Add a difference to its round; None where so many rounds differ that it is counted."""
        self._counts[difference.kind] += 1
        key = stream.table, stream.compared.stream, event.subject
        found = self._found.get(key)
        if found is None:
            if len(self._found) >= MOST_ROUNDS:
                self._not_listed += 1
                return None
            found = self._found[key] = RoundDifferences(
                table=stream.table, stream=stream.compared.stream, round_id=event.subject,
                time=event.time, differences=[],
            )  # fmt: skip
            self._events[key] = RoundEvents()
        found.time = min(found.time, event.time)
        before = found.differences[-1] if found.differences else None
        if (
            number is not None
            and before is not None
            and before.kind == difference.kind
            and before.last == stream.id(number - 1)
        ):
            before.last, before.events = difference.last, before.events + 1
            before.types += [one for one in difference.types if one not in before.types]
        elif len(found.differences) < _MOST_OF_A_ROUND:
            found.differences.append(difference)
        else:
            self._not_listed += 1
        return self._events[key]

    # The money.

    def _add_money(self) -> int | str | None:
        """Add to each round what its differences are worth; return the sum."""
        differing = {key: events for key, events in self._events.items() if not events.is_plain}
        ids = {key: round_id(key[2] or "") for key in differing}
        stored = self._standing_events({of for of in ids.values() if of is not None})
        worth: dict[tuple[str, str | None], Fraction] = {}
        for key, events in differing.items():
            money = round_money(stored.get(ids[key], {}), events)
            self._found[key].money = money
            if money is not None:
                of = key[0], key[2]  # the same round may differ in both streams
                worth[of] = max(worth.get(of, Fraction(0)), amount(money.worth), key=abs)
        return plain(sum(worth.values(), Fraction(0))) if worth else None

    def _standing_events(
        self, wanted: set[RoundId]
    ) -> dict[RoundId | None, dict[int, StandingEvent]]:
        """Return the events of these rounds that change how they stand, by their records."""
        found: dict[RoundId | None, dict[int, StandingEvent]] = {of: {} for of in wanted}
        for record in self._records(wanted):
            of = round_id(_event.decode(record.body).subject or "")
            if of in found:
                event = _event.decode(record.body)
                found[of][record.n] = StandingEvent(event.type, _data(record.body))
        return found

    def _records(self, wanted: set[RoundId]) -> Iterator[Record]:
        """Yield records of these rounds, by the index; an export has none, and is read whole."""
        if self._reader.has_rounds:
            rounds = (self._reader.round(of) for of in sorted(wanted))
            numbers = [n for one in rounds if one is not None for n in one.records]
            yield from self._reader.records_at(numbers)
            return
        if wanted:
            marks = [f'"type":"{one}"'.encode() for one in TYPES]
            for record in self._reader.records(upto=self._last_n, kinds=(Kind.RESTRICTED,)):
                if any(mark in record.body for mark in marks):
                    yield record


def _parts(ledger: Ledger) -> Iterator[list[LedgerLine]]:
    """Yield the ledger's lines, so many at a time as are sorted in memory."""
    part: list[LedgerLine] = []
    size = 0
    for line in ledger:
        part.append(line)
        size += len(line.body)
        if size > _PART_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _order(line: LedgerLine) -> tuple[str, str, int]:
    return line.table, line.audience.value, line.number


def _stream_of(line: LedgerLine) -> tuple[str, Audience]:
    return line.table, line.audience


def _place(item: tuple[tuple[str, Audience], _JournalStream]) -> tuple[str, str]:
    return item[0][0], item[0][1].value


def _canonical(body: bytes) -> bytes:
    """Return JSON in one form, whatever the order of its keys and its spaces."""
    return _json.encode(msgspec.json.decode(body))


def _said(body: bytes) -> _Event:
    """Return what a ledger's line says; a line may have any values behind its id and source."""
    try:
        return _event.decode(body)
    except ValueError:
        plain_: dict[str, Any] = msgspec.json.decode(body)
        words = {key: value for key, value in plain_.items() if isinstance(value, str)}
        return msgspec.convert(words, _Event)


def _data(body: bytes) -> Mapping[str, Any]:
    found = msgspec.json.decode(body).get("data")
    return found if isinstance(found, Mapping) else {}


def _tells_no_card(event: _Event) -> bool:
    """Return True if an event's values name no card that is face down, whoever reads them."""
    return event.type in _WITH_VALUES or event.type.startswith("wager.")


def _differing_keys(stored: bytes, said: bytes, *, with_values: bool) -> Iterator[AlteredKey]:
    pairs = _leaves(msgspec.json.decode(stored)), _leaves(msgspec.json.decode(said))
    journal, ledger = (dict(leaves) for leaves in pairs)
    for key in dict.fromkeys((*journal, *ledger)):
        ours, theirs = journal.get(key), ledger.get(key)
        if ours != theirs:
            yield (
                AlteredKey(key=key, journal=ours, ledger=theirs)
                if with_values
                else AlteredKey(key=key)
            )


def _leaves(value: object, at: str = "") -> Iterator[tuple[str, str]]:
    """Yield each value of an event that holds no others, as JSON, by its key."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{at}.{key}" if at else str(key))
    else:
        yield at, _json.encode(value).decode()
