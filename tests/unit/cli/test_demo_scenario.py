"""The clock of a daemon that plays a scenario with a time of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

from shoe_ctl.cli.demo_scenario import ScenarioClock
from simulators.table.live_bench import TableTime

WITHIN_S = 20.0


async def test_time_stands_until_the_scenario_lets_it_pass(tmp_path: Path) -> None:
    time = TableTime(tmp_path / "time")
    clock = ScenarioClock(tmp_path / "time")
    began_us = clock.wall_us()
    due = [asyncio.Event(), asyncio.Event()]
    for seconds, event in zip((3600, 7200), due, strict=True):
        clock.call_when(began_us + seconds * 1_000_000, event.set)
    assert clock.wall_us() == began_us
    time.pass_us(3600 * 1_000_000)
    async with asyncio.timeout(WITHIN_S):
        await due[0].wait()
    assert clock.wall_us() == began_us + 3600 * 1_000_000
    assert not due[1].is_set()
    time.pass_us(3600 * 1_000_000)
    async with asyncio.timeout(WITHIN_S):
        await due[1].wait()


async def test_a_timer_that_was_cancelled_does_nothing(tmp_path: Path) -> None:
    time = TableTime(tmp_path / "time")
    clock = ScenarioClock(tmp_path / "time")
    cancelled, other = asyncio.Event(), asyncio.Event()
    clock.call_when(clock.wall_us() + 1, cancelled.set).cancel()
    clock.call_when(clock.wall_us() + 1, other.set)
    time.pass_us(1)
    async with asyncio.timeout(WITHIN_S):
        await other.wait()
    assert not cancelled.is_set()


async def test_a_link_keeps_the_real_time(tmp_path: Path) -> None:
    TableTime(tmp_path / "time")
    clock = ScenarioClock(tmp_path / "time")
    came = asyncio.Event()
    clock.call_later(0.001, came.set)
    async with asyncio.timeout(WITHIN_S):
        await came.wait()
