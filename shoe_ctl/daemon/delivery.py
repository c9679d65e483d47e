"""Deliver events: every configured sink open, each at its own pace, with an alarm for refused ones.

In: a configuration, an open journal. Out: deliveries; an input of the event's table where a sink
does not take an event, or takes it later. Must not know: links, what an event means.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import msgspec

from shoe_ctl.config import Config
from shoe_ctl.daemon.host import Environment
from shoe_ctl.daemon.table_runner import TableRunner
from shoe_ctl.journal.evidence import DeliveredEvent
from shoe_ctl.journal.journal import DeadLetters, DeliveryGate, Journal, SinkFeed
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience, Envelope, table_in
from shoe_ctl.sinks.delivered import newest_ids
from shoe_ctl.sinks.jsonl import JsonlFile, open_jsonl
from shoe_ctl.sinks.pump import Pump, Sink

log = logging.getLogger(__name__)


class NamedSink(msgspec.Struct, frozen=True):
    """A sink with its name, under which the journal keeps its cursor, and what it may see."""

    name: str
    sees: Audience
    sink: Sink


def given_last(config: Config) -> list[DeliveredEvent]:
    """Return the last events that the files of the configured sinks hold, of each source.

    A file that cannot be read is left out: opening it reports why.
    """
    found: list[DeliveredEvent] = []
    for configured in config.sink:
        if configured.path == "-":
            continue
        with suppress(OSError):
            newest = newest_ids(config.path(configured.path)) or {}
            ends = {(table_in(source), audience): source for source, audience in newest}
            for (source, audience), number in newest.items():
                table = table_in(source)
                found.append(
                    DeliveredEvent(
                        sink=f"jsonl:{configured.path}",
                        source=source,
                        audience=audience,
                        number=number,
                        id=f"{table}/{audience.value}{number}",
                        ends=ends[table, audience] == source,
                    )
                )
    return found


async def open_sinks(
    config: Config, stack: AsyncExitStack, environment: Environment
) -> list[NamedSink]:
    """Open the configured sinks. They stay open over an outage, until ``stack`` closes them.

    Raises:
        EnvironmentFault: a sink's file cannot be opened.
    """
    sinks = []
    for configured in config.sink:
        name = configured.path
        path = name if name == "-" else str(config.path(name))
        output = stack.enter_context(environment.thread("sink"))
        sink = open_jsonl(path, configured.sees, output)
        stack.push_async_callback(sink.close)
        sinks.append(NamedSink(f"jsonl:{name}", configured.sees, sink))
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


class Deliveries(msgspec.Struct, frozen=True):
    """Every sink's pump, by the sink's name, and the tasks that they run in."""

    pumps: Mapping[str, Pump]
    tasks: Sequence[asyncio.Task[None]]


@asynccontextmanager
async def delivering(  # noqa: PLR0913 - what is wired to what
    sinks: Sequence[NamedSink],
    journal: Journal,
    store: Store,
    environment: Environment,
    alarms: Alarms,
    gate: DeliveryGate | None = None,
) -> AsyncIterator[Deliveries]:
    """Run every sink; on leaving, deliver first what is committed.

    The ``gate`` holds back every sink. A sink's file that shows the last events proves nothing: it
    may have been put back with the rest of a folder.
    """
    async with AsyncExitStack() as stack:
        opened = [stack.enter_context(store.reader()) for _ in sinks]
        # Entered behind the readers, so that none is closed while the thread still reads: on a
        # second signal, or with a sink that stalls, nobody waits for what was asked of the thread.
        readers = stack.enter_context(environment.thread("journal-reader"))
        pumps = []
        for named, reader in zip(sinks, opened, strict=True):
            feed = SinkFeed(
                journal,
                reader,
                readers,
                sink=named.name,
                audience=named.sees,
                dead_letters=alarms(named.name, named.sees),
                gate=gate,
            )
            pump = Pump(named.name, feed, named.sink)
            journal.on_commit(pump.wake)
            if gate is not None:
                gate.on_open(pump.wake)
            pumps.append(pump)
        tasks = [asyncio.create_task(p.run(), name=f"sink {p.name}") for p in pumps]
        try:
            yield Deliveries({pump.name: pump for pump in pumps}, tasks)
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


OWN_EVENTS = ("delivery.parked", "delivery.taken")
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
            await table.parked(self._sink, self._sees, n, envelope, why)

    async def taken(self, n: int, event: bytes) -> None:
        """The sink took the event after all."""
        envelope = _envelope.decode(event)
        if (table := await self._alarm.table_of(envelope)) is not None:
            await table.taken(self._sink, n, envelope)
