"""The raw bytes of what a shoe said, from the journal's chunks.

In: wire records as they are passed, inputs that name a byte range. Out: those bytes.
Must not know: what bytes mean.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from shoe_ctl.journal.bodies import Direction, Kind, Wire
from shoe_ctl.journal.reader import Reader
from shoe_ctl.records import Record

from .places import backwards


class RawFrame(msgspec.Struct, frozen=True):
    """Bytes ``first`` to ``last`` (exclusive) of what came from the shoe on a connection.

    ``data`` is in hex; None where the journal has not all of them.
    """

    connection: int
    first: int
    last: int
    data: str | None


class SentBytes(msgspec.Struct, frozen=True):
    """Bytes ``first`` to ``last`` (exclusive) of what went to the shoe on a connection, in hex.

    ``t_us`` is when they were handed to the port, in µs since 1970 UTC.
    """

    connection: int
    first: int
    last: int
    t_us: int
    data: str


def sent(record: Record) -> SentBytes | None:
    """What went to the shoe; None where this ``wire`` record came from it, or was spoilt."""
    with suppress(ValueError):
        wire = Wire.from_bytes(record.body)
        if wire.direction is Direction.TO_SHOE:
            last = wire.offset + len(wire.data)
            return SentBytes(wire.connection, wire.offset, last, wire.t_us, wire.data.hex())
    return None


class Frames:
    """One table's chunks from record ``first`` on, and as many before it as a frame needs."""

    def __init__(self, reader: Reader, table: str, first: int) -> None:
        self._reader = reader
        self._table = table
        self._oldest_n = first
        self._connection: int | None = None
        self._begins = 0  # the place of the first byte held
        self._bytes = bytearray()

    def add(self, record: Record) -> None:
        """The next ``wire`` record."""
        with suppress(ValueError):
            wire = Wire.from_bytes(record.body)
            if wire.direction is not Direction.FROM_SHOE:
                return
            if (wire.connection, wire.offset) != (self._connection, self._ends):
                self._connection, self._begins = wire.connection, wire.offset
                self._bytes.clear()
                self._oldest_n = record.n
            self._bytes += wire.data

    @property
    def _ends(self) -> int:
        return self._begins + len(self._bytes)

    def of(self, said: dict[str, Any]) -> RawFrame | None:
        """The bytes that brought this input; None where nothing did but time."""
        connection, first, last = (said.get(key) for key in ("connection", "first", "last"))
        if not (isinstance(connection, int) and isinstance(first, int) and isinstance(last, int)):
            return None
        if first >= last:
            return None
        self._reach(connection, first)
        held = connection == self._connection and self._begins <= first and last <= self._ends
        data = bytes(self._bytes[first - self._begins : last - self._begins]) if held else None
        return RawFrame(connection, first, last, None if data is None else data.hex())

    def _reach(self, connection: int, first: int) -> None:
        """Goes back to the chunk with this byte: a frame may have begun long before it ended."""
        if self._connection is None:
            self._connection = connection
            newest = self._before(connection)
            if newest is None:
                return
            self._begins, self._bytes[:] = newest
        while connection == self._connection and first < self._begins:
            older = self._before(connection)
            if older is None or older[0] + len(older[1]) != self._begins:
                return
            self._begins, self._bytes[:0] = older

    def _before(self, connection: int) -> tuple[int, bytes] | None:
        """The connection's chunk before the oldest one looked at."""
        older = backwards(self._reader, (Kind.WIRE,), before=self._oldest_n, table=self._table)
        for record in older:
            self._oldest_n = record.n
            with suppress(ValueError):
                wire = Wire.from_bytes(record.body)
                if wire.direction is Direction.FROM_SHOE:
                    same = wire.connection == connection
                    return (wire.offset, wire.data) if same else None
        return None
