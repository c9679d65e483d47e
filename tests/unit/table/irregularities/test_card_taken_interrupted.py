"""A Player left with cards (5.11): what else may happen before it is at its end."""

from __future__ import annotations

import pytest

from firmware_proto.commands import Armed, Locked
from shoe_testing.table_corpus import WAYS
from shoe_testing.table_situations import (
    card_taken_table,
    count_decks,
    decide_with_consent,
    set_two_aside,
)
from shoe_testing.tables import BOTH_DRAW, TableHarness, balanced, dealt_table, refusal_of


def test_a_card_that_is_not_the_shoes_is_inspected_and_not_laid_aside() -> None:
    table = card_taken_table()
    decide_with_consent(table, "not_known", reason="r")
    table.draw("4f")
    assert table.key == "foreign_card"
    assert table.now.ahead == ()
    table.rules("void")
    assert table.told("round.void")[-1]["rule"] == "5.1"


def test_a_card_forced_past_the_bolt_is_none_of_the_two() -> None:
    table = card_taken_table()
    decide_with_consent(table, "not_known", reason="r")
    table.draw("4C", armed=False)
    assert (table.now.ahead, len(table.now.held)) == ((), 1)


def test_the_player_is_back_and_play_goes_on_with_the_two_for_the_hands() -> None:
    table = card_taken_table("2D 3C TS TH")
    decide_with_consent(table, "not_known", reason="r")
    table.draw("4C")
    table.rules("play_on")
    table.does("expose", hand="player")
    table.does("expose", hand="banker")
    table.does("announce_totals")
    table.does("expose", hand="player", index=3)
    assert table.desired == Armed(6, "banker", 3)


def test_once_the_shoe_is_sorted_another_set_or_a_lost_link_is_nothing_to_this_round() -> None:
    table = set_two_aside(card_taken_table())
    decide_with_consent(table, "sorted")
    table.load("set-2")
    table.disconnect()
    table.connect()
    table.hello(set_id="set-2", drawn=0)
    assert (table.key, table.now.halt.earlier) == ("card_taken", ())
    decide_with_consent(table, "determined", cards="2D")
    decide_with_consent(table, "replaced")
    finish_all(table)
    assert (table.now.state, table.now.shoe.set_id) == ("idle", "set-2")


def finish_all(table: TableHarness) -> None:
    while table.now.state == "revealing":
        if not table.now.round.all_revealed:
            table.turn_over()
        elif not table.now.round.totals_announced:
            table.does("announce_totals")
        else:
            table.does("announce_outcome")
    table.does("settle")


def test_with_the_shoe_empty_there_is_nothing_to_lay_aside() -> None:
    table = TableHarness(**WAYS[0], decks=1, method="A")
    table.connect()
    table.hello(resumed=False, decks=1, drawn=48, set_id="set-1")
    table.does("place_your_bets")
    table.does("no_more_bets")
    for code in BOTH_DRAW.split():
        table.draw(code)
    table.does("declare", key="card_taken", hand="player", reason="gone")
    decide_with_consent(table, "not_known", reason="r")
    assert table.desired == Locked()
    decide_with_consent(table, "shoe_is_empty")
    count_decks(table, "2D TS")
    decide_with_consent(table, "replaced")
    table.does("expose", hand="banker")
    table.does("announce_totals")
    assert table.told("round.void")[-1]["rule"] == "5.3"


@pytest.mark.parametrize("after", ["value", "aside", "sorted", "counted"])
def test_the_shift_manager_may_call_it_void_at_every_step(after: str) -> None:
    table = card_taken_table()
    if after != "value":
        set_two_aside(table)
    if after == "sorted":
        decide_with_consent(table, "sorted")
    if after == "counted":
        count_decks(table)
    table.rules("void")
    assert table.told("round.void")[-1]["rule"] == "6.1"
    changes = after in ("sorted", "counted")
    assert table.now.state == ("shoe_change" if changes else "idle")
    assert balanced(table.now)


def test_what_was_seen_cannot_be_taken_unknown() -> None:
    table = dealt_table(codes="7D 7C TS TH")
    table.does("expose", hand="player")
    why = refusal_of(table, "declare", key="card_taken", hand="player", reason="r")
    assert why == "no such card lies face down: what was seen is known"
    assert "hand" in refusal_of(table, "declare", key="card_taken", reason="r")
    table.does("declare", key="card_taken", hand="banker", reason="r")
    again = table.asks("declare", key="card_taken", hand="banker", reason="r")
    assert again.error == "card_taken is open already"
