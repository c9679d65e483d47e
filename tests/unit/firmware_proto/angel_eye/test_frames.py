"""Single frames of the Angel Eye wire against the bytes in its SPEC.md.

In: the golden blocks of SPEC.md. Out: that each is read and written so. Must not know: sessions.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import firmware_proto.angel_eye
from firmware_proto.angel_eye.codec import CommandDecoder, Decoder, Listener
from firmware_proto.angel_eye.compiled_layouts import EVENTS as LAYOUTS
from firmware_proto.angel_eye.compiled_layouts import SEQUENCE
from firmware_proto.angel_eye.fields import ERRORS, MODES, REFUSALS, WINNERS
from firmware_proto.angel_eye.frames import (
    SENDABLE,
    Checks,
    CommandBcc,
    bcc,
    encode_command,
    encode_event,
    encode_reply,
    read_event,
)
from firmware_proto.cards import ELEMENT65, FRENCH52, card
from firmware_proto.commands import VendorCommand
from firmware_proto.events import (
    EVENTS,
    CardDrawn,
    CardOutsideGame,
    CuttingCard,
    Discarded,
    Error,
    ErrorCleared,
    Lock,
    PresetChanged,
    Redesignated,
    Reply,
    Result,
    ShoeEvent,
    Standby,
    Started,
    from_plain,
)

SPEC = Path(firmware_proto.angel_eye.__path__[0], "SPEC.md").read_text(encoding="utf-8")


def _golden(block: str) -> list[list[str]]:
    """The lines of a golden block, cut at their bars: bytes first."""
    found = re.search(rf"```{block}\n(.*?)```", SPEC, re.DOTALL)
    assert found is not None
    return [[part.strip() for part in line.split("|")] for line in found[1].splitlines()]


def _framing(name: str) -> CommandBcc | None:
    return None if name == "bare" else CommandBcc(name)


def _sealed(head: bytes) -> bytes:
    """These bytes from the sequence on, as a frame whose check is right."""
    body = b"\x05" + head + b"\x03"
    return body + bcc(body[1:])


_card = st.none() | st.sampled_from(FRENCH52.cards)
_hands = st.one_of(
    st.tuples(st.sampled_from(["player", "banker"]), st.integers(1, 3)),
    st.tuples(
        st.sampled_from(["burn", "first_card", "burn_count"]), st.none() | st.integers(1, 15)
    ),
)
_printable = st.characters(min_codepoint=0x20, max_codepoint=0x7E)
sayable = st.one_of(
    st.sampled_from([Started(), Standby(), CuttingCard()]),
    st.builds(lambda c, p: CardDrawn(card=c, hand=p[0], index=p[1]), _card, _hands),
    st.builds(lambda c, p: Redesignated(card=c, hand=p[0], index=p[1]), _card, _hands),
    st.builds(
        CardOutsideGame,
        card=_card,
        mode=st.sampled_from(sorted(MODES)),
        code=st.none() | st.integers(1, 15),
    ),
    st.builds(
        Result,
        winner=st.sampled_from(sorted(WINNERS)),
        player_pair=st.booleans(),
        banker_pair=st.booleans(),
    ),
    st.builds(Error, code=st.sampled_from(sorted(ERRORS)), in_error_mode=st.booleans()),
    st.builds(ErrorCleared, code=st.sampled_from(sorted(ERRORS))),
    st.builds(Lock, locked=st.booleans()),
    st.builds(
        PresetChanged,
        address=st.text(_printable, min_size=2, max_size=2),
        value=st.text(_printable, min_size=4, max_size=4),
    ),
)
sequence = st.sampled_from([chr(b) for b in SEQUENCE])


@pytest.mark.parametrize(("golden", "seq", "plain"), _golden("golden-events"))
def test_a_golden_event_is_read_and_written_as_the_spec_shows(
    golden: str, seq: str, plain: str
) -> None:
    raw, event = bytes.fromhex(golden), from_plain(json.loads(plain))
    assert encode_event(event, seq) == raw
    assert [(i.content, i.seq, i.raw) for i in Decoder(Checks()).feed(raw)] == [(event, seq, raw)]


def test_the_golden_events_show_every_code() -> None:
    codes = {bytes.fromhex(golden)[2] for golden, _, _ in _golden("golden-events")}
    assert codes == {ord(code) for code in LAYOUTS}


@pytest.mark.parametrize(("golden", "kind", "data", "check"), _golden("golden-commands"))
def test_a_golden_command_is_read_and_written_as_the_spec_shows(
    golden: str, kind: str, data: str, check: str
) -> None:
    raw = bytes.fromhex(golden)
    assert encode_command(kind, data, CommandBcc(check)) == raw
    heard = CommandDecoder(CommandBcc(check)).feed(raw)
    assert [i.content for i in heard] == [VendorCommand("OP", kind, data)]


@pytest.mark.parametrize("check", CommandBcc)
def test_a_command_checked_from_the_other_byte_is_discarded(check: CommandBcc) -> None:
    other = next(c for c in CommandBcc if c is not check)
    heard = CommandDecoder(check).feed(encode_command("LK", "02", other))
    assert [i.content for i in heard] == [Discarded(reason="bcc")]


@pytest.mark.parametrize(("golden", "reason", "form"), _golden("golden-replies"))
def test_a_golden_reply_is_read_and_written_as_the_spec_shows(
    golden: str, reason: str, form: str
) -> None:
    raw = bytes.fromhex(golden)
    reply = Reply(accepted=reason == "accepted", reason=None if reason == "accepted" else reason)
    assert encode_reply(reply, framed=_framing(form)) == raw
    framing = _framing(form) or CommandBcc.FROM_STX
    decoder = Decoder(Checks(replies=(framing,)))
    assert [i.content for i in decoder.feed(raw)] == [reply]


def test_the_golden_replies_show_every_reason() -> None:
    reasons = {reason for _, reason, _ in _golden("golden-replies")}
    assert reasons == {"accepted", *REFUSALS}


@given(sayable, sequence)
def test_every_sayable_event_comes_back_from_its_frame(event: ShoeEvent, seq: str) -> None:
    frame = encode_event(event, seq)
    assert len(frame) == 3 + LAYOUTS[chr(frame[2])].size + 3
    assert [(i.content, i.seq) for i in Decoder(Checks()).feed(frame)] == [(event, seq)]


@given(code=st.sampled_from("GEeL"), value=st.integers(0, 255))
def test_a_payload_byte_is_either_what_its_event_writes_or_not_a_frame(
    code: str, value: int
) -> None:
    frame = _sealed(b"1" + code.encode() + bytes((value,)))
    event = read_event(frame)
    assert event == Discarded(reason="layout") or encode_event(event, "1") == frame


@given(code=st.sampled_from("DRd"), place=st.integers(0, 255), face=st.integers(0, 255))
def test_a_card_is_either_what_its_event_writes_or_not_a_frame(
    code: str, place: int, face: int
) -> None:
    event = read_event(_sealed(b"1" + code.encode() + bytes((place, face))))
    if face & 0x70 == 0 and not isinstance(event, Discarded):
        face = 0x80  # no suit: no card, and our own end says so in one way
    frame = _sealed(b"1" + code.encode() + bytes((place, face)))
    assert event == Discarded(reason="layout") or encode_event(event, "1") == frame


@pytest.mark.parametrize(
    "head",
    [
        b"1D\x01\xb8",  # the top bit of the place
        b"1D\xb1\xb8",  # no such hand
        b"1D\x80\xb8",  # Player's card 0
        b"1D\x94\xb8",  # Banker's card 4
        b"1D\x81\x38",  # the top bit of the card
        b"1D\x81\xd8",  # no such suit
        b"1D\x81\xbe",  # no such rank
        b"1D\x81\xb0",  # a suit without a rank
        b"1D\x81\x8e",  # no suit, and no such rank
        b"1d\xb0\x91",  # no such mode
        b"1G\x95",  # a reserved bit
        b"1G\xb1",  # no such winner
        b"1E\x80",  # error 0
        b"1E\x88",  # no such error
        b"1e\xc1",  # no such error, though its low bits are one
        b"1L\x83",  # a reserved bit
        b"1M0\x1f0012",  # not printable
    ],
)
def test_a_wrong_fixed_bit_or_number_is_discarded_though_the_check_is_right(head: bytes) -> None:
    assert read_event(_sealed(head)) == Discarded(reason="layout")


def test_a_card_that_was_not_read_is_a_draw_without_a_card() -> None:
    for face in range(0x80, 0x8E):
        drawn = read_event(_sealed(b"1D\x81" + bytes((face,))))
        assert drawn == CardDrawn(card=None, hand="player", index=1)


@pytest.mark.parametrize(
    "event",
    [
        CardDrawn(card=ELEMENT65.cards[0], hand="player", index=1),
        CardDrawn(card=card("8S"), hand="player", index=4),
        CardDrawn(card=card("8S")),
        CardDrawn(card=card("8S"), hand="burn", index=16),
        Error(code="unheard_of"),
        PresetChanged(address="1", value="0000"),
        PresetChanged(address="1é", value="0000"),
    ],
)
def test_what_the_wire_cannot_say_is_refused(event: ShoeEvent) -> None:
    with pytest.raises(ValueError, match="the wire cannot"):
        encode_event(event, "1")


def test_events_without_a_frame_are_refused_by_name() -> None:
    for name, kind in EVENTS.items():
        if kind not in SENDABLE:
            with pytest.raises(ValueError, match=f"no frame for {name}"):
                encode_event(kind.__new__(kind), "1")


@pytest.mark.parametrize("seq", ["", "12", "\x05", "é", "-"])
def test_a_sequence_character_must_be_a_digit_or_letter(seq: str) -> None:
    with pytest.raises(ValueError, match="sequence"):
        encode_event(Standby(), seq)


def test_a_refusal_needs_a_reason_and_an_acceptance_has_none() -> None:
    for reply in (Reply(accepted=False), Reply(accepted=True, reason="busy")):
        with pytest.raises(ValueError, match=r"reason|refusal"):
            encode_reply(reply)


@pytest.mark.parametrize(("kind", "data"), [("L", "02"), ("LK", "2"), ("LK", "\x02\x03")])
def test_a_command_of_the_wrong_form_is_refused(kind: str, data: str) -> None:
    with pytest.raises(ValueError, match="no such command"):
        encode_command(kind, data)


def test_a_listener_names_replies_and_what_the_host_said() -> None:
    listener = Listener()
    heard = listener.feed(encode_command("LK", "02") + b"\x06\x15\x02")
    assert [h.event.type for h in heard] == ["command", "reply", "reply"]
    assert [(h.first, h.last) for h in heard] == [(0, 10), (10, 11), (11, 13)]
