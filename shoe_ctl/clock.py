"""The clock of a link, so that tests own the time.

In: the event loop's timers and the system's wall clock. Out: Clock, SystemClock, sleep.
Must not know: ports, sessions, the journal.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import cached_property
from typing import Protocol


class Timer(Protocol):
    """One wake-up that was asked for."""

    def cancel(self) -> None:
        """Forgets it; cancelling what has already run does nothing."""


class Clock(Protocol):
    """Time for one event loop."""

    def monotonic(self) -> float:
        """Seconds on a scale that never jumps; the scale that sessions are given."""

    def wall_us(self) -> int:
        """Microseconds since 1970 UTC; never runs backwards."""

    def processor_s(self) -> float:
        """Seconds of the processor that this thread had; only differences mean anything."""

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        """Runs the callback in the loop, ``delay_s`` seconds from now."""

    def call_when(self, wall_us: int, callback: Callable[[], None]) -> Timer:
        """Runs the callback in the loop once ``wall_us()`` has reached this time."""


class SystemClock:
    """The real clock, for the loop that is running.

    ``wall_ns`` reads the system's time, ``processor_s`` the processor's time of this thread.
    """

    def __init__(
        self,
        wall_ns: Callable[[], int] = time.time_ns,
        processor_s: Callable[[], float] = time.thread_time,
    ) -> None:
        self._wall_ns = wall_ns
        self._processor_s = processor_s
        self._at_us, self._at = 0, 0.0
        self._loop_time: Callable[[], float] | None = None

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The running loop. Asked once: Python asks the kernel which process this is."""
        return asyncio.get_running_loop()

    def monotonic(self) -> float:
        """The loop's own time in seconds."""
        if self._loop_time is None:
            loop = self._loop
            own = type(loop).time is not asyncio.BaseEventLoop.time
            self._loop_time = loop.time if own else time.monotonic
        return self._loop_time()

    def wall_us(self) -> int:
        """The system's time; where that is set back, it goes on from the time it had reached.

        Standing still until the system's has caught up, hours perhaps, would let nothing fall due.
        """
        now_us, now = self._wall_ns() // 1000, self.monotonic()
        reached_us = self._at_us + int((now - self._at) * 1_000_000)
        if now_us < reached_us:
            return reached_us
        self._at_us, self._at = now_us, now
        return now_us

    def processor_s(self) -> float:
        """The system's account of this thread."""
        return self._processor_s()

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        """A timer of the running loop."""
        return self._loop.call_later(delay_s, callback)

    def call_when(self, wall_us: int, callback: Callable[[], None]) -> Timer:
        """A timer; where the wall clock is set back meanwhile, it is early."""
        return self.call_later(max(0, wall_us - self.wall_us()) / 1_000_000, callback)


async def sleep(clock: Clock, delay_s: float, *, unless: asyncio.Event | None = None) -> bool:
    """Waits until ``delay_s`` seconds have passed on this clock, or ``unless`` is set.

    True where the time passed first; ``unless`` is set by then all the same.
    """
    over = asyncio.Event() if unless is None else unless
    passed = False

    def pass_over() -> None:
        nonlocal passed
        passed = not over.is_set()
        over.set()

    timer = clock.call_later(delay_s, pass_over)
    try:
        await over.wait()
    finally:
        timer.cancel()
    return passed
