"""The shoe's event memory: battery-backed, numbered for ever, never overwriting what is unheard.

In: events with the shoe's time, acknowledgements. Out: numbers, and what was not acknowledged.
Must not know: bytes, connections, cards.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from firmware_proto.events import ShoeEvent

CAPACITY = 1024
"""Events kept: over two whole shoes of eight decks."""

RESERVE = 16
"""Places kept free for what can still happen to a shoe that locked itself: forced draws, boots."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An event in memory; ``t_us`` is µs since ``boot_id``, the boot in which it happened."""

    seq: int
    event: ShoeEvent
    boot_id: int
    t_us: int


class EventMemory:
    """Numbers from 1 without a hole, whatever happens to power or link."""

    def __init__(self, capacity: int = CAPACITY, reserve: int = RESERVE) -> None:
        if not 0 <= reserve < capacity:
            raise ValueError(f"a reserve of {reserve} does not fit into {capacity} places")
        self.capacity = capacity
        self.reserve = reserve
        self.next_seq = 1
        self.lost = 0
        self._kept: deque[Stored] = deque()
        self._acknowledged = 0

    @property
    def full(self) -> bool:
        """True when only the reserve is left: the shoe has to lock itself."""
        return len(self._kept) >= self.capacity - self.reserve

    @property
    def unacknowledged(self) -> int:
        """How many numbers were given and not acknowledged, kept or lost."""
        return self.next_seq - 1 - self._acknowledged

    def store(self, event: ShoeEvent, *, boot_id: int, t_us: int) -> Stored:
        """Gives the event its number and keeps it.

        With even the reserve used up the event itself is lost, counted in ``lost``, and its
        number stays used: the host sees a gap that it can name, and nothing older goes.
        """
        stored = Stored(self.next_seq, event, boot_id, t_us)
        self.next_seq += 1
        if len(self._kept) < self.capacity:
            self._kept.append(stored)
        else:
            self.lost += 1
        return stored

    def acknowledge(self, through: int) -> None:
        """The host has stored everything up to ``through``; a number never given is ignored."""
        if through >= self.next_seq:
            return
        self._acknowledged = max(self._acknowledged, through)
        while self._kept and self._kept[0].seq <= through:
            self._kept.popleft()

    def unheard(self) -> tuple[Stored, ...]:
        """What is kept and not acknowledged, oldest first."""
        return tuple(self._kept)
