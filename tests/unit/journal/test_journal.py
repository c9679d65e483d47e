"""The journal on the loop: one sync serves what waited; feeds go on where they were."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.errors import JournalError
from shoe_ctl.journal import group as group_module
from shoe_ctl.journal import journal as journal_module
from shoe_ctl.journal import store as store_module
from shoe_ctl.journal.batch import Batch, CommitResult
from shoe_ctl.journal.journal import Journal, SinkFeed
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.store import Cursor, Prepared, Store
from shoe_ctl.records import Audience
from shoe_testing.faulty_disk import ONE_SYNC, Failing, disk, quietly
from shoe_testing.journals import Never, records, stored, stored_round


class Held(Store):
    """A store that notes its batches and holds each until told to go on."""

    gate: threading.Event
    batches: list[int]
    began: asyncio.Event
    loop: asyncio.AbstractEventLoop

    def commit_prepared(
        self, prepared: Prepared, cursors: Sequence[Cursor] = ()
    ) -> list[CommitResult]:
        self.batches.append(len(prepared.batches))
        self.loop.call_soon_threadsafe(self.began.set)
        self.gate.wait()
        return super().commit_prepared(prepared, cursors)


@pytest.fixture
async def held(tmp_path: Path) -> AsyncIterator[Held]:
    store = Held.open(tmp_path / "journal.db")
    assert isinstance(store, Held)
    store.gate, store.batches = threading.Event(), []
    store.began, store.loop = asyncio.Event(), asyncio.get_running_loop()
    yield store
    store.close()


@pytest.fixture
async def journal(held: Held) -> AsyncIterator[Journal]:
    with ThreadPoolExecutor(1) as writer:
        journal = Journal(held, writer)
        yield journal
        held.gate.set()
        await journal.close()


async def test_what_arrives_during_a_sync_is_stored_by_the_next_one_together(
    held: Held, journal: Journal
) -> None:
    commits = [asyncio.create_task(journal.commit(stored_round(0)))]
    await held.began.wait()
    commits += [asyncio.create_task(journal.commit(stored_round(n))) for n in range(1, 6)]
    await asyncio.sleep(0)
    held.gate.set()
    results = await asyncio.gather(*commits)
    assert held.batches == [1, 5]
    assert [result.first_n for result in results] == [1, 5, 9, 13, 17, 21]
    assert results[5].ids[1].public == "bac-07/p6"


async def test_the_loop_goes_on_while_the_disk_is_slow(held: Held, journal: Journal) -> None:
    commit = asyncio.create_task(journal.commit(stored_round(0)))
    await held.began.wait()
    for _ in range(100):
        await asyncio.sleep(0)
    assert not commit.done()
    held.gate.set()
    assert (await commit).last_n == 4


async def test_one_sync_stores_no_more_than_the_loop_packs_without_a_pause(
    held: Held, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "MOST_BATCHES", 4)
    commits = [asyncio.create_task(journal.commit(stored_round(0)))]
    await held.began.wait()
    commits += [asyncio.create_task(journal.commit(stored_round(n))) for n in range(1, 11)]
    await asyncio.sleep(0)
    held.gate.set()
    results = await asyncio.gather(*commits)
    assert held.batches == [1, 4, 4, 2]
    assert [result.first_n for result in results] == [*range(1, 45, 4)]


async def test_the_writers_thread_packs_nothing(
    held: Held, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = set()
    pack = group_module.pack_group

    def noting(*arguments: Any) -> bytes:
        threads.add(threading.get_ident())
        return pack(*arguments)

    monkeypatch.setattr(group_module, "pack_group", noting)
    held.gate.set()
    await asyncio.gather(*(journal.commit(stored_round(n)) for n in range(3)))
    assert threads == {threading.get_ident()}


async def test_what_cannot_be_encoded_is_refused_and_the_next_one_is_stored(
    held: Held, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    held.gate.set()
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "Packing", None)
        with pytest.raises(TypeError):
            await journal.commit(stored_round(0))
    assert (await journal.commit(stored_round(1))).first_n == 1


async def test_a_cancelled_caller_does_not_take_its_group_or_others_back(
    held: Held, journal: Journal, tmp_path: Path
) -> None:
    first = asyncio.create_task(journal.commit(stored_round(0)))
    await held.began.wait()
    second = asyncio.create_task(journal.commit(stored_round(1)))
    third = asyncio.create_task(journal.commit(stored_round(2)))
    await asyncio.sleep(0)
    first.cancel()
    second.cancel()
    held.gate.set()
    assert (await third).first_n == 9
    assert first.cancelled()
    assert second.cancelled()


async def test_closing_waits_for_what_was_handed_in(held: Held, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as writer:
        journal = Journal(held, writer)
        commits = [asyncio.create_task(journal.commit(stored_round(n))) for n in range(3)]
        await held.began.wait()
        held.gate.set()
        await journal.close()
        await asyncio.gather(*commits)
    assert len(records(tmp_path / "journal.db")) == 12


async def test_what_nobody_waits_for_is_stored_with_what_somebody_waits_for(
    held: Held, journal: Journal
) -> None:
    held.gate.set()
    later = [journal.store_later(stored_round(n)) for n in range(2)]
    await asyncio.sleep(0)
    assert not held.batches
    assert (await journal.commit(stored_round(2))).first_n == 9
    assert held.batches == [3]
    assert [future.result().first_n for future in later] == [1, 5]


async def test_what_nobody_waits_for_is_stored_when_nothing_else_comes(
    held: Held, journal: Journal
) -> None:
    held.gate.set()
    assert (await journal.store_later(stored_round(0))).last_n == 4
    journal.store_later(stored_round(1))
    await journal.store_waiting()
    assert held.batches == [1, 1]


async def test_a_failure_that_nobody_waits_for_is_raised_to_who_watches(tmp_path: Path) -> None:
    with disk() as layer, ThreadPoolExecutor(1) as writer:
        journal = Journal(Store.open(tmp_path / "journal.db", vfs=layer.name), writer)
        watch = asyncio.create_task(journal.watch())
        await asyncio.sleep(0)
        layer.around = Failing(replace(ONE_SYNC, lasting=True), at=1)
        journal.store_later(stored_round(0))
        with pytest.raises(JournalError):
            await watch
        layer.around = quietly
        await journal.close()


async def test_listeners_hear_of_each_commit_that_stored_something(
    held: Held, journal: Journal
) -> None:
    heard: list[str] = []
    journal.on_commit(lambda: heard.append("news"))
    held.gate.set()
    await journal.commit(Batch())
    assert heard == []
    await journal.commit(stored_round(0))
    assert heard == ["news"]


async def test_everyone_who_waits_hears_of_a_failed_sync_and_no_one_after_is_served(
    tmp_path: Path,
) -> None:
    with disk() as layer, ThreadPoolExecutor(1) as writer:
        store = Store.open(tmp_path / "journal.db", vfs=layer.name)
        journal = Journal(store, writer)
        heard: list[str] = []
        journal.on_commit(lambda: heard.append("news"))
        layer.around = Failing(replace(ONE_SYNC, lasting=True), at=1)
        outcomes = await asyncio.gather(
            *(journal.commit(stored_round(n)) for n in range(3)), return_exceptions=True
        )
        layer.around = quietly
        assert [type(outcome) for outcome in outcomes] == [JournalError] * 3
        with pytest.raises(JournalError, match="must be reopened"):
            await journal.commit(stored_round(4))
        assert heard == []
        await journal.close()


async def test_a_feed_goes_on_behind_what_was_delivered(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as writer, ThreadPoolExecutor(1) as readers:
        store = Store.open(tmp_path / "journal.db")
        journal = Journal(store, writer)
        for number in range(4):
            await journal.commit(stored_round(number, "ab"[number % 2]))
        with store.reader() as reader:

            def feed(audience: Audience, table: str | None = None) -> SinkFeed:
                name = f"{audience.value} {table}"
                return SinkFeed(
                    journal,
                    reader,
                    readers,
                    sink=name,
                    audience=audience,
                    dead_letters=Never(),
                    table=table,
                )

            async def ids(feed: SinkFeed, limit: int = 100) -> list[str]:
                return [json.loads(body)["id"] for _, body in await feed.upcoming(limit)]

            public = feed(Audience.PUBLIC)
            assert await ids(public) == ["a/p1", "b/p1", "a/p2", "b/p2"]
            first, second = await public.upcoming(2)
            await public.delivered(second[0])
            assert first[0] < second[0]
            assert await ids(public) == await ids(feed(Audience.PUBLIC)) == ["a/p2", "b/p2"]
            assert await ids(feed(Audience.PUBLIC, "b")) == ["b/p1", "b/p2"]
            assert await ids(feed(Audience.RESTRICTED, "b"), 3) == ["b/r1", "b/r2", "b/r3"]
            one_by_one = feed(Audience.RESTRICTED, "a")
            for expected in ("a/r1", "a/r2", "a/r3", "a/r4"):
                ((n, body),) = await one_by_one.upcoming(1)
                assert json.loads(body)["id"] == expected
                await one_by_one.delivered(n)
            # a quiet stream is looked through once, and what comes later is still found
            quiet = feed(Audience.PUBLIC, "c")
            assert await ids(quiet) == []
            await journal.commit(stored_round(9, "c"))
            assert await ids(quiet) == ["c/p1"]
            assert await ids(quiet) == ["c/p1"]
        await journal.close()


def test_a_reader_says_how_far_it_looked(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    stored(path, [stored_round(0), stored_round(1)])
    with Reader.open(path) as reader:

        def look(after: int, limit: int) -> tuple[list[int], int]:
            events, looked = reader.events(Audience.PUBLIC, after=after, limit=limit)
            return [n for n, _ in events], looked

        assert look(0, 1) == ([2], 2)
        assert look(0, 2) == ([2, 6], 6)
        assert look(0, 3) == ([2, 6], 8)
        assert look(6, 3) == ([], 8)


@asynccontextmanager
async def fed(path: Path) -> AsyncIterator[tuple[Journal, SinkFeed, Reader]]:
    """A journal with forty public events, and one sink's feed."""
    with ThreadPoolExecutor(1) as writer, ThreadPoolExecutor(1) as readers:
        store = Store.open(path)
        journal = Journal(store, writer)
        for number in range(40):
            await journal.commit(stored_round(number))
        try:
            with store.reader() as reader:
                feed = SinkFeed(
                    journal,
                    reader,
                    readers,
                    sink="s",
                    audience=Audience.PUBLIC,
                    dead_letters=Never(),
                )
                yield journal, feed, reader
        finally:
            await journal.close()


async def take(feed: SinkFeed, limit: int) -> tuple[int, int]:
    """Deliver what is upcoming; how many events, and the last record."""
    events = await feed.upcoming(limit)
    await feed.delivered(events[-1][0])
    return len(events), events[-1][0]


async def test_a_cursor_rides_with_the_next_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone: list[object] = []
    monkeypatch.setattr(Store, "move_cursors", lambda _self, moved: alone.append(moved))
    async with fed(tmp_path / "journal.db") as (journal, feed, reader):
        for _ in range(3):
            _, n = await take(feed, 1)
            assert reader.cursor("s") < n
            await journal.commit(stored_round(99))
            assert reader.cursor("s") == n
        assert alone == []


async def test_a_cursor_is_written_without_a_commit_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = asyncio.Event()
    move, loop = Store.move_cursors, asyncio.get_running_loop()

    def noting(self: Store, cursors: Sequence[Cursor]) -> None:
        move(self, cursors)
        loop.call_soon_threadsafe(written.set)

    monkeypatch.setattr(Store, "move_cursors", noting)
    monkeypatch.setattr(journal_module, "CURSOR_DELAY_S", 0)
    path = tmp_path / "journal.db"
    async with fed(path) as (_, feed, reader):
        _, n = await take(feed, 1)
        await written.wait()
        assert reader.cursor("s") == n
        monkeypatch.setattr(journal_module, "CURSOR_DELAY_S", 3600)
        _, n = await take(feed, 1)
    with Reader.open(path) as reader:
        assert reader.cursor("s") == n  # closing writes what is left


async def test_a_cursor_stays_to_be_written_when_a_batch_cannot_be_encoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "CURSOR_DELAY_S", 3600)
    async with fed(tmp_path / "journal.db") as (journal, feed, reader):
        _, n = await take(feed, 1)
        with monkeypatch.context() as patch:
            patch.setattr(store_module, "Packing", None)
            with pytest.raises(TypeError):
                await journal.commit(stored_round(98))
        await journal.commit(stored_round(99))
        assert reader.cursor("s") == n
        assert journal.unwritten("s") == 0


async def test_no_more_events_come_again_than_are_handed_over_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "MOST_UNWRITTEN", 8)
    async with fed(tmp_path / "journal.db") as (_, feed, reader):
        assert (await take(feed, 3))[0] == 3
        assert len(await feed.upcoming(10)) == 7
        assert (await take(feed, 4))[0] == 1
        count, n = await take(feed, 10)
        assert count == 6
        assert reader.cursor("s") == n  # so many are written at once
        assert len(await feed.upcoming(10)) == 10


async def test_a_cursor_that_cannot_be_written_stops_its_sink(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(self: Store, _cursors: Sequence[Cursor]) -> None:
        self.failure = "the disk is full"
        raise JournalError(self.failure)

    monkeypatch.setattr(Store, "move_cursors", failing)
    monkeypatch.setattr(journal_module, "CURSOR_DELAY_S", 0)
    async with fed(tmp_path / "journal.db") as (journal, feed, _):
        woken = asyncio.Event()
        journal.on_commit(woken.set)
        await take(feed, 1)
        await woken.wait()
        with pytest.raises(JournalError, match="the disk is full"):
            await feed.upcoming(1)
