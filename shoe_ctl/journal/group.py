"""Groups: what one transaction stores of one table, in the form that the file holds.

In: a batch and the tables' numbers; or a stored group. Out: groups, packed once, with the ids of
their events; or records with their bodies, byte for byte as they were written.
Must not know: files, chains.

A group begins with a plain header, which says of each record its kind and length. So what a group
holds is known without unpacking it, and nothing of another group is needed to unpack it:

1. the form (1 byte): ``DEFLATED`` or ``PLAIN``
2. the number of records (1), and a letter for each of them, its ``Letter``
3. the epoch in the source of its events (4)
4. a time, ``t_us`` (7)
5. how many public events the table had before it (5), and how many restricted ones (5)
6. a salt (16)
7. the length of each record's part (LEB128). A ``COPY`` has none
8. the parts, deflated together in form ``DEFLATED``

Numbers are big-endian. Letters say how a part gives a body. Of the form that nearly all have it
holds what is not said already; any other body stands there as it is.

Records that name a Player have letters of their own. Their parts stand behind all others, in a
closed section with a salt of its own, of which the group's hash covers the hash alone. So a proof
shows a group without the names. A group with one is of form ``DEFLATED_APART`` or ``PLAIN_APART``,
and the length of its closed section (4 bytes) stands behind the salt. The salts keep whoever has a
hash from trying what it may be of: a card is one of 52.

A group holds records of one round, and a snapshot stands in one of its own.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import accumulate, repeat
from os import urandom
from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from shoe_ctl.journal.batch import (
    AnyEntry,
    Batch,
    ChunkEntry,
    CommitResult,
    Counters,
    DeviceEntry,
    Entry,
    EventEntry,
    EventIds,
    Head,
    StoredEvent,
)
from shoe_ctl.journal.dictionary import DICTIONARY
from shoe_ctl.journal.record_format import JOURNAL, WIRE_HEAD, Direction, Kind, Wire
from shoe_ctl.journal.round_index import TYPES, round_id
from shoe_ctl.records import Audience, source_of, utc

DEFLATED: Final = 1
"""The form of a group whose parts are raw deflate (RFC 1951) with the dictionary ``DICTIONARY``."""

PLAIN: Final = 2
"""The form of a group whose parts are not packed: they would not become shorter."""

DEFLATED_APART: Final = 3
"""As ``DEFLATED``, with a closed section, whose parts are deflated, too."""

PLAIN_APART: Final = 4
"""As ``PLAIN``, with a closed section, whose parts are not packed either."""

MOST_RECORDS: Final = 255
"""Records of one group at most: their number is one byte. More begin another group."""

SEVERAL_ROUNDS: Final = ""
"""Stands for a round where bytes brought records of several."""

_APART: Final = (Kind.META, Kind.SNAPSHOT)
"""A record of these kinds is a group of its own: it is of no round, or of many."""

FULL_BYTES: Final = 1 << 16
"""A group with parts of so many bytes takes no further record, so that little has to be unpacked
for one of them."""

MOST_PACKED_BYTES: Final = 1 << 21
"""Longer parts are not deflated, and none that unpack to more are read. A writer's longest have a
twentieth of it."""

HELLO: Final = b'"type":"hello"'
FAULT_INPUT: Final = b'{"input":"fault"'
"""An input that contains ``HELLO``, or begins with ``FAULT_INPUT``, stands in its group as it is,
so that verifying finds its letter without unpacking all inputs."""


class Letter:
    """The letter of a record in its group's header: its kind, and what its part holds."""

    META: Final = ord("m")
    SNAPSHOT: Final = ord("s")
    CHECKPOINT: Final = ord("k")
    CONNECTION: Final = ord("o")
    CALLS: Final = ord("c")
    FROM_SHOE: Final = ord("<")
    """Raw bytes. Time, connection's number and offset (LEB128), then the bytes."""
    TO_SHOE: Final = ord(">")
    WIRE: Final = ord("w")
    """Raw bytes whose body stands as it is."""
    INPUT: Final = ord("i")
    """Time; the value of ``input`` and its closing quote; what follows the value of ``t_us``."""
    INPUT_AS_IS: Final = ord("I")
    PUBLIC: Final = ord("p")
    """Time; the value of ``type`` and its closing quote; what stands between the value of ``time``
    and ``specversion``."""
    PUBLIC_AS_IS: Final = ord("P")
    RESTRICTED: Final = ord("r")
    RESTRICTED_AS_IS: Final = ord("R")
    COPY: Final = ord("=")
    """The restricted copy of the public event before it, with the same data. It has no part."""
    CLOSED_INPUT: Final = ord("n")
    """An ``INPUT`` that names a Player. Its part stands in the closed section, as those of the
    next three. A time there is how much later it is than the last one outside."""
    CLOSED_INPUT_AS_IS: Final = ord("N")
    CLOSED_RESTRICTED: Final = ord("q")
    CLOSED_RESTRICTED_AS_IS: Final = ord("Q")


_KINDS: Final = {
    Letter.META: Kind.META,
    Letter.SNAPSHOT: Kind.SNAPSHOT,
    Letter.CHECKPOINT: Kind.CHECKPOINT,
    Letter.CONNECTION: Kind.CONNECTION,
    Letter.CALLS: Kind.CALLS,
    Letter.FROM_SHOE: Kind.WIRE,
    Letter.TO_SHOE: Kind.WIRE,
    Letter.WIRE: Kind.WIRE,
    Letter.INPUT: Kind.INPUT,
    Letter.INPUT_AS_IS: Kind.INPUT,
    Letter.PUBLIC: Kind.PUBLIC,
    Letter.PUBLIC_AS_IS: Kind.PUBLIC,
    Letter.RESTRICTED: Kind.RESTRICTED,
    Letter.RESTRICTED_AS_IS: Kind.RESTRICTED,
    Letter.COPY: Kind.RESTRICTED,
    Letter.CLOSED_INPUT: Kind.INPUT,
    Letter.CLOSED_INPUT_AS_IS: Kind.INPUT,
    Letter.CLOSED_RESTRICTED: Kind.RESTRICTED,
    Letter.CLOSED_RESTRICTED_AS_IS: Kind.RESTRICTED,
}
_CLOSED_AS = {
    Letter.INPUT: Letter.CLOSED_INPUT,
    Letter.INPUT_AS_IS: Letter.CLOSED_INPUT_AS_IS,
    Letter.RESTRICTED: Letter.CLOSED_RESTRICTED,
    Letter.RESTRICTED_AS_IS: Letter.CLOSED_RESTRICTED_AS_IS,
}
CLOSED: Final = bytes(_CLOSED_AS.values())
"""The letters of records whose parts stand in the closed section."""

_AS_IS: Final = {
    Kind.META: Letter.META,
    Kind.SNAPSHOT: Letter.SNAPSHOT,
    Kind.CHECKPOINT: Letter.CHECKPOINT,
    Kind.CONNECTION: Letter.CONNECTION,
    Kind.CALLS: Letter.CALLS,
    Kind.WIRE: Letter.WIRE,
    Kind.INPUT: Letter.INPUT_AS_IS,
}
LETTERS: Final = {
    kind: bytes(letter for letter, of in _KINDS.items() if of is kind) for kind in Kind
}
"""The letters of each kind."""

_landmark_kinds = {Letter.META: Kind.META.value, Letter.SNAPSHOT: Kind.SNAPSHOT.value}
_LANDMARK_LETTERS = bytes(_landmark_kinds)
_all_letters = bytes(_KINDS)
_open_letters = _all_letters.translate(None, CLOSED)
_PUBLIC_LETTERS, _RESTRICTED_LETTERS = LETTERS[Kind.PUBLIC], LETTERS[Kind.RESTRICTED]
_NUMBERS = struct.Struct(">4s7s5s5s")
_digits = struct.Struct(">4sBHIBIBI").unpack_from
"""The same, in numbers that C reads: they are put together faster than bytes are taken apart."""

_MOST_US = 1 << 56
_NO_EPOCH = bytes(4)

_SALT_BYTES = 16
_CLOSED_LENGTH = struct.Struct(">I")
_FORMS = (DEFLATED, PLAIN, DEFLATED_APART, PLAIN_APART)
_FORMS_APART = (DEFLATED_APART, PLAIN_APART)
HASHED_WHOLE: Final = bytes((DEFLATED, PLAIN))
"""The forms of groups without a closed section: nearly all."""

LONGEST_HEADER: Final = 2 + MOST_RECORDS + _NUMBERS.size + _SALT_BYTES + _CLOSED_LENGTH.size
"""Bytes of a header at most, without the lengths of the parts."""

# A window of 8 KiB holds the dictionary. Each group begins with a copy of one compressor, and a
# copy costs as much as its tables are large.
_WINDOW = 13
_MEMORY = 5
_LEVEL = 3
_MOST_BITS = -15  # raw deflate of any window
_new_deflater = zlib.compressobj(_LEVEL, zlib.DEFLATED, -_WINDOW, _MEMORY, zdict=DICTIONARY).copy

_COPY = bytes((Letter.COPY,))

_plain = re.compile(r"[ !#-\[\]-~]*").fullmatch
_eight_digits = re.compile(r"[0-9a-f]{8}").fullmatch
_encoder = msgspec.json.Encoder(order="deterministic")


class InvalidGroup(ValueError):
    """These bytes are no group. The line says what is wrong with them."""


# Packing.


class PackedGroup(NamedTuple):
    """A group ready to be stored: ``n`` is the number of its last record."""

    n: int
    table: str
    body: bytes


class _Outgoing(msgspec.Struct, frozen=True):
    """``records.Envelope`` whose data is encoded already."""

    id: str
    source: str
    type: str
    time: str
    subject: str | UnsetType
    data: msgspec.Raw
    specversion: str = "1.0"


class _OpenGroup:
    """A group that takes further records, of no other round than ``round`` once that is known.

    ``now_us`` is the time of its last part that has one.
    """

    __slots__ = (
        *("before", "epoch", "head", "kinds", "now_us", "parts", "room", "round", "t_us", "table"),
    )

    def __init__(self, table: str, epoch: str, head: Head, of: str | None) -> None:
        self.table = table
        self.epoch = epoch
        self.round = of
        self.head = head
        self.before = Counters(head.counters.public, head.counters.restricted)
        self.t_us: int | None = None
        self.now_us = 0
        self.kinds = bytearray()
        self.parts: list[bytes] = []
        self.room = FULL_BYTES

    def takes(self, table: str, epoch: str) -> bool:
        """Return True if records of this table, and of this epoch, may follow; an event is two."""
        return (
            table == self.table
            and epoch == self.epoch
            and self.room > 0
            and len(self.kinds) <= MOST_RECORDS - 2
        )

    def add(self, letter: int, part: bytes) -> None:
        self.kinds.append(letter)
        self.parts.append(part)
        self.room -= len(part)

    def time(self, t_us: int, *, closed: bool = False) -> bytes:
        """Return the beginning of a part of this time: how much later it is than the last one.

        A ``closed`` part leaves that time as it is: what stands outside is read without it.
        """
        if t_us == self.now_us and self.t_us is not None:
            return b"\0"
        if self.t_us is None:
            self.t_us = self.now_us = t_us if 0 <= t_us < _MOST_US else 0
        later = t_us - self.now_us
        if not closed:
            self.now_us = t_us
        return _leb128(later << 1 if later >= 0 else ~(later << 1))

    def body(self) -> bytes:
        """Return the group as the file holds it."""
        epoch = _epoch_bytes(self.epoch) or _NO_EPOCH
        header = Header(DEFLATED, bytes(self.kinds), epoch, self.t_us or 0, self.before, 0, 0)
        return pack_group(header, self.parts)


_SALTS_AT_ONCE = 256
_salts: list[bytes] = []


def new_salt() -> bytes:
    """Return random bytes that were given to nothing else: many are fetched at a time."""
    try:
        return _salts.pop()
    except IndexError:
        fetched = urandom(_SALTS_AT_ONCE * _SALT_BYTES)
        starts = range(0, len(fetched), _SALT_BYTES)
        _salts.extend(fetched[at : at + _SALT_BYTES] for at in starts)
        return _salts.pop()


def pack_group(header: Header, parts: Sequence[bytes]) -> bytes:
    """Return a group of these parts, as the file holds it: deflated if that is shorter.

    ``header`` gives it all but its form, its salts and the lengths.
    """
    shut: list[bytes] = []
    if header.has(CLOSED):
        letters = header.kinds.replace(_COPY, b"")
        shut = [part for letter, part in zip(letters, parts, strict=True) if letter in CLOSED]
        parts = [part for letter, part in zip(letters, parts, strict=True) if letter not in CLOSED]
    form, packed = _packed(b"".join(parts))
    closed = length = b""
    if shut:
        content = b"".join(shut)
        closed_form, closed = _packed(content)
        if closed_form != form:  # one form for both
            form, packed, closed = PLAIN, b"".join(parts), content
        form = DEFLATED_APART if form == DEFLATED else PLAIN_APART
        closed = b"".join((new_salt(), *map(_length, map(len, shut)), closed))
        length = _CLOSED_LENGTH.pack(len(closed))
    return b"".join(
        (
            bytes((form, len(header.kinds))),
            header.kinds,
            header.epoch,
            header.t_us.to_bytes(7, "big"),
            header.before.public.to_bytes(5, "big"),
            header.before.restricted.to_bytes(5, "big"),
            new_salt(),
            length,
            *map(_length, map(len, parts)),
            packed,
            closed,
        )
    )


def _packed(content: bytes) -> tuple[int, bytes]:
    """Return the form in which this is shorter, and what it is then."""
    if len(content) <= MOST_PACKED_BYTES:
        deflater = _new_deflater()
        deflated = deflater.compress(content) + deflater.flush()
        if len(deflated) < len(content):
            return DEFLATED, deflated
    return PLAIN, content


def hashed_bytes(body: bytes) -> bytes:
    """Return what a group's hash covers: of its closed section the SHA-256, all else as it is.

    Of what is no group it is any bytes that no group gives.
    """
    if body[:1] in HASHED_WHOLE:
        return body
    try:
        start = read_header(body).closed_at(len(body))
    except InvalidGroup:
        return b"\0" + body
    return body[:start] + sha256(body[start:]).digest()


def open_bytes(body: bytes) -> tuple[bytes, bytes]:
    """Return a group without its closed section, and that section; it is empty where it has none.

    Raises:
        InvalidGroup: it is of an unknown form, or cut short.
    """
    start = read_header(body).closed_at(len(body))
    return body[:start], body[start:]


class Packing:
    """Packs batches: records of one table that follow one another share a group.

    ``head`` returns a table's numbers, which are then increased.

    Attributes:
        last_n: the number of the last record.
        groups: the groups that are packed.
        landmarks: table, kind and number of each, as ``landmarks`` finds them.
        devices: the last event number of each device.
        of_rounds: events that the index of rounds may lead to, each with the number of its
            restricted copy.
    """

    def __init__(self, last_n: int, head: Callable[[str], Head]) -> None:
        self.last_n = last_n
        self.groups: list[PackedGroup] = []
        self.landmarks: list[tuple[str, str, int]] = []
        self.devices: list[tuple[str, str, int]] = []
        self.of_rounds: list[tuple[EventEntry, int]] = []
        self._head = head
        self._open: _OpenGroup | None = None

    def close(self) -> None:
        """Pack what was added. Further records begin another group."""
        if self._open is not None:
            self.groups.append(PackedGroup(self.last_n, self._open.table, self._open.body()))
            self._open = None

    def add(self, batch: Batch) -> CommitResult:
        """Number a batch's records and give its events their ids. This runs for every card."""
        first_n, epoch = self.last_n + 1, batch.epoch
        ids: dict[int, EventIds] = {}
        events: list[StoredEvent] = []
        of, changes = _rounds_of(batch.entries)
        group = self._open_for(of)
        for handle, entry in enumerate(batch.entries):
            if type(entry) is DeviceEntry:
                self.devices.append((entry.table, entry.device_id, entry.seq))
                continue
            if handle in changes:
                of, group = changes[handle], None
            apart = type(entry) is Entry and entry.kind in _APART
            if group is None or apart or not group.takes(entry.table, epoch):
                self.close()
                group = self._open = _OpenGroup(entry.table, epoch, self._head(entry.table), of)
            if type(entry) is EventEntry:
                ids[handle] = self._add_event(group, entry, events)
                continue
            self.last_n += 1
            if type(entry) is ChunkEntry:
                _add_chunk(group, entry)
            elif type(entry) is Entry:
                self._add_entry(group, entry)
            if apart:
                group = None
        return CommitResult(first_n, self.last_n, ids, events)

    def _open_for(self, of: str | None) -> _OpenGroup | None:
        """Return the open group if it takes records of this round; None: of no round."""
        group = self._open
        if group is None or of is None:
            return group
        if group.round is None:
            group.round = of
        return group if group.round == of else None

    def _add_entry(self, group: _OpenGroup, entry: Entry) -> None:
        letter, part, t_us = _AS_IS[entry.kind], entry.body, entry.t_us
        if letter == Letter.INPUT_AS_IS and t_us is not None:
            group.head.t_us = t_us
            stripped = _stripped_input(part, t_us)
            if stripped is not None:
                part = group.time(t_us, closed=entry.closed) + stripped
                letter = Letter.INPUT
            if entry.closed:
                letter = _CLOSED_AS[letter]
        elif letter in _LANDMARK_LETTERS and entry.table != JOURNAL:
            self.landmarks.append((entry.table, entry.kind.value, self.last_n))
        elif entry.connection is not None:
            group.head.connection = entry.connection
        group.add(letter, part)

    def _add_event(
        self, group: _OpenGroup, event: EventEntry, events: list[StoredEvent]
    ) -> EventIds:
        """Add an event's copies: one, or two which share their part if their data is the same."""
        table, data, secret = event.table, event.public, event.restricted
        encoded = encode_event(event, group.epoch, group.head.counters)
        part = encoded.part
        if event.type in TYPES:
            self.of_rounds.append((event, self.last_n + (1 if data is None else 2)))
        if encoded.public is not None:
            self.last_n += 1
            events.append(StoredEvent(self.last_n, table, Audience.PUBLIC, encoded.public))
            if part is None:
                group.add(Letter.PUBLIC_AS_IS, encoded.public)
            else:
                group.add(Letter.PUBLIC, b"%b%b%b" % (group.time(event.t_us), part, data or b""))
        self.last_n += 1
        events.append(StoredEvent(self.last_n, table, Audience.RESTRICTED, encoded.restricted))
        if data == secret and part is not None:
            group.kinds.append(Letter.COPY)
            return encoded.ids
        letter, content = Letter.RESTRICTED_AS_IS, encoded.restricted
        if part is not None:
            time = group.time(event.t_us, closed=event.closed)
            letter, content = Letter.RESTRICTED, b"%b%b%b" % (time, part, secret)
        group.add(_CLOSED_AS[letter] if event.closed else letter, content)
        return encoded.ids


def _rounds_of(entries: Sequence[AnyEntry]) -> tuple[str | None, Mapping[int, str]]:
    """Return the round of a batch, and the entries at which records of another one begin.

    Records of a round are its events, and the input before them. Bytes that brought inputs of
    several rounds are of none of them. This runs for every card.
    """
    subjects = {entry.subject for entry in entries if type(entry) is EventEntry}
    rounds = [of for of in subjects if of is not None and round_id(of) is not None]
    if len(rounds) < 2:
        return (rounds[0] if rounds else None), _NO_CHANGES
    found: dict[int, str] = {}
    began, last = 0, SEVERAL_ROUNDS
    for handle, entry in enumerate(entries):
        if type(entry) is Entry and entry.kind is Kind.INPUT:
            began = handle
        elif type(entry) is EventEntry and (of := entry.subject) in rounds and of != last:
            last = found[began] = of
    return SEVERAL_ROUNDS, found


_NO_CHANGES: Mapping[int, str] = {}


class EncodedEvent(NamedTuple):
    """An event with its ids: the envelopes of its copies. ``public`` is None if it has none.

    ``part`` is what stands in a group between the time and the data; None if the envelopes stand
    there as they are.
    """

    ids: EventIds
    public: bytes | None
    restricted: bytes
    part: bytes | None


def encode_event(event: EventEntry, epoch: str, counters: Counters) -> EncodedEvent:
    """Give an event its next ids; ``counters``, its table's, are increased."""
    table, data = event.table, event.public
    around = _around(table, epoch)
    type_, before_data = _as_in_json(event.type), _before_data(event.subject)
    if around is None or type_ is None or before_data is None or not 0 <= event.t_us < _MOST_US:
        return _encode_escaped(event, epoch, counters)
    start, source = around
    behind_id = b"%b%b%b%b" % (source, type_, _time_in_json(event.t_us), before_data)
    public, public_id = None, None
    if data is not None:
        counters.public = number = counters.public + 1
        public_id = f"{table}/p{number}"
        public = b'%bp%d%b%b,"specversion":"1.0"}' % (start, number, behind_id, data)
    counters.restricted = number = counters.restricted + 1
    return EncodedEvent(
        EventIds(public_id, f"{table}/r{number}"),
        public,
        b'%br%d%b%b,"specversion":"1.0"}' % (start, number, behind_id, event.restricted),
        b'%b"%b' % (type_, before_data),
    )


def _encode_escaped(event: EventEntry, epoch: str, counters: Counters) -> EncodedEvent:
    """Encode an event with a name in which JSON escapes something."""
    table, public, public_id = event.table, None, None
    source = source_of(epoch, table)
    if event.public is not None:
        counters.public += 1
        public_id = f"{table}/p{counters.public}"
        public = _envelope(event, source, public_id, event.public)
    counters.restricted += 1
    restricted_id = f"{table}/r{counters.restricted}"
    restricted = _envelope(event, source, restricted_id, event.restricted)
    return EncodedEvent(EventIds(public_id, restricted_id), public, restricted, None)


def _envelope(event: EventEntry, source: str, id_: str, data: bytes) -> bytes:
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


@lru_cache(1 << 14)
def _around(table: str, epoch: str) -> tuple[bytes, bytes] | None:
    """Return an envelope's start, up to the audience's letter, and from the id to the type.

    None if JSON escapes something in the table's name, or a group has no room for the epoch.
    """
    name = _as_in_json(table)
    if name is None or _epoch_bytes(epoch) is None:
        return None
    source = b'","source":"/journal/%b/table/%b","type":"' % (epoch.encode(), name)
    return b'{"id":"%b/' % name, source


@lru_cache(1 << 14)
def _as_in_json(name: str) -> bytes | None:
    """Return a name as JSON has it between quotes; None if something in it is escaped."""
    return name.encode() if _plain(name) else None


@lru_cache(1 << 12)
def _before_data(subject: str | None) -> bytes | None:
    if subject is None:
        return b',"data":'
    name = _as_in_json(subject)
    return None if name is None else b',"subject":"%b","data":' % name


@lru_cache(64)
def _time_in_json(t_us: int) -> bytes:
    """Return the part of an envelope with the time. All events of an input share it."""
    return f'","time":"{utc(t_us)}"'.encode()


@lru_cache(64)
def _epoch_bytes(epoch: str) -> bytes | None:
    return bytes.fromhex(epoch) if _eight_digits(epoch) else None


def _add_chunk(group: _OpenGroup, chunk: ChunkEntry) -> None:
    group.add(
        Letter.FROM_SHOE if chunk.direction is Direction.FROM_SHOE else Letter.TO_SHOE,
        b"%b%b%b%b"
        % (group.time(chunk.t_us), _length(chunk.connection), _leb128(chunk.offset), chunk.data),
    )


def _stripped_input(body: bytes, t_us: int) -> bytes | None:
    """Return an input without its time; None if it is to stand as it is."""
    if HELLO in body or body.startswith(FAULT_INPUT) or not body.startswith(_INPUT):
        return None
    stamp = _stamp(t_us)
    end = body.find(b'"', len(_INPUT))
    rest = end + len(stamp)
    if end < 0 or not body.startswith(stamp, end) or body[rest : rest + 1] not in (b",", b"}"):
        return None
    return b'%b"%b' % (body[len(_INPUT) : end], body[rest:])


_INPUT = b'{"input":"'


@lru_cache(64)
def _stamp(t_us: int) -> bytes:
    """Return the part of an input with its time."""
    return b'","t_us":%d' % t_us


def _leb128(value: int) -> bytes:
    """Return a number in as many bytes as it needs: seven bits each, the lowest first."""
    if value < 0x80:
        return _BYTE[value]
    digits = bytearray()
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


_length = lru_cache(1 << 10)(_leb128)
"""The same for a part's length: most are one of a few."""

_BYTE = tuple(bytes((value,)) for value in range(256))


class EncodedRecord(msgspec.Struct, frozen=True):
    """A record's exact bytes, before it is stored."""

    table: str
    kind: str
    body: bytes


class EncodedBatch(NamedTuple):
    """The records that a batch is stored as, and the ids of its events by their handles."""

    records: list[EncodedRecord]
    ids: dict[int, EventIds]


def encode_batch(batch: Batch, counters: Callable[[str], Counters]) -> EncodedBatch:
    """Give the events their ids and every record its exact bytes.

    ``counters`` returns the counters of a table, which are then increased.
    """
    records: list[EncodedRecord] = []
    ids: dict[int, EventIds] = {}
    for handle, entry in enumerate(batch.entries):
        if isinstance(entry, EventEntry):
            encoded = encode_event(entry, batch.epoch, counters(entry.table))
            ids[handle] = encoded.ids
            if encoded.public is not None:
                records.append(EncodedRecord(entry.table, Kind.PUBLIC.value, encoded.public))
            records.append(EncodedRecord(entry.table, Kind.RESTRICTED.value, encoded.restricted))
        elif isinstance(entry, ChunkEntry):
            records.append(EncodedRecord(entry.table, Kind.WIRE.value, _wire_body(entry)))
        elif isinstance(entry, Entry):
            records.append(EncodedRecord(entry.table, entry.kind.value, entry.body))
    return EncodedBatch(records, ids)


def _wire_body(chunk: ChunkEntry) -> bytes:
    return Wire(
        connection=chunk.connection,
        direction=chunk.direction,
        offset=chunk.offset,
        t_us=chunk.t_us,
        data=chunk.data,
    ).to_bytes()


# Unpacking.


class Header(NamedTuple):
    """The header of a group: its records' letters, and the table's events before it."""

    form: int
    kinds: bytes
    epoch: bytes
    t_us: int
    before: Counters
    at: int
    """The place behind it, where the lengths begin."""
    closed: int
    """Bytes of the closed section; 0 without one."""

    @property
    def records(self) -> int:
        """Return the number of records."""
        return len(self.kinds)

    def has(self, letters: bytes) -> bool:
        """Return True if a record has one of these letters."""
        return len(self.kinds.translate(None, letters)) < len(self.kinds)

    def closed_at(self, length: int) -> int:
        """Return the place of the closed section in a group of this length, or its end.

        Raises:
            InvalidGroup: the group is shorter than that section.
        """
        if length - self.closed < self.at:
            raise InvalidGroup("it is cut short")
        return length - self.closed


def landmarks(table: str, n: int, header: Header) -> list[tuple[str, str, int]]:
    """Return table, kind and number of each landmark in the group that ends with record ``n``.

    These are what a restart looks for, a table's ``meta`` and ``snapshot`` records. Where they
    stand is kept beside the groups. The journal's own chain is so short that it needs none.
    """
    if table == JOURNAL or not header.has(_LANDMARK_LETTERS):
        return []
    first = n - header.records + 1
    return [
        (table, _landmark_kinds[letter], first + at)
        for at, letter in enumerate(header.kinds)
        if letter in _LANDMARK_LETTERS
    ]


def read_header(body: bytes) -> Header:
    """Read a group's header; ``body`` may be its beginning alone.

    Raises:
        InvalidGroup: it is of an unknown form, or cut short.
    """
    if len(body) < 2:
        raise InvalidGroup("it is cut short")
    form, end = body[0], 2 + body[1]
    if form not in _FORMS:
        raise InvalidGroup(f"its form, {form}, is not known")
    kinds = body[2:end]
    at = end + _NUMBERS.size + _SALT_BYTES
    if not kinds or len(body) < at:
        raise InvalidGroup("it is cut short")
    closed = 0
    if form in _FORMS_APART:
        if len(body) < at + _CLOSED_LENGTH.size:
            raise InvalidGroup("it is cut short")
        (closed,) = _CLOSED_LENGTH.unpack_from(body, at)
        at += _CLOSED_LENGTH.size
    if kinds.translate(None, _all_letters if closed else _open_letters):
        raise InvalidGroup("it has a record of an unknown kind")
    epoch, t_6, t_4, t_0, public, public_0, restricted, restricted_0 = _digits(body, end)
    before = Counters(public << 32 | public_0, restricted << 32 | restricted_0)
    t_us = t_6 << 48 | t_4 << 32 | t_0
    return Header(form, kinds, epoch, t_us, before, at, closed)


@lru_cache(1 << 12)
def count_events(kinds: bytes) -> tuple[int, int]:
    """Return how many of a group's records are public events, and how many restricted ones."""
    rest = len(kinds.translate(None, _PUBLIC_LETTERS))
    return len(kinds) - rest, len(kinds) - len(kinds.translate(None, _RESTRICTED_LETTERS))


def timed_first(kinds: bytes) -> int | None:
    """Return the place of the record whose time is the header's; None where no record has one."""
    return next((at for at, letter in enumerate(kinds) if letter in _TIMED), None)


def unpack_group(  # noqa: PLR0913 - all of it by name
    table: str,
    body: bytes,
    wanted: bytes | None = None,
    *,
    header: Header | None = None,
    places: Collection[int] | None = None,
    whole: bool = True,
) -> Iterator[tuple[int, str, bytes]]:
    """Yield place (from 0), kind and body of a group's records, of those letters that are wanted.

    With ``places`` only the records at these; ``header`` is the group's, if it was read already.
    ``whole`` false: its closed section is not there, and records in it are passed over.

    Raises:
        InvalidGroup: it is of an unknown form, cut short, or does not unpack to what it says.
    """
    header = read_header(body) if header is None else header
    if not whole:
        wanted = (_all_letters if wanted is None else wanted).translate(None, CLOSED)
    try:
        unpacked = _unpacked(body, header, whole=whole)
        yield from _records(table, header, unpacked, wanted, places)
    except (IndexError, OverflowError, struct.error):
        raise InvalidGroup("its parts are not what its header says") from None


def event_contents(
    body: bytes, header: Header, places: Iterable[int]
) -> Iterator[tuple[int, bytes]]:
    """Yield place and content of the events at these places: their JSON without id and time.

    An event that stands in the group as it is comes whole. Whoever lists a million rounds needs no
    more of them than this.

    Raises:
        InvalidGroup: it is cut short, or does not unpack to what its header says.
    """
    content, lengths = _unpacked(body, header)
    ends = [0, *accumulate(lengths)]
    kinds = header.kinds
    for place in places:
        letter = kinds[place]
        at = place - kinds.count(Letter.COPY, 0, place + 1)
        part = content[ends[at] : ends[at + 1]]
        if letter in _STRIPPED_EVENTS:
            start = 0
            while start < len(part) and part[start] >= 0x80:
                start += 1
            part = b'{"type":"%b}' % part[start + 1 :]
        yield place, part


def packed_parts(body: bytes, header: Header) -> bytes:
    """Return all of a group's parts, one behind another, to be searched.

    Raises:
        InvalidGroup: it cannot be unpacked.
    """
    if header.closed:
        return _unpacked(body, header)[0]
    lengths = _lengths(header.records - header.kinds.count(Letter.COPY))(body, header.at)
    if lengths is None:
        raise InvalidGroup("it is cut short")
    return _content(header.form, body[lengths.end() :], None)


@lru_cache(MOST_RECORDS)
def _lengths(count: int) -> Callable[[bytes, int], re.Match[bytes] | None]:
    """Return what finds the end of the lengths of so many parts."""
    return re.compile(rb"(?:[\x80-\xff]{0,9}[\x00-\x7f]){%d}" % count, re.DOTALL).match


def split_group(body: bytes, header: Header) -> Iterator[bytes]:
    """Yield the parts of a group, in order.

    Raises:
        InvalidGroup: it is cut short, or does not unpack to what its header says.
    """
    content, lengths = _unpacked(body, header)
    start = 0
    for end in accumulate(lengths):
        yield content[start:end]
        start = end


def _unpacked(body: bytes, header: Header, *, whole: bool = True) -> tuple[bytes, list[int]]:
    """Return what a group's parts hold, one behind another, and their lengths.

    Of a group that is not ``whole`` the closed section is not there: its parts are empty.
    """
    letters = header.kinds.replace(_COPY, b"")
    if not header.closed:
        return _section(body, header.at, header.form, len(letters))
    form = DEFLATED if header.form == DEFLATED_APART else PLAIN
    start = header.closed_at(len(body)) if whole else len(body)
    shut = [letter in CLOSED for letter in letters]
    sections = [_parts_of(body[:start], header.at, form, shut.count(False))]
    if whole:
        sections.append(_parts_of(body[start:], _SALT_BYTES, form, shut.count(True)))
    else:
        sections.append(repeat(b""))
    parts = [next(sections[is_shut]) for is_shut in shut]
    return b"".join(parts), list(map(len, parts))


def _parts_of(body: bytes, at: int, form: int, parts: int) -> Iterator[bytes]:
    """Yield the parts of a section whose lengths begin at this place."""
    content, lengths = _section(body, at, form, parts)
    start = 0
    for end in accumulate(lengths):
        yield content[start:end]
        start = end


def _section(body: bytes, at: int, form: int, parts: int) -> tuple[bytes, list[int]]:
    """Return what so many parts hold whose lengths begin at this place, and their lengths."""
    lengths = []
    try:
        for _ in range(parts):
            length = body[at]
            at += 1
            if length >= 0x80:
                high = body[at]
                if high < 0x80:  # two bytes, as most of these
                    length += (high - 1) << 7
                    at += 1
                else:
                    length, at = _read_leb128(body, at - 1)
            lengths.append(length)
    except IndexError:
        raise InvalidGroup("it is cut short") from None
    return _content(form, body[at:], sum(lengths)), lengths


class _Step(NamedTuple):
    """The unpacking of one record: ``number`` is how many events of its kind there are up to it."""

    place: int
    letter: int
    kind: str
    has_part: bool
    has_time: bool
    is_closed: bool
    is_wanted: bool
    number: int


@lru_cache(1 << 8)
def _steps(kinds: bytes, wanted: bytes | None) -> tuple[_Step, ...]:
    """Return how the records of all groups with these letters are unpacked.

    Raises:
        InvalidGroup: a copy follows no public event.
    """
    steps: list[_Step] = []
    for place, letter in enumerate(kinds):
        kind = _KINDS[letter]
        if letter == Letter.COPY and not (place and kinds[place - 1] == Letter.PUBLIC):
            raise InvalidGroup("a copy does not follow a public event")
        before = kinds[: place + 1]
        steps.append(
            _Step(
                place=place,
                letter=letter,
                kind=kind.value,
                has_part=letter != Letter.COPY,
                has_time=letter in _TIMED,
                is_closed=letter in CLOSED,
                is_wanted=wanted is None or letter in wanted,
                number=count_events(before)[kind is Kind.RESTRICTED],
            )
        )
    return tuple(steps)


def _records(
    table: str,
    header: Header,
    unpacked: tuple[bytes, list[int]],
    wanted: bytes | None,
    places: Collection[int] | None,
) -> Iterator[tuple[int, str, bytes]]:
    content, lengths = unpacked
    ends = accumulate(lengths)
    envelopes = _envelopes(table, header.epoch)
    now_us, begin, start, end = header.t_us, 0, 0, 0
    last = max(places) if places else header.records
    for step in _steps(header.kinds, wanted):
        place, letter, kind, has_part, has_time, is_closed, is_wanted, number = step
        if place > last:
            return
        at_us = now_us
        if has_part:
            begin, end = end, next(ends)
            start = begin
            if has_time and (begin < end or not is_closed):
                later, start = _read_leb128(content, begin)
                if later:
                    at_us += ~(later >> 1) if later & 1 else later >> 1
                if not is_closed:
                    now_us = at_us
        if is_wanted and (places is None or place in places):
            if start > end:
                raise InvalidGroup("its parts are not what its header says")
            before = header.before.public if kind == _PUBLIC else header.before.restricted
            part = content[start:end]
            yield place, kind, _body_of(letter, part, at_us, envelopes, before + number)


def _body_of(
    letter: int, part: bytes, now_us: int, envelopes: tuple[bytes, bytes, bytes], number: int
) -> bytes:
    """Return the body that a part gives at this time, an event's with this number."""
    if letter in _STRIPPED_INPUTS:
        what, _, rest = part.partition(b'"')
        return b'{"input":"%b","t_us":%d%b' % (what, now_us, rest)
    if letter in _STRIPPED_EVENTS:
        type_, _, rest = part.partition(b'"')
        start = envelopes[letter != Letter.PUBLIC]
        time = _time_in_json(now_us)
        return b'%b%d%b%b%b%b,"specversion":"1.0"}' % (
            *(start, number, envelopes[2], type_, time, rest),
        )
    if letter in (Letter.FROM_SHOE, Letter.TO_SHOE):
        connection, at = _read_leb128(part, 0)
        offset, at = _read_leb128(part, at)
        direction = b"<" if letter == Letter.FROM_SHOE else b">"
        return WIRE_HEAD.pack(connection, offset, now_us, direction) + part[at:]
    return part


@lru_cache(1 << 10)
def _envelopes(table: str, epoch: bytes) -> tuple[bytes, bytes, bytes]:
    """Return how a table's envelopes begin, public and restricted, and what is behind their ids."""
    name = table.encode()
    source = b'","source":"/journal/%b/table/%b","type":"' % (epoch.hex().encode(), name)
    return b'{"id":"%b/p' % name, b'{"id":"%b/r' % name, source


_PUBLIC: Final = Kind.PUBLIC.value
_STRIPPED_INPUTS = bytes((Letter.INPUT, Letter.CLOSED_INPUT))
_STRIPPED_EVENTS = bytes((Letter.PUBLIC, Letter.RESTRICTED, Letter.COPY, Letter.CLOSED_RESTRICTED))
_TIMED = bytes(
    (
        *(Letter.FROM_SHOE, Letter.TO_SHOE, Letter.INPUT, Letter.PUBLIC, Letter.RESTRICTED),
        *(Letter.CLOSED_INPUT, Letter.CLOSED_RESTRICTED),
    )
)


def _content(form: int, packed: bytes, length: int | None) -> bytes:
    """Return the parts of a group, one behind another; they must have this length, if given."""
    most = MOST_PACKED_BYTES if length is None else length
    if form == PLAIN:
        content = packed
    elif most > MOST_PACKED_BYTES:
        raise InvalidGroup("it unpacks to more than any group has")
    else:
        inflater = zlib.decompressobj(_MOST_BITS, DICTIONARY)
        try:
            content = inflater.decompress(packed, most + 1)
            # a content of this length may leave the end of the stream unread
            whole = inflater.eof and not inflater.unused_data
        except zlib.error:
            raise InvalidGroup("it cannot be unpacked") from None
        if not whole:
            raise InvalidGroup("it is cut short, or unpacks to more than its header says")
    if length is not None and len(content) != length:
        raise InvalidGroup("its parts are not as long as its header says")
    return content


def _read_leb128(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at this place, and the place behind it."""
    value = data[at]
    if value < 0x80:
        return value, at + 1
    value &= 0x7F
    for shift in range(7, 70, 7):
        at += 1
        digit = data[at]
        value |= (digit & 0x7F) << shift
        if digit < 0x80:
            return value, at + 1
    raise InvalidGroup("a number in it has no end")
