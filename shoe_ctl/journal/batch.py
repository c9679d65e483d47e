"""Batches: records that are collected in memory and committed in one transaction.

In: raw chunks, inputs and events as they come; the tables' counters. Out: the exact bodies of the
records, and the ids of the events. Must not know: files, threads, what a body means.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from shoe_ctl.journal.packing import (
    Packer,
    pack_copy,
    pack_event,
    pack_same_copy,
    pack_shoe_input,
    pack_wire,
)
from shoe_ctl.journal.record_format import (
    JOURNAL,
    LONGEST_UNPACKED_BYTES,
    Calls,
    Connection,
    Direction,
    Kind,
    LossRuling,
    Meta,
    Snapshot,
    Wire,
)
from shoe_ctl.records import NO_EPOCH, Audience, source_of, utc

_encoder = msgspec.json.Encoder(order="deterministic")

_PUBLIC, _RESTRICTED, _WIRE = Kind.PUBLIC.value, Kind.RESTRICTED.value, Kind.WIRE.value
_MOST_US = 1 << 56  # a packed body has seven bytes for a time
_plain = re.compile(r"[ !#-\[\]-~]*").fullmatch
_eight_digits = re.compile(r"[0-9a-f]{8}").fullmatch


class _Entry(msgspec.Struct, frozen=True):
    """A record without its number. ``connection`` and ``t_us``, if given, go to the head."""

    table: str
    kind: Kind
    body: bytes
    connection: int | None = None
    t_us: int | None = None


class _Chunk(msgspec.Struct, frozen=True):
    """Raw bytes of a connection, before they are encoded as ``record_format.Wire``."""

    table: str
    connection: int
    direction: Direction
    offset: int
    t_us: int
    data: bytes


class _Event(msgspec.Struct, frozen=True):
    """An event without ids; ``restricted`` and ``public`` are its data as JSON."""

    table: str
    type: str
    t_us: int
    subject: str | None
    restricted: bytes
    public: bytes | None


class _Device(msgspec.Struct, frozen=True):
    table: str
    device_id: str
    seq: int


class _Outgoing(msgspec.Struct, frozen=True):
    """``records.Envelope`` whose data is encoded already."""

    id: str
    source: str
    type: str
    time: str
    subject: str | UnsetType
    data: msgspec.Raw
    specversion: str = "1.0"


class Counters(msgspec.Struct):
    """The count of a table's events for each audience: the number in the last id given."""

    public: int = 0
    restricted: int = 0


class EventIds(msgspec.Struct, frozen=True):
    """The ids of one event's copies; ``public`` is None for a restricted event."""

    public: str | None
    restricted: str

    def of(self, audience: Audience) -> str | None:
        """Return the id that this audience sees, or None where it sees nothing."""
        return self.public if audience is Audience.PUBLIC else self.restricted


class StoredEvent(msgspec.Struct, frozen=True):
    """One copy of an event as it is stored: its record's number, and the envelope's bytes."""

    n: int
    table: str
    audience: Audience
    body: bytes


class CommitResult(msgspec.Struct, frozen=True):
    """The first and last record number of a stored batch, the ids of its events, and the events.

    An empty batch has ``last_n == first_n - 1``. The keys of ``ids`` are the handles that
    ``append_event`` returned.
    """

    first_n: int
    last_n: int
    ids: Mapping[int, EventIds]
    events: Sequence[StoredEvent] = ()


class EncodedRecord(msgspec.Struct, frozen=True):
    """A record ready to be stored, but for its number and its hash."""

    table: str
    kind: str
    body: bytes
    connection: int | None = None
    t_us: int | None = None


class EncodedBatch(msgspec.Struct, frozen=True):
    """A batch encoded for storing: records, the events' ids, the devices' last event numbers."""

    records: list[EncodedRecord]
    ids: dict[int, EventIds]
    devices: list[tuple[str, str, int]]


PackedRecord = tuple[str, str, bytes, bytes | None, int | None, int | None]
"""A record ready to be stored: table, kind, and the bytes for the file; then the envelope's bytes
(None unless it is an event), and the connection and the time for the table's head (None if not
given)."""


class PackedBatch(msgspec.Struct, frozen=True):
    """As ``EncodedBatch``, with its records as the file holds them."""

    records: list[PackedRecord]
    ids: dict[int, EventIds]
    devices: list[tuple[str, str, int]]


class Batch:
    """Records that are stored together or not at all, in the order they were added.

    Methods that add a record return its handle, a number within this batch. ``epoch`` becomes part
    of its events' source.
    """

    def __init__(self, epoch: str = NO_EPOCH) -> None:
        self.epoch = epoch
        self._entries: list[_Entry | _Chunk | _Event | _Device] = []

    def __len__(self) -> int:
        return len(self._entries)

    def _append(self, entry: _Entry | _Chunk | _Event | _Device) -> int:
        self._entries.append(entry)
        return len(self._entries) - 1

    def append(self, table: str, kind: Kind, body: bytes) -> int:
        """Append a record with this body. Events need ``append_event``: their ids come later."""
        if kind in (Kind.PUBLIC, Kind.RESTRICTED):
            raise ValueError("an event gets its id in the commit: add it with append_event()")
        return self._append(_Entry(table, kind, bytes(body)))

    def append_meta(self, table: str, meta: Meta) -> int:
        """Append a start of the table: its game and settings."""
        return self._append(_Entry(table, Kind.META, meta.to_bytes()))

    def append_ruling(self, gone_on: LossRuling) -> int:
        """Append a person's ruling that the journal goes on: the first record after a loss."""
        return self._append(_Entry(JOURNAL, Kind.META, gone_on.to_bytes()))

    def append_snapshot(self, table: str, snapshot: Snapshot) -> int:
        """Append the table's state from before this batch."""
        return self._append(_Entry(table, Kind.SNAPSHOT, snapshot.to_bytes()))

    def append_connection(self, table: str, connection: Connection) -> int:
        """Append the opening of a connection to the table's shoe; its number goes to the head."""
        body = connection.to_bytes()
        return self._append(_Entry(table, Kind.CONNECTION, body, connection=connection.number))

    def append_wire(  # noqa: PLR0913 - all of it is what a raw chunk is
        self,
        table: str,
        *,
        connection: int,
        direction: Direction,
        offset: int,
        t_us: int,
        data: bytes,
    ) -> int:
        """Append raw bytes; see ``record_format.Wire``."""
        return self._append(_Chunk(table, connection, direction, offset, t_us, data))

    def append_calls(self, table: str, calls: Calls) -> int:
        """Append the calls that a connection's session got since its last bytes."""
        return self._append(_Entry(table, Kind.CALLS, calls.to_bytes()))

    def append_input(self, table: str, body: bytes, t_us: int) -> int:
        """Append an input's bytes and its time (µs since 1970 UTC), which goes to the head."""
        return self._append(_Entry(table, Kind.INPUT, bytes(body), t_us=t_us))

    def append_event(  # noqa: PLR0913 - all of it is what an event is
        self,
        table: str,
        audience: Audience,
        type_: str,
        *,
        t_us: int,
        subject: str | None,
        data: Mapping[str, Any],
        data_restricted: Mapping[str, Any] | None = None,
    ) -> int:
        """Append an event; its ids are in ``CommitResult.ids`` under the handle returned here.

        The restricted stream carries everything: a public event is stored once for each audience.
        ``data_restricted``, if given, is all the data of its restricted copy. The data is encoded
        now, so later changes to it have no effect.
        """
        public = _encoder.encode(data) if audience is Audience.PUBLIC else None
        if data_restricted is not None:
            restricted = _encoder.encode(data_restricted)
        else:
            restricted = public if public is not None else _encoder.encode(data)
        return self._append(_Event(table, type_, t_us, subject, restricted, public))

    def remove_from(self, handle: int) -> None:
        """Remove this record, and all that were added after it."""
        del self._entries[handle:]

    def set_device_seq(self, table: str, device_id: str, seq: int) -> None:
        """Set the last event number of this device that is stored once the batch is."""
        self._append(_Device(table, device_id, seq))

    def encode(self, counters: Callable[[str], Counters]) -> EncodedBatch:
        """Give the events their ids and every record its exact bytes.

        ``counters`` returns the counters of a table, which are then increased.
        """
        found = self.pack(counters, None)
        records = [
            EncodedRecord(table, kind, body, connection, t_us)
            for table, kind, body, _, connection, t_us in found.records
        ]
        return EncodedBatch(records, found.ids, found.devices)

    def pack(self, counters: Callable[[str], Counters], packer: Packer | None) -> PackedBatch:
        """As ``encode``, with each record packed for the file; unpacked without a ``packer``.

        This runs for every card. What a card brings is therefore packed from its parts, and no body
        is made of them first. The bytes are those that ``packer`` would return; it packs the rest.
        """
        records: list[PackedRecord] = []
        ids: dict[int, EventIds] = {}
        devices: list[tuple[str, str, int]] = []
        epoch = self.epoch
        for handle, entry in enumerate(self._entries):
            if isinstance(entry, _Event):
                common, of = _common_parts(entry, epoch), counters(entry.table)
                if common is None:
                    ids[handle] = _add_escaped_event(entry, epoch, of, packer, records)
                else:
                    ids[handle] = _add_event(entry, common, of, records, packs=packer is not None)
            elif isinstance(entry, _Chunk):
                stored = None if packer is None else _pack_chunk(entry)
                if stored is None:
                    stored = _wire_body(entry)
                records.append((entry.table, _WIRE, stored, None, None, None))
            elif isinstance(entry, _Entry):
                table, kind, stored = entry.table, entry.kind._value_, entry.body
                if packer is not None:
                    stored = _pack_entry(entry, kind, packer)
                records.append((table, kind, stored, None, entry.connection, entry.t_us))
            else:
                devices.append((entry.table, entry.device_id, entry.seq))
        return PackedBatch(records, ids, devices)


def _pack_chunk(chunk: _Chunk) -> bytes | None:
    return pack_wire(
        chunk.connection, chunk.direction._value_, chunk.offset, chunk.t_us, chunk.data
    )


def _pack_entry(entry: _Entry, kind: str, packer: Packer) -> bytes:
    packed, body = None, entry.body
    if entry.t_us is not None:
        packed = pack_shoe_input(body, entry.t_us)
    if packed is None:
        return packer.pack(entry.table, kind, body)
    return _shorter(packed, body)


def _wire_body(chunk: _Chunk) -> bytes:
    return Wire(
        connection=chunk.connection,
        direction=chunk.direction,
        offset=chunk.offset,
        t_us=chunk.t_us,
        data=chunk.data,
    ).to_bytes()


def _add_event(
    event: _Event, common: _Common, counters: Counters, records: list[PackedRecord], *, packs: bool
) -> EventIds:
    """Add an event's copies: one, or two which share most of what follows their ids."""
    epoch, start, source_and_type, type_, before_data = common
    table, t_us, data, secret = event.table, event.t_us, event.public, event.restricted
    behind_id = b"".join((source_and_type, type_, _time_in_json(t_us), before_data))
    public, public_body = None, None
    if data is not None:
        counters.public = number = counters.public + 1
        public = f"{table}/p{number}"
        stored = public_body = b'%bp%d%b%b,"specversion":"1.0"}' % (start, number, behind_id, data)
        if packs:
            rest = b'%b"%b%b,"specversion":"1.0"}' % (type_, before_data, data)
            stored = _shorter(pack_event(epoch, t_us, number, rest), public_body)
        records.append((table, _PUBLIC, stored, public_body, None, None))
    counters.restricted = number = counters.restricted + 1
    stored = body = b'%br%d%b%b,"specversion":"1.0"}' % (start, number, behind_id, secret)
    if packs:
        copy = None
        if public_body is not None:
            copy = pack_same_copy(number) if secret is data else pack_copy(body, public_body)
        if copy is None:
            rest = b'%b"%b%b,"specversion":"1.0"}' % (type_, before_data, secret)
            copy = pack_event(epoch, t_us, number, rest)
        stored = _shorter(copy, body)
    records.append((table, _RESTRICTED, stored, body, None, None))
    return EventIds(public, f"{table}/r{number}")


def _shorter(packed: bytes, body: bytes) -> bytes:
    return packed if len(packed) < len(body) <= LONGEST_UNPACKED_BYTES else body


def _add_escaped_event(
    event: _Event,
    epoch: str,
    counters: Counters,
    packer: Packer | None,
    records: list[PackedRecord],
) -> EventIds:
    """Add an event with a name in which JSON escapes something."""
    table, public = event.table, None
    source = source_of(epoch, table)
    copies = []
    if event.public is not None:
        counters.public += 1
        public = f"{table}/p{counters.public}"
        copies.append((_PUBLIC, _envelope(event, source, public, event.public)))
    counters.restricted += 1
    restricted = f"{table}/r{counters.restricted}"
    copies.append((_RESTRICTED, _envelope(event, source, restricted, event.restricted)))
    for kind, body in copies:
        stored = body if packer is None else packer.pack(table, kind, body)
        records.append((table, kind, stored, body, None, None))
    return EventIds(public, restricted)


_Common = tuple[bytes, bytes, bytes, bytes, bytes]


def _common_parts(event: _Event, epoch: str) -> _Common | None:
    """Return what both copies of an event share.

    That is the epoch's bytes, and of the envelope its start, the part from the source to the type,
    the type, and the part between the time and the data. None if JSON escapes something in a name,
    or the epoch or the time cannot be packed.
    """
    table, type_ = _as_in_json(event.table), _as_in_json(event.type)
    binary = _epoch_bytes(epoch)
    if table is None or type_ is None or binary is None or not 0 <= event.t_us < _MOST_US:
        return None
    if event.subject is None:
        data = b',"data":'
    else:
        subject = _as_in_json(event.subject)
        if subject is None:
            return None
        data = b',"subject":"%b","data":' % subject
    source = b'","source":"/journal/%b/table/%b","type":"' % (epoch.encode(), table)
    return binary, b'{"id":"%b/' % table, source, type_, data


@lru_cache(1 << 14)
def _as_in_json(name: str) -> bytes | None:
    """Return a name as JSON has it between quotes; None if something in it is escaped."""
    return name.encode() if _plain(name) else None


@lru_cache(64)
def _time_in_json(t_us: int) -> bytes:
    """Return the part of an envelope with the time. All events of an input share it."""
    return f'","time":"{utc(t_us)}"'.encode()


@lru_cache(64)
def _epoch_bytes(epoch: str) -> bytes | None:
    return bytes.fromhex(epoch) if _eight_digits(epoch) else None


def _envelope(event: _Event, source: str, id_: str, data: bytes) -> bytes:
    return _encoder.encode(
        _Outgoing(
            id=id_,
            source=source,
            type=event.type,
            time=utc(event.t_us),
            subject=UNSET if event.subject is None else event.subject,
            data=msgspec.Raw(data),
        )
    )
