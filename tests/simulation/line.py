"""One direction of the cable: every chunk takes a moment, and the next one is damaged when told to.

In: chunks, the time, what is to be done to the next. Out: chunks in order (``simulators.faults``).
Must not know: what the bytes mean, when faults are due.
"""

from __future__ import annotations

import random
from collections import deque

DAMAGES = ("flip", "drop", "split", "merge", "repeat", "delay")

SHORTEST_S, LONGEST_S = 0.0002, 0.004
"""How long a chunk is under way."""

HELD_S = 3.0
"""The longest that a delayed chunk, and all behind it, is held back."""

MERGED_S = 0.05
"""How long a chunk waits for the next one, to arrive as one with it."""


class DamagedLine:
    """The same chunks at the same times are damaged in the same way."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._under_way: deque[tuple[float, bytes]] = deque()
        self._due: deque[tuple[str, random.Random]] = deque()

    def damage_next(self, how: str, chance: random.Random) -> None:
        """The next chunk meets one of ``DAMAGES``."""
        self._due.append((how, chance))

    @property
    def next_deadline(self) -> float | None:
        return self._under_way[0][0] if self._under_way else None

    def put(self, data: bytes, t: float) -> None:
        if not data:
            return
        due = t + self._chance.uniform(SHORTEST_S, LONGEST_S)
        pieces = [(0.0, data)]
        if self._due:
            how, chance = self._due.popleft()
            pieces = _damaged(how, data, chance)
        for later_s, piece in pieces:
            due += later_s
            if self._under_way:
                due = max(due, self._under_way[-1][0])
            if piece:
                self._under_way.append((due, piece))

    def take(self, t: float) -> list[bytes]:
        arrived: list[bytes] = []
        while self._under_way and self._under_way[0][0] <= t:
            arrived.append(self._under_way.popleft()[1])
        return arrived

    def pulled(self, t: float) -> bool:  # noqa: ARG002 - hands pull the cable itself
        return False

    def cut(self) -> None:
        self._under_way.clear()


def _damaged(how: str, data: bytes, chance: random.Random) -> list[tuple[float, bytes]]:
    """What arrives instead, each piece so much later than the one before it."""
    match how:
        case "flip":
            at = chance.randrange(len(data))
            spoilt = bytearray(data)
            spoilt[at] ^= 1 << chance.randrange(8)
            return [(0.0, bytes(spoilt))]
        case "drop":
            first = chance.randrange(len(data))
            return [(0.0, data[:first] + data[chance.randrange(first, len(data)) + 1 :])]
        case "split":
            at = chance.randrange(len(data))
            return [(0.0, data[:at]), (chance.uniform(LONGEST_S, MERGED_S), data[at:])]
        case "merge":
            return [(MERGED_S, data)]
        case "repeat":
            return [(0.0, data), (0.0, data)]
        case _:
            return [(chance.uniform(0.0, HELD_S), data)]
