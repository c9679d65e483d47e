"""Lines that bytes travel on: a clean one, and one with seeded faults.

In: chunks as they are sent, the time. Out: chunks as they arrive, in order, and the pulled cable.
Must not know: what the bytes mean, ports, clocks.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from dataclasses import dataclass, fields
from typing import Protocol

from simulators.errors import WrongUsage

TO_SHOE, TO_HOST = DIRECTIONS = ("to_shoe", "to_host")
"""The two wires of a cable."""


class Line(Protocol):
    """One direction of a cable. What is put first arrives first."""

    def put(self, data: bytes, t: float) -> None:
        """Send a chunk."""

    def take(self, t: float) -> list[bytes]:
        """Return the chunks that have arrived by now."""

    def pulled(self, t: float) -> bool:
        """True once, when all that arrives before the cable was pulled has been taken."""

    def cut(self) -> None:
        """The connection ended: what is under way is lost."""

    @property
    def next_deadline(self) -> float | None:
        """When something under way arrives next, or None."""


class CleanLine:
    """Gives every chunk as it was sent, at once."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []

    def put(self, data: bytes, t: float) -> None:  # noqa: ARG002 - a clean line takes no time
        if data:
            self._chunks.append(data)

    def take(self, t: float) -> list[bytes]:  # noqa: ARG002
        chunks, self._chunks = self._chunks, []
        return chunks

    def pulled(self, t: float) -> bool:  # noqa: ARG002
        return False

    def cut(self) -> None:
        self._chunks.clear()

    @property
    def next_deadline(self) -> float | None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """The chance, 0 to 1, that each fault strikes a chunk; ``delay_s`` is the longest delay.

    ``split`` gives a chunk as two; ``merge`` keeps it for the next one; ``drop`` loses some of
    its bytes; ``flip`` turns one bit; ``repeat`` gives it twice; ``delay`` holds it (and all
    after it) back; ``unplug`` gives a part of it and pulls the cable.
    """

    split: float = 0.0
    merge: float = 0.0
    drop: float = 0.0
    flip: float = 0.0
    repeat: float = 0.0
    delay: float = 0.0
    unplug: float = 0.0
    delay_s: float = 0.05

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 <= value <= (60 if field.name == "delay_s" else 1):
                raise ValueError(f"{field.name} = {value}: out of range")


def parse_faults(text: str) -> Faults:
    """Parse the ``--faults`` value ``drop=0.02,flip=0.01``: which faults, and how often.

    Raises:
        simulators.errors.WrongUsage: anything else.
    """
    known = {field.name for field in fields(Faults)}
    given: dict[str, float] = {}
    for part in text.split(","):
        name, _, rate = part.partition("=")
        name = name.strip()
        if name not in known:
            raise WrongUsage(f"--faults {part!r}: unknown (have: {', '.join(sorted(known))})")
        if name in given:
            raise WrongUsage(f"--faults {part!r}: {name} is given twice")
        try:
            given[name] = float(rate)
            Faults(**{name: given[name]})
        except ValueError:
            most = "seconds, 0 to 60" if name == "delay_s" else "a rate, 0 to 1"
            raise WrongUsage(f"--faults {part!r}: expected {name}={most}") from None
    return Faults(**given)


class FaultyLine:
    """The same seed, chunks and times give the same faults. ``struck`` counts them by name.

    ``faults`` may be changed at any time.
    """

    def __init__(self, seed: int, faults: Faults) -> None:
        self.seed = seed
        self.struck: Counter[str] = Counter()
        self.faults = faults
        self._random = random.Random(seed)
        self._under_way: deque[tuple[float, bytes]] = deque()
        self._kept = b""
        self._kept_until = 0.0
        self._pull_at: float | None = None

    @property
    def next_deadline(self) -> float | None:
        due = [self._under_way[0][0]] if self._under_way else []
        due += [self._kept_until] if self._kept else []
        due += [self._pull_at] if self._pull_at is not None else []
        return min(due, default=None)

    def put(self, data: bytes, t: float) -> None:
        if not data or self._pull_at is not None:
            return
        chunk, self._kept = self._kept + data, b""
        if self._strikes("merge"):
            self._kept, self._kept_until = chunk, t + self.faults.delay_s
            return
        self._send(chunk, t)

    def take(self, t: float) -> list[bytes]:
        if self._kept and t >= self._kept_until:
            chunk, self._kept = self._kept, b""
            self._send(chunk, self._kept_until)
        arrived: list[bytes] = []
        while self._under_way and self._under_way[0][0] <= t:
            arrived.append(self._under_way.popleft()[1])
        return arrived

    def pulled(self, t: float) -> bool:
        if self._pull_at is None or t < self._pull_at or self._under_way:
            return False
        self._pull_at = None
        return True

    def cut(self) -> None:
        self._under_way.clear()
        self._kept = b""
        self._pull_at = None

    def _strikes(self, name: str) -> bool:
        rate: float = getattr(self.faults, name)
        hit = rate > 0 and self._random.random() < rate
        self.struck[name] += hit
        return hit

    def _send(self, chunk: bytes, t: float) -> None:
        chunk = self._damaged(chunk)
        due = t
        if self._strikes("delay"):
            due += self._random.random() * self.faults.delay_s
        if self._under_way:
            due = max(due, self._under_way[-1][0])
        if self._strikes("unplug"):
            chunk = chunk[: self._random.randrange(len(chunk) + 1)]
            self._pull_at = due
        for piece in self._pieces(chunk):
            self._under_way.append((due, piece))

    def _damaged(self, chunk: bytes) -> bytes:
        if self._strikes("repeat"):
            chunk += chunk
        if self._strikes("drop"):
            first = self._random.randrange(len(chunk))
            last = self._random.randrange(first, len(chunk)) + 1
            chunk = chunk[:first] + chunk[last:]
        if chunk and self._strikes("flip"):
            bit = self._random.randrange(len(chunk) * 8)
            flipped = bytearray(chunk)
            flipped[bit // 8] ^= 1 << bit % 8
            chunk = bytes(flipped)
        return chunk

    def _pieces(self, chunk: bytes) -> list[bytes]:
        if len(chunk) > 1 and self._strikes("split"):
            at = self._random.randrange(1, len(chunk))
            return [chunk[:at], chunk[at:]]
        return [chunk] if chunk else []
