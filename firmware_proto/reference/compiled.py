"""Compiled layouts: struct formats and value tables read off the construct declarations.

In: a kind and its declared layout. Out: packing and unpacking of whole frames, and lookups.
Must not know: the fields by name, what they mean; nothing is declared here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from collections.abc import Mapping as Lookup
from dataclasses import dataclass
from typing import Any

from construct import Bytes, Construct, FormatField, Mapping, Renamed

from firmware_proto.reference.fields import ConvertedField
from firmware_proto.reference.framing import CRC_BYTES, FrameError
from firmware_proto.reference.layouts import PAYLOADS
from firmware_proto.reference.mac import COUNTER_AND_MAC_BYTES
from firmware_proto.reference.messages import VERSION, Kind


@dataclass(frozen=True, slots=True)
class CompiledField:
    """How one field is carried: its struct format and what its wire values stand for."""

    name: str
    format: str
    decode: Callable[[Any], Any]
    encode: Callable[[Any], Any]
    table: Lookup[int, Any] | None


@dataclass(frozen=True, slots=True)
class CompiledLayout:
    """One kind of frame: ``unpack`` takes whole frames with their CRC, ``pack`` leaves it out.

    ``sealed`` is ``frame`` with room for counter and MAC, which it skips.
    """

    kind: Kind
    fields: tuple[CompiledField, ...]
    frame: struct.Struct
    sealed: struct.Struct
    payload: struct.Struct

    @property
    def name(self) -> str:
        """The kind's name as events and reasons give it."""
        return self.kind.name.lower()

    def unpack(self, frame: bytes, *, sealed: bool = False) -> tuple[Any, ...]:
        """The values of a frame, in declared order.

        Raises:
            FrameError: another length than the kind's, or a value without a meaning.
        """
        layout = self.sealed if sealed else self.frame
        if len(frame) != layout.size:
            behind = COUNTER_AND_MAC_BYTES if sealed else 0
            wrong, right = len(frame) - behind, layout.size - behind
            raise FrameError(f"{self.name}: {wrong} bytes, not {right}")
        values = []
        for field, value in zip(self.fields, layout.unpack(frame), strict=True):
            try:
                values.append(field.decode(value))
            except (KeyError, ValueError):
                raise FrameError(f"{self.name}: {field.name} has no meaning") from None
        return tuple(values)

    def pack(self, values: tuple[Any, ...]) -> bytes:
        """Version, kind and payload.

        Raises:
            ValueError: a value that the field cannot carry.
        """
        wire = []
        for field, value in zip(self.fields, values, strict=True):
            try:
                wire.append(field.encode(value))
                struct.pack("<" + field.format, wire[-1])
            except (KeyError, ValueError, TypeError, struct.error):
                raise ValueError(f"{self.name}: {field.name} cannot be {value!r}") from None
        return bytes((VERSION, self.kind)) + self.payload.pack(*wire)

    def field(self, name: str) -> CompiledField:
        """How the field of this name is carried.

        Raises:
            LookupError: the kind has none of this name.
        """
        for field in self.fields:
            if field.name == name:
                return field
        raise LookupError(f"{self.name} has no {name}")

    def table(self, name: str) -> Lookup[int, Any]:
        """What each wire value of this field stands for.

        Raises:
            LookupError: the field is not declared as a mapping.
        """
        table = self.field(name).table
        if table is None:
            raise LookupError(f"{self.name} has no table of {name}")
        return table


def _same(value: Any) -> Any:
    return value


def _wire_format(carrier: Construct) -> str:
    if isinstance(carrier, FormatField):
        order, code = carrier.fmtstr
        if order == "<":
            return str(code)
    elif isinstance(carrier, Bytes) and isinstance(carrier.length, int):
        return f"{carrier.length}s"
    raise TypeError(f"no fast path for {carrier!r}")


def _compile_field(field: Construct) -> CompiledField:
    if not isinstance(field, Renamed):
        raise TypeError(f"a field without a name: {field!r}")
    inner = field.subcon
    if isinstance(inner, ConvertedField):
        return CompiledField(
            field.name, _wire_format(inner.subcon), inner.from_wire, inner.to_wire, table=None
        )
    if isinstance(inner, Mapping):
        return CompiledField(
            field.name,
            _wire_format(inner.subcon),
            inner.decmapping.__getitem__,
            inner.encmapping.__getitem__,
            inner.decmapping,
        )
    return CompiledField(field.name, _wire_format(inner), _same, _same, table=None)


def compile_layout(kind: Kind, layout: Construct) -> CompiledLayout:
    """The fast path of one declared layout.

    Raises:
        TypeError: the layout uses something that has no fixed length or no little-endian form.
    """
    fields = tuple(_compile_field(field) for field in layout.subcons)
    payload = "".join(field.format for field in fields)
    return CompiledLayout(
        kind,
        fields,
        struct.Struct(f"<2x{payload}{CRC_BYTES}x"),
        struct.Struct(f"<2x{payload}{COUNTER_AND_MAC_BYTES + CRC_BYTES}x"),
        struct.Struct("<" + payload),
    )


COMPILED: dict[Kind, CompiledLayout] = {
    kind: compile_layout(kind, layout) for kind, layout in PAYLOADS.items()
}
"""The fast path of every kind."""
