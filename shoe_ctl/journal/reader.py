"""Reading a journal: its records in order, and what it remembers of each table and sink.

In: a journal's path. Out: records, heads, cursors, device numbers.
Must not know: how it is written, what a body means. It never writes and holds no lock for long,
so that a running daemon does not notice it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import msgspec

from shoe_ctl.errors import JournalError
from shoe_ctl.journal import round_index, schema
from shoe_ctl.journal.batch import Counters
from shoe_ctl.journal.files import corrupt_journal
from shoe_ctl.journal.packing import COPIES, unpack, unpack_copy
from shoe_ctl.journal.record_format import InvalidRow, Kind, Row, first_invalid
from shoe_ctl.journal.round_index import IndexedRound, RoundId, RoundQuery
from shoe_ctl.records import Audience, EventId, Record, event_id

BATCH = 1000
"""Records read at a time: a read that lasts keeps the writer from tidying its log."""

BATCH_BYTES = 1 << 22
"""Bytes that are read at a time, and one body more: whoever made the file may have made its records
as long as they are read at all."""

_AT_ONCE = 16
"""Records between two looks at their bytes: a look at each costs a fifth of the reading, and so
many of the longest bodies still fit in memory."""

_PARTS = 'n, "table", kind, body, hash'

_body = itemgetter(3)

_HEADS = 'SELECT "table", n, hash, public, restricted, connection, t_us FROM head'

_HEAD_TYPES = (str, int, bytes, int, int, int, int)

_PUBLIC, _RESTRICTED = Kind.PUBLIC.value, Kind.RESTRICTED.value

_WITH_PUBLIC_BEFORE = f"""
SELECT event.n, event."table", event.body, public.body FROM ({{events}}) AS event
LEFT JOIN record AS public ON public.n = event.n - 1
AND public."table" = event."table" AND public.kind = '{_PUBLIC}' ORDER BY event.n
"""
"""Restricted events, each with the public copy in front of it: a query for each would cost more
than all the rest."""

_STREAM = {Audience.PUBLIC: Kind.PUBLIC.value, Audience.RESTRICTED: Kind.RESTRICTED.value}


class _Event(msgspec.Struct):
    """The attribute of an event's envelope by which it is found."""

    id: str


_event = msgspec.json.Decoder(_Event)


class Head(msgspec.Struct):
    """The end of a table's chain, and the last numbers of the table.

    ``connection`` is 0 before the first; ``t_us`` is the last input's time, 0 before the first.
    """

    n: int
    hash: bytes
    counters: Counters
    connection: int = 0
    t_us: int = 0


class Moment(msgspec.Struct, frozen=True):
    """A journal's last record, and what stands beside its records; ``devices`` by table."""

    last_n: int
    heads: Mapping[str, Head]
    devices: Mapping[str, Mapping[str, int]]
    cursors: Sequence[tuple[str, int]]


class Reader:
    """A connection that only reads. Not to be used by two threads at once."""

    def __init__(self, opened: schema.ReadConnection, path: Path) -> None:
        self._connection = opened.connection
        self.path = path
        self.is_export = opened.is_export
        self.is_packed = opened.is_packed
        self.has_rounds = opened.has_rounds
        self._at_rest = opened.at_rest
        self._abandoned = False

    @classmethod
    def open(cls, path: str | Path, *, in_use: bool = False, vfs: str | None = None) -> Reader:
        """Open a journal for reading; with ``in_use``, one whose writer is this process.

        Raises:
            JournalError: it is not there, not a journal, another version, or not readable.
        """
        path = Path(path)
        with schema.translate_errors(path):
            if not path.exists():
                raise JournalError(f"journal {path} does not exist")
            if not path.is_file():
                raise JournalError(f"journal {path} is not a file")
            path = path.resolve()
        with schema.translate_errors(path):
            return cls(schema.open_reading(path, vfs=vfs, in_use=in_use), path)

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def has_new_writer(self) -> bool:
        """True if a writer came to a journal that was opened at rest: open it anew."""
        return self._at_rest and schema.has_writer(self.path)

    def close(self) -> None:
        """Close the connection. Closing twice is no harm. Never raises."""
        schema.close(self._connection)

    def abandon(self) -> None:
        """Make the next read fail; any thread may call this."""
        self._abandoned = True

    def heads(self) -> tuple[int, dict[str, Head]]:
        """Return the last record's number (0 in an empty journal) and every head, at one moment.

        Raises:
            JournalError: the file cannot be read.
        """
        with schema.translate_errors(self.path), self._connection:
            found = self._heads()
        return found  # noqa: RET504 - a connection may swallow errors, for all that mypy knows

    def _heads(self) -> tuple[int, dict[str, Head]]:
        last_n = self._last_n()
        return last_n, self._read_heads(self._fetch(_HEADS))

    def head(self, table: str) -> Head | None:
        """Return the end of one table's chain; None for an unknown table.

        Raises:
            JournalError: the file cannot be read.
        """
        with schema.translate_errors(self.path):
            rows = self._fetch(f'{_HEADS} WHERE "table" = ?', (table,))
        return self._read_heads(rows).get(table)

    def _read_heads(self, rows: list[Any]) -> dict[str, Head]:
        if any(tuple(map(type, row)) != _HEAD_TYPES for row in rows):
            raise corrupt_journal(self.path, "where its tables' records end cannot be read")
        return {
            table: Head(n, digest, Counters(public, restricted), connection, t_us)
            for table, n, digest, public, restricted, connection, t_us in rows
        }

    def moment(self) -> Moment:
        """Return all that is stored beside the records, at one moment.

        Raises:
            JournalError: the file cannot be read.
        """
        with schema.translate_errors(self.path), self._connection:
            last_n, heads = self._heads()
            devices = self._fetch('SELECT "table", device_id, seq FROM device')
            cursors = self._fetch("SELECT sink, n FROM cursor")
        for rows, types, what in (
            (devices, (str, str, int), "the last numbers of its shoes"),
            (cursors, (str, int), "its sinks' places"),
        ):
            if any(tuple(map(type, row)) != types for row in rows):
                raise corrupt_journal(self.path, f"{what} cannot be read")
        by_table: dict[str, dict[str, int]] = {}
        for table, device_id, seq in devices:
            by_table.setdefault(table, {})[device_id] = seq
        return Moment(last_n, heads, by_table, cursors)

    def schema_difference(self) -> schema.SchemaDifference | None:
        """Return how the file's tables, indexes, views or triggers differ from new ones.

        Raises:
            JournalError: the file cannot be read.
        """
        with schema.translate_errors(self.path):
            return schema.schema_difference(self._connection)

    def records(
        self,
        *,
        after: int = 0,
        upto: int | None = None,
        table: str | None = None,
        kinds: Sequence[Kind] = (),
    ) -> Iterator[Record]:
        """Yield records with ``after < n <= upto`` in order, of a table and of kinds if named.

        Raises:
            JournalError: the file cannot be read; ``InvalidRow``: one of them cannot.
        """
        return self.unpacked(self.rows(after=after, upto=upto, table=table, kinds=kinds))

    def rows(  # noqa: PLR0913 - which rows, and how they are read
        self,
        *,
        after: int | None = 0,
        upto: int | None = None,
        table: str | None = None,
        kinds: Sequence[Kind] = (),
        passing: Callable[[int], None] = lambda _: None,
        checked: bool = True,
    ) -> Iterator[Row]:
        """Yield ``records`` as the file holds them; with ``after=None`` also those with n below 1.

        ``passing`` is called now and then with the number that was come to. With ``checked`` false
        a row may have values of any type, as a damaged file has.
        """
        where: list[str] = ["n > ?"]
        bindings: list[int | str] = []
        if upto is not None:
            where.append("n <= ?")
            bindings.append(upto)
        if table is not None:
            where.append('"table" = ?')
            bindings.append(table)
        if kinds:
            where.append(f"kind IN ({', '.join('?' * len(kinds))})")
            bindings += [kind.value for kind in kinds]
        wanted = f"FROM record WHERE {' AND '.join(where)} ORDER BY n LIMIT {BATCH}"
        position = -(2**63) if after is None else after
        while True:
            with schema.translate_errors(self.path):
                rows, spoilt = self._parts(wanted, (position, *bindings), checked=checked)
            yield from rows
            if spoilt is not None:
                raise InvalidRow(self.path, *spoilt)
            if not rows:
                return
            if rows[-1][0] <= position:  # pages that lead back to each other have no end
                raise corrupt_journal(self.path, f"record {rows[-1][0]} stands behind {position}")
            position = rows[-1][0]
            if position == upto:
                return
            passing(position)

    def unpacked(self, rows: Iterable[Row]) -> Iterator[Record]:
        """Yield records from rows of this journal: with their bodies as they were written.

        Raises:
            JournalError: the file cannot be read.
        """
        last_n, last_body = 0, b""
        for n, table, kind, stored, digest in rows:
            if not self.is_packed:
                body = stored
            elif kind == _RESTRICTED and stored[:1] in COPIES:
                public = last_body if last_n == n - 1 else self._public_before(n, table)
                body = stored if public is None else unpack_copy(stored, public)
            else:
                body = unpack(table, kind, stored)
                if kind == _PUBLIC:
                    last_n, last_body = n, body
            yield Record(n=n, table=table, kind=kind, body=body, hash=digest)

    def _public_before(self, n: int, table: str) -> bytes | None:
        """Return the public copy of the restricted event at record ``n``; None where it is gone."""
        query = f"SELECT body FROM record WHERE n = ? AND \"table\" = ? AND kind = '{_PUBLIC}'"
        with schema.translate_errors(self.path):
            rows = self._fetch(query, (n - 1, table))
        if not rows or not isinstance(rows[0][0], bytes):
            return None
        return unpack(table, _PUBLIC, rows[0][0])

    def _body(self, n: int, table: str, kind: str, stored: bytes) -> bytes:
        """Return one record's body as it was written."""
        return next(self.unpacked([(n, table, kind, stored, b"")])).body

    def _parts(
        self, wanted: str, bindings: Sequence[int | str], *, checked: bool
    ) -> tuple[list[Row], tuple[int, str | None] | None]:
        """Return the rows up to the first invalid one, and that one's number and table."""
        try:
            rows = self._batch(f"SELECT {_PARTS} {wanted}", bindings)
        except UnicodeDecodeError:
            rows = []
            for (n,) in self._fetch(f"SELECT n {wanted}", bindings):
                try:
                    rows += self._fetch(f"SELECT {_PARTS} FROM record WHERE n = ?", (n,))
                except UnicodeDecodeError:
                    return rows, (n, None)
        at = first_invalid(rows) if checked else None
        if at is None:
            return rows, None
        n, table = rows[at][0], _text(rows[at][1])
        return rows[:at], (n, table)

    def _batch(self, query: str, bindings: Sequence[int | str]) -> list[Row]:
        """Return the rows, only as many as ``BATCH_BYTES`` hold, and at least one."""
        self._refuse_if_abandoned()
        rows: list[Row] = []
        left = BATCH_BYTES
        found = self._connection.execute(query, bindings)
        while left > 0 and (some := list(islice(found, _AT_ONCE))):
            rows += some
            try:
                left -= sum(map(len, map(_body, some)))
            except TypeError:  # a damaged file's bodies may be numbers, or none
                left -= sum(len(row[3]) for row in some if isinstance(row[3], bytes | str))
        return rows

    def newest(self, before: int | None = None) -> int | None:
        """Return the last record's number, or the last before this one; None where there is none.

        Raises:
            JournalError: the file cannot be read.
        """
        query = "SELECT max(n) FROM record WHERE n < ?"
        with schema.translate_errors(self.path):
            (found,) = self._fetch(query, (schema.BEYOND if before is None else before,))[0]
        return None if found is None else int(found)

    def first_n(self) -> int | None:
        """Return the first record's number; None where there is none.

        Raises:
            JournalError: the file cannot be read.
        """
        with schema.translate_errors(self.path):
            (found,) = self._fetch("SELECT min(n) FROM record")[0]
        return None if found is None else int(found)

    def indexed_records(
        self, table: str, kind: Kind, *, before: int | None = None, after: int | None = None
    ) -> Iterator[Record]:
        """Yield the table's ``meta``, ``snapshot`` or ``checkpoint`` records, newest first.

        With ``before``: from those before this record. With ``after``: oldest first, from those
        after this one. Each is looked up when it is asked for, however many records there are.

        Raises:
            JournalError: the file cannot be read.
        """
        sign, order = ("<", "DESC") if after is None else (">", "ASC")
        query = (
            f'SELECT n, body, hash FROM record WHERE "table" = ? AND kind = ? AND n {sign} ?'
            f" AND {schema.INDEXED} ORDER BY n {order} LIMIT 1"
        )
        position = after if after is not None else schema.BEYOND if before is None else before
        while True:
            with schema.translate_errors(self.path):
                rows = self._fetch(query, (table, kind.value, position))
            if not rows:
                return
            position, body, digest = rows[0]
            if first_invalid([(position, table, kind.value, body, digest)]) is not None:
                raise InvalidRow(self.path, position, table)
            body = self._body(position, table, kind.value, body)
            yield Record(n=position, table=table, kind=kind.value, body=body, hash=digest)

    def index_entries(self, upto: int) -> list[tuple[str, str, int]] | None:
        """Return table, kind and number of each indexed record up to one, as the index has them.

        None where the file is so old that it has none.

        Raises:
            JournalError: the file cannot be read.
        """
        query = (
            'SELECT "table", kind, n FROM record INDEXED BY landmark'
            f" WHERE {schema.INDEXED} AND n <= ?"
        )
        with schema.translate_errors(self.path):
            there = schema.has_index(self._connection, "landmark")
            return self._fetch(query, (upto,)) if there else None

    def indexed_events(self, upto: int) -> dict[tuple[str, str], int] | None:
        """Return how many events up to a record the index has, by table and kind.

        None where the file has no index of events.

        Raises:
            JournalError: the file cannot be read.
        """
        indexed = schema.RESTRICTED if self.is_packed else schema.EVENTS
        query = (
            'SELECT "table", kind, count(*) FROM record INDEXED BY event'
            f' WHERE {indexed} AND n <= ? GROUP BY "table", kind'
        )
        with schema.translate_errors(self.path):
            if not schema.has_index(self._connection, "event"):
                return None
            return {(table, kind): count for table, kind, count in self._fetch(query, (upto,))}

    def events(
        self, audience: Audience, *, after: int, limit: int, table: str | None = None
    ) -> tuple[list[tuple[int, bytes]], int]:
        """Return the next events of a stream, oldest first, and the last record that was searched.

        Each is its record number and the envelope's bytes. There is no other event of the stream
        between ``after`` and the record number returned beside them.

        Raises:
            JournalError: the file cannot be read.
        """
        if table is None:
            query = 'SELECT n, "table", body FROM record WHERE n > ? AND kind = ? ORDER BY n'
            bindings: list[int | str] = [after, _STREAM[audience]]
        else:
            query = self._events_of(audience, ">", "ASC")
            bindings = [table, after]
        query = f"{query} LIMIT {limit:d}"
        kind = _STREAM[audience]
        if self.is_packed and audience is Audience.RESTRICTED:
            query = _WITH_PUBLIC_BEFORE.format(events=query)
        with schema.translate_errors(self.path), self._connection:
            last_n = self._last_n()
            rows = self._fetch(query, bindings)
        events: list[tuple[int, bytes]] = []
        for n, name, stored, *before in rows:
            if not isinstance(stored, bytes) or not isinstance(name, str):
                raise InvalidRow(self.path, n, table)
            if before and isinstance(before[0], bytes) and stored[:1] in COPIES:
                events.append((n, unpack_copy(stored, unpack(name, _PUBLIC, before[0]))))
            else:
                events.append((n, self._body(n, name, kind, stored)))
        return events, events[-1][0] if len(events) == limit else last_n

    def _events_of(
        self, audience: Audience, sign: Literal["<", ">"], order: Literal["ASC", "DESC"]
    ) -> str:
        """Return the query for a table's events before or after a record, by their index.

        It is bound to the table and the record; its columns are number, table and body.
        """
        kind = _STREAM[audience]
        if not self.is_packed:
            return (
                'SELECT n, "table", body FROM record'
                f" WHERE \"table\" = ? AND kind = '{kind}' AND n {sign} ?"
                f" AND {schema.EVENTS} ORDER BY n {order}"
            )
        if audience is Audience.RESTRICTED:
            return (
                'SELECT n, "table", body FROM record'
                f' WHERE "table" = ? AND {schema.RESTRICTED} AND n {sign} ? ORDER BY n {order}'
            )
        return (
            'SELECT public.n, public."table", public.body FROM record'
            " CROSS JOIN record AS public ON public.n = record.n - 1"
            f' WHERE record."table" = ? AND record.{schema.RESTRICTED}'
            f" AND record.n {sign} min(?, {schema.BEYOND - 1}) + 1"
            f" AND public.kind = '{kind}' ORDER BY record.n {order}"
        )

    def find_event(self, wanted: EventId) -> int | None:
        """Return the record of the event with this id; None where the journal does not have it.

        Ids of a table and audience are contiguous, so that a search by halves finds it, in records
        of this table alone.

        Raises:
            JournalError: the file cannot be read.
        """
        found = self._event_beside(wanted.table, wanted.audience, after=0)
        if found is None or found[1] > wanted.number:
            return None
        low, number = found
        high = self.newest() or 0
        while number != wanted.number:
            middle = (low + high) // 2
            found = self._event_beside(wanted.table, wanted.audience, after=middle)
            if found is not None and found[1] <= wanted.number:
                low, number = found
            elif middle > low:
                high = middle
            else:
                return None
        return low

    def event_numbers(
        self, table: str, audience: Audience, *, upto: int | None = None
    ) -> tuple[int, int] | None:
        """Return the first and last number of a table's events (up to a record); None without any.

        Raises:
            JournalError: the file cannot be read.
        """
        before = schema.BEYOND if upto is None else upto + 1
        first = self._event_beside(table, audience, after=0)
        last = self._event_beside(table, audience, before=before)
        return None if first is None or last is None else (first[1], last[1])

    def _event_beside(
        self, table: str, audience: Audience, *, after: int | None = None, before: int | None = None
    ) -> tuple[int, int] | None:
        """Return record and number of a table's first event after one, or its last before one."""
        if before is None:
            query, position = self._events_of(audience, ">", "ASC"), after
        else:
            query, position = self._events_of(audience, "<", "DESC"), before
        assert position is not None
        with schema.translate_errors(self.path):
            rows = self._fetch(f"{query} LIMIT 1", (table, position))
        if not rows:
            return None
        n, _, stored = rows[0]
        try:
            body = self._body(n, table, _STREAM[audience], stored)
            return n, event_id(_event.decode(body).id).number
        except (ValueError, TypeError):
            raise InvalidRow(self.path, n, table) from None

    def rounds(self, query: RoundQuery) -> Iterator[IndexedRound]:
        """Yield the rounds that a query asks for, by the index, in the order of their records.

        Only a reader that ``has_rounds`` has an index of them.

        Raises:
            JournalError: the file cannot be read, or its index has a row that no writer stored.
        """
        if query.last is not None:
            yield from reversed(list(islice(self._indexed_rounds(query), query.last)))
        else:
            yield from self._indexed_rounds(query)

    def _indexed_rounds(self, query: RoundQuery) -> Iterator[IndexedRound]:
        after: int | None = None
        limit = BATCH if query.last is None else min(BATCH, query.last)
        while found := self._index_rows(*round_index.select(query, limit=limit, after=after)):
            yield from found
            after = found[-1].records[0]

    def round(self, of: RoundId) -> IndexedRound | None:
        """Return a round by the index; None where the journal has none of this id.

        Raises:
            JournalError: as ``rounds``.
        """
        return next(iter(self._index_rows(*round_index.select_round(of))), None)

    def _index_rows(self, query: str, bindings: Sequence[int | str]) -> list[IndexedRound]:
        with schema.translate_errors(self.path):
            rows = self._fetch(query, bindings)
        found: list[IndexedRound] = []
        for row in rows:
            if (one := round_index.indexed_round(row)) is None:
                raise corrupt_journal(self.path, "its index of rounds cannot be read")
            found.append(one)
        return found

    def records_at(self, numbers: Sequence[int]) -> Iterator[Record]:
        """Yield the records with these numbers that there are, in order.

        Raises:
            JournalError: the file cannot be read; ``InvalidRow``: one of them cannot.
        """
        left = sorted(set(numbers), reverse=True)
        while left:
            some = set(left[-BATCH:])
            beside = some | {n - 1 for n in some} if self.is_packed else some
            wanted = f"FROM record WHERE n IN ({', '.join(map(str, beside))}) ORDER BY n"
            with schema.translate_errors(self.path):
                rows, spoilt = self._parts(wanted, (), checked=True)
            needed = (row for row in rows if row[0] in some or row[2] == _PUBLIC)
            yield from (record for record in self.unpacked(needed) if record.n in some)
            if spoilt is not None:
                raise InvalidRow(self.path, *spoilt)
            # a batch ends early where its bodies are long
            reached = rows[-1][0] if rows and len(rows) < len(beside) else max(some)
            while left and left[-1] <= reached:
                left.pop()

    def has_cursor(self, sink: str, table: str | None = None) -> bool:
        """Return True if this sink (for this table) was ever given anything, or told to begin.

        Raises:
            JournalError: the file cannot be read.
        """
        query = 'SELECT 1 FROM cursor WHERE sink = ? AND "table" = ?'
        with schema.translate_errors(self.path):
            return bool(self._fetch(query, (sink, table or "")))

    def count_events(self, *, after: int, before: int) -> dict[str, tuple[int, int]]:
        """Return how many events, public and restricted, each table has between two records.

        Raises:
            JournalError: the file cannot be read.
        """
        query = (
            'SELECT "table", sum(kind = ?), sum(kind = ?) FROM record'
            ' WHERE n > ? AND n < ? GROUP BY "table"'
        )
        with schema.translate_errors(self.path):
            rows = self._fetch(query, (*_STREAM.values(), after, before))
        return {table: (public, restricted) for table, public, restricted in rows}

    def cursor(self, sink: str, table: str | None = None) -> int:
        """Return the last record number delivered to this sink (of this table); 0 before the first.

        Raises:
            JournalError: the file cannot be read.
        """
        query = 'SELECT n FROM cursor WHERE sink = ? AND "table" = ?'
        with schema.translate_errors(self.path):
            rows = self._fetch(query, (sink, table or ""))
            if rows and not isinstance(rows[0][0], int):
                raise corrupt_journal(self.path, f"sink {sink} is nowhere in it")
        return int(rows[0][0]) if rows else 0

    def page_of(self, table: str) -> int:
        """Return the first page of one of the file's own tables.

        Raises:
            JournalError: the file cannot be read, or has no such table.
        """
        with schema.translate_errors(self.path):
            rows = self._fetch("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,))
        if not rows:
            raise corrupt_journal(self.path, f"it has no {table}")
        return int(rows[0][0])

    def devices(self, table: str) -> dict[str, int]:
        """Return the last event number stored of each device that this table has had.

        Raises:
            JournalError: the file cannot be read.
        """
        with schema.translate_errors(self.path):
            return dict(
                self._fetch('SELECT device_id, seq FROM device WHERE "table" = ?', (table,))
            )

    def _refuse_if_abandoned(self) -> None:
        if self._abandoned:
            raise JournalError(f"journal {self.path} is not read to its end: it was broken off")

    def _last_n(self) -> int:
        return int(self._fetch("SELECT coalesce(max(n), 0) FROM record")[0][0])

    def _fetch(self, query: str, bindings: Sequence[int | str] = ()) -> list[Any]:
        """Return rows with the types of the schema's strict tables, unless the file is damaged."""
        self._refuse_if_abandoned()
        return self._connection.execute(query, bindings).fetchall()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
