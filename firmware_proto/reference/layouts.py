"""Every frame of the reference profile, declared once in construct.

In: nothing. Out: the kinds, a layout for each kind's payload, BODY over them all, the caps.
Must not know: stuffing, CRC, sessions, what a message means to a table.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from construct import (  # type: ignore[import-untyped]
    Adapter,
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
    ValidationError,
    this,
)

from firmware_proto.cards import DECKS, ELEMENT65, FRENCH52, Card, Element, Suit

VERSION = 1
"""The first byte of every frame (SPEC 3)."""

MAX_BODY_BYTES = 240
"""No frame of this version is longer before stuffing: SPEC 3. Below 254, so that stuffing adds
exactly one byte, and with room for a MAC after the longest payload."""


class Kind(IntEnum):
    """The second byte of every frame (SPEC 4)."""

    HELLO = 0x01
    STATUS = 0x02
    REPLY = 0x03
    SHOE_LOADED = 0x10
    CARD_DRAWN = 0x11
    CUTTING_CARD = 0x12
    EVENTS_LOST = 0x1E
    HELLO_REQUEST = 0x81
    ACKNOWLEDGE = 0x82
    ARM = 0x83
    LOCK = 0x84
    REPLAY_FROM = 0x85


FIRST_NUMBERED = 0x10
"""From here to ``FIRST_OF_HOST`` a kind is an event with a number of its own, kept until heard."""

FIRST_OF_HOST = 0x80
"""From here on only a host says it."""


class Meaning(Adapter):  # type: ignore[misc]  # construct is not typed
    """A field whose wire value stands for another; both ways raise ValueError."""

    def from_wire(self, value: Any) -> Any:
        raise NotImplementedError

    def to_wire(self, value: Any) -> Any:
        raise NotImplementedError

    def _decode(self, obj: Any, context: object, path: str) -> Any:  # noqa: ARG002
        try:
            return self.from_wire(obj)
        except ValueError as error:
            raise ValidationError(str(error), path=path) from None

    def _encode(self, obj: Any, context: object, path: str) -> Any:  # noqa: ARG002
        try:
            return self.to_wire(obj)
        except ValueError as error:
            raise ValidationError(str(error), path=path) from None


class OrNone(Meaning):
    """A count or number in which 0 says that there is none."""

    def from_wire(self, value: int) -> int | None:
        return value or None

    def to_wire(self, value: int | None) -> int:
        return value or 0


class Positive(Meaning):
    """A number that starts from 1: 0 is an error."""

    def from_wire(self, value: int) -> int:
        if not value:
            raise ValueError("0, where numbers start from 1")
        return value

    to_wire = from_wire


class Text(Meaning):
    """Printable ASCII, filled with 00 to its length; all 00 is None."""

    def __init__(self, length: int) -> None:
        super().__init__(Bytes(length))
        self.length = length

    def from_wire(self, value: bytes) -> str | None:
        try:
            text = value.rstrip(b"\0").decode("ascii")
        except UnicodeDecodeError:
            raise ValueError("not ASCII") from None
        if not text.isprintable():
            raise ValueError("not printable")
        return text or None

    def to_wire(self, value: str | None) -> bytes:
        text = value or ""
        if not (text.isascii() and text.isprintable()) or len(text) > self.length:
            raise ValueError(f"takes up to {self.length} printable ASCII characters: {text!r}")
        return text.encode("ascii").ljust(self.length, b"\0")


class Name(Text):
    """A text that has to be there."""

    def from_wire(self, value: bytes) -> str:
        text = super().from_wire(value)
        if text is None:
            raise ValueError("empty")
        return text

    def to_wire(self, value: str | None) -> bytes:
        if not value:
            raise ValueError("empty")
        return super().to_wire(value)


class Digest(Meaning):
    """A SHA-256 as 64 hex digits; all 00 is None."""

    def __init__(self) -> None:
        super().__init__(Bytes(32))

    def from_wire(self, value: bytes) -> str | None:
        return value.hex() if any(value) else None

    def to_wire(self, value: str | None) -> bytes:
        return bytes(32) if value is None else bytes.fromhex(value)


SUIT_CODES: dict[Suit | Element, int] = {
    suit: code for code, suit in enumerate((*FRENCH52.suits, *ELEMENT65.suits), start=1)
}
"""SPEC 5: 1-4 spades hearts diamonds clubs, 5-9 fire gold earth wood water."""

CARD_CODES: dict[Card | None, int] = {None: 0} | {
    card: SUIT_CODES[card.suit] << 4 | deck.ranks.index(card.rank) + 1
    for deck in DECKS.values()
    for card in deck.cards
}
"""SPEC 5: the suit's code in the high half, 1-13 (the rank's place in its deck) in the low half;
0 is a card that was not read."""

HAND_CODES = {"player": 1, "banker": 2, "burn": 3, "set_aside": 4}
DECK_CODES = {FRENCH52.name: 1, ELEMENT65.name: 2}
OTHER_REASON = "other"
REASON_CODES = {
    None: 0,  # accepted
    "already drawn": 1,
    "not the next draw": 2,
    "locked by key": 3,
    "empty": 4,
    "memory full": 5,
    OTHER_REASON: 255,
}
CAN_ARM = 1
"""Bit 0 of ``capabilities``; the other bits are reserved, sent as 0 and not looked at."""

_YES_NO = Mapping(Int8ul, {False: 0, True: 1})
_ARMED = Mapping(Int8ul, {False: 0, True: 1, None: 2})
_PERCENT = Mapping(Int8ul, {None: 255} | {percent: percent for percent in range(101)})

_HEADER = ("seq" / Positive(Int32ul), "boot_id" / Int32ul, "t_us" / Int64ul)
"""What every frame of a shoe begins with (SPEC 4)."""

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
}
"""What follows the kind byte. Every kind of this version has one exact length."""

BODY = Struct(
    "version" / Const(VERSION, Int8ul),
    "kind" / Int8ul,
    "payload" / Switch(this.kind, PAYLOADS, default=Error),
    Terminated,
)
"""A frame without stuffing and without its CRC."""
