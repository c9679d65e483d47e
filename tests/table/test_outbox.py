"""What the shoe is told: stored first, kept until it is answered, never done twice, never lost."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.angel_eye.host import CAPABILITIES as ANGEL_EYE
from firmware_proto.bee_tek.session import CAPABILITIES as BEE_TEK
from firmware_proto.cards import card
from firmware_proto.events import (
    CardDrawn,
    CardOutsideGame,
    CommandUnanswered,
    Error,
    KeyRotated,
    Query,
    QueryAnswered,
    Reply,
    ResetDone,
    SelfTested,
    ShoeEvent,
    Started,
)
from firmware_proto.reference.host import CAPABILITIES as REFERENCE
from firmware_proto.reference.host import WITH_KEYS
from firmware_proto.session import COMMANDS, Capabilities
from shoe_ctl.records import Audience
from shoe_ctl.table import state
from shoe_ctl.table.effects import ShoeCommand
from shoe_ctl.table.inputs import NotTold, from_bytes, to_bytes
from shoe_ctl.table.outbox import ANSWER_US, DONE_BY_EVENT, TEST_US
from shoe_ctl.table.telling import COMMANDS as TELLS
from tests.table.playing import Playing

RESTRICTED = Audience.RESTRICTED


def at_work(can: Capabilities = REFERENCE, *, commands: bool = True, **more: Any) -> Playing:
    """A table between rounds, whose shoe can do this."""
    table = Playing(angel_eye=can.judges, bee_tek=can is BEE_TEK, **more)
    again(table, can, commands=commands)
    if table.profile == "reference":
        table.load()
    elif can is BEE_TEK:
        table.does("align")
    return table


def again(table: Playing, can: Capabilities = REFERENCE, *, commands: bool = True) -> None:
    """The link comes up, and a shoe that names itself says hello."""
    table.connect(
        commands=commands and bool(can.obeys),
        obeys=can.obeys,
        tells=can.tells,
        authenticated=can.authenticated,
    )
    if can.replay:
        table.hello(resumed=table.now.shoe is not None)


def sent(table: Playing, command: str | None = None) -> list[ShoeCommand]:
    """What the shoe was told, but for the time."""
    told = [e for e in table.effects if isinstance(e, ShoeCommand)]
    return [c for c in told if c.command == command or (not command and c.command != "set_time")]


def restricted(table: Playing, kind: str) -> list[dict[str, Any]]:
    """The data of these events as the restricted stream has it."""
    return [e.restricted_data or e.data for e in table.events if e.type == kind]


def yes(number: int) -> Reply:
    return Reply(accepted=True, command_id=number)


DONE: dict[str, Any] = {
    "reset": lambda number: ResetDone(command_id=number),
    "self_test": lambda number: SelfTested(failed=(), command_id=number),
    "query": lambda number: QueryAnswered(command_id=number, what="battery", value=83),
    "rotate_key": lambda _: KeyRotated(key_id=2),
}
"""What a reference shoe says when it has done it."""

ARGS: dict[str, dict[str, Any]] = {"ask_shoe": {"what": "battery"}, "rotate_key": {"key_id": 2}}


@pytest.mark.parametrize("command", ["reset_shoe", "test_shoe", "ask_shoe", "rotate_key"])
def test_it_is_told_with_an_id_and_answered_by_what_names_it(command: str) -> None:
    table = at_work(WITH_KEYS)
    table.does(command, **ARGS.get(command, {}))
    (told,) = sent(table)
    assert told.command == TELLS[command]
    assert [e["command"] for e in table.told("shoe.told")] == [told.command]
    assert table.now.outbox.find(told.number) is not None
    table.says(DONE[told.command](told.number))
    (answered,) = table.told("shoe.answered")
    assert answered["command"] == told.command and answered["accepted"] is True
    assert table.now.outbox.waiting == ()
    assert sent(table) == [told]


@pytest.mark.parametrize("command", ["reset_shoe", "test_shoe", "rotate_key"])
def test_the_shoes_yes_alone_is_no_end_where_an_event_says_that_it_is_done(command: str) -> None:
    table = at_work(WITH_KEYS)
    table.does(command, **ARGS.get(command, {}))
    (told,) = sent(table)
    assert told.command in DONE_BY_EVENT
    table.says(yes(told.number))
    assert table.told("shoe.answered") == []
    table.disconnect()
    again(table, WITH_KEYS)
    assert sent(table) == [told, told]  # it may have kept nothing of the event


def test_a_shoe_that_refuses_has_answered_and_why_is_not_for_the_room() -> None:
    table = at_work()
    table.does("test_shoe")
    (told,) = sent(table)
    table.says(Reply(accepted=False, reason="busy", command_id=told.number))
    assert table.told("shoe.answered") == [{"command": "self_test", "accepted": False}]
    assert restricted(table, "shoe.answered")[0]["reason"] == "busy"
    assert table.now.outbox.waiting == ()


def test_a_self_test_tells_the_room_that_it_failed_and_staff_what() -> None:
    table = at_work()
    table.does("test_shoe")
    table.says(SelfTested(failed=("sensor", "battery"), command_id=sent(table)[0].number))
    assert table.told("shoe.answered")[0]["passed"] is False
    assert restricted(table, "shoe.answered")[0]["failed"] == ["sensor", "battery"]


def test_an_answer_to_nothing_that_was_asked_changes_nothing() -> None:
    table = at_work()
    table.does("test_shoe")
    before = table.now.outbox
    for event in (yes(7), SelfTested(failed=()), ResetDone(), KeyRotated(key_id=9)):
        table.says(event)
    assert table.now.outbox == before


# --- time, links, restarts ------------------------------------------------------------------------


@pytest.mark.parametrize(("command", "us"), [("reset_shoe", ANSWER_US), ("test_shoe", TEST_US)])
def test_no_answer_in_time_is_told_once_and_the_errand_stays(command: str, us: int) -> None:
    table = at_work()
    table.does(command)
    since = table.now.t_us
    assert table.now.wake_us == since + us
    table.tick()
    (late,) = table.told("shoe.unanswered")
    assert late == {"command": TELLS[command], "given_up": False}
    assert table.now.wake_us is None and table.now.outbox.waiting[0].overdue
    table.disconnect()
    again(table)
    assert len(sent(table)) == 2  # the same, told again
    assert len(table.told("shoe.unanswered")) == 1


def test_what_is_overdue_can_be_told_anew_and_the_first_is_given_up() -> None:
    table = at_work()
    table.does("reset_shoe")
    assert "has not answered yet" in str(table.asks("reset_shoe").error)
    table.tick()
    table.does("reset_shoe")
    first, second = sent(table)
    assert first.number != second.number
    assert restricted(table, "shoe.unanswered")[-1] == {
        "command": "reset",
        "given_up": True,
        "number": first.number,
        "reason": "it was told so anew",
    }
    assert [e.number for e in table.now.outbox.waiting] == [second.number]


@pytest.mark.parametrize("how", ["link", "restart"])
def test_a_shoe_that_knows_ids_is_told_again_what_it_has_not_answered(how: str) -> None:
    table = at_work()
    table.does("test_shoe")
    (told,) = sent(table)
    if how == "restart":
        table._state = state.from_bytes(state.to_bytes(table.now))
        table.restart()
    else:
        table.disconnect()
    table.connect(commands=True, obeys=REFERENCE.obeys, tells=REFERENCE.tells)
    assert sent(table) == [told]  # nobody knows yet who is there
    table.hello()
    assert sent(table) == [told, told]
    assert table.told("shoe.unanswered") == []


def test_another_shoe_is_not_told_what_the_first_one_was() -> None:
    table = at_work()
    table.does("test_shoe")
    table.disconnect()
    table.connect(commands=True, obeys=REFERENCE.obeys, tells=REFERENCE.tells)
    table.hello(device_id="SH-9999")
    assert len(sent(table)) == 1
    assert restricted(table, "shoe.unanswered")[0]["reason"] == "another shoe is connected"
    assert table.now.outbox.waiting == ()


def test_the_time_is_set_at_every_hello_and_never_waited_for() -> None:
    table = at_work()
    (first,) = sent(table, "set_time")
    table.says(yes(first.number))
    table.disconnect()
    again(table)
    assert len(sent(table, "set_time")) == 2
    assert table.now.outbox.waiting == () and table.told("shoe.told") == []


@pytest.mark.parametrize("how", ["link", "restart"])
def test_a_shoe_without_ids_is_never_told_twice(how: str) -> None:
    table = at_work(ANGEL_EYE)
    table.does("ask_shoe", what="progress")
    table.disconnect() if how == "link" else table.restart()
    assert table.told("shoe.unanswered") == [{"command": "query", "given_up": True}]
    again(table, ANGEL_EYE)
    assert len(sent(table)) == 1 and table.now.outbox.waiting == ()


def test_what_the_session_gave_up_is_given_up() -> None:
    table = at_work(ANGEL_EYE)
    table.does("ask_shoe", what="progress")
    table.says(CommandUnanswered(command_id=sent(table)[0].number, reason="no reply"))
    assert restricted(table, "shoe.unanswered")[0]["reason"] == "no reply"


def test_what_could_not_be_sent_is_given_up_with_the_reason() -> None:
    table = at_work(WITH_KEYS)
    table.does("rotate_key", key_id=2)
    why = "the key file has no key 2"
    untold = NotTold(t_us=table.t_us, number=sent(table)[0].number, why=why)
    table.feed(from_bytes(to_bytes(untold)))
    assert restricted(table, "shoe.unanswered")[0]["reason"] == why
    assert table.now.outbox.waiting == ()


# --- who can what -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("can", "command", "why"),
    [
        (REFERENCE, "clear_error", "a reference shoe cannot be told to clear an error"),
        (REFERENCE, "rotate_key",
         "a reference shoe cannot be given a new key, and the link to this one has none"),
        (ANGEL_EYE, "reset_shoe", "an angel_eye shoe cannot be told to reset itself"),
        (ANGEL_EYE, "test_shoe", "an angel_eye shoe cannot be told to test itself"),
        (ANGEL_EYE, "rotate_key", "an angel_eye shoe cannot be given a new key"),
        (BEE_TEK, "reset_shoe", "a bee_tek shoe cannot be told to reset itself"),
        (BEE_TEK, "test_shoe", "a bee_tek shoe cannot be told to test itself"),
        (BEE_TEK, "ask_shoe", "a bee_tek shoe cannot be asked anything"),
        (BEE_TEK, "clear_error", "a bee_tek shoe cannot be told to clear an error"),
        (BEE_TEK, "rotate_key", "a bee_tek shoe cannot be given a new key"),
    ],
)  # fmt: skip
def test_what_a_shoe_cannot_is_refused_in_one_line(
    can: Capabilities, command: str, why: str
) -> None:
    table = at_work(can)
    assert table.asks(command, **ARGS.get(command, {})).error == f"{command}: {why}"
    assert sent(table) == [] and table.now.outbox.waiting == ()


def test_nothing_is_told_to_a_vendors_shoe_before_commands_are_allowed() -> None:
    table = at_work(ANGEL_EYE, commands=False)
    assert "commands = true" in str(table.asks("clear_error").error)
    assert "commands = true" in str(table.asks("ask_shoe", what="progress").error)
    assert sent(table) == []


def test_a_shoe_is_asked_only_what_it_can_tell() -> None:
    table = at_work(ANGEL_EYE)
    assert table.asks("ask_shoe", what="battery").error == (
        "ask_shoe: an angel_eye shoe can be asked progress"
    )


@pytest.mark.parametrize("command", TELLS)
def test_nobody_is_told_anything_while_the_link_is_down(command: str) -> None:
    table = at_work(WITH_KEYS)
    table.disconnect()
    refused = table.asks(command, **ARGS.get(command, {}))
    assert not refused.accepted and "link to the shoe is down" in str(refused.error)


def test_a_shoe_that_has_not_said_who_it_is_is_told_nothing() -> None:
    table = at_work()
    table.disconnect()
    table.connect(commands=True, obeys=REFERENCE.obeys, tells=REFERENCE.tells)
    assert "has not said yet who it is" in str(table.asks("test_shoe").error)


def test_every_command_of_the_table_is_one_that_some_shoe_has() -> None:
    have = {*WITH_KEYS.obeys, *ANGEL_EYE.obeys, *BEE_TEK.obeys}
    assert set(TELLS.values()) <= have <= set(COMMANDS)
    assert set(ANGEL_EYE.tells).isdisjoint(REFERENCE.tells)
    assert Query(1, REFERENCE.tells[0]).what == "clock"


def test_a_key_needs_its_number() -> None:
    assert "which key" in str(at_work(WITH_KEYS).asks("rotate_key").error)


# --- in a round -----------------------------------------------------------------------------------


def test_a_reset_or_a_test_waits_until_no_card_is_awaited() -> None:
    table = at_work()
    table.open_round()
    for command in ("reset_shoe", "test_shoe", "rotate_key"):
        refused = table.asks(command, **ARGS.get(command, {}))
        assert refused.needs["state"]
    table.does("ask_shoe", what="battery")


def test_once_bets_are_closed_only_the_procedure_resets_the_shoe() -> None:
    table = at_work()
    table.open_round()
    table.does("declare", key="other", reason="a button was pressed")
    assert "declare device_reset first" in str(table.asks("reset_shoe").error)
    assert sent(table) == []


def test_the_procedure_tells_the_shoe_and_goes_on_when_it_is_done() -> None:
    table = at_work()
    table.open_round()
    table.does("declare", key="device_reset", reason="drawn too early")
    table.does("decide", choice="close_window")
    (told,) = sent(table)
    table.says(ResetDone())  # by hand: not the one that was asked for
    assert table.now.state == "suspended"
    table.says(ResetDone(command_id=told.number))
    assert table.now.state == "betting"


def test_a_reset_that_failed_can_be_told_anew_in_its_step_and_that_one_counts() -> None:
    table = at_work()
    table.open_round()
    table.does("declare", key="device_reset", reason="drawn too early")
    table.does("decide", choice="close_window")
    table.says(Reply(accepted=False, reason="busy", command_id=sent(table)[0].number))
    assert table.now.state == "suspended"
    table.does("reset_shoe")
    table.says(ResetDone(command_id=sent(table)[1].number))
    assert table.now.state == "betting"


# --- errors of a shoe -----------------------------------------------------------------------------


def streams_with(card_read: bool) -> tuple[list[Any], list[Any]]:
    """The same from the table: an error, and staff who clear it, whatever the shoe says to that."""
    table = at_work(ANGEL_EYE)
    table.open_round()
    table.says(Error(code="cannot_read" if card_read else "draw_timeout", in_error_mode=True))
    before = len(table.public)
    table.asks("clear_error")
    (told,) = sent(table)
    table.says(Reply(accepted=card_read, reason=None if card_read else "type",
                     command_id=told.number))  # fmt: skip
    public = [(e.type, e.data) for e in table.public[before:]]
    return public, restricted(table, "shoe.answered")


def test_what_a_shoe_says_to_clearing_its_error_is_not_for_the_room() -> None:
    one, told_one = streams_with(card_read=True)
    other, told_other = streams_with(card_read=False)
    assert one == other == []
    assert [told_one[0]["accepted"], told_other[0]["accepted"]] == [True, False]


def test_a_second_clearing_is_taken_whether_or_not_the_first_was_answered() -> None:
    table = at_work(ANGEL_EYE)
    assert table.asks("clear_error").accepted
    assert table.asks("clear_error").accepted
    assert len(table.now.outbox.waiting) == 1


@pytest.mark.parametrize(
    ("ruling", "fate"), [("set_aside", "discard"), ("first_card", "keep"), ("void", None)]
)
def test_the_fate_of_an_overdrawn_card_is_told_to_the_shoe_that_objected(
    ruling: str, fate: str | None
) -> None:
    table = at_work(ANGEL_EYE)
    table.open_round()
    table.deal("7D 7C TS TH")  # both stand
    table.says(Error(code="overdraw", in_error_mode=True))
    table.says(CardOutsideGame(card=card("4C"), mode="error"))
    assert sent(table) == []  # nobody knows yet whether it was due
    table.turn_over()
    table.does("announce_totals")
    assert table.key == "overdraw"
    public = len(table.told("shoe.told"))
    table.rules(ruling)
    assert [c.of for c in sent(table, "clear_error")] == ([] if fate is None else [fate])
    assert len(table.told("shoe.told")) == public


# --- any order ------------------------------------------------------------------------------------

STEPS = ("reset_shoe", "test_shoe", "ask_shoe", "rotate_key", "answer", "refuse", "yes", "lose",
         "return", "hello", "other", "restart", "tick", "card", "untold")  # fmt: skip


def answer(table: Playing, what: str, number: int) -> None:
    errand = table.now.outbox.find(number)
    if what == "answer" and errand is not None:
        table.says(DONE[errand.command](number))
    else:
        refused = what == "refuse"
        reason = "busy" if refused else None
        table.says(Reply(accepted=not refused, reason=reason, command_id=number))


def step(table: Playing, can: Capabilities, what: str) -> None:
    waiting = table.now.outbox.waiting
    number = waiting[0].number if waiting else 1
    match what:
        case "answer" | "refuse" | "yes":
            answer(table, what, number)
        case "lose":
            table.disconnect()
        case "return":
            again(table, can)
        case "restart":
            table._state = state.from_bytes(state.to_bytes(table.now))
            table.restart()
        case "tick" if table.now.wake_us is not None:
            table.tick()
        case "card":
            said: ShoeEvent = CardDrawn(card=card("8S")) if can.replay else Started()
            table.says(said)
        case "untold":
            table.feed(NotTold(t_us=table.t_us, number=number, why="no such key"))
        case "hello" | "other" if can.replay and table.now.link.up:
            table.hello(device_id="SH-1" if what == "other" else "SH-0042")
        case _ if what in TELLS:
            args = ARGS.get(what, {})
            table.asks(what, **({"what": can.tells[0]} if what == "ask_shoe" else args))


@pytest.mark.parametrize("can", [WITH_KEYS, ANGEL_EYE], ids=["reference", "angel_eye"])
@given(steps=st.lists(st.sampled_from(STEPS), max_size=40))
def test_every_errand_ends_in_one_named_event_or_is_on_its_way(
    can: Capabilities, steps: list[str]
) -> None:
    table = at_work(can)
    for what in steps:
        step(table, can, what)
    told = [e["number"] for e in restricted(table, "shoe.told")]
    ended = [e["number"] for e in restricted(table, "shoe.answered")]
    ended += [e["number"] for e in restricted(table, "shoe.unanswered") if e["given_up"]]
    waiting = [e.number for e in table.now.outbox.waiting]
    assert sorted(told) == sorted(ended + waiting)
    assert len(set(told)) == len(told)
    times = Counter(c.number for c in sent(table))
    assert set(times) <= set(told)
    if not can.replay:
        assert all(count == 1 for count in times.values())
