"""What a sink has had and what comes next: the journal as a queue.

In: a reader of its own, a sink's name and audience. Out: the next events, the cursor moved.
Must not know: sinks; what delivering means.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from typing import Protocol

from shoe_ctl.records import Audience

from .journal import Journal
from .reader import Reader


class Noted(Protocol):
    """Who is told of what a sink does not take, and takes after all; on return that is stored."""

    async def parked(self, n: int, event: bytes, why: str) -> None:
        """The sink will not take this event, record ``n``."""

    async def taken(self, n: int, event: bytes) -> None:
        """The sink has taken it when it was offered again."""


class SinkFeed:
    """One sink's place in one stream, oldest first; ``table`` narrows it to one table.

    ``readers`` is the executor that ``reader`` is used in, one call at a time; it may be shared.
    A sink not known to the journal starts at the journal's first event.
    """

    def __init__(  # noqa: PLR0913 - what it reads, where it writes, and whose it is
        self,
        journal: Journal,
        reader: Reader,
        readers: Executor,
        *,
        sink: str,
        audience: Audience,
        noted: Noted,
        table: str | None = None,
    ) -> None:
        self._journal = journal
        self._reader = reader
        self._readers = readers
        self._sink = sink
        self._audience = audience
        self._noted = noted
        self._table = table
        self._position: int | None = None

    async def upcoming(self, limit: int) -> list[tuple[int, bytes]]:
        """Up to ``limit`` events after the cursor: record number and the envelope's bytes.

        Raises:
            JournalError: the journal cannot be read.
        """
        return await asyncio.get_running_loop().run_in_executor(
            self._readers, self._upcoming, limit
        )

    def _upcoming(self, limit: int) -> list[tuple[int, bytes]]:
        if self._position is None:
            self._position = self._reader.cursor(self._sink, self._table)
        events, looked = self._reader.events(
            self._audience, after=self._position, limit=limit, table=self._table
        )
        if not events:
            self._position = looked  # so that a quiet stream is not searched again and again
        return events

    async def delivered(self, n: int) -> None:
        """Everything up to record ``n`` has been delivered: it does not come again.

        Raises:
            JournalError: the journal takes nothing more.
        """
        await self._journal.move_cursor(self._sink, n, self._table)
        self._position = n

    async def parked(self, n: int, event: bytes, why: str) -> None:
        """This event, record ``n``, is passed over for good; everything before it was delivered.

        Raises:
            JournalError: the journal takes nothing more.
        """
        await self._noted.parked(n, event, why)
        await self.delivered(n)

    async def event(self, n: int) -> bytes | None:
        """The event of this stream at record ``n``; None where the journal does not have it.

        Raises:
            JournalError: the journal cannot be read.
        """
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._event, n)

    def _event(self, n: int) -> bytes | None:
        found, _ = self._reader.events(self._audience, after=n - 1, limit=1, table=self._table)
        return found[0][1] if found and found[0][0] == n else None

    async def taken(self, n: int, event: bytes) -> None:
        """This event, record ``n``, was delivered after all; the cursor stays where it is.

        Raises:
            JournalError: the journal takes nothing more.
        """
        await self._noted.taken(n, event)
