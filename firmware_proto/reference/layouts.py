"""The payload of every kind of frame, declared once in construct (SPEC 5).

``make layouts`` derives from here ``compiled_layouts.py``, by which sessions pack and unpack, and
the tables of SPEC.md; the C header of the firmware kit derives from here too. No session imports
this module: construct is slow to import.

In: nothing. Out: a layout for each kind.
Must not know: framing, CRC, sessions, which event a message carries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from construct import (
    Adapter,
    Bytes,
    Construct,
    Int8ul,
    Int16ul,
    Int32ul,
    Int64ul,
    Struct,
    ValidationError,
)

from firmware_proto.reference.fields import (
    ARMED_CODES,
    CARD_CODES,
    DECK_CODES,
    FAULT_CODES,
    HAND_CODES,
    MOST_TOGETHER,
    PERCENT_CODES,
    QUERY_CODES,
    REASON_CODES,
    TAMPER_CODES,
    YES_NO_CODES,
    CardsTogether,
    Codes,
    Converter,
    Digest,
    Failures,
    Hex,
    Line,
    Name,
    OrNone,
    OrUnknown,
    Positive,
    Text,
)
from firmware_proto.reference.mac import KEY_BYTES, NONCE_BYTES, PROOF_BYTES
from firmware_proto.reference.packing import Kind


class Converted(Adapter):  # type: ignore[misc]  # construct is not typed
    """A field whose wire value a converter turns into its meaning, and back."""

    def __init__(self, subcon: Construct, converter: Converter) -> None:
        super().__init__(subcon)
        self.converter = converter

    def _decode(self, obj: Any, context: object, path: str) -> Any:  # noqa: ARG002
        return self._convert(self.converter.from_wire, obj, path)

    def _encode(self, obj: Any, context: object, path: str) -> Any:  # noqa: ARG002
        return self._convert(self.converter.to_wire, obj, path)

    @staticmethod
    def _convert(convert: Any, value: Any, path: str) -> Any:
        try:
            return convert(value)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValidationError(str(error), path=path) from None


def _code(codes: Mapping[Any, int]) -> Construct:
    return Converted(Int8ul, Codes(codes))


def _text(length: int) -> Construct:
    return Converted(Bytes(length), Text(length))


def _hex(length: int) -> Construct:
    return Converted(Bytes(length), Hex(length))


_id = Converted(Int32ul, Positive())
_id_or_none = Converted(Int32ul, OrNone())
_number = Converted(Int16ul, Positive())
_number_or_none = Converted(Int16ul, OrNone())
_decks = Converted(Int8ul, OrNone())
_yes_no = _code(YES_NO_CODES)
_armed = _code(ARMED_CODES)
_percent = _code(PERCENT_CODES)

_header = ("seq" / _id, "boot_id" / Int32ul, "t_us" / Int64ul)
"""The beginning of every frame of a shoe (SPEC 5)."""

_command_id = "command_id" / _id

PAYLOADS: dict[Kind, Construct] = {
    Kind.HELLO: Struct(
        *_header,
        "device_id" / Converted(Bytes(36), Name(36)),
        "firmware" / Converted(Bytes(24), Name(24)),
        "firmware_digest" / Converted(Bytes(32), Digest()),
        "capabilities" / Int16ul,
        "deck" / _code(DECK_CODES),
        "decks" / _decks,
        "set_id" / _text(36),
        "drawn" / Int16ul,
        "cutting_card_out" / _yes_no,
        "oldest_seq" / _id_or_none,
    ),
    Kind.STATUS: Struct(
        *_header,
        "armed" / _number_or_none,
        "drawn" / Int16ul,
        "unacknowledged" / Int32ul,
        "locked_by_key" / _yes_no,
    ),
    Kind.REPLY: Struct(
        *_header,
        "reason" / _code(REASON_CODES),
        "number" / _number_or_none,
    ),
    Kind.CHALLENGE_ANSWERED: Struct(
        *_header,
        "key_id" / _id,
        "nonce" / _hex(NONCE_BYTES),
        "proof" / _hex(PROOF_BYTES),
    ),
    Kind.QUERY_ANSWERED: Struct(
        *_header,
        "command_id" / _id,
        "what" / _code(QUERY_CODES),
        "value" / Converted(Int64ul, OrUnknown()),
    ),
    Kind.COMMAND_REPLY: Struct(
        *_header,
        "command_id" / _id,
        "reason" / _code(REASON_CODES),
    ),
    Kind.SHOE_LOADED: Struct(
        *_header,
        "set_id" / _text(36),
        "decks" / _decks,
    ),
    Kind.CARD_DRAWN: Struct(
        *_header,
        "number" / _number_or_none,
        "card" / _code(CARD_CODES),
        "armed" / _armed,
        "face_up" / _yes_no,
        "confidence" / _percent,
    ),
    Kind.CUTTING_CARD: Struct(*_header),
    Kind.CARDS_DRAWN: Struct(
        *_header,
        "number" / _number_or_none,
        "cards" / Converted(Bytes(MOST_TOGETHER), CardsTogether()),
        "order_known" / _yes_no,
        "armed" / _armed,
    ),
    Kind.CARD_PUSHED_BACK: Struct(*_header, "number" / _number_or_none, "card" / _code(CARD_CODES)),
    Kind.LID: Struct(*_header, "open" / _yes_no),
    Kind.BUTTON: Struct(*_header, "button" / Converted(Int8ul, Positive())),
    Kind.SHOE_EMPTY: Struct(*_header, "drawn" / Int16ul),
    Kind.SELF_TEST: Struct(
        *_header,
        "failed" / Converted(Int16ul, Failures()),
        "command_id" / _id_or_none,
    ),
    Kind.FAULT: Struct(*_header, "code" / _code(FAULT_CODES), "in_error_mode" / _yes_no),
    Kind.FAULT_CLEARED: Struct(*_header, "code" / _code(FAULT_CODES)),
    Kind.POWER_LOW: Struct(*_header, "percent" / _percent),
    Kind.POWER_RESTORED: Struct(*_header),
    Kind.RESET_DONE: Struct(*_header, "command_id" / _id_or_none),
    Kind.KEY_ROTATED: Struct(*_header, "key_id" / _id),
    Kind.TAMPER: Struct(*_header, "what" / _code(TAMPER_CODES)),
    Kind.EVENTS_LOST: Struct(*_header, "last" / _id),
    Kind.HELLO_REQUEST: Struct(),
    Kind.ACKNOWLEDGE: Struct("through" / Int32ul),
    Kind.ARM: Struct(
        "number" / _number,
        "hand" / _code(HAND_CODES),
        "index" / Int8ul,
    ),
    Kind.LOCK: Struct(),
    Kind.REPLAY_FROM: Struct("first" / _id),
    Kind.CHALLENGE: Struct(
        "key_id" / _id,
        "nonce" / _hex(NONCE_BYTES),
    ),
    Kind.SHOW: Struct(_command_id, "text" / Converted(Bytes(64), Line(64))),
    Kind.RESET: Struct(_command_id),
    Kind.TEST_SELF: Struct(_command_id),
    Kind.QUERY: Struct(_command_id, "what" / _code(QUERY_CODES)),
    Kind.SET_TIME: Struct(_command_id, "unix_us" / Int64ul),
    Kind.ROTATE_KEY: Struct(_command_id, "key_id" / _id, "wrapped" / Bytes(KEY_BYTES)),
}
"""The bytes that follow the kind byte. Every kind of this version has one exact length."""
