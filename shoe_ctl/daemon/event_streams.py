"""Events for who asks: what was committed behind an event, and at the socket then what comes.

In: requests of known callers. Out: envelopes, some at a time, at the socket without end; refusals
that say what the journal has. Must not know: the socket, brokers, what an event means.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from typing import NamedTuple, TypeVar

import msgspec

from shoe_ctl.api.answers import RequestRefused, audience_of
from shoe_ctl.api.requests import Caller, EventsRequest
from shoe_ctl.api.unix_socket import Lines
from shoe_ctl.clock import Clock
from shoe_ctl.daemon.beats import Heart, beat
from shoe_ctl.daemon.environment import Environment
from shoe_ctl.daemon.resends import Budgets, Range, Read, union
from shoe_ctl.history.shoe_sections import current_shoe_start, tables_of
from shoe_ctl.journal.journal import (
    DeliveryGate,
    EventsRemoved,
    Journal,
    LiveFeed,
    UnknownEvent,
    check_kept,
)
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.recovery import end_of_epoch
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience, EventId, epoch_in, event_id, source_of
from shoe_ctl.texts.message import Message, message

_T = TypeVar("_T")

BATCH = 64
"""Events sent at a time: no more are held in memory for a caller."""

BEGINNING = "beginning"
"""``after`` for all that the journal has."""

SHOE = "shoe"
"""``after`` for all that the journal has of the shoe on the table; of several, of the oldest."""

log = logging.getLogger(__name__)


class _Source(msgspec.Struct):
    """The attribute of an event's envelope that names its journal and epoch."""

    source: str


_source = msgspec.json.Decoder(_Source)


class _Stream(NamedTuple):
    """Whoever is sent events, and which: what a user asks for again is known by this."""

    user: str
    audience: Audience
    table: str | None


@contextmanager
def event_streams(
    journal: Journal,
    store: Store,
    environment: Environment,
    gate: DeliveryGate,
    clock: Clock,
) -> Iterator[EventStreams]:
    """Send events until leaving. The journal is opened for reading when the first caller comes."""
    with ExitStack() as stack:
        readings = stack.enter_context(ExitStack())
        readers = stack.enter_context(environment.thread("event-reader"))  # ends before that

        @functools.cache
        def open_reader() -> Reader:
            return readings.enter_context(store.reader())

        yield EventStreams(journal, open_reader, readers, gate, clock)


class EventStreams:
    """Everybody who gets events. ``gate`` holds events back from them as from the sinks.

    ``open_reader`` is called in ``readers``, and so is all that reads. Events that a user was sent
    before and asks for again are taken from its budget, one of ``budgets``.
    """

    def __init__(
        self,
        journal: Journal,
        open_reader: Callable[[], Reader],
        readers: Executor,
        gate: DeliveryGate,
        clock: Clock,
    ) -> None:
        self._clock = clock
        self._journal = journal
        self._open_reader = open_reader
        self._readers = readers
        self._gate = gate
        self.budgets = Budgets()
        self._sent: dict[_Stream, list[Range]] = {}

    async def open(self, caller: Caller, asked: EventsRequest) -> Lines:
        """Return the events that were asked for.

        Raises:
            RequestRefused: the caller may not see them, or ``after`` is nothing to begin at.
            JournalError: the journal cannot be read.
        """
        audience = audience_of(caller, asked.audience)
        began = self._now()  # what comes while the journal is opened is sent, too
        reader = await self._read(self._open_reader)
        if asked.after is not None:
            position = functools.partial(_position, reader, asked, audience, now=began)
            began = await self._read(position)
        elif asked.source is not None:
            raise RequestRefused(message("events_source_alone"))
        log.info(
            "events: stream started: user=%s audience=%s table=%s after=%s record=%d",
            caller.user, audience.name.lower(), asked.table or "all", asked.after or "now", began,
        )  # fmt: skip
        feed = LiveFeed(
            self._journal,
            reader,
            self._readers,
            audience=audience,
            table=asked.table,
            gate=self._gate,
            after=began,
        )
        stream = _Stream(caller.user, audience, asked.table)
        return self._batches(stream, feed, began, beats=asked.beats)

    async def read(self, call: Callable[[Reader], _T]) -> _T:
        """Return what a call returns that is given a reader, in the thread of those who read.

        Raises:
            JournalError: the journal cannot be read.
        """
        return await self._read(lambda: call(self._open_reader()))

    async def past(self, caller: Caller, asked: EventsRequest) -> tuple[Range, Read]:
        """Return the records of what was published behind an event, and what reads its events.

        Raises:
            RequestRefused, JournalError: as ``open``.
        """
        audience, upto = audience_of(caller, asked.audience), self._now()
        reader = await self._read(self._open_reader)
        after = await self._read(functools.partial(_position, reader, asked, audience, now=upto))

        async def read(records: Range, limit: int) -> list[tuple[int, bytes]]:
            feed = LiveFeed(
                self._journal,
                reader,
                self._readers,
                audience=audience,
                table=asked.table,
                gate=self._gate,
                after=records[0],
            )
            try:
                found = await feed.upcoming(limit)
            except EventsRemoved:
                raise RequestRefused(message("events_removed")) from None
            return [event for event in found if event[0] <= records[1]]

        return (after, upto), read

    async def _batches(self, stream: _Stream, feed: LiveFeed, began: int, *, beats: bool) -> Lines:
        news, last = asyncio.Event(), began
        before = [*self._sent.get(stream, ())]
        heart = Heart(self._clock, news) if beats else None
        self._journal.on_commit(news.set)
        self._gate.on_open(news.set)
        try:
            while True:
                news.clear()  # before looking: what comes meanwhile is looked for again
                events = await feed.upcoming(BATCH)
                if events:
                    if before:
                        before = await self._take_repeated(stream.user, events, before)
                    last = events[-1][0]
                    yield [body for _, body in events]
                    feed.sent(last)
                elif heart is not None and heart.is_due:
                    yield [beat(self._clock)]
                else:
                    await news.wait()
                    continue
                if heart is not None:
                    heart.sent()
        except EventsRemoved as error:
            log.warning('events: stream ended: user=%s reason="%s"', stream.user, error)
            raise RequestRefused(message("events_removed")) from None
        finally:
            if heart is not None:
                heart.stop()
            self._journal.forget(news.set)
            self._gate.forget(news.set)
            self._sent[stream] = union([*self._sent.get(stream, ()), (began, last)])

    async def _take_repeated(
        self, user: str, events: Sequence[tuple[int, bytes]], before: list[Range]
    ) -> list[Range]:
        """Take those of these events from the user's budget that were sent ``before``.

        Return the ranges that are still ahead.
        """
        repeated = sum(any(after < n <= upto for after, upto in before) for n, _ in events)
        if repeated:
            await self.budgets.of(user).take(repeated)
        return [each for each in before if each[1] > events[-1][0]]

    def _now(self) -> int:
        """Return the last record that was published. What is held back is still to come."""
        last_n = self._journal.recent.last_n
        return min(self._gate.after, last_n) if self._gate.waiting else last_n

    async def _read(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, call)


def _position(reader: Reader, asked: EventsRequest, audience: Audience, *, now: int) -> int:
    """Return the record behind which the stream begins; ``now`` is the last one published.

    Records are in one order for all tables. So the last event that a receiver of all tables has
    shows what it has of each of them.

    Raises:
        RequestRefused: ``after`` is nothing to begin at.
        JournalError: the journal cannot be read.
    """
    assert asked.after is not None
    before_all = (reader.first_n() or 1) - 1
    if asked.after in (BEGINNING, SHOE):
        if asked.source is not None:
            raise RequestRefused(message("events_source_alone"))
        return before_all if asked.after == BEGINNING else _before_shoe(reader, asked.table, now)
    after = _named_event(asked.after, asked.table, audience)
    n = reader.find_event(after)
    if asked.source is not None:
        if asked.source != source_of(epoch_in(asked.source), after.table):
            raise RequestRefused(message("events_source_invalid", source=asked.source))
        tables = reader.heads()[1].keys() if asked.table is None else {after.table}
        if (end := _end_of_lost_source(reader, after, n, asked.source, tables)) is not None:
            return end
    if n is not None:
        return n
    try:
        check_kept(reader, after)
    except UnknownEvent as error:
        if not (asked.table is not None and after.number == 0 and error.last is None):
            raise RequestRefused(why_unknown(after, error)) from None
    if asked.table is None:  # it says nothing of the other tables
        raise RequestRefused(message("events_not_for_all_tables", after=str(after)))
    return before_all


def _before_shoe(reader: Reader, table: str | None, now: int) -> int:
    """Return the record before the first event of the shoe on the table, of all tables the oldest.

    ``now`` where the journal has no shoe from its beginning.
    """
    starts = [
        current_shoe_start(reader, one) for one in (tables_of(reader) if table is None else [table])
    ]
    return min([now, *(start - 1 for start in starts if start is not None)])


def _named_event(text: str, table: str | None, audience: Audience) -> EventId:
    """Return the id that ``after`` is; it fits the table and the audience asked for."""
    letter = audience.value
    try:
        after = event_id(text)
    except ValueError:
        raise RequestRefused(
            message("events_id_invalid", after=text, example=f"{table or 'bac-07'}/{letter}31")
        ) from None
    if after.audience is not audience:
        other = after._replace(audience=audience)
        raise RequestRefused(
            message(
                "events_id_of_other_audience",
                after=text,
                audience=audience.name.lower(),
                example=str(other),
            )
        )
    if table is not None and after.table != table:
        raise RequestRefused(message("events_id_of_other_table", after=text, table=table))
    return after


def _end_of_lost_source(
    reader: Reader, after: EventId, n: int | None, source: str, tables: Iterable[str]
) -> int | None:
    """Return the last record of an earlier source of which the event is lost, else None.

    Where a person ruled that a journal which lost its newest part goes on, other events have the
    same numbers under another source, and a receiver has none of them, of none of the ``tables``.

    Raises:
        RequestRefused: the event is of a source that the journal does not know.
    """
    if n is not None and _source_at(reader, after, n) == source:
        return None
    kept = reader.event_numbers(after.table, after.audience)
    if n is None and kept is not None and after.number < kept[0]:
        return None  # whether what follows is kept is checked by its number
    epoch = epoch_in(source)
    known, end = end_of_epoch(reader, after.table, epoch)
    before = None if end is None else reader.event_numbers(after.table, after.audience, upto=end)
    is_of_another = n is not None if end is None else before and after.number <= before[1]
    if not known or is_of_another:
        raise RequestRefused(message("events_source_unknown", after=str(after), source=source))
    if end is None:
        return None  # it is the current one: there is no such event
    ends = (end_of_epoch(reader, table, epoch)[1] for table in tables)
    return min(one for one in ends if one is not None)


def _source_at(reader: Reader, event: EventId, n: int) -> str:
    found, _ = reader.events(event.audience, after=n - 1, limit=1, table=event.table)
    return _source.decode(found[0][1]).source


def why_unknown(after: EventId, error: UnknownEvent) -> Message:
    """Return the refusal of an id: what the journal has instead."""
    if error.first is None or error.last is None:
        return message("events_none", after=str(after))
    first, last = str(error.first), str(error.last)
    if after.number > error.last.number:
        return message("events_unknown", after=str(after), first=first, last=last)
    return message("events_not_kept", after=str(after), first=first, last=last)
