"""Streams of states: what is sent at once, what is sent later and when, and what must not show.

In: a table at work on a journal, in simulated time. Out: the lines that its readers get.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shoe_ctl.api.answers import RequestRefused
from shoe_ctl.api.requests import Caller, StatesRequest
from shoe_ctl.clock import SystemClock
from shoe_ctl.daemon.state_streams import StateStreams
from shoe_ctl.daemon.table_runner import TableRunner
from shoe_ctl.errors import JournalError
from shoe_ctl.history import snapshots
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience
from shoe_ctl.table.inputs import Input
from shoe_ctl.table.status import status
from shoe_ctl.texts.catalogue import with_texts
from shoe_testing.daemon import table_runner
from shoe_testing.simulated_time import VirtualLoop, WallClock
from shoe_testing.tables import TableHarness
from tests.simulation.executor import LoopExecutor

PUBLIC = Caller(user="ann", position="dealer", sees=Audience.PUBLIC)
RESTRICTED = Caller(user="kim", position="dealer", sees=Audience.RESTRICTED)
SYNC_S = 0.004
"""How long a commit takes. Meanwhile the table is ahead of what is stored."""

Line = dict[str, Any]


def simulated(run: Callable[[VirtualLoop], Coroutine[Any, Any, None]]) -> None:
    """Run in simulated time."""
    loop = VirtualLoop()
    try:
        loop.run_until_complete(run(loop))
    finally:
        loop.close()


class Room:
    """A table at work. ``script`` plays the same table, and makes the inputs of what happens."""

    def __init__(self, loop: VirtualLoop, runner: TableRunner, clock: SystemClock) -> None:
        self.loop = loop
        self.runner = runner
        self.streams = StateStreams({runner.table: runner}, clock)
        self.script = TableHarness()

    async def happens(self, step: Callable[[TableHarness], object]) -> None:
        """What this step does happens at the table, now."""
        before = len(self.script.inputs)
        step(self.script)
        for happened in self.script.inputs[before:]:
            await self.store(happened)

    async def store(self, happened: Input) -> None:
        """This input comes now."""
        async with self.runner.turn:
            await self.runner.transactions.store(
                lambda t_us: [msgspec.structs.replace(happened, t_us=t_us)]
            )

    async def rests(self, seconds: float) -> None:
        """Nothing happens for so long."""
        await asyncio.sleep(seconds)

    @asynccontextmanager
    async def read(
        self, caller: Caller = PUBLIC, **asked: Any
    ) -> AsyncIterator[list[tuple[float, Line]]]:
        """Read until leaving: each line with the time at which it came."""
        got: list[tuple[float, Line]] = []
        batches = await self.streams.open(caller, StatesRequest(request="states", **asked))

        async def take() -> None:
            async with aclosing(batches):
                async for lines in batches:
                    got.extend((self.loop.time(), json.loads(line)) for line in lines)

        task = asyncio.create_task(take())
        try:
            yield got
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def room(loop: VirtualLoop, path: Path) -> AsyncIterator[Room]:
    """A table that was started, and has no shoe."""
    clock = SystemClock(wall_ns=WallClock(loop).read_ns)
    journal = Journal(Store.open(path), LoopExecutor(loop, lambda: SYNC_S))
    script = TableHarness()
    under = snapshots.start_record(script.game, script.settings, clock.wall_us())
    runner = table_runner(snapshots.controller_for(under), journal, clock, under)
    await runner.start("boot-1", "reference")
    try:
        yield Room(loop, runner, clock)
    finally:
        await journal.close()


def drawn(code: str, script: TableHarness) -> object:
    """This card leaves the shoe."""
    return script.draw(code)


def states(got: Sequence[tuple[float, Line]]) -> list[Line]:
    """The lines that are states."""
    return [line for _, line in got if "beat" not in line]


def without_beats(got: Sequence[tuple[float, Line]]) -> list[tuple[float, Line]]:
    return [(when, line) for when, line in got if "beat" not in line]


def test_a_reader_gets_the_state_at_once_and_then_each_change(tmp_path: Path) -> None:
    async def run(loop: VirtualLoop) -> None:
        async with room(loop, tmp_path / "j.db") as at, at.read() as got:
            await at.rests(0.5)
            assert [line["state"] for line in states(got)] == ["no_shoe"]
            for step in (TableHarness.open_shoe, TableHarness.open_round):
                await at.happens(step)
                await at.rests(0.5)
            assert [line["state"] for line in states(got)][-1] == "closed"
            assert states(got)[-1]["next"]["message"]["text"] == "draw Player's card 1"
            assert all(line["table"] == "bac-07" for line in states(got))

    simulated(run)


def test_a_state_names_the_last_event_that_it_includes_and_shows_nothing_of_the_next(
    tmp_path: Path,
) -> None:
    async def run(loop: VirtualLoop) -> None:
        stood: dict[str | None, Any] = {}

        async with room(loop, tmp_path / "j.db") as at, at.read() as got:

            async def note(step: Callable[[TableHarness], object]) -> None:
                await at.happens(step)
                last = at.runner.transactions.last_events.get(Audience.PUBLIC)
                script = at.script
                stood[last] = status(script.now, script.game, script.settings)

            stood[at.runner.transactions.last_events[Audience.PUBLIC]] = None
            await note(TableHarness.connect)
            await note(lambda script: script.hello(resumed=False))
            await note(TableHarness.load)
            for _ in range(3):
                await note(lambda script: script.does("place_your_bets"))
                await note(lambda script: script.does("no_more_bets"))
                for code in ("7D", "7C", "TS", "TH"):
                    await note(partial(drawn, code))
                    await at.rests(0.07)
                await note(lambda script: script.does("expose", hand="player"))
                await note(lambda script: script.does("expose", hand="banker"))
                await note(lambda script: script.does("announce_totals"))
                await note(lambda script: script.does("announce_outcome"))
                await note(lambda script: script.does("settle"))
            await at.rests(1)
            compared = 0
            for line in states(got):
                expected = stood[line["last_event"]]
                if expected is not None:
                    compared += 1
                    for key in ("state", "round", "takes", "last_round"):
                        assert line[key] == with_texts(expected[key]), line["last_event"]
            assert compared > 5
            assert states(got)[-1]["last_event"] == max(
                filter(None, stood), key=lambda name: int(name.rpartition("/p")[2])
            )

    simulated(run)


def test_several_changes_within_a_fifth_of_a_second_come_as_one(tmp_path: Path) -> None:
    async def run(loop: VirtualLoop) -> None:
        async with room(loop, tmp_path / "j.db") as at, at.read() as got:
            await at.happens(TableHarness.open_shoe)
            await at.rests(3)
            before, began = len(states(got)), loop.time()
            for _ in range(20):
                await at.happens(lambda script: script.disconnect())
                await at.happens(lambda script: (script.connect(), script.hello()))
                await at.rests(0.03)
            await at.rests(1)
            lines = without_beats(got)[before:]
            times = [when for when, _ in lines]
            assert all(b - a > 0.19 for a, b in pairwise(times))
            assert 3 <= len(lines) <= (loop.time() - began) * 5 + 1
            assert times[0] - began < 2 * SYNC_S  # the first one does not wait
            assert lines[-1][1]["link"] == "up"  # the last change is never left out

    simulated(run)


def test_a_silent_device_is_shown_though_no_event_comes(tmp_path: Path) -> None:
    async def run(loop: VirtualLoop) -> None:
        async with room(loop, tmp_path / "j.db") as at:
            await at.happens(TableHarness.connect)
            async with at.read() as got:
                await at.rests(60)
                first, last = states(got)[0], states(got)[-1]
                assert (first["link"], first["link_reason"]) == ("unidentified", None)
                assert (last["link"], last["link_reason"]) == ("unidentified", "no_hello")
                assert first["last_event"] == last["last_event"]

    simulated(run)


def test_a_stream_without_news_beats_every_second(tmp_path: Path) -> None:
    async def run(loop: VirtualLoop) -> None:
        async with room(loop, tmp_path / "j.db") as at:
            began = loop.time()
            async with at.read() as got:
                await at.rests(5.5)
                beats = [(when, line) for when, line in got if "beat" in line]
                assert [round(when - began, 3) for when, _ in beats] == [1, 2, 3, 4, 5]
                assert all(line.keys() == {"beat"} for _, line in beats)
                assert len({line["beat"] for _, line in beats}) == 5

    simulated(run)


async def play_alike(at: Room, faces: Sequence[str], hidden_s: Sequence[float]) -> None:
    """A round up to its reveal; hidden events come at these times, and no sync is waited for."""

    async def hidden() -> None:
        began = at.loop.time()
        for number, when in enumerate(hidden_s):
            await asyncio.sleep(max(0, when - (at.loop.time() - began)))
            asked = TableHarness()
            asked.asks("settle", command_id=f"hidden-{number}")
            await at.store(asked.inputs[-1])

    beside = asyncio.create_task(hidden())
    for step in (TableHarness.open_shoe, TableHarness.open_round):
        await at.happens(step)
        await at.rests(0.31)
    for face in faces:
        await at.happens(partial(drawn, face))
        await at.rests(0.1)
    await at.rests(4)
    await beside


def test_two_rounds_alike_give_the_same_public_lines_at_the_same_times(tmp_path: Path) -> None:
    """At the one table other cards lie face down, and hidden events come at any time."""
    seen: list[tuple[Any, Any]] = []

    def one(name: str, faces: Sequence[str], hidden_s: Sequence[float]) -> None:
        async def run(loop: VirtualLoop) -> None:
            async with (
                room(loop, tmp_path / name) as at,
                at.read() as public,
                at.read(RESTRICTED) as restricted,
            ):
                await play_alike(at, faces, hidden_s)
                seen.append((public, states(restricted)))

        simulated(run)

    one("one.db", ("7D", "7C", "TS", "TH"), ())
    one("other.db", ("2D", "3C", "4S", "5H"), (0.05, 0.4, 0.83, 0.96, 1.21, 1.74, 2.5, 3.3))
    (public, ours), (other_public, theirs) = seen
    assert len(without_beats(public)) > 4
    assert [line for _, line in public] == [line for _, line in other_public]
    late = [b - a for (a, _), (b, _) in zip(public, other_public, strict=True)]
    assert all(0 <= by <= 2 * SYNC_S for by in late), late  # a table has one commit at a time
    assert ours[-1]["last_event"] != theirs[-1]["last_event"]


def test_time_alone_is_no_change_and_stands_in_each_line(tmp_path: Path) -> None:
    async def run(loop: VirtualLoop) -> None:
        async with room(loop, tmp_path / "j.db") as at, at.read() as got:
            await at.happens(TableHarness.open_shoe)
            await at.rests(10)
            lines = states(got)
            assert len(lines) <= 3
            assert [line["time"] for line in lines] == sorted(line["time"] for line in lines)
            assert all(line["time"].endswith(".000000Z") for line in lines)

    simulated(run)


def test_who_is_who_is_for_those_who_ask_for_it(tmp_path: Path) -> None:
    async def run(loop: VirtualLoop) -> None:
        async with (
            room(loop, tmp_path / "j.db") as at,
            at.read() as bare,
            at.read(staff=True) as known,
        ):
            await at.happens(TableHarness.open_shoe)
            await at.happens(lambda script: script.does("place_your_bets"))
            await at.rests(1)
            assert "staff" not in states(bare)[-1]
            assert states(known)[-1]["staff"]["commands"][-1]["command"] == "place_your_bets"

    simulated(run)


def test_the_restricted_stream_is_for_those_who_may_see_it(tmp_path: Path) -> None:
    async def run(loop: VirtualLoop) -> None:
        async with room(loop, tmp_path / "j.db") as at:
            asked = StatesRequest(request="states", audience="restricted")
            with pytest.raises(RequestRefused) as refused:
                await at.streams.open(PUBLIC, asked)
            assert refused.value.why.code == "events_not_for_this_user"
            async with at.read(RESTRICTED) as own, at.read(RESTRICTED, audience="public") as got:
                await at.rests(0.1)
                assert states(own)[0]["last_event"].startswith("bac-07/r")
                assert states(got)[0]["last_event"].startswith("bac-07/p")

    simulated(run)


def test_a_line_is_made_once_for_all_who_read_it_and_for_nobody_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = 0
    honest = TableRunner.stored_status

    def counted(*given: Any, **named: Any) -> Any:
        nonlocal made
        made += 1
        return honest(*given, **named)

    monkeypatch.setattr(TableRunner, "stored_status", counted)

    async def run(loop: VirtualLoop) -> None:
        async with room(loop, tmp_path / "j.db") as at:
            await at.happens(TableHarness.open_shoe)
            await at.rests(5)
            assert made == 0
            async with at.read() as one, at.read() as two, at.read(table="bac-07") as three:
                await at.rests(0.5)
                assert made == 1
                await at.happens(lambda script: script.does("place_your_bets"))
                await at.rests(3)
                assert made == 2
                assert states(one) == states(two) == states(three)
                assert len(states(one)) == 2
            await at.rests(0.1)
            await at.happens(lambda script: script.does("no_more_bets"))
            await at.rests(5)
            assert made == 2

    simulated(run)


def test_a_storage_fault_ends_the_stream_with_its_reason(tmp_path: Path) -> None:
    async def run(loop: VirtualLoop) -> None:
        async with room(loop, tmp_path / "j.db") as at:
            asked = StatesRequest(request="states")
            async with aclosing(await at.streams.open(PUBLIC, asked)) as batches:
                await anext(batches)
                at.runner.transactions.failure = JournalError("the disk is full")
                with pytest.raises(RequestRefused) as refused:
                    await anext(batches)
                assert refused.value.why.code == "daemon_storage_fault"

    simulated(run)
