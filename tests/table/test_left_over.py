"""A card that the shoe was armed for in a round that ended while its link was away."""

from __future__ import annotations

import pytest

from tests.table.playing import Playing, balanced
from tests.table.sessions import WAYS


def left_armed(*, way: int, restarted: bool = False) -> Playing:
    """One card of a round lies there, the shoe is armed for the second; the round is made void."""
    table = Playing(**WAYS[way]).open_shoe()
    table.open_round()
    table.deal("9C")
    if restarted:
        table.restart("b1")
    else:
        table.disconnect()
    table.rules("void")
    if table.now.waiting:
        table.does("decide", choice="keep_cards", position="dealer")
    return table


def returns(table: Playing, *, drawn: int) -> None:
    table.connect()
    table.hello(drawn=drawn)


@pytest.mark.parametrize("way", range(len(WAYS)))
@pytest.mark.parametrize("restarted", [False, True])
def test_a_card_that_may_have_been_the_void_rounds_is_not_dealt_to_the_next(
    way: int, restarted: bool
) -> None:
    table = left_armed(way=way, restarted=restarted)
    table.open_round()
    dealt = len(table.told("round.card_dealt"))
    returns(table, drawn=2)
    table.draw("8S", number=2, armed=True)
    assert table.key == "overdraw"
    assert len(table.told("round.card_dealt")) == dealt
    table.rules("set_aside")
    assert table.now.halt is None
    table.deal("7D")
    assert [d.card.code for d in table.now.round.cards] == ["7D"]
    assert balanced(table.now)


def test_whoever_rules_may_say_that_it_is_this_rounds() -> None:
    table = left_armed(way=0)
    table.open_round()
    returns(table, drawn=2)
    table.draw("8S", number=2, armed=True)
    table.rules("due")
    assert table.now.halt is None
    assert [d.card.code for d in table.now.round.cards] == ["8S"]


def test_a_card_that_was_not_drawn_while_the_link_was_away_is_dealt() -> None:
    table = left_armed(way=0)
    table.open_round()
    returns(table, drawn=1)
    table.draw("8S", number=2, armed=True)
    assert table.now.halt is None
    assert [d.card.code for d in table.now.round.cards] == ["8S"]


def test_a_link_that_goes_again_before_the_card_came_changes_nothing() -> None:
    table = left_armed(way=0)
    table.open_round()
    returns(table, drawn=2)
    table.disconnect()
    returns(table, drawn=2)
    table.draw("8S", number=2, armed=True)
    assert table.key == "overdraw"


def test_in_the_round_that_it_was_drawn_for_it_takes_its_slot() -> None:
    table = Playing(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("9C")
    table.disconnect()
    returns(table, drawn=2)
    table.draw("8S", number=2, armed=True)
    assert table.now.halt is None
    assert [d.card.code for d in table.now.round.cards] == ["9C", "8S"]
