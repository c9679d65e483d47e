"""Parked events that people have offered once more: behind the rest, each by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from shoe_ctl.sinks import pump as pump_module
from shoe_ctl.sinks.pump import BATCH, EventRefused, Pump, Resend, SinkEnded
from shoe_testing.sinks import Choosy, Ledger, Taker, numbered


async def test_what_was_parked_goes_out_once_more_behind_the_rest_when_that_is_asked_for() -> None:
    feed, sink = Ledger(), Choosy(b"3", b"5")
    feed.events = numbered(9)
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    while feed.cursor < 9:
        await feed.moves.get()
    sink.poison = {b"5"}
    later, sooner = pump.offer_again(6), pump.offer_again(4)
    assert pump.offer_again(4) is sooner
    assert await sooner is None
    assert await later == "too long by far"
    sink.poison.clear()
    feed.events += numbered(1, 9)
    pump.wake()
    assert await pump.offer_again(6) is None
    assert sink.taken == [b"0", b"1", b"2", b"4", b"6", b"7", b"8", b"3", b"9", b"5"]
    assert feed.taken_after_all == [(4, b"3"), (6, b"5")]
    assert feed.cursor == 10
    assert "not keep" in (await pump.offer_again(99) or "")
    pump.stop()
    await running


async def test_a_sink_that_is_away_gets_what_was_asked_for_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pump_module, "FIRST_RETRY_S", 0.0)
    never_and_away = [EventRefused("no"), EventRefused("no"), OSError("away"), OSError("away")]
    feed, sink = Ledger(), Taker(*never_and_away)
    feed.events = numbered(1)
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    while feed.cursor < 1:
        await feed.moves.get()
    assert await pump.offer_again(1) is None
    assert sink.taken == [b"0"]
    pump.stop()
    await running


async def test_stopping_does_not_wait_for_what_a_sink_that_is_away_was_asked_to_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pump_module, "FIRST_RETRY_S", 60.0)
    feed, sink = Ledger(), Taker(EventRefused("no"), EventRefused("no"), *[OSError("away")] * 9)
    feed.events = numbered(1)
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    while feed.cursor < 1:
        await feed.moves.get()
    sink.called.clear()
    offer = pump.offer_again(1)
    await sink.called.wait()
    pump.stop()
    await running
    assert not offer.done()
    assert feed.taken_after_all == []


async def test_a_sink_that_has_ended_is_offered_nothing() -> None:
    no = EventRefused("no")
    feed, sink = Ledger(), Taker(no, no, SinkEnded("the reader has gone"))
    feed.events = numbered(1)
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    while feed.cursor < 1:
        await feed.moves.get()
    for _ in range(2):
        assert await pump.offer_again(1) == "it has ended: the reader has gone"
    await running
    assert sink.taken == []


async def test_a_range_is_offered_again_in_order_and_the_cursor_stays() -> None:
    feed, sink = Ledger(), Taker()
    feed.events = numbered(6)
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    while feed.cursor < 6:
        await feed.moves.get()
    asked = pump.resend(Resend("t", after=2, upto=5, events=3))
    assert pump.resend(Resend("t", after=2, upto=4, events=2)) is asked
    assert (asked.taken, asked.waiting) == (0, 3)
    assert await asked.done is None
    assert (asked.taken, asked.refused, asked.waiting) == (3, 0, 0)
    assert sink.taken == [*numbered(6), b"2", b"3", b"4"]
    assert feed.moved == [6]
    assert feed.taken_after_all == []
    pump.stop()
    await running


async def test_a_range_that_is_asked_for_twice_goes_to_the_later_end_and_one_that_began_anew() -> (
    None
):
    feed, sink = Ledger(), Taker()
    feed.events = numbered(6)
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    while feed.cursor < 6:
        await feed.moves.get()
    honest, again = sink.deliver, list[Resend]()

    async def deliver(events: Sequence[bytes]) -> None:
        await honest(events)
        if not again:  # who asks now was away when these came
            again.append(pump.resend(Resend("t", after=2, upto=6, events=4)))

    sink.deliver = deliver  # type: ignore[method-assign]
    asked = pump.resend(Resend("t", after=2, upto=5, events=3))
    assert pump.resend(Resend("t", after=2, upto=6, events=4)) is asked
    assert await asked.done is None
    assert again[0] is not asked
    assert await again[0].done is None
    assert sink.taken == [*numbered(6), *2 * numbered(4, 2)]
    pump.stop()
    await running


async def test_what_the_sink_is_taking_is_in_flight_until_the_cursor_has_moved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pump_module, "FIRST_RETRY_S", 0.0)
    feed, sink = Ledger(), Taker(OSError("away"))
    feed.events = numbered(3)
    pump = Pump("test", feed, sink)
    seen: list[int] = []
    taking, moving = sink.deliver, feed.delivered

    async def deliver(events: Sequence[bytes]) -> None:
        seen.append(pump.in_flight)
        await taking(events)

    async def delivered(n: int) -> None:
        seen.append(pump.in_flight)
        await moving(n)

    async def pause(seconds: float) -> None:
        seen.append(pump.in_flight)

    sink.deliver, feed.delivered = deliver, delivered  # type: ignore[method-assign]
    monkeypatch.setattr(pump, "_pause", pause)
    running = asyncio.create_task(pump.run())
    while feed.cursor < 3:
        await feed.moves.get()
    assert await pump.resend(Resend("t", after=2, upto=3, events=1)).done is None
    assert seen == [3, 0, 3, 3, 0]
    assert pump.in_flight == 0
    pump.stop()
    await running


async def test_what_is_new_goes_out_between_the_batches_of_a_range() -> None:
    feed, sink = Ledger(), Taker()
    feed.events = numbered(2 * BATCH)
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    while feed.cursor < 2 * BATCH:
        await feed.moves.get()
    sink.taken.clear()
    asked = pump.resend(Resend("t", after=0, upto=2 * BATCH, events=2 * BATCH))
    feed.events.append(b"new")
    honest = feed.earlier

    async def earlier(table: str, *, after: int, upto: int, limit: int) -> object:
        if after == 0:
            feed.events.append(b"newer")
        return await honest(table, after=after, upto=upto, limit=limit)

    feed.earlier = earlier  # type: ignore[assignment]
    assert await asked.done is None
    assert sink.taken.index(b"newer") == BATCH + 1
    assert sink.taken[0] == b"new"
    assert len(sink.taken) == 2 * BATCH + 2
    pump.stop()
    await running


async def test_an_event_of_a_range_that_is_refused_is_counted_and_not_parked() -> None:
    feed, sink = Ledger(), Choosy()
    feed.events = numbered(5)
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    while feed.cursor < 5:
        await feed.moves.get()
    sink.poison = {b"3"}
    asked = pump.resend(Resend("t", after=1, upto=5, events=4))
    assert await asked.done is None
    assert (asked.taken, asked.refused, asked.waiting) == (3, 1, 0)
    assert sink.taken == [*numbered(5), b"1", b"2", b"4"]
    assert feed.passed_over == []
    pump.stop()
    await running


async def test_a_sink_that_has_ended_is_offered_no_range() -> None:
    feed, sink = Ledger(), Taker(SinkEnded("the reader has gone"))
    feed.events = numbered(1)
    pump = Pump("test", feed, sink)
    await pump.run()
    asked = pump.resend(Resend("t", after=0, upto=1, events=1))
    assert await asked.done == "it has ended: the reader has gone"
    assert asked.waiting == 1


async def test_what_is_offered_in_the_background_lets_a_new_event_pass_after_each() -> None:
    feed, sink = Ledger(), Taker()
    feed.events = numbered(6)
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    while feed.cursor < 6:
        await feed.moves.get()
    sink.taken.clear()
    honest = sink.deliver

    async def deliver(events: Sequence[bytes]) -> None:
        await honest(events)
        if events == [b"2"]:
            feed.events.append(b"new")

    sink.deliver = deliver  # type: ignore[method-assign]
    asked = pump.resend(Resend("t", after=1, upto=5, events=4, in_background=True))
    assert await asked.done is None
    assert sink.taken == [b"1", b"2", b"new", b"3", b"4"]
    pump.stop()
    await running


async def test_a_stop_does_not_wait_for_what_is_offered_in_the_background() -> None:
    feed, sink = Ledger(), Taker()
    feed.events = numbered(300)
    pump = Pump("test", feed, sink)
    running = asyncio.create_task(pump.run())
    while feed.cursor < 300:
        await feed.moves.get()
    sink.taken.clear()
    honest = sink.deliver

    async def deliver(events: Sequence[bytes]) -> None:
        await honest(events)
        pump.stop()

    sink.deliver = deliver  # type: ignore[method-assign]
    asked = pump.resend(Resend("t", after=0, upto=300, events=300, in_background=True))
    await running
    assert sink.taken == [b"0"]
    assert not asked.done.done()
