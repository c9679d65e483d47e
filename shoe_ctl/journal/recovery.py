"""What a restart needs to know of a table.

In: a reader. Out: last numbers and times, what the table was started with, its inputs in order.
Must not know: inputs' meaning; who runs them through what.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from shoe_ctl.errors import JournalError
from shoe_ctl.records import Record

from .bodies import Kind, Meta
from .group import Counters
from .reader import Head, Reader


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """What the journal knows of a table when the daemon starts.

    ``connection`` is the last connection's number (0: none). ``t_us`` is the last input's time
    (0: none). ``devices`` holds each device's last stored event number. ``meta`` is what the table
    was last started with, None for a new table; it has been under the same game file and settings
    since record ``since``.
    """

    table: str
    connection: int
    t_us: int
    counters: Counters
    devices: Mapping[str, int]
    meta: Meta | None
    since: int


def recover(reader: Reader, table: str) -> Recovered:
    """What the journal knows of this table; a table it does not know is as new.

    Raises:
        JournalError: the journal cannot be read, or a ``meta`` record in it.
    """
    _, heads = reader.heads()
    head = heads.get(table, Head(0, b"", Counters()))
    meta, since = _rules(reader, table)
    return Recovered(
        table=table,
        connection=head.connection,
        t_us=head.t_us,
        counters=head.counters,
        devices=reader.devices(table),
        meta=meta,
        since=since,
    )


def _rules(reader: Reader, table: str) -> tuple[Meta | None, int]:
    meta: Meta | None = None
    since = 0
    for record in reader.records(table=table, kinds=(Kind.META,)):
        started = meta_of(record)
        if meta is None or not started.same_rules(meta):
            since = record.n
        meta = started
    return meta, since


def meta_of(record: Record) -> Meta:
    """What a ``meta`` record says.

    Raises:
        JournalError: its body was spoilt.
    """
    try:
        return Meta.from_bytes(record.body)
    except ValueError as error:
        raise JournalError(
            f"record {record.n} does not say how table {record.table} was started: {error}"
        ) from None


def inputs(reader: Reader, table: str, *, after: int = 0) -> Iterator[tuple[int, bytes]]:
    """The table's inputs behind record ``after``, in order: record number and bytes.

    Raises:
        JournalError: the journal cannot be read.
    """
    for record in reader.records(after=after, table=table, kinds=(Kind.INPUT,)):
        yield record.n, record.body
