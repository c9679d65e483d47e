"""Capture files: read them, make them from a journal, make test fixtures of them.

In: bytes of a capture, or a journal. Out: a capture's header and entries; its lines; fixture files.
Must not know: what the bytes mean, how they are shown.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from firmware_proto.capture import (
    LONGEST_LINE,
    Chunk,
    Entry,
    Header,
    is_capture,
    read_entry,
    read_header,
)
from shoe_ctl.errors import EnvironmentFault, InputRefused, JournalError, UsageError

if TYPE_CHECKING:
    from shoe_ctl.journal.reader import Reader

# Reading a capture.

_START = b'{"capture":'
_Read = TypeVar("_Read")


def detect_capture(chunks: Iterable[bytes]) -> tuple[bool, Iterator[bytes]]:
    """Return whether this is a capture, and all its bytes. Reads no more than it needs to know."""
    coming = iter(chunks)
    seen = b""
    for chunk in coming:
        seen += chunk
        if len(seen) >= len(_START) or not _START.startswith(seen):
            break
    return is_capture(seen), chain((seen,) if seen else (), coming)


class Captured:
    """A capture being read. ``header`` is there at once, the entries as the bytes come."""

    def __init__(self, chunks: Iterable[bytes], name: str) -> None:
        self._name = name
        self._lines = enumerate(_lines(chunks, name), start=1)
        self.header: Header = self._next(read_header)

    def entries(self) -> Iterator[Entry]:
        """All that follows the header.

        Raises:
            InputRefused: a line that is none of a capture, with its number.
        """
        for number, text in self._lines:
            yield self._read(number, text, read_entry)

    def _next(self, read: Callable[[str], _Read]) -> _Read:
        number, text = next(self._lines, (1, ""))  # its first line may have been cut off
        return self._read(number, text, read)

    def _read(self, number: int, text: str, read: Callable[[str], _Read]) -> _Read:
        try:
            return read(text)
        except ValueError as error:
            raise InputRefused(f"{self._name}: line {number}: {error}") from None


def streams(entries: Iterable[Entry], sender: str) -> Iterator[Iterator[bytes]]:
    """Yield what this end sent, a stream for each time that the port was opened."""
    from firmware_proto.capture import Opened

    coming = iter(entries)
    at_end = False

    def one() -> Iterator[bytes]:
        nonlocal at_end
        for entry in coming:
            if isinstance(entry, Opened):
                return
            if isinstance(entry, Chunk) and entry.sender == sender:
                yield entry.data
        at_end = True

    while not at_end:
        stream = one()
        yield stream
        for _ in stream:  # what the caller left of it
            pass


def _lines(chunks: Iterable[bytes], name: str) -> Iterator[str]:
    """Whole lines; one without an end was cut off while it was written, and is left out."""
    kept = b""
    for chunk in chunks:
        *whole, kept = (kept + chunk).split(b"\n")
        for line in whole:
            if line.strip():
                yield line.decode("utf-8", "replace")
        if len(kept) > LONGEST_LINE:
            raise InputRefused(f"{name}: a line of more than {LONGEST_LINE:,} bytes")


# A journal's bytes as a capture.


def journal_lines(journal: Path, table: str | None) -> Iterator[str]:
    """The lines of a capture, from the first connection to the last. The journal is only read.

    Raises:
        UsageError: no such table, or no table named where there are several.
        JournalError: the file cannot be read.
    """
    from firmware_proto.capture import HOST, SHOE, Lost, Opened, header_line, line
    from shoe_ctl.cli.common import explain_damage
    from shoe_ctl.journal.reader import Reader
    from shoe_ctl.journal.record_format import Connection, Direction, Kind, Wire

    with explain_damage(journal), Reader.open(journal) as reader:
        name = _choose_table(reader, table)
        began: int | None = None
        now_us = 0
        for record in reader.records(table=name, kinds=(Kind.CONNECTION, Kind.WIRE)):
            if record.kind == Kind.WIRE.value:
                wire = Wire.from_bytes(record.body)
                if began is None:  # the connection was opened before the journal begins
                    began = now_us = wire.t_us
                    yield header_line(_header(_profile(reader, name), name, began))
                    yield line(Opened(0))
                sender = SHOE if wire.direction is Direction.FROM_SHOE else HOST
                # what was sent before the shoe was heard stands behind its connection's record
                now_us = max(now_us, wire.t_us)
                yield line(Chunk(now_us - began, sender, wire.data))
                continue
            opened = Connection.from_bytes(record.body)
            now_us = max(now_us, opened.t_us)
            if began is None:
                began = now_us
                yield header_line(_header(opened.profile, name, opened.t_us))
            else:
                yield line(Lost(now_us - began, "another connection was opened"))
            yield line(Opened(now_us - began))


def _choose_table(reader: Reader, table: str | None) -> str:
    from shoe_ctl.journal.record_format import JOURNAL

    tables = sorted(reader.heads()[1].keys() - {JOURNAL})
    if not tables:
        raise InputRefused(f"{reader.path}: no table is recorded yet")
    if table is None and len(tables) == 1:
        return tables[0]
    if table not in tables:
        wrong = "name the table with --table" if table is None else f"no table {table}"
        raise UsageError(f"{reader.path}: {wrong} (have: {', '.join(tables)})")
    return table


def _header(profile: str, table: str, t_us: int) -> Header:
    from shoe_ctl.records import utc

    return Header(profile=profile, port=f"table {table}", started=utc(t_us))


def _profile(reader: Reader, table: str) -> str:
    """Return the profile of the table's first recorded connection.

    Raises:
        JournalError: no snapshot in it names one.
    """
    import msgspec

    from shoe_ctl.journal.record_format import Kind
    from shoe_ctl.journal.recovery import read_snapshot

    for record in reader.indexed_records(table, Kind.SNAPSHOT, after=0):
        with suppress(ValueError, KeyError, TypeError):
            state = msgspec.json.decode(read_snapshot(record, reader.path).state)
            return str(state["link"]["profile"])
    raise JournalError(f"{reader.path}: no record names the profile of table {table}'s shoe")


# A capture as a test's fixture.

CAPTURE, EVENTS = ".capture", ".events"
"""The endings of the two files' names."""

MOST_BYTES = 16 << 20
"""The longest capture that is made into a fixture: it is held in memory."""


def make_fixture(file: Path, folder: Path, events: Callable[[Captured], Iterable[str]]) -> Path:
    """Puts both files into the folder, or neither; returns the capture's.

    Raises:
        EnvironmentFault: a file cannot be read or written, or stands there already.
        InputRefused: it is no capture, or a damaged one.
    """
    try:
        with file.open("rb") as source:
            body = source.read(MOST_BYTES + 1)
    except OSError as error:
        raise EnvironmentFault(f"{file}: {error.strerror}") from None
    if len(body) > MOST_BYTES:
        raise InputRefused(f"{file}: more than {MOST_BYTES >> 20} MB is too much for a fixture")
    if not body.strip():
        raise InputRefused(f"{file} is empty: no capture")
    lines = "".join(f"{line}\n" for line in events(Captured([body], str(file))))
    copy = folder / (file.stem + CAPTURE)
    made: list[Path] = []
    try:
        for path, content in ((copy, body), (copy.with_suffix(EVENTS), lines.encode())):
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as new:
                made.append(path)
                new.write(content)
    except OSError as error:
        for path in made:
            path.unlink(missing_ok=True)
        raise EnvironmentFault(f"{error.filename or folder}: {error.strerror}") from None
    return copy
