"""Angel Eye sessions: repeats, commands and replies, settings, and the shoe's own end.

In: frames and times. Out: heard events, bytes to send. Must not know: layouts.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.angel_eye.frames import CommandBcc, encode_command, encode_event, encode_reply
from firmware_proto.angel_eye.lock import ATTEMPTS, REPLY_TIMEOUT_S
from firmware_proto.angel_eye.repeats import WINDOW
from firmware_proto.angel_eye.session import CAPABILITIES, SERIAL, device_session, host_session
from firmware_proto.cards import card
from firmware_proto.events import (
    Armed,
    CardDrawn,
    CommandAsked,
    CuttingCard,
    Discarded,
    Error,
    Gap,
    Hello,
    Lock,
    Locked,
    Repeated,
    Reply,
    Result,
    ShoeEvent,
    ShoeLoaded,
    Standby,
    Started,
    Status,
)
from firmware_proto.profiles import profile
from firmware_proto.session import HostSession

LOCK, UNLOCK = encode_command("LK", "02"), encode_command("LK", "01")
ACCEPTED = encode_reply(Reply(accepted=True))
ARMED = Armed(1, "player", 1)


def _draw(code: str, index: int = 1) -> CardDrawn:
    return CardDrawn(card=card(code), hand="player", index=index)


def _host(**settings: object) -> HostSession:
    return host_session(resume=None, settings=settings)


def _hear(host: HostSession, data: bytes, t: float = 0.0) -> list[ShoeEvent]:
    return [h.event for h in host.receive(data, t)]


def _due(host: HostSession) -> float | None:
    return host.next_deadline


def _refused(reason: str) -> bytes:
    return encode_reply(Reply(accepted=False, reason=reason))


def test_the_profile_says_what_these_shoes_can_do() -> None:
    found = profile("angel_eye")
    assert found.CAPABILITIES is CAPABILITIES
    assert (CAPABILITIES.arm, CAPABILITIES.replay) == (False, False)
    assert (CAPABILITIES.judges, CAPABILITIES.names_hands) == (True, True)
    assert CAPABILITIES.decks == ("french52",)
    assert (SERIAL.baud, SERIAL.bits, SERIAL.parity, SERIAL.stop_bits) == (4800, 8, "N", 1)


# --- settings ---


@pytest.mark.parametrize(
    "settings",
    [
        {"redesignated": "next_round"},
        {"command_bcc": "from_enq"},
        {"command_bcc": 1},
        {"repeats": "never"},
        {"repeats": ["seq"]},
        {"lock_confirmed_by_event": "yes"},
        {"commands": 1},
    ],
)
def test_a_wrong_setting_of_the_host_is_refused_by_name(settings: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        _host(**settings)


@pytest.mark.parametrize(
    "settings", [{"commands": True}, {"sends": 2}, {"sends": True}, {"command_bcc": "none"}]
)
def test_a_wrong_setting_of_the_shoe_is_refused_by_name(settings: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        device_session(settings=settings)


# --- repeats ---


@given(
    st.lists(st.sampled_from(["8S", "KC", "AD", "TH"]), min_size=1, max_size=100),
    st.sampled_from(["seq_and_code", "seq"]),
)
def test_events_sent_three_times_are_heard_once(codes: list[str], repeats: str) -> None:
    device = device_session(settings={"sends": 3})
    for number, code in enumerate(codes):
        device.say(_draw(code), seq=number, t_us=0)
    heard = _hear(_host(repeats=repeats), device.outgoing())
    assert heard[::3] == [_draw(code) for code in codes]
    assert heard.count(Repeated(of="card_drawn")) == 2 * len(codes)


def test_three_sends_that_overlap_are_heard_once() -> None:
    frames = [encode_event(_draw(c), s) for c, s in (("8S", "1"), ("KC", "2"), ("AD", "3"))]
    heard = _hear(_host(), b"".join(frames) * 3)
    assert heard[:3] == [_draw("8S"), _draw("KC"), _draw("AD")]
    assert set(heard[3:]) == {Repeated(of="card_drawn")}


@pytest.mark.parametrize("repeats", ["seq_and_code", "seq"])
def test_another_card_in_the_same_slot_with_the_same_number_is_not_swallowed(repeats: str) -> None:
    data = encode_event(_draw("8S"), "1") + encode_event(_draw("9S"), "1")
    assert _hear(_host(repeats=repeats), data) == [_draw("8S"), _draw("9S")]


def test_a_sequence_that_came_round_is_fresh() -> None:
    host = _host()
    for number in range(40):
        frame = encode_event(Standby(), str(number % 10))
        assert _hear(host, frame) == [Standby()], number


def test_a_repeat_is_one_only_among_the_latest_frames() -> None:
    between = b"".join(encode_event(Standby(), c) for c in "ABCDEFGHIJ"[: WINDOW - 1])
    frame = encode_event(_draw("8S"), "1")
    assert _hear(_host(), frame + between + frame)[-1] == Repeated(of="card_drawn")
    longer = between + encode_event(Standby(), "z")
    assert _hear(_host(), frame + longer + frame)[-1] == _draw("8S")


def test_by_sequence_alone_another_code_between_makes_a_frame_fresh() -> None:
    drawn = encode_event(_draw("8S"), "1")
    data = drawn + encode_event(Standby(), "1") + drawn
    assert _hear(_host(repeats="seq"), data)[-1] == _draw("8S")
    assert _hear(_host(repeats="seq_and_code"), data)[-1] == Repeated(of="card_drawn")


def test_a_shoe_that_was_reset_counts_anew() -> None:
    boot = encode_event(Started(), "0") + encode_event(Standby(), "1")
    boot += encode_event(_draw("8S"), "2")
    assert _hear(_host(), boot + boot) == 2 * [Started(), Standby(), _draw("8S")]
    assert _hear(_host(), boot[:6] * 3) == [Started()] + 2 * [Repeated(of="started")]


def test_heard_events_name_their_sequence_and_bytes() -> None:
    raw = encode_event(_draw("8S"), "1")
    heard = _host().receive(b"\xff" + raw + raw, 0.0)
    assert [(h.seq, h.first, h.last) for h in heard] == [(None, 0, 1), ("1", 1, 9), ("1", 9, 17)]


# --- commands ---


def test_read_only_by_default_sends_no_byte_whatever_is_desired() -> None:
    host = _host()
    for state in (Locked(), ARMED, Locked()):
        host.desire(state)
        host.receive(encode_event(_draw("8S"), "1"), 1.0)
        host.stored("1")
        assert host.tick(100.0) == []
        assert host.next_deadline is None
        assert host.outgoing() == b""


def test_locking_and_unlocking_wait_for_each_others_reply() -> None:
    host = _host(commands=True)
    host.desire(Locked())
    host.desire(ARMED)
    assert host.outgoing() == LOCK
    assert _hear(host, ACCEPTED) == [Reply(accepted=True)]
    assert host.outgoing() == UNLOCK
    assert _hear(host, ACCEPTED + ACCEPTED) == [
        Reply(accepted=True),
        Discarded(reason="reply_to_nothing"),
    ]
    host.desire(Armed(2, "banker", 1))  # unlocked already
    assert (host.outgoing(), host.next_deadline) == (b"", None)


def test_a_desire_that_came_back_is_not_sent_again() -> None:
    host = _host(commands=True)
    for state in (Locked(), ARMED, Locked()):
        host.desire(state)
    assert host.outgoing() == LOCK
    _hear(host, ACCEPTED)
    assert (host.outgoing(), host.next_deadline) == (b"", None)


def test_commands_are_checked_from_where_the_setting_says() -> None:
    host = _host(commands=True, command_bcc="after_stx")
    host.desire(Locked())
    assert host.outgoing() == bytes.fromhex("02 4F 50 4C 4B 30 32 03 31 39")
    framed = encode_reply(Reply(accepted=True), framed=CommandBcc.AFTER_STX)
    assert _hear(host, framed) == [Reply(accepted=True)]


def test_a_command_without_a_reply_is_sent_again_and_then_given_up() -> None:
    host = _host(commands=True)
    host.desire(Locked())
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
    host.desire(Locked())
    assert host.outgoing() == LOCK


@pytest.mark.parametrize("reason", ["busy", "writing", "bcc", "no_etx", "line_error"])
def test_a_passing_refusal_is_tried_again_after_the_time_out(reason: str) -> None:
    host = _host(commands=True)
    host.desire(Locked())
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
    host.desire(Locked())
    host.outgoing()
    assert _hear(host, _refused(reason)) == [Reply(accepted=False, reason=reason)]
    assert (host.outgoing(), host.next_deadline) == (b"", None)
    host.desire(Locked())
    assert host.outgoing() == LOCK


def test_a_new_command_rests_until_the_last_time_out_of_one_sent_again() -> None:
    host = _host(commands=True)
    host.desire(Locked())
    host.tick(0.0)
    host.tick(3.0)
    host.desire(ARMED)
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
    host.desire(Locked())
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
    host.desire(Locked())
    host.tick(0.0)
    host.outgoing()
    _hear(host, ACCEPTED)
    host.tick(REPLY_TIMEOUT_S)
    assert host.outgoing() == LOCK


def test_the_key_is_not_fought_but_the_next_desire_is_sent() -> None:
    host = _host(commands=True)
    host.desire(Locked())
    host.outgoing()
    _hear(host, ACCEPTED)
    assert _hear(host, encode_event(Lock(locked=False), "1")) == [Lock(locked=False)]
    assert (host.outgoing(), host.next_deadline) == (b"", None)
    host.desire(Locked())
    assert host.outgoing() == LOCK


def test_an_echoed_command_is_no_event() -> None:
    host = _host(commands=True)
    host.desire(Locked())
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
            host.desire(Locked() if step == "lock" else ARMED)
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


# --- the shoe's end ---


@pytest.mark.parametrize("check", ["from_stx", "after_stx"])
def test_the_shoe_hears_every_command_and_answers(check: str) -> None:
    device = device_session(settings={"command_bcc": check})
    asked = [("LK", "01"), ("EC", "02"), ("GP", "00")]
    data = b"".join(encode_command(k, d, CommandBcc(check)) for k, d in asked)
    assert device.receive(data, 0.0) == [CommandAsked("OP", k, d) for k, d in asked]
    device.say(Reply(accepted=True), seq=7, t_us=0)
    device.say(Reply(accepted=False, reason="other"), seq=7, t_us=0)
    assert device.outgoing() == b"\x06\x15\xff"
    assert device.outgoing() == b""


def test_the_shoe_discards_what_is_no_command() -> None:
    device = device_session(settings={})
    heard = device.receive(b"\xffOP" + LOCK[:-1] + b"0" + b"\x02PO" + LOCK, 0.0)
    assert heard == [
        Discarded(reason="outside_frame"),
        Discarded(reason="bcc"),
        Discarded(reason="operation"),
        CommandAsked("OP", "LK", "02"),
    ]
    device.tick(1.0)
    assert (device.next_deadline, device.outgoing()) == (None, b"")


def test_the_shoe_numbers_events_round_the_digits_and_letters() -> None:
    device = device_session(settings={})
    for number in (1, 9, 10, 35, 36, 1000):
        device.say(CuttingCard(), seq=number, t_us=0)
    heard = _host().receive(device.outgoing(), 0.0)
    assert [h.seq for h in heard] == ["1", "9", "A", "Z", "0", "S"]


def test_the_shoe_leaves_unsaid_what_the_wire_cannot_carry() -> None:
    device = device_session(settings={})
    for event in (
        Hello(device_id="SH-1", firmware="1", boot_id=1, deck="french52"),
        ShoeLoaded(),
        Status(armed=None, drawn=0, unacknowledged=0),
        Gap(first=1, last=2),
    ):
        device.say(event, seq=1, t_us=0)
    assert device.outgoing() == b""
    with pytest.raises(ValueError, match="discarded"):
        device.say(Discarded(reason="bcc"), seq=1, t_us=0)


def test_a_round_comes_through_from_shoe_to_host() -> None:
    device, host = device_session(settings={"sends": 3}), _host()
    told: list[ShoeEvent] = [
        _draw("8S"),
        CardDrawn(card=card("KC"), hand="banker", index=1),
        _draw("AD", 2),
        CardDrawn(card=card("TH"), hand="banker", index=2),
        Result(winner="player", player_pair=False, banker_pair=False),
        Standby(),
    ]
    for number, event in enumerate(told, 1):
        device.say(event, seq=number, t_us=number)
    heard = _hear(host, device.outgoing())
    assert [e for e in heard if not isinstance(e, Repeated)] == told
