"""Noise on a table's line: what an hour of it adds to the journal, and what a stop still counts.

In: noise at a rate, on a clock by hand, through the link and the table that the daemon runs. Out:
the records, by number and bytes.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import pytest

from firmware_proto.profiles import profile
from shoe_ctl.history import snapshots
from shoe_ctl.journal.batch import Batch, CommitResult, Counters, Head
from shoe_ctl.journal.group import encode_batch
from shoe_ctl.link.connection import Connection
from shoe_ctl.link.line_budget import KEPT_A_MINUTE
from shoe_ctl.link.reconnect import Supervisor
from shoe_ctl.link.transport import READ_SIZE, Loss, Transport
from shoe_testing.daemon import table_runner
from shoe_testing.tables import game, settings
from shoe_testing.transports import HandClock

RECORD_BYTES = 60
"""Of a record in the file beside its body: number, table, kind, hash."""

KIB = 1024


class CountedJournal:
    """Takes what a journal takes, and counts it."""

    last_n = 0
    tables = 1

    def __init__(self) -> None:
        self.ends = self
        self.bytes = 0
        self.bodies: Counter[str] = Counter()
        self.last: dict[str, bytes] = {}
        self._counters = Counters()

    def head(self, table: str) -> Head:  # noqa: ARG002 - as a journal has it
        return Head(n=self.last_n, hash=b"", counters=self._counters)

    async def commit(self, batch: Batch) -> CommitResult:
        encoded = encode_batch(batch, lambda _: self._counters)
        for record in encoded.records:
            self.bytes += len(record.body) + RECORD_BYTES
            self.bodies[record.kind] += len(record.body)
            self.last[record.kind] = record.body
        first = self.last_n + 1
        self.last_n += len(encoded.records)
        return CommitResult(first, self.last_n, encoded.ids)


class NoisyLine:
    """Brings ``rate`` bytes a second of noise, once a host reads; a tty holds 4 kB of it."""

    def __init__(self, clock: HandClock, noise: Callable[[int], bytes], rate: float) -> None:
        self.lost: Loss | None = None
        self.dropped = 0
        self._clock, self._noise, self._rate = clock, noise, rate
        self._read_at = clock.now

    def read(self) -> bytes:
        came = int((self._clock.now - self._read_at) * self._rate)
        if came:
            self._read_at = self._clock.now
        return self._noise(min(came, READ_SIZE))

    def when_readable(self, wake: Callable[[], None] | None) -> None:
        if wake is not None:
            self._clock.call_later(1 / self._rate + 0.001, wake)

    def write(self, data: bytes) -> None:
        pass

    def close(self) -> None:
        pass


async def noisy(name: str, noise: Callable[[int], bytes], rate: float, lasts_s: float) -> (
    CountedJournal
):  # fmt: skip
    """What the journal of a table gets whose line is noisy for so long, until it is stopped."""
    clock, journal = HandClock(), CountedJournal()
    under = snapshots.start_record(game(), settings(), clock.wall_us())
    controller = snapshots.continue_under(None, None, under)
    runner = table_runner(controller, journal, clock, under)  # type: ignore[arg-type]
    await runner.start("boot-1", name)

    async def opens() -> Transport:
        return NoisyLine(clock, noise, rate)

    async def up(connection: Connection) -> None:
        await runner.link.link_up(connection, name, {})

    link = Supervisor(
        name="bac-07",
        profile=profile(name),
        settings={},
        opener=opens,
        clock=clock,
        resume=runner.link.resume,
        on_up=up,
        on_lost=runner.link.link_lost,
        on_reception=runner.link.receive,
        first_connection=1,
        on_suspended=runner.link.line_suspended,
        on_resumed=runner.link.line_resumed,
    )
    runner.link.attach(link)
    running = asyncio.create_task(link.run())
    end = clock.now + lasts_s
    while clock.now < end and not running.done():
        for _ in range(6):
            await asyncio.sleep(0)
        await clock.pass_next()
    assert not running.done()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    await runner.stop()
    return journal


@pytest.mark.slow
@pytest.mark.parametrize(
    "minutes", [10, pytest.param(60, marks=pytest.mark.exhaustive(cpu_s=3), id="an hour")]
)
@pytest.mark.parametrize(
    ("name", "noise", "rate", "kib_at_once", "kib_a_minute"),
    [
        pytest.param("reference", random.Random(3).randbytes, 12_000, 320, 2, id="line rate"),
        pytest.param("bee_tek", random.Random(4).randbytes, 2_000, 0, 256, id="below the budget"),
        pytest.param("angel_eye", lambda size: b"\x06" * size, 8, 64, 32, id="a byte at a time"),
    ],
)
async def test_noise_adds_no_more_than_its_bound(  # noqa: PLR0913 - each case's own figures
    minutes: int,
    name: str,
    noise: Callable[[int], bytes],
    rate: float,
    kib_at_once: int,
    kib_a_minute: int,
) -> None:
    journal = await noisy(name, noise, rate, 60 * minutes)
    assert journal.bytes <= (kib_at_once + kib_a_minute * minutes) * KIB
    assert 0 < journal.bodies["wire"] <= (minutes + 1) * KEPT_A_MINUTE


async def test_a_daemon_that_stops_stores_how_much_a_suspended_line_brought() -> None:
    journal = await noisy("reference", random.Random(3).randbytes, 12_000, 17.0)
    last = journal.last["input"]
    assert b'"input":"line_suspended"' in last
    assert b'"again":true' in last
    unkept = int(last.partition(b'"unkept":')[2].partition(b",")[0].rstrip(b"}"))
    assert unkept > 10_000
