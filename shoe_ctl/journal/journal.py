"""The journal as the daemon's loop sees it: groups go in, and come back durable.

In: a store, the executor of its one writer thread, groups. Out: commit results; a call to each
listener when there is more to read.
Must not know: sinks, what a body means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress

from shoe_ctl.errors import JournalError

from .checkpoint import Begins
from .group import CommitResult, Group
from .reader import Head
from .signing import Signer
from .store import Store


class Journal:
    """Gathers what arrives while a sync is under way, so that one more sync serves it all.

    ``writer`` must run one call at a time and in order (one thread).
    """

    def __init__(self, store: Store, writer: Executor) -> None:
        self._store = store
        self._writer = writer
        self._waiting: list[tuple[Group, asyncio.Future[CommitResult]]] = []
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

    async def commit(self, group: Group) -> CommitResult:
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

    async def take_out(self, begins: Begins, signer: Signer, t_us: int) -> int:
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
    batch: list[tuple[Group, asyncio.Future[CommitResult]]],
    outcome: list[CommitResult] | Exception,
) -> None:
    for position, (_, future) in enumerate(batch):
        if future.done():  # its caller was cancelled meanwhile
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome[position])
