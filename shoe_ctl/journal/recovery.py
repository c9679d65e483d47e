"""Recovery after a restart, in time that does not grow with the journal.

In: a reader. Out: a table's last numbers and times, what it was started with, its records from any
one on, proved to be a chain. Must not know: what inputs and states mean; who runs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from shoe_ctl.errors import JournalError
from shoe_ctl.journal.anchor import Anchor, WrongAnchor, find_anchor
from shoe_ctl.journal.batch import Counters
from shoe_ctl.journal.chain import GENESIS, chain_hash
from shoe_ctl.journal.codec import JOURNAL, Kind, LossRuling, Meta, Row, Snapshot, UnknownFormat
from shoe_ctl.journal.files import corrupt_journal
from shoe_ctl.journal.reader import Head, Reader
from shoe_ctl.records import Record


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """What the journal knows of a table's numbers when the daemon starts.

    ``connection`` is the last connection's number (0: none). ``t_us`` is the last input's time
    (0: none). ``devices`` holds each device's last stored event number.
    """

    table: str
    connection: int
    t_us: int
    counters: Counters
    devices: Mapping[str, int]


def recover(reader: Reader, table: str) -> Recovered:
    """Return what the journal knows of this table; an unknown table is as new.

    Raises:
        JournalError: the journal cannot be read.
    """
    head = chain_end(reader, table)
    return Recovered(
        table=table,
        connection=head.connection,
        t_us=head.t_us,
        counters=head.counters,
        devices=reader.devices(table),
    )


def chain_end(reader: Reader, table: str) -> Head:
    """Return where this table's chain ends; an unknown table is as new.

    Raises:
        JournalError: the journal cannot be read.
    """
    return reader.heads()[1].get(table, Head(0, GENESIS, Counters()))


def last_start(reader: Reader, table: str, n: int) -> Meta | None:
    """Return what the table was last started with before record ``n``; None where it was not.

    Raises:
        JournalError: the journal cannot be read, or that record in it.
    """
    record = next(reader.indexed_records(table, Kind.META, before=n), None)
    return None if record is None else read_meta(record, reader.path)


def current_epoch(reader: Reader, table: str) -> str | None:
    """Return the epoch that this table's events have now; None in a journal without any.

    It is that of the table's last start or of the last ruling on the journal, whichever is newer; a
    table not known yet takes the journal's newest.

    Raises:
        JournalError: the journal cannot be read, or that record in it.
    """
    tables = reader.heads()[1].keys() - {JOURNAL}
    known = [table] if table in tables else sorted(tables)
    found: list[tuple[int, str]] = []
    for name in known:
        record = next(reader.indexed_records(name, Kind.META), None)
        if record is not None:
            found.append((record.n, read_meta(record, reader.path).epoch))
    for record, gone_on in rulings(reader):
        found.append((record.n, gone_on.epoch))
        break
    return max(found)[1] if found else None


def end_of_epoch(reader: Reader, table: str, epoch: str) -> tuple[bool, int | None]:
    """Return whether this table ever had this epoch, and the last record before the next one.

    That is None for the table's current epoch. Epochs that began in records which were taken out
    are not known any more, but for the first that is left.

    Raises:
        JournalError: the journal cannot be read, or the record of a start in it.
    """
    end: int | None = None
    for record in reader.indexed_records(table, Kind.META):
        if read_meta(record, reader.path).epoch == epoch:
            return True, end
        end = record.n - 1
    return False, None


def rulings(reader: Reader) -> Iterator[tuple[Record, LossRuling]]:
    """Yield every ruling that the journal goes on without a lost part, newest first.

    Raises:
        JournalError: the journal cannot be read, or such a record in it.
    """
    for record in reader.indexed_records(JOURNAL, Kind.META):
        try:
            yield record, LossRuling.from_bytes(record.body)
        except ValueError as error:
            raise _corrupt(reader, f"record {record.n} is no ruling: {error}") from None


def read_meta(record: Record, journal: Path) -> Meta:
    """Decode a ``meta`` record.

    Raises:
        JournalError: it is of another format, or its body was spoilt.
    """
    try:
        return Meta.from_bytes(record.body)
    except UnknownFormat as error:
        raise unknown_format_error(record, journal, error) from None
    except ValueError as error:
        raise invalid_record_error(
            record, journal, f"how table {record.table} was started", error
        ) from None


def read_snapshot(record: Record, journal: Path) -> Snapshot:
    """Decode a ``snapshot`` record.

    Raises:
        JournalError: it is of another format.
        ValueError: its body was spoilt.
    """
    try:
        return Snapshot.from_bytes(record.body)
    except UnknownFormat as error:
        raise unknown_format_error(record, journal, error) from None


def unknown_format_error(record: Record, journal: Path, error: UnknownFormat) -> JournalError:
    """Return the error that names a record of another format, and the version that reads it."""
    return JournalError(f"journal {journal}: record {record.n} of table {record.table}: {error}")


def invalid_record_error(
    record: Record, journal: Path, what: str, error: ValueError
) -> JournalError:
    """Return the error for a record that does not say ``what`` it should."""
    return corrupt_journal(journal, f"record {record.n} does not say {what}: {error}")


def read_anchor(reader: Reader) -> Anchor:
    """Return where the journal begins: at its first record, unless older ones were removed.

    Raises:
        JournalError: the journal cannot be read, or does not begin where it says.
    """
    try:
        return find_anchor(reader)
    except WrongAnchor as error:
        raise _corrupt(reader, str(error)) from None


def checked_records(
    reader: Reader, table: str, *, after: int = 0, end: bytes = GENESIS
) -> Iterator[Record]:
    """Yield the table's records after record ``after``, whose chain hash is ``end``, to the last.

    Raises:
        JournalError: the journal cannot be read, or a record does not follow from the one before.
    """
    head = chain_end(reader, table)

    def chained() -> Iterator[Row]:
        due = end
        for row in reader.rows(after=after, upto=head.n, table=table):
            n, _, kind, body, digest = row
            if chain_hash(due, n, table, kind, body) != digest:
                raise _corrupt(reader, f"record {n} does not follow from the one before it")
            due = digest
            yield row
        if due != head.hash:
            raise _corrupt(reader, f"record {head.n} is not the end of table {table}")

    yield from reader.unpacked(chained())


def _corrupt(reader: Reader, how: str) -> JournalError:
    return corrupt_journal(reader.path, how)
