"""The host loses its power: in a round, in a halt, with a fault at the shoe; and comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.events import Error, ErrorCleared
from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.games import catalog
from shoe_ctl.games.decided import decide
from shoe_ctl.journal.reader import Reader
from shoe_ctl.records import Audience
from shoe_testing.config import write_config
from shoe_testing.daemon import (
    ShoeAtTable,
    ToldEvents,
    command,
    nothing_is_wrong_with,
    open_irregularities,
    runner,
    serving,
)
from shoe_testing.examples import sampled
from shoe_testing.rounds import all_agree, lines_of, of_type, once_each
from simulators.shoe.reference import ReferenceDevice

pytestmark = pytest.mark.slow

DECKS = 4


def config_for(folder: Path) -> Path:
    return write_config(folder, str(folder / "shoe"), decks=DECKS)


def happens(shoe: ShoeAtTable, event: Error | ErrorCleared) -> None:
    device = shoe.rig.device
    assert isinstance(device, ReferenceDevice)
    device.happen(event, shoe.rig.now)
    shoe.rig.turn()


def all_rounds_were_told(folder: Path, shoe: ShoeAtTable) -> None:
    for name in ("public", "restricted"):
        events = once_each(lines_of(folder / f"{name}.jsonl"))
        all_agree(of_type(events, "round.outcome"), shoe.rounds)
    assert nothing_is_wrong_with(folder / "journal.db") == len(shoe.rounds)


def open_cards(shoe: ShoeAtTable) -> list[str]:
    """The cards of the round that is open, as they were drawn."""
    before = len(shoe.truth.cards)
    ended = sum(len(r.played.player) + len(r.played.banker) for r in shoe.rounds)
    return [code for _, code in shoe.truth.cards[ended:before]]


PLACES = [
    pytest.param(*place, id="-".join(map(str, place)))
    for place in ((3, "player", 1), (4, "banker", 1), (5, "player", 2), (6, "banker", 2))
]


@pytest.mark.parametrize(("round_number", "hand", "index"), sampled(PLACES, one_in=2, cpu_s=0.8))
async def test_power_lost_in_a_round_is_told_with_what_the_cards_on_view_decide(
    tmp_path: Path, round_number: int, hand: str, index: int
) -> None:
    told = ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=40) as shoe:
        shoe.rest_at(round_number, hand, index)
        async with serving(config_for(tmp_path), told):
            await shoe.rests()
            await told.times(len(shoe.truth.cards), "round.card_revealed")
        game = catalog.load("tiger")
        on_view = [card(code) for code in open_cards(shoe)]
        assert on_view
        ends = decide(game, on_view, decks=DECKS, layout="A")
        decided = {wager: end for wager, end in ends.items() if end != "open"}
        async with serving(config_for(tmp_path), told, host_boot="boot-2") as daemon:
            await told.times(1, "irregularity.raised")
            (raised,) = told.data("irregularity.raised")
            assert raised["key"] == "power_failure"
            assert raised["decided"] == decided
            assert (raised["end"], raised["rule"]) == (
                ("continued", "5.17.2") if decided else ("withdrawal", "5.17.1")
            )
            assert told.data("table.halted") == [{"reason": "power_failure"}]
            await told.times(2, "shoe.connected")
            offered = await command(daemon, "c1", "decide", choice="offer_withdrawal")
            assert offered.answer.accepted is not bool(decided)  # each Player may withdraw first
            if offered.answer.accepted:
                closed = await command(daemon, "c2", "decide", choice="close_window")
                assert closed.answer.accepted
            await settled(daemon, told, "play_on")
            shoe.go_on()
            await told.times(1, "shoe.change_due")
        all_rounds_were_told(tmp_path, shoe)


async def test_a_halt_that_stood_at_power_down_stands_at_power_up(tmp_path: Path) -> None:
    told = ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=41) as shoe:
        shoe.rest_at(2, "banker", 1)
        async with serving(config_for(tmp_path), told) as daemon:
            await shoe.rests()
            await told.times(len(shoe.truth.cards), "round.card_revealed")
            declared = await command(daemon, "c1", "declare", key="order_altered")
            assert declared.answer.accepted
        for boot in ("boot-2", "boot-3"):  # and the power fails again before anyone came
            async with serving(config_for(tmp_path), told, host_boot=boot) as daemon:
                assert open_irregularities(daemon)[-1] == "order_altered"
                assert runner(daemon).controller.state.state == "suspended"
                again = await command(daemon, "c1", "declare", key="order_altered")
                assert again == declared  # it was asked before the power failed
                assert (await runner(daemon).status(Audience.PUBLIC))["halt"] is not None
                await shoe.armed_for(None)  # each start locks it, if the last had no time to
        assert told.data("table.resumed") == []


async def test_a_shoe_s_fault_that_stood_at_power_down_stands_at_power_up(tmp_path: Path) -> None:
    told = ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=42) as shoe:
        shoe.rest_at(2, "player", 2)
        async with serving(config_for(tmp_path), told):
            await shoe.rests()
            await told.times(len(shoe.truth.cards), "round.card_revealed")
            happens(shoe, Error(code="jam", in_error_mode=True))
            await told.times(1, "table.halted")
        async with serving(
            config_for(tmp_path), told, host_boot="boot-2", sees=Audience.PUBLIC
        ) as daemon:
            await told.times(2, "shoe.connected")
            assert open_irregularities(daemon) == ["power_failure", "other"]
            assert shoe.rig.device.shoe.armed is None
            await settled(daemon, told, "play_on")
            assert open_irregularities(daemon) == ["other"]
            assert told.data("table.resumed") == []
            assert shoe.rig.device.shoe.armed is None  # what stood before the power failed stands
            happens(shoe, ErrorCleared(code="jam"))
            await told.times(1, "shoe.cleared")
            assert open_irregularities(daemon) == ["other"]  # and a person rules on it
            await settled(daemon, told, "play_on")
            assert open_irregularities(daemon) == []
            shoe.go_on()
            await told.times(1, "shoe.change_due")
        all_rounds_were_told(tmp_path, shoe)
    with Reader.open(tmp_path / "journal.db") as reader:
        bodies = [record.body for record in reader.records()]
    assert sum(b'"input":"restarted"' in body for body in bodies) == 2


async def settled(daemon: Daemon, told: ToldEvents, choice: str) -> Any:
    before = len(told.data("irregularity.resolved"))
    given = await command(daemon, f"{choice}-{before}", "decide", choice=choice)
    assert given.answer.accepted, given.answer
    await told.times(before + 1, "irregularity.resolved")
    return given
