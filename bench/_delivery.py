"""Commits and raw publishes of the same bytes, in turn: what benches of brokers have in common.

In: a sink, a raw publisher, what a consumer heard and when. Out: the times of both, and a table.
"""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from bench._promises import Promise, parts
from shoe_ctl.daemon.delivery import NamedSink, delivering
from shoe_ctl.daemon.environment import SYSTEM
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience
from shoe_ctl.sinks.pump import Sink

TABLE = "bench"
PACES_MS = (3, 30)
P50_LIMIT, P99_LIMIT = 1.5, 2.0
WARMED_BY = 50
"""Events that are not counted: the first ones load code."""


class Ends(NamedTuple):
    """Both ends of a broker."""

    sink: Sink
    """Publishes what is committed."""
    publish: Callable[[bytes], Awaitable[Any]]
    """Publishes bytes without the product."""
    raw: str
    """Where these go to."""
    listens: Connection
    """What a consumer heard of both, once it has all: where, the bytes, the time in ns."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Times of one pace, in µs, and how they compare: over the run, and in each of its parts."""

    pace_ms: int
    sink_p50: float
    sink_p99: float
    raw_p50: float
    raw_p99: float
    commit_p50: float
    p50_ratios: tuple[float, ...]
    p99_ratios: tuple[float, ...]

    @property
    def p50_ratio(self) -> float:
        return self.sink_p50 / self.raw_p50

    @property
    def p99_ratio(self) -> float:
        return self.sink_p99 / self.raw_p99

    @property
    def promises(self) -> list[Promise]:
        name = f"{self.pace_ms} ms: {{}}, times a raw publish"
        p50s, p99s = self.p50_ratios, self.p99_ratios
        return [
            Promise(
                name.format("p50"), self.p50_ratio, most=P50_LIMIT, spread=(min(p50s), max(p50s))
            ),
            Promise(
                name.format("p99"), self.p99_ratio, most=P99_LIMIT, spread=(min(p99s), max(p99s))
            ),
        ]

    @property
    def held(self) -> bool:
        return self.p50_ratio <= P50_LIMIT and self.p99_ratio <= P99_LIMIT


class NoAlarm:
    """Nothing is refused here."""

    async def parked(self, n: int, event: bytes, why: str) -> None:
        raise SystemExit(f"event {n} was refused: {why}: {event!r}")

    async def taken(self, n: int, event: bytes) -> None:
        raise SystemExit(f"event {n} was offered again: {event!r}")


def event(number: int) -> Batch:
    """A card that is revealed."""
    group, t_us = Batch(), 1_700_000_000_000_000 + number
    data = {"card": "2D", "hand": "player", "index": 1, "round_id": "bench-s1-r1"}
    group.append_event(
        TABLE, Audience.PUBLIC, "round.card_revealed", t_us=t_us, subject="bench-s1-r1", data=data
    )
    return group


async def take_turns(path: Path, pace_ms: int, events: int, ends: Ends) -> Figures:
    """Commit an event and publish its bytes raw, in turn, one each ``pace_ms``."""
    committed: dict[bytes, int] = {}
    published: dict[bytes, int] = {}
    took: list[int] = []
    async with AsyncExitStack() as stack:
        store = Store.open(path)
        writer = stack.enter_context(ThreadPoolExecutor(1))
        journal = Journal(store, writer)
        stack.push_async_callback(journal.close)
        at_commit = [0]
        journal.on_commit(lambda: at_commit.__setitem__(0, time.monotonic_ns()))
        named = [NamedSink("bench", Audience.PUBLIC, ends.sink)]
        await stack.enter_async_context(
            delivering(named, journal, store, SYSTEM, lambda *_: NoAlarm(), tables=[TABLE])
        )
        due = time.monotonic() + 0.1
        for n in range(events + WARMED_BY):
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            began = time.monotonic_ns()
            result = await journal.commit(event(n))
            body = result.events[0].body
            committed[body] = at_commit[0]
            took.append(at_commit[0] - began)
            due += pace_ms / 1000
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            published[body] = time.monotonic_ns()
            await ends.publish(body)
            due += pace_ms / 1000
        heard = await asyncio.to_thread(ends.listens.recv)
    by_sink = [at - committed[body] for where, body, at in heard if where != ends.raw][WARMED_BY:]
    by_raw = [at - published[body] for where, body, at in heard if where == ends.raw][WARMED_BY:]
    return Figures(
        pace_ms,
        sink_p50=of(by_sink, 0.5),
        sink_p99=of(by_sink, 0.99),
        raw_p50=of(by_raw, 0.5),
        raw_p99=of(by_raw, 0.99),
        commit_p50=of(took[WARMED_BY:], 0.5),
        p50_ratios=ratios(by_sink, by_raw, 0.5),
        p99_ratios=ratios(by_sink, by_raw, 0.99),
    )


def ratios(by_sink: list[int], by_raw: list[int], share: float) -> tuple[float, ...]:
    """How this quantile compares in each part of the run."""
    pairs = zip(parts(by_sink), parts(by_raw), strict=True)
    return tuple(of(mine, share) / of(raw, share) for mine, raw in pairs)


def of(times_ns: Sequence[int], share: float) -> float:
    """The quantile, in µs."""
    times = sorted(times_ns)
    return times[min(len(times) - 1, int(share * len(times)))] / 1000


def print_figures(found: Sequence[Figures], events: int) -> None:
    """Print a table for people."""
    print(f"Python {platform.python_version()}, {events} events a pace, in turns; µs")
    print(
        f"{'pace':>8}{'commit':>9}{'p50':>9}{'raw':>9}{'ratio':>8}{'p99':>10}{'raw':>9}{'ratio':>8}"
    )
    for row in found:
        broken = "" if row.held else "  NOT HELD"
        print(
            f"{row.pace_ms:5} ms{row.commit_p50:9.0f}{row.sink_p50:9.0f}{row.raw_p50:9.0f}"
            f"{row.p50_ratio:8.2f}{row.sink_p99:10.0f}{row.raw_p99:9.0f}{row.p99_ratio:8.2f}"
            f"{broken}"
        )
    print(f"promised: p50 at most {P50_LIMIT} times, p99 at most {P99_LIMIT:g} times the raw one")
