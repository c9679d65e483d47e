"""The bytes of every kind of record but inputs and events, and the validation of raw rows.

In: raw chunks, connections, starts, snapshots, rulings; rows as SQLite gives them. Out: bodies, and
the values in them; the first invalid row.
Must not know: inputs, events, profiles, games. Here they are bytes, names and numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from shoe_ctl.errors import JournalError
from shoe_ctl.journal.files import corrupt_journal
from shoe_ctl.records import FORMAT, NO_EPOCH, key_difference


class Kind(Enum):
    """The kind of a record; the value stands in the file."""

    META = "meta"
    SNAPSHOT = "snapshot"
    CHECKPOINT = "checkpoint"
    CONNECTION = "connection"
    WIRE = "wire"
    CALLS = "calls"
    INPUT = "input"
    PUBLIC = "event.public"
    RESTRICTED = "event.restricted"


class Direction(Enum):
    """The direction of raw bytes; the value is the byte in the record."""

    FROM_SHOE = b"<"
    TO_SHOE = b">"


JOURNAL = ""
"""The chain of the journal's own records, checkpoints and rulings: it is no table of play."""


class UnknownFormat(ValueError):
    """A record has a format that this version does not read; the line names the one that does."""


class _FormatHeader(msgspec.Struct):
    """The keys of a record that name its format."""

    format: int | None = None
    software: str | None = None


def _check_format(body: bytes) -> None:
    form = msgspec.json.decode(body, type=_FormatHeader)
    if form.format == FORMAT or form.software is None:
        return  # without the software it is no such record, whatever its format
    named = "without a format number" if form.format is None else f"in format {form.format}"
    raise UnknownFormat(
        f"it is written {named}, by shoe-ctl {form.software}; this version reads format "
        f"{FORMAT}: use shoe-ctl {form.software} for this journal, or begin a new one"
    )


_Body = TypeVar("_Body", bound=msgspec.Struct)


def _decode_body(body: bytes, kind: type[_Body]) -> _Body:
    """Decode a body that has exactly the keys that this version writes."""
    value = msgspec.json.decode(body, type=kind)
    written = _json.encode(value)
    if written != body:
        differs = key_difference(msgspec.json.decode(body), msgspec.json.decode(written))
        if differs is not None:
            raise ValueError(differs)
    return value


WIRE_HEAD = struct.Struct(">QQqc")
"""The head before raw bytes: connection, offset, time, direction."""

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
        """Encode big-endian: connection (8), offset (8), t_us (8), ``<`` or ``>`` (1), bytes."""
        head = WIRE_HEAD.pack(self.connection, self.offset, self.t_us, self.direction.value)
        return head + self.data

    @classmethod
    def from_bytes(cls, body: bytes) -> Wire:
        """Decode a chunk.

        Raises:
            ValueError: too short, or an unknown direction.
        """
        if len(body) < WIRE_HEAD.size:
            raise ValueError(f"a wire record has at least {WIRE_HEAD.size} bytes, not {len(body)}")
        connection, offset, t_us, direction = WIRE_HEAD.unpack_from(body)
        return cls(
            connection=connection,
            direction=Direction(direction),
            offset=offset,
            t_us=t_us,
            data=body[WIRE_HEAD.size :],
        )


class Resume(msgspec.Struct, frozen=True):
    """Where a connection resumes: a device and the last number stored of it."""

    device_id: str
    seq: int


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """The opening of a connection: all that decoding its bytes again needs, but never a key.

    ``authenticated``: its session had keys, so that what was recorded of proofs and MACs is needed
    where they are not at hand.
    """

    number: int
    profile: str
    settings: dict[str, Any]
    resume: tuple[Resume, ...]
    t_us: int
    authenticated: bool = False

    def to_bytes(self) -> bytes:
        """Encode as deterministic JSON."""
        return _json.encode(self)

    @classmethod
    def from_bytes(cls, body: bytes) -> Connection:
        """Decode a connection.

        Raises:
            ValueError: these bytes are not one (msgspec's errors are ValueErrors).
        """
        return _decode_body(body, cls)


class Desired(msgspec.Struct, frozen=True, tag_field="call", tag="desire"):
    """The session was told what the shoe should be: armed for this draw; None is locked."""

    armed: tuple[int, str, int] | None


class Ticked(msgspec.Struct, frozen=True, tag_field="call", tag="tick"):
    """The session was told the time: seconds on its own scale."""

    t_s: float


class Commanded(msgspec.Struct, frozen=True, tag_field="call", tag="command"):
    """The session was given a command: ``query`` with what is asked, ``clear_error`` with a fate.

    No other one changes what a session makes of its bytes.
    """

    command: Literal["query", "clear_error"]
    command_id: int
    of: str | None = None


class Ended(msgspec.Struct, frozen=True, tag_field="call", tag="end"):
    """The session was told that the connection ended: what it gives was left unfinished."""


Call = Desired | Ticked | Commanded | Ended


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """The calls to a connection's session besides bytes, after the chunk that stands before it.

    ``t_us`` (µs since 1970 UTC) is the time of what came of it, or of the chunk behind it.
    """

    connection: int
    t_us: int
    calls: tuple[Call, ...]

    def to_bytes(self) -> bytes:
        """Encode as deterministic JSON."""
        return _json.encode(self)

    @classmethod
    def from_bytes(cls, body: bytes) -> Calls:
        """Decode calls.

        Raises:
            ValueError: these bytes are none (msgspec's errors are ValueErrors).
        """
        return _decode_body(body, cls)


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """The start of a table: the game file's bytes, the settings, the software.

    ``epoch`` (8 hex digits) stands in the source of its events from here on, and ``format`` is the
    form of its records.
    """

    game: bytes
    settings: dict[str, Any]
    software: str
    t_us: int
    epoch: str = NO_EPOCH
    format: int = FORMAT

    def to_bytes(self) -> bytes:
        """Encode as deterministic JSON; the game file in base64."""
        return _json.encode(self)

    @classmethod
    def from_bytes(cls, body: bytes) -> Meta:
        """Decode the record of a start.

        Raises:
            UnknownFormat: they are of another format.
            ValueError: these bytes are not one (msgspec's errors are ValueErrors).
        """
        _check_format(body)
        return _decode_body(body, cls)

    @property
    def rules(self) -> str:
        """Return the SHA-256 of game file and settings, in hex: the same for the same rules."""
        return sha256(_json.encode((self.game, self.settings))).hexdigest()

    def same_rules(self, other: Meta) -> bool:
        """Return True if a table goes on under the same game file and settings."""
        return self.rules == other.rules


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """A person's ruling on the journal: it goes on without a lost part, or with another key."""

    person: str
    position: str
    reason: str
    consented_by: str


class LossRuling(msgspec.Struct, frozen=True, kw_only=True):
    """The journal's own ``meta`` record: a person ruled that it goes on, under a new ``epoch``.

    The ruling is for every table. ``lost`` says in one line each what showed that a part was lost.
    ``unpublished`` are records of a table (first and last, both inclusive) that were stored before
    the loss was known: their events may have used ids, and are never published. ``head_file`` is
    the SHA-256 of the head file that was ruled on, in hex: until it is begun anew it shows the same
    loss, which nobody is asked about again. Empty where there was none.
    """

    epoch: str
    t_us: int
    lost: tuple[str, ...]
    ruling: Ruling
    unpublished: Mapping[str, tuple[int, int]] = {}
    head_file: str = ""

    def to_bytes(self) -> bytes:
        """Encode as deterministic JSON."""
        return _json.encode(self)

    @classmethod
    def from_bytes(cls, body: bytes) -> LossRuling:
        """Decode a ruling.

        Raises:
            ValueError: these bytes are not one (msgspec's errors are ValueErrors).
        """
        return _decode_body(body, cls)


class RecoveredEvents(msgspec.Struct, frozen=True, kw_only=True, tag_field="own", tag="recovered"):
    """The journal's own ``meta`` record right before a ruling: lost events that a sink still had.

    ``lines`` are events of one ``table`` and
    ``stream``, as ``holder`` (a sink's file or stream) has them: they prove what was delivered, not
    what happened. ``not_kept`` are further ones, too many to be kept. ``trouble`` says why not
    all of the holder was read; empty where it was.
    """

    sink: str
    holder: str
    table: str = ""
    stream: str = ""
    lines: tuple[msgspec.Raw, ...] = ()
    not_kept: int = 0
    trouble: str = ""

    def to_bytes(self) -> bytes:
        """Encode as JSON; the lines' bytes stay as they are."""
        return _json.encode(self)

    @classmethod
    def from_bytes(cls, body: bytes) -> RecoveredEvents:
        """Decode recovered events.

        Raises:
            ValueError: these bytes are none (msgspec's errors are ValueErrors).
        """
        return _decode_body(body, cls)

    @staticmethod
    def is_one(body: bytes) -> bool:
        """Return True if this own ``meta`` record is one of recovered events."""
        return body.startswith(b'{"own":"recovered"')


class DaemonStart(msgspec.Struct, frozen=True, kw_only=True, tag_field="own", tag="started"):
    """The journal's own ``meta`` record of a start: what runs, and by which configuration.

    ``software`` and ``python`` are versions, ``files`` is the digest of the installed files (hex).
    ``configuration`` is the effective one, without secrets, ``configuration_sha256`` its digest.
    No replay depends on it.
    """

    t_us: int
    software: str
    python: str
    files: str
    configuration: dict[str, Any]
    configuration_sha256: str

    def to_bytes(self) -> bytes:
        """Encode as deterministic JSON."""
        return _json.encode(self)

    @classmethod
    def from_bytes(cls, body: bytes) -> DaemonStart:
        """Decode a start.

        Raises:
            ValueError: these bytes are none (msgspec's errors are ValueErrors).
        """
        return _decode_body(body, cls)

    @staticmethod
    def is_one(body: bytes) -> bool:
        """Return True if this own ``meta`` record is one of a start."""
        return body.startswith(b'{"own":"started"')


def is_loss_ruling(body: bytes) -> bool:
    """Return True if this own ``meta`` record is a ruling on a lost part."""
    return not body.startswith(b'{"own":')


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a table after ``inputs`` inputs, so that a restart need not run them again.

    It stands after the table's record ``after``, whose chain hash is ``hash`` (hex), with so many
    events told in ``public`` and ``restricted``. ``rules`` and ``software`` say under what; under
    any other it is worth nothing. ``state`` is JSON of this ``format``; ``answers`` are the ids of
    the events, public and restricted, that each remembered command brought about; ``outcomes`` are
    rounds, oldest first, with the ids of the event that told the outcome last.
    """

    after: int
    hash: str
    inputs: int
    public: int
    restricted: int
    rules: str
    software: str
    state: msgspec.Raw
    answers: Mapping[str, tuple[tuple[str | None, str], ...]]
    outcomes: tuple[tuple[str, str | None, str], ...]
    format: int = FORMAT

    def to_bytes(self) -> bytes:
        """Encode as JSON; the state's bytes stay as they are."""
        return _json.encode(self)

    @classmethod
    def from_bytes(cls, body: bytes) -> Snapshot:
        """Decode a snapshot.

        Raises:
            UnknownFormat: they are of another format.
            ValueError: these bytes are not one (msgspec's errors are ValueErrors).
        """
        _check_format(body)
        return _decode_body(body, cls)


Row = tuple[int, str, bytes, bytes]
"""A group as the file holds it: the number of its last record, table, body, hash."""

LONGEST_NAME = 0xFFFF
"""Bytes of a table's name: their length is hashed in two."""

_TYPES = (int, str, bytes, bytes)


class InvalidRow(JournalError):
    """The group with record ``n`` cannot be read; ``table`` is None where that cannot be either."""

    def __init__(self, journal: Path, n: int, table: str | None, why: str = "") -> None:
        what = f"record {n} cannot be read" + (f": {why}" if why else "")
        super().__init__(str(corrupt_journal(journal, what)))
        self.n = n
        self.table = table


def first_invalid(rows: Sequence[Row]) -> int | None:
    """Return the index of the first row that no writer stored; None where each may be a group.

    SQLite holds a column to its type when it is written, and never looks again. Columns are looked
    at whole: there are millions of rows.
    """
    columns = list(zip(*rows, strict=True))
    if not columns:
        return None
    typed = all(set(map(type, of)) == {due} for due, of in zip(_TYPES, columns, strict=True))
    if typed and all(_is_short(name) for name in set(columns[1])):
        return None
    return next(at for at, row in enumerate(rows) if not _is_sound(row))


def _is_sound(row: Row) -> bool:
    return tuple(map(type, row)) == _TYPES and _is_short(row[1])


def _is_short(name: str) -> bool:
    return len(name.encode()) <= LONGEST_NAME
