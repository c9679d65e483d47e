"""Real daemons killed with -9, at every write and sync and at random; the shoe knows what it dealt.

In: places to die. Out: cards lost, outcomes told under two ids: none.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from itertools import count, islice
from pathlib import Path

import pytest

from shoe_testing.config import write_config
from shoe_testing.daemon import PATIENCE_S, ShoeAtTable, nothing_is_wrong_with
from shoe_testing.daemon_processes import KILLED, Death, Starter, starter
from shoe_testing.journals import verified
from shoe_testing.rounds import all_agree, lines_of, of_type, once_each

pytestmark = pytest.mark.slow

ENOUGH_CARDS = 150
"""Drawn from one shoe of 416; then the next evening begins."""

ENOUGH_ROUNDS = 20
"""For one daemon: 120 cards at most, however quick it is. An empty shoe would end no round."""

ENOUGH_CRASHES = 100
"""In one evening: after each its whole journal is verified."""

CALLS = 64
"""Writes and syncs from a start on that an ordinary run kills at: the start and a card."""

PARTS = 4
"""Every call takes so many evenings, each with its share of the calls."""

SPARSE = 8
"""Of so many calls one is killed at in every run, beginning with each in turn."""

FEW_AT_RANDOM = 8
AT_RANDOM = 60
SOAK_CALLS = 400
SOAK_CRASHES = 2000

Crash = Callable[["Evening"], Awaitable[None]]


class Evening:
    """A shoe that nobody kills, and the daemons that are."""

    def __init__(self, folder: Path, shoe: ShoeAtTable, daemons: Starter) -> None:
        self._folder = folder
        self._config = write_config(folder, str(folder / "shoe"))
        self.shoe = shoe
        self._daemons = daemons

    @property
    def cards_drawn(self) -> int:
        return len(self.shoe.truth.cards)

    async def dies(self, death: Death) -> None:
        """A daemon is started and dies there."""
        self._deal_on(ENOUGH_ROUNDS)
        await self._daemons.start(self._config, death)
        assert await self._daemons.ended() == KILLED
        self._left_whole()

    async def is_killed(self, after_s: float) -> None:
        """A daemon is started and killed so much later."""
        self._deal_on(ENOUGH_ROUNDS)
        await self._daemons.start(self._config)
        await asyncio.sleep(after_s)
        self._daemons.send(signal.SIGKILL)
        assert await self._daemons.ended() == KILLED
        self._left_whole()

    def _deal_on(self, rounds: int) -> None:
        """The hand deals to the end of so many rounds, then it rests."""
        self.shoe.rest_after(len(self.shoe.truth.rounds) + rounds)
        self.shoe.go_on()

    def _left_whole(self) -> None:
        if (self._folder / "journal.db").exists():
            assert verified(self._folder / "journal.db").ok

    async def ends(self) -> None:
        """One daemon is left alone to the end of a round."""
        self._deal_on(1)
        await self._daemons.start(self._config)
        try:
            await self.shoe.rests()
        except AssertionError as error:
            last = lines_of(self._folder / "restricted.jsonl")[-3:]
            raise AssertionError(f"{error}; last told: {last}") from None
        async with asyncio.timeout(PATIENCE_S):
            while not self._all_told():  # noqa: ASYNC110 - another process writes the file
                await asyncio.sleep(0.02)
        self._daemons.send(signal.SIGTERM)
        assert await self._daemons.ended() == 0

    def _all_told(self) -> bool:
        return len(self._told("public", "round.outcome")) == len(self.shoe.rounds)

    def _told(self, audience: str, kind: str) -> list[dict[str, object]]:
        """The data of the events of a type, each id taken once, as a receiver does."""
        path = self._folder / f"{audience}.jsonl"
        return of_type(once_each(lines_of(path)), kind) if path.exists() else []

    def nothing_was_lost_or_doubled(self) -> None:
        for audience in ("public", "restricted"):
            all_agree(self._told(audience, "round.outcome"), self.shoe.rounds)
        cards = self._told("restricted", "round.card_drawn")
        assert [(data["number"], data["card"]) for data in cards] == self.shoe.truth.cards
        assert nothing_is_wrong_with(self._folder / "journal.db") == len(self.shoe.rounds)


@asynccontextmanager
async def evening(folder: Path, daemons: Starter, seed: int) -> AsyncIterator[Evening]:
    folder.mkdir(parents=True)
    with ShoeAtTable(folder, "reference", seed=seed, decks=8) as shoe:
        night = Evening(folder, shoe, daemons)
        yield night
        await night.ends()
    night.nothing_was_lost_or_doubled()


async def crashes(folder: Path, seed: int, these: Iterator[Crash]) -> int:
    """Has these crashes, one evening after another; how many there were."""
    done = 0
    crash = next(these, None)
    async with starter() as daemons:
        for number in count():
            if crash is None:
                return done
            async with evening(folder / f"{number}", daemons, seed + number) as night:
                until = done + ENOUGH_CRASHES
                while crash is not None and done < until and night.cards_drawn < ENOUGH_CARDS:
                    await crash(night)
                    done += 1
                    crash = next(these, None)
    raise AssertionError("crashes without end")


def at_every_call(calls: Iterable[int], chance: random.Random, *, torn: bool) -> Iterator[Crash]:
    """Before and after, and in the middle of, each of these writes and syncs from the start on.

    They are counted from 1: about 45 are the start itself, 20 a card.
    """
    for at in calls:
        for when in ("before", "after", "torn") if torn else ("before", "after"):
            yield partial(Evening.dies, death=Death(at, when, chance.random()))


def at_random(chance: random.Random) -> Iterator[Crash]:
    """At any moment from the start to a few cards later, without end."""
    while True:
        yield partial(Evening.is_killed, after_s=chance.uniform(0.0, 0.6))


async def test_daemons_killed_before_and_after_some_writes_and_syncs_lose_and_double_nothing(
    tmp_path: Path, seed: int
) -> None:
    calls = range(1 + seed % SPARSE, CALLS + 1, SPARSE)
    places = at_every_call(calls, random.Random(seed), torn=False)
    assert await crashes(tmp_path, seed, places) == 2 * len(calls)


@pytest.mark.exhaustive(cpu_s=5)
@pytest.mark.parametrize("part", range(PARTS))
async def test_daemons_killed_before_and_after_every_write_and_sync_lose_and_double_nothing(
    tmp_path: Path, seed: int, part: int
) -> None:
    calls = range(1 + part, CALLS + 1, PARTS)
    places = at_every_call(calls, random.Random(f"{seed} {part}"), torn=False)
    assert await crashes(tmp_path, seed + part, places) == 2 * len(calls)


@pytest.mark.parametrize(
    "times", [FEW_AT_RANDOM, pytest.param(AT_RANDOM, marks=pytest.mark.exhaustive(cpu_s=9))]
)
async def test_daemons_killed_at_random_lose_and_double_nothing(
    tmp_path: Path, seed: int, times: int
) -> None:
    assert await crashes(tmp_path, seed, islice(at_random(random.Random(seed)), times))


@pytest.mark.soak
async def test_thousands_of_crashes_lose_and_double_nothing(tmp_path: Path, seed: int) -> None:
    """Every write and sync of about forty cards, torn ones too; then at random, in all for a
    quarter of the time that the soak has, and two thousand at least."""
    until = time.monotonic() + float(os.environ.get("SHOE_CTL_SOAK_S", "60")) / 4
    chance, every = random.Random(seed), range(1, SOAK_CALLS + 1)
    done = await crashes(tmp_path / "every", seed, at_every_call(every, chance, torn=True))
    while done < SOAK_CRASHES or time.monotonic() < until:
        folder = tmp_path / f"random-{done}"
        done += await crashes(folder, seed + done, islice(at_random(chance), 100))
    print(f"{done} crashes")  # noqa: T201 - what a soak did
