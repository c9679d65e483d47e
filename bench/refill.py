"""How soon a stream that was lost has its events again, and how long fresh events take meanwhile.

In: --events and more. Out: a table, or JSON: the time of the refill; p99 of fresh events from their
commit to the stream's acknowledgement during it, and before it at the same pace; medians of rounds.
A real nats-server that syncs each message is killed, loses its store and comes back. Nobody helps.
Exits 1 where a promise is broken.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

from bench._delivery import TABLE, NoAlarm, event
from bench._promises import Promise, median_of, percentile, report
from shoe_ctl.daemon.delivery import NamedSink, delivering
from shoe_ctl.daemon.environment import SYSTEM
from shoe_ctl.daemon.refill import refill
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience
from shoe_ctl.sinks.nats import NatsSink
from shoe_testing.nats_server import NatsServer, nats_client, target_of

FRESH_EVERY_S = 0.01
QUIET_S = 6.0
"""As long as a refill takes, so that both meet the same load of the machine."""
ROUNDS = 5
REFILLED_WITHIN_S = 300.0
AT_ONCE = 100
MOST_P99 = 2.0


class Timed(NatsSink):
    """A sink of NATS, and how long each fresh event took from its commit."""

    def __init__(self, name: str, address: str) -> None:
        super().__init__(name, target_of(address))
        self.committed: dict[bytes, float] = {}
        self.took_ms: list[float] = []
        self.again = 0
        self._news = asyncio.Event()

    async def until(self, again: int) -> None:
        """Wait until so many events were sent again."""
        while self.again < again:
            self._news.clear()
            await self._news.wait()

    async def deliver_again(self, events: Sequence[bytes]) -> None:
        """As a sink."""
        await super().deliver_again(events)
        self.again += len(events)
        self._news.set()

    async def deliver(self, events: Sequence[bytes]) -> None:
        """As a sink; the time of what was stored before is not taken."""
        await super().deliver(events)
        now = time.monotonic()
        self.took_ms += [
            1000 * (now - self.committed.pop(body)) for body in events if body in self.committed
        ]


class Round(NamedTuple):
    """How long a refill took, and each fresh event before and during it."""

    took_s: float
    quiet_ms: list[float]
    busy_ms: list[float]


class Floor:
    """A journal, its sink, and a server that loses what it has."""

    def __init__(self, folder: Path) -> None:
        self._server = NatsServer(folder)
        self._folder = folder
        self._count = 0
        self.rounds: list[Round] = []
        self.doubled = 0

    async def run(self, events: int) -> None:
        """Deliver so many events, lose them, and watch them come back, again and again."""
        self._server.start()
        async with AsyncExitStack() as stack:
            stack.callback(self._server.kill)
            store = Store.open(self._folder / "journal.db")
            journal = Journal(store, stack.enter_context(ThreadPoolExecutor(1)))
            stack.push_async_callback(journal.close)
            sink = Timed("bench", self._server.address)
            stack.push_async_callback(sink.close)
            named = [NamedSink("bench", Audience.PUBLIC, sink)]
            deliveries = await stack.enter_async_context(
                delivering(named, journal, store, SYSTEM, lambda *_: NoAlarm(), tables=[TABLE])
            )
            refilling = asyncio.create_task(refill(deliveries.sinks, {}))
            stack.callback(refilling.cancel)
            await self._store(journal, events)
            await self._until(events)
            publishing = asyncio.create_task(self._publish(journal, sink))
            stack.callback(publishing.cancel)
            for _ in range(ROUNDS):
                await asyncio.sleep(QUIET_S)
                quiet_ms, sink.took_ms = sink.took_ms, []
                took_s = await self._refill(sink)
                self.rounds.append(Round(took_s, quiet_ms, sink.took_ms))
                sink.took_ms = []
            publishing.cancel()
            await asyncio.wait({publishing})
            async with asyncio.timeout(REFILLED_WITHIN_S):
                await self._until(self._count)
            self.doubled = await self._stored() - self._count

    async def _refill(self, sink: Timed) -> float:
        """Let the server lose all it has, and wait until it has that again; return the seconds."""
        lost, sink.again = await self._stored(), 0
        await asyncio.to_thread(self._lose_all)
        began = time.monotonic()
        async with asyncio.timeout(REFILLED_WITHIN_S):
            await sink.until(1)
            sink.took_ms = []  # those before waited for the server
            await sink.until(lost)
        return time.monotonic() - began

    async def _store(self, journal: Journal, events: int) -> None:
        for begin in range(0, events, AT_ONCE):
            await asyncio.gather(
                *(journal.commit(event(begin + n)) for n in range(min(AT_ONCE, events - begin)))
            )
        self._count = events

    async def _publish(self, journal: Journal, sink: Timed) -> None:
        due = time.monotonic()
        while True:
            due += FRESH_EVERY_S
            self._count += 1
            result = await journal.commit(event(self._count))
            sink.committed[result.events[0].body] = time.monotonic()
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    def _lose_all(self) -> None:
        self._server.kill()
        self._server.forget()
        self._server.start()

    async def _stored(self) -> int:
        async with nats_client(self._server.address) as (_, js):
            return int((await js.stream_info("SHOE")).state.messages)

    async def _until(self, events: int) -> None:
        while await self._stored() < events:  # noqa: ASYNC110 - the server does not tell
            await asyncio.sleep(0.05)


def promises(floor: Floor, events: int) -> list[Promise]:
    """Return what is promised of a refill."""
    p99 = [tuple(percentile(took, 0.99) for took in each[1:]) for each in floor.rounds]
    return [
        median_of(
            f"a refill of {events} events or more", [r.took_s for r in floor.rounds], unit="s"
        ),
        median_of("p99 of fresh events before it", [quiet for quiet, _ in p99], unit="ms"),
        median_of("p99 of fresh events during it", [busy for _, busy in p99], unit="ms"),
        median_of(
            "p99 of fresh events during it, times that before it",
            [busy / quiet for quiet, busy in p99],
            most=MOST_P99,
        ),
        Promise("events that the stream has twice", floor.doubled, most=0),
    ]


def main() -> int:
    """Exits 1 where a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--events", type=int, default=10_000, help="events that are lost, at least")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    if options.events < 1:
        parser.error(f"--events {options.events}: 1 or more")
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as name:
        floor = Floor(Path(name))
        asyncio.run(floor.run(options.events))
    return report(promises(floor, options.events), as_json=options.json, events=options.events)


if __name__ == "__main__":
    sys.exit(main())
