"""Deliver events: every configured sink open, each at its own pace, with an alarm for refused ones.

In: a configuration, an open journal. Out: deliveries; an input of the event's table where a sink
does not take an event, or takes it later. Must not know: links, what an event means.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Literal

import msgspec

from shoe_ctl.api.answers import RequestRefused
from shoe_ctl.api.requests import Caller
from shoe_ctl.config import Config
from shoe_ctl.config.resolve import naming_file
from shoe_ctl.config.sinks import JsonlConfig, NatsConfig
from shoe_ctl.daemon.environment import Environment, WayIn
from shoe_ctl.daemon.event_streams import why_unknown
from shoe_ctl.daemon.resends import Range
from shoe_ctl.daemon.table_runner import TableRunner
from shoe_ctl.history.shoe_sections import current_shoe_start
from shoe_ctl.journal.evidence import DeliveredEvent
from shoe_ctl.journal.journal import (
    DeadLetters,
    DeliveryGate,
    EventRange,
    HeldEvent,
    Journal,
    LostRange,
    SinkFeed,
    UnknownEvent,
)
from shoe_ctl.journal.reader import BEGINNING, Reader
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience, Envelope, EventId, table_in
from shoe_ctl.sinks.jsonl import JsonlFile, open_jsonl
from shoe_ctl.sinks.jsonl_tail import newest_ids
from shoe_ctl.sinks.pump import (
    Loss,
    Pump,
    Resend,
    Sink,
    SinkTrouble,
    SinkWithState,
    StreamSink,
    wall_us,
)
from shoe_ctl.texts.message import message

log = logging.getLogger(__name__)


Beginning = Literal["now", "shoe", "beginning"]
"""Where a sink begins that the journal does not know, as the configuration says it."""


class NamedSink(msgspec.Struct, frozen=True):
    """A sink with its name, under which the journal keeps its cursor, and what it may see.

    ``table`` is the one whose events it gets, None for every table. ``way_in`` lets it take
    commands. ``checkpoints`` takes the journal's checkpoints to the same broker.
    """

    name: str
    sees: Audience
    sink: Sink
    begins: Beginning = "beginning"
    table: str | None = None
    way_in: WayIn | None = None
    checkpoints: Sink | None = None


def given_last(config: Config) -> list[DeliveredEvent]:
    """Return the last events that the files of the configured sinks hold, of each source.

    A file that cannot be read is left out: opening it reports why.
    """
    found: list[DeliveredEvent] = []
    for configured in config.sink:
        if not isinstance(configured, JsonlConfig) or configured.path == "-":
            continue
        with suppress(OSError):
            newest = newest_ids(config.path(configured.path)) or {}
            ends = {(table_in(source), audience): source for source, audience in newest}
            for (source, audience), number in newest.items():
                table = table_in(source)
                found.append(
                    DeliveredEvent(
                        sink=configured.known_as,
                        source=source,
                        audience=audience,
                        number=number,
                        id=f"{table}/{audience.value}{number}",
                        ends=ends[table, audience] == source,
                    )
                )
    return found


Senders = Mapping[str, Mapping[str, Caller]]
"""The users who may send commands over a sink, by the sink's name and the user's own."""


async def open_sinks(
    config: Config,
    stack: AsyncExitStack,
    environment: Environment,
    senders: Senders,
    now_us: Callable[[], int] = wall_us,
) -> list[NamedSink]:
    """Open the configured sinks. They stay open over an outage, until ``stack`` closes them.

    Raises:
        EnvironmentFault: a sink's file cannot be opened.
        ConfigError: a file with a sink's password or certificates cannot be used.
    """
    sinks = []
    for configured in config.sink:
        name, way_in = configured.known_as, None
        sink: Sink
        checkpoints: Sink | None = None
        if isinstance(configured, JsonlConfig):
            path = configured.path if configured.path == "-" else str(config.path(configured.path))
            output = stack.enter_context(environment.thread("sink"))
            sink = open_jsonl(path, configured.sees, output)
            stack.push_async_callback(sink.close)
        elif isinstance(configured, NatsConfig):
            # A broker's client is imported only for a broker.
            from shoe_ctl.daemon import nats_sinks

            with naming_file(config):
                users = senders.get(name, {})
                sink, way_in = await nats_sinks.open_nats(config, configured, users, stack)
            if configured.checkpoints:
                checkpoints = nats_sinks.checkpoints_to(config, configured)
        else:
            from shoe_ctl.daemon import broker_sinks

            with naming_file(config):
                users = senders.get(name, {})
                sink, way_in = await broker_sinks.open_mqtt(config, configured, users, now_us)
            if configured.checkpoints:
                checkpoints = broker_sinks.checkpoints_to(config, configured)
            await stack.enter_async_context(sink.connected())
        sinks.append(
            NamedSink(
                name,
                configured.sees,
                sink,
                configured.begins,
                table=configured.table,
                way_in=way_in,
                checkpoints=checkpoints,
            )
        )
    return sinks


@asynccontextmanager
async def reopening(sinks: Sequence[NamedSink], asked: asyncio.Event) -> AsyncIterator[None]:
    """Until leaving, open each file that was taken away anew whenever it is ``asked``."""
    files = [named.sink for named in sinks if isinstance(named.sink, JsonlFile)]

    async def reopen() -> None:
        while True:
            await asked.wait()
            asked.clear()
            for file in files:
                await file.reopen()

    task = asyncio.create_task(reopen(), name="sinks reopening")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


Alarms = Callable[[str, Audience], DeadLetters]
"""Returns the alarm of the sink with this name, which gets this stream."""


class RunningSink:
    """A sink that gets its stream, and what people may ask of it."""

    def __init__(self, named: NamedSink, feed: SinkFeed, pump: Pump) -> None:
        self.name = named.name
        self.sees = named.sees
        self._sink = named.sink
        self._table = named.table
        self._feed = feed
        self._pump = pump

    @property
    def losses(self) -> asyncio.Queue[Loss] | None:
        """Losses that the sink reports; None for a sink that reports none."""
        return self._sink.losses if isinstance(self._sink, StreamSink) else None

    async def find_lost(self, loss: Loss, parked: Collection[int]) -> LostRange | None:
        """Return what the sink has to get again of what it seems to have lost; None for nothing.

        ``parked`` are the records that it refused.

        Raises:
            JournalError: the journal cannot be read.
        """
        ends = None if loss.ends is None else HeldEvent(loss.table, *loss.ends)
        return await self._feed.find_lost(
            HeldEvent(loss.table, loss.source, loss.number), ends, parked
        )

    def refill(self, table: str, lost: LostRange) -> Resend:
        """Offer lost events of a table again, beside what is new."""
        events = lost.last + 1 - lost.first
        return self._pump.resend(
            Resend(table, after=lost.after, upto=lost.upto, events=events, in_background=True)
        )

    @property
    def trouble(self) -> SinkTrouble | None:
        """Why the sink takes nothing now; None while nothing is wrong."""
        return self._pump.trouble or getattr(self._sink, "trouble", None)

    def offer_again(self, n: int) -> asyncio.Future[str | None]:
        """Offer the parked event at record ``n`` once more: None when taken, else why not."""
        return self._pump.offer_again(n)

    async def resend(self, after: EventId, upto: EventId | None = None) -> Resend:
        """Offer again what the sink had of the event's table behind that event.

        Raises:
            RequestRefused, JournalError: as ``find_range``.
        """
        found = await self.find_range(after, upto)
        return self._pump.resend(
            Resend(after.table, after=found.after, upto=found.upto, events=found.events)
        )

    async def find_range(self, after: EventId, upto: EventId | None = None) -> EventRange:
        """Return what the sink had of the event's table behind that event, up to another one.

        Raises:
            RequestRefused: the journal does not have the event, or not what follows it, or the
                sink does not get its table.
            JournalError: the journal cannot be read.
        """
        if self._table not in (None, after.table):
            raise RequestRefused(message("sink_of_other_table", sink=self.name, table=self._table))
        # A broker may have passed these on already, when the receiver had not come back yet.
        in_flight = self._pump.in_flight
        try:
            return await self._feed.find_range(after, upto, in_flight=in_flight)
        except UnknownEvent as error:
            raise RequestRefused(why_unknown(after, error)) from None

    async def read(self, table: str, records: Range, limit: int) -> list[tuple[int, bytes]]:
        """Return the first events of a table in this range of records, each with its record.

        Raises:
            JournalError: the journal cannot be read.
        """
        after, upto = records
        return await self._feed.earlier(table, after=after, upto=upto, limit=limit)


class Deliveries(msgspec.Struct, frozen=True):
    """Every sink at work, by its name, and the tasks that they run in."""

    sinks: Mapping[str, RunningSink]
    tasks: Sequence[asyncio.Task[None]]


async def place_new_sinks(
    sinks: Sequence[NamedSink], journal: Journal, reader: Reader, tables: Collection[str], upto: int
) -> None:
    """Store where each sink begins that the journal does not know.

    ``tables`` are those at work. Up to record ``upto`` no id can have been used twice: what is
    behind it counts as new.

    Raises:
        JournalError: the journal cannot be read, or takes nothing more.
    """
    for named in sinks:
        if named.begins == "beginning" or reader.has_cursor(named.name):
            continue
        n = min(upto, journal.last_n)
        if named.begins == "shoe":
            its = [table for table in tables if named.table in (None, table)]
            starts = [current_shoe_start(reader, table) for table in its]
            n = min([n, *(start - 1 for start in starts if start is not None)])
        await journal.move_cursor(named.name, n, BEGINNING)
        await journal.move_cursor(named.name, n)
        log.info("sink %s: new: after_record=%d", named.name, n)


def set_last_events(sinks: Sequence[NamedSink], reader: Reader, tables: Collection[str]) -> None:
    """Tell each sink that shows it the last public event of each table that it was given.

    The journal is asked for one event a table, by its index.

    Raises:
        JournalError: the journal cannot be read.
    """
    for named in sinks:
        if not isinstance(named.sink, SinkWithState) or named.sees is not Audience.PUBLIC:
            continue
        upto, last = reader.cursor(named.name), {}
        for table in tables:
            if (numbers := reader.event_numbers(table, named.sees, upto=upto)) is not None:
                last[table] = EventId(table, named.sees, numbers[1])
        named.sink.set_last_events(last)


@asynccontextmanager
async def delivering(  # noqa: PLR0913 - what is wired to what
    sinks: Sequence[NamedSink],
    journal: Journal,
    store: Store,
    environment: Environment,
    alarms: Alarms,
    gate: DeliveryGate | None = None,
    *,
    tables: Collection[str] = (),
    now_us: Callable[[], int] = wall_us,
) -> AsyncIterator[Deliveries]:
    """Run every sink; on leaving, deliver first what is committed.

    ``tables`` are those at work, ``now_us`` is the wall clock, in µs since 1970 UTC.

    The ``gate`` holds back every sink. A sink's file that shows the last events proves nothing: it
    may have been put back with the rest of a folder.
    """
    async with AsyncExitStack() as stack:
        opened = [stack.enter_context(store.reader()) for _ in sinks]
        # Entered behind the readers, so that none is closed while the thread still reads: on a
        # second signal, or with a sink that stalls, nobody waits for what was asked of the thread.
        readers = stack.enter_context(environment.thread("journal-reader"))
        with store.reader() as reader:
            upto = journal.last_n if gate is None else gate.after
            await place_new_sinks(sinks, journal, reader, tables, upto)
            set_last_events(sinks, reader, tables)
        pumps, running = [], {}
        for named, reader in zip(sinks, opened, strict=True):
            feed = SinkFeed(
                journal,
                reader,
                readers,
                sink=named.name,
                audience=named.sees,
                dead_letters=alarms(named.name, named.sees),
                table=named.table,
                gate=gate,
            )
            pump = Pump(named.name, feed, named.sink, now_us)
            running[named.name] = RunningSink(named, feed, pump)
            journal.on_commit(pump.wake)
            if gate is not None:
                gate.on_open(pump.wake)
            pumps.append(pump)
        tasks = [asyncio.create_task(p.run(), name=f"sink {p.name}") for p in pumps]
        try:
            yield Deliveries(running, tasks)
        finally:
            for pump in pumps:
                pump.stop()
            for ended in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(ended, Exception) and store.failure is None:
                    log.error('sinks: one stopped: reason="%s"', ended)


async def all_well(pumps: Sequence[asyncio.Task[None]]) -> None:
    """Raise what a pump failed with: the journal cannot be read, or a cursor not moved."""
    at_work = set(pumps)
    while at_work:
        ended, at_work = await asyncio.wait(at_work, return_when=asyncio.FIRST_COMPLETED)
        for pump in ended:
            pump.result()


OWN_EVENTS = ("delivery.parked", "delivery.taken", "delivery.lost", "delivery.refilled")
"""The alarm's own events: that a sink does not take one of these is only logged."""

_envelope = msgspec.json.Decoder(Envelope)


class UndeliveredAlarm:
    """Tells an event's table that a sink did not take the event, or took it later.

    It waits with that until the tables are at work.
    """

    def __init__(self) -> None:
        self._tables: asyncio.Future[Mapping[str, TableRunner]]
        self._tables = asyncio.get_running_loop().create_future()

    def set_tables(self, tables: Mapping[str, TableRunner]) -> None:
        """These tables are at work, by their ids."""
        self._tables.set_result(tables)

    def of(self, sink: str, sees: Audience) -> DeadLetters:
        """Return the alarm of this sink, which gets this stream."""
        return _SinkAlarm(self, sink, sees)

    async def table_of(self, event: Envelope) -> TableRunner | None:
        """Return the event's table; None if it is not served, or the event is an alarm itself."""
        tables = await asyncio.shield(self._tables)
        return None if event.type in OWN_EVENTS else tables.get(table_in(event.source))


class _SinkAlarm:
    """The alarm of one sink. Each call returns when its input is stored, or raises JournalError."""

    def __init__(self, alarm: UndeliveredAlarm, sink: str, sees: Audience) -> None:
        self._alarm = alarm
        self._sink = sink
        self._sees = sees

    async def parked(self, n: int, event: bytes, why: str) -> None:
        """The sink does not take this event, record ``n``: its table is told."""
        envelope = _envelope.decode(event)
        if (table := await self._alarm.table_of(envelope)) is None:
            log.error('sink %s: event rejected: id=%s reason="%s"', self._sink, envelope.id, why)
        else:
            refusal = message("daemon_sink_refused", detail=why)
            await table.parked(self._sink, self._sees, n, envelope, refusal)

    async def taken(self, n: int, event: bytes) -> None:
        """The sink took the event after all."""
        envelope = _envelope.decode(event)
        if (table := await self._alarm.table_of(envelope)) is not None:
            await table.taken(self._sink, n, envelope)
