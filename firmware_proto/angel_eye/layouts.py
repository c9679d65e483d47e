"""Every frame of the Angel Eye wire, declared once (SPEC.md, "Events", "Commands", "Replies").

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

ENQ: Final = 0x05
"""Starts an event."""
STX: Final = 0x02
"""Starts a command or a framed reply."""
ETX: Final = 0x03
"""Ends the checked part of a frame; two characters of BCC follow."""
ACK: Final = 0x06
"""Accepted."""
NAK: Final = 0x15
"""Refused; one byte of reason follows."""

HANDS: Final = {"player": 0, "banker": 1, "burn": 2, "first_card": 4, "burn_count": 5}
MODES: Final = {"lock": 0, "error": 1, "setting": 2}
WINNERS: Final = {"player": 1, "tie": 2, "banker": 4, "forced_quit": 7}
ERRORS: Final = {
    "cannot_read": 1,
    "overdraw": 2,
    "button_mishandled": 3,
    "reverse_run_at_exit": 4,
    "reverse_run_midway": 5,
    "card_code_error": 6,
    "draw_time_out": 7,
}
REFUSALS: Final = {
    "line_error": 0x01,
    "bcc": 0x02,
    "no_etx": 0x03,
    "format": 0x11,
    "address": 0x12,
    "command": 0x13,
    "type": 0x14,
    "busy": 0x21,
    "writing": 0x22,
    "other": 0xFF,
}
SUITS: Final = {"D": 1, "C": 2, "S": 3, "H": 4}
NO_SUIT: Final = ""
"""No card was seen, whatever the rank beside it says."""
RANKS: Final = "A23456789TJQK"
"""Rank letters; a rank's number is its place here, from 1."""

_PRINTABLE: Final = tuple(range(0x20, 0x7F))
ALPHANUMERIC: Final = tuple(b for b in _PRINTABLE if chr(b).isalnum())
"""What a sequence character may be."""


def _one() -> Construct:
    """The top bit of every data byte: always 1."""
    return Const(1, BitsInteger(1))


def _text(length: int) -> Construct:
    """That many printable ASCII characters, as a list of bytes."""
    return OneOf(Byte, _PRINTABLE)[length]


_rank = Mapping(BitsInteger(4), {rank: number for number, rank in enumerate(RANKS, 1)})

_card = BitStruct(
    "top" / _one(),
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
        "top" / _one(),
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
    "place"
    / BitStruct("top" / _one(), "mode" / Mapping(BitsInteger(3), MODES), "code" / _any_index),
    "card" / _card,
)

_result = BitStruct(
    "top" / _one(),
    "winner" / Mapping(BitsInteger(3), WINNERS),
    "reserved" / Const(0, BitsInteger(2)),
    "banker_pair" / BitsInteger(1),
    "player_pair" / BitsInteger(1),
)

_error = BitStruct(
    "top" / _one(), "in_error_mode" / BitsInteger(1), "code" / Mapping(BitsInteger(6), ERRORS)
)

_cleared = BitStruct("top" / _one(), "code" / Mapping(BitsInteger(7), ERRORS))

_lock = BitStruct("top" / _one(), "reserved" / Const(0, BitsInteger(6)), "locked" / BitsInteger(1))

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

PAYLOAD_BYTES: Final[dict[int, int]] = {ord(code): 0 for code in "SPC"} | {
    ord(code): count for code, count in zip("DRdGEeLM", (2, 2, 2, 1, 1, 1, 1, 6), strict=True)
}
"""How many bytes of payload follow each code: the first three bytes tell a frame's length."""
