"""What the search found and was mended: each as small as it can be told."""

from __future__ import annotations

import pytest

from firmware_proto.cards import card
from firmware_proto.events import CardsDrawn, Error, ShoeLoaded
from shoe_ctl.table.status import status
from shoe_testing.table_corpus import WAYS, kind_of
from shoe_testing.tables import TableHarness, balanced


def at(codes: str = "", shoe: str = "reference") -> TableHarness:
    table = TableHarness(**kind_of(shoe), **WAYS[0]).open_shoe()
    table.open_round()
    table.deal(codes)
    return table


def declares(table: TableHarness, key: str, **more: object) -> None:
    table.does("declare", key=key, reason="seen", **more)


def enters_by_hand(table: TableHarness, player: str, banker: str) -> None:
    table.does("enter_round", player=player, banker=banker, reason="by hand", consented_by="lee")


def test_a_card_drawn_early_is_the_rounds_that_was_finished_by_hand_and_not_the_nexts() -> None:
    table = at("2D 3C TS TH")
    table.draw("4C")
    declares(table, "other")
    enters_by_hand(table, "2D TS 4C", "3C TH AC")
    assert table.now.early == ()
    assert table.now.shoe.counts["4C"] == 1
    assert balanced(table.now)
    table.does("settle")
    table.open_round()
    table.deal("2C 3D TC TD")
    table.turn_over()
    table.does("announce_totals")
    assert table.now.state == "drawing"


def test_a_card_that_the_shoe_objected_to_is_counted_once_in_a_round_finished_by_hand() -> None:
    table = at("2D 3C TS TH", shoe="angel_eye")
    table.says(Error(code="overdraw", in_error_mode=True))
    declares(table, "other")
    enters_by_hand(table, "2D TS 4C", "3C TH AC")
    assert (table.now.early, table.now.shoe.drawn) == ((), 6)
    assert balanced(table.now)


def test_a_missed_card_lies_behind_the_one_that_was_ruled_to_open_the_round() -> None:
    table = TableHarness(**WAYS[1]).open_shoe()
    table.deal("7D 7C TS TH")
    table.draw("4C")
    table.turn_over()
    table.rules("first_card")
    table.hello(resumed=False, drawn=7)
    table.does("decide", choice="enter", card="9C", reason="seen", consented_by="lee")
    table.does("decide", choice="enter", card="9D", reason="seen", consented_by="lee")
    lying = [(dealt.hand, dealt.index, dealt.card.code) for dealt in table.now.round.cards]
    assert lying == [("player", 1, "4C"), ("banker", 1, "9C"), ("player", 2, "9D")]
    assert table.now.opening == ()


def test_a_card_that_is_gone_can_be_turned_over_by_nobody() -> None:
    table = at("2D 3C TS TH")
    declares(table, "card_taken", hand="player", index=1)
    declares(table, "wrong_player", hand="player")
    table.does("decide", choice="exposed", reason="it fell")
    seen = [(each["hand"], each["index"]) for each in table.told("round.card_revealed")]
    assert seen == [("player", 2)]
    assert table.key == "card_taken"


def test_a_link_that_comes_back_while_bets_are_taken_anew_resumes_there() -> None:
    table = at("2D 3C TS")
    table.disconnect()
    declares(table, "device_reset")
    table.does("decide", choice="close_window")
    table.does("decide", choice="device_is_reset")
    table.rules("set_aside")
    assert (table.key, table.now.halt.resume_state) == ("link_lost", "betting")
    table.connect()
    table.hello()
    assert (table.now.state, table.now.halt) == ("betting", None)


def test_where_the_link_was_away_before_the_first_card_a_person_aligns_the_shoe() -> None:
    table = at(shoe="bee_tek")
    table.disconnect()
    table.connect()
    assert table.now.state == "closed"
    assert status(table.now, table.game, table.settings)["next"]["command"] == "align"
    table.does("align", position="pit_supervisor")
    table.deal("2D 3C")
    assert table.now.state == "dealing"


@pytest.mark.parametrize("key", ["overdraw", "card_taken", "wrong_player"])
def test_what_was_open_of_cards_ends_where_a_reset_sets_them_aside(key: str) -> None:
    table = at("2D 3C TS TH") if key != "overdraw" else at("2D 3C")
    if key == "overdraw":
        table.does("pause")
        table.draw("4C")
    else:
        declares(table, key, hand="player")
    assert table.key == key
    declares(table, "device_reset")
    table.does("decide", choice="close_window")
    table.does("decide", choice="device_is_reset")
    table.rules("set_aside")
    ended = [(each["key"], each["how"]) for each in table.told("irregularity.resolved")]
    assert ended[-1] == (public_name(key), "cards_set_aside")
    assert table.now.round.cards == ()


def public_name(key: str) -> str:
    return "drawn_early" if key == "overdraw" else key


def test_where_a_game_lets_nobody_withdraw_cards_are_ordered_without_asking() -> None:
    table = TableHarness(name="dragon_bonus_royal", **WAYS[1]).open_shoe()
    table.deal("2D 3C TS TH")
    table.turn_over()
    table.says(CardsDrawn(cards=(None, None), order_known=False))
    for choice in ("order_unknown", "lower_first"):
        table.does("decide", choice=choice, reason="as they lay")
    assert table.told("withdrawal.opened") == []
    assert table.told("irregularity.step")[-1]["step"] == "lay"


def test_cards_that_wait_already_halt_no_table_that_is_bet_at_anew() -> None:
    table = at("2D 3C TS TH")
    table.draw("9S")
    table.draw("KC")
    declares(table, "double_draw")
    for choice in ("order_unknown", "upper_first", "close_window"):
        table.does("decide", choice=choice, reason="as they lay")
    declares(table, "device_reset")
    for choice in ("close_window", "device_is_reset", "open_round", "reconstruct"):
        table.does("decide", choice=choice, reason="they lie")
    assert (table.now.state, table.now.halt) == ("betting", None)
    assert [opened.key for opened in table.now.pending_irregularities] == ["overdraw", "overdraw"]
    table.does("no_more_bets")
    assert table.now.state == "revealing"


def test_a_card_that_the_shoe_only_objected_to_was_drawn_together_with_none() -> None:
    table = at("2D")
    table.says(Error(code="overdraw", in_error_mode=True))
    refused = table.asks("declare", key="double_draw", reason="two at once")
    assert not refused.accepted


@pytest.mark.parametrize("another_set", [False, True])
def test_cards_pulled_together_and_set_aside_by_inspections_halt_no_table_between_rounds(
    another_set: bool,
) -> None:
    table = TableHarness(name="tiger", method="B").open_shoe()
    table.draw("Af")
    declares(table, "missed_draw")
    table.says(CardsDrawn(cards=(card("2f"), card("3f")), order_known=True))
    for choice in ("earlier_stand", "earlier_stand", "order_from_shoe"):
        table.does("decide", choice=choice, reason="as they lay")
    if another_set:
        table.says(ShoeLoaded(set_id="set-2"))
    assert [opened.key for opened in table.now.halt.stack] == [
        "foreign_card", "missed_draw", "double_draw",
    ]  # fmt: skip
    for choice in ("play_on", "play_on", "earlier_stand"):
        assert status(table.now, table.game, table.settings)["next"]["command"] == "decide"
        table.does("decide", choice=choice, reason="they lie aside")
    assert (table.now.halt, table.now.held) == (None, ())
