"""Power lost in a round: what is decided by the cards seen, and the rule that then holds."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.events import Armed, Locked
from shoe_ctl.records import Audience
from shoe_ctl.table.effects import TableEvent
from tests.table.playing import Playing
from tests.table.sessions import WAYS
from tests.table.staking import bets
from tests.table.test_procedures import declares


def loses_power_after(codes: str, *, name: str = "tiger", **given: Any) -> dict[str, Any]:
    """What the room is told when the host booted with these cards on the table."""
    shown: dict[str, Any] = {"announcements": "implied", "faces": "face_up", "face_up_after_ms": 0}
    table = Playing(name=name, **(shown | given)).open_shoe()
    table.restart("b1")
    table.connect()
    table.hello()
    for code in codes.split():
        table.draw(code)
    (raised,) = (
        effect
        for effect in table.restart("b2")
        if isinstance(effect, TableEvent) and effect.type == "irregularity.raised"
    )
    assert raised.audience is Audience.PUBLIC
    return raised.data


@pytest.mark.parametrize(
    ("name", "rule"), [("tiger", "5.17.1"), ("immortal_dragon_tiger", "5.15.1")]
)
def test_with_nothing_decided_each_player_may_withdraw(name: str, rule: str) -> None:
    told = loses_power_after("7D", name=name, layout="A")
    assert told["decided"] == {}
    assert (told["end"], told["rule"]) == ("withdrawal", rule)


@pytest.mark.parametrize(
    ("name", "rule"), [("tiger", "5.17.2"), ("immortal_dragon_tiger", "5.15.2")]
)
def test_with_a_wager_decided_play_goes_on(name: str, rule: str) -> None:
    # Player stands on 6, Banker draws: Banker can no longer win on 6 with two cards
    told = loses_power_after("6D 2C TS TH", name=name, layout="A")
    assert told["decided"]["small_tiger"] == "lose"
    assert "player" not in told["decided"]
    assert (told["end"], told["rule"]) == ("continued", rule)


def test_a_pair_in_players_hand_wins_tiger_pair_before_banker_is_complete() -> None:
    assert loses_power_after("4D 2C 4S")["decided"]["tiger_pair"] == "win"


def test_only_wagers_that_the_layout_offers_count() -> None:
    on = {
        layout: loses_power_after("7D 2C 4S", name="immortal_dragon_tiger", layout=layout)
        for layout in "AB"
    }
    assert "player_pair" not in on["A"]["decided"]
    assert on["B"]["decided"] == on["A"]["decided"] | {"player_pair": "lose"}


def test_cards_face_down_decide_nothing_however_they_lie() -> None:
    """Rounds alike from the table are told alike: the facts follow revealed cards only."""
    told = [
        loses_power_after(codes, face_up_after_ms=60_000)
        for codes in ("4D 2C 4S", "9D 9C KS", "7D 2C AS")
    ]
    assert told[0]["decided"] == {}
    assert told == [told[0]] * 3


# What follows.


def dark(codes: str = "2D 3C TS", **given: Any) -> Playing:
    """Face down, with the host's power lost and back, and the shoe's link."""
    table = Playing(**(WAYS[0] | given)).open_shoe()
    table.restart("b1")
    table.connect()
    table.hello()
    table.open_round()
    table.deal(codes)
    table.restart("b2")
    table.connect()
    return table


def test_the_round_is_concluded_even_if_all_withdraw() -> None:
    table = Playing(**WAYS[0]).open_shoe()
    table.does("place_your_bets")
    bets(table)
    table.does("no_more_bets")
    table.deal("2D")
    declares(table, "power_failure")
    table.does("decide", choice="offer_withdrawal", position="dealer")
    table.does("decide", choice="withdraw_all", player="ann", position="dealer")
    table.does("decide", choice="close_window", position="dealer")
    table.does("decide", choice="play_on", position="dealer")
    table.deal("8C 7S TH")
    table.finish()
    assert table.told("round.outcome") and table.told("wager.settled") == []


def test_nobody_is_asked_to_rule_where_the_rules_say_what_follows() -> None:
    table = dark()
    offered = table.told("irregularity.raised")[-1]["choices"]
    assert {c["choice"]: c["position"] for c in offered} == {
        "offer_withdrawal": "dealer",
        "void": "gaming_shift_manager",
    }


def test_a_player_who_holds_unexposed_cards_makes_it_a_ruling() -> None:
    table = Playing(**WAYS[0], method="A").open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    table.does("pass_cards", hand="player", seat=3)
    declares(table, "power_failure")
    offered = table.told("irregularity.raised")[-1]["choices"]
    assert {c["choice"]: c["position"] for c in offered} == {
        "play_on": "gaming_shift_manager",
        "void": "gaming_shift_manager",
    }
    table.rules("play_on")
    assert table.told("irregularity.resolved")[-1]["rule"] == "6.1"


def test_a_game_without_a_rule_for_it_leaves_it_to_the_operator() -> None:
    table = Playing(name="dragon_bonus_royal", announcements="implied").open_shoe()
    table.draw("2D")
    declares(table, "power_failure")
    offered = table.told("irregularity.raised")[-1]["choices"]
    assert [c["choice"] for c in offered] == ["play_on", "void"]
    table.rules("play_on")
    assert table.told("irregularity.resolved")[-1]["rule"] is None


def test_a_card_that_the_shoe_was_armed_for_takes_its_slot_by_replay() -> None:
    table = dark()
    table.hello(boot=8, drawn=4, resumed=True)
    table.does("decide", choice="offer_withdrawal", position="dealer")
    table.does("decide", choice="close_window", position="dealer")
    refused = table.asks("decide", choice="play_on", position="dealer")
    assert refused.error == "decide: play_on: the shoe counts more cards than were heard of"
    table.draw("TH", armed=True)
    assert len(table.now.round.cards) == 4
    table.does("decide", choice="play_on", position="dealer")
    assert (table.now.state, table.desired) == ("revealing", Locked())
    table.turn_over()
    table.does("announce_totals")
    assert table.desired == Armed(5, "player", 3)


def test_the_first_cards_still_to_come_are_armed_for_after_it() -> None:
    table = dark("2D 3C")
    table.hello(boot=8, drawn=3)
    table.draw("TS", armed=True)
    table.concludes()
    assert (table.now.state, table.desired) == ("dealing", Armed(4, "banker", 2))


def test_a_third_card_takes_its_slot_too() -> None:
    table = dark("2D 3C TS TH")
    table.hello(boot=7)
    table.concludes()
    table.turn_over()
    table.does("announce_totals")
    assert table.now.state == "drawing"
    table.restart("b3")
    table.connect()
    table.hello(boot=9, drawn=5)
    table.draw("4C", armed=True)
    table.concludes()
    assert (table.now.state, len(table.now.round.cards)) == ("revealing", 5)


@pytest.mark.parametrize("more", [{"armed": False}, {"armed": True, "number": 9}])
def test_any_other_card_has_no_place_and_only_a_void_is_left(more: dict[str, Any]) -> None:
    table = dark()
    table.hello(boot=8)
    table.draw("TH", **more)
    assert len(table.now.kept) == 1
    if table.key != "power_failure":
        table.rules("void")
        assert table.now.state == "idle"
        return
    table.does("decide", choice="offer_withdrawal", position="dealer")
    table.does("decide", choice="close_window", position="dealer")
    refused = table.asks("decide", choice="play_on", position="dealer")
    assert "cards were drawn that have no place" in str(refused.error)
    table.rules("void")


def test_a_card_that_lay_face_up_when_power_failed_counts_among_what_is_decided() -> None:
    table = Playing(**WAYS[1], face_up_after_ms=0).open_shoe()
    table.restart("b1")
    table.connect()
    table.hello()
    table.deal("4D 2C")
    table.restart("b2")
    assert table.told("irregularity.raised")[-1]["end"] == "withdrawal"
    table.connect()
    table.hello(boot=8, drawn=3)
    table.draw("4S", armed=True)
    told = table.told("irregularity.step")[-1]
    assert (told["end"], told["decided"]["tiger_pair"]) == ("continued", "win")
    table.does("decide", choice="play_on", position="dealer")
    assert table.now.state == "dealing"


def test_a_shoe_that_is_not_aligned_is_aligned_by_a_person_before_play_goes_on() -> None:
    table = Playing(angel_eye=True, **WAYS[0]).open_shoe()
    table.restart("b1")
    table.connect()
    table.open_round()
    table.deal("2D 3C")
    table.restart("b2")
    table.connect()
    table.does("decide", choice="offer_withdrawal", position="dealer")
    table.does("decide", choice="close_window", position="dealer")
    refused = table.asks("decide", choice="play_on", position="dealer")
    assert refused.error == (
        "decide: play_on: the shoe is not aligned: a pit supervisor says align"
    )
    table.does("align", reason="no card was drawn")
    table.does("decide", choice="play_on", position="dealer")
    assert table.now.state == "dealing"
