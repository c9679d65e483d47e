"""Recovery after a restart, in time that does not grow with the journal.

In: a reader. Out: a table's last numbers and times, what it was started with, its records from any
one on, proved to be a chain. Must not know: what inputs and states mean; who runs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from shoe_ctl.errors import JournalError
from shoe_ctl.journal.anchor import Anchor, WrongAnchor, find_anchor
from shoe_ctl.journal.batch import Counters, Head
from shoe_ctl.journal.chain import GENESIS, chain_hash
from shoe_ctl.journal.files import corrupt_journal
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import (
    JOURNAL,
    InvalidRow,
    Kind,
    LossRuling,
    Meta,
    RecoveredEvents,
    Row,
    Snapshot,
    UnknownFormat,
    first_invalid,
    is_loss_ruling,
)
from shoe_ctl.records import Record


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """The journal's knowledge of a table's numbers when the daemon starts.

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
    return reader.head(table) or Head(0, GENESIS, Counters())


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
    if reader.head(table) is not None:
        known = [table]
    else:
        known = sorted(reader.heads()[1].keys() - {JOURNAL})
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
        if not is_loss_ruling(record.body):
            continue
        try:
            yield record, LossRuling.from_bytes(record.body)
        except ValueError as error:
            raise _corrupt(reader, f"record {record.n} is no ruling: {error}") from None


def recovered_events(reader: Reader, ruled: int) -> Iterator[RecoveredEvents]:
    """Yield the recovered events of a lost part, newest first: they stand right before its ruling.

    ``ruled`` is the ruling's record.

    Raises:
        JournalError: the journal cannot be read, or such a record in it.
    """
    for record in reader.indexed_records(JOURNAL, Kind.META, before=ruled):
        if not RecoveredEvents.is_one(record.body):
            return
        try:
            yield RecoveredEvents.from_bytes(record.body)
        except ValueError as error:
            raise _corrupt(reader, f"record {record.n} is no recovered events: {error}") from None


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


class ChainPlace(NamedTuple):
    """A place in a table's chain: behind the group of hash ``end``, which ends with ``after``."""

    after: int
    end: bytes


def checked_records(reader: Reader, places: Mapping[str, ChainPlace]) -> Iterator[Record]:
    """Yield each table's records behind its place, to its last one.

    The journal is read once for all tables whose records lie among one another's.

    Raises:
        JournalError: the journal cannot be read, or a record does not follow from the one before.
    """
    due = {table: place.end for table, place in places.items()}
    ends = _chain_ends(reader, places)

    def chained(stretch: _Stretch) -> Iterator[Row]:
        for row in _rows_behind(reader, places, stretch):
            n, table, body, digest = row
            if n > ends[table].n:  # stored since
                continue
            if chain_hash(due[table], n, table, body) != digest:
                raise _corrupt(reader, f"record {n} does not follow from the one before it")
            due[table] = digest
            yield row
        for table in stretch.tables:
            if due[table] != ends[table].hash:
                raise _corrupt(reader, f"record {ends[table].n} is not the end of table {table}")

    stretches = [_Stretch(place.after, ends[t].n, [t]) for t, place in places.items()]
    for stretch in _joined(stretches):
        yield from reader.unpacked(chained(stretch))


def _chain_ends(reader: Reader, tables: Iterable[str]) -> dict[str, Head]:
    """Return where the chains of these tables end, at one moment."""
    names = list(tables)
    if len(names) == 1:
        return {names[0]: chain_end(reader, names[0])}
    known = reader.heads()[1]
    return {table: known.get(table, Head(0, GENESIS, Counters())) for table in names}


def _rows_behind(
    reader: Reader, places: Mapping[str, ChainPlace], stretch: _Stretch
) -> Iterator[Row]:
    """Yield a stretch's rows behind the places of its tables."""
    after, upto, tables = stretch
    if len(tables) == 1:
        yield from reader.rows(after=after, upto=upto, table=tables[0])
        return
    # Records of any other table are passed over, whatever they are.
    for row in reader.rows(after=after, upto=upto, checked=False):
        place = places.get(row[1])
        if place is None or row[0] <= place.after:
            continue
        if first_invalid([row]) is not None:
            raise InvalidRow(reader.path, row[0], row[1])
        yield row


class _Stretch(NamedTuple):
    """Records behind one, up to another, in which there are all that are wanted of some tables."""

    after: int
    upto: int
    tables: list[str]


def _joined(stretches: Iterable[_Stretch]) -> list[_Stretch]:
    """Return stretches that have no record in common, oldest first."""
    found: list[_Stretch] = []
    for one in sorted(stretches):
        if found and one.after < found[-1].upto:
            before = found[-1]
            upto = max(before.upto, one.upto)
            found[-1] = _Stretch(before.after, upto, [*before.tables, *one.tables])
        else:
            found.append(one)
    return found


def _corrupt(reader: Reader, how: str) -> JournalError:
    return corrupt_journal(reader.path, how)
