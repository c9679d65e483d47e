"""Angel Eye sessions: repeats, settings, and the shoe's own end.

In: frames and times. Out: heard events, bytes to send. Must not know: layouts.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.angel_eye.frames import CommandBcc, encode_command, encode_event
from firmware_proto.angel_eye.host import CAPABILITIES
from firmware_proto.angel_eye.profile import SERIAL, device_session, host_session
from firmware_proto.angel_eye.scanner import REPEAT_WINDOW
from firmware_proto.cards import card
from firmware_proto.commands import VendorCommand
from firmware_proto.events import (
    CardDrawn,
    CuttingCard,
    Discarded,
    Gap,
    Hello,
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


def _draw(code: str, index: int = 1) -> CardDrawn:
    return CardDrawn(card=card(code), hand="player", index=index)


def _host(**settings: object) -> HostSession:
    return host_session(resume=None, settings=settings)


def _hear(host: HostSession, data: bytes, t: float = 0.0) -> list[ShoeEvent]:
    return [h.event for h in host.receive(data, t)]


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
        {"reply_bcc": "from_enq"},
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
    "settings",
    [
        {"commands": True},
        {"sends": 2},
        {"sends": True},
        {"command_bcc": "none"},
        {"reply_bcc": "x"},
    ],
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
        device.send(_draw(code), seq=number, t_us=0)
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
    between = b"".join(encode_event(Standby(), c) for c in "ABCDEFGHIJ"[: REPEAT_WINDOW - 1])
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


# --- the shoe's end ---


@pytest.mark.parametrize("check", ["from_stx", "after_stx"])
def test_the_shoe_hears_every_command_and_answers(check: str) -> None:
    device = device_session(settings={"command_bcc": check})
    asked = [("LK", "01"), ("EC", "02"), ("GP", "00")]
    data = b"".join(encode_command(k, d, CommandBcc(check)) for k, d in asked)
    assert device.receive(data, 0.0) == [VendorCommand("OP", k, d) for k, d in asked]
    device.send(Reply(accepted=True), seq=7, t_us=0)
    device.send(Reply(accepted=False, reason="other"), seq=7, t_us=0)
    assert device.outgoing() == b"\x06\x15\xff"
    assert device.outgoing() == b""


def test_the_shoe_discards_what_is_no_command() -> None:
    device = device_session(settings={})
    heard = device.receive(b"\xffOP" + LOCK[:-1] + b"0" + b"\x02PO" + LOCK, 0.0)
    assert heard == [
        Discarded(reason="outside_frame"),
        Discarded(reason="bcc"),
        Discarded(reason="operation"),
        VendorCommand("OP", "LK", "02"),
    ]
    device.tick(1.0)
    assert (device.next_deadline, device.outgoing()) == (None, b"")


def test_the_shoe_numbers_events_round_the_digits_and_letters() -> None:
    device = device_session(settings={})
    for number in (1, 9, 10, 35, 36, 1000):
        device.send(CuttingCard(), seq=number, t_us=0)
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
        device.send(event, seq=1, t_us=0)
    assert device.outgoing() == b""
    with pytest.raises(ValueError, match="discarded"):
        device.send(Discarded(reason="bcc"), seq=1, t_us=0)


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
        device.send(event, seq=number, t_us=number)
    heard = _hear(host, device.outgoing())
    assert [e for e in heard if not isinstance(e, Repeated)] == told
