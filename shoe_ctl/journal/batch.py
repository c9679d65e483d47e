"""Batches: records that are collected in memory and committed in one transaction.

In: raw chunks, inputs and events as they come. Out: entries in their order, for ``group``; what a
commit returns. Must not know: files, threads, the exact bytes of a record.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from shoe_ctl.journal.record_format import (
    JOURNAL,
    Calls,
    Connection,
    DaemonStart,
    Direction,
    Kind,
    LossRuling,
    Meta,
    Snapshot,
)
from shoe_ctl.records import NO_EPOCH, Audience

_encoder = msgspec.json.Encoder(order="deterministic")


class Entry(msgspec.Struct, frozen=True):
    """A record without its number. ``connection`` and ``t_us``, if given, go to the head.

    ``closed``: it names a Player, so that a proof may leave it out.
    """

    table: str
    kind: Kind
    body: bytes
    connection: int | None = None
    t_us: int | None = None
    closed: bool = False


class ChunkEntry(msgspec.Struct, frozen=True):
    """Raw bytes of a connection, before they are encoded as ``record_format.Wire``."""

    table: str
    connection: int
    direction: Direction
    offset: int
    t_us: int
    data: bytes


class EventEntry(msgspec.Struct, frozen=True):
    """An event without ids; ``restricted`` and ``public`` are its data as JSON.

    ``closed``: its restricted data names a Player, so that a proof may leave it out.
    """

    table: str
    type: str
    t_us: int
    subject: str | None
    restricted: bytes
    public: bytes | None
    closed: bool = False


class DeviceEntry(msgspec.Struct, frozen=True):
    """The last event number of a device that is stored once the batch is: no record."""

    table: str
    device_id: str
    seq: int


AnyEntry: TypeAlias = Entry | ChunkEntry | EventEntry | DeviceEntry


class Counters(msgspec.Struct):
    """The count of a table's events for each audience: the number in the last id given."""

    public: int = 0
    restricted: int = 0


class Head(msgspec.Struct):
    """The end of a table's chain, and the last numbers of the table.

    ``connection`` is 0 before the first; ``t_us`` is the last input's time, 0 before the first.
    """

    n: int
    hash: bytes
    counters: Counters
    connection: int = 0
    t_us: int = 0


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


_COMMAND = b'{"input":"command"'
_CARD = rb"(?:10|[2-9tjqka])[shdc]"
_NAMES = re.compile(
    rb'"(?:player|designee)":"(?!(?i:%b(?: %b){1,2}"))' % (_CARD, _CARD)
    + rb'|"players":\["'
    + rb'|"from":"[^"]*","holder":'
).search


def names_player(data: bytes) -> bool:
    """Return True if this JSON of an input or of restricted data names a Player.

    A name stands under ``player``, ``players`` or ``designee``, however deep, or under ``from``
    where the shoe changes its holder. Two or three cards under ``player`` are that hand's.
    """
    return _NAMES(data) is not None


class Batch:
    """Records that are stored together or not at all, in the order they were added.

    Methods that add a record return its handle, a number within this batch. ``epoch`` becomes part
    of its events' source.
    """

    def __init__(self, epoch: str = NO_EPOCH) -> None:
        self.epoch = epoch
        self.entries: list[AnyEntry] = []

    def __len__(self) -> int:
        return len(self.entries)

    def _append(self, entry: AnyEntry) -> int:
        self.entries.append(entry)
        return len(self.entries) - 1

    def append(self, table: str, kind: Kind, body: bytes) -> int:
        """Append a record with this body. Events need ``append_event``: their ids come later."""
        if kind in (Kind.PUBLIC, Kind.RESTRICTED):
            raise ValueError("an event gets its id in the commit: add it with append_event()")
        return self._append(Entry(table, kind, bytes(body)))

    def append_meta(self, table: str, meta: Meta) -> int:
        """Append a start of the table: its game and settings."""
        return self._append(Entry(table, Kind.META, meta.to_bytes()))

    def append_ruling(self, gone_on: LossRuling) -> int:
        """Append a person's ruling that the journal goes on: the first record after a loss."""
        return self._append(Entry(JOURNAL, Kind.META, gone_on.to_bytes()))

    def append_daemon_start(self, start: DaemonStart) -> int:
        """Append what runs from now on, and by which configuration."""
        return self._append(Entry(JOURNAL, Kind.META, start.to_bytes()))

    def append_snapshot(self, table: str, snapshot: Snapshot) -> int:
        """Append the table's state from before this batch."""
        return self._append(Entry(table, Kind.SNAPSHOT, snapshot.to_bytes()))

    def append_connection(self, table: str, connection: Connection) -> int:
        """Append the opening of a connection to the table's shoe; its number goes to the head."""
        body = connection.to_bytes()
        return self._append(Entry(table, Kind.CONNECTION, body, connection=connection.number))

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
        return self._append(ChunkEntry(table, connection, direction, offset, t_us, data))

    def append_calls(self, table: str, calls: Calls) -> int:
        """Append the calls that a connection's session got since its last bytes."""
        return self._append(Entry(table, Kind.CALLS, calls.to_bytes()))

    def append_input(self, table: str, body: bytes, t_us: int) -> int:
        """Append an input's bytes and its time (µs since 1970 UTC), which goes to the head."""
        closed = names_player(body) if body.startswith(_COMMAND) else False
        return self._append(Entry(table, Kind.INPUT, bytes(body), t_us=t_us, closed=closed))

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
        closed = restricted != public and names_player(restricted)
        return self._append(EventEntry(table, type_, t_us, subject, restricted, public, closed))

    def remove_from(self, handle: int) -> None:
        """Remove this record, and all that were added after it."""
        del self.entries[handle:]

    def set_device_seq(self, table: str, device_id: str, seq: int) -> None:
        """Set the last event number of this device that is stored once the batch is."""
        self._append(DeviceEntry(table, device_id, seq))
