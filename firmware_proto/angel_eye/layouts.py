"""Every frame of the Angel Eye wire, declared once in construct (SPEC.md, "Events" to "Replies").

``make layouts`` derives from here ``compiled_layouts.py``, by which sessions read and write, and
the table of bits in SPEC.md. No session imports this
module: construct is slow to import.

In: the bytes of one whole frame up to its ETX. Out: containers of named fields, and back.
Must not know: the check at the end of a frame, the stream, shoe events.
"""

from __future__ import annotations

from typing import Final

from construct import (
    BitsInteger,
    BitStruct,
    Byte,
    Const,
    Construct,
    Error,
    Mapping,
    OneOf,
    Pass,
    Struct,
    Switch,
    Terminated,
    this,
)

from firmware_proto.angel_eye.fields import (
    ACK,
    ENQ,
    ERRORS,
    ETX,
    HANDS,
    MODES,
    NAK,
    NO_SUIT,
    RANKS,
    REFUSALS,
    STX,
    SUITS,
    WINNERS,
)

_PRINTABLE: Final = tuple(range(0x20, 0x7F))
ALPHANUMERIC: Final = tuple(b for b in _PRINTABLE if chr(b).isalnum())
"""The values of a sequence character."""


def _one() -> Construct:
    """The top bit of every data byte: always 1."""
    return Const(1, BitsInteger(1))


def _text(length: int) -> Construct:
    """That many printable ASCII characters, as a list of bytes."""
    return OneOf(Byte, _PRINTABLE)[length]


_rank = Mapping(BitsInteger(4), {rank: number for number, rank in enumerate(RANKS, 1)})

_card = BitStruct(
    _one(),
    "suit" / Mapping(BitsInteger(3), {NO_SUIT: 0, **SUITS}),
    "rank"
    / Switch(
        this.suit,
        {NO_SUIT: OneOf(BitsInteger(4), range(14)), **dict.fromkeys(SUITS, _rank)},
        default=Error,
    ),
)
_any_index = BitsInteger(4)
_hand_index = OneOf(BitsInteger(4), (1, 2, 3))

_placed = Struct(
    "place"
    / BitStruct(
        _one(),
        "hand" / Mapping(BitsInteger(3), HANDS),
        "index"
        / Switch(
            this.hand,
            {
                "player": _hand_index,
                "banker": _hand_index,
                "burn": _any_index,
                "first_card": _any_index,
                "burn_count": _any_index,
            },
            default=Error,
        ),
    ),
    "card" / _card,
)

_outside = Struct(
    "place" / BitStruct(_one(), "mode" / Mapping(BitsInteger(3), MODES), "code" / _any_index),
    "card" / _card,
)

_result = BitStruct(
    _one(),
    "winner" / Mapping(BitsInteger(3), WINNERS),
    Const(0, BitsInteger(2)),
    "banker_pair" / BitsInteger(1),
    "player_pair" / BitsInteger(1),
)

_error = BitStruct(
    _one(), "in_error_mode" / BitsInteger(1), "code" / Mapping(BitsInteger(6), ERRORS)
)

_cleared = BitStruct(_one(), "code" / Mapping(BitsInteger(7), ERRORS))

_lock = BitStruct(_one(), Const(0, BitsInteger(6)), "locked" / BitsInteger(1))

_preset = Struct("address" / _text(2), "value" / _text(4))

DATA: Final[dict[str, Construct]] = {
    "S": Pass,
    "P": Pass,
    "C": Pass,
    "D": _placed,
    "R": _placed,
    "d": _outside,
    "G": _result,
    "E": _error,
    "e": _cleared,
    "L": _lock,
    "M": _preset,
}
"""The payload of each event by its code."""

EVENT: Final = Struct(
    "start" / Const(ENQ, Byte),
    "seq" / OneOf(Byte, ALPHANUMERIC),
    "code" / Mapping(Byte, {code: ord(code) for code in DATA}),
    "data" / Switch(this.code, DATA, default=Error),
    "etx" / Const(ETX, Byte),
    Terminated,
)
"""Shoe to host, without its BCC."""

COMMAND: Final = Struct(
    "start" / Const(STX, Byte),
    "operation" / Const(b"OP"),
    "kind" / _text(2),
    "data" / _text(2),
    "etx" / Const(ETX, Byte),
    Terminated,
)
"""Host to shoe, without its BCC."""

_refused = Struct("reason" / Mapping(Byte, REFUSALS))

REPLY: Final = Struct(
    "answer" / Mapping(Byte, {"accepted": ACK, "refused": NAK}),
    "refusal" / Switch(this.answer, {"accepted": Pass, "refused": _refused}, default=Error),
    Terminated,
)
"""Shoe to host: a bare answer, or what stands between STX and ETX of a framed one."""
