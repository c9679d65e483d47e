"""A card that the shoe was armed for in a round that ended before it showed that it is locked."""

from __future__ import annotations

import pytest

from firmware_proto.events import Status
from shoe_ctl.table.state import from_bytes, to_bytes
from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import TableHarness, balanced


def left_armed(*, way: int, restarted: bool = False) -> TableHarness:
    """One card of a round lies there, the shoe is armed for the second; the round is made void."""
    table = TableHarness(**WAYS[way]).open_shoe()
    table.open_round()
    table.deal("9C")
    if restarted:
        table.restart("b1")
    else:
        table.disconnect()
    table.rules("void")
    if table.now.pending_irregularities:
        table.does("decide", choice="keep_cards", position="dealer")
    return table


def returns(table: TableHarness, *, drawn: int) -> None:
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
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("9C")
    table.disconnect()
    returns(table, drawn=2)
    table.draw("8S", number=2, armed=True)
    assert table.now.halt is None
    assert [d.card.code for d in table.now.round.cards] == ["9C", "8S"]


# The link stays, and what goes over it is slow.


def shows(table: TableHarness, armed: int | None, drawn: int) -> None:
    """The shoe shows what it is armed for, and how many cards it counts out."""
    table.says(Status(armed=armed, drawn=drawn, unacknowledged=0, locked_by_key=False))


def void_while_free(*, way: int, before_the_halt: tuple[int | None, ...]) -> TableHarness:
    """One card of a round lies there, and the shoe may be free for the second; void."""
    table = TableHarness(**WAYS[way]).open_shoe()
    table.open_round()
    shows(table, 1, 0)
    table.deal("9C")
    for armed in before_the_halt:
        shows(table, armed, 1)
    table.fails()
    return table


@pytest.mark.parametrize("way", range(len(WAYS)))
@pytest.mark.parametrize("seen", [(), (None,), (2,)], ids=["nothing", "a late status", "freed"])
def test_a_card_under_way_when_its_round_is_made_void_is_not_dealt_to_the_next(
    way: int, seen: tuple[int | None, ...]
) -> None:
    table = void_while_free(way=way, before_the_halt=seen)
    table.rules("void")
    table.open_round()
    dealt = len(table.told("round.card_dealt"))
    shows(table, 2, 1)
    table.draw("8S", number=2, armed=True)
    assert table.key == "overdraw"
    assert len(table.told("round.card_dealt")) == dealt


@pytest.mark.parametrize("way", range(len(WAYS)))
@pytest.mark.parametrize("when", ["in the halt", "after it", "in the next round"])
def test_a_shoe_that_shows_that_it_is_locked_again_gives_the_next_round_its_card(
    way: int, when: str
) -> None:
    table = void_while_free(way=way, before_the_halt=(2,))
    if when == "in the halt":
        shows(table, None, 1)
    table.rules("void")
    if when == "after it":
        shows(table, None, 1)
    table.open_round()
    if when == "in the next round":
        shows(table, None, 1)
    shows(table, 2, 1)
    table.draw("8S", number=2, armed=True)
    assert table.now.halt is None
    assert [d.card.code for d in table.now.round.cards] == ["8S"]


def test_the_link_that_goes_before_the_shoe_showed_it_leaves_the_card_under_way() -> None:
    table = void_while_free(way=0, before_the_halt=(2,))
    table.disconnect()
    table.rules("void")
    table.open_round()
    returns(table, drawn=2)
    table.draw("8S", number=2, armed=True)
    assert table.key == "overdraw"


def test_the_first_draw_that_a_shoe_is_ever_armed_for_may_be_under_way_too() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    shows(table, 1, 0)
    table.fails()
    table.rules("void")
    table.open_round()
    table.draw("8S", number=1, armed=True)
    assert table.key == "overdraw"
    assert table.told("round.card_dealt") == []


def test_a_round_and_the_one_before_it_may_both_have_an_arm_of_the_same_draw() -> None:
    table = void_while_free(way=0, before_the_halt=(2,))
    table.rules("void")
    table.open_round()
    arms = table.now.arming, table.now.shoe.stale_arm
    assert [arm.number for arm in arms] == [2, 2]
    assert [arm.withdrawn for arm in arms] == [False, True]
    assert arms[0].round_id == table.now.round.id != arms[1].round_id
    assert from_bytes(to_bytes(table.now)) == table.now


def test_a_card_that_comes_after_the_shoe_showed_that_it_is_locked_was_drawn_early() -> None:
    table = void_while_free(way=0, before_the_halt=(2,))
    assert table.now.arming.withdrawn
    shows(table, None, 1)
    assert table.now.arming is None
    table.rules("play_on")
    table.does("pause")
    shows(table, 2, 1)
    shows(table, None, 1)
    table.draw("8S", number=2, armed=True)
    assert (table.key, table.now.pending) == ("overdraw", None)
