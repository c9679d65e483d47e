"""Which method is in force: who changes it, when, in which games and areas; Method B's own."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.commands import Locked
from shoe_ctl.table.commands import lowest_position
from shoe_testing.tables import (
    CASINO,
    SHIFT,
    STAND,
    TableHarness,
    dealt_table,
    game,
    method_table,
    refusal_of,
    restricted_data,
)

HAS = {
    "immortal_dragon_tiger": "AB",
    "dragon_tiger_no_commission": "ABC",
    "tiger": "ABC",
    "fa_fa_fabulous_4": "ABC",
    "dragon_bonus_royal": "",
}
CHOSEN_UNDER = {name: "3.8.2" if name.startswith("fa") else "3.9.2" for name in HAS}
NAMED_IN = {name: "3.8" if name.startswith("fa") else "3.9" for name in HAS}
IMPLIED: dict[str, Any] = {"announcements": "implied", "faces": "face_up", "face_up_after_ms": 0}


def idle(name: str = "tiger", **given: Any) -> TableHarness:
    table = TableHarness(name=name, **given)
    table.connect()
    table.hello(resumed=False, deck=table.game.deck.name)
    table.load()
    return table


def asks(table: TableHarness, method: str, position: str = CASINO, **more: Any) -> Any:
    return table.asks("change_method", method=method, position=position, **more)


@pytest.mark.parametrize("method", "ABC")
@pytest.mark.parametrize("name", HAS)
def test_each_method_in_each_game_that_has_it_and_in_no_other(name: str, method: str) -> None:
    other = "A" if method == "B" else "B"
    set_to = None if not HAS[name] else other
    table = idle(name, method=set_to, area="Paiza Club")
    answer = asks(table, method, reason="the players ask for it")
    assert answer.accepted is (method in HAS[name])
    if answer.accepted:
        assert table.told("method.changed") == [
            {"from": other, "to": method, "rule": CHOSEN_UNDER[name]}
        ]
    elif HAS[name]:
        assert answer.error == (f"{name} has no Method {method}, it has A, B ({NAMED_IN[name]})")
    else:
        assert answer.error == f"{name} has no methods to choose from"


def test_a_and_b_are_the_pit_managers_and_c_the_assistant_casino_managers() -> None:
    table = idle(area="Ruby Room")
    assert asks(table, "A", "pit_supervisor").needs == {"position": "pit_manager"}
    assert asks(table, "A", "pit_manager").accepted
    for position in ("pit_manager", SHIFT):
        assert asks(table, "C", position).needs == {"position": CASINO}
    assert asks(table, "C").accepted
    assert asks(table, "B").accepted
    assert lowest_position("change_method", game(), {"method": "Z"}) == "pit_manager"


def test_c_is_for_the_high_limit_areas_only() -> None:
    error = refusal_of(idle(), "change_method", method="C", position=CASINO)
    assert error.endswith("is for Paiza Club and Ruby Room, and this table stands in main (3.9.2)")


def test_reasonable_discretion_is_recorded_with_its_reason() -> None:
    table = idle("immortal_dragon_tiger")
    assert "reason" in (asks(table, "A").error or "")
    assert asks(table, "A", reason="a squeezing party").accepted
    assert restricted_data(table, "method.changed")[0]["why"] == "a squeezing party"
    assert "party" not in str(table.told("method.changed"))
    for code in ("place_your_bets", "no_more_bets"):
        table.does(code)
    for code in STAND.split():
        table.draw(code)
    for command in ("name_holder", "allow_squeeze"):
        assert "reason" in refusal_of(table, command, hand="player", seat=1)
        table.does(command, hand="player", seat=1, reason="r")
    rules = [told["rule"] for told in table.told("cards.passed")]
    assert rules == ["3.10.4.1", "3.15"]


def test_the_method_that_is_in_force_is_not_changed_to() -> None:
    assert refusal_of(idle(), "change_method", method="B").endswith("Method B is in force")
    assert "method" in refusal_of(idle(), "change_method")


def test_it_changes_between_rounds_and_never_in_one() -> None:
    table = idle()
    table.does("place_your_bets")
    states = set()
    table.step = lambda: states.add(table.now.state)
    for step in ("no_more_bets", *STAND.split(), "expose", "announce_totals", "announce_outcome"):
        assert asks(table, "A").needs == {"state": "idle, shoe_change"}
        if step == "expose":
            table.turn_over()
        elif step[0].islower():
            table.does(step)
        else:
            table.draw(step)
    assert asks(table, "A").needs == {"state": "idle, shoe_change"}
    assert states == {"betting", "closed", "dealing", "revealing", "resolved"}
    table.does("settle")
    assert asks(table, "A").accepted


def test_where_announcements_are_implied_not_once_a_wager_is_recorded() -> None:
    table = idle(**IMPLIED)
    table.does("place_wager", player="ann", seat=1, wager="tie", amount=500)
    assert not asks(table, "A").accepted


def test_cards_that_players_handle_are_dealt_face_down_and_announced_aloud() -> None:
    table = idle(**IMPLIED)
    assert asks(table, "A").accepted
    assert table.desired == Locked()
    table.does("place_your_bets")
    table.does("no_more_bets")
    for code in STAND.split():
        table.draw(code)
    assert {told["face"] for told in table.told("round.card_dealt")} == {"down"}
    assert table.now.wake_us is None
    for hand in ("player", "banker"):
        table.does("expose", hand=hand)
    for command in ("announce_totals", "announce_outcome", "settle"):
        table.does(command)
    assert asks(table, "B").accepted
    table.play(STAND)
    assert [told["method"] for told in table.told("round.outcome")] == ["A", "B"]


def test_the_shoe_goes_back_to_the_dealer_when_method_c_ends() -> None:
    table = method_table("C")
    table.does("allow_without_wager", seat=3, position=CASINO)
    table.does("allow_without_wager", seat=4, position=CASINO)
    table.does("offer_shoe", seat=3)
    assert asks(table, "B").accepted
    assert table.now.control.holder is None and table.now.control.leaves == ()
    assert table.told("shoe.holder_changed")[-1] == {
        "holder": "dealer", "seat": None, "rule": "3.9.1",
    }  # fmt: skip
    assert refusal_of(table, "offer_shoe", seat=3).endswith("only the dealer has the shoe (3.9.1)")


@pytest.mark.parametrize(
    ("name", "rule"),
    [("tiger", "3.11.2"), ("immortal_dragon_tiger", "3.11.2"), ("fa_fa_fabulous_4", "3.10.2")],
)
def test_in_method_b_no_player_handles_a_card(name: str, rule: str) -> None:
    codes = "7f 7g Se Lw" if name.startswith("fa") else STAND
    table = idle(name)
    for command in ("place_your_bets", "no_more_bets"):
        table.does(command)
    for code in codes.split():
        table.draw(code)
    why = f"in Method B no Player handles the cards ({rule})"
    for command in ("pass_cards", "refuse_cards", "name_holder", "allow_squeeze", "set_first_hand"):
        assert refusal_of(table, command, hand="player", reason="r") == why
    assert refusal_of(table, "expose", hand="player", by="holder") == f"{why}"
    table.does("expose", hand="player", by="dealer")


def test_the_method_in_force_outlives_a_restart() -> None:
    table = idle()
    assert asks(table, "A").accepted
    table.restart("b1")
    table.connect()
    table.hello()
    again = TableHarness(state=table.now)
    assert refusal_of(again, "change_method", method="A").endswith("Method A is in force")


def test_a_round_halted_in_method_a_goes_on_with_its_cards_where_they_are() -> None:
    table = dealt_table(("ann", 3, "player", 500))
    table.does("pass_cards", hand="player")
    table.disconnect()
    assert table.asks("expose", hand="player").needs == {"state": "revealing"}
    table.connect()
    table.hello()
    assert table.now.round.hands.player.holder.id == "ann"
    table.does("expose", hand="player")
