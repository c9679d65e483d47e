"""The shoe's event log: battery-backed, numbered for ever, never overwriting unacknowledged ones.

In: events with the shoe's time, acknowledgements. Out: numbers, what is kept, what was lost.
Must not know: bytes, connections, cards.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from firmware_proto.events import Gap, ShoeEvent

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

    @property
    def last(self) -> int:
        """The last number that this accounts for: a gap stands for several."""
        return self.event.last if isinstance(self.event, Gap) else self.seq


class EventLog:
    """Numbers from 1 without a hole, whatever happens to power or link.

    What was acknowledged stays as long as there is room: a host may ask for it once more.
    """

    def __init__(self, capacity: int = CAPACITY, reserve: int = RESERVE) -> None:
        if not 0 <= reserve < capacity:
            raise ValueError(f"a reserve of {reserve} does not fit into {capacity} places")
        self.capacity = capacity
        self.reserve = reserve
        self.next_seq = 1
        self.lost = 0
        self._heard: deque[Stored] = deque()
        self._kept: deque[Stored] = deque()
        self._gap: Stored | None = None  # what is being lost; kept once there is room again
        self._acknowledged = 0

    @property
    def full(self) -> bool:
        """True when only the reserve is left: the shoe has to lock itself."""
        return len(self._kept) >= self.capacity - self.reserve

    @property
    def acknowledged(self) -> int:
        """The last number that a host acknowledged; 0 before the first."""
        return self._acknowledged

    @property
    def unacknowledged(self) -> int:
        """The count of numbers given and not acknowledged, kept or lost."""
        return self.next_seq - 1 - self._acknowledged

    def store(self, event: ShoeEvent, *, boot_id: int, t_us: int) -> Stored | None:
        """Give the event its number and keep it.

        With even the reserve used up the event itself is lost, counted in ``lost``, and its
        number stays used: a gap takes its place as soon as there is room, and nothing older goes.
        Return None for a lost event.
        """
        stored = Stored(self.next_seq, event, boot_id, t_us)
        self.next_seq += 1
        if len(self._kept) < self.capacity:
            if len(self._heard) + len(self._kept) >= self.capacity:
                self._heard.popleft()
            self._kept.append(stored)
            return stored
        self.lost += 1
        gap = stored if self._gap is None else self._gap
        self._gap = replace(gap, event=Gap(first=gap.seq, last=stored.seq))
        return None

    def acknowledge(self, through: int) -> Stored | None:
        """Note that the host has stored all up to ``through``; an unknown number is ignored.

        Return the gap that there is room for now, if events were lost before.
        """
        if through >= self.next_seq:
            return None
        self._acknowledged = max(self._acknowledged, through)
        while self._kept and self._kept[0].last <= through:
            self._heard.append(self._kept.popleft())
        gap = self._gap
        if gap is None or len(self._kept) >= self.capacity:
            return None
        self._gap = None
        self._kept.append(gap)
        if len(self._heard) + len(self._kept) > self.capacity:
            self._heard.popleft()
        return gap

    def unheard(self) -> tuple[Stored, ...]:
        """Return what is kept and not acknowledged, oldest first."""
        return tuple(self._kept)

    @property
    def oldest_seq(self) -> int:
        """The number of the oldest event still kept; the next number when none is."""
        for kept in (self._heard, self._kept):
            if kept:
                return kept[0].seq
        return self.next_seq if self._gap is None else self._gap.seq

    def since(self, first: int) -> tuple[Stored, ...]:
        """All that is kept from number ``first`` on, acknowledged or not, oldest first."""
        return tuple(s for s in (*self._heard, *self._kept) if s.last >= first)
