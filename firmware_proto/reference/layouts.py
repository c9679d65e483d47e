"""The payload of every kind of frame, declared once in construct (SPEC 4).

In: nothing. Out: a layout for each kind, BODY over them all.
Must not know: framing, CRC, sessions, which event a message carries.
"""

from __future__ import annotations

from construct import (
    Bytes,
    Const,
    Construct,
    Error,
    Int8ul,
    Int16ul,
    Int32ul,
    Int64ul,
    Mapping,
    Struct,
    Switch,
    Terminated,
    this,
)

from firmware_proto.reference.fields import (
    CARD_CODES,
    DECK_CODES,
    FAULT_CODES,
    HAND_CODES,
    QUERY_CODES,
    REASON_CODES,
    TAMPER_CODES,
    CardsTogether,
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
from firmware_proto.reference.mac import NONCE_BYTES, PROOF_BYTES
from firmware_proto.reference.messages import VERSION, Kind

_YES_NO = Mapping(Int8ul, {False: 0, True: 1})
_ARMED = Mapping(Int8ul, {False: 0, True: 1, None: 2})
_PERCENT = Mapping(Int8ul, {None: 255} | {percent: percent for percent in range(101)})

_HEADER = ("seq" / Positive(Int32ul), "boot_id" / Int32ul, "t_us" / Int64ul)
"""What every frame of a shoe begins with (SPEC 4)."""

_COMMAND_ID = "command_id" / Positive(Int32ul)

PAYLOADS: dict[Kind, Construct] = {
    Kind.HELLO: Struct(
        *_HEADER,
        "device_id" / Name(36),
        "firmware" / Name(24),
        "firmware_digest" / Digest(),
        "capabilities" / Int16ul,
        "deck" / Mapping(Int8ul, DECK_CODES),
        "decks" / OrNone(Int8ul),
        "set_id" / Text(36),
        "drawn" / Int16ul,
        "cutting_card_out" / _YES_NO,
        "oldest_seq" / OrNone(Int32ul),
    ),
    Kind.STATUS: Struct(
        *_HEADER,
        "armed" / OrNone(Int16ul),
        "drawn" / Int16ul,
        "unacknowledged" / Int32ul,
        "locked_by_key" / _YES_NO,
    ),
    Kind.REPLY: Struct(
        *_HEADER,
        "reason" / Mapping(Int8ul, REASON_CODES),
        "number" / OrNone(Int16ul),
    ),
    Kind.CHALLENGE_ANSWERED: Struct(
        *_HEADER,
        "key_id" / Positive(Int32ul),
        "nonce" / Hex(NONCE_BYTES),
        "proof" / Hex(PROOF_BYTES),
    ),
    Kind.QUERY_ANSWERED: Struct(
        *_HEADER,
        "command_id" / Positive(Int32ul),
        "what" / Mapping(Int8ul, QUERY_CODES),
        "value" / OrUnknown(Int64ul),
    ),
    Kind.COMMAND_REPLY: Struct(
        *_HEADER,
        "command_id" / Positive(Int32ul),
        "reason" / Mapping(Int8ul, REASON_CODES),
    ),
    Kind.SHOE_LOADED: Struct(
        *_HEADER,
        "set_id" / Text(36),
        "decks" / OrNone(Int8ul),
    ),
    Kind.CARD_DRAWN: Struct(
        *_HEADER,
        "number" / OrNone(Int16ul),
        "card" / Mapping(Int8ul, CARD_CODES),
        "armed" / _ARMED,
        "face_up" / _YES_NO,
        "confidence" / _PERCENT,
    ),
    Kind.CUTTING_CARD: Struct(*_HEADER),
    Kind.CARDS_DRAWN: Struct(
        *_HEADER,
        "number" / OrNone(Int16ul),
        "cards" / CardsTogether(),
        "order_known" / _YES_NO,
        "armed" / _ARMED,
    ),
    Kind.CARD_PUSHED_BACK: Struct(
        *_HEADER, "number" / OrNone(Int16ul), "card" / Mapping(Int8ul, CARD_CODES)
    ),
    Kind.LID: Struct(*_HEADER, "open" / _YES_NO),
    Kind.BUTTON: Struct(*_HEADER, "button" / Positive(Int8ul)),
    Kind.SHOE_EMPTY: Struct(*_HEADER, "drawn" / Int16ul),
    Kind.SELF_TEST: Struct(*_HEADER, "failed" / Failures(), "command_id" / OrNone(Int32ul)),
    Kind.FAULT: Struct(*_HEADER, "code" / Mapping(Int8ul, FAULT_CODES), "in_error_mode" / _YES_NO),
    Kind.FAULT_CLEARED: Struct(*_HEADER, "code" / Mapping(Int8ul, FAULT_CODES)),
    Kind.POWER_LOW: Struct(*_HEADER, "percent" / _PERCENT),
    Kind.POWER_RESTORED: Struct(*_HEADER),
    Kind.RESET_DONE: Struct(*_HEADER, "command_id" / OrNone(Int32ul)),
    Kind.KEY_ROTATED: Struct(*_HEADER, "key_id" / Positive(Int32ul)),
    Kind.TAMPER: Struct(*_HEADER, "what" / Mapping(Int8ul, TAMPER_CODES)),
    Kind.EVENTS_LOST: Struct(*_HEADER, "last" / Positive(Int32ul)),
    Kind.HELLO_REQUEST: Struct(),
    Kind.ACKNOWLEDGE: Struct("through" / Int32ul),
    Kind.ARM: Struct(
        "number" / Positive(Int16ul),
        "hand" / Mapping(Int8ul, HAND_CODES),
        "index" / Int8ul,
    ),
    Kind.LOCK: Struct(),
    Kind.REPLAY_FROM: Struct("first" / Positive(Int32ul)),
    Kind.CHALLENGE: Struct("key_id" / Positive(Int32ul), "nonce" / Hex(NONCE_BYTES)),
    Kind.SHOW: Struct(_COMMAND_ID, "text" / Line(64)),
    Kind.RESET: Struct(_COMMAND_ID),
    Kind.TEST_SELF: Struct(_COMMAND_ID),
    Kind.QUERY: Struct(_COMMAND_ID, "what" / Mapping(Int8ul, QUERY_CODES)),
    Kind.SET_TIME: Struct(_COMMAND_ID, "unix_us" / Int64ul),
    Kind.ROTATE_KEY: Struct(_COMMAND_ID, "key_id" / Positive(Int32ul), "wrapped" / Bytes(32)),
}
"""What follows the kind byte. Every kind of this version has one exact length."""

BODY = Struct(
    "version" / Const(VERSION, Int8ul),
    "kind" / Int8ul,
    "payload" / Switch(this.kind, PAYLOADS, default=Error),
    Terminated,
)
"""A frame without stuffing and without its CRC."""
