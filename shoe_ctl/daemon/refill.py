"""Refill: what a sink's stream lost is offered to it again, beside what is new.

In: what a sink finds that it lost, the tables at work. Out: the lost events, offered again; inputs
of their tables. Must not know: how a sink finds a loss, what an event means.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from typing import NoReturn

from shoe_ctl.daemon.delivery import RunningSink
from shoe_ctl.daemon.table_runner import TableRunner
from shoe_ctl.sinks.pump import Loss
from shoe_ctl.table import undelivered

log = logging.getLogger(__name__)


async def refill(sinks: Mapping[str, RunningSink], tables: Mapping[str, TableRunner]) -> None:
    """Refill every sink that finds losses, until cancelled. ``tables`` are those at work.

    The events of another table are offered again as well, but nobody is told, and a daemon that
    ends before the last of them does not go on with it.

    Raises:
        JournalError: the journal cannot be read, or takes nothing more.
    """
    async with asyncio.TaskGroup() as group:
        for sink in sinks.values():
            if sink.losses is not None:
                group.create_task(
                    _Refill(sink, sink.losses, tables).run(), name=f"refill {sink.name}"
                )


class _Refill:
    def __init__(
        self, sink: RunningSink, losses: asyncio.Queue[Loss], tables: Mapping[str, TableRunner]
    ) -> None:
        self._sink = sink
        self._losses = losses
        self._tables = tables
        self._open: Counter[str] = Counter()

    async def run(self) -> NoReturn:
        """Offer again what the last run left over, and what the sink finds that it lost."""
        async with asyncio.TaskGroup() as group:
            for table, runner in self._tables.items():
                left = undelivered.list_lost(runner.controller.state).get(self._sink.name)
                if left is not None:
                    again = Loss(table, "", left[1], ends=("", left[0] - 1))
                    group.create_task(self._refill(again, is_noted=True), name=f"refill {table}")
            while True:
                loss = await self._losses.get()
                group.create_task(self._refill(loss), name=f"refill {loss.table}")

    async def _refill(self, loss: Loss, *, is_noted: bool = False) -> None:
        sink, runner = self._sink, self._tables.get(loss.table)
        parked: tuple[int, ...] = ()
        if runner is not None:
            waiting = undelivered.list_waiting(runner.controller.state, restricted=True)
            parked = waiting.get(sink.name, ())
        lost = await sink.find_lost(loss, parked)
        if lost is None and not is_noted:
            return
        self._open[loss.table] += 1
        refused = 0
        if lost is not None:
            log.warning(
                "sink %s: events lost: table=%s first=%d last=%d. The stream had acknowledged "
                "them. Sending them again.",
                sink.name, loss.table, lost.first, lost.last,
            )  # fmt: skip
            if runner is not None and not is_noted:
                await runner.lost(sink.name, sink.sees, lost)
            resend = sink.refill(loss.table, lost)
            await asyncio.wait([resend.done])  # a cancellation does not reach the sink
            if resend.done.result() is not None:  # the sink has ended
                return
            refused = resend.refused
            log.info(
                "sink %s: lost events sent again: table=%s sent=%d refused=%d",
                sink.name, loss.table, resend.taken, refused,
            )  # fmt: skip
        self._open[loss.table] -= 1
        if runner is not None and not self._open[loss.table]:
            await runner.refilled(sink.name, refused)
