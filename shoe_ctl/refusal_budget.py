"""How many refused commands of a user are recorded: the others are counted.

In: refusals, times. Out: whether one is recorded, and counts of those that were not.
Must not know: tables, the journal, why a command is refused.
"""

from __future__ import annotations

from typing import NamedTuple

RECORDED = 60
"""Refused commands of one user that a table records in one stretch of time."""

STRETCH_US = 600_000_000
"""How long a stretch is: it begins with the first of them."""


class Unrecorded(NamedTuple):
    """Of a user this number of refused commands were not recorded, since then."""

    user: str
    number: int
    since_us: int


class _Stretch:
    def __init__(self, since_us: int) -> None:
        self.since_us = since_us
        self.recorded = 0
        self.counted = 0


class RefusalBudget:
    """One table's, for each user. Times never run backwards."""

    def __init__(self) -> None:
        self._stretches: dict[str, _Stretch] = {}

    def is_spent(self, user: str, now_us: int) -> bool:
        """No more refused commands of this user are recorded now."""
        stretch = self._stretches.get(user)
        return (
            stretch is not None
            and now_us < stretch.since_us + STRETCH_US
            and stretch.recorded >= RECORDED
        )

    def record(self, user: str, now_us: int) -> None:
        """One was recorded."""
        stretch = self._stretches.get(user)
        if stretch is None or (now_us >= stretch.since_us + STRETCH_US and not stretch.counted):
            stretch = self._stretches[user] = _Stretch(now_us)
        stretch.recorded += 1

    def count(self, user: str) -> None:
        """One was not."""
        self._stretches[user].counted += 1

    def due_us(self) -> int | None:
        """When the next count is to be recorded; None where there is none."""
        counting = (s.since_us + STRETCH_US for s in self._stretches.values() if s.counted)
        return min(counting, default=None)

    def take(self, now_us: int | None = None) -> list[Unrecorded]:
        """The counts that are due, each once: all of them without a time."""
        ended = {
            user: stretch
            for user, stretch in self._stretches.items()
            if now_us is None or now_us >= stretch.since_us + STRETCH_US
        }
        for user in ended:
            del self._stretches[user]
        return [Unrecorded(u, s.counted, s.since_us) for u, s in ended.items() if s.counted]
