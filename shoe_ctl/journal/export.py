"""Export a selection of one table's records to a compressed file, which is a small journal itself.

In: a reader, a table, its first and last record. Out: the file, durable and verified.
Must not know: sets of cards, why it is made.
"""

from __future__ import annotations

import errno
import heapq
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import apsw
import msgspec

from shoe_ctl.errors import JournalError
from shoe_ctl.journal import files, schema
from shoe_ctl.journal.batch import Counters, Head
from shoe_ctl.journal.chain import Checkpoint, read_checkpoint
from shoe_ctl.journal.files import corrupt_journal
from shoe_ctl.journal.group import InvalidGroup, count_events, landmarks, read_header
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, InvalidRow, Kind, Row
from shoe_ctl.journal.recovery import chain_end
from shoe_ctl.journal.verify import verify

MOST_BYTES = 1 << 28
"""The most that is written to one file. A set of cards is a hundredth."""

_PIECE = 1 << 18
"""Bytes compressed at a time, so that a long export takes little memory."""

_GZIP = 31
"""zlib's own sign for gzip, the widest window: without a name and a time, alike each time."""

_INSERT = "INSERT INTO record_group VALUES (?, ?, ?, ?)"
_LANDMARK = "INSERT INTO landmark VALUES (?, ?, ?)"
_HEAD = "INSERT INTO head VALUES (?, ?, ?, ?, ?, ?, ?)"


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """A table's records ``after`` one up to another, between the checkpoints that sign both ends.

    ``begins`` is the checkpoint that signs record ``after``, None at the table's beginning.
    ``ends`` is the one that signs record ``upto``, at ``t_us``; None where that is not signed yet.
    ``hash`` is the chain's at record ``upto``: it is like no other's.
    """

    table: str
    begins: int | None
    after: int
    upto: int
    hash: bytes
    ends: int | None
    t_us: int | None


def select_records(reader: Reader, table: str, first: int, last: int) -> Selection:
    """Select what is needed of a table to prove its records ``first`` to ``last``.

    Raises:
        JournalError: the journal cannot be read, or a checkpoint in it.
    """
    begins, after = None, 0
    for record in reader.indexed_records(JOURNAL, Kind.CHECKPOINT, before=first):
        begins, said = record.n, _read_checkpoint_of(reader, record.n, record.body)
        after = said.heads[table].n if table in said.heads else 0
        break
    for record in reader.indexed_records(JOURNAL, Kind.CHECKPOINT, after=last):
        said = _read_checkpoint_of(reader, record.n, record.body)
        return Selection(
            table=table,
            begins=begins,
            after=after,
            upto=said.heads[table].n,
            hash=bytes.fromhex(said.heads[table].hash),
            ends=record.n,
            t_us=said.t_us,
        )
    head = chain_end(reader, table)
    return Selection(
        table=table,
        begins=begins,
        after=after,
        upto=head.n,
        hash=head.hash,
        ends=None,
        t_us=None,
    )


def _read_checkpoint_of(reader: Reader, n: int, body: bytes) -> Checkpoint:
    try:
        return read_checkpoint(body)
    except ValueError:
        raise corrupt_journal(reader.path, f"record {n} is no checkpoint") from None


def write_export(reader: Reader, kept: Selection, path: Path) -> None:
    """Write the file, for its owner only, whole or not at all, and verify it.

    Raises:
        JournalError: the journal cannot be read or is corrupt there; it is too much for a file; the
            file is there already, or cannot be written.
    """

    def proved(new: Path) -> None:
        if (wrong := _wrong(new, kept)) is not None:
            raise JournalError(
                f"journal {reader.path} is corrupt where it is exported: {wrong}. "
                f"Run: shoectl verify {reader.path}"
            )

    try:
        if path.exists():
            raise JournalError(f"{path} is there already: name another file")
        files.write_atomically(path, _compress(reader, kept, path.parent), proved)
    except OSError as error:
        raise JournalError(f"{path} cannot be written: {error.strerror}") from None


def write_unpacked(reader: Reader, path: Path) -> int:
    """Write every record with its body as it was written; return the last one's number.

    The file is for queries, for its owner only, whole or not at all. It is no journal: hashes are
    made over what the journal's file holds.

    Raises:
        JournalError: the journal cannot be read; the file is there already, or cannot be written.
    """
    if path.exists():
        raise JournalError(f"{path} is there already: name another file")
    new = path.with_name(path.name + "-new")
    try:
        new.unlink(missing_ok=True)
        new.touch(0o600)
        last_n, heads = reader.heads()
        ends = {table: (head.n, head.hash) for table, head in heads.items()}
        schema.new_unpacked(new, _unpacked(reader, last_n), ends)
        new.rename(path)
    except OSError as error:
        raise JournalError(f"{path} cannot be written: {error.strerror}") from None
    except apsw.Error as error:
        raise JournalError(f"{path} cannot be written: {error}") from None
    finally:
        new.unlink(missing_ok=True)
    return last_n


def _unpacked(reader: Reader, upto: int) -> Iterator[tuple[int, str, str, bytes]]:
    for record in reader.records(upto=upto):
        yield record.n, record.table, record.kind, record.body


def check_export(path: Path, kept: Selection) -> None:
    """Return True if this file holds this selection, whole and signed to its end.

    Raises:
        JournalError: it does not, or cannot be read.
    """
    if (wrong := _wrong(path, kept)) is not None:
        raise JournalError(f"{path} is not what was written: {wrong}")


def _wrong(path: Path, kept: Selection) -> str | None:
    """Return why a file does not hold this selection, or None."""
    with Reader.open(path) as export:
        found = verify(export)
        upto = export.heads()[1].get(kept.table)
        last = kept.upto if kept.ends is None else kept.ends
    bad = found.first_bad
    if bad is not None:
        return f"record {bad.n}, {bad.text}"
    if upto is None or (upto.n, upto.hash, found.last_n) != (kept.upto, kept.hash, last):
        return f"it does not hold table {kept.table} up to record {kept.upto}"
    return None


def _compress(reader: Reader, kept: Selection, folder: Path) -> Iterator[bytes]:
    """Yield the compressed export in pieces, from an unnamed file in this folder.

    Raises:
        JournalError: the journal cannot be read; it is too much for a file.
        OSError: the folder takes no file, or the disk is full.
    """
    heads: dict[str, Head] = {}
    found: list[tuple[str, str, int]] = []
    with schema.new_export(folder) as (connection, file):
        try:
            with schema.translate_errors(reader.path), connection:
                rows = _limited(_rows(reader, kept), reader.path)
                connection.executemany(_INSERT, _counted(rows, reader.path, heads, found))
                connection.executemany(_LANDMARK, found)
                for table, head in heads.items():
                    counted = (head.counters.public, head.counters.restricted)
                    said = (*counted, head.connection, head.t_us)
                    connection.execute(_HEAD, (table, head.n, head.hash, *said))
        except JournalError as error:
            if isinstance(error.__cause__, apsw.FullError):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
            raise
        packing = zlib.compressobj(wbits=_GZIP)
        while piece := file.read(_PIECE):
            yield packing.compress(piece)
        yield packing.flush()


def _rows(reader: Reader, kept: Selection) -> Iterator[Row]:
    """Yield the table's groups, and every checkpoint and ruling between the first and the last."""
    if kept.begins is not None:
        yield from reader.rows(after=kept.begins - 1, upto=kept.begins)
    of_table = reader.rows(after=kept.after, upto=kept.upto, table=kept.table)
    signed = reader.rows(
        after=kept.begins or 0, upto=kept.ends or kept.upto, table=JOURNAL
    )  # checkpoints and rulings alone
    yield from heapq.merge(of_table, signed, key=lambda row: row[0])


def _limited(rows: Iterator[Row], path: Path) -> Iterator[Row]:
    left = MOST_BYTES
    for row in rows:
        left -= len(row[2])
        if left < 0:
            raise JournalError(
                f"journal {path}: more than {MOST_BYTES >> 20} MB between two checkpoints: "
                "too much for one export"
            )
        yield row


def _counted(
    rows: Iterator[Row],
    path: Path,
    heads: dict[str, Head],
    found: list[tuple[str, str, int]],
) -> Iterator[Row]:
    """Yield the rows; note each chain's end, the number of its events, and the landmarks."""
    for row in rows:
        n, table, body, digest = row
        try:
            header = read_header(body)
        except InvalidGroup as error:
            raise InvalidRow(path, n, table, str(error)) from None
        public, restricted = count_events(header.kinds)
        before = header.before
        counters = Counters(before.public + public, before.restricted + restricted)
        heads[table] = Head(n, digest, counters)
        found += landmarks(table, n, header)
        yield row
