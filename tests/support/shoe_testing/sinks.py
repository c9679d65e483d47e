"""Sinks to deliver to: one that counts, one that refuses, one that must be asked again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from shoe_ctl.sinks.pump import EventRefused


def sink_events(count: int, start: int = 1, size: int = 0) -> list[bytes]:
    return [b'{"id":"t/p%d","pad":"%s"}' % (n, b"x" * size) for n in range(start, start + count)]


class Ledger:
    """A feed in memory."""

    def __init__(self) -> None:
        self.events: list[bytes] = []
        self.cursor = 0
        self.moved: list[int] = []
        self.passed_over: list[tuple[int, bytes, str]] = []
        self.taken_after_all: list[tuple[int, bytes]] = []
        self.moves: asyncio.Queue[int] = asyncio.Queue()

    async def upcoming(self, limit: int) -> Sequence[tuple[int, bytes]]:
        numbered = list(enumerate(self.events, 1))
        return numbered[self.cursor : self.cursor + limit]

    async def delivered(self, n: int) -> None:
        self.cursor = n
        self.moved.append(n)
        self.moves.put_nowait(n)

    async def parked(self, n: int, event: bytes, why: str) -> None:
        self.passed_over.append((n, event, why))
        await self.delivered(n)

    async def event(self, n: int) -> bytes | None:
        return self.events[n - 1] if n <= len(self.events) else None

    async def earlier(
        self, table: str, *, after: int, upto: int, limit: int
    ) -> Sequence[tuple[int, bytes]]:
        assert table == "t"
        return list(enumerate(self.events, 1))[after:upto][:limit]

    async def taken(self, n: int, event: bytes) -> None:
        self.taken_after_all.append((n, event))


class Taker:
    """A sink that keeps what it is given; each of ``outcomes`` is raised in its turn."""

    def __init__(self, *outcomes: Exception | None) -> None:
        self.taken: list[bytes] = []
        self.outcomes = list(outcomes)
        self.asked = 0
        self.called = asyncio.Event()

    async def deliver(self, events: Sequence[bytes]) -> None:
        self.asked += 1
        self.called.set()
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if outcome is not None:
            raise outcome
        self.taken += events


def numbered(count: int, start: int = 0) -> list[bytes]:
    return [str(n).encode() for n in range(start, start + count)]


class Choosy(Taker):
    """A sink that cannot take some events, whatever else it takes."""

    def __init__(self, *poison: bytes) -> None:
        super().__init__()
        self.poison = set(poison)

    async def deliver(self, events: Sequence[bytes]) -> None:
        if self.poison.intersection(events):
            raise EventRefused("too long\nby far")
        await super().deliver(events)
