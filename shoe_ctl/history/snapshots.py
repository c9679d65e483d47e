"""How a table stood, to and from the journal: a restart runs a few inputs, not those of years.

In: a controller and where its chain ends; or a reader. Out: Snapshot records; the controller again.
Must not know: links, sinks, loops. The inputs are what counts: a snapshot only spares running
them, and a replay holds each one against them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

import msgspec

from shoe_ctl.errors import JournalError
from shoe_ctl.history import event_ids, rules
from shoe_ctl.history.event_ids import Answers
from shoe_ctl.history.revised import Told
from shoe_ctl.journal.bodies import Kind, Meta, Snapshot
from shoe_ctl.journal.chain import GENESIS
from shoe_ctl.journal.group import EventIds, Group
from shoe_ctl.journal.reader import Head, Reader
from shoe_ctl.journal.recovery import chained, head_of, kept_from, meta_of, started_before
from shoe_ctl.records import Record
from shoe_ctl.table import state as states
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.inputs import Restarted, ShoeSaid, from_bytes

MOST_INPUTS = 300
"""A table's inputs between two of its snapshots: about as many as fifteen rounds."""

MOST_RECORDS = 5_000
"""Records of all tables between a table's snapshot and its last record, but for one group's: a
restart reads no more of them for each table."""

_EVENTS = (Kind.PUBLIC.value, Kind.RESTRICTED.value)


class Resumed(msgspec.Struct, frozen=True, kw_only=True):
    """A table as its records leave it: None and None for one that the journal does not know.

    ``kept`` is what it was last started with, ``answers`` what its last commands were answered,
    ``told`` which events told its last outcomes.
    """

    controller: TableController | None
    kept: Meta | None
    answers: Answers
    told: Told


class Ends(Protocol):
    """The journal's last record, and where each table's chain ends: all of it stored."""

    @property
    def last_n(self) -> int:
        """The last record's number."""

    def head(self, table: str) -> Head:
        """The end of this table's chain."""


class Sections:
    """When a table's records get what a restart goes on from.

    A section begins where the table is started and with each set of cards: with what it runs under
    and how it stands, so that it can be run without anything before it. Within one, how it stands
    is kept again whenever enough came since.
    """

    def __init__(self, journal: Ends, under: Meta, table: str) -> None:
        self._journal = journal
        self._under = under
        self._table = table
        self._shoes: int | None = None
        self._turned = False
        self._inputs = 0
        self._n = 0

    def begin(self, group: Group, controller: TableController, given: Answers, told: Told) -> None:
        """Adds to a new group what is due; everything until now must be stored."""
        state, last_n = controller.state, self._journal.last_n
        started = self._shoes is None
        new_section = started or (state.shoes != self._shoes and state.round is None)
        many = state.inputs - self._inputs >= MOST_INPUTS or last_n - self._n >= MOST_RECORDS
        if not (new_section or many):
            return
        if new_section:
            group.meta(self._table, self._under)
            self._turned = not started
            self._shoes = state.shoes
        head = self._journal.head(self._table)
        group.snapshot(self._table, take(controller, self._under, head, given, told))
        self._inputs, self._n = state.inputs, last_n

    def begin_anew(self, under: Meta) -> None:
        """The next group begins a section, under this."""
        self._under, self._shoes = under, None

    def turned(self) -> bool:
        """Whether a new set of cards began a section since this was last asked."""
        turned, self._turned = self._turned, False
        return turned


def unheard_since(reader: Reader, table: str, epoch: str) -> int:
    """The last record before the starts of this table since which its shoe said nothing numbered.

    Nobody knows of what is stored behind it whether its ids were used before: only the shoe may
    show that. What was stored before the last ruling is left out; the ruling says what it is.

    Raises:
        JournalError: the journal cannot be read.
    """
    since = upto = reader.heads()[0]
    for meta in reader.landmarks(table, Kind.META):
        if meta_of(meta).epoch != epoch:
            break
        starts = False
        stored = reader.records(after=meta.n, upto=upto, table=table, kinds=(Kind.INPUT,))
        for place, record in enumerate(stored):
            if _is_numbered(record):
                return since
            starts = starts or (place == 0 and isinstance(from_bytes(record.body), Restarted))
        since = meta.n - 1 if starts else since
        upto = meta.n
    return since


def _is_numbered(record: Record) -> bool:
    """Whether this input is an event that the shoe keeps until it is acknowledged."""
    if b'"input":"shoe"' not in record.body:  # spares decoding the others
        return False
    happened = from_bytes(record.body)
    return isinstance(happened, ShoeSaid) and happened.seq is not None


class _Start(msgspec.Struct, frozen=True, kw_only=True):
    """From where records are run: behind record ``after`` with this hash."""

    controller: TableController | None = None
    kept: Meta | None = None
    after: int = 0
    end: bytes = GENESIS
    answered: dict[str, tuple[EventIds, ...]] = {}
    told: dict[str, EventIds] = {}


def take(
    controller: TableController, under: Meta, head: Head, given: Answers, told: Told
) -> Snapshot:
    """The table as it stands, to be stored right behind ``head``, the end of its chain."""
    state = controller.state
    return Snapshot(
        after=head.n,
        hash=head.hash.hex(),
        inputs=state.inputs,
        public=head.counters.public,
        restricted=head.counters.restricted,
        rules=under.rules,
        software=under.software,
        state=msgspec.Raw(states.to_bytes(state)),
        answers={
            command_id: tuple((ids.public, ids.restricted) for ids in first.events)
            for command_id in state.answered
            if (first := given.to(command_id)) is not None
        },
        outcomes=tuple((of, ids.public, ids.restricted) for of, ids in told.known.items()),
    )


def recover(reader: Reader, table: str) -> Resumed:
    """The table as its records left it: from its last snapshot that holds here, and those since.

    A snapshot that this software did not write, or not under the rules that the journal names, is
    passed over, at worst to the table's first record. Where that was taken out, the first snapshot
    that can be read is gone on from, whoever wrote it.

    Raises:
        JournalError: the journal cannot be read, is damaged where it was read, or has nothing of
            the table that this software can go on from.
    """
    found = (_start(reader, record) for record in reader.landmarks(table, Kind.SNAPSHOT))
    start = next((start for start in found if start is not None), None)
    if start is None:
        start = _earliest(reader, table)
    now, kept = start.controller, start.kept
    gathering, told = event_ids.Gathering(start.answered), Told(start.told)
    for record in chained(reader, table, after=start.after, end=start.end):
        gathering.see(record, () if now is None else now.state.answered)
        if record.kind in _EVENTS:
            told.read((record.body,))
        if record.kind == Kind.META.value:
            started = meta_of(record)
            if now is None or kept is None or not started.same_rules(kept):
                now = rules.controller(started, now)
            kept = started
        elif record.kind == Kind.INPUT.value:
            if now is None:
                raise JournalError(f"record {record.n}: an input before the table was started")
            now.handle(from_bytes(record.body))
    answered = {} if now is None else now.state.answered
    known = {command_id: first.again() for command_id, first in answered.items()}
    return Resumed(controller=now, kept=kept, answers=gathering.answers(known), told=told)


def resume(
    under: Meta, snapshot: Snapshot, *, of_other_software: bool = False
) -> TableController | None:
    """The controller that stood so; None where this software would not write these very bytes.

    ``of_other_software``: whose bytes may be others, if only they can be read.

    Raises:
        JournalError: the settings or the game file of ``under`` cannot be read.
    """
    body = bytes(snapshot.state)
    try:
        state = states.from_bytes(body)
    except ValueError:
        return None
    same = of_other_software or states.to_bytes(state) == body
    if not same or state.inputs != snapshot.inputs:
        return None
    controller = rules.controller(under)
    controller.state = state
    return controller


def agrees(controller: TableController, snapshot: Snapshot) -> bool:
    """Whether a table that ran all inputs until then stands as its snapshot says.

    What other software kept is not compared: it may have kept less, or more.
    """
    if snapshot.software != rules.software():
        return True
    return states.to_bytes(controller.state) == bytes(snapshot.state)


def _start(reader: Reader, record: Record) -> _Start | None:
    """From this snapshot on; None where it is not one to go by."""
    try:
        snapshot = Snapshot.from_bytes(record.body)
    except ValueError:
        return None
    kept = started_before(reader, record.table, record.n)
    if kept is None or (snapshot.software, snapshot.rules) != (rules.software(), kept.rules):
        return None
    return _from(kept, snapshot, resume(kept, snapshot))


def begin_late(under: Meta, snapshot: Snapshot) -> tuple[TableController, Told] | None:
    """A table as it stood where a journal begins, whose inputs until then are not in it.

    None where this software cannot read that. The outcomes told until then come with it.

    Raises:
        JournalError: the settings or the game file of ``under`` cannot be read.
    """
    other = snapshot.software != rules.software()
    start = _from(under, snapshot, resume(under, snapshot, of_other_software=other))
    if start is None or start.controller is None:
        return None
    return start.controller, Told(start.told)


def _earliest(reader: Reader, table: str) -> _Start:
    """From the table's first record; where it was taken out, from where it was first kept again."""
    begins = kept_from(reader)
    if table not in begins.ends:
        return _Start()
    where = f"journal {reader.path}: table {table}"
    if head_of(reader, table).n < begins.n:
        raise JournalError(f"{where} was served long ago, and is taken out: use another id")
    for record in reader.landmarks(table, Kind.META, after=begins.n):
        kept = meta_of(record)
        for stood in reader.landmarks(table, Kind.SNAPSHOT, after=record.n):
            with suppress(ValueError):
                snapshot = Snapshot.from_bytes(stood.body)
                controller = resume(kept, snapshot, of_other_software=True)
                if (start := _from(kept, snapshot, controller)) is not None:
                    return start
            break
    raise JournalError(f"{where} cannot go on: this version reads nothing of how it stood")


def _from(kept: Meta, snapshot: Snapshot, controller: TableController | None) -> _Start | None:
    if controller is None:
        return None
    return _Start(
        controller=controller,
        kept=kept,
        after=snapshot.after,
        end=bytes.fromhex(snapshot.hash),
        answered={
            command_id: tuple(EventIds(*ids) for ids in events)
            for command_id, events in snapshot.answers.items()
        },
        told={of: EventIds(public, secret) for of, public, secret in snapshot.outcomes},
    )
