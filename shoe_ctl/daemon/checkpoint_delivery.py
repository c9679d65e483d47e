"""Delivery of the journal's checkpoints to the brokers of sinks, for witnesses.

Each sink with ``checkpoints`` has a second pump, and a second cursor in the journal, so that the
stream of its tables' events goes on whatever becomes of them: they belong to no table.

In: the journal, sinks, a call after each signature. Out: deliveries. Must not know: a protocol,
what a witness does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Executor
from contextlib import AsyncExitStack, asynccontextmanager

from shoe_ctl.daemon.delivery import NamedSink
from shoe_ctl.daemon.environment import Environment
from shoe_ctl.daemon.journal_upkeep import Checkpointer
from shoe_ctl.errors import InputRefused, JournalError
from shoe_ctl.journal.checkpoint_event import events_after
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.reader import CHECKPOINTS, Reader
from shoe_ctl.journal.store import Store
from shoe_ctl.sinks.pump import Pump

MOST = 32
"""Checkpoints delivered at a time: for each the groups since the one before are read."""

log = logging.getLogger(__name__)


class CheckpointFeed:
    """The place of a sink among the journal's checkpoints, which the journal keeps.

    A sink that is new begins with the newest one. ``readers`` is the executor that ``reader`` is
    used in.
    """

    def __init__(self, journal: Journal, reader: Reader, readers: Executor, sink: str) -> None:
        self._journal = journal
        self._reader = reader
        self._readers = readers
        self._sink = sink

    async def upcoming(self, limit: int) -> list[tuple[int, bytes]]:
        """Return the events of the next checkpoints, each with its record.

        A journal of which no proof can be made is not to stop a table: that is logged, and tried
        again at the next signature.

        Raises:
            JournalError: the journal takes nothing more.
        """
        self._journal.check()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._readers, self._read, min(limit, MOST))
        except (InputRefused, JournalError) as error:
            log.error('sink %s: checkpoint not published: reason="%s"', self._sink, error)  # noqa: TRY400 - one clear line
            return []

    def _read(self, limit: int) -> list[tuple[int, bytes]]:
        return events_after(self._reader, self._reader.cursor(self._sink, CHECKPOINTS), limit)

    async def delivered(self, n: int) -> None:
        """Move the cursor: every checkpoint up to record ``n`` was delivered.

        Raises:
            JournalError: the journal takes nothing more.
        """
        await self._journal.move_cursor(self._sink, n, CHECKPOINTS)

    async def parked(self, n: int, event: bytes, why: str) -> None:  # noqa: ARG002 - logged
        """Pass over a checkpoint that the broker refused: the next one proves all before it.

        Raises:
            JournalError: the journal takes nothing more.
        """
        await self.delivered(n)

    async def event(self, n: int) -> None:
        """Nothing is kept of what was refused."""

    async def earlier(
        self,
        table: str,  # noqa: ARG002 - checkpoints belong to no table
        *,
        after: int,  # noqa: ARG002
        upto: int,  # noqa: ARG002
        limit: int,  # noqa: ARG002
    ) -> Sequence[tuple[int, bytes]]:
        """Return nothing: checkpoints are not asked for again."""
        return ()

    async def taken(self, n: int, event: bytes) -> None:
        """Nothing is offered again."""


@asynccontextmanager
async def delivering_checkpoints(
    sinks: Sequence[NamedSink],
    journal: Journal,
    store: Store,
    environment: Environment,
    checkpointer: Checkpointer,
) -> AsyncIterator[None]:
    """Deliver checkpoints to the sinks that take them, until leaving; first what is signed by then.

    They are woken after each signature.
    """
    to = [(named.name, named.checkpoints) for named in sinks if named.checkpoints is not None]
    if not to:
        yield
        return
    async with AsyncExitStack() as stack:
        opened = [stack.enter_context(store.reader()) for _ in to]
        readers = stack.enter_context(environment.thread("checkpoint-reader"))
        pumps = [
            Pump(f"{name} checkpoints", CheckpointFeed(journal, reader, readers, name), sink)
            for (name, sink), reader in zip(to, opened, strict=True)
        ]
        for pump in pumps:
            checkpointer.on_signed(pump.wake)
        tasks = [asyncio.create_task(pump.run(), name=f"sink {pump.name}") for pump in pumps]
        try:
            yield
        finally:
            for pump in pumps:
                pump.stop()
            for ended in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(ended, Exception) and store.failure is None:
                    log.error('checkpoints: a sink stopped: reason="%s"', ended)
