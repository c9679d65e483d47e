"""Cards drawn as one that are odd in other ways: declared, strange, missed, or a round's first."""

from __future__ import annotations

import pytest

from firmware_proto.commands import Armed
from firmware_proto.events import CardsDrawn
from shoe_ctl.table.wagers.limits import TableLimits
from shoe_testing.table_corpus import WAYS
from shoe_testing.table_situations import (
    decide_double_draw,
    offered_choices,
    pull_cards,
    pulled_table,
    slots_of,
)
from shoe_testing.tables import TableHarness, balanced, cards

ORDERED = (("order_unknown", "pit_manager"), ("upper_first", "pit_manager"),
           ("close_window", "dealer"), ("reconstruct", "dealer"))  # fmt: skip
TOLD = (("order_from_shoe", "pit_supervisor"), ("close_window", "dealer"),
        ("reconstruct", "dealer"))  # fmt: skip


def declared(codes: str, *, way: int = 0, **more: object) -> TableHarness:
    """The shoe counted each by itself; then people say that they came together."""
    table = TableHarness(**WAYS[way]).open_shoe()
    table.open_round()
    table.deal(codes)
    table.does("declare", key="double_draw", reason="two in one pull", **more)
    return table


def follows(table: TableHarness, way: tuple[tuple[str, str], ...]) -> None:
    for choice, position in way:
        decide_double_draw(table, choice, position)


# Declared.


def test_declared_people_say_who_knows_the_order() -> None:
    table = declared("2D 3C TS")
    assert offered_choices(table)[:3] == ["order_from_shoe", "order_seen", "order_unknown"]


def test_declared_in_an_order_that_nobody_knows_and_of_the_deal_the_round_is_void() -> None:
    table = declared("2D 3C TS TH")
    decide_double_draw(table, "order_unknown", "pit_manager")
    assert table.told("round.void")[-1]["rule"] == "5.8.2.1"


def test_of_three_cards_the_first_may_be_one_of_the_deal() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    for code in ("4C", "5D"):
        table.draw(code)
    table.does("declare", key="double_draw", reason="three in one pull", cards=3)
    decide_double_draw(table, "order_unknown", "pit_manager")
    assert table.told("round.void")[-1]["rule"] == "5.8.2.1"


@pytest.mark.parametrize(("count", "why"), [(1, ">= 2"), (5, "<= 4"), (4, "3 cards of the round")])
def test_no_more_cards_came_together_than_are_out(count: int, why: str) -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D 3C TS")
    answer = table.asks("declare", key="double_draw", reason="r", cards=count)
    assert answer.error is not None and why in answer.error
    assert table.now.halt is None


def third_cards() -> TableHarness:
    """Player's third card is due, and two come; the shoe counts each."""
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    table.turn_over()
    table.does("announce_totals")
    for code in ("4C", "5D"):
        table.draw(code)
    table.does("declare", key="double_draw", reason="two in one pull")
    return table


def test_declared_third_cards_that_the_pit_orders_are_named_by_two_when_they_lie_open() -> None:
    table = third_cards()
    follows(table, ORDERED)
    assert table.told("irregularity.resolved")[-1]["rule"] == "5.8.2.2"
    assert slots_of(table)[4:] == [("player", 3, None)]
    assert [k.card for k in table.now.early] == [None]
    assert balanced(table.now)
    table.does("expose", hand="player")
    decide_double_draw(table, "enter", "pit_supervisor", card="5D", consented_by="lee")
    assert slots_of(table)[4:] == [("player", 3, "5D"), ("banker", 3, None)]
    table.does("expose", hand="banker")
    decide_double_draw(table, "enter", "pit_supervisor", card="4C", consented_by="lee")
    table.does("announce_outcome")
    assert balanced(table.now) and table.now.shoe.unknown == 0


def test_a_card_that_waits_as_drawn_early_is_exchanged_for_one_in_a_hand() -> None:
    table = third_cards()
    decide_double_draw(table, "order_seen", "surveillance")
    decide_double_draw(table, "close_window", "dealer")
    swap = {"one": "player 3", "other": "drawn early", "consented_by": "lee"}
    decide_double_draw(table, "exchange", "pit_supervisor", **swap)
    decide_double_draw(table, "reconstruct", "dealer")
    assert slots_of(table)[4:] == [("player", 3, "5D")]
    assert [o.subject for o in table.now.pending_irregularities] == ["draw 5"]
    table.does("expose", hand="player")
    assert slots_of(table)[5:] == [("banker", 3, "4C")]
    assert table.now.pending_irregularities == () and balanced(table.now)


def test_cards_that_the_room_has_seen_open_no_window_and_are_not_ordered_by_the_pit() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH 4C 5D")
    table.turn_over()
    table.does("declare", key="double_draw", reason="both came as one")
    assert "order_unknown" not in offered_choices(table)
    decide_double_draw(table, "order_from_shoe", "pit_supervisor")
    assert table.told("withdrawal.opened") == []
    decide_double_draw(table, "reconstruct", "dealer")
    assert table.now.state == "revealing"


# A round's first cards, where announcements are implied.


@pytest.mark.parametrize("betting", [False, True])
def test_a_rounds_first_cards_open_it_close_bets_and_are_laid_after_the_window(
    betting: bool,
) -> None:
    table = TableHarness(**WAYS[1]).open_shoe()
    if betting:
        table.does("place_wager", player="ann", seat=1, wager="player", amount=100)
    pull_cards(table, "2D 3C", known=True)
    assert table.told("round.bets_closed") and table.now.halt.resume_state == "closed"
    follows(table, TOLD)
    assert slots_of(table) == [("player", 1, "2D"), ("banker", 1, "3C")]
    assert (table.now.state, table.desired) == ("dealing", Armed(3, "player", 2))
    table.deal("TS TH")
    assert table.now.state == "revealing" and balanced(table.now)


def test_a_rounds_first_cards_in_no_known_order_make_it_void() -> None:
    table = TableHarness(**WAYS[1]).open_shoe()
    pull_cards(table, "2D 3C", known=False)
    decide_double_draw(table, "order_unknown", "pit_manager")
    assert table.told("round.void")[-1]["rule"] == "5.8.2.1"
    assert table.now.state == "idle"


def test_four_of_them_and_chips_too_far_apart_are_ruled_on() -> None:
    table = TableHarness(**WAYS[1], limits=TableLimits(differential=50)).open_shoe()
    table.does("place_wager", player="ann", seat=1, wager="player", amount=100)
    table.says(CardsDrawn(cards=tuple(cards("2D 3C TS TH")), number=1, order_known=True))
    assert (table.key, table.now.halt.current.step) == ("table_differential", "ruling")
    table.rules("play_on")
    follows(table, TOLD)
    assert table.now.state == "drawing" and balanced(table.now)


def test_what_was_ruled_to_open_the_round_is_its_first_card_before_them() -> None:
    table = TableHarness(**WAYS[1]).open_shoe()
    table.deal("9C 2D KD 3H")
    table.draw("4C")
    table.turn_over()
    table.rules("first_card")
    pull_cards(table, "5C 6C", known=True)
    follows(table, TOLD)
    assert [code for *_, code in slots_of(table)] == ["4C", "5C", "6C"]
    assert balanced(table.now)


# Strange ones, and gaps.


@pytest.mark.parametrize(("codes", "key"), [("3C 4f", "foreign_card"), ("9C 9C", "extra_card")])
def test_one_that_is_not_the_shoes_is_inspected_first(codes: str, key: str) -> None:
    table = TableHarness(decks=1, **WAYS[0])
    table.connect()
    table.hello(resumed=False, decks=1)
    table.load(decks=1)
    table.open_round()
    table.deal("2D")
    number = table.now.shoe.drawn + 1
    table.says(CardsDrawn(cards=tuple(cards(codes)), number=number, order_known=True))
    assert (table.key, table.now.halt.earlier) == (key, ("double_draw",))
    assert table.asks("decide", choice="play_on", reason="r").accepted is False
    decide_double_draw(table, "correct", "pit_supervisor", card="5S", consented_by="lee")
    decide_double_draw(table, "play_on", "pit_supervisor")
    assert table.key == "double_draw"
    follows(table, TOLD)
    assert slots_of(table)[1:] == [("banker", 1, codes[:2]), ("player", 2, "5S")]
    assert balanced(table.now)


def test_a_foreign_one_between_rounds_is_laid_aside_alone() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.says(CardsDrawn(cards=tuple(cards("4f 3C")), number=1, order_known=True))
    table.rules("earlier_stand")
    assert [k.card.code for k in table.now.held] == ["3C"]
    decide_double_draw(table, "order_from_shoe", "pit_supervisor")
    decide_double_draw(table, "reconstruct", "dealer")
    assert table.key == "overdraw"
    table.rules("set_aside")
    assert table.now.state == "idle" and balanced(table.now)


def test_draws_that_were_passed_over_are_entered_before_they_are_laid() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D")
    table.says(CardsDrawn(cards=tuple(cards("TS TH")), number=3, order_known=True))
    assert (table.key, table.now.halt.earlier) == ("gap", ("double_draw",))
    refused = table.asks("decide", choice="place", reason="r", consented_by="lee")
    assert refused.error is not None and "put in order first" in refused.error
    table.rules("play_on")
    decide_double_draw(table, "order_from_shoe", "pit_supervisor")
    decide_double_draw(table, "close_window", "dealer")
    assert table.asks("decide", choice="reconstruct").error == (
        "an earlier card was missed: enter that one first"
    )
    decide_double_draw(table, "enter", "pit_supervisor", consented_by="lee")
    decide_double_draw(table, "reconstruct", "dealer")
    assert slots_of(table)[1:] == [("banker", 1, None), ("player", 2, "TS"), ("banker", 2, "TH")]
    assert table.now.state == "revealing" and balanced(table.now)


def test_cards_that_lie_in_their_places_are_not_laid_again() -> None:
    table = pulled_table("2D 3C", "TS TH", known=True)
    follows(table, TOLD)
    table.says(CardsDrawn(cards=tuple(cards("TS TH")), number=3, order_known=True))
    table.rules("play_on")
    decide_double_draw(table, "order_from_shoe", "pit_supervisor")
    decide_double_draw(table, "close_window", "dealer")
    answer = table.asks("decide", choice="reconstruct")
    assert answer.error is not None and "in their places already" in answer.error
    assert balanced(table.now)


def test_more_that_come_meanwhile_are_put_in_order_with_them() -> None:
    table = pulled_table("2D", "3C TS", known=True)
    decide_double_draw(table, "order_from_shoe", "pit_supervisor")
    pull_cards(table, "TH 4C", known=False)
    assert [o.key for o in table.now.halt.stack] == ["double_draw"]
    assert table.now.halt.current.window is None
    assert offered_choices(table)[:2] == ["order_seen", "order_unknown"]
    decide_double_draw(table, "order_seen", "surveillance")
    decide_double_draw(table, "close_window", "dealer")
    decide_double_draw(table, "reconstruct", "dealer")
    assert [code for *_, code in slots_of(table)] == ["2D", None, None, None]
    assert len(table.now.early) == 1 and balanced(table.now)


def test_one_drawn_by_itself_after_them_stays_known() -> None:
    table = pulled_table("2D", "3C TS", known=False)
    table.draw("TH")
    decide_double_draw(table, "order_seen", "surveillance")
    decide_double_draw(table, "close_window", "dealer")
    decide_double_draw(table, "reconstruct", "dealer")
    assert [code for *_, code in slots_of(table)] == ["2D", None, None, "TH"]
    assert balanced(table.now)


def test_a_card_drawn_early_before_them_has_its_turn_before_them() -> None:
    table = _early_then_together()
    follows(table, TOLD)
    assert len(table.now.early) == 3
    table.turn_over()
    table.does("announce_totals")
    assert slots_of(table)[4:] == [("player", 3, "4C")]
    table.does("expose", hand="player")
    assert slots_of(table)[5:] == [("banker", 3, "5D")]
    assert balanced(table.now)


def _early_then_together() -> TableHarness:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    table.draw("4C")
    pull_cards(table, "5D 6D", known=True)
    return table
