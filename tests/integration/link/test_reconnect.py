"""The shoe's pty closes and reopens in mid-round, at chosen cards and at any byte."""

from __future__ import annotations

import asyncio
import random
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from shoe_ctl.link.reconnect import Backoff
from shoe_ctl.records import Audience
from shoe_testing.config import write_config
from shoe_testing.daemon import (
    PATIENCE_S,
    CutLine,
    ShoeAtTable,
    ToldEvents,
    command,
    nothing_is_wrong_with,
    nothing_was_lost_or_doubled,
    runner,
    serving,
)
from shoe_testing.examples import sampled
from shoe_testing.rounds import all_agree, of_type, once_each
from shoe_testing.transports import HangingPorts, until

pytestmark = pytest.mark.slow

MOMENTS = [("player", 1), ("banker", 1), ("player", 2), ("banker", 2)]


def config_for(folder: Path, profile: str) -> Path:
    return write_config(folder, str(folder / "shoe"), profile=profile, decks=4)


def seconds_until(events: list[dict[str, Any]], first: str, then: str) -> list[float]:
    """From each ``first`` to the ``then`` that follows it."""
    waits: list[float] = []
    since: datetime | None = None
    for event in events:
        if event["type"] == first:
            since = datetime.fromisoformat(event["time"])
        elif event["type"] == then and since is not None:
            waits.append((datetime.fromisoformat(event["time"]) - since).total_seconds())
            since = None
    return waits


@pytest.mark.parametrize("hangs", [False, True])
async def test_a_daemon_that_stops_waits_for_its_port_to_be_closed_unless_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hangs: bool
) -> None:
    ports = HangingPorts(monkeypatch)
    monkeypatch.setattr("shoe_ctl.link.serial.CLOSED_WITHIN_S", 0.01 if hangs else PATIENCE_S)
    with ShoeAtTable(tmp_path, "reference", seed=11):
        async with (
            asyncio.timeout(PATIENCE_S),
            serving(config_for(tmp_path, "reference"), ToldEvents()),
        ):
            if not hangs:
                asyncio.get_running_loop().call_later(0.5, ports.sent.set)
        assert (ports.closing, ports.closed) == (1, 0 if hangs else 1)
        ports.sent.set()
        await until(lambda: ports.closed == 1)


async def test_a_reference_shoe_goes_on_where_its_cable_was_pulled(tmp_path: Path) -> None:
    told = ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=11) as shoe:
        shoe.rest_at(1, *MOMENTS[0])
        async with serving(config_for(tmp_path, "reference"), told):
            for number in range(1, len(MOMENTS) + 1):
                await shoe.rests()
                await told.times(len(shoe.truth.cards), "round.card_dealt")
                shoe.rig.unplug()
                if number < len(MOMENTS):
                    shoe.rest_at(number + 1, *MOMENTS[number])
                await told.times(number, "table.halted")
                assert len(told.data("round.outcome")) == number - 1
                shoe.rig.replug()
                shoe.go_on()
                await told.times(number, "table.resumed")
            await told.times(1, "shoe.change_due")
        nothing_was_lost_or_doubled(tmp_path, shoe)


async def test_the_daemon_is_woken_by_its_ports_return_and_waits_for_no_back_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = 0

    def failed(self: Backoff, now: float) -> float:
        nonlocal failures
        failures += 1
        return 0.01 if failures == 1 else 2 * PATIENCE_S

    monkeypatch.setattr(Backoff, "failed", failed)
    told = ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=13) as shoe:
        shoe.rest_at(1, *MOMENTS[0])
        async with serving(config_for(tmp_path, "reference"), told):
            await shoe.rests()
            await told.times(len(shoe.truth.cards), "round.card_dealt")
            shoe.rig.unplug()
            await told.times(1, "table.halted")
            await until(lambda: failures > 1)
            shoe.rig.replug()
            await told.times(1, "table.resumed")


@pytest.mark.parametrize("offset", sampled(range(3), one_in=3, cpu_s=0.9))
async def test_a_reference_shoe_loses_and_doubles_nothing_wherever_the_bytes_end(
    tmp_path: Path, seed: int, offset: int
) -> None:
    chance = random.Random(seed + offset)
    to_host = CutLine(chance.sample(range(100, 20_000), 9))
    to_shoe = CutLine(chance.sample(range(30, 5_000), 4))
    told = ToldEvents()
    with ShoeAtTable(
        tmp_path, "reference", seed=20 + offset, to_host=to_host, to_shoe=to_shoe
    ) as shoe:
        async with serving(config_for(tmp_path, "reference"), told):
            await told.times(1, "shoe.change_due")
        public = nothing_was_lost_or_doubled(tmp_path, shoe)
    assert len(of_type(public, "shoe.lost")) > 9
    waits = seconds_until(public, "table.halted", "table.resumed")
    assert median(waits) < 1.2  # of which the cable is out for 0.2


def last_cards(told: ToldEvents) -> list[str]:
    """The last cards heard, more than the longest hand: what was lost before them matters not."""
    return [data["card"] for data in told.data("round.card_drawn")[-6:]]


async def test_an_angel_eye_shoe_halts_and_only_a_person_ends_the_round(tmp_path: Path) -> None:
    told = ToldEvents()
    with ShoeAtTable(tmp_path, "angel_eye", seed=12) as shoe:
        shoe.rest_at(4, "player", 2)
        async with serving(
            config_for(tmp_path, "angel_eye"), told, sees=Audience.RESTRICTED
        ) as daemon:
            await shoe.rests()
            await told.times(4, "round.opened")
            await told.until(lambda: told.events[-1]["type"] == "round.card_revealed")
            halted_round = told.data("round.opened")[-1]["round_id"]
            shoe.rig.unplug()
            await told.times(1, "table.halted")
            assert told.data("table.halted") == [{"reason": "link_lost"}]

            shoe.rest_after(6)  # rounds 4 (its rest unheard or not), 5 and 6 go by
            shoe.rig.replug()
            shoe.go_on()
            await told.times(2, "shoe.not_aligned")
            await shoe.rests()
            await told.until(lambda: last_cards(told) == [c for _, c in shoe.truth.cards[-6:]])

            state = runner(daemon).controller.state
            assert state.state == "suspended"
            assert state.round is not None
            dealt = [d.card and d.card.code for d in state.round.cards]
            assert dealt == cards_heard(told, halted_round)
            assert len(told.data("round.outcome")) == 3
            refused = await command(daemon, "c1", "decide", choice="play_on")
            assert not refused.answer.accepted

            ended = await command(daemon, "c2", "decide", choice="void")
            assert ended.answer.accepted
            await told.times(1, "round.void")
            assert told.data("round.void")[0]["round_id"] == halted_round
            shoe.go_on()
            await told.times(1, "shoe.change_due")
        outcomes = told.data("round.outcome")
        all_agree(outcomes, [*shoe.rounds[:3], *shoe.rounds[6:]])
    assert halted_round not in [outcome["round_id"] for outcome in outcomes]
    assert once_each(told.events) == told.events
    assert len(told.data("table.halted")) == len(told.data("table.resumed")) == 1
    nothing_is_wrong_with(tmp_path / "journal.db")


def cards_heard(told: ToldEvents, round_id: str) -> list[str]:
    """The cards placed in a round, as the restricted stream was told."""
    return [
        event["data"]["card"]
        for event in told.events
        if event["type"] == "round.card_drawn"
        and event["subject"] == round_id
        and event["data"].get("placed", True)
    ]


async def test_an_angel_eye_round_ruled_void_in_a_later_round_aligns_at_the_next(
    tmp_path: Path,
) -> None:
    """The later round, heard in part while halted, is added to no round."""
    told = ToldEvents()
    with ShoeAtTable(tmp_path, "angel_eye", seed=13) as shoe:
        shoe.rest_at(2, "banker", 1)
        async with serving(
            config_for(tmp_path, "angel_eye"), told, sees=Audience.RESTRICTED
        ) as daemon:
            await shoe.rests()
            await told.times(len(shoe.truth.cards), "round.card_drawn")
            shoe.rig.unplug()
            await told.times(1, "table.halted")
            shoe.rest_at(4, "player", 2)
            shoe.rig.replug()
            shoe.go_on()
            await shoe.rests()
            await told.times(1, "irregularity.step")
            await told.until(lambda: last_cards(told) == [c for _, c in shoe.truth.cards[-6:]])
            ended = await command(daemon, "c1", "decide", choice="void")
            assert ended.answer.accepted
            shoe.go_on()
            await told.times(1, "shoe.change_due")
        all_agree(told.data("round.outcome"), [shoe.rounds[0], *shoe.rounds[4:]])
    assert len(told.data("table.halted")) == 1
    nothing_is_wrong_with(tmp_path / "journal.db")


async def test_an_angel_eye_cable_pulled_between_rounds_halts_nothing(tmp_path: Path) -> None:
    told = ToldEvents()
    with ShoeAtTable(tmp_path, "angel_eye", seed=14) as shoe:
        shoe.rest_after(3)
        async with serving(config_for(tmp_path, "angel_eye"), told):
            await shoe.rests()
            await told.times(3, "round.settled")
            shoe.rig.unplug()
            await told.times(1, "shoe.lost")
            shoe.rig.replug()
            shoe.go_on()
            await told.times(1, "shoe.change_due")
        all_agree(told.data("round.outcome"), shoe.rounds)
    assert not told.data("table.halted")
    nothing_is_wrong_with(tmp_path / "journal.db")
