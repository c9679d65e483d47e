"""Reading a journal: its records in order, and what it remembers of each table and sink.

In: a journal's path. Out: records, heads, cursors, device numbers.
Must not know: how it is written, what a body means. It never writes and holds no lock for long,
so that a running daemon does not notice it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import msgspec

from shoe_ctl.errors import JournalError
from shoe_ctl.journal import round_index, schema
from shoe_ctl.journal.batch import Counters, Head
from shoe_ctl.journal.files import corrupt_journal
from shoe_ctl.journal.group import (
    LETTERS,
    LONGEST_HEADER,
    MOST_RECORDS,
    Header,
    InvalidGroup,
    count_events,
    event_contents,
    read_header,
    unpack_group,
)
from shoe_ctl.journal.merkle_tree import HASH_BYTES
from shoe_ctl.journal.past_checkpoints import PastCheckpoint
from shoe_ctl.journal.record_format import JOURNAL, InvalidRow, Kind, Row, first_invalid
from shoe_ctl.journal.round_index import IndexedRound, RoundId, RoundQuery
from shoe_ctl.records import Audience, EventId, Record

BATCH = 1000
"""Groups read at a time: a read that lasts keeps the writer from tidying its log."""

BATCH_BYTES = 1 << 22
"""Bytes that are read at a time, and one group more: whoever made the file may have made its groups
as long as they are read at all."""

_AT_ONCE = 16
"""Groups between two looks at their bytes: a look at each costs a fifth of the reading, and so many
of the longest still fit in memory."""

_PARTS = 'n, "table", body, hash'

_body = itemgetter(2)

_HEADS = 'SELECT "table", n, hash, public, restricted, connection, t_us FROM head'

_HEAD_TYPES = (str, int, bytes, int, int, int, int)

_RESTRICTED = LETTERS[Kind.RESTRICTED]

_STREAM = {Audience.PUBLIC: Kind.PUBLIC, Audience.RESTRICTED: Kind.RESTRICTED}


BEGINNING = "<beginning>"
"""Stands for a table, of which none is called so, at the place where a sink began."""

CHECKPOINTS = "<checkpoints>"
"""Stands for a table, of which none is called so, at a sink's place among the checkpoints."""


class Moment(msgspec.Struct, frozen=True):
    """A journal's last record, and what stands beside its records; ``devices`` by table."""

    last_n: int
    heads: Mapping[str, Head]
    devices: Mapping[str, Mapping[str, int]]
    cursors: Sequence[tuple[str, int]]


class IndexedEvent(msgspec.Struct, frozen=True, gc=False):
    """A restricted event to which the index of rounds leads.

    ``t_us`` is the time that its group begins with; ``content`` its JSON without id and time, None
    where that was not unpacked.
    """

    n: int
    table: str
    t_us: int
    content: bytes | None


class Reader:
    """A connection that only reads. Not to be used by two threads at once."""

    def __init__(self, opened: schema.ReadConnection, path: Path) -> None:
        self._connection = opened.connection
        self.path = path
        self.is_export = opened.is_export
        self.has_rounds = not opened.is_export
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
        rows = self.rows(after=after, upto=upto, table=table)
        for record in self.unpacked(rows, kinds, after=after):
            if upto is not None and record.n > upto:
                return
            yield record

    def rows(  # noqa: PLR0913 - which rows, and how they are read
        self,
        *,
        after: int | None = 0,
        upto: int | None = None,
        table: str | None = None,
        passing: Callable[[int], None] = lambda _: None,
        checked: bool = True,
        at_once: int | None = None,
    ) -> Iterator[Row]:
        """Yield the groups that hold ``records``; with ``after=None`` also those with n below 1.

        ``passing`` is called now and then with the number that was come to. With ``checked`` false
        a row may have values of any type, as a damaged file has. ``at_once`` are read at a time.
        """
        where: list[str] = ["n > ?"]
        bindings: list[int | str] = []
        if upto is not None:  # the last one may go on behind it
            where.append("n <= coalesce((SELECT min(n) FROM record_group WHERE n >= ?), ?)")
            bindings += [upto, upto]
        if table is not None:
            where.append('"table" = ?')
            bindings.append(table)
        wanted = (
            f"FROM record_group WHERE {' AND '.join(where)} ORDER BY n LIMIT {at_once or BATCH:d}"
        )
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

    def leaf_hashes(self, after: int) -> Iterator[bytes]:
        """Yield the hashes of the groups that end behind record ``after``: leaves of the tree.

        Raises:
            JournalError: the file cannot be read, or one is no hash.
        """
        query = "SELECT n, hash FROM record_group WHERE n > ? ORDER BY n LIMIT ?"
        while True:
            with schema.translate_errors(self.path):
                rows = self._fetch(query, (after, BATCH))
            for n, digest in rows:
                if type(digest) is not bytes or len(digest) != HASH_BYTES or n <= after:
                    raise InvalidRow(self.path, n, None)
                after = n
                yield digest
            if not rows:
                return

    def past_checkpoints(self) -> list[PastCheckpoint]:
        """Return what is kept of checkpoints whose records were removed, in order.

        Raises:
            JournalError: the file cannot be read.
        """
        if self.is_export:
            return []
        with schema.translate_errors(self.path):
            rows = self._fetch("SELECT n, size, leaf, parts FROM past_checkpoint ORDER BY n")
        if any(tuple(map(type, row)) != (int, int, bytes, bytes) for row in rows):
            raise corrupt_journal(self.path, "what is kept of past checkpoints cannot be read")
        return [PastCheckpoint(*row) for row in rows]

    def unpacked(
        self, rows: Iterable[Row], kinds: Sequence[Kind] = (), *, after: int = 0
    ) -> Iterator[Record]:
        """Yield the records of groups, those behind ``after``, of kinds if named.

        A record's hash is its group's.

        Raises:
            InvalidRow: a group cannot be unpacked.
        """
        wanted = b"".join(LETTERS[kind] for kind in kinds) if kinds else None
        for n, table, body, digest in rows:
            try:
                header = read_header(body)
                if wanted is not None and not header.has(wanted):
                    continue
                first = n - header.records + 1
                for place, kind, record in unpack_group(table, body, wanted):
                    if first + place > after:
                        yield Record(
                            n=first + place, table=table, kind=kind, body=record, hash=digest
                        )
            except InvalidGroup as error:
                raise InvalidRow(self.path, n, table, str(error)) from None

    def hash_before(self, table: str, n: int) -> bytes | None:
        """Return the hash of the table's last group that ends before record ``n``; None without.

        Raises:
            JournalError: the file cannot be read.
        """
        query = (
            f'SELECT {_PARTS} FROM record_group WHERE "table" = ? AND n < ? ORDER BY n DESC LIMIT 1'
        )
        with schema.translate_errors(self.path):
            rows = self._fetch(query, (table, n))
        if first_invalid(rows) is not None:
            raise InvalidRow(self.path, rows[0][0], table)
        return bytes(rows[0][3]) if rows else None

    def has_end(self, table: str, n: int, digest: bytes) -> bool:
        """Return True if a group of this table ends with record ``n`` and has this hash.

        Raises:
            JournalError: the file cannot be read.
        """
        there = [(row[0], row[1], row[3]) for row in self.rows(after=n - 1, upto=n)]
        return there == [(n, table, digest)]

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
                    rows += self._fetch(f"SELECT {_PARTS} FROM record_group WHERE n = ?", (n,))
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
                left -= sum(len(row[2]) for row in some if isinstance(row[2], bytes | str))
        return rows

    def newest(self, before: int | None = None) -> int | None:
        """Return the last record's number, or the last before this one; None where there is none.

        Raises:
            JournalError: the file cannot be read.
        """
        query = "SELECT max(n) FROM record_group WHERE n < ?"
        if before is not None:  # a group may go on behind it
            found = self._first_group("WHERE n >= ?", (before - 1,))
            if found is not None and found[0] - found[1].records < before - 1:
                return before - 1
        with schema.translate_errors(self.path):
            (last,) = self._fetch(query, (schema.BEYOND if before is None else before,))[0]
        return None if last is None else int(last)

    def first_n(self) -> int | None:
        """Return the first record's number; None where there is none.

        Raises:
            JournalError: the file cannot be read.
        """
        found = self._first_group("", ())
        return None if found is None else found[0] - found[1].records + 1

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
        position = after if after is not None else schema.BEYOND if before is None else before
        if table == JOURNAL:
            yield from self._own_records(kind, position, sign, order)
            return
        query = (
            f'SELECT n FROM landmark WHERE "table" = ? AND kind = ? AND n {sign} ?'
            f" ORDER BY n {order} LIMIT 1"
        )
        while True:
            with schema.translate_errors(self.path):
                rows = self._fetch(query, (table, kind.value, position))
            if not rows:
                return
            position = rows[0][0]
            if not isinstance(position, int):
                raise corrupt_journal(self.path, f"the number of a {kind.value} cannot be read")
            for record in self.records(after=position - 1, upto=position, kinds=(kind,)):
                if record.table == table:
                    yield record
                    break
            else:
                what = f"record {position} is no {kind.value} of table {table}"
                raise corrupt_journal(self.path, f"{what}, as is kept beside it")

    def _own_records(self, kind: Kind, position: int, sign: str, order: str) -> Iterator[Record]:
        """Yield records of the journal's own chain, each looked up when it is asked for."""
        query = (
            f'SELECT {_PARTS} FROM record_group WHERE "table" = ? AND n {sign} ?'
            f" ORDER BY n {order} LIMIT 1"
        )
        # The group of the record that is begun at may end behind it.
        at = position if order == "ASC" else min(position + MOST_RECORDS, schema.BEYOND)
        while True:
            with schema.translate_errors(self.path):
                rows = self._fetch(query, (JOURNAL, at))
            if not rows:
                return
            at = rows[0][0]
            if first_invalid(rows) is not None:
                raise InvalidRow(self.path, at, JOURNAL)
            found = list(self.unpacked(rows, (kind,)))
            if order == "ASC":
                yield from (record for record in found if record.n > position)
            else:
                yield from (record for record in reversed(found) if record.n < position)

    def landmarks(self, upto: int) -> list[tuple[str, str, int]]:
        """Return table, kind and number of each landmark up to a record, as kept beside them.

        Raises:
            JournalError: the file cannot be read.
        """
        with schema.translate_errors(self.path):
            return self._fetch('SELECT "table", kind, n FROM landmark WHERE n <= ?', (upto,))

    def indexed_groups(self, upto: int) -> dict[str, int] | None:
        """Return how many groups of each table up to a record the index has.

        None where the file has no such index.

        Raises:
            JournalError: the file cannot be read.
        """
        query = (
            'SELECT "table", count(*) FROM record_group INDEXED BY of_table'
            ' WHERE n <= ? GROUP BY "table"'
        )
        with schema.translate_errors(self.path):
            if not schema.has_index(self._connection, "of_table"):
                return None
            return dict(self._fetch(query, (upto,)))

    def events(
        self, audience: Audience, *, after: int, limit: int, table: str | None = None
    ) -> tuple[list[tuple[int, bytes]], int]:
        """Return the next events of a stream, oldest first, and the last record that was searched.

        Each is its record number and the envelope's bytes. There is no other event of the stream
        between ``after`` and the record number returned beside them.

        Raises:
            JournalError: the file cannot be read.
        """
        found: list[tuple[int, bytes]] = []
        with schema.translate_errors(self.path), self._connection:
            last_n = self._last_n()
            rows = self.rows(after=after, table=table, at_once=limit)
            for record in self.unpacked(rows, (_STREAM[audience],), after=after):
                found.append((record.n, record.body))
                if len(found) == limit:
                    return found, record.n
        return found, last_n

    def find_event(self, wanted: EventId) -> int | None:
        """Return the record of the event with this id; None where the journal does not have it.

        Each group says how many events its table had before it: a search by halves finds the one.

        Raises:
            JournalError: the file cannot be read.
        """
        of = wanted.audience is Audience.RESTRICTED
        low, high = 0, self.newest() or 0
        while low < high:
            middle = (low + high) // 2
            found = self._first_group('WHERE "table" = ? AND n > ?', (wanted.table, middle))
            if found is None:
                high = middle
                continue
            n, header = found
            number = wanted.number - (header.before.public, header.before.restricted)[of]
            if number < 1:
                high = middle
            elif number > count_events(header.kinds)[of]:
                low = n
            else:
                letters = LETTERS[_STREAM[wanted.audience]]
                places = [at for at, letter in enumerate(header.kinds) if letter in letters]
                return n - header.records + 1 + places[number - 1]
        return None

    def event_numbers(
        self, table: str, audience: Audience, *, upto: int | None = None
    ) -> tuple[int, int] | None:
        """Return the first and last number of a table's events (up to a record); None without any.

        Raises:
            JournalError: the file cannot be read.
        """
        first = self._first_group('WHERE "table" = ?', (table,))
        if first is None:
            return None
        of = audience is Audience.RESTRICTED
        before = first[1].before
        number = (before.public, before.restricted)[of] + 1
        last = self._counted(table, schema.BEYOND if upto is None else upto)[of]
        return None if last < number else (number, last)

    def _counted(self, table: str, upto: int) -> tuple[int, int]:
        """Return how many events, public and restricted, a table had up to a record."""
        found = self._first_group('WHERE "table" = ? AND n >= ?', (table, upto))
        if found is not None:
            n, header = found
            kinds = header.kinds[: max(0, upto - (n - header.records))]
        else:
            found = self._first_group('WHERE "table" = ? ', (table,), order="DESC")
            if found is None:
                return (0, 0)
            header, kinds = found[1], found[1].kinds
        public, restricted = count_events(kinds)
        return header.before.public + public, header.before.restricted + restricted

    def _first_group(
        self, where: str, bindings: Sequence[int | str], *, order: Literal["ASC", "DESC"] = "ASC"
    ) -> tuple[int, Header] | None:
        """Return number and header of the first group of these; None where there is none."""
        query = (
            f'SELECT n, "table", substr(body, 1, {LONGEST_HEADER}), hash FROM record_group {where}'
            f" ORDER BY n {order} LIMIT 1"
        )
        with schema.translate_errors(self.path):
            rows = self._fetch(query, bindings)
        if not rows:
            return None
        n, table, body, _ = rows[0]
        try:
            if first_invalid(rows) is not None:
                raise InvalidRow(self.path, n, _text(table))
            return n, read_header(body)
        except InvalidGroup as error:
            raise InvalidRow(self.path, n, table, str(error)) from None

    def rounds(self, query: RoundQuery) -> Iterator[IndexedRound]:
        """Yield the rounds that a query asks for, by the index, in the order of their records.

        An export has no index of them.

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
        for row, header, held in self._groups_at(numbers):
            n, table, body, digest = row
            first = n - header.records + 1
            places = {number - first for number in held}
            try:
                for place, kind, record in unpack_group(table, body, header=header, places=places):
                    yield Record(n=first + place, table=table, kind=kind, body=record, hash=digest)
            except InvalidGroup as error:
                raise InvalidRow(self.path, n, table, str(error)) from None

    def events_at(
        self, numbers: Sequence[int], *, unread: Container[int] = ()
    ) -> Iterator[IndexedEvent]:
        """Yield the restricted events with these numbers that there are, in order.

        Of those ``unread`` nothing is unpacked.

        Raises:
            JournalError: the file cannot be read; ``InvalidRow``: one of them cannot.
        """
        for (n, table, body, _), header, held in self._groups_at(numbers):
            first, t_us, kinds = n - header.records + 1, header.t_us, header.kinds
            places = []
            for number in held:
                if kinds[number - first] in _RESTRICTED:
                    if number in unread:
                        yield IndexedEvent(number, table, t_us, None)
                    else:
                        places.append(number - first)
            if places:
                try:
                    for place, content in event_contents(body, header, places):
                        yield IndexedEvent(first + place, table, t_us, content)
                except InvalidGroup as error:
                    raise InvalidRow(self.path, n, table, str(error)) from None

    def _groups_at(self, numbers: Sequence[int]) -> Iterator[tuple[Row, Header, Sequence[int]]]:
        """Yield each group that holds some of these records, with its header and their numbers."""
        left = sorted(set(numbers), reverse=True)
        while left:
            some = left[-BATCH:]
            wanted = ", ".join(f"({n})" for n in some)
            which = (
                "FROM record_group WHERE n IN (SELECT (SELECT min(held.n) FROM record_group AS held"
                f" WHERE held.n >= wanted.column1) FROM (VALUES {wanted}) AS wanted) ORDER BY n"
            )
            with schema.translate_errors(self.path):
                rows, spoilt = self._parts(which, (), checked=True)
            for row in rows:  # fewer than asked for where groups are long
                n, table, body, _ = row
                try:
                    header = read_header(body)
                except InvalidGroup as error:
                    raise InvalidRow(self.path, n, table, str(error)) from None
                first, held = n - header.records + 1, []
                while left and left[-1] <= n:
                    if (number := left.pop()) >= first:
                        held.append(number)
                yield row, header, held
            if spoilt is not None:
                raise InvalidRow(self.path, *spoilt)
            if not rows:
                return

    def has_cursor(self, sink: str, table: str | None = None) -> bool:
        """Return True if this sink (for this table) was ever given anything, or told to begin.

        Raises:
            JournalError: the file cannot be read.
        """
        query = 'SELECT 1 FROM cursor WHERE sink = ? AND "table" = ?'
        with schema.translate_errors(self.path):
            return bool(self._fetch(query, (sink, table or "")))

    def beginning(self, sink: str) -> int:
        """Return the record behind which this sink began; 0 where that was the journal's first.

        Raises:
            JournalError: the file cannot be read.
        """
        return self.cursor(sink, BEGINNING)

    def count_events(self, *, after: int, before: int) -> dict[str, tuple[int, int]]:
        """Return how many events, public and restricted, each table has between two records.

        Raises:
            JournalError: the file cannot be read.
        """
        with schema.translate_errors(self.path):
            tables = self._fetch('SELECT "table" FROM head')
        found: dict[str, tuple[int, int]] = {}
        for (table,) in tables:
            public, restricted = self._counted(table, before - 1)
            earlier = self._counted(table, after)
            counted = (public - earlier[0], restricted - earlier[1])
            if any(counted):
                found[table] = counted
        return found

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
        return int(self._fetch("SELECT coalesce(max(n), 0) FROM record_group")[0][0])

    def _fetch(self, query: str, bindings: Sequence[int | str] = ()) -> list[Any]:
        """Return rows with the types of the schema's strict tables, unless the file is damaged."""
        self._refuse_if_abandoned()
        return self._connection.execute(query, bindings).fetchall()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
