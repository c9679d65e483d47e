"""Cards drawn early from a shoe that judges by itself: its objections, its places, its result."""

from __future__ import annotations

import pytest

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, CardOutsideGame, Error, Redesignated
from shoe_ctl.records import Audience
from shoe_testing.table_corpus import WAYS
from shoe_testing.table_situations import (
    NO_THIRD_CARD,
    THIRD_CARDS_DRAWN,
    early_card_ends,
    face_down_table,
    object_to_card,
    reveal_all,
)
from shoe_testing.tables import ROUNDS, TableHarness, balanced

# A shoe that judges.


def test_a_card_that_its_shoe_gave_the_place_that_is_due_takes_it() -> None:
    table = face_down_table(THIRD_CARDS_DRAWN, angel_eye=True)
    table.draw("4C", hand="player", index=3)
    reveal_all(table)
    assert early_card_ends(table) == [("kept", "5.7")]


@pytest.mark.parametrize("known", [True, False])
def test_a_card_that_its_shoe_objects_to_does_not_take_its_place_by_itself(known: bool) -> None:
    table = face_down_table(THIRD_CARDS_DRAWN, angel_eye=True)
    if known:
        object_to_card(table)
    else:
        table.says(Error(code="overdraw", in_error_mode=True))
    reveal_all(table)
    assert (table.key, table.now.halt.current.step) == ("overdraw", "ruling")
    table.rules("due")
    third = table.now.round.cards[4]
    assert (third.hand, third.index, third.number) == ("player", 3, 5)
    assert third.card == (card("4C") if known else None)
    assert [o.key for o in table.now.pending_irregularities] == ([] if known else ["misread"])
    assert (table.now.state, table.now.shoe.drawn) == ("revealing", 5)
    assert balanced(table.now)


def test_a_card_told_before_its_error_is_one_card() -> None:
    table = face_down_table(NO_THIRD_CARD, angel_eye=True)
    table.says(CardOutsideGame(card=card("4C"), mode="error", code=2))
    table.says(Error(code="overdraw", in_error_mode=True))
    assert len(table.now.early) == len(table.now.pending_irregularities) == 1
    reveal_all(table)
    table.rules("set_aside")
    assert table.now.early == ()


def test_an_overdraw_told_where_a_card_is_due_halts() -> None:
    table = face_down_table("2D 3C", angel_eye=True)
    object_to_card(table, "TS")
    assert (table.key, table.now.halt.current.step) == ("overdraw", "ruling")
    table.rules("due")
    assert [d.card.code for d in table.now.round.cards] == ["2D", "3C", "TS"]
    assert table.now.state == "dealing"
    object_to_card(table, "TH")
    table.rules("due")
    assert table.now.state == "revealing"


def test_the_place_that_the_shoe_then_gives_it_is_not_public_and_decides_nothing() -> None:
    table = face_down_table(NO_THIRD_CARD, angel_eye=True)
    object_to_card(table)
    before = len(table.public)
    table.says(Redesignated(card=card("4C"), hand="player", index=1))
    assert len(table.public) == before
    step = table.told("irregularity.step", Audience.RESTRICTED)[-1]
    assert (step["step"], step["hand"], step["index"]) == ("placed_by_shoe", "player", 1)
    reveal_all(table)
    table.rules("first_card")
    table.says(Redesignated(card=card("4C"), hand="player", index=1))
    table.finish()
    table.open_round()
    table.says(CardDrawn(card=card("7C"), hand="banker", index=1))
    assert [d.card.code for d in table.now.round.cards] == ["4C", "7C"]


def table_opened_with(code: str) -> TableHarness:
    """The card to which the shoe objected was ruled to open the next round, and is dealt there."""
    table = face_down_table(NO_THIRD_CARD, angel_eye=True)
    object_to_card(table, code)
    reveal_all(table)
    table.rules("first_card")
    table.finish()
    table.open_round()
    assert [(d.hand, d.index, str(d.card)) for d in table.now.round.cards] == [("player", 1, code)]
    return table


def test_told_to_keep_it_when_it_opens_a_round_already_the_shoe_agrees_with_the_table() -> None:
    table = table_opened_with("4C")
    before = len(table.events)
    table.says(Redesignated(card=card("4C"), hand="player", index=1, meaning="next_round"))
    assert (table.now.state, len(table.events)) == ("dealing", before)
    table.says(CardDrawn(card=card("7C"), hand="banker", index=1))
    assert [str(d.card) for d in table.now.round.cards] == ["4C", "7C"]


@pytest.mark.parametrize(
    ("said", "drawn_before"),
    [
        (Redesignated(card=card("4C"), hand="banker", index=1), ""),
        (Redesignated(card=card("9C"), hand="player", index=1), ""),
        (Redesignated(card=card("4C"), hand="player", index=1), "7C"),
        (Redesignated(card=card("4C"), hand="player", index=1, meaning="dealt_anew"), ""),
    ],
    ids=["another hand", "another card", "a card was dealt behind it", "the hand begins anew"],
)
def test_where_the_shoe_gives_it_another_place_or_counts_otherwise_the_table_halts(
    said: Redesignated, drawn_before: str
) -> None:
    table = table_opened_with("4C")
    if drawn_before:
        table.says(CardDrawn(card=card(drawn_before), hand="banker", index=1))
    table.says(said)
    assert (table.now.state, table.key) == ("suspended", "other")


def test_set_aside_where_the_shoe_gave_it_to_a_hand_the_shoe_is_not_aligned() -> None:
    table = TableHarness(angel_eye=True, **WAYS[0]).open_shoe()
    table.draw("4C", hand="player", index=1)
    table.rules("set_aside")
    assert not table.now.link.aligned


def test_a_shoes_own_result_does_not_judge_a_round_early_whose_cards_all_lie_there() -> None:
    table = face_down_table(
        ROUNDS["Player draws, Banker stands on 7"].rpartition(" ")[0], angel_eye=True
    )
    table.draw("4C", hand="player", index=3)
    table.judges("banker")
    reveal_all(table)
    assert (table.now.state, table.now.halt) == ("revealing", None)
    table.turn_over()
    table.does("announce_outcome")
    assert table.told("round.outcome")[-1]["winner"] == "banker"
