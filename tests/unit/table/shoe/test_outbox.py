"""Who may tell which shoe what, and when; what a round makes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from firmware_proto.angel_eye.host import CAPABILITIES as ANGEL_EYE
from firmware_proto.bee_tek.profile import CAPABILITIES as BEE_TEK
from firmware_proto.cards import card
from firmware_proto.commands import Query
from firmware_proto.events import (
    Button,
    CardOutsideGame,
    Error,
    Lid,
    PowerLow,
    PowerRestored,
    QueryAnswered,
    Reply,
    ResetDone,
    SelfTested,
    ShoeEmpty,
    ShoeEvent,
    Tamper,
)
from firmware_proto.reference.settings import CAPABILITIES as REFERENCE
from firmware_proto.reference.settings import WITH_KEYS
from firmware_proto.session import Capabilities
from shoe_ctl.cli.table_view import lines
from shoe_ctl.table.status import status
from shoe_testing.table_situations import (
    COMMAND_ARGS,
    SHOE_COMMANDS,
    accept,
    commanded_table,
    restricted_events,
    shoe_commands_sent,
)
from shoe_testing.tables import TableHarness

# --- who can what -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("can", "command", "why"),
    [
        (REFERENCE, "clear_error", "the reference shoe cannot be told to clear an error"),
        (REFERENCE, "rotate_key",
         "the reference shoe cannot be given a new key: the link to it has none"),
        (ANGEL_EYE, "reset_shoe", "the angel_eye shoe cannot be told to reset itself"),
        (ANGEL_EYE, "test_shoe", "the angel_eye shoe cannot be told to test itself"),
        (ANGEL_EYE, "show_on_shoe", "the angel_eye shoe cannot be told to show anything"),
        (BEE_TEK, "show_on_shoe", "the bee_tek shoe cannot be told to show anything"),
        (ANGEL_EYE, "rotate_key", "the angel_eye shoe cannot be given a new key"),
        (BEE_TEK, "reset_shoe", "the bee_tek shoe cannot be told to reset itself"),
        (BEE_TEK, "test_shoe", "the bee_tek shoe cannot be told to test itself"),
        (BEE_TEK, "ask_shoe", "the bee_tek shoe cannot be asked anything"),
        (BEE_TEK, "clear_error", "the bee_tek shoe cannot be told to clear an error"),
        (BEE_TEK, "rotate_key", "the bee_tek shoe cannot be given a new key"),
    ],
)  # fmt: skip
def test_what_a_shoe_cannot_is_refused_in_one_line(
    can: Capabilities, command: str, why: str
) -> None:
    table = commanded_table(can)
    assert table.asks(command, **COMMAND_ARGS.get(command, {})).error == why
    assert shoe_commands_sent(table) == [] and table.now.outbox.waiting == ()


def test_nothing_is_told_to_a_vendors_shoe_before_commands_are_allowed() -> None:
    table = commanded_table(ANGEL_EYE, commands=False)
    assert "commands = true" in str(table.asks("clear_error").error)
    assert "commands = true" in str(table.asks("ask_shoe", what="progress").error)
    assert shoe_commands_sent(table) == []


def test_a_shoe_is_asked_only_what_it_can_tell() -> None:
    table = commanded_table(ANGEL_EYE)
    assert table.asks("ask_shoe", what="battery").error == (
        "the angel_eye shoe can be asked progress"
    )


@pytest.mark.parametrize("command", SHOE_COMMANDS)
def test_nobody_is_told_anything_while_the_link_is_down(command: str) -> None:
    table = commanded_table(WITH_KEYS)
    table.disconnect()
    refused = table.asks(command, **COMMAND_ARGS.get(command, {}))
    assert not refused.accepted and "link to the shoe is down" in str(refused.error)


def test_a_shoe_that_has_not_said_who_it_is_is_told_nothing() -> None:
    table = commanded_table()
    table.disconnect()
    table.connect(commands=True, obeys=REFERENCE.obeys, tells=REFERENCE.tells)
    assert "has not said yet who it is" in str(table.asks("test_shoe").error)


def test_every_command_of_the_table_is_one_that_some_shoe_has() -> None:
    have = {*WITH_KEYS.obeys, *ANGEL_EYE.obeys, *BEE_TEK.obeys}
    known = {"reset", "self_test", "query", "clear_error", "rotate_key", "set_time", "show"}
    assert set(SHOE_COMMANDS.values()) <= have <= known
    assert set(ANGEL_EYE.tells).isdisjoint(REFERENCE.tells)
    assert Query(1, REFERENCE.tells[0]).what == "clock"


def test_a_key_needs_its_number() -> None:
    assert "which key" in str(commanded_table(WITH_KEYS).asks("rotate_key").error)


# --- in a round -----------------------------------------------------------------------------------


def test_a_reset_or_a_test_waits_until_no_card_is_awaited() -> None:
    table = commanded_table()
    table.open_round()
    for command in ("reset_shoe", "test_shoe", "rotate_key"):
        refused = table.asks(command, **COMMAND_ARGS.get(command, {}))
        assert refused.needs["state"]
    table.does("ask_shoe", what="battery")


def test_once_bets_are_closed_only_the_procedure_resets_the_shoe() -> None:
    table = commanded_table()
    table.open_round()
    table.does("declare", key="other", reason="a button was pressed")
    assert "declare device_reset first" in str(table.asks("reset_shoe").error)
    assert shoe_commands_sent(table) == []


def test_the_procedure_tells_the_shoe_and_goes_on_when_it_is_done() -> None:
    table = commanded_table()
    table.open_round()
    table.does("declare", key="device_reset", reason="drawn too early")
    table.does("decide", choice="close_window")
    (told,) = shoe_commands_sent(table)
    table.says(ResetDone())  # by hand: not the one that was asked for
    assert table.now.state == "suspended"
    table.says(ResetDone(command_id=told.number))
    assert table.now.state == "betting"


def test_a_reset_that_failed_can_be_told_anew_in_its_step_and_that_one_counts() -> None:
    table = commanded_table()
    table.open_round()
    table.does("declare", key="device_reset", reason="drawn too early")
    table.does("decide", choice="close_window")
    table.says(Reply(accepted=False, reason="busy", command_id=shoe_commands_sent(table)[0].number))
    assert table.now.state == "suspended"
    table.does("reset_shoe")
    table.says(ResetDone(command_id=shoe_commands_sent(table)[1].number))
    assert table.now.state == "betting"


# --- errors of a shoe -----------------------------------------------------------------------------


def streams_with(card_read: bool) -> tuple[list[Any], list[Any]]:
    """The same from the table: an error, and staff who clear it, whatever the shoe says to that."""
    table = commanded_table(ANGEL_EYE)
    table.open_round()
    table.says(Error(code="cannot_read" if card_read else "draw_timeout", in_error_mode=True))
    before = len(table.public)
    table.asks("clear_error")
    (told,) = shoe_commands_sent(table)
    table.says(Reply(accepted=card_read, reason=None if card_read else "type",
                     command_id=told.number))  # fmt: skip
    public = [(e.type, e.data) for e in table.public[before:]]
    return public, restricted_events(table, "shoe.answered")


def test_what_a_shoe_says_to_clearing_its_error_is_not_for_the_room() -> None:
    one, told_one = streams_with(card_read=True)
    other, told_other = streams_with(card_read=False)
    assert one == other == []
    assert [told_one[0]["accepted"], told_other[0]["accepted"]] == [True, False]


def test_a_second_clearing_is_taken_whether_or_not_the_first_was_answered() -> None:
    table = commanded_table(ANGEL_EYE)
    assert table.asks("clear_error").accepted
    assert table.asks("clear_error").accepted
    assert len(table.now.outbox.waiting) == 1


@pytest.mark.parametrize(
    ("ruling", "fate"), [("set_aside", "discard"), ("first_card", "keep"), ("void", None)]
)
def test_the_fate_of_an_overdrawn_card_is_told_to_the_shoe_that_objected(
    ruling: str, fate: str | None
) -> None:
    table = commanded_table(ANGEL_EYE)
    table.open_round()
    table.deal("7D 7C TS TH")  # both stand
    table.says(Error(code="overdraw", in_error_mode=True))
    table.says(CardOutsideGame(card=card("4C"), mode="error"))
    assert shoe_commands_sent(table) == []  # nobody knows yet whether it was due
    table.turn_over()
    table.does("announce_totals")
    assert table.key == "overdraw"
    public = len(table.told("shoe.told"))
    table.rules(ruling)
    assert [c.of for c in shoe_commands_sent(table, "clear_error")] == (
        [] if fate is None else [fate]
    )
    assert len(table.told("shoe.told")) == public


@pytest.mark.parametrize("text", ["X" * 65, "caf\u00e9", "two\nlines", 7, None])
def test_a_display_shows_printable_ascii_up_to_its_length(text: object) -> None:
    table = commanded_table()
    assert not table.asks("show_on_shoe", text=text).accepted
    assert shoe_commands_sent(table) == []


@pytest.mark.parametrize("text", ["", "NEW SHOE", "~" * 64])
def test_what_is_shown_is_on_its_way_until_the_shoe_says_yes(text: str) -> None:
    table = commanded_table()
    table.does("show_on_shoe", text=text)
    (told,) = shoe_commands_sent(table)
    assert told.of == text
    table.says(accept(told.number))
    assert table.told("shoe.answered") == [{"command": "show", "accepted": True}]
    assert table.now.outbox.waiting == ()


@pytest.mark.parametrize(
    ("command", "args", "event", "shown"),
    [
        ("test_shoe", {}, SelfTested(failed=()), "answered    self test: passed"),
        ("test_shoe", {}, SelfTested(failed=("bolt",)), "answered    self test: failed"),
        ("reset_shoe", {}, ResetDone(), "answered    reset: done"),
        ("ask_shoe", {"what": "battery"}, QueryAnswered(command_id=1, what="battery", value=83),
         "answered    battery: 83"),
        ("ask_shoe", {"what": "clock"}, QueryAnswered(command_id=1, what="clock"),
         "answered    clock: the shoe cannot tell"),
        ("reset_shoe", {}, Reply(accepted=False, reason="busy"), "answered    reset: refused"),
    ],
)  # fmt: skip
def test_the_status_shows_what_the_shoe_was_told_and_what_it_last_answered(
    command: str, args: dict[str, Any], event: ShoeEvent, shown: str
) -> None:
    table = commanded_table()
    before = page(table)
    table.does(command, **args)
    (told,) = shoe_commands_sent(table)
    assert f"told        {told.command.replace('_', ' ')}: no answer yet" in page(table)
    table.says(replace(event, command_id=told.number))  # type: ignore[call-arg]
    assert [line for line in page(table) if line not in before] == [shown]


def page(table: TableHarness) -> list[str]:
    return list(lines(status(table.now, table.game, table.settings)))


def test_a_clearing_of_an_error_is_in_no_status() -> None:
    table = commanded_table(ANGEL_EYE)
    before = status(table.now, table.game, table.settings)
    table.does("clear_error")
    assert status(table.now, table.game, table.settings) == before


# --- what it says of itself unasked ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "secret"),
    [
        (Tamper(what="seal"), {"code": "tamper", "what": "seal"}),
        (SelfTested(failed=("bolt",)), {"code": "self_test", "failed": ("bolt",)}),
        (PowerLow(percent=4), {"code": "power_low", "percent": 4}),
    ],
)
def test_what_is_wrong_with_a_shoe_is_told_between_rounds_too(
    event: ShoeEvent, secret: dict[str, Any]
) -> None:
    table = commanded_table()
    table.says(event)
    assert table.told("shoe.fault") == [{}]
    assert restricted_events(table, "shoe.fault") == [secret]
    assert table.now.state == "idle"


def test_power_that_is_back_clears_its_fault() -> None:
    table = commanded_table()
    table.says(PowerLow(percent=4))
    table.says(PowerRestored())
    assert table.told("shoe.cleared") == [{}]
    assert restricted_events(table, "shoe.cleared") == [{"code": "power_low"}]


@pytest.mark.parametrize(
    ("event", "noted"),
    [
        (Lid(open=True), {"what": "lid", "open": True}),
        (Button(button=3), {"what": "button", "button": 3}),
        (ShoeEmpty(drawn=416), {"what": "shoe_empty", "drawn": 416}),
    ],
)
def test_what_is_only_worth_knowing_is_noted_for_few_and_names_no_card(
    event: ShoeEvent, noted: dict[str, Any]
) -> None:
    table = commanded_table()
    before = len(table.public)
    table.says(event)
    assert restricted_events(table, "shoe.noted") == [noted]
    assert len(table.public) == before


def test_meddling_in_a_round_halts_and_says_what_it_was() -> None:
    table = commanded_table()
    table.open_round()
    table.deal("2D 3C")
    table.says(Tamper(what="seal"))
    assert table.key == "other"
    assert restricted_events(table, "shoe.fault") == [{"code": "tamper", "what": "seal"}]
