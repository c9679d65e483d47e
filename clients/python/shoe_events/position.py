"""How far a stream was applied: what an application stores with its own effect.

In: numbers that were applied or given up. Out: a Position, and the same as JSON.
Must not know: events.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shoe_events.event import Audience

Range = tuple[int, int]
"""Numbers from the first to the last, both included."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far one stream (a source and an audience) was applied.

    Every number up to ``number`` was applied, but for those in ``missing``, which are asked for,
    and those in ``given_up``, which are not. If one of these comes after all it is applied.
    ``since`` is the time of its first known event: of a table's sources the one with the latest is
    in use. ``begun`` is false while it is not known with which number the source began.
    """

    source: str
    table: str
    audience: Audience
    number: int
    missing: tuple[Range, ...] = ()
    given_up: tuple[Range, ...] = ()
    since: str = ""
    begun: bool = True

    @property
    def key(self) -> tuple[str, Audience]:
        """What the stream is known by."""
        return self.source, self.audience

    @property
    def first(self) -> int:
        """The number of the source's first event; of the first known one while not ``begun``."""
        return next((last + 1 for first, last in self.given_up if first == 1), 1)

    def to_json(self) -> str:
        """Return it as JSON, the same in every language of the kit."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Position:
        """Return the position that ``to_json`` wrote."""
        plain: dict[str, Any] = json.loads(text)
        for key in ("missing", "given_up"):
            plain[key] = tuple((first, last) for first, last in plain[key])
        return cls(**plain)


def contains(ranges: Iterable[Range], number: int) -> bool:
    """Return True if a number lies in one of these ranges."""
    return any(first <= number <= last for first, last in ranges)


def add(ranges: Sequence[Range], first: int, last: int) -> tuple[Range, ...]:
    """Return the ranges with the numbers from ``first`` to ``last``; none added if it is empty."""
    if first > last:
        return tuple(ranges)
    joined: list[Range] = []
    for start, end in sorted((*ranges, (first, last))):
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return tuple(joined)


def subtract(ranges: Iterable[Range], first: int, last: int) -> tuple[Range, ...]:
    """Return the ranges without the numbers from ``first`` to ``last``."""
    left: list[Range] = []
    for start, end in ranges:
        if end < first or start > last:
            left.append((start, end))
            continue
        if start < first:
            left.append((start, first - 1))
        if end > last:
            left.append((last + 1, end))
    return tuple(left)
