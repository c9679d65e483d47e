"""Find rounds in a journal by their numbers, however long it is, and the raw bytes of messages.

In: a reader; a round's id or a number of rounds; a message's location in the stream of bytes.
Out: the records that opened rounds; raw frames. Must not know: what a round consists of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import msgspec

from shoe_ctl.errors import InputRefused
from shoe_ctl.journal.reader import BATCH, Reader
from shoe_ctl.journal.record_format import JOURNAL, Direction, Kind, Wire
from shoe_ctl.journal.round_index import OPENED, IndexedRound, RoundId
from shoe_ctl.records import Record

_MARK = f'"type":"{OPENED}"'.encode()
_ID = re.compile(r"(?P<table>.+)-s(?P<shoe>[0-9]+)-r(?P<round>[0-9]+)")
_NEAR = 4 * BATCH
"""Records that are read one after the other rather than halved again."""


class Records(Protocol):
    """Records in their order: a journal's, or those that the proof of a round gives.

    ``has_rounds`` is True if there is an index of rounds, which ``round`` looks into.
    """

    has_rounds: bool

    @property
    def path(self) -> Path:
        """The file that holds them."""

    def newest(self, before: int | None = None) -> int | None:
        """Return the last record's number, or the last before this one; None without any."""

    def records(
        self,
        *,
        after: int = 0,
        upto: int | None = None,
        table: str | None = None,
        kinds: Sequence[Kind] = (),
    ) -> Iterator[Record]:
        """Yield records with ``after < n <= upto`` in order, of a table and of kinds if named."""

    def indexed_records(
        self, table: str, kind: Kind, *, before: int | None = None
    ) -> Iterator[Record]:
        """Yield the table's records of a kind before one, newest first."""

    def round(self, of: RoundId) -> IndexedRound | None:
        """Return a round by the index; None where it has none of this id."""


class RoundLocation(msgspec.Struct, frozen=True):
    """A round, and the number of the record that opened it."""

    table: str
    round_id: str
    n: int


class _Event(msgspec.Struct):
    subject: str | None = None


def rounds_opened_after(
    reader: Reader, table: str, n: int, upto: int | None = None
) -> Iterator[RoundLocation]:
    """Yield the rounds of a table that were opened after record ``n``, in order.

    Raises:
        JournalError: the journal cannot be read.
    """
    for record in reader.records(after=n, upto=upto, table=table, kinds=(Kind.RESTRICTED,)):
        if (location := _opened(record)) is not None:
            yield location


def find_round(reader: Reader, round_id: str) -> RoundLocation:
    """Return where this round was opened.

    A table numbers its shoes and their rounds in order, so a binary search finds it.

    Raises:
        InputRefused: the journal has no such round; the line says which it has.
        JournalError: it cannot be read.
    """
    last_n, heads = reader.heads()
    named = _ID.fullmatch(round_id)
    table = None if named is None else named["table"]
    if table in heads:
        low, high = 0, last_n
        while high - low > _NEAR:
            middle = (low + high) // 2
            found = next(rounds_opened_after(reader, table, middle, high), None)
            if found is not None and found.round_id == round_id:
                return found
            if found is None or _number(found.round_id) > _number(round_id):
                high = middle
            else:
                low = found.n
        for location in rounds_opened_after(reader, table, low, high):
            if location.round_id == round_id:
                return location
    raise InputRefused(f"{reader.path}: no round {round_id} ({_known(reader, table)})")


def last_rounds(reader: Reader, count: int, table: str | None = None) -> list[RoundLocation]:
    """Return the last rounds that were opened, of one table or of all, oldest first.

    Raises:
        InputRefused: there is no such table.
        JournalError: the journal cannot be read.
    """
    tables = reader.heads()[1].keys() - {JOURNAL}
    if table is not None and table not in tables:
        have = ", ".join(sorted(tables)) or "none"
        raise InputRefused(f"{reader.path}: no table {table} (have: {have})")
    locations: list[RoundLocation] = []
    for record in records_backwards(reader, (Kind.RESTRICTED,), table=table):
        if (location := _opened(record)) is not None:
            locations.append(location)
            if len(locations) == count:
                break
    return locations[::-1]


def records_backwards(
    reader: Records, kinds: Sequence[Kind], *, before: int | None = None, table: str | None = None
) -> Iterator[Record]:
    """Yield the records before one, or before the end, newest first.

    Raises:
        JournalError: the journal cannot be read.
    """
    while (newest := reader.newest(before)) is not None:
        before = newest - BATCH + 1
        read = reader.records(after=newest - BATCH, upto=newest, table=table, kinds=kinds)
        yield from reversed(list(read))


def _opened(record: Record) -> RoundLocation | None:
    """Return the round that this event opened; None if it is another event or damaged."""
    if _MARK not in record.body:
        return None
    with suppress(ValueError):
        subject = msgspec.json.decode(record.body, type=_Event).subject
        if subject is not None and _ID.fullmatch(subject):
            return RoundLocation(record.table, subject, record.n)
    return None


def _number(round_id: str) -> tuple[int, int]:
    named = _ID.fullmatch(round_id)
    assert named is not None
    return int(named["shoe"]), int(named["round"])


def _known(reader: Reader, table: str | None) -> str:
    named = reader.heads()[1].keys() - {JOURNAL}
    tables = [table] if table in named else sorted(named)
    known: list[str] = []
    for name in tables:
        assert name is not None
        first = next(rounds_opened_after(reader, name, 0), None)
        if first is None:
            known.append(f"{name} has none")
        else:
            known.append(
                f"{name} has {first.round_id} to {last_rounds(reader, 1, name)[0].round_id}"
            )
    return "; ".join(known) or "it has no tables"


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


def sent_bytes(record: Record) -> SentBytes | None:
    """Return the bytes sent; None where this ``wire`` record came from the shoe or is damaged."""
    with suppress(ValueError):
        wire = Wire.from_bytes(record.body)
        if wire.direction is Direction.TO_SHOE:
            last = wire.offset + len(wire.data)
            return SentBytes(wire.connection, wire.offset, last, wire.t_us, wire.data.hex())
    return None


class Frames:
    """Raw bytes of a table's shoe, from record ``first`` on and as far back as a frame needs."""

    def __init__(self, reader: Records, table: str, first: int) -> None:
        self._reader = reader
        self._table = table
        self._oldest_n = first
        self._connection: int | None = None
        self._begins = 0  # the location of the first byte held
        self._bytes = bytearray()

    def add(self, record: Record) -> None:
        """Add the next ``wire`` record."""
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
        """Return the bytes of the message behind this input; None where there was none."""
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
        """Go back to the chunk with this byte: a frame may have begun long before it ended."""
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
        """Return the connection's chunk before the oldest one read so far."""
        older = records_backwards(
            self._reader, (Kind.WIRE,), before=self._oldest_n, table=self._table
        )
        for record in older:
            self._oldest_n = record.n
            with suppress(ValueError):
                wire = Wire.from_bytes(record.body)
                if wire.direction is Direction.FROM_SHOE:
                    same = wire.connection == connection
                    return (wire.offset, wire.data) if same else None
        return None
