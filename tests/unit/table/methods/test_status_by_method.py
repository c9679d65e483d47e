"""The status in Methods A and C: who holds what, what is next, which commands belong here."""

from __future__ import annotations

from typing import Any

from shoe_ctl.cli.table_view import lines
from shoe_ctl.table.status import status
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.tables import (
    CASINO,
    STAND,
    TableHarness,
    dealt_table,
    game,
    method_table,
    staked_table,
)

ANN, BOB = ("ann", 3, "player", 500), ("bob", 5, "player", 300)


def shown(table: TableHarness) -> dict[str, Any]:
    return status(table.now, table.game, table.settings)


def due(table: TableHarness) -> tuple[str | None, str]:
    """What is next; where a command brings it, that command is taken as it is offered."""
    found = shown(table)["next"]
    return found["command"], english(found["message"])


def takes(table: TableHarness) -> set[str]:
    return {taken["command"] for taken in shown(table)["takes"]}


def does_next(table: TableHarness) -> None:
    held = shown(table)
    position = {t["command"]: t["position"] for t in held["takes"]}[held["next"]["command"]]
    table.does(held["next"]["command"], position=position, **held["next"]["args"])


def test_following_what_is_next_passes_and_exposes_each_hand() -> None:
    table = dealt_table(ANN, BOB)
    table.does("set_first_hand", hand="player")
    assert due(table) == ("pass_cards", "pass Player's cards to seat 3")
    does_next(table)
    assert due(table) == ("expose", "seat 3 exposes Player's cards")
    table.does("refuse_cards", hand="player")
    assert due(table) == ("pass_cards", "pass Player's cards to seat 5")
    for _ in range(2):
        does_next(table)
    assert due(table)[1].startswith("the pit supervisor names who takes Banker's cards")
    while table.now.state != "idle" and shown(table)["next"]["command"] is not None:
        does_next(table)
    assert table.now.state == "drawing"


def test_without_recorded_wagers_the_dealer_is_told_whom_to_look_for() -> None:
    text = "pass Player's cards to the highest wager, or expose them"
    assert due(dealt_table()) == ("expose", text)


def test_the_hand_that_was_set_first_is_next_first() -> None:
    table = dealt_table()
    table.does("set_first_hand", hand="banker")
    assert shown(table)["next"]["args"] == {"hand": "banker"}
    does_next(table)


def test_who_holds_a_hand_and_the_shoe_is_shown_by_the_seat_alone() -> None:
    table = staked_table(ANN, method="C")
    assert shown(table)["shoe_with"] is None
    table.does("offer_shoe", player="ann")
    table.does("no_more_bets")
    table.deal(STAND)
    table.does("pass_cards", hand="banker", player="ann")
    held = shown(table)
    assert (held["method"], held["shoe_with"]) == ("C", {"seat": 3})
    assert held["held_by"] == {"player": None, "banker": {"seat": 3}}
    assert "'ann'" not in str(held)
    seen = [line.split(maxsplit=1)[-1] for line in lines(held)]
    assert "bac-07-s1, with seat 3" in seen
    assert "[ ] [ ]  with seat 3" in seen


def test_a_player_whose_seat_is_not_known_is_shown_as_a_player() -> None:
    table = dealt_table()
    table.does("pass_cards", hand="player", player="ann")
    assert "'ann'" not in str(shown(table))
    assert due(table) == ("expose", "the Player exposes Player's cards")
    assert any("with a Player" in line for line in lines(shown(table)))


def test_a_shoe_that_waits_for_a_wager_says_so_and_how_it_goes_on() -> None:
    table = method_table("C")
    table.does("offer_shoe", player="cat", seat=1)
    table.does("place_your_bets")
    table.does("place_wager", player="ann", seat=3, wager="player", amount=500)
    table.does("no_more_bets")
    command, text = due(table)
    assert command == "relinquish_shoe"
    assert "has no wager" in text
    table.does("allow_without_wager", player="cat", position=CASINO)
    assert due(table)[1] == "draw Player's card 1"


def test_commands_of_another_method_are_not_offered() -> None:
    a, b, c = (dealt_table(method=method) for method in "ABC")
    handing, only_a = {"pass_cards", "refuse_cards", "allow_squeeze"}, {"name_holder"}
    only_c = {"offer_shoe", "relinquish_shoe", "allow_without_wager", "declare_out_of_view"}
    for table in (a, c):
        table.does("pass_cards", hand="banker", seat=3)
    c.does("offer_shoe", player="ann")
    assert takes(a) & (handing | only_a | only_c) == handing | only_a
    assert takes(b) & (handing | only_a | only_c) == set()
    assert takes(c) & (handing | only_a | only_c) == (handing | only_c) - {"offer_shoe"}
    c.does("relinquish_shoe")
    assert takes(c) & only_c == {"offer_shoe", "allow_without_wager"}
    assert "change_method" in takes(method_table("B"))
    royal = TableHarness(name="dragon_bonus_royal", method=None)
    royal.connect()
    royal.hello(resumed=False)
    royal.load()
    assert game("dragon_bonus_royal").methods == {}
    assert "place_your_bets" in takes(royal)
    assert "change_method" not in takes(royal)
