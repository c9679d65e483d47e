"""Cards without a slot: one tuple, in which each has a role and keeps its order among its like."""

from __future__ import annotations

import pytest

from firmware_proto.cards import card
from shoe_ctl.games import catalog
from shoe_ctl.table.effects import Instance
from shoe_ctl.table.settings import TableSettings
from shoe_ctl.table.shoe import unplaced
from shoe_ctl.table.state import DealtCard, OpenIrregularity, TableState, UnplacedCard
from shoe_ctl.table.turn import Turn
from shoe_ctl.texts.message import message


def turn_with(*roles: str) -> Turn:
    """A turn at a table with one card of each of these roles, drawn in this order."""
    turn = Turn(catalog.load("tiger"), TableSettings(table="bac-07", decks=8), {})
    turn.now = TableState()
    for number, role in enumerate(roles, 1):
        unplaced.add_card(turn, card("7D"), number, role=role)  # type: ignore[arg-type]
    return turn


def numbers(cards: tuple[UnplacedCard, ...]) -> list[int | None]:
    return [one.number for one in cards]


def opened(number: int) -> OpenIrregularity:
    return OpenIrregularity(
        number=number,
        instance=Instance(number, number),
        key="gap",
        step="ruling",
        seen=message("seen_illegible"),
        since_us=0,
    )


def test_cards_of_a_role_stand_in_the_order_in_which_they_came_to_it() -> None:
    turn = turn_with("early", "held", "early", "held", "opening")
    assert (numbers(turn.now.early), numbers(turn.now.held)) == ([1, 3], [2, 4])
    unplaced.move_cards(turn, turn.now.held, "early")
    assert (numbers(turn.now.early), turn.now.held) == ([1, 3, 2, 4], ())
    assert numbers(turn.now.opening) == [5]


def test_a_card_is_changed_where_it_stands() -> None:
    turn = turn_with("early", "early", "early")
    unplaced.change_card(turn, turn.now.early[1], seen=True, card=None)
    assert [(one.number, one.seen) for one in turn.now.early] == [(1, False), (2, True), (3, False)]


def test_alike_cards_are_told_apart_when_one_is_dropped() -> None:
    turn = turn_with("held")
    turn.change(unplaced=(*turn.now.unplaced, *turn_with("held").now.unplaced))
    first, second = turn.now.held
    assert first == second
    unplaced.drop_cards(turn, (first,))
    assert turn.now.held[0] is second and len(turn.now.held) == 1


def test_a_whole_role_is_dropped_and_no_other() -> None:
    turn = turn_with("held", "pending", "ahead", "outside_game", "early")
    unplaced.drop_roles(turn, "held", "outside_game")
    assert [one.role for one in turn.now.unplaced] == ["pending", "ahead", "early"]


def test_an_irregularity_knows_the_cards_that_came_since_it_was_raised() -> None:
    turn = turn_with()
    for number in range(1, 4):
        unplaced.add_card(turn, card("7D"), number, role="held")
        turn.change(irregularities=number)
    assert numbers(unplaced.held_since(turn.now, opened(1))) == [2, 3]
    assert not unplaced.held_since(turn.now, opened(3))
    assert unplaced.has_held_before(turn.now, opened(1))
    unplaced.drop_cards(turn, turn.now.held[:1])
    assert not unplaced.has_held_before(turn.now, opened(1))
    assert numbers(unplaced.held_since(turn.now, opened(1))) == [2, 3]


@pytest.mark.parametrize(
    ("lying", "place", "subject"),
    [
        (
            DealtCard(hand="player", index=3, card=None, number=5, drawn_us=0),
            "player 3",
            "player 3",
        ),
        (UnplacedCard(card=None, number=6, role="early"), "drawn early", "draw 6"),
        (UnplacedCard(card=None, number=6, role="outside_game"), "outside game", "draw 6"),
    ],
)
def test_both_kinds_of_card_say_where_they_lie(
    lying: DealtCard | UnplacedCard, place: str, subject: str
) -> None:
    assert (lying.place, lying.subject, lying.seen) == (place, subject, False)
