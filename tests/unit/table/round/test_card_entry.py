"""Cards that people enter are held to what the shoe read: else the table halts and asks (6.1)."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, CardPushedBack, CardsDrawn
from shoe_ctl.records import Audience
from shoe_ctl.table.state import from_bytes, to_bytes
from shoe_ctl.table.status import status
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.table_corpus import WAYS
from shoe_testing.table_situations import (
    DOUBLE_DRAW_GAMES,
    decide_double_draw,
    of_deck,
    pulled_table,
    slots_of,
)
from shoe_testing.tables import ROUNDS, SHIFT, TableHarness, balanced, cards

BY_THE_PIT = (("order_unknown", "pit_manager"), ("upper_first", "pit_manager"),
              ("close_window", "dealer"), ("reconstruct", "dealer"))  # fmt: skip
SEEN = (("order_seen", "surveillance"), ("close_window", "dealer"), ("reconstruct", "dealer"))


def ordered(**more: Any) -> TableHarness:
    """Third cards that came as one, 4C and 5D by the shoe, and lie as the pit ordered them."""
    table = pulled_table("2D 3C TS TH", "4C 5D", known=False, **more)
    for choice, position in BY_THE_PIT:
        decide_double_draw(table, choice, position)
    if table.settings.method == "A":
        table.does("pass_cards", hand="player", seat=1)
    table.turn_over()
    table.does("announce_totals")
    table.does("expose", hand="player")
    return table


def enters(table: TableHarness, code: str, position: str = "pit_supervisor", **more: Any) -> Any:
    named = {"card": of_deck(table, code), "consented_by": "lee", **more}
    return table.asks("decide", choice="enter", position=position, **named)


def says_not_unread(table: TableHarness) -> None:
    """The record never calls a card unread that was read."""
    for event in table.events:
        assert "could not be read" not in str(event.data) + str(event.restricted_data)
        assert event.data.get("key") != "misread"


@pytest.mark.parametrize("name", DOUBLE_DRAW_GAMES)
def test_a_card_that_is_none_of_those_read_is_not_entered_and_the_table_asks(name: str) -> None:
    table = ordered(name=name)
    assert table.key == "double_draw" and table.now.halt.current.step == "name"
    answer = enters(table, "9S")
    assert (answer.accepted, answer.halted) == (True, "other")
    assert "round.card_entered" not in [e.type for e in table.events]
    assert slots_of(table)[4] == ("player", 3, None)
    table.rules("play_on")
    assert table.key == "double_draw"
    assert enters(table, "5D").accepted
    table.does("expose", hand="banker")
    assert enters(table, "5D").halted == "other"  # it was named already: 4C is left
    table.rules("play_on")
    assert enters(table, "4C").accepted
    table.does("announce_outcome")
    (outcome,) = table.told("round.outcome")
    assert outcome["player"]["cards"] == of_deck(table, "2D TS 5D").split()
    assert outcome["banker"]["cards"] == of_deck(table, "3C TH 4C").split()
    assert (table.now.shoe.pulls, table.now.shoe.overruled) == ((), {})
    assert balanced(table.now)
    says_not_unread(table)


@pytest.mark.parametrize("method", ["A", "B", "C"])
def test_in_every_method(method: str) -> None:
    table = ordered(method=method, area="Paiza Club")
    assert enters(table, "9S").halted == "other"
    table.rules("void")
    assert table.told("round.void")
    assert balanced(table.now) and table.now.shoe.unknown == 0


def test_each_end_of_it_is_told_with_its_rule() -> None:
    table = ordered()
    enters(table, "4C")
    ended = [d for d in table.told("irregularity.resolved") if d["key"] == "double_draw"]
    assert [(d["how"], d["rule"]) for d in ended] == [("ordered", "5.8.2.2"), ("named", "6.3")]


def test_after_a_double_draw_put_in_order_the_cards_are_those_that_the_shoe_read() -> None:
    table = pulled_table("2D", "3C TS", known=False)
    for choice, position in SEEN:
        decide_double_draw(table, choice, position)
    table.deal("TH")
    for hand, code in (("player", "TS"), ("banker", "3C")):
        table.does("expose", hand=hand)
        assert enters(table, "9S").halted == "other"
        table.rules("play_on")
        assert enters(table, code).accepted
    assert [code for *_, code in slots_of(table)] == ["2D", "3C", "TS", "TH"]
    assert balanced(table.now)
    says_not_unread(table)


def test_declared_and_ordered_by_the_pit_they_are_held_to_it_too() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    table.turn_over()
    table.does("announce_totals")
    for code in ("4C", "5D"):
        table.draw(code)
    table.does("declare", key="double_draw", reason="two in one pull")
    for choice, position in BY_THE_PIT:
        decide_double_draw(table, choice, position)
    table.does("expose", hand="player")
    assert enters(table, "9S").halted == "other"
    table.rules("play_on")
    assert enters(table, "5D").accepted
    assert balanced(table.now)


def test_one_that_the_shoe_could_not_read_may_be_any_card_and_only_one_may() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    pull = (card("4C"), None)
    table.says(CardsDrawn(cards=pull, number=5, order_known=False))
    for choice, position in BY_THE_PIT:
        if choice != "close_window" or table.now.halt.current.window is not None:
            decide_double_draw(table, choice, position)
    table.turn_over()
    table.does("announce_totals")
    table.does("expose", hand="player")
    assert enters(table, "9S").halted is None
    table.does("expose", hand="banker")
    assert enters(table, "8S").halted == "other"
    table.rules("play_on")
    assert enters(table, "4C").accepted
    assert balanced(table.now) and table.now.shoe.unknown == 0


def test_whoever_decides_may_rule_that_the_shoe_was_wrong_and_the_ledger_keeps_both() -> None:
    table = ordered()
    assert enters(table, "9S", against_reading=True).needs == {"position": SHIFT}
    assert enters(table, "9S", SHIFT, against_reading=True).halted is None
    assert table.now.shoe.counts.get("9S") == 1
    assert sum(table.now.shoe.overruled.values()) == 1
    table.does("expose", hand="banker")
    assert enters(table, "4C").accepted
    assert table.now.shoe.overruled == {"5D": 1}
    assert table.now.shoe.counts.get("4C") == 1 and "5D" not in table.now.shoe.counts
    assert balanced(table.now) and from_bytes(to_bytes(table.now)) == table.now


def seven_of_diamonds_all_out(entered: tuple[str, str], **more: Any) -> TableHarness:
    """Four decks; the fourth 7D came in a pull, and people say what the cards of it are."""
    table = TableHarness(decks=4, **WAYS[0]).open_shoe()
    table.play("7D 7D TS TH")
    table.play("7D 8C TS TH")
    table.open_round()
    table.deal("2D 3C TS TH")
    table.turn_over()
    table.does("announce_totals")
    table.says(CardsDrawn(cards=tuple(cards("7D 5D")), number=13, order_known=False))
    for choice, position in BY_THE_PIT:
        decide_double_draw(table, choice, position)
    for hand, code in zip(("player", "banker"), entered, strict=True):
        table.does("expose", hand=hand)
        answer = enters(table, code, SHIFT, **more)
        assert answer.accepted, answer
        if table.key == "other":
            table.rules("void")
            table.does("decide", choice="keep_cards")
            break
    return table


@pytest.mark.parametrize("overruled", [False, True])
def test_a_fifth_seven_of_diamonds_is_noticed_though_people_entered_something_else(
    overruled: bool,
) -> None:
    table = seven_of_diamonds_all_out(
        ("6H", "5D"), **{"against_reading": True} if overruled else {}
    )
    if overruled:
        table.finish()
    table.open_round()
    table.draw("7D")
    assert table.key == "extra_card"
    assert balanced(table.now)


def test_an_outcome_that_is_revised_leaves_what_the_shoe_read_in_the_ledger() -> None:
    table = TableHarness(decks=4, **WAYS[0]).open_shoe()
    table.play("7D 7D TS TH")
    table.play("7D 7C TS TH")
    table.play("7D 8C TS TH")
    table.does("revise_round", player="6H TS", banker="8C TH", reason="r", consented_by="lee")
    assert (table.now.shoe.counts["7D"], table.now.shoe.overruled) == (3, {"7D": 1})
    table.does("revise_round", player="6C TS", banker="8C TH", reason="r", consented_by="lee")
    assert table.now.shoe.overruled == {"7D": 1}  # 6H was what people said, not the shoe
    table.open_round()
    table.draw("7D")
    assert table.key == "extra_card" and balanced(table.now)


def test_entered_while_the_link_was_away_and_read_otherwise_the_reading_is_kept() -> None:
    table = TableHarness(decks=4, **{**WAYS[1], "face_up_after_ms": 0}).open_shoe()
    table.play("7D 7D TS TH")
    table.deal("7D")
    table.disconnect()
    decide_double_draw(table, "enter", "pit_supervisor", card="6H", consented_by="lee")
    table.connect()
    table.hello(drawn=6)
    table.draw("7D", number=6)
    assert table.key == "other"
    table.rules("play_on")
    while table.now.halt is not None:
        table.rules("play_on")
    table.draw("7D", number=7, armed=True)
    assert table.key == "extra_card" and balanced(table.now)


def test_a_card_that_was_entered_unheard_is_not_called_unread_and_its_reading_names_it() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D")
    table.disconnect()
    decide_double_draw(table, "enter", "pit_supervisor", consented_by="lee")
    (waiting,) = table.now.pending_irregularities
    assert english(waiting.seen) == "Banker's card 1 was entered, and the shoe never reported it"
    table.connect()
    table.hello(drawn=2)
    table.draw("3C", number=2)
    assert table.now.pending_irregularities == ()
    assert "could not be read" not in str([e.data for e in table.events])


def test_the_shoes_later_record_of_a_card_of_another_deck_is_inspected() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D")
    table.disconnect()
    decide_double_draw(table, "enter", "pit_supervisor", consented_by="lee")
    table.connect()
    table.hello(drawn=2)
    table.says(CardDrawn(card=card("4f"), number=2, armed=True))
    assert table.key == "foreign_card"


def test_a_slots_reading_that_came_meanwhile_holds_whoever_enters_it() -> None:
    """It lay exposed and unheard of; then the shoe's record of it came."""
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D 3C TS")
    table.disconnect()
    decide_double_draw(table, "enter", "pit_supervisor", consented_by="lee")
    table.connect()
    table.hello(drawn=4)
    if table.now.halt is not None:
        table.rules("play_on")
    table.does("expose", hand="banker")
    assert (table.key, table.now.halt.current.step) == ("misread", "enter")
    table.draw("TH", number=4)
    if table.key == "misread":
        assert enters(table, "9S").halted == "other"
        table.rules("play_on")
        assert enters(table, "TH").accepted
    assert slots_of(table)[3] == ("banker", 2, "TH")
    assert balanced(table.now)


# Rounds entered by hand.


def by_hand(table: TableHarness, player: str, banker: str, **more: Any) -> Any:
    said = {"reason": "finished by key", "consented_by": "lee", **more}
    return table.asks("enter_round", player=player, banker=banker, **said)


def halted_with_two_drawn() -> TableHarness:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    table.turn_over()
    table.does("announce_totals")
    table.fails()
    for number, code in enumerate(("4C", "5D"), start=5):
        table.draw(code, number=number, armed=False)
    return table


def test_a_round_by_hand_is_held_to_cards_that_the_shoe_gave_meanwhile() -> None:
    table = halted_with_two_drawn()
    assert by_hand(table, "2D TS 4C", "3C TH 9S").halted == "other"
    assert table.told("round.outcome") == []
    assert by_hand(table, "2D TS 4C", "3C TH 5D").accepted
    assert [d.number for d in table.now.round.cards] == [1, 2, 3, 4, 5, 6]
    assert balanced(table.now)


def test_whoever_decides_may_enter_it_otherwise() -> None:
    table = halted_with_two_drawn()
    assert by_hand(table, "2D TS 4C", "3C TH 9S", against_reading=True).accepted
    assert table.told("round.outcome")[0]["banker"]["cards"] == ["3C", "TH", "9S"]
    assert balanced(table.now)


@pytest.mark.parametrize("laid", [True, False])
def test_a_round_by_hand_is_held_to_what_was_read_of_a_pull(laid: bool) -> None:
    table = pulled_table("2D 3C TS TH", "4C 5D", known=False)
    for choice, position in BY_THE_PIT:
        decide_double_draw(table, choice, position)
    if laid:
        table.turn_over()
        table.does("announce_totals")
    table.fails()
    assert by_hand(table, "2D TS 9S", "3C TH 5D").halted == "other"
    assert by_hand(table, "2D TS 5D", "3C TH 5D").halted == "other"
    assert by_hand(table, "2D TS 5D", "3C TH 4C").accepted
    assert table.told("round.outcome")[0]["player"]["cards"] == ["2D", "TS", "5D"]
    assert table.now.shoe.pulls == () and balanced(table.now)


# In public.


@pytest.mark.parametrize("second", ["5D", "8H"])
@pytest.mark.parametrize("entered", ["4C", "9S"])
def test_what_else_lies_face_down_makes_no_difference_to_what_is_told(
    second: str, entered: str
) -> None:
    """The open card is 4C at both; what the shoe read of the other is known to nobody."""
    tables = [
        pulled_table("2D 3C TS TH", codes, known=False) for codes in ("4C 6S", f"4C {second}")
    ]
    told = []
    for table in tables:
        for choice, position in BY_THE_PIT:
            decide_double_draw(table, choice, position)
        table.turn_over()
        table.does("announce_totals")
        table.does("expose", hand="player")
        answer = enters(table, entered)
        told.append(([(e.type, e.data) for e in table.public], answer, table.desires))
    assert told[0] == told[1]


def test_the_status_asks_for_the_card_and_says_nothing_of_the_others() -> None:
    table = ordered()
    shown = status(table.now, table.game, table.settings)
    assert shown["halt"]["reason"] == "double_draw"
    assert [c["choice"] for c in shown["halt"]["choices"]] == ["enter", "void"]
    del shown["setup"]  # which lists the deck
    assert "5D" not in str(shown) and "4C" not in str(shown)


def test_who_named_it_and_what_is_in_the_restricted_stream_alone() -> None:
    table = ordered()
    enters(table, "9S")
    steps = table.told("irregularity.step", Audience.RESTRICTED)
    (step,) = [s for s in steps if s.get("step") == "entry_contradicts_reading"]
    assert (step["person"], step["consented_by"], step["said"]["card"]) == ("kim", "lee", "9S")
    assert "9S" not in str([(e.data) for e in table.public])


def test_a_card_of_a_pull_that_is_pushed_back_leaves_no_reading_of_it() -> None:

    table = pulled_table("2D 3C TS TH", "4C 5D", known=False)
    for choice, position in BY_THE_PIT:
        decide_double_draw(table, choice, position)
    table.says(CardPushedBack(card=None, number=6))
    table.rules("reconstructed")
    assert balanced(table.now)
    table.turn_over()
    table.does("announce_totals")
    table.does("expose", hand="player")
    assert enters(table, "9S").accepted
    assert balanced(table.now)


def test_what_is_left_of_a_pull_stays_in_the_ledger_as_it_was_read() -> None:
    table = pulled_table("7D 7C TS TH", "4C 5D", known=False)
    for choice, position in BY_THE_PIT:
        decide_double_draw(table, choice, position)
    table.turn_over()
    table.does("announce_totals")
    table.rules("set_aside")
    table.rules("set_aside")
    table.finish()
    assert table.now.shoe.counts.get("4C") == table.now.shoe.counts.get("5D") == 1
    assert table.now.shoe.unknown == 0
    table.play(ROUNDS["both stand"])
    assert balanced(table.now)
