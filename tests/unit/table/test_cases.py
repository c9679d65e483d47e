"""What a card, a hello or an error is to the table: the first question that holds says it."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, Error, Hello, ShoeEvent
from shoe_ctl.table import cases
from shoe_ctl.table.inputs import ShoeSaid
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.turn import Turn
from shoe_testing.tables import DEVICE, TableHarness


def case(table: TableHarness, event: ShoeEvent) -> str:
    turn = Turn(table.game, table.settings, PROCEDURES)
    turn.begin(table.now, ShoeSaid(t_us=table.t_us, event=event))
    return cases.find_case(turn, event.type)


def drawn(table: TableHarness, code: str | None = "9S", **more: Any) -> CardDrawn:
    """The next card of a shoe that numbers its draws and is armed for this one."""
    number = 1 if table.now.shoe is None else table.now.shoe.drawn + 1
    face = None if code is None else card(code)
    return CardDrawn(card=face, **{"number": number, "armed": True, **more})


def hello(**more: Any) -> Hello:
    fields = {"device_id": DEVICE, "boot_id": 7, "deck": "french52", "decks": 8, **more}
    return Hello(firmware="1", **fields)


def at(state: str) -> TableHarness:
    """A table in this state of an ordinary round, its cards face down."""
    table = TableHarness()
    if state == "no_shoe":
        return table
    table.open_shoe()
    if state == "betting":
        table.does("place_your_bets")
    elif state != "idle":
        table.open_round()
        table.deal({"closed": "", "dealing": "2D", "fourth": "2D 3C TS"}.get(state, "2D 3C TS TH"))
    if state in ("drawing", "resolved"):
        table.turn_over()
        table.does("announce_totals")
    if state == "resolved":
        table.deal("4C 5D")
        table.turn_over()
        table.does("announce_outcome")
    return table


def at_place(place: str) -> TableHarness:
    """A table in this state; ``halted`` by what somebody declared, or ``paused``, in it."""
    how, _, state = place.rpartition(" ")
    table = at(state)
    if how == "halted":
        table.does("declare", key="other", reason="a glass fell over")
    elif how == "paused":
        table.does("pause")
    return table


@pytest.mark.parametrize(
    ("place", "more", "found"),
    [
        ("no_shoe", {}, "card.without_shoe"),
        ("idle", {}, "card.early"),
        ("idle", {"hand": "burn", "number": None}, "card.burned"),
        ("idle", {"hand": "burn_count", "number": None}, "card.no_card"),
        ("betting", {}, "card.early"),
        ("closed", {}, "card.in_turn"),
        ("closed", {"code": None}, "card.in_turn"),
        ("closed", {"number": 3}, "card.misfit"),
        ("closed", {"code": "4f"}, "card.misfit"),
        ("closed", {"hand": "banker", "index": 1}, "card.misfit"),
        ("dealing", {}, "card.in_turn"),
        ("fourth", {}, "card.fourth"),
        ("revealing", {}, "card.early_undecided"),
        ("revealing", {"code": "4f"}, "card.misfit"),
        ("drawing", {}, "card.in_turn"),
        ("resolved", {}, "card.early"),
        ("halted dealing", {"armed": False}, "card.in_halt"),
        ("halted dealing", {}, "card.armed_until_now"),
        ("paused idle", {}, "card.in_pause"),
        ("paused revealing", {}, "card.undecided_in_pause"),
        ("paused revealing", {"code": "4f"}, "card.in_halt"),
    ],
)
def test_a_card_has_the_case_of_the_first_question_that_holds(
    place: str, more: dict[str, Any], found: str
) -> None:
    table = at_place(place)
    assert case(table, drawn(table, **more)) == found


def test_a_card_that_left_before_the_link_went_takes_its_slot() -> None:
    table = at("dealing")
    table.disconnect()
    assert table.key == "link_lost"
    assert case(table, drawn(table)) == "card.armed_before"
    assert case(table, drawn(table, armed=False)) == "card.in_halt"


def test_a_card_that_its_slot_holds_already_is_a_repeat() -> None:
    table = TableHarness(angel_eye=True).open_shoe()
    table.open_round()
    table.draw("2D")
    again = CardDrawn(card=card("2D"), hand="player", index=1)
    assert case(table, again) == "card.repeated"
    assert case(table, CardDrawn(card=card("3C"), hand="banker", index=1)) == "card.in_turn"


@pytest.mark.parametrize(
    ("place", "event", "found"),
    [
        ("no_shoe", hello(set_id="set-1"), "hello.another_set"),
        ("idle", hello(set_id="set-1"), "hello"),
        ("idle", hello(), "hello.another_set"),
        ("idle", hello(set_id="set-1", boot_id=8), "hello"),
        ("idle", hello(set_id="set-1", drawn=3), "hello.cards_missed"),
        ("closed", hello(set_id="set-2", boot_id=8), "hello.another_set"),
        ("closed", hello(set_id="set-1", boot_id=8), "hello.rebooted"),
        ("dealing", hello(set_id="set-1", boot_id=8, drawn=3), "hello.rebooted"),
        ("dealing", hello(set_id="set-1", drawn=3), "hello.cards_missed"),
        ("dealing", hello(set_id="set-1", drawn=3, resumed=True), "hello"),
        ("resolved", hello(set_id="set-1", boot_id=8, drawn=6), "hello"),
        ("halted closed", hello(set_id="set-2", boot_id=8), "hello.rebooted"),
        ("halted dealing", hello(set_id="set-2", boot_id=8), "hello.another_set"),
    ],
)
def test_a_hello_has_the_case_of_the_first_question_that_holds(
    place: str, event: Hello, found: str
) -> None:
    assert case(at_place(place), event) == found


def test_the_hello_that_an_open_step_waits_for_answers_it() -> None:
    table = at("dealing")
    table.disconnect()
    back = hello(set_id="set-1", drawn=1, resumed=True)
    assert case(table, back) == "hello.answers_step"
    assert case(table, hello(set_id="set-1", boot_id=8, drawn=1)) == "hello.rebooted"


@pytest.mark.parametrize(
    ("place", "event", "found"),
    [
        ("idle", Error(code="overdraw"), "error.overdraw"),
        ("no_shoe", Error(code="overdraw"), "error"),
        ("revealing", Error(code="overdraw"), "error.overdraw_undecided"),
        ("dealing", Error(code="overdraw"), "error.overdraw"),
        ("dealing", Error(code="reverse_run"), "error.reverse_run"),
        ("halted dealing", Error(code="reverse_run"), "error.reverse_run"),
        ("halted closed", Error(code="reverse_run"), "error"),
        ("betting", Error(code="E9", place="game"), "error.at_a_card"),
        ("betting", Error(code="E9"), "error"),
    ],
)
def test_an_error_has_the_case_of_the_first_question_that_holds(
    place: str, event: Error, found: str
) -> None:
    assert case(at_place(place), event) == found


def test_a_card_that_the_shoe_could_not_read_is_the_one_that_is_due() -> None:
    table = TableHarness(bee_tek=True).open_shoe()
    table.open_round()
    table.draw("2D")
    assert case(table, Error(code="cannot_read")) == "error.unread_card"
    table.deal("3C TS TH")
    assert case(table, Error(code="cannot_read")) == "error"
