"""The host's wall clock, which people and servers set; it goes on through restarts.

In: the loop's time, jumps. Out: what ``SystemClock`` reads. Must not know: who asks for the time.
"""

from __future__ import annotations

from tests.simulation.loop import VirtualLoop

STARTED_S = 1_750_000_000


class WallClock:
    """Nanoseconds since 1970 UTC, as ``time.time_ns`` has them."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._ahead_s = float(STARTED_S)
        self.was_set = False

    def jump(self, seconds: float) -> None:
        """Somebody sets it, on or back."""
        self._ahead_s += seconds
        self.was_set = True

    def read_ns(self) -> int:
        """What it shows now."""
        return round((self._ahead_s + self._loop.time()) * 1e6) * 1000
