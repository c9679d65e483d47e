"""What a journal holds of a table's line, as a capture: every byte, every connection.

In: a journal's path, a table. Out: a capture's lines.
Must not know: what the bytes mean, where the lines go.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from firmware_proto.capture import HOST, SHOE, Chunk, Header, Lost, Opened, header_line, line
from shoe_ctl.cli.damage import told_of
from shoe_ctl.errors import JournalError, UsageError
from shoe_ctl.journal.codec import JOURNAL, Connection, Direction, Kind, Wire
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.recovery import read_snapshot
from shoe_ctl.records import utc


def lines(journal: Path, table: str | None) -> Iterator[str]:
    """The capture's lines, from the first connection to the last. It only reads, at any time.

    Raises:
        UsageError: no such table, or no table named where there are several.
        JournalError: the file cannot be read.
    """
    with told_of(journal), Reader.open(journal) as reader:
        name = _chosen(reader, table)
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


def _chosen(reader: Reader, table: str | None) -> str:
    tables = sorted(reader.heads()[1].keys() - {JOURNAL})
    if table is None and len(tables) == 1:
        return tables[0]
    if table not in tables:
        wrong = "name the table with --table" if table is None else f"no table {table}"
        raise UsageError(f"{reader.path}: {wrong} (have: {', '.join(tables) or 'none'})")
    return table


def _header(profile: str, table: str, t_us: int) -> Header:
    return Header(profile=profile, port=f"table {table}", started=utc(t_us))


class _Link(msgspec.Struct):
    profile: str


class _Stood(msgspec.Struct):
    link: _Link


def _profile(reader: Reader, table: str) -> str:
    """The profile of the connection that the table had where it first says how it stood."""
    for record in reader.landmarks(table, Kind.SNAPSHOT, after=0):
        with suppress(ValueError):
            state = read_snapshot(record, reader.path).state
            return msgspec.json.decode(state, type=_Stood).link.profile
    raise JournalError(f"{reader.path}: nothing in it tells the profile of table {table}'s shoe")
