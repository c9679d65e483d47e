"""Verify a journal's hash chains and signatures, and diagnose the first break.

In: a reader, the public keys that may have signed it. Out: a Verification.
Must not know: what a body means, but for checkpoints and the format of starts and snapshots.

Records behind the last checkpoint are only chained: whoever rewrites every hash behind it leaves no
trace here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from shoe_ctl.journal.anchor import Anchor, WrongAnchor, find_anchor
from shoe_ctl.journal.batch import Counters, Head
from shoe_ctl.journal.chain import (
    GENESIS,
    BadRecord,
    Checkpoints,
    Coverage,
    Fault,
    chain_hash,
    pack_head,
)
from shoe_ctl.journal.derived_values import (
    DerivedValues,
    IndexedRounds,
    RoundCounts,
    TableValues,
)
from shoe_ctl.journal.evidence import find_evidence
from shoe_ctl.journal.files import is_held
from shoe_ctl.journal.group import (
    HASHED_WHOLE,
    LETTERS,
    MOST_RECORDS,
    Header,
    InvalidGroup,
    Letter,
    count_events,
    hashed_bytes,
    landmarks,
    read_header,
    timed_first,
    unpack_group,
)
from shoe_ctl.journal.key_changes import trust_of
from shoe_ctl.journal.merkle_tree import LEAF, Frontier
from shoe_ctl.journal.past_checkpoints import trees
from shoe_ctl.journal.reader import Moment, Reader
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
from shoe_ctl.journal.times import RanBackwards, Times
from shoe_ctl.records import Record


class Break(msgspec.Struct, frozen=True):
    """A group that is not what is due: ``ends`` are the chains' ends before it.

    ``first`` is the number of the record that is due. ``after`` gives the groups behind it.
    """

    row: Row
    first: int
    ends: Mapping[str, bytes]
    heads: Mapping[str, Head]
    after: Callable[[], Iterator[Row]]

    def end(self, table: str) -> bytes:
        """Return the hash that the next group of this table should follow."""
        return self.ends.get(table, GENESIS)


def _count(table: str, body: bytes) -> int | None:
    """Return how many records a group has; None where it cannot be unpacked."""
    with suppress(InvalidGroup):
        return sum(1 for _ in unpack_group(table, body))
    return None


def diagnose(broken: Break) -> BadRecord:
    """Diagnose a group that has not the number or not the hash that is due."""
    n, table, body, digest = broken.row
    first = broken.first
    if n < first:
        return BadRecord(table, n, Fault.ADDED, f"records are numbered from {first}")
    if n > max((head.n for head in broken.heads.values()), default=0):
        return BadRecord(table, first, Fault.ADDED, "it stands behind the journal's end")
    displaced = _displaced(broken)
    if displaced is not None:
        return displaced
    count = _count(table, body)
    begins = None if count is None else n - count + 1
    if begins is not None and begins > first:
        last = "" if begins == first + 1 else f" to {begins - 1}"
        detail = f"no record {first}{last}"
        return BadRecord(_first_broken_chain(broken), first, Fault.MISSING, detail)
    end = broken.end(table)
    if any(chain_hash(end, n + more, table, body) == digest for more in _RENUMBERED):
        return BadRecord(None, first, Fault.MISSING, _TAKEN_OUT)
    return _by_successor(broken)


_RENUMBERED = range(1, MOST_RECORDS + 1)
_TAKEN_OUT = "taken out, and the records after it renumbered"


def _first_broken_chain(broken: Break) -> str | None:
    """Return the first table whose chain lost a group."""
    ends = dict(broken.ends)
    for n, table, body, digest in _from_break(broken):
        if chain_hash(ends.get(table, GENESIS), n, table, body) != digest:
            return table
        ends[table] = digest
    for table, head in broken.heads.items():
        if ends.get(table) != head.hash:
            return table
    return None


def _from_break(broken: Break) -> Iterator[Row]:
    yield broken.row
    yield from broken.after()


def diagnose_in_export(broken: Break) -> BadRecord:
    """Diagnose a group of an export, where other tables' records leave gaps in the numbers."""
    n, table, *_ = broken.row
    if n < broken.first:
        return BadRecord(table, n, Fault.ADDED, f"records are numbered from {broken.first}")
    found = _by_successor(broken)
    if (found.why, found.detail) == (
        Fault.ALTERED,
        None,
    ):  # the same is seen where the group before it is not there
        return BadRecord(found.table, found.n, Fault.ALTERED, "or missing, the record before it")
    return found


def _by_successor(broken: Break) -> BadRecord:
    """Diagnose a group by the one that the table's next one followed."""
    n, table, body, digest = broken.row
    due = chain_hash(broken.end(table), n, table, body)
    first = _first_record(broken)
    for later_n, later_table, later_body, later_digest in broken.after():
        if later_table != table:
            continue

        def follows(
            before: bytes, number: int, *, body: bytes = later_body, digest: bytes = later_digest
        ) -> bool:
            return chain_hash(before, number, table, body) == digest

        if follows(digest, later_n):
            return BadRecord(table, first, Fault.ALTERED)
        if follows(due, later_n):
            return BadRecord(table, first, Fault.ALTERED, "its hash")
        if any(follows(digest, later_n + more) for more in _RENUMBERED):
            return BadRecord(table, first, Fault.MISSING, _TAKEN_OUT)
        break
    else:
        head = broken.heads.get(table)
        if head is not None and head.n == n and head.hash in (digest, due):
            detail = None if head.hash == digest else "its hash"
            return BadRecord(table, first, Fault.ALTERED, detail)
    detail = "it does not follow from the table's record before it"
    return BadRecord(table, first, Fault.ALTERED, detail)


def _first_record(broken: Break) -> int:
    """Return the first record of the broken group, where that is told by anything."""
    n, table, body, _ = broken.row
    count = _count(table, body)
    return broken.first if count is None else max(broken.first, n - count + 1)


def _displaced(broken: Break) -> BadRecord | None:
    """Find the group that belongs here among those behind it, if it is there."""
    _, table, body, digest = broken.row
    first, running = broken.first, dict(broken.ends)
    for at, other, other_body, other_digest in broken.after():
        with suppress(InvalidGroup):
            count = read_header(other_body).records
            due = chain_hash(broken.end(other), first + count - 1, other, other_body)
            if due == other_digest:
                came_from = (running.get(table, GENESIS), other_digest)
                stands = at - count + 1
                if any(chain_hash(before, at, table, body) == digest for before in came_from):
                    detail = f"record {first} stands at {stands}"
                    return BadRecord(other, first, Fault.OUT_OF_ORDER, detail)
                detail = f"what was record {first} stands at {stands}"
                return BadRecord(table, first, Fault.ADDED, detail)
        running[other] = other_digest
    return None


class Verification(msgspec.Struct, frozen=True):
    """The result: ``records`` good ones of ``tables`` tables before the first bad one.

    ``signed`` says which of them are signed; ``not_signed`` counts those behind, up to ``last_n``,
    the journal's last. ``first_n`` is the first record: those before it were taken out.
    ``head_file``: it agrees, or there is none that shows that this is the newest; None for an
    export. ``backwards`` are the first times that are before the one before them; of a group of
    records the first time is compared. They leave ``ok`` as it is.
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
    backwards: list[RanBackwards] = []


_STARTS = LETTERS[Kind.META] + LETTERS[Kind.SNAPSHOT]
_OF_FORM = _STARTS + LETTERS[Kind.CHECKPOINT]
_OF_SHOES = bytes((Letter.CONNECTION, Letter.INPUT_AS_IS))

Progress = Callable[[int, int], None]
"""Is called now and then with the record reached and the last one."""


def verify(  # noqa: PLR0913 - all of it by name
    reader: Reader,
    trusted: frozenset[bytes] = frozenset(),
    *,
    signed_to: int = 0,
    newest: bool = True,
    progress: Progress = lambda _n, _last_n: None,
    walk: WalkInParts | None = None,
) -> Verification:
    """Verify all records there are at this moment; a daemon may go on writing behind them.

    ``trusted`` are the public keys (32 bytes each) that checkpoints may be signed with, and with
    them the keys that they endorse and those that they followed; where any is named there must be a
    checkpoint. None: any key may. ``signed_to`` is a record up to which
    the journal is known to have been signed: one that was cut off before it is told by that alone.
    ``newest`` false: what shows that its newest part was lost is not looked at. ``walk`` walks a
    journal in parts; where it cannot, or a part is wrong, all is walked here.

    Raises:
        JournalError: the journal cannot be read, or has a record of another format.
    """
    while True:
        found = _verify_once(reader, trusted, progress, walk, newest=newest)
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
    reader: Reader,
    trusted: frozenset[bytes],
    progress: Progress,
    walk_in_parts: WalkInParts | None,
    *,
    newest: bool,
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
    trust = trust_of(reader, trusted)
    walk, wrong = None, None
    if walk_in_parts is not None and not reader.is_export:
        walk = _Walk(reader, trust.accepted, begins, last_n, heads)
        if not walk.joins(walk_in_parts(reader, begins, last_n)):
            walk = None
    if walk is None:
        walk = _Walk(reader, trust.accepted, begins, last_n, heads)
        wrong = walk.records_hold(progress)
    wrong = wrong or walk.heads_hold() or walk.form_holds()
    wrong = wrong or walk.index_holds() or walk.notes_hold(moment)
    head_file: Literal["agrees", "missing"] | None = "agrees" if looked_at else None
    for doubt in found:
        if doubt.code == "head_missing":
            head_file = "missing"
        elif wrong is None:
            wrong = BadRecord(None, last_n + 1, Fault.MISSING, f"{doubt.what}")
    signed = walk.checkpoints.coverage
    if wrong is None and trusted and not signed.checkpoints:
        wrong = BadRecord(None, last_n, Fault.MISSING, "no checkpoint signs any of it")
    elif wrong is None and trusted and bytes.fromhex(signed.ranges[-1].key) not in trust.vouching:
        detail = f"{signed.ranges[-1].key}, and no checkpoint of the trusted key follows"
        wrong = BadRecord(JOURNAL, signed.upto + 1, Fault.WRONG_KEY, detail)
    return Verification(
        wrong is None,
        walk.records,
        len((heads if reader.is_export else walk.ends).keys() - {JOURNAL}),
        wrong,
        signed,
        last_n,
        begins.n,
        walk.records - walk.signed,
        head_file,
        walk.backwards(),
    )


class Walked(msgspec.Struct):
    """The findings in a part of a journal's records, which are those that were written.

    ``ends`` and ``counters`` are those of all tables behind the part, and ``size`` and ``frontier``
    the tree of all groups up to its end; ``groups``, ``values`` and ``times``
    those of the tables in it. ``signed`` of the ``records`` stand before or in the last of the
    checkpoints, ``checkpoint`` is that one's number.
    """

    ends: dict[str, bytes]
    counters: dict[str, tuple[int, int]]
    groups: dict[str, int]
    values: dict[str, TableValues]
    times: dict[str, tuple[Times, Times]]
    records: int
    signed: int
    landmarks: list[tuple[str, str, int]]
    coverage: Coverage
    checkpoint: int | None
    rounds: RoundCounts
    size: int
    frontier: tuple[bytes, ...]


WalkInParts: TypeAlias = Callable[[Reader, Anchor, int], Sequence[tuple[Anchor, Walked]]]
"""Walks the records from an anchor up to one in parts, and returns what was found in each, in
order, with where it begins: nothing where all are to be walked as a whole."""


def walk_part(  # noqa: PLR0913 - all that a part depends on
    reader: Reader,
    trusted: frozenset[bytes],
    begins: Anchor,
    upto: int,
    last_n: int,
    progress: Progress,
) -> Walked | None:
    """Walk the records from an anchor up to ``upto``; None where one is not what was written.

    ``last_n`` is the journal's last record.

    Raises:
        JournalError: the journal cannot be read, or has a record of another format.
    """
    accepted = trust_of(reader, trusted).accepted
    walk = _Walk(reader, accepted, begins, upto, {}, after=begins.n - 1)
    if walk.records_hold(progress) is not None or not walk.counts_rounds(last_n):
        return None
    return walk.walked()


class _Shape(NamedTuple):
    """The sum of a group's letters: one look for all groups that are alike."""

    records: int
    public: int
    restricted: int
    has_inputs: bool
    has_shoes: bool
    has_form: bool
    has_start: bool
    timed: int | None
    is_sent: bool


@lru_cache(1 << 12)
def _shape(kinds: bytes) -> _Shape:
    def has(letters: bytes) -> bool:
        return len(kinds.translate(None, letters)) < len(kinds)

    public, restricted = count_events(kinds)
    timed = timed_first(kinds)
    return _Shape(
        records=len(kinds),
        public=public,
        restricted=restricted,
        has_inputs=has(LETTERS[Kind.INPUT]),
        has_shoes=has(_OF_SHOES),
        has_form=has(_OF_FORM),
        has_start=has(LETTERS[Kind.META]),
        timed=timed,
        is_sent=timed is not None and kinds[timed] == Letter.TO_SHOE,
    )


class _Chain:
    """One table's chain, as far as it was walked.

    ``times`` are of its own clock, which goes on over a restart, and ``sent`` of bytes to a shoe,
    which have the host's.
    """

    __slots__ = ("counters", "groups", "name", "notes", "sent", "times")

    def __init__(self, table: str, begins: Anchor, counters: Counters) -> None:
        self.name = table.encode()
        self.groups = 0
        self.counters = counters
        self.notes = DerivedValues(table, whole=table not in begins.ends)
        self.times = Times()
        self.sent = Times()

    @property
    def told(self) -> tuple[int, int]:
        """Return how many events, public and restricted, the table has had."""
        return self.counters.public, self.counters.restricted


class _Walk:
    """One pass over the groups, in order. ``ends`` are the chains' ends so far.

    ``signed`` of the ``records`` stand before or in the last checkpoint.
    """

    def __init__(  # noqa: PLR0913 - all that a walk depends on
        self,
        reader: Reader,
        accepted: frozenset[bytes],
        begins: Anchor,
        last_n: int,
        heads: Mapping[str, Head],
        *,
        after: int | None = None,
    ) -> None:
        self._reader = reader
        self._begins = begins
        self._after = after
        self._whole = not reader.is_export
        self._last_n, self._heads = last_n, heads
        self._due = begins.n
        self._row: Row | None = None
        self.records = self.signed = 0
        self.ends: dict[str, bytes] = dict(begins.ends)
        self.checkpoints = Checkpoints(
            accepted, late=begins.n > 1, only=None if self._whole else frozenset(heads)
        )
        self.tree = begins.tree()
        self._leaves: list[bytes] = []
        self._chains: dict[str, _Chain] = {}
        self._landmarks: list[tuple[str, str, int]] = []
        self._rounds = IndexedRounds(reader, after) if reader.has_rounds else None

    def records_hold(self, progress: Progress) -> BadRecord | None:
        """Return what is wrong with the first record that is not what was written."""
        try:
            return self._walked_over_types(progress)
        except InvalidRow as spoilt:
            n = min(self._due, spoilt.n)
            return BadRecord(spoilt.table, n, Fault.ALTERED, "it cannot be read")

    def _walked_over_types(self, progress: Progress) -> BadRecord | None:
        try:
            return self._walked(progress)
        except TypeError:  # a value of another type cannot be hashed
            if self._row is not None:
                self._check(self._row)
            raise

    def _walked(self, progress: Progress) -> BadRecord | None:
        # Millions of groups a few microseconds each: what is asked for once a group stands here.
        ends, chains, whole, due = self.ends, self._chains, self._whole, self._due
        leaf = self._leaves.append
        records = 0

        def passing(n: int) -> None:
            self._grow_tree()
            self._take_notes()
            progress(n, self._last_n)

        # What is no group has another hash, or none: only then its types are looked at.
        rows = self._reader.rows(
            after=self._after, upto=self._last_n, passing=passing, checked=False
        )
        row: Row | None = None
        try:
            for row in rows:
                n, table, body, digest = row
                chain = chains.get(table) or self._begun(row)
                if n < due:
                    return self._placed(row, due)
                hashed = body if body[:1] in HASHED_WHOLE else hashed_bytes(body)
                head = pack_head(n, len(chain.name), len(hashed))
                if (
                    sha256(LEAF + ends.get(table, GENESIS) + head + chain.name + hashed).digest()
                    != digest
                ):
                    return self._placed(row, due)
                header = read_header(body)
                first = n - header.records + 1
                if first != due and (whole or first < due):
                    return self._placed(row, due)
                if (bad := self._follow(chain, row, header, records)) is not None:
                    return bad
                ends[table] = digest
                leaf(digest)
                records += header.records
                due = n + 1
        except InvalidGroup as error:
            if row is None:
                raise
            return BadRecord(row[1], due, Fault.ALTERED, f"it cannot be unpacked: {error}")
        finally:
            self.records, self._due, self._row = records, due, row
        return None

    def _grow_tree(self) -> Frontier:
        """Return the tree of all groups that were walked."""
        self.tree.append_all(self._leaves)
        self._leaves.clear()
        return self.tree

    def walked(self) -> Walked:
        """Return what was found in all records, once they were walked."""
        self._take_notes()
        tree = self._grow_tree()
        counters = {table: chain.told for table, chain in self._chains.items()}
        return Walked(
            ends=self.ends,
            counters={**self._begins.counters, **counters},
            groups={table: chain.groups for table, chain in self._chains.items()},
            values={table: chain.notes.values for table, chain in self._chains.items()},
            times={table: (chain.times, chain.sent) for table, chain in self._chains.items()},
            records=self.records,
            signed=self.signed,
            landmarks=self._landmarks,
            coverage=self.checkpoints.coverage,
            checkpoint=self.checkpoints.number,
            rounds=RoundCounts() if self._rounds is None else self._rounds.counts,
            size=tree.size,
            frontier=tuple(tree.hashes),
        )

    def backwards(self) -> list[RanBackwards]:
        """Return the times that ran backwards, in the order of their records."""
        found = [
            RanBackwards(table, *one)
            for table, chain in self._chains.items()
            for one in (*chain.times.backwards, *chain.sent.backwards)
        ]
        return sorted(found, key=lambda one: one.n)

    def counts_rounds(self, last_n: int) -> bool:
        """Count what the index has of the rounds opened here; False if it is wrong."""
        return self._rounds is None or self._rounds.count_index(self._last_n, last_n)

    def joins(self, parts: Sequence[tuple[Anchor, Walked]]) -> bool:
        """Take what was found in all parts; False if there are none, or they are not one chain."""
        return bool(parts) and all(self._extend(begins, part) for begins, part in parts)

    def _extend(self, begins: Anchor, part: Walked) -> bool:
        """Take what was found in the next part, which begins there."""
        if (begins.n, begins.ends) != (self._due, self.ends):
            return False
        if (begins.size, list(begins.frontier)) != (self.tree.size, self.tree.hashes):
            return False
        known = part.counters.keys() & part.values.keys() & part.times.keys()
        if not part.groups.keys() <= known:
            return False
        for table, groups in part.groups.items():
            chain = self._chains.get(table)
            if chain is None:
                told = self._begins.counters.get(table, (0, 0))
                chain = self._chains[table] = _Chain(table, self._begins, Counters(*told))
            if begins.counters.get(table, (0, 0)) != chain.told:
                return False
            chain.groups += groups
            chain.counters = Counters(*part.counters[table])
            chain.notes.values.extend(part.values[table])
            times, sent = part.times[table]
            chain.times.extend(times)
            chain.sent.extend(sent)
        number = part.checkpoint
        if number is not None:
            if not self.checkpoints.extend(part.coverage, number):
                return False
            self.signed = self.records + part.signed
        self.tree = Frontier(part.size, part.frontier)
        self.records += part.records
        self._due += part.records
        self.ends = part.ends
        self._landmarks += part.landmarks
        if self._rounds is not None:
            self._rounds.extend(part.rounds, self._due - 1)
        return True

    def _take_notes(self) -> None:
        for chain in self._chains.values():
            chain.notes.take()
        if self._rounds is not None:
            self._rounds.take()

    def _follow(self, chain: _Chain, row: Row, header: Header, records: int) -> BadRecord | None:
        """Note what a group that is in its chain has, and return what is wrong with it.

        Raises:
            InvalidGroup: it cannot be unpacked.
            JournalError: a landmark in it is of another format.
        """
        n, table, body, _ = row
        shape = _shape(header.kinds)
        if header.before != chain.counters:
            detail = "it counts other events before it than there are"
            return BadRecord(table, n - shape.records + 1, Fault.ALTERED, detail)
        if shape.has_start:
            chain.sent.begin_anew()
        if (timed := shape.timed) is not None:
            times = chain.sent if shape.is_sent else chain.times
            times.see(n - shape.records + 1 + timed, header.t_us)
        chain.groups += 1
        chain.counters.public += shape.public
        chain.counters.restricted += shape.restricted
        if shape.has_shoes:
            chain.notes.see_group(body)
        elif shape.has_inputs:
            chain.notes.see_inputs(body)
        if shape.restricted and self._rounds is not None:
            self._rounds.see_group((row, header))
        return self._is_wrong(row, header, records) if shape.has_form else None

    def _check(self, row: Row) -> None:
        """Refuse a row that no writer stored.

        Raises:
            InvalidRow: it is one.
        """
        if first_invalid([row]) is not None:
            table: object = row[1]
            raise InvalidRow(self._reader.path, row[0], table if isinstance(table, str) else None)

    def _begun(self, row: Row) -> _Chain:
        """Return the chain of a table that was not met before this group.

        Raises:
            InvalidRow: it is no group.
        """
        self._check(row)
        table, begins = row[1], self._begins
        told = begins.counters.get(table, (0, 0))
        if not self._whole:  # an export begins anywhere
            with suppress(InvalidGroup):
                before = read_header(row[2]).before
                told = (before.public, before.restricted)
        chain = self._chains[table] = _Chain(table, begins, Counters(*told))
        return chain

    def _is_wrong(self, row: Row, header: Header, records: int) -> BadRecord | None:
        """Return what is wrong with a landmark, though it is in its chain.

        Raises:
            InvalidGroup: the group cannot be unpacked.
            JournalError: a landmark is of another format.
        """
        n, table, body, digest = row
        self._landmarks += landmarks(table, n, header)
        for place, kind, record in unpack_group(table, body, _OF_FORM):
            at = n - header.records + 1 + place
            if kind == Kind.CHECKPOINT.value:
                tree = self._grow_tree() if self._whole else None
                if (bad := self.checkpoints.check(at, record, self.ends, tree)) is not None:
                    return bad
                self.signed = records + place + 1
                if (signed_us := self.checkpoints.coverage.t_us) is not None:
                    self._chains[JOURNAL].times.see(at, signed_us)
            elif table != JOURNAL:
                try:
                    (Meta if kind == Kind.META.value else Snapshot).from_bytes(record)
                except UnknownFormat as error:
                    found = Record(n=at, table=table, kind=kind, body=record, hash=digest)
                    raise unknown_format_error(found, self._reader.path, error) from None
                except ValueError as error:
                    detail = f"it is no {kind} record: {error}"
                    return BadRecord(table, at, Fault.ALTERED, detail)
        return None

    def _placed(self, row: Row, due: int) -> BadRecord:
        self._check(row)

        def after() -> Iterator[Row]:
            with suppress(InvalidRow):  # what tells nothing is behind the end of what does
                yield from self._reader.rows(after=row[0], upto=self._last_n)

        broken = Break(row, due, self.ends, self._heads, after)
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
            chain = self._chains.get(table)
            counted = head.counters
            told = self._begins.counters.get(table, (0, 0))
            stored = Counters(*told) if chain is None else chain.counters
            if counted != stored:
                detail = (
                    f"the head counts {counted.public} public and {counted.restricted} restricted "
                    f"events, there are {stored.public} and {stored.restricted}"
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
            chain = self._chains.get(table)
            if chain is None:
                notes = DerivedValues(table, whole=table not in self._begins.ends)
            else:
                notes = chain.notes
            if (why := notes.wrong(head, moment.devices.get(table, {}))) is not None:
                return BadRecord(table, head.n, Fault.ALTERED, f"{why}")
        for sink, n in moment.cursors:
            if not 0 <= n <= moment.last_n:
                return BadRecord(None, n, Fault.ALTERED, f"the place of sink {sink} is no record's")
        return None

    def index_holds(self) -> BadRecord | None:
        """Return how what leads to groups and landmarks differs from those that there are."""
        reader, last_n = self._reader, self._last_n
        if (counted := reader.indexed_groups(last_n)) is not None and counted != {
            table: chain.groups for table, chain in self._chains.items()
        }:
            what = "the file's index, that does not lead to each group of a table"
            return BadRecord(None, last_n, Fault.ALTERED, what)
        if self._rounds is not None and (bad := self._rounds.wrong(last_n)) is not None:
            return bad
        if self._whole and not self._past_leads_here():
            what = "what the file keeps of past checkpoints, that does not lead to it"
            return BadRecord(JOURNAL, self._begins.n, Fault.ALTERED, what)
        wrong = set(reader.landmarks(last_n)) ^ set(self._landmarks)
        if not wrong:
            return None
        table, _, n = min(wrong, key=lambda found: found[2])
        what = "the file's list of landmarks, that does not lead to it"
        return BadRecord(table, n, Fault.ALTERED, what)

    def _past_leads_here(self) -> bool:
        """Return True if what is kept of past checkpoints leads to where the journal begins."""
        begins = self._begins
        try:
            newest = deque(trees(self._reader.past_checkpoints()), maxlen=1)
        except ValueError:
            return False
        if begins.n == 1 or not newest:
            return begins.n == 1 and not newest
        ((row, tree),) = newest
        return (row.n, tree.size, tuple(tree.hashes)) == (begins.n, begins.size, begins.frontier)

    def _ends_at(self, table: str, head: Head) -> bool:
        """Return True if the record that the head names has the head's hash."""
        if head.n < self._begins.n:
            return True  # a table of long ago: all of it was taken out
        return self._reader.has_end(table, head.n, head.hash)
