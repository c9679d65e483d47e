"""A table system that follows a real daemon or broker, is stopped, and goes on where it was.

In: how it connects. Out: what it applied, in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from shoe_events import Consumer, Due, Position
from shoe_events.follow import Connect, Connection, follow

PATIENCE_S = 60.0


class TableSystem:
    """``connect`` makes the transport of a consumer; ``options`` are the consumer's.

    ``applied`` has the source and the id of each event, over all starts.
    """

    def __init__(self, connect: Callable[[Consumer], Connect], **options: Any) -> None:
        self.applied: list[tuple[str, str]] = []
        self._connect = connect
        self._options = options
        self._stored: dict[tuple[str, str], str] = {}
        self._news = asyncio.Event()

    @asynccontextmanager
    async def running(self, *, connects: bool = True) -> AsyncIterator[None]:
        """Connect, and follow until leaving; it then has only what it stored.

        Without ``connects`` nobody needs to be there yet.
        """
        positions = map(Position.from_json, self._stored.values())
        consumer = Consumer(positions, **self._options)
        connect, connected = self._connect(consumer), asyncio.Event()

        @asynccontextmanager
        async def connecting() -> AsyncIterator[Connection]:
            async with connect() as connection:
                connected.set()
                yield connection

        following = follow(connecting, consumer, self._apply, ask_again_s=0.5, first_retry_s=0.1)
        task = asyncio.create_task(following)
        try:
            if connects:
                async with asyncio.timeout(PATIENCE_S):
                    await connected.wait()
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def _apply(self, due: Due) -> None:
        self.applied.append((due.event.source, due.event.id))
        self._stored[due.position.key] = due.position.to_json()
        self._news.set()

    async def until(self, count: int) -> None:
        """Wait until so many events were applied."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.applied) < count:
                self._news.clear()
                await self._news.wait()
