"""The fast path is construct's equal: the same values, the same bytes, the same refusals.

In: payloads of every kind, good and spoilt. Out: that both ways agree. Must not know: framing.
"""

from __future__ import annotations

import string
from functools import partial
from typing import Any

import construct
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.events import CardDrawn
from firmware_proto.reference.codec import read
from firmware_proto.reference.compiled import COMPILED, CompiledLayout, compile_layout
from firmware_proto.reference.fields import Name, Text
from firmware_proto.reference.framing import FrameError, frame_body
from firmware_proto.reference.layouts import BODY, PAYLOADS
from firmware_proto.reference.messages import VERSION, Kind

CRC = b"\0\0\0\0"
kinds = st.sampled_from(list(Kind))
INTEGERS = {"B": 8, "H": 16, "L": 32, "Q": 64}
printable = st.text(string.digits + string.ascii_letters + string.punctuation + " ", max_size=24)


def _padded(size: int, text: str) -> bytes:
    return text.encode().ljust(size, b"\0")[:size]


def _little(size: int, number: int) -> bytes:
    return number.to_bytes(size, "little")


def wire_values(derived: CompiledLayout) -> st.SearchStrategy[bytes]:
    """Payloads whose numbers and bytes are drawn field by field, many of them without meaning."""
    parts: list[st.SearchStrategy[bytes]] = []
    for field in derived.fields:
        if field.format.endswith("s"):
            size = int(field.format[:-1])
            text = printable.map(partial(_padded, size))
            parts.append(text | st.binary(min_size=size, max_size=size))
        else:
            size = INTEGERS[field.format] // 8
            known = st.sampled_from(sorted(field.table)) if field.table else st.just(1)
            number = known | st.integers(0, 3) | st.integers(0, 2 ** (8 * size) - 1)
            parts.append(number.map(partial(_little, size)))
    return st.tuples(*parts).map(b"".join)


def by_construct(kind: Kind, payload: bytes) -> dict[str, Any] | None:
    try:
        parsed = BODY.parse(bytes((VERSION, kind)) + payload)
    except construct.ConstructError:
        return None
    assert parsed.kind == kind
    return {name: parsed.payload[name] for name in (f.name for f in COMPILED[kind].fields)}


def by_fast_path(kind: Kind, payload: bytes) -> dict[str, Any] | None:
    derived = COMPILED[kind]
    try:
        values = derived.unpack(bytes((VERSION, kind)) + payload + CRC)
    except FrameError:
        return None
    return dict(zip((f.name for f in derived.fields), values, strict=True))


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
    built = BODY.build({"version": VERSION, "kind": kind, "payload": values})
    assert COMPILED[kind].pack(tuple(values.values())) == built
    assert built[2:] == payload


@given(wire_values(COMPILED[Kind.CARD_DRAWN]))
def test_the_card_s_own_fast_path_agrees_with_construct(payload: bytes) -> None:
    values = by_construct(Kind.CARD_DRAWN, payload)
    stuffed = frame_body(bytes((VERSION, Kind.CARD_DRAWN)) + payload)[1:-1]
    if values is None:
        with pytest.raises(FrameError, match=r"card_drawn: .* has no meaning"):
            read(stuffed)
        return
    seq, boot_id, t_us = (values.pop(name) for name in ("seq", "boot_id", "t_us"))
    event = CardDrawn(**values)
    got = read(stuffed)
    assert got == (Kind.CARD_DRAWN, event, seq, boot_id, t_us)
    assert type(got[1]) is CardDrawn
    assert (repr(got[1]), hash(got[1])) == (repr(event), hash(event))


def test_a_card_made_by_the_fast_path_cannot_be_changed() -> None:
    payload = bytes.fromhex("01000000 02000000 0300000000000000 0100 18 01 00 63")
    event = read(frame_body(bytes((VERSION, Kind.CARD_DRAWN)) + payload)[1:-1])[1]
    with pytest.raises(AttributeError):
        event.card = None


def test_a_layout_without_a_fixed_length_is_refused_at_import() -> None:
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
    field = Name(36)
    with pytest.raises(ValueError, match=r"."):
        field.to_wire(text)
    with pytest.raises(construct.ConstructError):
        field.build(text)


def test_an_empty_text_is_none_both_ways() -> None:
    assert Text(4).parse(bytes(4)) is None
    assert Text(4).build(None) == bytes(4)
