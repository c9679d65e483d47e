"""An event is found from its id, and what a sink keeps up with comes from memory."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.errors import JournalError
from shoe_ctl.journal import journal as journal_module
from shoe_ctl.journal.journal import DeliveryGate, Journal, SinkFeed, UnknownEvent
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience, EventId, event_id
from shoe_testing.journals import Never, spoil, stored, stored_round


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Twenty groups of table b, in stretches between those of table a."""
    path = tmp_path_factory.mktemp("made") / "journal.db"
    stored(path, [stored_round(n, "b" if n % 50 < 2 else "a") for n in range(500)])
    return path.read_bytes()


@pytest.fixture
def path(made: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "journal.db"
    path.write_bytes(made)
    return path


@contextmanager
def only_records_of(table: str, reader: Reader) -> Iterator[list[int]]:
    """Fails where a row of another table is read; gives the records that were read."""
    read: list[int] = []
    honest = reader._fetch

    def fetch(query: str, bindings: Sequence[int | str] = ()) -> list[Any]:
        rows = honest(query, bindings)
        plan = " ".join(
            row[3] for row in reader._connection.execute(f"EXPLAIN QUERY PLAN {query}", bindings)
        )
        assert "INDEX of_table (table=?" in plan or "max(n)" in query, plan
        assert "max(n)" in query or table in bindings
        read.extend(row[0] for row in rows if len(row) > 1)
        return rows

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_fetch", fetch)
        yield read


@pytest.mark.parametrize("number", [1, 2, 3, 11, 19, 20])
def test_an_event_is_found_without_reading_other_tables_records(path: Path, number: int) -> None:
    with Reader.open(path) as reader:
        with only_records_of("b", reader) as read:
            n = reader.find_event(EventId("b", Audience.PUBLIC, number))
        assert n is not None
        assert len(read) <= 12  # of the 20: it searches by halves
        (record,) = reader.records(after=n - 1, upto=n)
        assert json.loads(record.body)["id"] == f"b/p{number}"
        assert all(r.table == "b" for m in read for r in reader.records(after=m - 1, upto=m))


def test_what_has_no_event_is_found_nowhere(path: Path) -> None:
    with Reader.open(path) as reader:
        for wrong in ("b/p0", "b/p21", "b/r41", "c/p1"):
            assert reader.find_event(event_id(wrong)) is None
        assert reader.find_event(event_id("b/r40")) is not None
        assert reader.event_numbers("b", Audience.RESTRICTED) == (1, 40)
        assert reader.event_numbers("c", Audience.PUBLIC) is None


def test_every_event_of_a_journal_is_found(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    stored(path, [stored_round(n, "aab"[n % 3]) for n in range(30)])
    with Reader.open(path) as reader:
        for audience in Audience:
            for n, body in reader.events(audience, after=0, limit=1000)[0]:
                assert reader.find_event(event_id(json.loads(body)["id"])) == n


def test_an_event_that_was_spoilt_is_said_in_one_line(path: Path) -> None:
    spoil(path, "UPDATE record_group SET body = x'00'")
    with Reader.open(path) as reader, pytest.raises(JournalError) as error:
        reader.find_event(event_id("b/p7"))
    assert "\n" not in str(error.value)


class Served:
    """A journal with one feed, and how often each method of its reader was called."""

    def __init__(self, journal: Journal, feed: SinkFeed) -> None:
        self.journal = journal
        self.feed = feed
        self.reads: list[str] = []

    async def ids(self, limit: int = 256) -> list[str]:
        """Take what is upcoming, as a pump does."""
        events = await self.feed.upcoming(limit)
        if events:
            await self.feed.delivered(events[-1][0])
        return [json.loads(body)["id"] for _, body in events]


@asynccontextmanager
async def served(
    path: Path, audience: Audience = Audience.PUBLIC, gate: DeliveryGate | None = None
) -> AsyncIterator[Served]:
    with ThreadPoolExecutor(1) as writer, ThreadPoolExecutor(1) as readers:
        store = Store.open(path)
        journal = Journal(store, writer)
        try:
            with store.reader() as reader:
                feed = SinkFeed(
                    journal,
                    reader,
                    readers,
                    sink="s",
                    audience=audience,
                    dead_letters=Never(),
                    gate=gate,
                )
                at = Served(journal, feed)
                with pytest.MonkeyPatch.context() as patch:
                    for name in ("events", "cursor", "event_numbers", "find_event"):
                        patch.setattr(reader, name, _counted(at.reads, name, getattr(reader, name)))
                    yield at
        finally:
            await journal.close()


def _counted(reads: list[str], name: str, call: Any) -> Any:
    def counted(*args: Any, **named: Any) -> Any:
        reads.append(name)
        return call(*args, **named)

    return counted


@pytest.mark.parametrize("audience", Audience)
async def test_a_sink_that_keeps_up_never_reads_the_journal(
    tmp_path: Path, audience: Audience
) -> None:
    path = tmp_path / "journal.db"
    stored(path, [stored_round(0)])
    async with served(path, audience) as at:
        first = {Audience.PUBLIC: ["bac-07/p1"], Audience.RESTRICTED: ["bac-07/r1", "bac-07/r2"]}
        assert await at.ids() == first[audience]
        assert await at.ids() == []
        before = list(at.reads)
        got = []
        for number in range(1, 300):
            await at.journal.commit(stored_round(number))
            got += await at.ids()
            assert await at.ids() == []
        each = 1 if audience is Audience.PUBLIC else 2
        assert got == [f"bac-07/{audience.value}{k}" for k in range(each + 1, each * 300 + 1)]
        assert at.reads == before
        assert set(before) == {"cursor", "events"}


async def test_a_quiet_stream_is_not_behind_while_the_other_one_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "RECENT_BYTES", 2000)
    async with served(tmp_path / "journal.db") as at:
        await at.ids()
        for number in range(50):
            batch = stored_round(number)
            batch.entries = [e for e in batch.entries if getattr(e, "public", None) is None]
            await at.journal.commit(batch)
            assert await at.ids() == []
        await at.journal.commit(stored_round(50))
        assert await at.ids() == ["bac-07/p1"]
        assert at.reads == ["cursor"]


async def test_a_sink_that_is_behind_by_more_than_the_memory_reads_until_it_has_caught_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "RECENT_BYTES", 4000)
    async with served(tmp_path / "journal.db") as at:
        await at.ids()
        for number in range(100):
            await at.journal.commit(stored_round(number))
        got: list[str] = []
        while more := await at.ids(7):
            got += more
        assert got == [f"bac-07/p{k}" for k in range(1, 101)]
        assert at.reads.count("events") >= 10
        at.reads.clear()
        await at.journal.commit(stored_round(100))
        assert await at.ids() == ["bac-07/p101"]
        assert at.reads == []


async def test_as_many_more_events_are_in_memory_as_there_are_more_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "RECENT_BYTES", 4000)
    async with served(tmp_path / "journal.db") as at:
        await at.ids()
        tables = 4 * journal_module.FEW_TABLES
        for number in range(tables):
            await at.journal.commit(stored_round(number, f"t{number}"))
        before = at.journal.recent.after
        for number in range(tables):
            await at.journal.commit(stored_round(number, f"t{number}"))
        held = [e for e in at.journal.recent._events if e.n > before]
        assert 3 * 4000 < sum(len(event.body) for event in held) <= 4 * 4000


async def test_events_that_are_held_back_come_from_memory_when_they_may_go(tmp_path: Path) -> None:
    gate = DeliveryGate(0)
    gate.wait_for("bac-07")
    async with served(tmp_path / "journal.db", gate=gate) as at:
        for number in range(3):
            await at.journal.commit(stored_round(number))
            assert await at.ids() == []
        gate.open("bac-07")
        assert await at.ids() == ["bac-07/p1", "bac-07/p2", "bac-07/p3"]
        assert "events" not in at.reads


async def test_a_range_behind_an_id_is_what_the_sink_was_given_of_that_table(path: Path) -> None:
    async with served(path) as at:
        got: list[str] = []
        while len(got) < 400:
            got += await at.ids(100)
        given = [i for i in got if i.startswith("b/")]
        asked = await at.feed.find_range(event_id("b/p3"))
        assert asked.events == len(given) - 3
        found = await at.feed.earlier("b", after=asked.after, upto=asked.upto, limit=1000)
        assert [json.loads(body)["id"] for _, body in found] == given[3:]
        assert (await at.feed.find_range(event_id("b/p0"))).events == len(given)
        assert (await at.feed.find_range(event_id("b/p20"))).events == 0
        with pytest.raises(UnknownEvent, match=r"^there is no event b/p21: the last .* is b/p20$"):
            await at.feed.find_range(event_id("b/p21"))
        with pytest.raises(UnknownEvent, match=r"^there is no event c/p1: the last .* is none$"):
            await at.feed.find_range(event_id("c/p1"))


async def test_a_range_leaves_out_what_is_never_published(path: Path) -> None:
    gate = DeliveryGate(10**6)
    async with served(path, gate=gate) as at:
        while await at.ids():
            pass
        third = at.feed.find_range(event_id("b/p3"))
        gate.withhold("b", (await third).after, 10**6)
        asked = await at.feed.find_range(event_id("b/p1"))
        found = await at.feed.earlier("b", after=asked.after, upto=asked.upto, limit=1)
        assert [json.loads(body)["id"] for _, body in found] == ["b/p2"]
        assert await at.feed.earlier("b", after=found[0][0], upto=asked.upto, limit=1) == []


async def test_a_range_whose_beginning_was_taken_out_is_refused(path: Path) -> None:
    spoil(path, "DELETE FROM record_group WHERE n < 500")
    async with served(path) as at:
        with pytest.raises(UnknownEvent, match="is not in the journal: it begins at b/p"):
            await at.feed.find_range(event_id("b/p1"))


@pytest.mark.parametrize("text", ["", "p1", "/p1", "a/", "a/x1", "a/p", "a/p-1", "a/p1.5", "a/p²"])
def test_what_is_no_event_s_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"id|Audience"):
        event_id(text)


def test_an_id_reads_as_it_is_written() -> None:
    assert event_id("bac-07/p31") == EventId("bac-07", Audience.PUBLIC, 31)
    assert str(EventId("bac-07", Audience.RESTRICTED, 4)) == "bac-07/r4"
