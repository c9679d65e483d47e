"""Method C, the shoe moved about: cards seen on the way (5.12.1), their order altered (5.12.2)."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_testing.tables import (
    BOTH_DRAW,
    ROUNDS,
    STAND,
    TableHarness,
    dealt_table,
    exposed_table,
    method_table,
    refusal_of,
)

EXPOSED, ALTERED = "exposed_while_moving", "order_altered_while_moving"
WITH_METHOD_C = ["dragon_tiger_no_commission", "tiger", "fa_fa_fabulous_4"]


def declared(table: TableHarness, key: str) -> TableHarness:
    table.does("declare", key=key, reason="the shoe tilted")
    return table


def ended(table: TableHarness) -> dict[str, Any]:
    return table.told("irregularity.resolved")[-1]


def at_of(game: str) -> TableHarness:
    return method_table("C", name=game)


@pytest.mark.parametrize("game", WITH_METHOD_C)
def test_a_card_seen_on_the_way_plays_as_if_it_had_lain_face_down(game: str) -> None:
    table = declared(at_of(game), EXPOSED)
    answer = table.asks("decide", choice="play_face_down", position="dealer")
    assert answer.accepted
    assert ended(table) == {"key": EXPOSED, "how": "play_face_down", "rule": "5.12.1"}
    assert table.now.state == "idle"


@pytest.mark.parametrize("cards", ["", "2D", "2D 3C TS"])
def test_before_and_after_the_first_card_alike(cards: str) -> None:
    table = method_table("C")
    table.open_round()
    for code in cards.split():
        table.draw(code)
    before = (table.now.state, table.desired)
    declared(table, EXPOSED)
    table.does("decide", choice="play_face_down", position="dealer")
    assert (table.now.state, table.desired) == before
    assert not any("card_revealed" in kind for kind in table.kinds)


def test_what_was_not_seen_right_is_ruled_on() -> None:
    table = declared(dealt_table(method="C"), EXPOSED)
    table.rules("void")
    assert table.told("round.void")[-1]["rule"] == "6.1"


@pytest.mark.parametrize("game", WITH_METHOD_C)
def test_an_order_that_was_rectified_plays_on(game: str) -> None:
    table = declared(at_of(game), ALTERED)
    answer = table.asks("decide", choice="rectified", reason="r", position="pit_manager")
    assert answer.needs == {"position": "gaming_shift_manager"}
    table.rules("rectified")
    assert ended(table) == {"key": ALTERED, "how": "rectified", "rule": "5.12.2"}


@pytest.mark.parametrize("game", WITH_METHOD_C)
def test_an_order_that_cannot_be_rectified_voids_the_round_and_replaces_the_cards(
    game: str,
) -> None:
    table = at_of(game)
    table.open_round()
    declared(table, ALTERED)
    table.rules("void")
    assert table.told("round.void")[-1]["rule"] == "5.12.2"
    assert table.told("shoe.change_due")[-1]["rule"] == "5.12.2"
    assert table.now.state == "shoe_change"
    assert table.now.pending_irregularities == ()  # nobody is asked what the rule says
    refusal_of(table, "place_your_bets")


def test_with_cards_dealt_the_round_is_void_as_well() -> None:
    table = declared(dealt_table(method="C", codes=BOTH_DRAW), ALTERED)
    table.rules("void")
    assert (table.now.state, table.now.shoe.to_be_replaced) == ("shoe_change", True)
    table.load("set-2")
    assert (table.now.state, table.now.shoe.to_be_replaced) == ("idle", False)


def test_between_rounds_nothing_is_void_and_the_cards_are_replaced() -> None:
    table = declared(method_table("C"), ALTERED)
    offered = [c["choice"] for c in table.told("irregularity.raised")[-1]["choices"]]
    assert offered == ["rectified", "replace_cards", "set_aside"]
    table.does("decide", choice="replace_cards", reason="r", position="pit_supervisor")
    assert ended(table)["rule"] == "5.12.2"
    assert table.told("shoe.change_due") == [{"shoe_id": "bac-07-s1", "rule": "5.12.2"}]
    assert table.now.state == "shoe_change"


def test_a_set_pushed_in_meanwhile_is_the_next() -> None:
    table = declared(method_table("C"), ALTERED)
    table.load("set-2")
    table.does("decide", choice="replace_cards", reason="r")
    assert (table.now.state, table.now.shoe.set_id) == ("idle", "set-2")


@pytest.mark.parametrize("key", [EXPOSED, ALTERED])
def test_in_other_methods_and_games_the_shoe_is_not_moved(key: str) -> None:
    for table in (
        method_table("A"),
        method_table("B"),
        method_table("A", name="immortal_dragon_tiger"),
    ):
        why = refusal_of(table, "declare", key=key, reason="r")
        assert "only the dealer has the shoe (3.9.1)" in why
    royal = TableHarness(name="dragon_bonus_royal", announcements="implied", faces="face_up")
    royal.open_shoe()
    assert "nobody is handed a shoe" in refusal_of(royal, "declare", key=key, reason="r")


def test_after_the_outcome_there_is_nothing_to_move() -> None:
    table = exposed_table(method="C", codes=STAND)
    table.does("announce_totals")
    table.does("announce_outcome")
    answer = table.asks("declare", key=EXPOSED, reason="r")
    assert "idle" in answer.needs["state"]
    assert ROUNDS["both stand"] == STAND
