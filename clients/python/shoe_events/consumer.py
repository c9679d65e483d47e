"""Which event is to be applied next, and which ones are to be asked for again.

In: events as they come: in order, twice, late, with gaps, under a new source. Out: each event once,
with the position to store beside its effect; the ranges that are missing. It does no I/O and knows
no time, so the same calls give the same results.
Must not know: transports, stores, what an event means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Literal

from shoe_events.event import Audience, Event, make_id, number_of, read_id
from shoe_events.position import Position, Range, add, contains, subtract

FIRST_REACH = 64
"""So many numbers back is asked first for the beginning of a new source; then eight times as many.
"""

MOST_HELD = 10_000
"""Events that wait behind a gap. More are not kept: they are asked for again with the gap."""

_Key = tuple[str, Audience]
_Table = tuple[str, Audience]


class Offered(Enum):
    """What became of an event that was offered."""

    TAKEN = "taken"
    """It is to be applied now, or as soon as those before it were."""
    DUPLICATE = "duplicate"
    """It was applied before, or waits already."""
    NOT_KEPT = "not_kept"
    """Too many wait already. It will be asked for again."""


@dataclass(frozen=True, slots=True)
class NewSource:
    """A table goes on under another source: its journal is a new one, or lost its newest part.

    ``former`` is how far the source before it was applied. ``first`` is the number with which the
    new source began, None while that is not known. With ``first`` 1 the journal is a new one.
    Otherwise the journal goes on without what the former source had from that number on:
    ``disowned`` is the range of those that were applied, None if there are none.
    """

    former: Position
    first: int | None
    disowned: Range | None


@dataclass(frozen=True, slots=True)
class Due:
    """An event to apply now, and the position to store in the same transaction.

    ``late``: later events of the table were applied before it. ``new_source`` stands with the first
    event of a source that follows another one.
    """

    event: Event
    position: Position
    late: bool = False
    new_source: NewSource | None = None


@dataclass(frozen=True, slots=True)
class Resend:
    """What to ask for again: all of this table and audience behind the event ``after``.

    ``source`` is that event's own, None where it is not known. ``upto`` is the last number that is
    known to be missing in the source ``missing_in``, None where nothing is. ``missing_in`` is empty
    where no event of the table came yet.
    """

    table: str
    audience: Audience
    after: str
    source: str | None
    upto: int | None
    missing_in: str


@dataclass(slots=True)
class _Stream:
    position: Position
    former: _Stream | None = None
    """The stream of the source before it."""
    has_applied: bool = False
    """False until an event of it was applied."""
    held: dict[int, Event] = field(default_factory=dict)
    late: dict[int, Event] = field(default_factory=dict)
    seen: int = 0
    """The highest number that was offered."""
    lowest: int = 0
    """The lowest number that was offered while the beginning is looked for."""
    last_before: int = 0
    """Meanwhile: the number of the last event of another source that was offered."""
    reach: int = FIRST_REACH


class Consumer:
    """Applies each event of any number of tables once, in order.

    ``positions`` are those that were stored. With ``hold`` events behind a gap wait until it is
    closed or given up; without, they are applied at once, and those of the gap later. ``begin``
    says where a table begins that is not known yet: with the ``"first"`` event of its journal, or
    with the event that comes first, ``"anywhere"``.

    Call ``offer`` for each event that comes; then, as long as ``due`` has one, apply it and call
    ``applied``; then ask for what ``wanted`` names.
    """

    def __init__(
        self,
        positions: Iterable[Position] = (),
        *,
        hold: bool = True,
        begin: Literal["anywhere", "first"] = "anywhere",
        most_held: int = MOST_HELD,
    ) -> None:
        self._hold = hold
        self._begin = begin
        self._most_held = most_held
        self._streams: dict[_Key, _Stream] = {}
        self._newest: dict[_Table, _Stream] = {}
        self._expected: dict[_Table, int] = {}
        for position in positions:
            self._add(
                _Stream(
                    position,
                    seen=position.number,
                    lowest=position.first,
                    has_applied=True,
                )
            )
        for newest in self._newest.values():
            for stream in (newest, *_formers(newest)):
                if stream.position.begun:
                    self._end_formers(stream, stream.lowest)

    def _add(self, stream: _Stream) -> None:
        """Put a source among those of its table, by its time."""
        position = stream.position
        table = position.table, position.audience
        self._streams[position.key] = stream
        later: _Stream | None = None
        former = self._newest.get(table)
        while former is not None and former.position.since > position.since:
            later, former = former, former.former
        stream.former = former
        if later is None:
            self._newest[table] = stream
        else:
            later.former = stream

    @property
    def positions(self) -> list[Position]:
        """How far each stream was applied."""
        return [stream.position for stream in self._streams.values()]

    @property
    def is_waiting(self) -> bool:
        """True while an event is missing that is asked for."""
        return bool(self._expected) or any(
            stream.seen > stream.position.number
            or stream.position.missing
            or not stream.position.begun
            for stream in self._streams.values()
        )

    def offer(self, event: Event, *, seamless: bool = False) -> Offered:
        """Take in an event, in whatever order it comes.

        ``seamless``: the transport reads the journal's own order, so that nothing lies between the
        event of the same table and audience that was offered before and this one.
        """
        stream = self._streams.get((event.source, event.audience))
        if stream is None:
            stream = self._open(event, is_first=seamless)
        for other in self._sources_behind(stream):
            other.last_before = event.number
        if not stream.position.begun:
            self._look_back(stream, event.number)
        return self._place(stream, event)

    def expect(self, event_id: str) -> None:
        """There is an event with this id: if it did not come, it is missing.

        For a transport that shows how far a table has got; without it the loss of a table's last
        event is seen when the next one comes. A table of which no event came is left alone, unless
        tables begin with their first event.
        """
        table, audience, number = read_id(event_id)
        stream = self._newest.get((table, audience))
        if stream is None:
            if self._begin == "first":
                known = self._expected.get((table, audience), 0)
                self._expected[table, audience] = max(known, number)
        elif not self._waits_for_beginning(stream):
            stream.seen = max(stream.seen, number)

    def _sources_behind(self, stream: _Stream) -> Iterator[_Stream]:
        """The streams of the table's later sources, newest first."""
        later: _Stream | None = self._newest[stream.position.table, stream.position.audience]
        while later is not None and later is not stream:
            yield later
            later = later.former

    def _look_back(self, stream: _Stream, number: int) -> None:
        """Look for the beginning of a source: its number 1, or the seam to the source before it.

        Offered again, the events of a journal stand in its order, each with its own source.
        """
        if number == 1 or number == stream.last_before + 1:
            self._found_beginning(stream, number)
        elif number < stream.lowest:
            if number <= stream.lowest - stream.reach:
                stream.reach *= 8  # all that was asked for has this source
            self._miss_between(stream, number)
            stream.lowest = number

    def _miss_between(self, stream: _Stream, number: int) -> None:
        """What lies between two events of a source is of that source, and missing."""
        if self._hold:
            return  # all that is missing is found with the beginning
        position, last = stream.position, stream.lowest - 1
        missing = add(position.missing, number + 1, last)
        given_up = subtract(position.given_up, number + 1, last)
        stream.position = replace(position, missing=missing, given_up=given_up)

    def _place(self, stream: _Stream, event: Event) -> Offered:
        number, position = event.number, stream.position
        if number in stream.held or number in stream.late:
            return Offered.DUPLICATE
        if self._waits_for_beginning(stream):
            return self._keep(stream, event)
        if number <= position.number:
            if not contains((*position.missing, *position.given_up), number):
                return Offered.DUPLICATE
            stream.late[number] = event
            return Offered.TAKEN
        return self._keep(stream, event)

    def _keep(self, stream: _Stream, event: Event) -> Offered:
        stream.seen = max(stream.seen, event.number)
        is_next = event.number == stream.position.number + 1
        if len(stream.held) >= self._most_held and not is_next:
            return Offered.NOT_KEPT
        stream.held[event.number] = event
        return Offered.TAKEN

    def _waits_for_beginning(self, stream: _Stream) -> bool:
        return self._hold and not stream.position.begun

    def _open(self, event: Event, *, is_first: bool) -> _Stream:
        """Begin a stream with the first event of it that comes."""
        self._expected.pop((event.table, event.audience), None)
        before = event.number - 1
        position = Position(
            source=event.source,
            table=event.table,
            audience=event.audience,
            number=before,
            given_up=add((), 1, before),
            since=event.time,
            begun=event.number == 1,
        )
        stream = _Stream(position, lowest=event.number)
        self._add(stream)
        is_known = stream.former is not None
        if is_first if is_known else self._begin == "anywhere":
            stream.position = replace(position, begun=True)
        elif not is_known:
            stream.reach = event.number
        if stream.position.begun:
            self._end_formers(stream, event.number)
        return stream

    def _found_beginning(self, stream: _Stream, first: int) -> None:
        """The source began with this number."""
        position = stream.position
        if self._hold:
            stream.position = replace(
                position, number=first - 1, given_up=add((), 1, first - 1), begun=True
            )
        else:
            missing, last = position.missing, stream.lowest - 1
            for start, end in position.given_up:
                missing = add(missing, max(start, first), min(end, last))
            given_up = subtract(position.given_up, first, last)
            stream.position = replace(position, missing=missing, given_up=given_up, begun=True)
        self._end_formers(stream, first)

    def _end_formers(self, stream: _Stream, first: int) -> None:
        """Ask no more for what the journal has no more: from ``first`` on, or all if that is 1."""
        for former in _formers(stream):
            if not former.position.begun and (first == 1 or former.lowest >= first):
                self._found_beginning(former, former.lowest)
            for start, end in self._gaps(former):
                self._give_up(former, start if first == 1 else max(start, first), end)

    def _open_gaps(self, stream: _Stream) -> list[Range]:
        """The gaps that were not given up, oldest first."""
        gaps = self._gaps(stream)
        return [part for gap in gaps for part in _without(gap, stream.position.given_up)]

    def _gaps(self, stream: _Stream) -> list[Range]:
        """The numbers that are missing below one that came, oldest first."""
        if self._waits_for_beginning(stream):
            return []
        if not (stream.held or stream.position.missing or stream.seen > stream.position.number):
            return []
        found = list(stream.position.missing)
        before = stream.position.number
        for number in sorted({*stream.held, stream.seen + 1}):
            if number > before + 1:
                found.append((before + 1, number - 1))
            before = max(before, number)
        return found

    def due(self) -> Due | None:
        """Return the event that is to be applied now; None if there is none.

        It stays the same until ``applied`` is called.
        """
        for newest in self._newest.values():
            for stream in reversed((newest, *_formers(newest))):
                if (due := self._due(stream)) is not None:
                    return due
        return None

    def _due(self, stream: _Stream) -> Due | None:
        position = stream.position
        if stream.late:
            number = min(stream.late)
            after = replace(
                position,
                missing=subtract(position.missing, number, number),
                given_up=subtract(position.given_up, number, number),
            )
            return Due(stream.late[number], after, late=True)
        if not stream.held or self._waits_for_beginning(stream):
            return None
        following = position.number + 1
        if following in stream.held:
            number = following
        elif self._hold and not any(last >= following for _, last in position.given_up):
            return None  # as is most often so while many wait
        else:
            number = min(stream.held)
        missing = position.missing
        for first, last in _without((following, number - 1), position.given_up):
            if self._hold:
                return None
            missing = add(missing, first, last)
        if self._hold and self._has_gap_before(stream):
            return None
        given_up = subtract(position.given_up, number, number)
        after = replace(position, number=number, missing=missing, given_up=given_up)
        later_applied = any(each.has_applied for each in self._sources_behind(stream))
        new_source = None if later_applied else _new_source(stream)
        return Due(stream.held[number], after, late=later_applied, new_source=new_source)

    def _has_gap_before(self, stream: _Stream) -> bool:
        """Return True if an event of an earlier source of the table is still missing."""
        return any(
            self._waits_for_beginning(former) or self._open_gaps(former)
            for former in _formers(stream)
        )

    def applied(self, due: Due) -> None:
        """Note that the event was applied, and its position stored."""
        stream = self._streams[due.position.key]
        stream.held.pop(due.event.number, None)
        stream.late.pop(due.event.number, None)
        begun = stream.position.begun or due.position.begun
        stream.position = replace(due.position, begun=begun)
        stream.has_applied = True

    def wanted(self) -> list[Resend]:
        """Return what is missing now. Ask for it, and again after a while if it does not come."""
        return list(self._wanted())

    def _wanted(self) -> Iterator[Resend]:
        for (table, audience), number in self._expected.items():
            yield Resend(table, audience, make_id(table, audience, 0), None, number, "")
        for stream in self._streams.values():
            if not stream.position.begun:
                after = max(0, stream.lowest - 1 - stream.reach)
                # Behind the former source's last event the lowest one is the seam: it comes, too.
                upto = stream.lowest - (stream.former is None)
                yield _resend(stream.position, after, upto)
            gaps = self._open_gaps(stream)
            if gaps:
                yield _resend(stream.position, gaps[0][0] - 1, gaps[-1][1])

    def resume(self) -> list[Resend]:
        """Return what to ask for after a new connection: the last event that came, and all behind.

        The last events may be missing without one that follows them. The last one that came shows
        whether the journal still has the same source. What is missing before it ``wanted`` names.
        """
        return [self._resume(stream) for stream in self._newest.values()]

    def _resume(self, stream: _Stream) -> Resend:
        while self._waits_for_beginning(stream) and stream.former is not None:
            stream = stream.former
        last = max(stream.position.number, stream.seen)
        return _resend(stream.position, max(0, last - 1), None)

    def step_back(self, asked: Resend, last: int | None = None) -> Resend | None:
        """Return what to ask for where there is no event ``after``; None if there is nothing.

        ``last`` is the last number that there is, if that is known. The journal then lost its
        newest part, or is a new one, and its last event says so.
        """
        number = number_of(asked.after)
        before = 0 if last is None else max(0, last - 1)
        if before >= number:
            return None
        after = make_id(asked.table, asked.audience, before)
        return replace(asked, after=after, source=None, upto=None)

    def give_up(self, asked: Resend) -> None:
        """What was asked for is kept nowhere any more: go on without it.

        An application that can get it in no way calls this, with the resend that ``wanted`` named.
        What comes of it later is applied all the same.
        """
        if not asked.missing_in:
            self._expected.pop((asked.table, asked.audience), None)
            return
        stream = self._streams[asked.missing_in, asked.audience]
        if not stream.position.begun:
            self._found_beginning(stream, stream.lowest)
        upto = stream.seen if asked.upto is None else asked.upto
        for start, end in self._gaps(stream):
            if start <= upto:
                self._give_up(stream, start, min(end, upto))

    def _give_up(self, stream: _Stream, first: int, last: int) -> None:
        position = stream.position
        stream.position = replace(
            position,
            missing=subtract(position.missing, first, last),
            given_up=add(position.given_up, first, last),
        )


def _formers(stream: _Stream) -> Iterator[_Stream]:
    """The streams of the table's earlier sources, newest first."""
    while (former := stream.former) is not None:
        yield former
        stream = former


def _without(gap: Range, ranges: Iterable[Range]) -> tuple[Range, ...]:
    """The parts of a gap that lie in none of these ranges; none of an empty gap."""
    left = add((), *gap)
    for first, last in ranges:
        left = subtract(left, first, last)
    return left


def _new_source(stream: _Stream) -> NewSource | None:
    if stream.has_applied or stream.former is None:
        return None
    former, position = stream.former.position, stream.position
    if not position.begun:
        return NewSource(former, None, None)
    first = position.number + 1
    return NewSource(former, first, (first, former.number) if 1 < first <= former.number else None)


def _resend(position: Position, after: int, upto: int | None) -> Resend:
    return Resend(
        table=position.table,
        audience=position.audience,
        after=make_id(position.table, position.audience, after),
        source=position.source if after >= position.first else None,
        upto=upto,
        missing_in=position.source,
    )
