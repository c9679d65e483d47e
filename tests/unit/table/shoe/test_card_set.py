"""Another set in the shoe while a round wants cards: the round never goes on with it unruled."""

from __future__ import annotations

from firmware_proto.cards import card
from firmware_proto.commands import Armed
from firmware_proto.events import CardDrawn
from shoe_testing.tables import TableHarness, balanced


def closed() -> TableHarness:
    table = TableHarness(announcements="explicit").open_shoe()
    table.open_round()
    assert table.now.state == "closed"
    return table


def heard_late(table: TableHarness) -> None:
    """The shoe shows other cards; one of those before them was drawn unheard."""
    table.disconnect()
    table.connect()
    table.hello(set_id="set-2", drawn=0)
    table.says(CardDrawn(card=card("7D"), number=1, armed=True))
    table.load("set-2")


def test_cards_set_aside_leave_the_question_of_the_new_set() -> None:
    table = closed()
    heard_late(table)
    table.rules("set_aside")
    assert (table.now.state, table.key, table.now.held) == ("suspended", "other", ())
    plays_the_new_set_once_the_round_is_void(table)


def test_what_halted_the_round_before_its_first_card_does_not_let_it_go_on_with_them() -> None:
    table = closed()
    table.does("declare", key="table_differential", reason="counted")
    table.load("set-2")
    table.does("decide", choice="decreased", position="dealer", reason="seat 3")
    assert (table.now.state, table.key) == ("suspended", "other")
    plays_the_new_set_once_the_round_is_void(table)


def plays_the_new_set_once_the_round_is_void(table: TableHarness) -> None:
    refused = table.asks("decide", choice="play_on", reason="seen")
    assert "another set of cards" in (refused.error or "")
    table.rules("void")
    assert (table.now.state, table.now.shoe.set_id) == ("idle", "set-2")
    table.open_round()
    assert table.desired == Armed(1, "player", 1)
    assert balanced(table.now)
