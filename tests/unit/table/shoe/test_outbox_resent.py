"""What the shoe is told: stored first, kept until it is answered, never done twice, never lost."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.angel_eye.host import CAPABILITIES as ANGEL_EYE
from firmware_proto.cards import card
from firmware_proto.events import (
    CardDrawn,
    CommandUnanswered,
    KeyRotated,
    Reply,
    ResetDone,
    SelfTested,
    ShoeEvent,
    Started,
)
from firmware_proto.reference.settings import CAPABILITIES as REFERENCE
from firmware_proto.reference.settings import WITH_KEYS
from firmware_proto.session import Capabilities
from shoe_ctl.table import state
from shoe_ctl.table.inputs import NotTold, from_bytes, to_bytes
from shoe_ctl.table.shoe.outbox import ANSWER_US, DONE_BY_EVENT, TEST_US
from shoe_ctl.texts.message import message
from shoe_testing.table_situations import (
    COMMAND_ARGS,
    COMMAND_DONE,
    SHOE_COMMANDS,
    accept,
    commanded_again,
    commanded_table,
    restricted_events,
    shoe_commands_sent,
)
from shoe_testing.tables import TableHarness


@pytest.mark.parametrize("command", ["reset_shoe", "test_shoe", "ask_shoe", "rotate_key"])
def test_it_is_told_with_an_id_and_answered_by_what_names_it(command: str) -> None:
    table = commanded_table(WITH_KEYS)
    table.does(command, **COMMAND_ARGS.get(command, {}))
    (told,) = shoe_commands_sent(table)
    assert told.command == SHOE_COMMANDS[command]
    assert [e["command"] for e in table.told("shoe.told")] == [told.command]
    assert table.now.outbox.find(told.number) is not None
    table.says(COMMAND_DONE[told.command](told.number))
    (answered,) = table.told("shoe.answered")
    assert answered["command"] == told.command and answered["accepted"] is True
    assert table.now.outbox.waiting == ()
    assert shoe_commands_sent(table) == [told]


@pytest.mark.parametrize("command", ["reset_shoe", "test_shoe", "rotate_key"])
def test_the_shoes_yes_alone_is_no_end_where_an_event_says_that_it_is_done(command: str) -> None:
    table = commanded_table(WITH_KEYS)
    table.does(command, **COMMAND_ARGS.get(command, {}))
    (told,) = shoe_commands_sent(table)
    assert told.command in DONE_BY_EVENT
    table.says(accept(told.number))
    assert table.told("shoe.answered") == []
    table.disconnect()
    commanded_again(table, WITH_KEYS)
    assert shoe_commands_sent(table) == [told, told]  # it may have kept nothing of the event


def test_a_shoe_that_refuses_has_answered_and_why_is_not_for_the_room() -> None:
    table = commanded_table()
    table.does("test_shoe")
    (told,) = shoe_commands_sent(table)
    table.says(Reply(accepted=False, reason="busy", command_id=told.number))
    assert table.told("shoe.answered") == [{"command": "self_test", "accepted": False}]
    assert restricted_events(table, "shoe.answered")[0]["reason"] == "busy"
    assert table.now.outbox.waiting == ()


def test_a_self_test_tells_the_room_that_it_failed_and_staff_what() -> None:
    table = commanded_table()
    table.does("test_shoe")
    table.says(
        SelfTested(failed=("sensor", "battery"), command_id=shoe_commands_sent(table)[0].number)
    )
    assert table.told("shoe.answered")[0]["passed"] is False
    assert restricted_events(table, "shoe.answered")[0]["failed"] == ["sensor", "battery"]


def test_an_answer_to_nothing_that_was_asked_changes_nothing() -> None:
    table = commanded_table()
    table.does("test_shoe")
    before = table.now.outbox
    for event in (accept(7), SelfTested(failed=()), ResetDone(), KeyRotated(key_id=9)):
        table.says(event)
    assert table.now.outbox == before


# --- time, links, restarts ------------------------------------------------------------------------


@pytest.mark.parametrize(("command", "us"), [("reset_shoe", ANSWER_US), ("test_shoe", TEST_US)])
def test_no_answer_in_time_is_told_once_and_the_errand_stays(command: str, us: int) -> None:
    table = commanded_table()
    table.does(command)
    since = table.now.t_us
    assert table.now.wake_us == since + us
    table.tick()
    (late,) = table.told("shoe.unanswered")
    assert late == {"command": SHOE_COMMANDS[command], "given_up": False}
    assert table.now.wake_us is None and table.now.outbox.waiting[0].overdue
    table.disconnect()
    commanded_again(table)
    assert len(shoe_commands_sent(table)) == 2  # the same, told again
    assert len(table.told("shoe.unanswered")) == 1


def test_what_is_overdue_can_be_told_anew_and_the_first_is_given_up() -> None:
    table = commanded_table()
    table.does("reset_shoe")
    assert "has not answered yet" in str(table.asks("reset_shoe").error)
    table.tick()
    table.does("reset_shoe")
    first, second = shoe_commands_sent(table)
    assert first.number != second.number
    assert restricted_events(table, "shoe.unanswered")[-1] == {
        "command": "reset",
        "given_up": True,
        "number": first.number,
        "reason": "told_again",
    }
    assert [e.number for e in table.now.outbox.waiting] == [second.number]


@pytest.mark.parametrize("how", ["link", "restart"])
def test_a_shoe_that_knows_ids_is_told_again_what_it_has_not_answered(how: str) -> None:
    table = commanded_table()
    table.does("test_shoe")
    (told,) = shoe_commands_sent(table)
    if how == "restart":
        table._state = state.from_bytes(state.to_bytes(table.now))
        table.restart()
    else:
        table.disconnect()
    table.connect(commands=True, obeys=REFERENCE.obeys, tells=REFERENCE.tells)
    assert shoe_commands_sent(table) == [told]  # nobody knows yet who is there
    table.hello()
    assert shoe_commands_sent(table) == [told, told]
    assert table.told("shoe.unanswered") == []


def test_another_shoe_is_not_told_what_the_first_one_was() -> None:
    table = commanded_table()
    table.does("test_shoe")
    table.disconnect()
    table.connect(commands=True, obeys=REFERENCE.obeys, tells=REFERENCE.tells)
    table.hello(device_id="SH-9999")
    assert len(shoe_commands_sent(table)) == 1
    assert restricted_events(table, "shoe.unanswered")[0]["reason"] == "another_shoe"
    assert table.now.outbox.waiting == ()


def test_the_time_is_set_at_every_hello_and_never_waited_for() -> None:
    table = commanded_table()
    (first,) = shoe_commands_sent(table, "set_time")
    table.says(accept(first.number))
    table.disconnect()
    commanded_again(table)
    assert len(shoe_commands_sent(table, "set_time")) == 2
    assert table.now.outbox.waiting == () and table.told("shoe.told") == []


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("link", "link_lost"),
        ("restart", "controller_restarted"),
        ("reopened", "storage_failed"),
    ],
)
def test_a_shoe_without_ids_is_never_told_twice(how: str, why: str) -> None:
    table = commanded_table(ANGEL_EYE)
    table.does("ask_shoe", what="progress")
    table.disconnect() if how == "link" else table.restart(reopened=how == "reopened")
    assert table.told("shoe.unanswered") == [{"command": "query", "given_up": True}]
    (given_up,) = restricted_events(table, "shoe.unanswered")
    assert given_up["reason"] == why
    commanded_again(table, ANGEL_EYE)
    assert len(shoe_commands_sent(table)) == 1 and table.now.outbox.waiting == ()


def test_what_the_session_gave_up_is_given_up() -> None:
    table = commanded_table(ANGEL_EYE)
    table.does("ask_shoe", what="progress")
    table.says(CommandUnanswered(command_id=shoe_commands_sent(table)[0].number, reason="no_reply"))
    assert restricted_events(table, "shoe.unanswered")[0]["reason"] == "no_reply"


def test_what_could_not_be_sent_is_given_up_with_the_reason() -> None:
    table = commanded_table(WITH_KEYS)
    table.does("rotate_key", key_id=2)
    why = message("shoe_not_told", detail="the key file has no key 2")
    number = shoe_commands_sent(table)[0].number
    untold = NotTold(t_us=table.t_us, number=number, reason="no_key", why=why)
    table.feed(from_bytes(to_bytes(untold)))
    (told,) = restricted_events(table, "shoe.unanswered")
    assert (told["reason"], told["detail"]) == ("no_key", why.as_data())
    assert table.now.outbox.waiting == ()


# --- any order ------------------------------------------------------------------------------------

STEPS = ("reset_shoe", "test_shoe", "ask_shoe", "rotate_key", "answer", "refuse", "yes", "lose",
         "return", "hello", "other", "restart", "tick", "card", "untold")  # fmt: skip


def answer(table: TableHarness, what: str, number: int) -> None:
    errand = table.now.outbox.find(number)
    if what == "answer" and errand is not None:
        table.says(COMMAND_DONE[errand.command](number))
    else:
        refused = what == "refuse"
        reason = "busy" if refused else None
        table.says(Reply(accepted=not refused, reason=reason, command_id=number))


def step(table: TableHarness, can: Capabilities, what: str) -> None:
    waiting = table.now.outbox.waiting
    number = waiting[0].number if waiting else 1
    match what:
        case "answer" | "refuse" | "yes":
            answer(table, what, number)
        case "lose":
            table.disconnect()
        case "return":
            commanded_again(table, can)
        case "restart":
            table._state = state.from_bytes(state.to_bytes(table.now))
            table.restart()
        case "tick" if table.now.wake_us is not None:
            table.tick()
        case "card":
            said: ShoeEvent = CardDrawn(card=card("8S")) if can.replay else Started()
            table.says(said)
        case "untold":
            why = message("shoe_not_told", detail="no such key")
            table.feed(NotTold(t_us=table.t_us, number=number, reason="no_key", why=why))
        case "hello" | "other" if can.replay and table.now.link.up:
            table.hello(device_id="SH-1" if what == "other" else "SH-0042")
        case _ if what in SHOE_COMMANDS:
            args = COMMAND_ARGS.get(what, {})
            table.asks(what, **({"what": can.tells[0]} if what == "ask_shoe" else args))


@pytest.mark.parametrize("can", [WITH_KEYS, ANGEL_EYE], ids=["reference", "angel_eye"])
@given(steps=st.lists(st.sampled_from(STEPS), max_size=40))
def test_every_errand_ends_in_one_named_event_or_is_on_its_way(
    can: Capabilities, steps: list[str]
) -> None:
    table = commanded_table(can)
    for what in steps:
        step(table, can, what)
    told = [e["number"] for e in restricted_events(table, "shoe.told")]
    ended = [e["number"] for e in restricted_events(table, "shoe.answered")]
    ended += [e["number"] for e in restricted_events(table, "shoe.unanswered") if e["given_up"]]
    waiting = [e.number for e in table.now.outbox.waiting]
    assert sorted(told) == sorted(ended + waiting)
    assert len(set(told)) == len(told)
    times = Counter(c.number for c in shoe_commands_sent(table))
    assert set(times) <= set(told)
    if not can.replay:
        assert all(count == 1 for count in times.values())
