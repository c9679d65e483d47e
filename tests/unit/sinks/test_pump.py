"""Pumps: every event in order, at least once, and a failing sink troubles nobody else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shoe_ctl.errors import JournalError
from shoe_ctl.journal.journal import Journal, SinkFeed
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience
from shoe_ctl.sinks import pump as pump_module
from shoe_ctl.sinks.jsonl import JsonlFile
from shoe_ctl.sinks.pump import BATCH, MOST_PARKED, EventRefused, Pump, SinkEnded, SinkTrouble
from shoe_testing.journals import Never, stored_round
from shoe_testing.sinks import Choosy, Ledger, Taker, numbered


class Blocked(Taker):
    """A sink that never takes anything and never says no."""

    async def deliver(self, events: Sequence[bytes]) -> None:  # noqa: ARG002 - never taken
        self.called.set()
        await asyncio.Event().wait()


class Gathering(Taker):
    """A sink that gathers events for longer than any test lasts."""

    gather_s = 3600.0


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries need not be waited for."""
    monkeypatch.setattr(pump_module, "FIRST_RETRY_S", 0.0)


async def test_all_there_is_goes_out_in_order_and_the_cursor_follows() -> None:
    feed, sink = Ledger(), Taker()
    feed.events = numbered(2 * BATCH + 1)
    pump = Pump("test", feed, sink)
    pump.stop()
    await pump.run()
    assert sink.taken == feed.events
    assert feed.moved == [BATCH, 2 * BATCH, 2 * BATCH + 1]


async def test_what_is_committed_later_goes_out_when_woken() -> None:
    feed, sink = Ledger(), Taker()
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    for n in range(5):
        feed.events += numbered(1, n)
        sink.called.clear()
        pump.wake()
        await sink.called.wait()
    pump.stop()
    await running
    assert sink.taken == numbered(5)


async def test_a_sink_that_gathers_gets_what_comes_later_in_one_delivery() -> None:
    feed, sink = Ledger(), Gathering()
    feed.events = numbered(1)
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    await feed.moves.get()
    for n in range(1, 6):
        feed.events += numbered(1, n)
        pump.wake()
        await asyncio.sleep(0)
    assert sink.taken == numbered(1), "the rest is still gathered"
    pump.stop()
    await running
    assert sink.taken == numbered(6)
    assert feed.moved == [1, 6], "the rest goes out in one delivery, and at once at the end"


async def test_a_sink_that_gathers_is_not_kept_waiting_while_it_is_behind() -> None:
    feed, sink = Ledger(), Gathering()
    feed.events = numbered(3 * BATCH + 1)
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    moved = [await feed.moves.get() for _ in range(4)]
    assert moved == [BATCH, 2 * BATCH, 3 * BATCH, 3 * BATCH + 1]
    pump.stop()
    await running


async def test_a_stopped_pump_first_delivers_what_is_committed() -> None:
    feed, sink = Ledger(), Taker()
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    await asyncio.sleep(0)
    feed.events = numbered(3)
    pump.stop()
    await running
    assert sink.taken == numbered(3)


async def test_what_is_committed_while_it_looks_is_delivered_by_a_stopped_pump_too() -> None:
    class Slow(Ledger):
        async def upcoming(self, limit: int) -> Sequence[tuple[int, bytes]]:
            seen = await super().upcoming(limit)
            looked.set()
            await answer.wait()
            return seen

    looked, answer = asyncio.Event(), asyncio.Event()
    feed, sink = Slow(), Taker()
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    await looked.wait()
    feed.events = numbered(1)
    pump.stop()
    answer.set()
    await running
    assert sink.taken == numbered(1)


async def test_a_sink_that_takes_nothing_does_not_hold_up_stopping(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pump_module, "STALLED_S", 0.01)
    feed, sink = Ledger(), Blocked()
    feed.events = numbered(1)
    pump = Pump("test", feed, sink)
    pump.stop()
    await pump.run()
    assert feed.moved == []
    assert caplog.messages == ["sink test: abandoned: stalled_s=0.01"]


async def test_a_journal_that_fails_ends_the_pump_with_its_error() -> None:
    class Failing(Ledger):
        async def delivered(self, n: int) -> None:
            raise JournalError(f"journal failed at {n}")

    feed = Failing()
    feed.events = numbered(1)
    with pytest.raises(JournalError, match="failed at 1"):
        await Pump("test", feed, Taker()).run()


@pytest.mark.usefixtures("at_once")
async def test_a_failing_sink_gets_the_same_events_again_and_is_warned_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, logger="shoe_ctl.sinks")
    feed, sink = (
        Ledger(),
        Taker(OSError("no"), OSError("no"), OSError("no"), None, OSError("again")),
    )
    feed.events = numbered(3)
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    assert await feed.moves.get() == 3
    feed.events += numbered(1, 3)
    pump.wake()
    assert await feed.moves.get() == 4
    pump.stop()
    await running
    assert sink.taken == numbered(4)
    warned = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert warned == [
        'sink test: delivery failed: reason="no". Retrying.',
        'sink test: delivery failed: reason="again". Retrying.',
    ]


async def test_retries_come_ever_later_up_to_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    feed, sink = Ledger(), Taker(*[OSError("no")] * 12)
    feed.events = numbered(1)
    pump = Pump("test", feed, sink)

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(pump, "_pause", pause)
    running = asyncio.create_task(pump.run())
    assert await feed.moves.get() == 1
    pump.stop()
    await running
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0]


async def test_a_sink_that_fails_while_it_waits_is_left_when_stopped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    feed, sink = Ledger(), Taker(OSError("no"), OSError("still no"))
    feed.events = numbered(1)
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    await sink.called.wait()
    pump.stop()
    await running
    assert (sink.asked, feed.moved) == (2, [])
    assert caplog.messages[-1] == 'sink test: stopped during a failure: reason="still no"'


async def test_a_sink_that_has_ended_is_said_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    feed, sink = Ledger(), Taker(SinkEnded("its reader has gone"))
    feed.events = numbered(1)
    await Pump("test", feed, sink).run()
    assert caplog.messages == ['sink test: ended: reason="its reader has gone"']
    assert feed.moved == []


@pytest.mark.usefixtures("at_once")
async def test_a_blocked_sink_holds_up_no_other() -> None:
    stuck, free = Blocked(), Taker()
    feeds = [Ledger(), Ledger()]
    pumps = [Pump("stuck", feeds[0], stuck), Pump("free", feeds[1], free)]
    tasks = [asyncio.create_task(pump.run()) for pump in pumps]
    for feed in feeds:
        feed.events = numbered(3)
    for pump in pumps:
        pump.wake()
    await stuck.called.wait()
    pumps[1].stop()
    await tasks[1]
    assert free.taken == numbered(3)
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_after_a_crash_between_writing_and_the_cursor_the_last_events_come_again(
    tmp_path: Path,
) -> None:
    path, lines = tmp_path / "journal.db", tmp_path / "public.jsonl"

    async def run(crash: bool) -> None:
        with ThreadPoolExecutor(1) as writer, ThreadPoolExecutor(1) as readers:
            store = Store.open(path)
            journal = Journal(store, writer)
            for number in range(3):
                await journal.commit(stored_round(number))
            sink = JsonlFile(lines, Audience.PUBLIC, writer)
            with store.reader() as reader:
                feed = SinkFeed(
                    journal,
                    reader,
                    readers,
                    sink="s",
                    audience=Audience.PUBLIC,
                    dead_letters=Never(),
                )
                pump = Pump("s", _Crashing(feed) if crash else feed, sink)
                pump.stop()
                try:
                    await pump.run()
                except _Crash:
                    assert crash
            await sink.close()
            await journal.close()

    await run(crash=False)
    first = lines.read_bytes().splitlines()
    await run(crash=True)
    await run(crash=False)
    every = lines.read_bytes().splitlines()
    assert len(first) == 3
    assert every[:3] == first
    assert every[3:6] == every[6:9]  # the same bytes, so the same ids
    assert len(set(every)) == 9
    assert len(every) == 12


class _Crash(Exception):
    """The process dies here."""


class _Crashing:
    """A feed whose owner dies before the cursor moves."""

    def __init__(self, feed: SinkFeed) -> None:
        self._feed = feed

    async def upcoming(self, limit: int) -> Sequence[tuple[int, bytes]]:
        return await self._feed.upcoming(limit)

    async def delivered(self, n: int) -> None:
        raise _Crash(n)

    async def parked(self, n: int, event: bytes, why: str) -> None:
        await self._feed.parked(n, event, why)

    async def event(self, n: int) -> bytes | None:
        return await self._feed.event(n)

    async def earlier(
        self, table: str, *, after: int, upto: int, limit: int
    ) -> Sequence[tuple[int, bytes]]:
        return await self._feed.earlier(table, after=after, upto=upto, limit=limit)

    async def taken(self, n: int, event: bytes) -> None:
        await self._feed.taken(n, event)


async def test_what_a_sink_will_not_take_is_parked_and_the_rest_goes_out_in_order(
    caplog: pytest.LogCaptureFixture,
) -> None:
    feed, sink = Ledger(), Choosy(b"3", b"5")
    feed.events = numbered(9)
    pump = Pump("test", feed, sink)
    pump.stop()
    await pump.run()
    assert sink.taken == [b"0", b"1", b"2", b"4", b"6", b"7", b"8"]
    why = "too long by far"
    assert feed.passed_over == [(4, b"3", why), (6, b"5", why)]
    assert feed.cursor == 9
    assert caplog.messages == [
        f'sink test: event parked: record=4 reason="{why}"',
        f'sink test: event parked: record=6 reason="{why}"',
    ]


async def test_an_event_that_is_refused_once_only_is_not_parked() -> None:
    feed, sink = Ledger(), Taker(EventRefused("not these together"))
    feed.events = numbered(3)
    pump = Pump("test", feed, sink)
    pump.stop()
    await pump.run()
    assert sink.taken == numbered(3)
    assert feed.passed_over == []


@pytest.mark.usefixtures("at_once")
async def test_a_sink_that_takes_nothing_at_all_is_at_fault_itself_and_no_more_is_parked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    feed, sink = Ledger(), Choosy(*numbered(20))
    feed.events = numbered(20)
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    while feed.cursor < MOST_PARKED:
        await feed.moves.get()
    while not any("Retrying" in message for message in caplog.messages):
        sink.called.clear()
        await asyncio.sleep(0)
    assert [n for n, *_ in feed.passed_over] == list(range(1, MOST_PARKED + 1))
    sink.poison.clear()
    while feed.cursor < 20:
        await feed.moves.get()
    assert sink.taken == numbered(20)[MOST_PARKED:]
    pump.stop()
    await running
    assert len(feed.passed_over) == MOST_PARKED


class _BrokerError(Exception):
    """What a client library raises for a link that is gone: no OSError."""


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    ("error", "why"),
    [
        (_BrokerError("not connected\nnow"), "_BrokerError: not connected now"),
        (ValueError("no address"), "ValueError: no address"),
        (TimeoutError(), "TimeoutError"),
        (ConnectionRefusedError("nobody is there"), "nobody is there"),
    ],
)
async def test_only_a_sink_that_says_refused_has_an_event_parked_every_other_error_means_away(
    caplog: pytest.LogCaptureFixture, error: Exception, why: str
) -> None:
    feed, sink = Ledger(), Taker(*[error] * (2 * MOST_PARKED))
    feed.events = numbered(3)
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    while feed.cursor < 3:
        await feed.moves.get()
    pump.stop()
    await running
    assert feed.passed_over == []
    assert sink.taken == numbered(3)
    assert caplog.messages[0] == f'sink test: delivery failed: reason="{why}". Retrying.'


async def test_a_pump_knows_since_when_its_sink_is_away_and_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = iter(range(100, 200))
    feed, sink = Ledger(), Taker(OSError("first"), OSError("then"))
    feed.events = numbered(1)
    pump = Pump("test", feed, sink, lambda: next(now))
    pauses: list[SinkTrouble | None] = []

    async def pause(_: float) -> None:
        pauses.append(pump.trouble)

    monkeypatch.setattr(pump, "_pause", pause)
    assert pump.trouble is None
    pump_task = asyncio.create_task(pump.run())
    await feed.moves.get()
    assert pauses == [SinkTrouble(100, "first"), SinkTrouble(100, "then")]
    assert pump.trouble is None
    feed.events += numbered(1, 1)
    sink.outcomes = [SinkEnded("its reader has gone")]
    pump.wake()
    await pump_task
    assert pump.trouble == SinkTrouble(101, "its reader has gone", ended=True)
