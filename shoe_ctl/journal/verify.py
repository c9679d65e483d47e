"""Verify a journal's hash chains and signatures, and diagnose the first break.

In: a reader, the public keys that may have signed it. Out: a Verification.
Must not know: what a body means, but for checkpoints and the format of starts and snapshots.

Records behind the last checkpoint are only chained: whoever rewrites every hash behind it leaves no
trace here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Literal

import msgspec

from shoe_ctl.journal.anchor import Anchor, WrongAnchor, find_anchor
from shoe_ctl.journal.chain import (
    GENESIS,
    BadRecord,
    Checkpoints,
    Coverage,
    Fault,
    RecordHasher,
    chain_hash,
    pack_head,
)
from shoe_ctl.journal.derived_values import DerivedValues, IndexedRounds
from shoe_ctl.journal.evidence import find_evidence
from shoe_ctl.journal.files import is_held
from shoe_ctl.journal.packing import unpack
from shoe_ctl.journal.reader import Head, Moment, Reader
from shoe_ctl.journal.record_format import (
    JOURNAL,
    InvalidRow,
    Kind,
    Meta,
    Row,
    Snapshot,
    UnknownFormat,
    first_invalid,
)
from shoe_ctl.journal.recovery import unknown_format_error
from shoe_ctl.records import Record

_Row = tuple[int, str, str, bytes, bytes]


class Break(msgspec.Struct, frozen=True):
    """A record that is not what is due: ``ends`` are the chains' ends before it.

    ``after`` gives the records behind it.
    """

    row: _Row
    ends: Mapping[str, bytes]
    heads: Mapping[str, Head]
    after: Callable[[], Iterator[_Row]]

    def end(self, table: str) -> bytes:
        """Return the hash that the next record of this table should follow."""
        return self.ends.get(table, GENESIS)


def diagnose_gap(broken: Break, expected: int) -> BadRecord:
    """Diagnose a row that has another number than ``expected``."""
    n, table, *_ = broken.row
    if n < expected:
        return BadRecord(table, n, Fault.ADDED, f"records are numbered from {expected}")
    last = "" if n == expected + 1 else f" to {n - 1}"
    return BadRecord(
        _first_broken_chain(broken), expected, Fault.MISSING, f"no record {expected}{last}"
    )


def _first_broken_chain(broken: Break) -> str | None:
    """Return the first table whose chain lost a record."""
    ends = dict(broken.ends)
    for n, table, kind, body, digest in _from_break(broken):
        if chain_hash(ends.get(table, GENESIS), n, table, kind, body) != digest:
            return table
        ends[table] = digest
    for table, head in broken.heads.items():
        if ends.get(table) != head.hash:
            return table
    return None


def _from_break(broken: Break) -> Iterator[_Row]:
    yield broken.row
    yield from broken.after()


def diagnose(broken: Break) -> BadRecord:
    """Diagnose a row that has the right number, but not the hash that is due."""
    n, table, kind, body, digest = broken.row
    if n > max((head.n for head in broken.heads.values()), default=0):
        return BadRecord(table, n, Fault.ADDED, "it stands behind the journal's end")
    displaced = _displaced(broken)
    if displaced is not None:
        return displaced
    if chain_hash(broken.end(table), n + 1, table, kind, body) == digest:
        return BadRecord(None, n, Fault.MISSING, "taken out, and the records after it renumbered")
    return _by_successor(broken)


def diagnose_in_export(broken: Break) -> BadRecord:
    """Diagnose a row of an export, where other tables' records leave gaps in the numbers."""
    found = _by_successor(broken)
    if (found.why, found.detail) == (
        Fault.ALTERED,
        None,
    ):  # the same is seen where the record before it is not there
        return BadRecord(found.table, found.n, Fault.ALTERED, "or missing, the record before it")
    return found


def _by_successor(broken: Break) -> BadRecord:
    """Diagnose a row by the record that the table's next one followed."""
    n, table, kind, body, digest = broken.row
    due = chain_hash(broken.end(table), n, table, kind, body)
    for later_n, later_table, later_kind, later_body, later_digest in broken.after():
        if later_table != table:
            continue

        def follows(
            before: bytes,
            number: int,
            *,
            record: tuple[str, bytes, bytes] = (later_kind, later_body, later_digest),
        ) -> bool:
            return chain_hash(before, number, table, record[0], record[1]) == record[2]

        if follows(digest, later_n):
            return BadRecord(table, n, Fault.ALTERED)
        if follows(due, later_n):
            return BadRecord(table, n, Fault.ALTERED, "its hash")
        if follows(digest, later_n + 1):
            detail = "taken out, and the records after it renumbered"
            return BadRecord(table, n, Fault.MISSING, detail)
        break
    else:
        head = broken.heads.get(table)
        if head is not None and head.n == n and head.hash in (digest, due):
            return BadRecord(table, n, Fault.ALTERED, None if head.hash == digest else "its hash")
    return BadRecord(
        table, n, Fault.ALTERED, "it does not follow from the table's record before it"
    )


def _displaced(broken: Break) -> BadRecord | None:
    """Find the record that belongs here among those behind it, if it is there."""
    n, table, kind, body, digest = broken.row
    running = dict(broken.ends)
    for at, other, other_kind, other_body, other_digest in broken.after():
        if chain_hash(broken.end(other), n, other, other_kind, other_body) == other_digest:
            came_from = (running.get(table, GENESIS), other_digest)
            if any(chain_hash(before, at, table, kind, body) == digest for before in came_from):
                return BadRecord(other, n, Fault.OUT_OF_ORDER, f"record {n} stands at {at}")
            return BadRecord(table, n, Fault.ADDED, f"what was record {n} stands at {at}")
        running[other] = other_digest
    return None


class Verification(msgspec.Struct, frozen=True):
    """The result: ``records`` good ones of ``tables`` tables before the first bad one.

    ``signed`` says which of them are signed; ``not_signed`` counts those behind, up to ``last_n``,
    the journal's last. ``first_n`` is the first record: those before it were taken out.
    ``head_file``: it agrees, or there is none that shows that this is the newest; None for an
    export.
    """

    ok: bool
    records: int
    tables: int
    first_bad: BadRecord | None
    signed: Coverage
    last_n: int
    first_n: int = 1
    not_signed: int = 0
    head_file: Literal["agrees", "missing"] | None = None


_NOTED = frozenset((Kind.CONNECTION.value, Kind.INPUT.value))

_EVENTS = frozenset((Kind.PUBLIC.value, Kind.RESTRICTED.value))

_INDEXED = frozenset((Kind.META.value, Kind.SNAPSHOT.value, Kind.CHECKPOINT.value))

Progress = Callable[[int, int], None]
"""Is called now and then with the record reached and the last one."""


def verify(
    reader: Reader,
    trusted: frozenset[bytes] = frozenset(),
    *,
    signed_to: int = 0,
    newest: bool = True,
    progress: Progress = lambda _n, _last_n: None,
) -> Verification:
    """Verify all records there are at this moment; a daemon may go on writing behind them.

    ``trusted`` are the public keys (32 bytes each) that checkpoints may be signed with; where any
    is named there must be a checkpoint. None: any key may. ``signed_to`` is a record up to which
    the journal is known to have been signed: one that was cut off before it is told by that alone.
    ``newest`` false: what shows that its newest part was lost is not looked at.

    Raises:
        JournalError: the journal cannot be read, or has a record of another format.
    """
    while True:
        found = _verify_once(reader, trusted, progress, newest=newest)
        if found.ok and found.signed.upto < signed_to:
            bad = _diagnose_truncation(found.last_n, signed_to)
            found = msgspec.structs.replace(found, ok=False, first_bad=bad)
        # a daemon may take old records out while others are read
        if found.ok or found.first_n >= _first_n(reader):
            return found


def _diagnose_truncation(last_n: int, signed_to: int) -> BadRecord:
    """Diagnose a journal that is shorter than it is known to have been."""
    if last_n < signed_to:
        detail = f"it breaks off, and was signed up to record {signed_to}"
        return BadRecord(None, last_n + 1, Fault.MISSING, detail)
    detail = f"the checkpoint that signed it up to record {signed_to}"
    return BadRecord(JOURNAL, signed_to + 1, Fault.MISSING, detail)


def _first_n(reader: Reader) -> int:
    try:
        return find_anchor(reader).n
    except WrongAnchor:
        return 0


def _verify_once(
    reader: Reader, trusted: frozenset[bytes], progress: Progress, *, newest: bool
) -> Verification:
    looked_at = newest and not reader.is_export
    found = find_evidence(reader, writer_at_work=is_held(reader.path)) if looked_at else []
    moment = reader.moment()
    last_n, heads = moment.last_n, moment.heads
    try:
        begins = find_anchor(reader)
    except WrongAnchor as error:
        bad = BadRecord(JOURNAL, error.n, error.fault, error.detail)
        return Verification(False, 0, len(heads.keys() - {JOURNAL}), bad, Coverage(), last_n)
    walk = _Walk(reader, trusted, begins, last_n, heads)
    wrong = walk.records_hold(progress) or walk.heads_hold() or walk.form_holds()
    wrong = wrong or walk.index_holds() or walk.notes_hold(moment)
    head_file: Literal["agrees", "missing"] | None = "agrees" if looked_at else None
    for doubt in found:
        if doubt.code == "head_missing":
            head_file = "missing"
        elif wrong is None:
            wrong = BadRecord(None, last_n + 1, Fault.MISSING, f"{doubt.what}")
    if wrong is None and trusted and not walk.checkpoints.coverage.checkpoints:
        wrong = BadRecord(None, last_n, Fault.MISSING, "no checkpoint signs any of it")
    return Verification(
        wrong is None,
        walk.records,
        len((heads if reader.is_export else walk.ends).keys() - {JOURNAL}),
        wrong,
        walk.checkpoints.coverage,
        last_n,
        begins.n,
        walk.records - walk.signed,
        head_file,
    )


class _Walk:
    """One pass over the records, in order. ``ends`` are the chains' ends so far.

    ``signed`` of the ``records`` stand before or in the last checkpoint.
    """

    def __init__(
        self,
        reader: Reader,
        trusted: frozenset[bytes],
        begins: Anchor,
        last_n: int,
        heads: Mapping[str, Head],
    ) -> None:
        self._reader = reader
        self._begins = begins
        self._whole = not reader.is_export
        self._last_n, self._heads = last_n, heads
        self._due = begins.n
        self._row: Row | None = None
        self.records = self.signed = 0
        self.ends: dict[str, bytes] = dict(begins.ends)
        self.checkpoints = Checkpoints(
            trusted, late=begins.n > 1, only=None if self._whole else frozenset(heads)
        )
        self._seen: dict[tuple[str, str], RecordHasher] = {}
        self._notes: dict[str, DerivedValues] = {}
        self._rounds = IndexedRounds(reader) if reader.has_rounds else None

    def records_hold(self, progress: Progress) -> BadRecord | None:
        """Return what is wrong with the first record that is not what was written."""
        try:
            return self._walked_over_types(progress)
        except InvalidRow as spoilt:
            if self._whole and spoilt.n != self._due:
                return BadRecord(spoilt.table, self._due, Fault.MISSING, f"no record {self._due}")
            return BadRecord(spoilt.table, spoilt.n, Fault.ALTERED, "it cannot be read")

    def _walked_over_types(self, progress: Progress) -> BadRecord | None:
        try:
            return self._walked(progress)
        except TypeError:  # a value of another type cannot be hashed
            if self._row is not None:
                self._check(self._row)
            raise

    def _walked(self, progress: Progress) -> BadRecord | None:
        # A million records a few microseconds each: what is asked for once a record stands here.
        ends, seen, whole, due = self.ends, self._seen, self._whole, self._due
        records = 0

        def passing(n: int) -> None:
            self._take_notes()
            progress(n, self._last_n)

        # What is no record has another hash, or none: only then its types are looked at.
        rows = self._reader.rows(after=None, upto=self._last_n, passing=passing, checked=False)
        row: Row | None = None
        try:
            for row in rows:
                n, table, kind, body, digest = row
                names = seen.get((table, kind))
                if names is None:
                    self._check(row)
                    names = self._named(table, kind)
                if n != due and (whole or n < due):
                    return self._placed(row, due)
                head = pack_head(n, names.lengths, len(body))
                if sha256(ends.get(table, GENESIS) + head + names.names + body).digest() != digest:
                    return self._placed(row, due)
                if names.kept is not None:
                    names.kept.add(n)
                    if (bad := self._is_wrong(row, records)) is not None:
                        return bad
                elif names.observe is not None:
                    names.observe(row)
                ends[table] = digest
                names.count += 1
                records += 1
                due = n + 1
        finally:
            self.records, self._due, self._row = records, due, row
        return None

    def _take_notes(self) -> None:
        for notes in self._notes.values():
            notes.take()
        if self._rounds is not None:
            self._rounds.take()

    def _check(self, row: Row) -> None:
        """Refuse a row that no writer stored.

        Raises:
            InvalidRow: it is one.
        """
        if first_invalid([row]) is not None:
            table: object = row[1]
            raise InvalidRow(self._reader.path, row[0], table if isinstance(table, str) else None)

    def _named(self, table: str, kind: str) -> RecordHasher:
        names = self._seen[table, kind] = RecordHasher(table, kind)
        if kind in _INDEXED:
            names.kept = set()
        elif kind in _NOTED:
            notes = self._notes.get(table)
            if notes is None:
                notes = DerivedValues(table, whole=table not in self._begins.ends)
                self._notes[table] = notes
            names.observe = notes.see_input if kind == Kind.INPUT.value else notes.see_connection
        elif kind in _EVENTS and self._rounds is not None:
            names.observe = self._rounds.see_event
        return names

    def _is_wrong(self, row: Row, records: int) -> BadRecord | None:
        """Return what is wrong with an indexed record, though it is in its chain.

        Raises:
            JournalError: it is of another format.
        """
        n, table, kind, body, digest = row
        if kind == Kind.CHECKPOINT.value:
            bad = self.checkpoints.check(n, body, self.ends)
            if bad is None:
                self.signed = records + 1
            return bad
        if table == JOURNAL:
            return None
        body = unpack(table, kind, body)
        try:
            (Meta if kind == Kind.META.value else Snapshot).from_bytes(body)
        except UnknownFormat as error:
            record = Record(n=n, table=table, kind=kind, body=body, hash=digest)
            raise unknown_format_error(record, self._reader.path, error) from None
        except ValueError as error:
            return BadRecord(table, n, Fault.ALTERED, f"it is no {kind} record: {error}")
        return None

    def _placed(self, row: Row, due: int) -> BadRecord:
        self._check(row)

        def after() -> Iterator[Row]:
            with suppress(InvalidRow):  # what tells nothing is behind the end of what does
                yield from self._reader.rows(after=row[0], upto=self._last_n)

        broken = Break(row, self.ends, self._heads, after)
        if row[0] < due or (self._whole and row[0] != due):
            return diagnose_gap(broken, due)
        return diagnose(broken) if self._whole else diagnose_in_export(broken)

    def heads_hold(self) -> BadRecord | None:
        """Return how the heads differ from the records, which all follow from one another."""
        heads, last_n = self._heads, self._last_n
        beyond = [(head.n, table) for table, head in heads.items() if head.n > last_n]
        if beyond:
            n, table = min(beyond)
            return BadRecord(table, n, Fault.MISSING, f"the journal breaks off at record {last_n}")
        for table in sorted(self.ends.keys() | heads.keys() if self._whole else heads):
            head = heads.get(table)
            if head is None:
                return BadRecord(table, last_n, Fault.WRONG_HEAD, "the table's head is missing")
            if head.hash != self.ends.get(table) or not self._ends_at(table, head):
                return BadRecord(
                    table, head.n, Fault.WRONG_HEAD, "the table's head is not its last record"
                )
            before = self._begins.counters.get(table, (0, 0))
            for kind, counted, told in (
                (Kind.PUBLIC, head.counters.public, before[0]),
                (Kind.RESTRICTED, head.counters.restricted, before[1]),
            ):
                names = self._seen.get((table, kind.value))
                stored = told + (0 if names is None else names.count)
                if stored != counted:
                    detail = (
                        f"the head counts {counted} records of {kind.value}, there are {stored}"
                    )
                    return BadRecord(table, head.n, Fault.WRONG_HEAD, detail)
        return None

    def form_holds(self) -> BadRecord | None:
        """Return how the file's schema was changed: a trigger would change what is stored next."""
        difference = self._reader.schema_difference()
        if difference is None:
            return None
        return BadRecord(None, 0, Fault(difference.fault), difference.what)

    def notes_hold(self, moment: Moment) -> BadRecord | None:
        """Return what is stored beside the records without following from them; not in exports."""
        if not self._whole:
            return None
        for table in sorted(moment.heads.keys() | moment.devices.keys()):
            head = moment.heads.get(table)
            if head is None:
                return BadRecord(
                    table, moment.last_n, Fault.ADDED, "the note of a shoe of no table"
                )
            notes = self._notes.get(table)
            if notes is None:
                notes = DerivedValues(table, whole=table not in self._begins.ends)
            if (why := notes.wrong(head, moment.devices.get(table, {}))) is not None:
                return BadRecord(table, head.n, Fault.ALTERED, f"{why}")
        for sink, n in moment.cursors:
            if not 0 <= n <= moment.last_n:
                return BadRecord(None, n, Fault.ALTERED, f"the place of sink {sink} is no record's")
        return None

    def index_holds(self) -> BadRecord | None:
        """Return how an index, by which a restart or an id finds records, differs from them."""
        if (counted := self._reader.indexed_events(self._last_n)) is not None:
            kinds = (Kind.RESTRICTED,) if self._reader.is_packed else (Kind.PUBLIC, Kind.RESTRICTED)
            for kind in [kind.value for kind in kinds]:
                for table in sorted(self.ends):
                    names = self._seen.get((table, kind))
                    stored = 0 if names is None else names.count
                    if counted.get((table, kind), 0) != stored:
                        what = "the file's index, that does not lead to each event"
                        return BadRecord(table, self._last_n, Fault.ALTERED, what)
        if self._rounds is not None and (bad := self._rounds.wrong(self._last_n)) is not None:
            return bad
        if (listed := self._reader.index_entries(self._last_n)) is None:
            return None
        indexed: dict[tuple[str, str], set[int]] = {}
        for table, kind, n in listed:
            indexed.setdefault((table, kind), set()).add(n)
        kept = {key: names.kept for key, names in self._seen.items() if names.kept is not None}
        wrong = [
            (n, table)
            for table, kind in indexed.keys() | kept.keys()
            for n in indexed.get((table, kind), set()) ^ kept.get((table, kind), set())
        ]
        if not wrong:
            return None
        n, table = min(wrong)
        return BadRecord(table, n, Fault.ALTERED, "the file's index, that does not lead to it")

    def _ends_at(self, table: str, head: Head) -> bool:
        """Return True if the record that the head names has the head's hash."""
        if head.n < self._begins.n:
            return True  # a table of long ago: all of it was taken out
        rows = self._reader.rows(after=head.n - 1, upto=head.n)
        return [(row[1], row[4]) for row in rows] == [(table, head.hash)]
