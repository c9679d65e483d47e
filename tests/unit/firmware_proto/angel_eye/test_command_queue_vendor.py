"""The Angel Eye host clears errors and asks for progress: in turn with the lock, each once.

In: commands, frames, times. Out: heard events, bytes to send. Must not know: layouts.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.angel_eye.command_queue import ATTEMPTS, REPLY_TIMEOUT_S
from firmware_proto.angel_eye.frames import encode_command, encode_event, encode_reply
from firmware_proto.angel_eye.host import AngelEyeHost
from firmware_proto.angel_eye.settings import host_settings
from firmware_proto.commands import Armed, ClearError, Locked, Query, Reset
from firmware_proto.events import (
    CommandUnanswered,
    Discarded,
    Error,
    ErrorCleared,
    Redesignated,
    Reply,
    ShoeEvent,
    Started,
)

LOCK, UNLOCK = encode_command("LK", "02"), encode_command("LK", "01")
CLEAR, KEEP = encode_command("EC", "00"), encode_command("EC", "01")
DISCARD, PROGRESS = encode_command("EC", "02"), encode_command("GP", "00")
ACCEPTED = encode_reply(Reply(accepted=True))
BUSY = encode_reply(Reply(accepted=False, reason="busy"))
ASK = Query(9, "progress")
ARMED = Armed(1, "player", 1)


def _host(**settings: object) -> AngelEyeHost:
    chosen = {"commands": True, "ask_when_silent": False, **settings}
    return AngelEyeHost(host_settings(chosen))


def _hear(host: AngelEyeHost, data: bytes, t: float = 0.0) -> list[ShoeEvent]:
    return [h.event for h in host.receive(data, t)]


def _says(host: AngelEyeHost, event: ShoeEvent, seq: str) -> None:
    _hear(host, encode_event(event, seq))


@pytest.mark.parametrize(("command", "sent"), [
    (ClearError(1), CLEAR), (ClearError(1, "keep"), KEEP), (ClearError(1, "discard"), DISCARD),
    (Query(1, "progress"), PROGRESS),
])  # fmt: skip
def test_each_command_is_sent_and_its_reply_names_it(
    command: ClearError | Query, sent: bytes
) -> None:
    host = _host()
    host.command(command)
    assert host.outgoing() == sent
    assert _hear(host, ACCEPTED + ACCEPTED) == [
        Reply(accepted=True, command_id=1),
        Discarded(reason="reply_to_nothing"),
    ]
    assert (host.outgoing(), host.next_deadline) == (b"", None)


def test_without_leave_no_command_is_taken() -> None:
    host = _host(commands=False)
    with pytest.raises(ValueError, match="commands are not allowed"):
        host.command(ASK)
    assert host.outgoing() == b""


def test_an_overdraw_is_cleared_by_its_card_only_and_nothing_else_is() -> None:
    host = _host()
    _says(host, Error(code="overdraw", in_error_mode=True), "1")
    with pytest.raises(ValueError, match="overdraw is not cleared so"):
        host.command(ClearError(1))
    host.command(ClearError(2, "keep"))
    _hear(host, ACCEPTED)
    _says(host, ErrorCleared(code="overdraw"), "2")
    _says(host, Error(code="cannot_read", in_error_mode=True), "3")
    for how in ("keep", "discard"):
        with pytest.raises(ValueError, match="cannot_read is not cleared so"):
            host.command(ClearError(3, how))
    host.command(ClearError(4))
    assert host.outgoing() == KEEP + CLEAR


@pytest.mark.parametrize("wrong", [ClearError(1, "burn"), Query(1, "battery")])
def test_what_the_wire_has_no_command_for_is_refused(wrong: ClearError | Query) -> None:
    with pytest.raises(ValueError, match="not"):
        _host().command(wrong)


def test_commands_wait_for_each_other_and_the_lock_goes_first() -> None:
    host = _host()
    host.command(ASK)
    host.command(ClearError(2))
    host.set_desired_state(Locked())
    assert host.outgoing() == PROGRESS
    _hear(host, ACCEPTED)
    assert host.outgoing() == LOCK
    _hear(host, ACCEPTED)
    assert host.outgoing() == CLEAR
    host.set_desired_state(ARMED)
    host.set_desired_state(Locked())
    host.set_desired_state(ARMED)
    assert host.outgoing() == b""
    assert _hear(host, ACCEPTED) == [Reply(accepted=True, command_id=2)]
    assert host.outgoing() == UNLOCK


def test_a_command_without_a_reply_is_given_up_after_its_last_time_out() -> None:
    host = _host()
    host.command(ASK)
    sent, events, t = [host.outgoing()], [], 0.0
    host.tick(t)
    for _ in range(ATTEMPTS):
        assert host.next_deadline == t + REPLY_TIMEOUT_S
        t += REPLY_TIMEOUT_S
        events += [h.event for h in host.tick(t)]
        sent.append(host.outgoing())
    assert sent == [PROGRESS] * ATTEMPTS + [b""]
    assert events == [CommandUnanswered(command_id=9, reason="no_reply")]
    assert host.next_deadline is None


def test_a_busy_shoe_is_asked_again_after_the_time_out() -> None:
    host = _host()
    host.command(ASK)
    host.outgoing()
    host.tick(0.0)
    assert _hear(host, BUSY) == [Reply(accepted=False, reason="busy")]
    assert (host.outgoing(), host.next_deadline) == (b"", REPLY_TIMEOUT_S)
    host.tick(REPLY_TIMEOUT_S)
    assert host.outgoing() == PROGRESS
    _hear(host, ACCEPTED)
    assert host.next_deadline is None


def test_after_one_sent_again_the_lock_rests_until_no_late_reply_can_come() -> None:
    host = _host()
    host.command(ASK)
    host.tick(0.0)
    host.tick(3.0)
    host.set_desired_state(Locked())
    assert host.outgoing() == PROGRESS * 2
    assert _hear(host, ACCEPTED, 3.1) == [Reply(accepted=True, command_id=9)]
    assert _hear(host, ACCEPTED, 3.2) == [Discarded(reason="reply_to_nothing")]
    assert host.outgoing() == b""
    host.tick(6.0)
    assert host.outgoing() == LOCK


def test_after_a_lock_sent_again_a_command_rests_as_well() -> None:
    host = _host()
    host.set_desired_state(Locked())
    host.tick(0.0)
    host.tick(3.0)
    host.command(ASK)
    assert host.outgoing() == LOCK * 2
    assert _hear(host, ACCEPTED, 3.1) == [Reply(accepted=True)]
    assert (host.outgoing(), host.next_deadline) == (b"", 6.0)
    host.tick(6.0)
    assert host.outgoing() == PROGRESS


@pytest.mark.parametrize("then", [ErrorCleared(code="cannot_read"), Error(code="overdraw")])
def test_clearing_is_not_sent_again_where_another_error_could_be_meant(then: ShoeEvent) -> None:
    host = _host()
    _says(host, Error(code="cannot_read", in_error_mode=True), "1")
    host.command(ClearError(1))
    host.outgoing()
    host.tick(0.0)
    _says(host, then, "2")
    assert [h.event for h in host.tick(REPLY_TIMEOUT_S)] == [
        CommandUnanswered(command_id=1, reason="error_changed")
    ]
    assert (host.outgoing(), host.next_deadline) == (b"", None)


def test_clearing_an_error_that_nobody_heard_of_is_sent_once() -> None:
    host = _host()
    host.command(ClearError(1))
    assert host.outgoing() == CLEAR
    host.tick(0.0)
    (given_up,) = host.tick(REPLY_TIMEOUT_S)
    assert isinstance(given_up.event, CommandUnanswered)
    assert (host.outgoing(), host.next_deadline) == (b"", None)


def test_a_shoe_that_stays_busy_is_given_up_for_that() -> None:
    host = _host()
    host.command(ASK)
    host.tick(0.0)
    told: list[ShoeEvent] = []
    for attempt in range(1, ATTEMPTS + 1):
        _hear(host, BUSY)
        told += [h.event for h in host.tick(attempt * REPLY_TIMEOUT_S)]
    assert told == [CommandUnanswered(command_id=9, reason="busy")]


def test_what_only_other_shoes_can_be_told_is_refused() -> None:
    with pytest.raises(ValueError, match="no such command: Reset"):
        _host().command(Reset(1))


def test_a_shoe_that_was_reset_is_locked_again() -> None:
    host = _host()
    host.set_desired_state(Locked())
    _hear(host, ACCEPTED)
    assert host.outgoing() == LOCK
    host.command(ASK)
    _says(host, Started(), "0")
    assert host.outgoing() == PROGRESS
    _hear(host, ACCEPTED)
    assert host.outgoing() == LOCK


@pytest.mark.parametrize(("settings", "meaning"), [
    ({}, "next_round"), ({"redesignation": "dealt_anew"}, "dealt_anew"),
])  # fmt: skip
def test_what_a_redesignation_means_is_as_set(settings: dict[str, object], meaning: str) -> None:
    host = _host(**settings)
    event = Redesignated(card=None, hand="player", index=1)
    told = _hear(host, encode_event(event, "1"))
    assert told == [Redesignated(card=None, hand="player", index=1, meaning=meaning)]


_STEPS = ("ask", "clear", "lock", "unlock", "accept", "busy", "S", "E", "e", "tick", "wait")


@given(st.lists(st.sampled_from(_STEPS), max_size=40))
def test_whatever_happens_one_command_is_outstanding_at_most_and_all_end(steps: list[str]) -> None:
    host, t, outstanding, seq = _host(), 0.0, False, 0
    says: dict[str, ShoeEvent] = {
        "S": Started(),
        "E": Error(code="cannot_read"),
        "e": ErrorCleared(code="cannot_read"),
    }
    for number, step in enumerate(steps):
        if step in ("ask", "clear"):
            host.command(Query(number, "progress") if step == "ask" else ClearError(number))
        elif step in ("lock", "unlock"):
            host.set_desired_state(Locked() if step == "lock" else ARMED)
        elif step in says:
            _says(host, says[step], "0123456789"[(seq := seq + 1) % 10])
        elif step in ("accept", "busy"):
            told = _hear(host, ACCEPTED if step == "accept" else BUSY, t)
            assert not isinstance(told[0], Reply) or outstanding
            outstanding = outstanding and not isinstance(told[0], Reply)
        else:
            t += 0.0 if step == "tick" else REPLY_TIMEOUT_S
            host.tick(t)
            outstanding = outstanding and step == "tick"
        if sent := host.outgoing():
            assert not outstanding
            assert sent in (LOCK, UNLOCK, CLEAR, PROGRESS)
            outstanding = True
            host.tick(t)
    for _ in range((len(steps) + 2) * ATTEMPTS):
        host.tick(t := t + REPLY_TIMEOUT_S)
    assert host.next_deadline is None
