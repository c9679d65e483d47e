"""A hand that went to the wrong Player, to nobody, or was seen: 5.7 and 5.7.1."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import (
    PIT_PEOPLE,
    Stake,
    TableHarness,
    dealt_table,
    refusal_of,
    restricted_data,
)

ANN: Stake = ("ann", 3, "player", 500)
BOB: Stake = ("bob", 5, "player", 200)


def declared(table: TableHarness, hand: str = "player", **more: Any) -> TableHarness:
    table.does("declare", key="wrong_player", hand=hand, reason="seen by the pit", **more)
    return table


def decides(table: TableHarness, choice: str, **more: Any) -> None:
    table.does("decide", choice=choice, **{"position": "dealer", **more})


def offered(table: TableHarness) -> list[tuple[str, str]]:
    return [(c["choice"], c["position"]) for c in last(table)["choices"]]


def held(table: TableHarness, hand: str) -> Any:
    """Who holds the hand; Any, or a checker takes what one assert found for what stays so."""
    return table.now.round.hands.of(hand).holder


def last(table: TableHarness) -> dict[str, Any]:
    kinds = ("irregularity.raised", "irregularity.step")
    return next(e.data for e in reversed(table.public) if e.type in kinds)


def test_a_hand_that_nobody_opened_is_retrieved_and_passed_to_whose_it_is() -> None:
    table = declared(dealt_table(ANN, BOB), player="bob", seat=5)
    assert offered(table)[0] == ("retrieve", "dealer")
    decides(table, "retrieve")
    assert table.told("cards.retrieved")[-1]["rule"] == "5.7"
    assert table.told("cards.retrieved")[-1]["seat"] == 5
    assert (last(table)["step"], last(table)["rule"]) == ("pass_on", "5.7")
    decides(table, "pass_on")
    assert table.now.state == "revealing"
    assert table.now.round.hands.player.holder.id == "ann"
    assert table.told("irregularity.resolved")[-1]["rule"] == "5.7"
    assert [kind for kind in table.kinds if kind == "cards.passed"] == ["cards.passed"]
    table.does("expose", hand="player")


def test_it_is_not_passed_on_to_another_than_the_wagers_say() -> None:
    table = declared(dealt_table(ANN, BOB), seat=5)
    decides(table, "retrieve")
    why = refusal_of(table, "decide", choice="pass_on", seat=5, position="dealer")
    assert why == "Player's cards go to seat 3 (3.10.2)"
    assert "no seat 99" in refusal_of(table, "decide", choice="pass_on", seat=99, position="dealer")


def test_what_is_on_record_as_passed_is_no_longer_the_wrong_players() -> None:
    table = dealt_table(method="A")
    table.does("pass_cards", hand="player", seat=2)
    declared(table)
    decides(table, "retrieve")
    assert table.told("cards.retrieved")[-1]["seat"] == 2
    assert held(table, "player") is None
    assert "say who it is passed to" in refusal_of(
        table, "decide", choice="pass_on", position="dealer"
    )
    decides(table, "pass_on", seat=4)
    assert held(table, "player").seat == 4


def test_in_method_c_it_is_passed_on_to_the_player_who_draws() -> None:
    table = dealt_table(method="C")
    table.does("offer_shoe", seat=7)
    table.does("pass_cards", hand="banker", seat=2)
    declared(table, "banker", seat=2)
    decides(table, "retrieve")
    decides(table, "pass_on")
    assert held(table, "banker").seat == 7


def test_where_the_hand_is_nobodys_a_pit_supervisor_names_the_player() -> None:
    table = dealt_table(ANN)
    table.does("refuse_cards", hand="player")
    declared(table, seat=5)
    decides(table, "retrieve")
    assert offered(table)[0] == ("pass_on", "pit_supervisor")
    answer = table.asks("decide", choice="pass_on", seat=6, position="dealer")
    assert answer.needs == {"position": "pit_supervisor"}
    position = PIT_PEOPLE["supervisor"]
    assert "name the Player" in refusal_of(table, "decide", choice="pass_on", position=position)
    decides(table, "pass_on", seat=6, position=position)
    assert table.told("cards.passed")[-1]["rule"] == "3.10.4.1"


def test_a_hand_that_was_seen_is_no_wrong_delivery_and_the_room_knows_it() -> None:
    table = declared(dealt_table(ANN, BOB), seat=5)
    decides(table, "exposed")
    assert table.told("irregularity.resolved")[-1] == {
        "key": "wrong_player", "how": "stands", "rule": "5.7.1",
    }  # fmt: skip
    shown = restricted_data(table, "round.card_revealed")
    assert [(s["hand"], s["index"], s["by"], s["rule"]) for s in shown] == [
        ("player", 1, "in_error", "5.7.1"), ("player", 2, "in_error", "5.7.1"),
    ]  # fmt: skip
    assert table.now.state == "revealing"


def test_one_card_dealt_face_up_is_seen_and_the_deal_goes_on() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D 3C")
    declared(table, "banker")
    assert "retrieve" not in dict(offered(table))
    why = refusal_of(table, "decide", choice="exposed", index=2, position="dealer")
    assert why == "no card lies face down"
    decides(table, "exposed", index=1)
    assert table.told("round.card_revealed") == [{"hand": "banker", "index": 1, "card": "3C"}]
    table.deal("TS TH 4C")
    assert table.now.state == "revealing"


def test_passed_to_nobody_the_outcome_stands_and_nothing_is_turned() -> None:
    table = declared(dealt_table(ANN))
    decides(table, "not_passed")
    assert table.told("round.card_revealed") == []
    assert table.told("irregularity.resolved")[-1]["rule"] == "5.7.1"
    table.does("expose", hand="player", by="dealer")


def test_an_opened_hand_is_not_retrieved_and_after_the_outcome_nothing_is_exposed() -> None:
    table = dealt_table(ANN, codes="7D 7C TS TH")
    table.does("pass_cards", hand="player")
    table.does("expose", hand="player", index=1)
    declared(table)
    assert [name for name, _ in offered(table)][:2] == ["exposed", "not_passed"]
    decides(table, "exposed")
    table.does("expose", hand="banker")
    table.does("announce_totals")
    table.does("announce_outcome")
    declared(table)
    assert next(name for name, _ in offered(table)) == "not_passed"
    decides(table, "not_passed")
    assert table.now.state == "resolved"


def test_a_hand_is_declared_once_at_a_time_and_the_other_beside_it() -> None:
    table = declared(dealt_table(ANN))
    again = table.asks("declare", key="wrong_player", hand="player", reason="r")
    assert again.error == "wrong_player is open already"
    declared(table, "banker")
    decides(table, "not_passed")
    assert (last(table)["step"], last(table)["hand"]) == ("look", "player")
    decides(table, "not_passed")
    assert table.now.state == "revealing"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({}, "say hand=player|banker"),
        ({"hand": "dealer"}, "hand"),
        ({"hand": "player", "seat": 99}, "the layout has no seat 99"),
        ({"hand": "player", "card": "9C"}, "card"),
    ],
)
def test_what_is_declared_says_which_hand(more: dict[str, Any], why: str) -> None:
    table = dealt_table(ANN)
    assert why in refusal_of(table, "declare", key="wrong_player", reason="r", **more)


def test_where_all_cards_are_dealt_face_up_no_hand_is_passed_at_all() -> None:
    table = TableHarness(**WAYS[1]).open_shoe()
    table.deal("2D 3C")
    why = refusal_of(table, "declare", key="wrong_player", hand="player", reason="r")
    assert "all cards are dealt face up" in why


def test_a_card_drawn_meanwhile_is_ruled_on_first() -> None:
    table = declared(dealt_table(ANN, codes="2D 3C TS"))
    table.draw("4C")
    why = refusal_of(table, "decide", choice="not_passed", position="dealer")
    assert why == "cards were drawn that have no place in the round"
    table.rules("void")
    assert table.told("round.void")[-1]["rule"] == "6.1"


@pytest.mark.parametrize(
    ("game", "rule"),
    [
        ("immortal_dragon_tiger", "5.7"), ("dragon_tiger_no_commission", "5.7"), ("tiger", "5.7"),
        ("fa_fa_fabulous_4", "5.7"),
    ],
)  # fmt: skip
def test_every_game_cites_its_own_rule(game: str, rule: str) -> None:
    codes = "2g 3g Tg Tw" if game.startswith("fa") else "2D 3C TS TH"
    table = declared(dealt_table(codes=codes, name=game), seat=2)
    decides(table, "retrieve")
    decides(table, "pass_on", seat=1)
    assert table.told("irregularity.resolved")[-1]["rule"] == rule
    declared(table)
    decides(table, "not_passed")
    assert table.told("irregularity.resolved")[-1]["rule"] == f"{rule}.1"
