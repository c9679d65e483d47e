"""A Player who handles cards, or the shoe, is away: 5.10, and a ruling where cards are to come."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.commands import Armed
from shoe_testing.tables import (
    BOTH_DRAW,
    Stake,
    TableHarness,
    dealt_table,
    refusal_of,
    restricted_data,
    staked_table,
)

ANN: Stake = ("ann", 3, "player", 500)
BOB: Stake = ("bob", 5, "banker", 200)


def declared(table: TableHarness, **more: Any) -> TableHarness:
    table.does("declare", key="holder_absent", reason="went to the bar", **more)
    return table


def passed(*hands: str, method: str = "A") -> TableHarness:
    table = dealt_table(ANN, BOB, method=method)
    for hand in hands:
        table.does("pass_cards", hand=hand, seat={"player": 3, "banker": 5}[hand])
    return table


def choices(table: TableHarness) -> list[str]:
    raised = table.told("irregularity.raised")[-1]
    return [c["choice"] for c in raised["choices"]]


@pytest.mark.parametrize("method", ["A", "C"])
def test_the_dealer_exposes_the_hand_and_every_further_card_of_it(method: str) -> None:
    table = declared(passed("player", method=method), hand="player")
    assert choices(table)[0] == "expose"
    table.does("decide", choice="expose", position="dealer")
    shown = restricted_data(table, "round.card_revealed")
    assert [(s["by"], s["rule"]) for s in shown] == [("dealer", "5.10")] * 2
    assert table.told("irregularity.resolved")[-1]["rule"] == "5.10"
    table.asks("pass_cards", hand="banker", seat=5)
    table.does("expose", hand="banker")
    table.does("announce_totals")
    table.draw("4C")
    table.does("expose", hand="player")
    assert restricted_data(table, "round.card_revealed")[-1]["rule"] == "5.10"


def test_a_hand_that_is_to_be_opened_later_is_the_dealers_in_its_turn() -> None:
    table = passed("player", "banker")
    table.does("set_first_hand", hand="banker")
    declared(table, hand="player")
    assert choices(table)[0] == "expose_later"
    table.does("decide", choice="expose_later", position="dealer")
    assert table.told("round.card_revealed") == []
    why = refusal_of(table, "pass_cards", hand="player")
    assert why.endswith("is away: the dealer exposes them (5.10)")
    table.does("expose", hand="banker")
    table.does("expose", hand="player")
    assert restricted_data(table, "round.card_revealed")[-1]["rule"] == "5.10"


def test_further_cards_of_a_hand_whose_holder_left_are_the_dealers_to_expose() -> None:
    table = passed("player", "banker")
    for hand in ("player", "banker"):
        table.does("expose", hand=hand)
    table.does("announce_totals")
    assert table.now.state == "drawing"
    declared(table, hand="player")
    table.does("decide", choice="expose_later", position="dealer")
    assert table.now.state == "drawing"
    table.draw("4C")
    assert table.now.round.hands.player.holder is None
    table.does("expose", hand="player")


def test_a_player_who_is_back_goes_on_by_a_ruling() -> None:
    table = declared(passed("player"), hand="player")
    table.rules("play_on")
    assert table.told("irregularity.resolved")[-1]["rule"] == "6.1"
    assert table.now.round.hands.player.holder.id == "ann"


def with_the_shoe(codes: str = "") -> TableHarness:
    table = staked_table(ANN, method="C")
    table.does("offer_shoe", player="ann", seat=3)
    table.does("no_more_bets")
    for code in codes.split():
        table.draw(code)
    return table


@pytest.mark.parametrize("codes", ["", "2D 3C"])
def test_with_cards_to_draw_the_shift_manager_rules_and_the_dealer_may_draw(codes: str) -> None:
    table = with_the_shoe(codes)
    before = table.desired
    declared(table)
    assert choices(table)[0] == "dealer_draws"
    answer = table.asks("decide", choice="dealer_draws", reason="r", position="pit_manager")
    assert answer.needs == {"position": "gaming_shift_manager"}
    table.rules("dealer_draws")
    changed = table.told("shoe.holder_changed")[-1]
    assert changed == {"holder": "dealer", "seat": None, "rule": "6.1"}
    assert table.told("irregularity.resolved")[-1]["how"] == "dealer_draws"
    assert isinstance(before, Armed) and table.desired == before


def test_the_shift_manager_may_as_well_wait_or_call_it_void() -> None:
    table = declared(with_the_shoe("2D"))
    table.rules("play_on")
    assert table.now.control.holder.id == "ann"
    declared(table)
    table.rules("void")
    assert table.told("round.void")[-1]["rule"] == "6.1"


def test_nobody_is_away_where_nobody_holds_anything() -> None:
    table = dealt_table(ANN)
    why = refusal_of(table, "declare", key="holder_absent", hand="player", reason="r")
    assert why == "no Player holds Player's cards"
    assert "only the dealer has the shoe" in refusal_of(
        table, "declare", key="holder_absent", reason="r"
    )
    table = with_the_shoe(BOTH_DRAW)
    why = refusal_of(table, "declare", key="holder_absent", reason="r")
    assert "no card is to be drawn now" in why


@pytest.mark.parametrize(
    "game", ["immortal_dragon_tiger", "dragon_tiger_no_commission", "tiger", "fa_fa_fabulous_4"]
)
def test_every_game_cites_its_own_rule(game: str) -> None:
    codes = "2g 3g Tg Tw" if game.startswith("fa") else BOTH_DRAW
    table = dealt_table(codes=codes, name=game)
    table.does("pass_cards", hand="player", seat=2)
    declared(table, hand="player")
    table.does("decide", choice="expose", position="dealer")
    assert table.told("irregularity.resolved")[-1]["rule"] == "5.10"
