"""Parked events that people have offered once more: behind the rest, each by itself."""

from __future__ import annotations

import asyncio

import pytest

from shoe_ctl.sinks import pump as pump_module
from shoe_ctl.sinks.pump import Pump, SinkEnded
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
    assert await later == "ValueError: too long by far"
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
    never_and_away = [ValueError("no"), ValueError("no"), OSError("away"), OSError("away")]
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
    feed, sink = Ledger(), Taker(ValueError("no"), ValueError("no"), *[OSError("away")] * 9)
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
    no = ValueError("no")
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
