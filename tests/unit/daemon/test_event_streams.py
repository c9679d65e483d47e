"""Streams of events: where one begins, who may have it, and that nothing is lost or comes twice."""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shoe_ctl.api.answers import RequestRefused
from shoe_ctl.api.requests import Caller, EventsRequest
from shoe_ctl.clock import SystemClock
from shoe_ctl.daemon import event_streams as streams_module
from shoe_ctl.daemon.event_streams import EventStreams
from shoe_ctl.journal import journal as journal_module
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.chain import AnchorRecord
from shoe_ctl.journal.journal import DeliveryGate, Journal
from shoe_ctl.journal.signing import Signer, open_signer
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience, source_of
from shoe_testing.journals import T_US, stored, stored_round, table_meta
from shoe_testing.simulated_time import VirtualLoop

PUBLIC = Caller(user="ann", position="dealer", sees=Audience.PUBLIC)
RESTRICTED = Caller(user="kim", position="dealer", sees=Audience.RESTRICTED)
WAITS_S = 30.0
NEW = "0badcafe"


class Served:
    """A journal at work and its streams."""

    def __init__(self, journal: Journal, store: Store, streams: EventStreams) -> None:
        self.journal = journal
        self.store = store
        self.streams = streams
        self.reads = 0

    async def ids(self, number: int, caller: Caller = PUBLIC, **asked: Any) -> list[str]:
        """The ids of so many events of a stream that begins with this request."""
        async with aclosing(await self.open(caller, **asked)) as batches:
            return await take(batches, number)

    async def open(self, caller: Caller = PUBLIC, **asked: Any) -> Any:
        return await self.streams.open(caller, EventsRequest(request="events", **asked))

    async def refused(self, caller: Caller = PUBLIC, **asked: Any) -> tuple[str, dict[str, Any]]:
        """The code and the arguments of the refusal."""
        with pytest.raises(RequestRefused) as refusal:
            await self.open(caller, **asked)
        assert "\n" not in str(refusal.value) and "?)" not in str(refusal.value)
        return refusal.value.why.code, refusal.value.why.args

    async def commit(self, *numbers: int, table: str = "a", epoch: str | None = None) -> None:
        for number in numbers:
            batch = stored_round(number, table)
            if epoch is not None:
                batch.epoch = epoch
            await self.journal.commit(batch)


async def take(batches: AsyncIterator[Any], number: int) -> list[str]:
    got: list[str] = []
    async with asyncio.timeout(WAITS_S):
        while len(got) < number:
            got += [json.loads(body)["id"] for body in await anext(batches)]
    return got


@asynccontextmanager
async def served(path: Path, gate: DeliveryGate | None = None) -> AsyncIterator[Served]:
    with ThreadPoolExecutor(1) as writer, ThreadPoolExecutor(1) as readers:
        store = Store.open(path)
        journal = Journal(store, writer)
        try:
            with store.reader() as reader:
                gate = DeliveryGate(store.last_n) if gate is None else gate
                at = Served(
                    journal,
                    store,
                    EventStreams(journal, lambda: reader, readers, gate, SystemClock()),
                )
                honest = reader.events

                def events(*given: Any, **named: Any) -> Any:
                    at.reads += 1
                    return honest(*given, **named)

                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(reader, "events", events)
                    yield at
        finally:
            await journal.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Four rounds of tables a and b, by turns."""
    path = tmp_path / "journal.db"
    stored(path, [stored_round(n, "ab"[n % 2]) for n in range(4)])
    return path


async def test_without_an_id_it_is_sent_what_comes_from_now_on_and_from_memory(path: Path) -> None:
    async with served(path) as at, aclosing(await at.open()) as batches:
        upcoming = asyncio.create_task(take(batches, 2))
        await at.commit(9, table="b")
        await at.commit(10, table="a")
        assert await upcoming == ["b/p3", "a/p3"]
        assert at.reads == 0


async def test_what_is_committed_before_the_first_batch_is_asked_for_is_sent(path: Path) -> None:
    async with served(path) as at, aclosing(await at.open()) as batches:
        await at.commit(9)
        assert await take(batches, 1) == ["a/p3"]


async def test_behind_an_id_come_first_those_of_its_table_then_what_comes(path: Path) -> None:
    async with served(path) as at:
        assert await at.ids(1, table="a", after="a/p1") == ["a/p2"]
        assert await at.ids(2, table="b", after="b/p0") == ["b/p1", "b/p2"]
        assert await at.ids(4, RESTRICTED, table="a", after="a/r0") == [
            f"a/r{n}" for n in range(1, 5)
        ]
        assert await at.ids(2, RESTRICTED, table="a", after="a/p0", audience="public") == [
            "a/p1",
            "a/p2",
        ]
        async with aclosing(await at.open(table="a", after="a/p2")) as batches:
            upcoming = asyncio.create_task(take(batches, 1))
            await at.commit(8, table="b")
            await at.commit(9, table="a")
            assert await upcoming == ["a/p3"]


async def test_the_last_id_that_a_receiver_of_all_tables_has_is_where_all_of_them_go_on(
    path: Path,
) -> None:
    async with served(path) as at:
        every = await at.ids(4, after="beginning")
        assert every == ["a/p1", "b/p1", "a/p2", "b/p2"]
        for had in range(1, 4):
            assert await at.ids(4 - had, after=every[had - 1]) == every[had:]
        assert await at.ids(2, after="beginning", table="b") == ["b/p1", "b/p2"]


async def test_a_public_user_is_refused_what_is_restricted(path: Path) -> None:
    async with served(path) as at:
        refused = ("events_not_for_this_user", {"user": "ann"})
        assert await at.refused(audience="restricted") == refused
        assert await at.refused(audience="restricted", after="a/r1") == refused
        assert (await at.refused(after="a/r1"))[0] == "events_id_of_other_audience"
        assert len(await at.ids(8, RESTRICTED, after="beginning")) == 8


async def test_an_id_that_leads_nowhere_is_refused_with_what_the_journal_has(path: Path) -> None:
    async with served(path) as at:
        has = {"first": "a/p1", "last": "a/p2"}
        assert await at.refused(after="a/p3") == ("events_unknown", {"after": "a/p3", **has})
        assert await at.refused(after="c/p1") == ("events_none", {"after": "c/p1"})
        assert await at.refused(after="p1") == (
            "events_id_invalid",
            {"after": "p1", "example": "bac-07/p31"},
        )
        assert await at.refused(after="a/p1", table="b") == (
            "events_id_of_other_table",
            {"after": "a/p1", "table": "b"},
        )
        assert (await at.refused(after="a/p0"))[0] == "events_not_for_all_tables"
        assert (await at.refused(source=source_of(NEW, "a")))[0] == "events_source_alone"
        assert (await at.refused(RESTRICTED, after="a/p1")) == (
            "events_id_of_other_audience",
            {"after": "a/p1", "audience": "restricted", "example": "a/r1"},
        )


async def test_a_table_without_events_is_sent_its_first_ones(tmp_path: Path) -> None:
    async with served(tmp_path / "journal.db") as at:
        for after in ("a/p0", "beginning"):
            async with aclosing(await at.open(table="a", after=after)) as batches:
                before = 0 if after == "a/p0" else 1
                upcoming = asyncio.create_task(take(batches, before + 1))
                await at.commit(before)
                assert await upcoming == ["a/p1", "a/p2"][: before + 1]


# What was taken out of the journal.


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    return open_signer(tmp_path_factory.mktemp("key") / "journal.db", None)


async def take_out(at: Served, key: Signer) -> None:
    """Take out all records so far but the checkpoint that is written now."""
    n = await at.journal.checkpoint(key, T_US)
    assert n is not None
    await at.journal.truncate_before(AnchorRecord(n, {"a": (2, 4), "b": (2, 4)}), key, T_US)


async def test_what_is_not_kept_is_refused_and_what_follows_the_last_taken_out_is_sent(
    path: Path, key: Signer
) -> None:
    async with served(path) as at:
        await take_out(at, key)
        await at.commit(10, 11, table="a")
        has = {"first": "a/p3", "last": "a/p4"}
        assert await at.refused(after="a/p1", table="a") == (
            "events_not_kept",
            {"after": "a/p1", **has},
        )
        assert await at.ids(2, after="a/p2", table="a") == ["a/p3", "a/p4"]
        assert await at.ids(2, after="beginning") == ["a/p3", "a/p4"]
        # it says nothing of the other tables
        assert await at.refused(after="a/p2") == ("events_not_for_all_tables", {"after": "a/p2"})


async def test_a_receiver_whose_next_events_are_taken_out_is_told_and_gets_no_others(
    path: Path, key: Signer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(journal_module, "RECENT_BYTES", 1)  # nothing is in memory
    monkeypatch.setattr(streams_module, "BATCH", 1)
    async with served(path) as at, aclosing(await at.open(after="beginning")) as batches:
        assert await take(batches, 1) == ["a/p1"]
        await take_out(at, key)
        await at.commit(10, table="a")
        with pytest.raises(RequestRefused) as ended:
            await anext(batches)
        assert ended.value.why.code == "events_removed"
    assert "events: stream ended: user=ann" in caplog.text


# The gate, and a journal that lost its newest part.


async def test_what_is_held_back_until_a_shoe_was_compared_comes_when_it_may(path: Path) -> None:
    gate = DeliveryGate(8)  # two of the four events
    gate.wait_for("a")
    async with served(path, gate) as at, aclosing(await at.open()) as now:
        async with aclosing(await at.open(after="beginning")) as batches:
            assert await take(batches, 2) == ["a/p1", "b/p1"]
            upcoming = asyncio.create_task(take(batches, 2))
            new = asyncio.create_task(take(now, 2))
            await at.commit()
            assert not upcoming.done() and not new.done()
            gate.open("a")
            assert await upcoming == await new == ["a/p2", "b/p2"]
        assert gate.published == at.store.last_n - 2  # the last event: an input is behind it


async def test_a_receiver_of_lost_events_gets_those_that_have_their_numbers_now(
    tmp_path: Path,
) -> None:
    path, old = tmp_path / "journal.db", "00000001"
    begin = Batch()
    for table in "ab":
        begin.append_meta(table, msgspec.structs.replace(table_meta(), epoch=old))
    gone_on = Batch()
    for table in "ab":
        gone_on.append_meta(table, msgspec.structs.replace(table_meta(), epoch=NEW))
    rounds = [stored_round(n, "ab"[n % 2]) for n in range(8)]
    for number, group in enumerate(rounds):
        group.epoch = old if number < 4 else NEW
    stored(path, [begin, *rounds[:4], gone_on, *rounds[4:]])
    lost, now = source_of(old, "a"), source_of(NEW, "a")
    async with served(path) as at:
        new = ["a/p3", "b/p3", "a/p4", "b/p4"]
        # it had a/p4 of the lost part: of a/p3 and a/p4 there are others now
        assert await at.ids(4, after="a/p4", source=lost) == new
        assert await at.ids(4, after="b/p9", source=source_of(old, "b")) == new
        assert await at.ids(2, after="a/p9", source=lost, table="a") == ["a/p3", "a/p4"]
        # it had nothing that is lost
        assert await at.ids(5, after="a/p2", source=lost) == ["b/p2", *new]
        assert await at.ids(1, after="a/p4", source=now) == ["b/p4"]
        assert (await at.refused(after="a/p5", source=now))[0] == "events_unknown"
        for source in (source_of("0000ffff", "a"), now):
            assert (await at.refused(after="a/p2", source=source)) == (
                "events_source_unknown",
                {"after": "a/p2", "source": source},
            )
        assert (await at.refused(after="a/p2", source="/x"))[0] == "events_source_invalid"


# By chance: no event is lost or comes twice where a receiver falls behind and catches up.


class SlowThread(Executor):
    """A thread that works after some time, and whose result arrives some time later."""

    def __init__(self, loop: VirtualLoop, chance: random.Random) -> None:
        self._loop = loop
        self._chance = chance
        self._last: Future[Any] | None = None
        self._free_at = 0.0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            if future.set_running_or_notify_cancel():
                result = fn(*args, **kwargs)
                self._loop.call_later(self._chance.random(), future.set_result, result)

        self._free_at = max(self._free_at, self._loop.time()) + self._chance.random()
        self._loop.call_at(self._free_at, work)
        return future


class Receiver:
    """Takes events at its own pace, leaves in the middle and comes again with the last id."""

    def __init__(self, streams: EventStreams, chance: random.Random, table: str | None) -> None:
        self._streams = streams
        self._chance = chance
        self.table = table
        self.caller = chance.choice([PUBLIC, RESTRICTED])
        self.got: list[dict[str, Any]] = []

    async def run(self) -> None:
        after, source = "beginning", None
        while True:
            asked = EventsRequest(request="events", after=after, source=source, table=self.table)
            patience = self._chance.randrange(1, 12)
            async with aclosing(await self._streams.open(self.caller, asked)) as batches:
                async for bodies in batches:
                    self.got += map(msgspec.json.decode, bodies)
                    await asyncio.sleep(self._chance.choice([0, 0, 0.5, 8]))
                    patience -= 1
                    if not patience:
                        break
            if self.got:
                after, source = self.got[-1]["id"], self.got[-1]["source"]

    @property
    def ids(self) -> list[str]:
        return [event["id"] for event in self.got]


async def chance_decides(loop: VirtualLoop, seed: int, path: Path) -> int:
    """Commits and receivers by this seed; how many events were received."""
    chance = random.Random(seed)
    readers = SlowThread(loop, chance)
    store = Store.open(path)
    journal = Journal(store, SlowThread(loop, chance))
    gate = DeliveryGate(0)
    committed: dict[tuple[Audience, str | None], list[tuple[int, str]]] = defaultdict(list)

    async def commit(number: int) -> None:
        group = stored_round(number, chance.choice("abc"))
        result = await journal.commit(group)
        for event in result.events:
            name = msgspec.json.decode(event.body)["id"]
            committed[event.audience, event.table].append((event.n, name))
            committed[event.audience, None].append((event.n, name))

    with store.reader() as reader:
        streams = EventStreams(journal, lambda: reader, readers, gate, SystemClock())
        for number in range(chance.randrange(40)):
            await commit(number)
        gate.wait_for("a")
        receivers = [Receiver(streams, chance, chance.choice([None, *"abc"])) for _ in range(4)]
        running = [asyncio.create_task(receiver.run()) for receiver in receivers]
        commits = []
        for number in range(120):
            commits.append(asyncio.create_task(commit(number)))
            await asyncio.sleep(chance.choice([0, 0, 0.1, 1, 5]))
            if number == 20:
                gate.open("a")
        await asyncio.gather(*commits)
        await asyncio.sleep(2000)
        for task in running:
            assert not task.done(), task
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    await journal.close()
    for receiver in receivers:
        expected = sorted(committed[receiver.caller.sees, receiver.table])
        assert receiver.ids == [name for _, name in expected]
    return sum(len(receiver.got) for receiver in receivers)


SEEDS = [range(8), pytest.param(range(8, 400), marks=pytest.mark.exhaustive(cpu_s=20))]

MEMORY = Path("/dev/shm")
"""Where a sync costs nothing, if the system has it."""


@pytest.mark.parametrize("seeds", SEEDS, ids=["sample", "all"])
def test_no_event_is_lost_or_comes_twice_where_memory_and_journal_meet(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "RECENT_BYTES", 3000)
    monkeypatch.setattr(streams_module, "BATCH", 3)
    where = str(MEMORY) if MEMORY.is_dir() else None
    for seed in seeds:
        loop = VirtualLoop()
        with tempfile.TemporaryDirectory(prefix="streams-", dir=where) as folder:
            try:
                path = Path(folder) / "journal.db"
                assert loop.run_until_complete(chance_decides(loop, seed, path)) > 100
            except Exception as error:
                raise AssertionError(f"seed {seed}") from error
            finally:
                loop.close()


class AtOnce(Executor):
    """A thread that has done its work at once."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


async def again_and_again(path: Path) -> tuple[int, list[str], float]:
    """Four connections of one user ask for all of 100 events, for 40 s, ten times a second.

    How many they got, what another user got meanwhile of 20 fresh events, and its longest wait.
    """
    now = asyncio.get_running_loop().time
    store = Store.open(path)
    journal = Journal(store, AtOnce())
    got, waits = list[str](), list[float]()
    committed: dict[str, float] = {}
    repeated = 0

    async def ask_again() -> None:
        nonlocal repeated
        asked = EventsRequest(request="events", after="beginning", table="a")
        while True:
            async with aclosing(await streams.open(PUBLIC, asked)) as batches:
                for _ in range(2):
                    batch = await anext(batches)
                    repeated += len(batch)
            await asyncio.sleep(0.1)

    async def read_fresh() -> None:
        other = msgspec.structs.replace(PUBLIC, user="eve")
        asked = EventsRequest(request="events", table="a")
        async with aclosing(await streams.open(other, asked)) as batches:
            async for bodies in batches:
                for body in bodies:
                    got.append(msgspec.json.decode(body)["id"])
                    waits.append(now() - committed[got[-1]])

    with store.reader() as reader:
        gate = DeliveryGate(store.last_n)
        streams = EventStreams(journal, lambda: reader, AtOnce(), gate, SystemClock())
        for number in range(100):
            await journal.commit(stored_round(number, "a"))
        tasks = [
            asyncio.create_task(work) for work in (read_fresh(), *(ask_again() for _ in "1234"))
        ]
        await asyncio.sleep(0.01)
        for number in range(101, 121):
            committed[f"a/p{number}"] = now()
            await journal.commit(stored_round(number, "a"))
            await asyncio.sleep(2)
        for task in tasks:
            assert not task.done(), task
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    await journal.close()
    return repeated, got, max(waits)


def test_who_asks_again_and_again_gets_10_000_events_and_500_a_second_and_others_theirs(
    tmp_path: Path,
) -> None:
    loop = VirtualLoop()
    try:
        path = tmp_path / "journal.db"
        repeated, got, longest_s = loop.run_until_complete(again_and_again(path))
    finally:
        loop.close()
    first_time, at_once, then = 4 * 100, 10_000, 40 * 500
    assert at_once + then - 4 * 128 <= repeated <= first_time + at_once + then + 4 * 128
    assert got == [f"a/p{number}" for number in range(101, 121)]
    assert longest_s < 0.1
