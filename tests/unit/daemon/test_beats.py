"""Beats: a stream that had no line for a second wakes, and one that has lines never does."""

from __future__ import annotations

import asyncio
import json

from shoe_ctl.clock import SystemClock
from shoe_ctl.daemon.beats import BEAT_S, Heart, beat
from shoe_testing.simulated_time import VirtualLoop


def beats_of(lines_at: list[float], until: float) -> list[float]:
    """When beats are due in a stream that has lines at these times, in simulated time."""
    loop = VirtualLoop()

    async def run() -> list[float]:
        news, began, due = asyncio.Event(), loop.time(), []
        heart = Heart(SystemClock(), news)
        for when in lines_at:
            loop.call_at(began + when, heart.sent)
        loop.call_at(began + until, stopped.set_result, None)
        while not stopped.done():
            waiting = asyncio.ensure_future(news.wait())
            await asyncio.wait({waiting, stopped}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            news.clear()
            if heart.is_due:
                due.append(round(loop.time() - began, 6))
                heart.sent()
        heart.stop()
        return due

    try:
        stopped = loop.create_future()
        return loop.run_until_complete(run())
    finally:
        loop.close()


def test_a_stream_without_lines_beats_each_second() -> None:
    assert beats_of([], 3.5) == [1.0, 2.0, 3.0]


def test_a_line_is_a_sign_of_life_and_puts_the_beat_off() -> None:
    assert beats_of([0.4, 0.9, 1.7], 3.2) == [2.7]


def test_a_stream_that_always_has_lines_never_beats() -> None:
    assert beats_of([0.5 * BEAT_S * n for n in range(1, 20)], 9.4) == []


async def test_a_beat_has_the_time_of_the_daemons_clock() -> None:
    line = json.loads(beat(SystemClock()))
    assert line.keys() == {"beat"}
    assert line["beat"].endswith("Z")
