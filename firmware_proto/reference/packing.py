"""Version, kind and payload of a frame (SPEC 3 and 4), packed and unpacked by a compiled layout.

In: a kind's fields in order, each with its struct format and its converter. Out: values, bytes.
Must not know: which kind has which fields (``layouts`` declares them), framing, events, construct.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from firmware_proto.reference.fields import Codes, Converter, Unchanged
from firmware_proto.reference.framing import CRC_BYTES, FrameError

VERSION = 1
"""The first byte of a frame without a MAC (SPEC 3)."""

VERSION_WITH_MAC = 0x80 | VERSION
"""The first byte of a frame with one."""


COUNTER_AND_MAC_BYTES = 16
"""Counter (4) and MAC (12), between payload and CRC."""


class Kind(IntEnum):
    """The second byte of every frame (SPEC 4)."""

    HELLO = 0x01
    STATUS = 0x02
    REPLY = 0x03
    CHALLENGE_ANSWERED = 0x04
    QUERY_ANSWERED = 0x05
    COMMAND_REPLY = 0x06
    SHOE_LOADED = 0x10
    CARD_DRAWN = 0x11
    CUTTING_CARD = 0x12
    CARDS_DRAWN = 0x13
    CARD_PUSHED_BACK = 0x14
    LID = 0x15
    BUTTON = 0x16
    SHOE_EMPTY = 0x17
    SELF_TEST = 0x18
    FAULT = 0x19
    FAULT_CLEARED = 0x1A
    POWER_LOW = 0x1B
    POWER_RESTORED = 0x1C
    RESET_DONE = 0x1D
    EVENTS_LOST = 0x1E
    KEY_ROTATED = 0x1F
    TAMPER = 0x20
    HELLO_REQUEST = 0x81
    ACKNOWLEDGE = 0x82
    ARM = 0x83
    LOCK = 0x84
    REPLAY_FROM = 0x85
    CHALLENGE = 0x86
    SHOW = 0x87
    RESET = 0x88
    TEST_SELF = 0x89
    QUERY = 0x8A
    SET_TIME = 0x8B
    ROTATE_KEY = 0x8C


FIRST_NUMBERED = 0x10
"""From here to ``FIRST_OF_HOST`` a kind is a numbered event, kept until it is acknowledged."""

FIRST_OF_HOST = 0x80
"""From here on only a host sends it."""

_UNCHANGED = Unchanged()


@dataclass(frozen=True, slots=True)
class CompiledField:
    """The form of one field on the wire: its struct format, and what its wire values mean."""

    name: str
    format: str
    converter: Converter = _UNCHANGED

    @property
    def table(self) -> Mapping[int, Any] | None:
        """The meaning of each wire value, for a field whose values are listed."""
        return self.converter.meanings if isinstance(self.converter, Codes) else None

    def to_wire(self, value: Any) -> Any:
        """The wire value.

        Raises:
            ValueError: the field cannot carry it; so do AttributeError, KeyError, TypeError and
                struct.error.
        """
        wire = self.converter.to_wire(value)
        packed = struct.pack("<" + self.format, wire)
        if isinstance(wire, bytes) and len(wire) != len(packed):
            raise ValueError(f"{len(wire)} bytes, not {len(packed)}")
        return wire


class CompiledLayout:
    """One kind of frame: ``unpack`` takes whole frames with their CRC, ``pack`` leaves it out.

    ``frame`` skips version, kind and CRC; ``frame_with_mac`` also counter and MAC.
    """

    __slots__ = (
        *("fields", "frame", "frame_with_mac", "kind", "payload"),
        *("_readers", "_sizes", "_start", "_writers"),
    )

    def __init__(self, kind: Kind, *fields: CompiledField) -> None:
        self.kind = kind
        self.fields = fields
        payload = "".join(field.format for field in fields)
        self.payload = struct.Struct(f"<{payload}")
        self.frame = struct.Struct(f"<2x{payload}{CRC_BYTES}x")
        self.frame_with_mac = struct.Struct(f"<2x{payload}{COUNTER_AND_MAC_BYTES + CRC_BYTES}x")
        self._start = bytes((VERSION, kind))
        converters = [(at, field.converter) for at, field in enumerate(fields)]
        changed = [(at, each) for at, each in converters if type(each) is not Unchanged]
        self._readers = tuple((at, each.reader) for at, each in changed)
        self._writers = tuple((at, each.writer) for at, each in changed)
        # struct cuts and fills bytes of another size: the fields of bytes, with their sizes
        self._sizes = tuple(
            (at, struct.calcsize(field.format))
            for at, field in enumerate(fields)
            if field.format.endswith("s")
        )

    @property
    def name(self) -> str:
        """The kind's name as events and reasons give it."""
        return self.kind.name.lower()

    def unpack(self, frame: bytes, *, with_mac: bool = False) -> tuple[Any, ...]:
        """The values of a frame, in declared order.

        Raises:
            FrameError: another length than the kind's, or a value without a meaning.
        """
        layout = self.frame_with_mac if with_mac else self.frame
        if len(frame) != layout.size:
            raise FrameError("wrong_length", self.name)
        values = list(layout.unpack(frame))
        at = 0
        try:
            for at, from_wire in self._readers:
                values[at] = from_wire(values[at])
        except (KeyError, ValueError):
            name = self.fields[at].name
            raise FrameError("field_without_meaning", self.name, name) from None
        return tuple(values)

    def pack(self, values: tuple[Any, ...]) -> bytes:
        """Version, kind and payload.

        Raises:
            ValueError: a value that the field cannot carry.
        """
        try:
            wire = list(values)
            for at, to_wire in self._writers:
                wire[at] = to_wire(wire[at])
            payload = self.payload.pack(*wire)
        except (AttributeError, LookupError, TypeError, ValueError, struct.error):
            self._check(values)
            raise
        if self._sizes and any(len(wire[at]) != size for at, size in self._sizes):
            self._check(values)
        return self._start + payload

    def _check(self, values: tuple[Any, ...]) -> None:
        """Check each value by itself.

        Raises:
            ValueError: one that its field cannot carry.
        """
        for field, value in zip(self.fields, values, strict=True):
            try:
                field.to_wire(value)
            except (AttributeError, KeyError, TypeError, ValueError, struct.error):
                raise ValueError(f"{self.name}: {field.name} cannot be {value!r}") from None

    def field(self, name: str) -> CompiledField:
        """Return the form on the wire of the field of this name.

        Raises:
            LookupError: the kind has none of this name.
        """
        for field in self.fields:
            if field.name == name:
                return field
        raise LookupError(f"{self.name} has no {name}")

    def table(self, name: str) -> Mapping[int, Any]:
        """The meaning of each wire value of this field.

        Raises:
            LookupError: the values of the field are not listed.
        """
        table = self.field(name).table
        if table is None:
            raise LookupError(f"{self.name} has no table of {name}")
        return table

    def require(self, *names: str) -> None:
        """Check that these are the fields, in this order, for code that takes them by position.

        Raises:
            TypeError: the layout was changed and that code was not.
        """
        declared = tuple(field.name for field in self.fields)
        if declared != names:
            raise TypeError(f"{self.name} has the fields {declared}, not {names}")
