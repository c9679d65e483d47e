"""The journal as the daemon's loop sees it: groups go in, and come back durable.

In: a store, the executor of its one writer thread, groups. Out: commit results; a call to each
listener when there is more to read.
Must not know: sinks, what a body means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from typing import Protocol

from shoe_ctl.errors import JournalError
from shoe_ctl.journal.batch import Batch, CommitResult
from shoe_ctl.journal.chain import AnchorRecord
from shoe_ctl.journal.reader import Head, Reader
from shoe_ctl.journal.signing import Signer
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience


class Journal:
    """Gathers what arrives while a sync is under way, so that one more sync serves it all.

    ``writer`` must run one call at a time and in order (one thread).
    """

    def __init__(self, store: Store, writer: Executor) -> None:
        self._store = store
        self._writer = writer
        self._waiting: list[tuple[Batch, asyncio.Future[CommitResult]]] = []
        self._writing: asyncio.Task[None] | None = None
        self._listeners: list[Callable[[], None]] = []

    def on_commit(self, listener: Callable[[], None]) -> None:
        """Calls ``listener`` on the loop after every commit that stored something."""
        self._listeners.append(listener)

    @property
    def last_n(self) -> int:
        """The last stored record's number; 0 in an empty journal."""
        return self._store.last_n

    def head(self, table: str) -> Head:
        """Where this table's chain ends, as it is stored."""
        return self._store.head(table)

    async def commit(self, group: Batch) -> CommitResult:
        """Stores the group; groups are stored in the order of the calls.

        Being cancelled does not take a group back: it may be stored all the same.

        Raises:
            JournalError: the group is not to be relied upon, and the store takes nothing more.
        """
        future: asyncio.Future[CommitResult] = asyncio.get_running_loop().create_future()
        self._waiting.append((group, future))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all(), name="journal writer")
        return await future

    async def move_cursor(self, sink: str, n: int, table: str | None = None) -> None:
        """As ``Store.move_cursor``, in the writer's thread.

        Raises:
            JournalError: the store takes nothing more.
        """
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._writer, self._store.move_cursor, sink, n, table)

    async def checkpoint(self, signer: Signer, t_us: int) -> int | None:
        """As ``Store.checkpoint``, in the writer's thread.

        Raises:
            JournalError: the store takes nothing more.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writer, self._store.checkpoint, signer, t_us)

    async def take_out(self, begins: AnchorRecord, signer: Signer, t_us: int) -> int:
        """As ``Store.take_out``, in the writer's thread.

        Raises:
            JournalError: the store takes nothing more.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writer, self._store.take_out, begins, signer, t_us)

    async def close(self) -> None:
        """Waits until everything handed in is stored, then closes the store."""
        if self._writing is not None:
            await self._writing
        await asyncio.get_running_loop().run_in_executor(self._writer, self._store.close)

    async def _write_all(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                groups = [group for group, _ in batch]
                try:
                    results = await loop.run_in_executor(self._writer, self._store.commit, groups)
                except Exception as error:  # noqa: BLE001 - handed to those who wait for it
                    _answer(batch, error)
                else:
                    _answer(batch, results)
                    self._tell(results)
                    if not self._waiting and self._store.is_to_settle:
                        await loop.run_in_executor(self._writer, self._settle)
        finally:
            self._writing = None

    def _settle(self) -> None:
        with suppress(JournalError):  # the next commit meets it, and says so
            self._store.settle()

    def _tell(self, results: list[CommitResult]) -> None:
        if any(result.last_n >= result.first_n for result in results):
            for listener in self._listeners:
                listener()


def _answer(
    batch: list[tuple[Batch, asyncio.Future[CommitResult]]],
    outcome: list[CommitResult] | Exception,
) -> None:
    for position, (_, future) in enumerate(batch):
        if future.done():  # its caller was cancelled meanwhile
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome[position])


class DeadLetters(Protocol):
    """Who is told of what a sink does not take, and takes after all; on return that is stored."""

    async def parked(self, n: int, event: bytes, why: str) -> None:
        """The sink will not take this event, record ``n``."""

    async def taken(self, n: int, event: bytes) -> None:
        """The sink has taken it when it was offered again."""


class DeliveryGate:
    """Holds back what was stored since a start until each table's shoe was compared.

    A shoe may show that the journal lost its newest part, when nothing else can: ids given since
    the start would then be used. ``after`` is the last record of before the start. ``withheld``
    are stretches of a table's records that are never published (first and last, inclusive).
    ``published`` is the last record that any sink was given before the start.
    """

    def __init__(
        self, after: int, withheld: Iterable[tuple[str, int, int]] = (), published: int = 0
    ) -> None:
        self._after = after
        self._published = max(after, published)
        self._withheld = [(f'{{"id":"{t}/'.encode(), first, last) for t, first, last in withheld]
        self._waiting: set[str] = set()
        self._listeners: list[Callable[[], None]] = []

    @property
    def published(self) -> int:
        """No record behind this one was let pass to any sink."""
        return self._published

    @property
    def waiting(self) -> frozenset[str]:
        """The tables whose shoes are still to be compared."""
        return frozenset(self._waiting)

    def wait_for(self, table: str) -> None:
        """This table's shoe may show a loss, or shows one."""
        self._waiting.add(table)

    def open(self, table: str) -> None:
        """This table's shoe showed none, or was waited for long enough."""
        if table in self._waiting:
            self._waiting.discard(table)
            if not self._waiting:
                self._tell()

    def open_all(self) -> None:
        """No shoe is waited for any more: what comes next has ids that cannot be used."""
        if self._waiting:
            self._waiting.clear()
            self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()

    def withhold(self, table: str, first: int, last: int) -> None:
        """These records of a table are never published."""
        self._withheld.append((f'{{"id":"{table}/'.encode(), first, last))

    def on_open(self, listener: Callable[[], None]) -> None:
        """Calls ``listener`` when no table is waited for any more."""
        self._listeners.append(listener)

    def passes(self, events: Sequence[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        """Those of these events that may be published, ever or by now."""
        upto = self._after if self._waiting else None
        passed = [
            (n, body)
            for n, body in events
            if (upto is None or n <= upto)
            and not any(
                first <= n <= last and body.startswith(start)
                for start, first, last in self._withheld
            )
        ]
        if passed:
            self._published = max(self._published, passed[-1][0])
        return passed

    def holds(self, n: int) -> bool:
        """Whether record ``n`` waits for a shoe."""
        return bool(self._waiting) and n > self._after


class SinkFeed:
    """One sink's place in one stream, oldest first; ``table`` narrows it to one table.

    ``gate`` holds back what may have used ids, until that is known.

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
        noted: DeadLetters,
        table: str | None = None,
        gate: DeliveryGate | None = None,
    ) -> None:
        self._gate = gate
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
        while True:
            events, looked = self._reader.events(
                self._audience, after=self._position, limit=limit, table=self._table
            )
            if not events and not (self._gate is not None and self._gate.holds(looked)):
                self._position = looked  # so that a quiet stream is not searched again and again
            if not events or self._gate is None:
                return events
            if passed := self._gate.passes(events):
                return passed
            free = [n for n, _ in events if not self._gate.holds(n)]
            if not free:
                return []
            self._position = free[-1]  # all of these are withheld

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
