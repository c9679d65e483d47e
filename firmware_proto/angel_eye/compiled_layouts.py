"""Compiled layouts of the Angel Eye profile: every value that a payload byte may have.

Generated from ``layouts.py`` by ``make layouts``: do not edit. A test holds the two equal. Sessions
read and write by this module, so that they need not import construct.
"""

from __future__ import annotations

from typing import Final

from firmware_proto.angel_eye.fields import Characters, Coded, CompiledLayout

SEQUENCE: Final = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
"""The values of a sequence character."""

OPERATION: Final = b"OP"
"""The beginning of every command."""

_HAND_INDEX = Coded(
    ("hand", "index"),
    {
        0x81: ("player", 1),
        0x82: ("player", 2),
        0x83: ("player", 3),
        0x91: ("banker", 1),
        0x92: ("banker", 2),
        0x93: ("banker", 3),
        0xA0: ("burn", 0),
        0xA1: ("burn", 1),
        0xA2: ("burn", 2),
        0xA3: ("burn", 3),
        0xA4: ("burn", 4),
        0xA5: ("burn", 5),
        0xA6: ("burn", 6),
        0xA7: ("burn", 7),
        0xA8: ("burn", 8),
        0xA9: ("burn", 9),
        0xAA: ("burn", 10),
        0xAB: ("burn", 11),
        0xAC: ("burn", 12),
        0xAD: ("burn", 13),
        0xAE: ("burn", 14),
        0xAF: ("burn", 15),
        0xC0: ("first_card", 0),
        0xC1: ("first_card", 1),
        0xC2: ("first_card", 2),
        0xC3: ("first_card", 3),
        0xC4: ("first_card", 4),
        0xC5: ("first_card", 5),
        0xC6: ("first_card", 6),
        0xC7: ("first_card", 7),
        0xC8: ("first_card", 8),
        0xC9: ("first_card", 9),
        0xCA: ("first_card", 10),
        0xCB: ("first_card", 11),
        0xCC: ("first_card", 12),
        0xCD: ("first_card", 13),
        0xCE: ("first_card", 14),
        0xCF: ("first_card", 15),
        0xD0: ("burn_count", 0),
        0xD1: ("burn_count", 1),
        0xD2: ("burn_count", 2),
        0xD3: ("burn_count", 3),
        0xD4: ("burn_count", 4),
        0xD5: ("burn_count", 5),
        0xD6: ("burn_count", 6),
        0xD7: ("burn_count", 7),
        0xD8: ("burn_count", 8),
        0xD9: ("burn_count", 9),
        0xDA: ("burn_count", 10),
        0xDB: ("burn_count", 11),
        0xDC: ("burn_count", 12),
        0xDD: ("burn_count", 13),
        0xDE: ("burn_count", 14),
        0xDF: ("burn_count", 15),
    },
)

_SUIT_RANK = Coded(
    ("suit", "rank"),
    {
        0x80: ("", 0),
        0x81: ("", 1),
        0x82: ("", 2),
        0x83: ("", 3),
        0x84: ("", 4),
        0x85: ("", 5),
        0x86: ("", 6),
        0x87: ("", 7),
        0x88: ("", 8),
        0x89: ("", 9),
        0x8A: ("", 10),
        0x8B: ("", 11),
        0x8C: ("", 12),
        0x8D: ("", 13),
        0x91: ("D", "A"),
        0x92: ("D", "2"),
        0x93: ("D", "3"),
        0x94: ("D", "4"),
        0x95: ("D", "5"),
        0x96: ("D", "6"),
        0x97: ("D", "7"),
        0x98: ("D", "8"),
        0x99: ("D", "9"),
        0x9A: ("D", "T"),
        0x9B: ("D", "J"),
        0x9C: ("D", "Q"),
        0x9D: ("D", "K"),
        0xA1: ("C", "A"),
        0xA2: ("C", "2"),
        0xA3: ("C", "3"),
        0xA4: ("C", "4"),
        0xA5: ("C", "5"),
        0xA6: ("C", "6"),
        0xA7: ("C", "7"),
        0xA8: ("C", "8"),
        0xA9: ("C", "9"),
        0xAA: ("C", "T"),
        0xAB: ("C", "J"),
        0xAC: ("C", "Q"),
        0xAD: ("C", "K"),
        0xB1: ("S", "A"),
        0xB2: ("S", "2"),
        0xB3: ("S", "3"),
        0xB4: ("S", "4"),
        0xB5: ("S", "5"),
        0xB6: ("S", "6"),
        0xB7: ("S", "7"),
        0xB8: ("S", "8"),
        0xB9: ("S", "9"),
        0xBA: ("S", "T"),
        0xBB: ("S", "J"),
        0xBC: ("S", "Q"),
        0xBD: ("S", "K"),
        0xC1: ("H", "A"),
        0xC2: ("H", "2"),
        0xC3: ("H", "3"),
        0xC4: ("H", "4"),
        0xC5: ("H", "5"),
        0xC6: ("H", "6"),
        0xC7: ("H", "7"),
        0xC8: ("H", "8"),
        0xC9: ("H", "9"),
        0xCA: ("H", "T"),
        0xCB: ("H", "J"),
        0xCC: ("H", "Q"),
        0xCD: ("H", "K"),
    },
)

_MODE_CODE = Coded(
    ("mode", "code"),
    {
        0x80: ("lock", 0),
        0x81: ("lock", 1),
        0x82: ("lock", 2),
        0x83: ("lock", 3),
        0x84: ("lock", 4),
        0x85: ("lock", 5),
        0x86: ("lock", 6),
        0x87: ("lock", 7),
        0x88: ("lock", 8),
        0x89: ("lock", 9),
        0x8A: ("lock", 10),
        0x8B: ("lock", 11),
        0x8C: ("lock", 12),
        0x8D: ("lock", 13),
        0x8E: ("lock", 14),
        0x8F: ("lock", 15),
        0x90: ("error", 0),
        0x91: ("error", 1),
        0x92: ("error", 2),
        0x93: ("error", 3),
        0x94: ("error", 4),
        0x95: ("error", 5),
        0x96: ("error", 6),
        0x97: ("error", 7),
        0x98: ("error", 8),
        0x99: ("error", 9),
        0x9A: ("error", 10),
        0x9B: ("error", 11),
        0x9C: ("error", 12),
        0x9D: ("error", 13),
        0x9E: ("error", 14),
        0x9F: ("error", 15),
        0xA0: ("setting", 0),
        0xA1: ("setting", 1),
        0xA2: ("setting", 2),
        0xA3: ("setting", 3),
        0xA4: ("setting", 4),
        0xA5: ("setting", 5),
        0xA6: ("setting", 6),
        0xA7: ("setting", 7),
        0xA8: ("setting", 8),
        0xA9: ("setting", 9),
        0xAA: ("setting", 10),
        0xAB: ("setting", 11),
        0xAC: ("setting", 12),
        0xAD: ("setting", 13),
        0xAE: ("setting", 14),
        0xAF: ("setting", 15),
    },
)

_WINNER_BANKER_PAIR_PLAYER_PAIR = Coded(
    ("winner", "banker_pair", "player_pair"),
    {
        0x90: ("player", 0, 0),
        0x91: ("player", 0, 1),
        0x92: ("player", 1, 0),
        0x93: ("player", 1, 1),
        0xA0: ("tie", 0, 0),
        0xA1: ("tie", 0, 1),
        0xA2: ("tie", 1, 0),
        0xA3: ("tie", 1, 1),
        0xC0: ("banker", 0, 0),
        0xC1: ("banker", 0, 1),
        0xC2: ("banker", 1, 0),
        0xC3: ("banker", 1, 1),
        0xF0: ("forced_quit", 0, 0),
        0xF1: ("forced_quit", 0, 1),
        0xF2: ("forced_quit", 1, 0),
        0xF3: ("forced_quit", 1, 1),
    },
)

_IN_ERROR_MODE_CODE = Coded(
    ("in_error_mode", "code"),
    {
        0x81: (0, "cannot_read"),
        0x82: (0, "overdraw"),
        0x83: (0, "button_mishandled"),
        0x84: (0, "reverse_run_at_exit"),
        0x85: (0, "reverse_run_midway"),
        0x86: (0, "card_code_error"),
        0x87: (0, "draw_time_out"),
        0xC1: (1, "cannot_read"),
        0xC2: (1, "overdraw"),
        0xC3: (1, "button_mishandled"),
        0xC4: (1, "reverse_run_at_exit"),
        0xC5: (1, "reverse_run_midway"),
        0xC6: (1, "card_code_error"),
        0xC7: (1, "draw_time_out"),
    },
)

_CODE = Coded(
    ("code",),
    {
        0x81: ("cannot_read",),
        0x82: ("overdraw",),
        0x83: ("button_mishandled",),
        0x84: ("reverse_run_at_exit",),
        0x85: ("reverse_run_midway",),
        0x86: ("card_code_error",),
        0x87: ("draw_time_out",),
    },
)

_LOCKED = Coded(
    ("locked",),
    {
        0x80: (0,),
        0x81: (1,),
    },
)

_ADDRESS = Characters("address", 2, bytes(range(0x20, 0x7F)))

_VALUE = Characters("value", 4, bytes(range(0x20, 0x7F)))

_KIND = Characters("kind", 2, bytes(range(0x20, 0x7F)))

_DATA = Characters("data", 2, bytes(range(0x20, 0x7F)))

EVENTS: Final = {
    "S": CompiledLayout(),
    "P": CompiledLayout(),
    "C": CompiledLayout(),
    "D": CompiledLayout(_HAND_INDEX, _SUIT_RANK),
    "R": CompiledLayout(_HAND_INDEX, _SUIT_RANK),
    "d": CompiledLayout(_MODE_CODE, _SUIT_RANK),
    "G": CompiledLayout(_WINNER_BANKER_PAIR_PLAYER_PAIR),
    "E": CompiledLayout(_IN_ERROR_MODE_CODE),
    "e": CompiledLayout(_CODE),
    "L": CompiledLayout(_LOCKED),
    "M": CompiledLayout(_ADDRESS, _VALUE),
}
"""The payload of each event by its code."""

COMMAND: Final = CompiledLayout(_KIND, _DATA)
"""The layout of a command behind its operation."""

REPLIES: Final[dict[bytes, str | None]] = {
    b"\x06": None,
    b"\x15\x01": "line_error",
    b"\x15\x02": "bcc",
    b"\x15\x03": "no_etx",
    b"\x15\x11": "format",
    b"\x15\x12": "address",
    b"\x15\x13": "command",
    b"\x15\x14": "type",
    b"\x15\x21": "busy",
    b"\x15\x22": "writing",
    b"\x15\xff": "other",
}
"""Every bare reply, and the reason of a refusal; None for an acceptance."""
