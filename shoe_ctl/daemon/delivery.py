"""Where events go: every sink of a configuration open, and pumped from the journal.

In: a configuration, an open journal. Out: deliveries, each sink at its own pace.
Must not know: tables, links, what an event means.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import msgspec

from shoe_ctl.config.schema import Config
from shoe_ctl.daemon.host import Outside
from shoe_ctl.journal.cursors import Gate, Noted, SinkFeed
from shoe_ctl.journal.evidence import Given
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience, table_in
from shoe_ctl.sinks.delivered import newest_ids
from shoe_ctl.sinks.jsonl import JsonlFile, open_jsonl
from shoe_ctl.sinks.pump import Pump, Sink

log = logging.getLogger(__name__)


class SinkPlace(msgspec.Struct, frozen=True):
    """A sink with its name, under which the journal keeps its cursor, and what it may see."""

    name: str
    sees: Audience
    sink: Sink


def given_last(config: Config) -> list[Given]:
    """What the files of the configured sinks say that they were given last, by their ends.

    A file that cannot be read says nothing: opening it tells why.
    """
    found: list[Given] = []
    for configured in config.sink:
        if configured.path == "-":
            continue
        with suppress(OSError):
            newest = newest_ids(config.path(configured.path)) or {}
            ends = {(table_in(source), audience): source for source, audience in newest}
            for (source, audience), number in newest.items():
                table = table_in(source)
                found.append(
                    Given(
                        sink=f"jsonl:{configured.path}",
                        source=source,
                        audience=audience,
                        number=number,
                        id=f"{table}/{audience.value}{number}",
                        ends=ends[table, audience] == source,
                    )
                )
    return found


async def open_sinks(config: Config, stack: AsyncExitStack, outside: Outside) -> list[SinkPlace]:
    """The configured sinks; they stay open, journal or no journal, until ``stack`` closes them.

    Raises:
        EnvironmentFault: a sink's file cannot be opened.
    """
    places = []
    for configured in config.sink:
        name = configured.path
        path = name if name == "-" else str(config.path(name))
        output = stack.enter_context(outside.thread("sink"))
        sink = open_jsonl(path, configured.sees, output)
        stack.push_async_callback(sink.close)
        places.append(SinkPlace(f"jsonl:{name}", configured.sees, sink))
    return places


@asynccontextmanager
async def reopening(places: Sequence[SinkPlace], asked: asyncio.Event) -> AsyncIterator[None]:
    """Until leaving, whenever it is ``asked``, each file that was taken away is opened anew."""
    files = [place.sink for place in places if isinstance(place.sink, JsonlFile)]

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


Alarms = Callable[[str, Audience], Noted]
"""Gives who is told of what the sink of this name, which gets this stream, does not take."""


class Deliveries(msgspec.Struct, frozen=True):
    """Every sink's pump, by the sink's name, and the tasks that they run in."""

    pumps: Mapping[str, Pump]
    tasks: Sequence[asyncio.Task[None]]


@asynccontextmanager
async def delivering(  # noqa: PLR0913 - what is wired to what
    places: Sequence[SinkPlace],
    journal: Journal,
    store: Store,
    outside: Outside,
    alarms: Alarms,
    gate: Gate | None = None,
) -> AsyncIterator[Deliveries]:
    """Every sink at work; on leaving, what is committed is delivered first.

    The ``gate`` is for every sink: what the file of one shows of the last events was put back with
    everything else, where a whole folder was.
    """
    async with AsyncExitStack() as stack:
        opened = [stack.enter_context(store.reader()) for _ in places]
        # Entered behind them, so that no reader is closed while the thread still reads: who is in
        # a hurry (a second signal, a sink that stalls) does not wait for what he asked it for.
        readers = stack.enter_context(outside.thread("journal-reader"))
        pumps = []
        for place, reader in zip(places, opened, strict=True):
            feed = SinkFeed(
                journal,
                reader,
                readers,
                sink=place.name,
                audience=place.sees,
                noted=alarms(place.name, place.sees),
                gate=gate,
            )
            pump = Pump(place.name, feed, place.sink)
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
                    log.error("a sink stopped: %s", ended)


async def all_well(pumps: Sequence[asyncio.Task[None]]) -> None:
    """Raises what a pump failed with: the journal cannot be read, or its cursor not moved."""
    at_work = set(pumps)
    while at_work:
        ended, at_work = await asyncio.wait(at_work, return_when=asyncio.FIRST_COMPLETED)
        for pump in ended:
            pump.result()
