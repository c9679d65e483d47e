"""Exact bytes of the records that the journal itself gives a form: wire, connection, meta.

In: raw chunks, what a connection was opened with, what the daemon started with. Out: bodies.
Must not know: inputs, events, profiles, games; to it they are bytes, names and numbers.
"""

from __future__ import annotations

import struct
from enum import Enum
from typing import Any

import msgspec


class Kind(Enum):
    """What a record is; the value stands in the file."""

    META = "meta"
    CONNECTION = "connection"
    WIRE = "wire"
    INPUT = "input"
    PUBLIC = "event.public"
    RESTRICTED = "event.restricted"


class Direction(Enum):
    """Which way raw bytes went; the value is the byte in the record."""

    FROM_SHOE = b"<"
    TO_SHOE = b">"


_WIRE_HEAD = struct.Struct(">QQqc")
_json = msgspec.json.Encoder(order="deterministic")


class Wire(msgspec.Struct, frozen=True, kw_only=True):
    """Raw bytes of one connection.

    ``offset`` counts from the connection's first byte in that direction, ``t_us`` is µs since
    1970 UTC.
    """

    connection: int
    direction: Direction
    offset: int
    t_us: int
    data: bytes

    def to_bytes(self) -> bytes:
        """Big-endian: connection (8), offset (8), t_us (8), ``<`` or ``>`` (1), then the bytes."""
        head = _WIRE_HEAD.pack(self.connection, self.offset, self.t_us, self.direction.value)
        return head + self.data

    @classmethod
    def from_bytes(cls, body: bytes) -> Wire:
        """The chunk that ``to_bytes`` gave.

        Raises:
            ValueError: too short, or an unknown direction.
        """
        if len(body) < _WIRE_HEAD.size:
            raise ValueError(f"a wire record has at least {_WIRE_HEAD.size} bytes, not {len(body)}")
        connection, offset, t_us, direction = _WIRE_HEAD.unpack_from(body)
        return cls(
            connection=connection,
            direction=Direction(direction),
            offset=offset,
            t_us=t_us,
            data=body[_WIRE_HEAD.size :],
        )


class Resume(msgspec.Struct, frozen=True):
    """What a connection was told to go on from: a device and the last number stored of it."""

    device_id: str
    seq: int


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """How a connection was opened: what decoding its bytes again needs, but never a key."""

    number: int
    profile: str
    settings: dict[str, Any]
    resume: tuple[Resume, ...]
    t_us: int

    def to_bytes(self) -> bytes:
        """Deterministic JSON."""
        return _json.encode(self)

    @classmethod
    def from_bytes(cls, body: bytes) -> Connection:
        """The connection that ``to_bytes`` gave.

        Raises:
            ValueError: these bytes are not one (msgspec's errors are ValueErrors).
        """
        return msgspec.json.decode(body, type=cls)


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """What a table was started with: the game file's bytes, the settings, the software."""

    game: bytes
    settings: dict[str, Any]
    software: str
    t_us: int

    def to_bytes(self) -> bytes:
        """Deterministic JSON; the game file in base64."""
        return _json.encode(self)

    @classmethod
    def from_bytes(cls, body: bytes) -> Meta:
        """The start that ``to_bytes`` gave.

        Raises:
            ValueError: these bytes are not one (msgspec's errors are ValueErrors).
        """
        return msgspec.json.decode(body, type=cls)

    def same_rules(self, other: Meta) -> bool:
        """Whether a table goes on under the same game file and settings."""
        return _json.encode((self.game, self.settings)) == _json.encode(
            (other.game, other.settings)
        )
