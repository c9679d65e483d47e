"""Counts millions of times in little memory, by ranges.

In: times in seconds. Out: how many, percentiles to one percent, the longest exactly.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from math import exp, log

_STEPS = 50
"""Ranges from a time to e times that time. The middle of a range is within 1 % of all in it."""

_RANGES = 1052
"""From a microsecond to over twenty minutes; longer ones are in the last range."""


class Times:
    """Times that were measured."""

    __slots__ = ("_ranges", "count", "longest_s")

    def __init__(self) -> None:
        self._ranges = array("L", bytes(_RANGES * array("L").itemsize))
        self.count = 0
        self.longest_s = 0.0

    def add(self, seconds: float) -> None:
        """Count a time; less than a microsecond counts as one."""
        at = int(log(seconds * 1e6) * _STEPS) if seconds > 1e-6 else 0
        self._ranges[at if at < _RANGES else -1] += 1
        self.count += 1
        self.longest_s = max(self.longest_s, seconds)

    def clear(self) -> None:
        """Forget all."""
        self.__init__()  # type: ignore[misc]

    def percentile(self, share: float) -> float:
        """Return the time in seconds that this share of them does not exceed; 0.0 without any."""
        left = share * self.count
        for at, count in enumerate(self._ranges):
            left -= count
            if count and left <= 0:
                return min(exp((at + 0.5) / _STEPS) / 1e6, self.longest_s)
        return self.longest_s

    @property
    def ranges(self) -> list[tuple[float, int]]:
        """The seconds in the middle of each range that holds a time, and how many it holds.

        Those of several runs put together give the percentiles of all their times.
        """
        return [
            (exp((at + 0.5) / _STEPS) / 1e6, count)
            for at, count in enumerate(self._ranges)
            if count
        ]

    @classmethod
    def together(cls, parts: Iterable[Times]) -> Times:
        """Return the times of all parts in one."""
        whole = cls()
        for part in parts:
            whole.count += part.count
            whole.longest_s = max(whole.longest_s, part.longest_s)
            whole._add_ranges(part)
        return whole

    def _add_ranges(self, other: Times) -> None:
        for at, count in enumerate(other._ranges):
            if count:
                self._ranges[at] += count
