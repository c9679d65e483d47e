"""The Angel Eye host locks and unlocks: one command at a time, bounded, only where allowed.

In: frames and times. Out: heard events, bytes to send. Must not know: layouts.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.angel_eye.codec import Listener
from firmware_proto.angel_eye.command_queue import ATTEMPTS, REPLY_TIMEOUT_S
from firmware_proto.angel_eye.frames import CommandBcc, encode_command, encode_event, encode_reply
from firmware_proto.angel_eye.profile import host_session
from firmware_proto.cards import card
from firmware_proto.commands import Armed, Locked
from firmware_proto.events import CardDrawn, Discarded, Error, HostTraffic, Lock, Reply, ShoeEvent
from firmware_proto.session import HostSession

LOCK, UNLOCK = encode_command("LK", "02"), encode_command("LK", "01")
ACCEPTED = encode_reply(Reply(accepted=True))
ARMED = Armed(1, "player", 1)


def _draw(code: str, index: int = 1) -> CardDrawn:
    return CardDrawn(card=card(code), hand="player", index=index)


def _host(**settings: object) -> HostSession:
    return host_session(resume=None, settings={"ask_when_silent": False, **settings})


def _hear(host: HostSession, data: bytes, t: float = 0.0) -> list[ShoeEvent]:
    return [h.event for h in host.receive(data, t)]


def _due(host: HostSession) -> float | None:
    return host.next_deadline


def _refused(reason: str) -> bytes:
    return encode_reply(Reply(accepted=False, reason=reason))


def test_read_only_by_default_sends_no_byte_whatever_is_desired() -> None:
    host = _host()
    for state in (Locked(), ARMED, Locked()):
        host.set_desired_state(state)
        host.receive(encode_event(_draw("8S"), "1"), 1.0)
        host.stored("1")
        assert host.tick(100.0) == []
        assert host.next_deadline is None
        assert host.outgoing() == b""


def test_locking_and_unlocking_wait_for_each_others_reply() -> None:
    host = _host(commands=True)
    host.set_desired_state(Locked())
    host.set_desired_state(ARMED)
    assert host.outgoing() == LOCK
    assert _hear(host, ACCEPTED) == [Reply(accepted=True)]
    assert host.outgoing() == UNLOCK
    assert _hear(host, ACCEPTED + ACCEPTED) == [
        Reply(accepted=True),
        Discarded(reason="reply_to_nothing"),
    ]
    host.set_desired_state(Armed(2, "banker", 1))  # unlocked already
    assert (host.outgoing(), host.next_deadline) == (b"", None)


def test_a_desire_that_came_back_is_not_sent_again() -> None:
    host = _host(commands=True)
    for state in (Locked(), ARMED, Locked()):
        host.set_desired_state(state)
    assert host.outgoing() == LOCK
    _hear(host, ACCEPTED)
    assert (host.outgoing(), host.next_deadline) == (b"", None)


def test_commands_are_checked_from_where_the_setting_says() -> None:
    host = _host(commands=True, command_bcc="after_stx")
    host.set_desired_state(Locked())
    assert host.outgoing() == bytes.fromhex("02 4F 50 4C 4B 30 32 03 31 39")


@pytest.mark.parametrize("of_replies", CommandBcc)
@pytest.mark.parametrize("of_commands", CommandBcc)
def test_where_the_check_of_framed_replies_begins_is_set_by_itself(
    of_commands: CommandBcc, of_replies: CommandBcc
) -> None:
    host = _host(commands=True, command_bcc=of_commands.value, reply_bcc=of_replies.value)
    host.set_desired_state(Locked())
    assert host.outgoing() == encode_command("LK", "02", of_commands)
    other = next(check for check in CommandBcc if check is not of_replies)
    wrong = encode_reply(Reply(accepted=True), framed=other)
    assert _hear(host, wrong) == [Discarded(reason="bcc")]
    right = encode_reply(Reply(accepted=True), framed=of_replies)
    assert _hear(host, right) == [Reply(accepted=True)]
    assert host.next_deadline is None
    echo = encode_command("LK", "02", of_commands)
    assert _hear(host, echo) == [Discarded(reason="host_command")]


def test_a_plain_listener_hears_replies_and_commands_wherever_their_checks_begin() -> None:
    for check in CommandBcc:
        listener = Listener()
        said = encode_command("LK", "02", check)
        said += encode_reply(Reply(accepted=True), framed=check)
        heard = [heard.event for heard in listener.feed(said)]
        assert heard == [HostTraffic(command="LK 02"), Reply(accepted=True)]


def test_a_command_without_a_reply_is_sent_again_and_then_given_up() -> None:
    host = _host(commands=True)
    host.set_desired_state(Locked())
    sent = [host.outgoing()]
    t = 10.0
    assert _due(host) == float("-inf")
    host.tick(t)
    events: list[ShoeEvent] = []
    while (deadline := host.next_deadline) is not None:
        assert deadline == t + REPLY_TIMEOUT_S
        assert host.tick(deadline - 0.001) == []
        t = deadline
        events += [h.event for h in host.tick(t)]
        sent.append(host.outgoing())
    assert sent == [LOCK] * ATTEMPTS + [b""]
    assert events == [Error(code="command_unanswered")]
    assert _hear(host, ACCEPTED) == [Discarded(reason="reply_to_nothing")]
    host.set_desired_state(Locked())
    assert host.outgoing() == LOCK


@pytest.mark.parametrize("reason", ["busy", "writing", "bcc", "no_etx", "line_error"])
def test_a_passing_refusal_is_tried_again_after_the_time_out(reason: str) -> None:
    host = _host(commands=True)
    host.set_desired_state(Locked())
    host.outgoing()
    host.tick(0.0)
    assert _hear(host, _refused(reason)) == [Reply(accepted=False, reason=reason)]
    assert host.outgoing() == b""
    host.tick(REPLY_TIMEOUT_S)
    assert host.outgoing() == LOCK
    assert _hear(host, ACCEPTED) == [Reply(accepted=True)]
    assert host.next_deadline is None


@pytest.mark.parametrize("reason", ["format", "address", "command", "type", "other"])
def test_a_lasting_refusal_is_final_until_the_next_desire(reason: str) -> None:
    host = _host(commands=True)
    host.set_desired_state(Locked())
    host.outgoing()
    assert _hear(host, _refused(reason)) == [Reply(accepted=False, reason=reason)]
    assert (host.outgoing(), host.next_deadline) == (b"", None)
    host.set_desired_state(Locked())
    assert host.outgoing() == LOCK


def test_a_new_command_rests_until_the_last_time_out_of_one_sent_again() -> None:
    host = _host(commands=True)
    host.set_desired_state(Locked())
    host.tick(0.0)
    host.tick(3.0)
    host.set_desired_state(ARMED)
    host.outgoing()
    assert _hear(host, ACCEPTED, 3.1) == [Reply(accepted=True)]
    assert host.outgoing() == b""
    assert _hear(host, ACCEPTED, 3.2) == [Discarded(reason="reply_to_nothing")]
    assert host.next_deadline == 6.0
    host.tick(6.0)
    assert host.outgoing() == UNLOCK
    assert _hear(host, ACCEPTED, 6.1) == [Reply(accepted=True)]
    assert host.next_deadline is None


@pytest.mark.parametrize("event_first", [False, True])
def test_where_the_event_confirms_a_lock_both_are_waited_for(event_first: bool) -> None:
    host = _host(commands=True, lock_confirmed_by_event=True)
    host.set_desired_state(Locked())
    host.tick(0.0)
    assert host.outgoing() == LOCK
    event = encode_event(Lock(locked=True), "1")
    parts = [event, ACCEPTED] if event_first else [ACCEPTED, event]
    _hear(host, parts[0])
    assert host.next_deadline == REPLY_TIMEOUT_S
    _hear(host, parts[1])
    assert host.next_deadline is None


def test_an_accepted_lock_without_its_event_is_sent_again_where_the_event_confirms() -> None:
    host = _host(commands=True, lock_confirmed_by_event=True)
    host.set_desired_state(Locked())
    host.tick(0.0)
    host.outgoing()
    _hear(host, ACCEPTED)
    host.tick(REPLY_TIMEOUT_S)
    assert host.outgoing() == LOCK


def test_the_key_is_not_fought_but_the_next_desire_is_sent() -> None:
    host = _host(commands=True)
    host.set_desired_state(Locked())
    host.outgoing()
    _hear(host, ACCEPTED)
    assert _hear(host, encode_event(Lock(locked=False), "1")) == [Lock(locked=False)]
    assert (host.outgoing(), host.next_deadline) == (b"", None)
    host.set_desired_state(Locked())
    assert host.outgoing() == LOCK


def test_an_echoed_command_is_no_event() -> None:
    host = _host(commands=True)
    host.set_desired_state(Locked())
    assert _hear(host, host.outgoing()) == [Discarded(reason="host_command")]


_steps = st.lists(
    st.sampled_from(["lock", "unlock", "accept", "busy", "type", "L1", "L0", "tick", "wait"]),
    max_size=40,
)


@given(steps=_steps, by_event=st.booleans())
def test_whatever_happens_commands_end_and_none_is_sent_while_one_is_outstanding(
    steps: list[str], by_event: bool
) -> None:
    host = _host(commands=True, lock_confirmed_by_event=by_event)
    t, answered = 0.0, True
    wire = {
        "accept": ACCEPTED,
        "busy": _refused("busy"),
        "type": _refused("type"),
        "L1": encode_event(Lock(locked=True), "1"),
        "L0": encode_event(Lock(locked=False), "2"),
    }
    for step in steps:
        if step in ("lock", "unlock"):
            host.set_desired_state(Locked() if step == "lock" else ARMED)
        elif step in wire:
            replied = any(isinstance(e, Reply) for e in _hear(host, wire[step], t))
            assert not (replied and answered)
            answered = answered or replied
        else:
            t += 0.0 if step == "tick" else REPLY_TIMEOUT_S
            host.tick(t)
            answered = answered or step == "wait"
        if sent := host.outgoing():
            assert answered
            assert sent in (LOCK, UNLOCK)
            answered = False
            host.tick(t)
    for _ in range(3 * ATTEMPTS):
        host.tick(t := t + REPLY_TIMEOUT_S)
    assert host.next_deadline is None
