"""A table on a journal, with time by hand, for those who flood it with refused commands.

In: commands of several users. Out: their answers, what the journal has of them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from shoe_ctl.api.requests import Caller, Command
from shoe_ctl.daemon.principals import People
from shoe_ctl.daemon.requests import RequestHandler
from shoe_ctl.daemon.table_runner import TableRunner
from shoe_ctl.history import snapshots
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience
from shoe_ctl.table.inputs import LinkUp
from shoe_testing.daemon import table_runner
from shoe_testing.journals import records
from shoe_testing.tables import game, settings
from shoe_testing.transports import HandClock

TABLE = "bac-07"
LADDER_TOP = "gaming_shift_manager"


def user(name: str) -> Caller:
    return Caller(user=name, position=LADDER_TOP, sees=Audience.RESTRICTED)


class AtATable:
    def __init__(self, path: Path, runner: TableRunner, clock: HandClock) -> None:
        self.path = path
        self.clock = clock
        self.runner = runner
        self.requests = RequestHandler({TABLE: runner}, {}, People(()))

    async def gives(self, who: str, command_id: str, command: str, **more: Any) -> dict[str, Any]:
        envelope = {"person": who, "position": LADDER_TOP, **more}
        asked = Command(command_id=command_id, table=TABLE, command=command, **envelope)
        return await self.requests.answer(user(who), asked)

    async def floods(self, who: str, count: int, name: str = "flood") -> list[dict[str, Any]]:
        return [await self.gives(who, f"{name}-{n}", "settle") for n in range(count)]


@asynccontextmanager
async def at_a_table(path: Path, clock: HandClock | None = None) -> AsyncIterator[AtATable]:
    """The table as the daemon runs it, from what the journal has of it."""
    clock = HandClock() if clock is None else clock
    store = Store.open(path)
    with ThreadPoolExecutor(1) as writer:
        journal = Journal(store, writer)
        with store.reader() as reader:
            before = snapshots.recover_tables(reader, [TABLE])[TABLE]
        under = snapshots.start_record(game(), settings(), clock.wall_us())
        controller = snapshots.continue_under(before.controller, before.meta, under)
        runner = table_runner(controller, journal, clock, under, index=before.index)
        await runner.start("boot-1", "reference")
        if before.controller is None:  # of such a shoe the table takes a set without a word
            up = LinkUp(
                t_us=clock.wall_us(), connection=1, profile="angel_eye", arm=False, replay=False,
                judges=True, names_hands=True,
            )  # fmt: skip
            await runner.transactions.store(lambda _: [up])
        ticking = asyncio.create_task(runner.tick_forever())
        try:
            yield AtATable(path, runner, clock)
        finally:
            ticking.cancel()
            with suppress(asyncio.CancelledError):
                await ticking
            await runner.stop()
            await journal.close()


def stored(path: Path, kind: str) -> list[dict[str, Any]]:
    """The inputs of this kind, or the restricted events of this type."""
    bodies = [json.loads(r.body) for r in records(path) if r.kind in ("input", "event.restricted")]
    return [
        body.get("data", body) for body in bodies if kind in (body.get("input"), body.get("type"))
    ]
