"""The table of commands: what a check finds is what is refused, offered and shown of a choice."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_ctl.table.commands import COMMANDS, MOVES
from shoe_ctl.table.status import status
from shoe_ctl.table.transitions import ROUND
from shoe_ctl.table.wagers.limits import TableLimits
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import TableHarness, dealt_table


def shown(table: TableHarness) -> dict[str, Any]:
    return status(table.now, table.game, table.settings)


def choice(table: TableHarness, name: str) -> dict[str, Any]:
    """What the status shows of this choice of the open step."""
    halt = shown(table)["halt"]
    (found,) = (one for one in halt["choices"] if one["choice"] == name)
    return dict(found)


def offered(table: TableHarness) -> set[str]:
    return {offer["command"] for offer in shown(table)["takes"]}


def missed(way: int, codes: str) -> TableHarness:
    """A card left while the link was away, and the shoe cannot tell which."""
    table = TableHarness(**{**WAYS[way], "face_up_after_ms": 0}).open_shoe()
    table.open_round()
    table.deal(codes)
    table.disconnect()
    table.connect()
    table.hello(resumed=False, drawn=table.now.shoe.drawn + 1)
    return table


@pytest.mark.parametrize("name", [c.name for c in COMMANDS.values() if c.do is MOVES])
def test_a_command_that_moves_the_table_has_its_line_in_just_the_states_that_take_it(
    name: str,
) -> None:
    moving = {state for state, rows in ROUND.items() if name in rows}
    assert moving == {*COMMANDS[name].states}


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("ask_shoe", "the angel_eye shoe cannot be asked anything"),
        ("pass_cards", "in Method B no Player handles the cards"),
        ("enter_round", "enter_round cannot be taken now (the table is revealing)"),
        ("expose", "say hand=player|banker"),
    ],
)
def test_what_stands_against_a_command_is_said_before_what_is_wrong_with_its_arguments(
    command: str, why: str
) -> None:
    table = TableHarness(angel_eye=True, announcements="explicit", faces="turned_by_dealer")
    table.open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    ways: tuple[dict[str, Any], ...] = ({}, {"zz": 1})
    for args in ways:
        error = str(table.asks(command, **args).error)
        assert error.startswith(why) or (command == "expose" and "there is no zz=" in error)


def test_a_wager_of_an_earlier_round_can_be_declared_whatever_halts_the_table() -> None:
    table = TableHarness(limits=TableLimits(minimum=50))
    table.connect()
    table.hello(set_id=None, drawn=0)
    assert "declare" not in offered(table)
    table.draw("9S")
    assert table.now.state == "suspended"
    assert "declare" in offered(table)
    found = {"player": "ann", "seat": 1, "wager": "tie", "amount": 10, "earlier": True}
    table.does("declare", key="under_minimum", reason="counted", **found)


def test_of_a_hand_that_is_not_named_it_is_said_what_stands_against_each() -> None:
    table = dealt_table(("ann", 1, "player", 100), ("ben", 3, "banker", 100))
    table.does("pass_cards", hand="player")
    assert str(table.asks("pass_cards").error) == "say hand=player|banker"
    table.does("pass_cards", hand="banker")
    held = "seat 1 holds Player's cards; seat 3 holds Banker's cards"
    assert str(table.asks("pass_cards").error) == held


def test_a_choice_says_what_stands_against_it_whatever_it_is_given() -> None:
    table = missed(0, "2D 3C TS TH")  # face down: their third card is not due before they are seen
    why = "no card is due before those on the table are seen"
    assert english(choice(table, "enter")["not_now"]) == why


@pytest.mark.parametrize("way", [0, 1])
def test_an_argument_that_must_be_given_as_the_table_stands_is_not_shown_as_optional(
    way: int,
) -> None:
    asked: dict[str, Any] = {"name": "card", "kind": "card"}
    asked |= {} if way == 1 else {"optional": True}
    table = missed(way, "2D 3C")
    assert choice(table, "enter")["arguments"] == [asked]


@pytest.mark.parametrize(("game", "wants"), [("immortal_dragon_tiger", True), ("tiger", False)])
def test_a_choice_at_somebodys_discretion_wants_a_reason_where_the_game_does(
    game: str, wants: bool
) -> None:
    table = dealt_table(("ann", 3, "player", 500), name=game)
    table.does("refuse_cards", hand="player")
    table.does("declare", key="wrong_player", hand="player", seat=5, reason="seen by the pit")
    table.does("decide", choice="retrieve")
    found = choice(table, "pass_on")
    assert (found["position"], found.get("reason", False)) == ("pit_supervisor", wants)
    unreasoned = table.asks("decide", choice="pass_on", seat=6, position="pit_supervisor")
    assert unreasoned.accepted is not wants
    if wants:
        error = "this is at reasonable discretion: record it with a reason"
        assert str(unreasoned.error).startswith(error)
        table.does("decide", choice="pass_on", seat=6, position="pit_supervisor", reason="asked")
