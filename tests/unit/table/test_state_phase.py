"""From *no more bets* to the outcome the state of a table follows from the cards that are out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, Result
from shoe_ctl.table.situations import TO_THE_OUTCOME
from shoe_ctl.table.state import TableState, phase
from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import TableHarness

ROUND = [("", "closed"), ("2D", "dealing"), ("2D 3C TS", "dealing"), ("2D 3C TS TH", "revealing")]


def dealt(codes: str) -> TableHarness:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    if codes:
        table.deal(codes)
    return table


@pytest.mark.parametrize(("codes", "state"), ROUND)
def test_the_cards_say_which_state_the_round_is_in(codes: str, state: str) -> None:
    table = dealt(codes)
    assert (table.now.state, phase(table.now)) == (state, state)


def test_a_third_card_that_is_due_makes_it_drawing_until_it_lies_there() -> None:
    table = dealt("2D 3C TS TH")
    table.turn_over()
    table.does("announce_totals")
    assert (table.now.state, phase(table.now)) == ("drawing", "drawing")
    table.deal("5S")
    assert (table.now.state, phase(table.now)) == ("revealing", "revealing")


def test_no_round_stands_where_bets_are_closed_and_no_card_is_out() -> None:
    assert phase(TableState()) == "closed"


@pytest.mark.parametrize(("codes", "state"), ROUND)
def test_the_state_in_which_play_resumes_follows_from_them_too(codes: str, state: str) -> None:
    table = dealt(codes)
    table.does("pause")
    assert (table.now.state, table.now.halt.resume_state) == ("suspended", state)
    table.does("resume")
    assert table.now.state == state


@pytest.mark.parametrize("halted", [False, True])
@pytest.mark.parametrize("wrong", TO_THE_OUTCOME)
def test_a_state_that_its_cards_do_not_bear_out_fails_and_is_not_taken(
    wrong: str, halted: bool
) -> None:
    table = dealt("2D 3C TS")
    if halted:
        table.does("pause")
        halt = msgspec.structs.replace(table.now.halt, resume_state=wrong)
        table = TableHarness(state=msgspec.structs.replace(table.now, halt=halt), **WAYS[0])
    else:
        table = TableHarness(state=msgspec.structs.replace(table.now, state=wrong), **WAYS[0])
    before = table.now
    if wrong == "dealing":
        table.restart("b1")
        return
    with pytest.raises(AssertionError, match=f"{wrong} with the cards of dealing"):
        table.asks("test_shoe")
    assert table.now == before


@pytest.mark.parametrize("way", WAYS[:2])
def test_a_card_that_waits_takes_its_slot_once_the_cards_before_it_are_put_right(
    way: dict[str, Any],
) -> None:
    table = TableHarness(**way).open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    table.turn_over()
    table.asks("announce_totals")  # implied where they lie face up
    number, *slot = table.now.armed
    table.says(Result(winner="banker", player_pair=False, banker_pair=False))
    table.says(CardDrawn(card=card("5S"), number=number, armed=True))
    assert (table.key, table.now.pending.number) == ("result_disagrees", number)
    entered = {"hand": "player", "index": 1, "card": "3D"}
    table.does("decide", choice="enter", reason="seen", consented_by="lee", **entered)
    last = table.now.round.cards[-1]
    assert (last.number, last.hand, last.index) == (number, *slot)
    totals = [(told["hand"], told["total"]) for told in table.told("round.total_announced")]
    assert totals == [("player", 2), ("banker", 3), ("player", 3), ("banker", 3)]
    assert len(table.told("irregularity.raised")) == 1
    assert (table.now.state, table.now.pending) == ("revealing", None)
