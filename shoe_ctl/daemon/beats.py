"""Beats: lines that show a reader that the daemon's loop is at work, where nothing else does.

In: a clock, when a stream had a line. Out: a line when it had none for ``BEAT_S``.
Must not know: what a stream sends.
"""

from __future__ import annotations

import asyncio

import msgspec

from shoe_ctl.clock import Clock, Timer
from shoe_ctl.records import utc

BEAT_S = 1.0
"""A stream says that the daemon is alive when it had no line for so long."""


def beat(clock: Clock) -> bytes:
    """Return the line, with the time of the daemon's clock."""
    return msgspec.json.encode({"beat": utc(clock.wall_us())})


class Heart:
    """Wakes one stream when it had no line for ``BEAT_S``. A line costs it no timer."""

    def __init__(self, clock: Clock, news: asyncio.Event) -> None:
        """Set ``news`` when a beat is due."""
        self.is_due = False
        self._clock = clock
        self._news = news
        self._last_s = clock.monotonic()
        self._timer: Timer | None = clock.call_later(BEAT_S, self._look)

    def sent(self) -> None:
        """The stream had a line."""
        self.is_due = False
        self._last_s = self._clock.monotonic()
        if self._timer is None:
            self._timer = self._clock.call_later(BEAT_S, self._look)

    def stop(self) -> None:
        """The stream has ended."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        left_s = self._last_s + BEAT_S - self._clock.monotonic()
        if left_s > 0:  # a line went out since
            self._timer = self._clock.call_later(left_s, self._look)
            return
        self._timer = None
        self.is_due = True
        self._news.set()
