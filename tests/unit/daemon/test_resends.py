"""What one user of a broker asks for again: once, for that user alone, within its budget."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any

import pytest

from shoe_ctl.api.answers import RequestRefused
from shoe_ctl.daemon.resends import Budgets, Range, Resends
from shoe_testing.simulated_time import VirtualLoop


class Place:
    """Where a user's events go. They go nowhere while it is ``closed``."""

    def __init__(self, address: str = "desk-1") -> None:
        self.address = address
        self.got: list[int] = []
        self.closed = False
        self.may_take = asyncio.Event()
        self.may_take.set()

    async def send(self, events: Sequence[bytes]) -> None:
        await self.may_take.wait()
        if self.closed:
            raise OSError("the connection is lost")
        self.got += map(int, events)


async def read(records: Range, limit: int) -> list[tuple[int, bytes]]:
    """Every record is an event."""
    after, upto = records
    return [(n, b"%d" % n) for n in range(after + 1, upto + 1)][:limit]


def add(resends: Resends, place: Place, after: int, upto: int, user: str = "me") -> None:
    resends.add(user, place, source=("floor", "t"), records=(after, upto), read=read)


async def read_even(records: Range, limit: int) -> list[tuple[int, bytes]]:
    """As ``read``; every other event is never published."""
    return [event for event in await read(records, limit) if event[0] % 2 == 0]


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    virtual = VirtualLoop()
    yield virtual
    virtual.close()


def run(loop: VirtualLoop, work: Coroutine[Any, Any, None]) -> None:
    loop.run_until_complete(work)


def test_ranges_that_overlap_are_sent_as_one_while_they_wait(loop: VirtualLoop) -> None:
    async def ask() -> None:
        resends, place = Resends(Budgets()), Place()
        for after, upto in ((100, 300), (50, 120), (400, 420), (90, 310), (100, 300)):
            add(resends, place, after, upto)
        await asyncio.sleep(1)
        assert place.got == [*range(51, 311), *range(401, 421)]
        await resends.close()

    run(loop, ask())


def test_what_is_never_published_ends_nothing(loop: VirtualLoop) -> None:
    async def ask() -> None:
        resends, place = Resends(Budgets()), Place()
        resends.add("me", place, source=("floor", "t"), records=(0, 300), read=read_even)
        await asyncio.sleep(1)
        assert place.got == [*range(2, 301, 2)]
        await resends.close()

    run(loop, ask())


def test_fifty_requests_for_what_is_being_sent_send_it_twice_at_most(loop: VirtualLoop) -> None:
    async def ask() -> None:
        resends, place = Resends(Budgets()), Place()
        add(resends, place, 0, 50)
        place.may_take.clear()
        for _ in range(50):
            await asyncio.sleep(0.01)
            add(resends, place, 0, 50)
        place.may_take.set()
        await asyncio.sleep(1)
        assert place.got == [*range(1, 51)] * 2
        await resends.close()

    run(loop, ask())


def test_a_user_gets_10_000_events_at_once_and_then_500_a_second(loop: VirtualLoop) -> None:
    async def ask() -> None:
        resends, places = Resends(Budgets()), [Place(f"desk-{n}") for n in range(4)]
        for place in places:
            add(resends, place, 0, 10_000)
        other = Place()
        add(resends, other, 0, 100, user="another")
        counts = []
        for _ in range(4):
            await asyncio.sleep(10)
            counts.append(sum(len(place.got) for place in places))
        assert all(
            10_000 + 5_000 * n - 64 <= c <= 10_000 + 5_000 * n for n, c in enumerate(counts, 1)
        )
        assert len(other.got) == 100
        await asyncio.sleep(30)
        assert all(place.got == [*range(1, 10_001)] for place in places)
        await resends.close()

    run(loop, ask())


def test_what_is_asked_for_again_over_a_new_connection_goes_there(loop: VirtualLoop) -> None:
    async def ask() -> None:
        resends, before, now = Resends(Budgets()), Place(), Place()
        before.may_take.clear()
        add(resends, before, 0, 200)
        await asyncio.sleep(1)
        add(resends, now, 0, 200)
        before.closed = True
        before.may_take.set()
        await asyncio.sleep(1)
        assert (before.got, now.got) == ([], [*range(1, 201)])
        await resends.close()

    run(loop, ask())


def test_nothing_more_is_sent_over_a_connection_that_is_lost(loop: VirtualLoop) -> None:
    async def ask() -> None:
        resends, place = Resends(Budgets()), Place()
        place.closed = True
        add(resends, place, 0, 200)
        await asyncio.sleep(1)
        place.closed = False
        add(resends, place, 200, 300)
        await asyncio.sleep(1)
        assert place.got == [*range(201, 301)]
        await resends.close()

    run(loop, ask())


def test_a_seventeenth_place_of_one_user_is_refused(loop: VirtualLoop) -> None:
    async def ask() -> None:
        resends = Resends(Budgets())
        for number in range(16):
            add(resends, Place(f"desk-{number}"), 0, 10)
        with pytest.raises(RequestRefused) as refused:
            add(resends, Place("desk-16"), 0, 10)
        assert refused.value.why.code == "sink_resends_too_many"
        add(resends, Place("desk-3"), 0, 20)
        await asyncio.sleep(1)
        add(resends, Place("desk-16"), 0, 10)
        await resends.close()

    run(loop, ask())


def test_what_is_asked_for_after_the_end_is_not_sent(loop: VirtualLoop) -> None:
    async def ask() -> None:
        resends, place = Resends(Budgets()), Place()
        await resends.close()
        add(resends, place, 0, 100)
        await asyncio.sleep(1)
        assert place.got == []
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(loop, ask())
