"""The shoe's own clock: battery-backed, and as fast as its crystal.

In: the time that the simulator lives in. Out: what the shoe takes it for.
Must not know: boots, dates, what is timed with it.
"""

from __future__ import annotations

SLOWEST_PPM = -1_000_000
"""A clock that stands."""

FASTEST_PPM = 1_000_000_000
"""A thousand and one times as fast as time."""


class Clock:
    """Seconds on the shoe's own scale. ``ppm``: parts per million by which it is fast."""

    def __init__(self) -> None:
        self.ppm = 0
        self._set_at = 0.0
        self._read_then = 0.0

    def read(self, t: float) -> float:
        """Return the shoe's time at ``t``; it never runs backwards."""
        return self._read_then + (t - self._set_at) * (1 + self.ppm / 1_000_000)

    def pass_by(self, seconds: float) -> None:
        """So much time passes beside the one that the simulator lives in."""
        self._read_then += seconds * (1 + self.ppm / 1_000_000)

    def drift(self, ppm: int, t: float) -> None:
        """From now on it is this much too fast, or too slow if negative."""
        self._read_then, self._set_at, self.ppm = self.read(t), t, ppm
