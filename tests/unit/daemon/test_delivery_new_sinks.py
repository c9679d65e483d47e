"""Where a sink begins that the journal does not know; one that it knows goes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shoe_ctl.api.answers import RequestRefused
from shoe_ctl.daemon.delivery import Beginning, NamedSink, delivering, place_new_sinks
from shoe_ctl.daemon.environment import SYSTEM
from shoe_ctl.history.shoe_sections import current_shoe_start
from shoe_ctl.journal.journal import DeliveryGate, Journal
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience, EventId
from shoe_ctl.texts.message import message
from shoe_testing import bulk_journal
from shoe_testing.journals import Never, stored, stored_round, verified


class Taker:
    def __init__(self) -> None:
        self.ids: list[str] = []

    async def deliver(self, events: Sequence[bytes]) -> None:
        self.ids += [json.loads(event)["id"] for event in events]


async def delivered(  # noqa: PLR0913 - what a test may choose, each by name
    path: Path,
    begins: Beginning,
    *,
    name: str = "floor",
    tables: Sequence[str] = ("a", "b"),
    gate: DeliveryGate | None = None,
    more: int = 1,
    table: str | None = None,
) -> list[str]:
    """What a sink gets from a start that brings so many events of table a."""
    with ThreadPoolExecutor(1) as writer:
        store = Store.open(path)
        journal, taker = Journal(store, writer), Taker()
        try:
            sinks = [NamedSink(name, Audience.PUBLIC, taker, begins, table)]
            async with delivering(
                sinks, journal, store, SYSTEM, lambda *_: Never(), gate, tables=tables
            ):
                for number in range(more):
                    await journal.commit(stored_round(number, "a"))
        finally:
            await journal.close()
    return taker.ids


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal.db"
    stored(path, [stored_round(n, "ab"[n % 2]) for n in range(4)])
    return path


async def test_it_begins_at_the_beginning_of_the_journal(path: Path) -> None:
    assert await delivered(path, "beginning") == ["a/p1", "b/p1", "a/p2", "b/p2", "a/p3"]


async def test_from_now_it_gets_what_the_start_brings(path: Path) -> None:
    assert await delivered(path, "now") == ["a/p3"]
    assert verified(path).ok


@pytest.mark.parametrize("begins", ["now", "shoe", "beginning"])
async def test_a_sink_that_is_known_goes_on_where_it_was(path: Path, begins: Beginning) -> None:
    await delivered(path, "beginning")
    stored(path, [stored_round(9, "b")])
    assert await delivered(path, begins) == ["b/p3", "a/p4"]


async def test_one_that_began_now_misses_nothing_over_a_restart_that_brought_nothing(
    path: Path,
) -> None:
    assert await delivered(path, "now", more=0) == []
    stored(path, [stored_round(9, "b")])
    assert await delivered(path, "now") == ["b/p3", "a/p3"]


async def test_in_a_journal_without_events_now_is_the_beginning(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    assert await delivered(path, "now", more=2) == ["a/p1", "a/p2"]
    assert verified(path).ok


async def test_another_name_is_another_sink(path: Path) -> None:
    assert await delivered(path, "now") == ["a/p3"]
    assert await delivered(path, "now", name="other") == ["a/p4"]
    assert await delivered(path, "now") == ["a/p4", "a/p5"]


async def test_what_no_shoe_was_compared_with_yet_counts_as_new(path: Path) -> None:
    gate = DeliveryGate(8)  # two of the four events
    assert await delivered(path, "now", gate=gate) == ["a/p2", "b/p2", "a/p3"]


@pytest.fixture(scope="module")
def three_sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bulk_journal.make(tmp_path_factory.mktemp("bulk") / "journal.db", rounds=82 * 3).path


async def test_from_the_shoe_it_gets_the_set_on_the_table_from_the_event_that_it_was_loaded(
    three_sets: Path, tmp_path: Path
) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(three_sets.read_bytes())
    got = await delivered(path, "shoe", tables=["t1", "no such"], more=0)
    with Reader.open(path) as reader:
        events = reader.events(Audience.PUBLIC, after=0, limit=10**6)[0]
    every = [json.loads(body) for _, body in events]
    loaded = [n for n, event in enumerate(every) if event["type"] == "shoe.loaded"]
    shoes = [every[n]["subject"] for n in loaded]
    assert len(shoes) >= 3
    assert got == [event["id"] for event in every[loaded[-1] :]]


def test_a_table_of_which_there_is_no_set_has_no_start(path: Path) -> None:
    with Reader.open(path) as reader:
        assert current_shoe_start(reader, "a") is None


async def test_a_place_is_stored_before_anything_is_delivered(path: Path) -> None:
    with ThreadPoolExecutor(1) as writer:
        store = Store.open(path)
        journal = Journal(store, writer)
        sinks = [
            NamedSink("n", Audience.PUBLIC, Taker(), "now"),
            NamedSink("b", Audience.PUBLIC, Taker(), "beginning"),
        ]
        with store.reader() as reader:
            await place_new_sinks(sinks, journal, reader, ["a"], journal.last_n)
            assert (reader.cursor("n"), reader.has_cursor("n")) == (store.last_n, True)
            assert (reader.cursor("b"), reader.has_cursor("b")) == (0, False)
        await journal.close()


async def test_a_sink_of_one_table_gets_no_other_and_goes_on_where_it_was(path: Path) -> None:
    assert await delivered(path, "beginning", table="b") == ["b/p1", "b/p2"]
    assert await delivered(path, "beginning", table="b") == []


async def test_a_sink_of_one_table_is_not_offered_the_events_of_another_again(path: Path) -> None:
    with ThreadPoolExecutor(1) as writer:
        journal = Journal(store := Store.open(path), writer)
        sinks = [NamedSink("floor", Audience.PUBLIC, Taker(), table="b")]
        async with delivering(
            sinks, journal, store, SYSTEM, lambda *_: Never(), tables=("a", "b")
        ) as deliveries:
            with pytest.raises(RequestRefused) as refused:
                await deliveries.sinks["floor"].resend(EventId("a", Audience.PUBLIC, 1))
        await journal.close()
    assert refused.value.why == message("sink_of_other_table", sink="floor", table="b")
    assert str(refused.value) == "sink floor gets the events of table b only"
