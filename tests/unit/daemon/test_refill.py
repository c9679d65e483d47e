"""What a sink is sent again of what its stream lost: what it was given, and nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from shoe_ctl.daemon.delivery import Beginning, NamedSink, RunningSink, delivering
from shoe_ctl.daemon.environment import SYSTEM
from shoe_ctl.daemon.refill import refill
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience, EventId, event_id
from shoe_ctl.sinks.pump import Loss, Sink
from shoe_testing.journals import Never, stored, stored_round
from shoe_testing.sinks import Taker

SOURCE = "/journal/of-the-test/table/a"


class Holds:
    """A sink that takes an event, and acknowledges it when it is let."""

    def __init__(self, losses: asyncio.Queue[Loss]) -> None:
        self.losses = losses
        self.taken: list[int] = []
        self.took, self.goes_on = asyncio.Event(), asyncio.Event()
        self.goes_on.set()

    async def deliver(self, events: Sequence[bytes]) -> None:
        self.taken += [event_id(json.loads(event)["id"]).number for event in events]
        self.took.set()
        await self.goes_on.wait()

    async def deliver_again(self, events: Sequence[bytes]) -> None:
        await self.deliver(events)


@asynccontextmanager
async def a_sink(
    path: Path, begins: Beginning = "beginning", sink: Sink | None = None
) -> AsyncIterator[RunningSink]:
    """A journal with four events of table a, the last of them stored while the sink runs."""
    if not path.exists():
        stored(path, [stored_round(n, "a") for n in range(3)])
    with ThreadPoolExecutor(1) as writer:
        store = Store.open(path)
        journal = Journal(store, writer)
        sinks = [NamedSink("floor", Audience.PUBLIC, sink or Taker(), begins)]
        try:
            async with delivering(
                sinks, journal, store, SYSTEM, lambda *_: Never(), tables=("a",)
            ) as deliveries:
                await journal.commit(stored_round(3, "a"))
                yield deliveries.sinks["floor"]
        finally:
            await journal.close()


async def lost(sink: RunningSink, ends: int | None, *parked: int) -> tuple[int, int] | None:
    """The numbers of what is sent again, of a stream that had four events."""
    loss = Loss("a", SOURCE, 4, None if ends is None else (SOURCE, ends))
    found = await sink.find_lost(loss, parked)
    return None if found is None else (found.first, found.last)


@pytest.mark.parametrize(
    ("ends", "again"), [(None, (1, 4)), (2, (3, 4)), (3, (4, 4)), (4, None), (9, None)]
)
async def test_what_lies_behind_the_streams_end_is_sent_again(
    tmp_path: Path, ends: int | None, again: tuple[int, int] | None
) -> None:
    async with a_sink(tmp_path / "journal.db") as sink:
        assert await lost(sink, ends) == again


async def test_what_lies_before_the_sinks_beginning_is_not_lost_also_after_a_restart(
    tmp_path: Path,
) -> None:
    async with a_sink(tmp_path / "journal.db", "now") as sink:
        assert await lost(sink, None) == (4, 4)
    async with a_sink(tmp_path / "journal.db", "now") as sink:
        assert await lost(sink, None) == (4, 4)


async def test_what_the_sink_refused_is_not_lost(tmp_path: Path) -> None:
    async with a_sink(tmp_path / "journal.db") as sink:
        found = await sink.find_lost(Loss("a", SOURCE, 4, (SOURCE, 3)), ())
        assert found is not None
        assert await lost(sink, 3, found.upto) is None
        assert await lost(sink, 2, found.upto) == (3, 4)


async def test_a_table_of_which_the_journal_has_nothing_has_lost_nothing(tmp_path: Path) -> None:
    async with a_sink(tmp_path / "journal.db") as sink:
        assert await sink.find_lost(Loss("b", SOURCE, 4, None), ()) is None


async def test_what_was_found_is_delivered_once_more_beside_what_is_new(tmp_path: Path) -> None:
    async with a_sink(tmp_path / "journal.db") as sink:
        found = await sink.find_lost(Loss("a", SOURCE, 3, (SOURCE, 1)), ())
        assert found is not None
        resend = sink.refill("a", found)
        assert await resend.done is None
        assert (resend.events, resend.taken, resend.refused) == (2, 2, 0)


async def test_a_refill_that_is_cancelled_leaves_the_sink_at_work(tmp_path: Path) -> None:
    losses: asyncio.Queue[Loss] = asyncio.Queue()
    holds = Holds(losses)
    async with a_sink(tmp_path / "journal.db", sink=holds) as sink:
        while len(holds.taken) < 4:
            await holds.took.wait()
            holds.took.clear()
        holds.goes_on.clear()
        losses.put_nowait(Loss("a", SOURCE, 4, (SOURCE, 2)))
        refilling = asyncio.create_task(refill({"floor": sink}, {}))
        await holds.took.wait()
        refilling.cancel()
        await asyncio.wait({refilling})
        holds.goes_on.set()
        async with asyncio.timeout(30):
            while len(holds.taken) < 6:
                holds.took.clear()
                await holds.took.wait()
            again = await sink.resend(EventId("a", Audience.PUBLIC, 3))
            assert await again.done is None
    assert holds.taken == [1, 2, 3, 4, 3, 4, 4]
