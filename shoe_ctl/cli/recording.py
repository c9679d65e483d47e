"""Recordings of events: a file of JSON lines, a journal or an export of one.

In: a path, or the name of a recording that comes with the product. Out: its events of one stream.
Must not know: where they are published.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple, cast

import msgspec

from shoe_ctl.errors import EnvironmentFault, InputRefused
from shoe_ctl.records import Audience, event_id

SHIPPED = Path(__file__).parents[1] / "recordings"

_GZIP = b"\x1f\x8b"
_SQLITE = b"SQLite format 3\0"
_LONGEST_LINE = 1 << 20


class _Attributes(msgspec.Struct):
    """The part of an event's envelope that is read."""

    id: str
    source: str
    type: str
    time: str


_attributes = msgspec.json.Decoder(_Attributes)


class RecordedEvent(NamedTuple):
    """An event as it was recorded: its table, its time (RFC 3339) and the envelope's JSON."""

    id: str
    table: str
    time: str
    body: bytes


class Contents(NamedTuple):
    """The contents of a recording: how many events, of which tables, with which ids."""

    events: int
    tables: frozenset[str]
    ids: frozenset[str]


def shipped() -> list[str]:
    """Return the names of the recordings that come with the product."""
    return sorted(path.stem for path in SHIPPED.glob("*.jsonl"))


class Recording:
    """A recording's events for one audience; ``table`` narrows them to one table.

    Raises:
        EnvironmentFault: the file is not there or cannot be read.
        InputRefused: it is neither events nor a journal.
    """

    def __init__(self, name: str, audience: Audience, table: str | None = None) -> None:
        self.path = SHIPPED / f"{name}.jsonl" if name in shipped() else Path(name)
        self._audience = audience
        self._table = table
        try:
            with self.path.open("rb") as file:
                self._is_gzip = file.read(len(_GZIP)) == _GZIP
            with self._open() as file:
                self._is_journal = file.read(len(_SQLITE)) == _SQLITE
        except OSError as error:
            raise EnvironmentFault(self._not_read(name, error)) from None
        except (EOFError, zlib.error):
            raise InputRefused(f"{self.path}: its compressed data is damaged") from None

    def _open(self) -> IO[bytes]:
        return cast("IO[bytes]", gzip.open(self.path)) if self._is_gzip else self.path.open("rb")

    def _not_read(self, name: str, error: OSError) -> str:
        why = error.strerror or str(error)
        if isinstance(error, FileNotFoundError) and "/" not in name and "." not in name:
            return f"no recording {name!r}: give a file, or one of: {', '.join(shipped())}"
        return f"{self.path}: {why}"

    def contents(self) -> Contents:
        """Read all of it once; return what is in it.

        Raises:
            InputRefused: a line is no event.
            EnvironmentFault: it cannot be read.
        """
        found = [(event.table, event.id) for event in self]
        return Contents(
            len(found), frozenset(table for table, _ in found), frozenset(i for _, i in found)
        )

    def __iter__(self) -> Iterator[RecordedEvent]:
        for event in self._from_journal() if self._is_journal else self._from_lines():
            if self._table in (None, event.table):
                yield event

    def _from_journal(self) -> Iterator[RecordedEvent]:
        from shoe_ctl.cli.common import explain_damage
        from shoe_ctl.journal.reader import Reader
        from shoe_ctl.journal.record_format import Kind

        kind = Kind.PUBLIC if self._audience is Audience.PUBLIC else Kind.RESTRICTED
        with explain_damage(self.path), Reader.open(self.path) as reader:
            for record in reader.records(kinds=(kind,)):
                yield _event(record.body, f"{self.path}: record {record.n}")

    def _from_lines(self) -> Iterator[RecordedEvent]:
        try:
            with self._open() as file:
                number = 0
                while line := file.readline(_LONGEST_LINE):
                    number += 1
                    event = _event(line.rstrip(b"\r\n"), f"{self.path}: line {number}")
                    if event_id(event.id).audience is self._audience:
                        yield event
        except OSError as error:
            raise EnvironmentFault(f"{self.path}: {error.strerror or error}") from None
        except (EOFError, zlib.error):
            raise InputRefused(f"{self.path}: its compressed data is damaged") from None


def _event(body: bytes, where: str) -> RecordedEvent:
    try:
        found = _attributes.decode(body)
        table = event_id(found.id).table
    except ValueError as error:
        raise InputRefused(f"{where}: expected an event as a JSON object: {error}") from None
    return RecordedEvent(found.id, table, found.time, body)
