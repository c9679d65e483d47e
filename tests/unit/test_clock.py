"""The wall clock of a daemon, while people and servers set the system's."""

from __future__ import annotations

import asyncio
from asyncio.events import _set_running_loop
from collections.abc import Iterator

import pytest

from shoe_ctl.clock import SystemClock
from tests.simulation.clock import WallClock
from tests.simulation.loop import VirtualLoop


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    _set_running_loop(loop)
    yield loop
    _set_running_loop(None)
    loop.close()


def pass_s(loop: VirtualLoop, seconds: float) -> None:
    _set_running_loop(None)
    loop.run_until_complete(asyncio.sleep(seconds))
    _set_running_loop(loop)


def test_a_clock_that_is_set_back_goes_on_from_where_it_was(loop: VirtualLoop) -> None:
    wall = WallClock(loop)
    clock = SystemClock(wall.read_ns)
    began_us = clock.wall_us()
    wall.jump(-86_400)
    assert clock.wall_us() == began_us
    pass_s(loop, 2.5)
    assert clock.wall_us() == began_us + 2_500_000
    pass_s(loop, 1.0)
    assert clock.wall_us() == began_us + 3_500_000


def test_a_clock_that_is_set_on_is_followed_at_once(loop: VirtualLoop) -> None:
    wall = WallClock(loop)
    clock = SystemClock(wall.read_ns)
    began_us = clock.wall_us()
    wall.jump(60)
    assert clock.wall_us() == began_us + 60_000_000


def test_a_clock_that_is_set_back_and_right_again_shows_the_systems_time(
    loop: VirtualLoop,
) -> None:
    wall = WallClock(loop)
    clock = SystemClock(wall.read_ns)
    began_us = clock.wall_us()
    wall.jump(-10)
    pass_s(loop, 4.0)
    clock.wall_us()
    wall.jump(11)
    assert clock.wall_us() == began_us + 5_000_000
