"""The compiled layouts are construct's equal: the same values, the same bytes, the same refusals.

In: payloads of every kind, good and spoilt. Out: that both ways agree. Must not know: framing.
"""

from __future__ import annotations

import struct
from typing import Any

import construct
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.commands import Acknowledge, Armed
from firmware_proto.events import CardDrawn, Hello, ShoeEvent, Status
from firmware_proto.kit.reference_layouts import compile_layout
from firmware_proto.reference.codec import (
    Message,
    body_of,
    encode_host_message,
    event_body,
    read,
)
from firmware_proto.reference.compiled_layouts import COMPILED
from firmware_proto.reference.fields import CARD_CODES, PARTS, Name, Text
from firmware_proto.reference.framing import FrameError, frame_body
from firmware_proto.reference.layouts import PAYLOADS, Converted
from firmware_proto.reference.packing import VERSION, Kind
from shoe_testing.reference_protocol import by_fast_path, wire_values

kinds = st.sampled_from(list(Kind))


WHOLE = {
    kind: construct.Struct("payload" / payload, construct.Terminated)
    for kind, payload in PAYLOADS.items()
}


def by_construct(kind: Kind, payload: bytes) -> dict[str, Any] | None:
    try:
        parsed = WHOLE[kind].parse(payload)
    except construct.ConstructError:
        return None
    return {field.name: parsed.payload[field.name] for field in COMPILED[kind].fields}


@given(kinds.flatmap(lambda kind: st.tuples(st.just(kind), wire_values(COMPILED[kind]))))
def test_both_ways_read_the_same_values_or_both_refuse(drawn: tuple[Kind, bytes]) -> None:
    kind, payload = drawn
    assert by_fast_path(kind, payload) == by_construct(kind, payload)


@given(kinds, st.binary(max_size=64))
def test_both_ways_refuse_every_other_length(kind: Kind, payload: bytes) -> None:
    assert by_fast_path(kind, payload) == by_construct(kind, payload)


@given(kinds.flatmap(lambda kind: st.tuples(st.just(kind), wire_values(COMPILED[kind]))))
def test_both_ways_write_the_same_bytes(drawn: tuple[Kind, bytes]) -> None:
    kind, payload = drawn
    values = by_construct(kind, payload)
    if values is None:
        return
    built = PAYLOADS[kind].build(values)
    assert COMPILED[kind].pack(tuple(values.values()))[2:] == built == payload


ANY_VALUE = (
    st.none()
    | st.booleans()
    | st.integers(-1, 2**64)
    | st.sampled_from([0, 1, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**64 - 1, 2**64])
    | st.text(max_size=70)
    | st.sampled_from(
        ["ab" * 16, "ab" * 32, "ab" * 31, "x" * 24, "x" * 36, "x" * 37, "é", "player"]
    )
    | st.binary(max_size=40)
    | st.sampled_from([*CARD_CODES])
    | st.lists(st.sampled_from([*CARD_CODES]), max_size=5).map(tuple)
    | st.lists(st.sampled_from([*PARTS, "no such part"]), max_size=3).map(tuple)
)


@given(st.data())
def test_a_value_is_written_alike_or_refused_by_both_ways(data: st.DataObject) -> None:
    kind = data.draw(kinds)
    for declared, compiled in zip(PAYLOADS[kind].subcons, COMPILED[kind].fields, strict=True):
        table = compiled.table
        values = ANY_VALUE | st.sampled_from([*table.values()]) if table else ANY_VALUE
        if compiled.name == "wrapped":
            values = st.binary(min_size=30, max_size=34)  # construct makes bytes of numbers, too
        value = data.draw(values)
        try:
            built = declared.build(value)
        except (construct.ConstructError, TypeError):
            built = None
        try:
            packed = struct.pack("<" + compiled.format, compiled.to_wire(value))
        except (KeyError, ValueError, TypeError, AttributeError, struct.error):
            packed = None
        assert packed == built, (kind, compiled.name, value)


FAST = {Kind.CARD_DRAWN: CardDrawn, Kind.STATUS: Status}
"""The kinds with a fast path of their own."""


@given(
    st.sampled_from(list(FAST)).flatmap(
        lambda kind: st.tuples(st.just(kind), wire_values(COMPILED[kind]))
    )
)
def test_each_fast_path_agrees_with_construct_both_ways(drawn: tuple[Kind, bytes]) -> None:
    kind, payload = drawn
    values = by_construct(kind, payload)
    body = bytes((VERSION, kind)) + payload
    stuffed = frame_body(body)[1:-1]
    if values is None:
        with pytest.raises(FrameError, match=rf"{kind.name.lower()} .* field_without_meaning"):
            read(stuffed)
        return
    seq, boot_id, t_us = (values.pop(name) for name in ("seq", "boot_id", "t_us"))
    event = FAST[kind](**values)
    got = read(stuffed)
    assert got == (kind, event, seq, boot_id, t_us)
    assert type(got[1]) is FAST[kind]
    assert (repr(got[1]), hash(got[1])) == (repr(event), hash(event))
    assert event_body(event, seq, boot_id, t_us) == body


ANSWERS = {Kind.ACKNOWLEDGE: Acknowledge, Kind.ARM: Armed}
"""What a host sends for each card, on a path of its own."""


@given(
    st.sampled_from(list(ANSWERS)).flatmap(
        lambda kind: st.tuples(st.just(kind), wire_values(COMPILED[kind]))
    )
)
def test_what_a_host_answers_a_card_is_packed_as_construct_packs_it(
    drawn: tuple[Kind, bytes],
) -> None:
    kind, payload = drawn
    values = by_construct(kind, payload)
    if values is not None:
        packed = encode_host_message(ANSWERS[kind](**values))
        assert packed == frame_body(bytes((VERSION, kind)) + payload)


@pytest.mark.parametrize(
    "said",
    [Acknowledge(-1), Acknowledge(1 << 32), Armed(0, "player", 1), Armed(1 << 16, "player", 1),
     Armed(1, "nobody", 1), Armed(1, "player", 256)],
    ids=repr,
)  # fmt: skip
def test_an_answer_that_does_not_fit_is_refused_by_name(said: Acknowledge | Armed) -> None:
    with pytest.raises(ValueError, match=r"(acknowledge|arm): \w+ cannot be "):
        encode_host_message(said)


@pytest.mark.parametrize("spoilt", [{"seq": 0}, {"seq": -1}, {"t_us": 1 << 64}, {"boot_id": None}])
@pytest.mark.parametrize(
    "event",
    [
        CardDrawn(card=None, number=1, armed=True, face_up=False),
        CardDrawn(card=None, number=1 << 16, armed=True, face_up=False),
        CardDrawn(card=None, number=1, armed=True, face_up=False, confidence=101),
        Status(armed=1, drawn=1, unacknowledged=0),
        Status(armed=1, drawn=-1, unacknowledged=0),
    ],
)
def test_what_does_not_fit_is_refused_by_name(event: ShoeEvent, spoilt: dict[str, Any]) -> None:
    header = {"seq": 1, "boot_id": 1, "t_us": 1, **spoilt}
    with pytest.raises(ValueError, match=r"(card_drawn|status): \w+ cannot be "):
        event_body(event, **header)


def test_a_card_made_by_the_fast_path_cannot_be_changed() -> None:
    payload = bytes.fromhex("01000000 02000000 0300000000000000 0100 18 01 00 63")
    event = read(frame_body(bytes((VERSION, Kind.CARD_DRAWN)) + payload)[1:-1])[1]
    with pytest.raises(AttributeError):
        event.card = None


def test_a_layout_without_a_fixed_length_cannot_be_compiled() -> None:
    for layout in (
        construct.Struct("text" / construct.CString("ascii")),
        construct.Struct("big" / construct.Int16ub),
        construct.Struct(construct.Int16ul),
    ):
        with pytest.raises(TypeError):
            compile_layout(Kind.LOCK, layout)


def test_every_kind_is_declared_once() -> None:
    assert set(PAYLOADS) == set(Kind) == set(COMPILED)


@pytest.mark.parametrize("text", ["", "x" * 37, "tab\t", "naïve"])
def test_a_name_that_the_field_cannot_carry_is_refused_by_both_ways(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Name(36).to_wire(text)
    with pytest.raises(construct.ConstructError):
        Converted(construct.Bytes(36), Name(36)).build(text)


def test_an_empty_text_is_none_both_ways() -> None:
    field = Converted(construct.Bytes(4), Text(4))
    assert field.parse(bytes(4)) is Text(4).from_wire(bytes(4)) is None
    assert field.build(None) == Text(4).to_wire(None) == bytes(4)


@pytest.mark.parametrize("digest", ["ab" * 31, "ab" * 33, ""])
def test_a_digest_of_another_length_is_refused_and_never_filled_up(digest: str) -> None:
    hello = Hello(
        device_id="SH-1", firmware="1", boot_id=1, deck="french52", firmware_digest=digest
    )
    with pytest.raises(ValueError, match="firmware_digest cannot be"):
        body_of(Message(content=hello, seq=1, boot_id=1, t_us=1))


def test_code_that_takes_fields_by_position_stops_at_a_changed_layout() -> None:
    COMPILED[Kind.LID].require("seq", "boot_id", "t_us", "open")
    with pytest.raises(TypeError, match="lid has the fields"):
        COMPILED[Kind.LID].require("seq", "t_us", "boot_id", "open")
