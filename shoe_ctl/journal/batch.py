"""Batches: records that are collected in memory and committed in one transaction.

In: raw chunks, inputs and events as they come. Out: with the tables' counters, the exact bodies of
the records and the ids of the events. Must not know: files, threads, what a body means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from shoe_ctl.journal.codec import (
    JOURNAL,
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


class _Entry(msgspec.Struct, frozen=True):
    """A record without its number. ``connection`` and ``t_us`` go to the head where given."""

    table: str
    kind: Kind
    body: bytes
    connection: int | None = None
    t_us: int | None = None


class _Event(msgspec.Struct, frozen=True):
    """An event still without ids; ``restricted`` and ``public`` are its data as JSON."""

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
    """``records.Envelope`` with its data encoded already, so that both copies share the work."""

    id: str
    source: str
    type: str
    time: str
    subject: str | UnsetType
    data: msgspec.Raw
    specversion: str = "1.0"


class Counters(msgspec.Struct):
    """How many events of each audience a table has: the number in the last id given."""

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

    An empty batch has ``last_n == first_n - 1``. ``ids`` goes by the handles of ``append_event``.
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
    """A batch encoded for storing: its records, its events' ids, its devices' numbers."""

    records: list[EncodedRecord]
    ids: dict[int, EventIds]
    devices: list[tuple[str, str, int]]


class Batch:
    """Records that are stored together or not at all, in the order they were added.

    Methods that add a record return its handle, a number within this batch. ``epoch`` stands in
    the source of its events.
    """

    def __init__(self, epoch: str = NO_EPOCH) -> None:
        self.epoch = epoch
        self._entries: list[_Entry | _Event | _Device] = []

    def __len__(self) -> int:
        return len(self._entries)

    def _append(self, entry: _Entry | _Event | _Device) -> int:
        self._entries.append(entry)
        return len(self._entries) - 1

    def append(self, table: str, kind: Kind, body: bytes) -> int:
        """Append a record with this body. Events need ``append_event``: their ids come later."""
        if kind in (Kind.PUBLIC, Kind.RESTRICTED):
            raise ValueError("an event gets its id in the commit: add it with append_event()")
        return self._append(_Entry(table, kind, bytes(body)))

    def append_meta(self, table: str, meta: Meta) -> int:
        """Append what the table is started with."""
        return self._append(_Entry(table, Kind.META, meta.to_bytes()))

    def append_ruling(self, gone_on: LossRuling) -> int:
        """Append a person's ruling that the journal goes on: the first record after a loss."""
        return self._append(_Entry(JOURNAL, Kind.META, gone_on.to_bytes()))

    def append_snapshot(self, table: str, snapshot: Snapshot) -> int:
        """Append how the table stood before anything else in this batch happened."""
        return self._append(_Entry(table, Kind.SNAPSHOT, snapshot.to_bytes()))

    def append_connection(self, table: str, connection: Connection) -> int:
        """Append the opening of a connection to the table's shoe; its number is remembered."""
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
        """Append raw bytes; see ``codec.Wire``."""
        wire = Wire(connection=connection, direction=direction, offset=offset, t_us=t_us, data=data)
        return self._append(_Entry(table, Kind.WIRE, wire.to_bytes()))

    def append_calls(self, table: str, calls: Calls) -> int:
        """Append the calls that a connection's session got since its last bytes."""
        return self._append(_Entry(table, Kind.CALLS, calls.to_bytes()))

    def append_input(self, table: str, body: bytes, t_us: int) -> int:
        """Append an input's bytes and its time (µs since 1970 UTC), which is remembered."""
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

        The restricted stream carries everything: a public event is stored once for each audience,
        and ``data_restricted``, where given, is the whole data of its restricted copy. The data is
        encoded here and now, so later changes to it have no effect.
        """
        public = _encoder.encode(data) if audience is Audience.PUBLIC else None
        if data_restricted is not None:
            restricted = _encoder.encode(data_restricted)
        else:
            restricted = public if public is not None else _encoder.encode(data)
        return self._append(_Event(table, type_, t_us, subject, restricted, public))

    def set_device_seq(self, table: str, device_id: str, seq: int) -> None:
        """Set the last event number of this device that is stored once the batch is."""
        self._append(_Device(table, device_id, seq))

    def encode(self, counters: Callable[[str], Counters]) -> EncodedBatch:
        """Give the events their ids and every record its exact bytes.

        ``counters`` gives the counters of a table; they are counted on.
        """
        encoded = EncodedBatch([], {}, [])
        for handle, entry in enumerate(self._entries):
            if isinstance(entry, _Entry):
                kind = entry.kind.value
                encoded.records.append(
                    EncodedRecord(entry.table, kind, entry.body, entry.connection, entry.t_us)
                )
            elif isinstance(entry, _Device):
                encoded.devices.append((entry.table, entry.device_id, entry.seq))
            else:
                source = source_of(self.epoch, entry.table)
                encoded.ids[handle] = _encode_event(
                    entry, source, counters(entry.table), encoded.records
                )
        return encoded


def _encode_event(
    event: _Event, source: str, counters: Counters, records: list[EncodedRecord]
) -> EventIds:
    public = None
    if event.public is not None:
        counters.public += 1
        public = f"{event.table}/p{counters.public}"
        body = _envelope(event, source, public, event.public)
        records.append(EncodedRecord(event.table, Kind.PUBLIC.value, body))
    counters.restricted += 1
    restricted = f"{event.table}/r{counters.restricted}"
    body = _envelope(event, source, restricted, event.restricted)
    records.append(EncodedRecord(event.table, Kind.RESTRICTED.value, body))
    return EventIds(public, restricted)


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
