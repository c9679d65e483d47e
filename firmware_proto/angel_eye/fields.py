"""Values of fields and their numbers on the Angel Eye wire (SPEC.md, "Events" and "Replies").

In: a byte, or what it stands for. Out: the one from the other, or KeyError.
Must not know: which frame a field is in, construct.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

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

Values = tuple[Any, ...]
"""The values of a payload's fields, in the order in which they are declared."""


class Coded:
    """A payload byte: each value that the layout allows, and the fields that it stands for."""

    __slots__ = ("from_wire", "names", "size", "to_wire")

    def __init__(self, names: tuple[str, ...], meanings: Mapping[int, Values]) -> None:
        self.names = names
        self.size = 1
        self.from_wire = meanings
        self.to_wire = {values: byte for byte, values in meanings.items()}

    def unpack(self, wire: bytes) -> Values:
        """The values of the fields; KeyError where a bit or a number is not as declared."""
        return self.from_wire[wire[0]]

    def pack(self, values: Values) -> bytes:
        """The byte; KeyError where a field cannot have that value."""
        return bytes((self.to_wire[values],))


class Characters:
    """Printable characters, so many."""

    __slots__ = ("allowed", "names", "size")

    def __init__(self, name: str, size: int, allowed: bytes) -> None:
        self.names = (name,)
        self.size = size
        self.allowed = frozenset(allowed)

    def unpack(self, wire: bytes) -> Values:
        """The text; KeyError where a character is not allowed."""
        if not self.allowed.issuperset(wire):
            raise KeyError(wire)
        return (wire.decode("ascii"),)

    def pack(self, values: Values) -> bytes:
        """The characters; KeyError for another number of them, or one that is not allowed."""
        (text,) = values
        wire = text.encode() if isinstance(text, str) else b""
        if len(wire) != self.size or not self.allowed.issuperset(wire):
            raise KeyError(text)
        return wire


BCC_BYTES: Final = 2


class CompiledLayout:
    """The payload of one kind of frame: its fields, packed and unpacked in declared order."""

    __slots__ = ("fields", "names", "size")

    def __init__(self, *fields: Coded | Characters) -> None:
        self.fields = fields
        self.size = sum(field.size for field in fields)
        self.names = tuple(name for field in fields for name in field.names)

    def unpack(self, wire: bytes) -> Values:
        """The values of all fields.

        Raises:
            KeyError: another length, or a bit or a number that is not as declared.
        """
        if len(wire) != self.size:
            raise KeyError(wire)
        values: Values = ()
        at = 0
        for field in self.fields:
            values += field.unpack(wire[at : at + field.size])
            at += field.size
        return values

    def pack(self, values: Mapping[str, Any]) -> bytes:
        """The payload of these values by name.

        Raises:
            KeyError: a value is missing, or a field cannot have it.
        """
        return b"".join(
            field.pack(tuple(values[name] for name in field.names)) for field in self.fields
        )
