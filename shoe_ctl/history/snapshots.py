"""Snapshots: write a table's state and its rules to the journal, and restore the table from them.

In: a controller and where its chain ends; or a reader. Out: meta and snapshot records; the
controller again. Must not know: links, sinks, loops.

A table is what its inputs make of it. A snapshot only saves a restart from running the inputs of
years; a replay runs them, and compares each snapshot with the result.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import msgspec

from shoe_ctl.errors import ConfigError, JournalError
from shoe_ctl.games import game_file
from shoe_ctl.games.game import Game
from shoe_ctl.history.event_ids import EventIndex
from shoe_ctl.journal.batch import EventIds, Head
from shoe_ctl.journal.chain import GENESIS
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind, Meta, Snapshot
from shoe_ctl.journal.recovery import (
    ChainPlace,
    chain_end,
    checked_records,
    invalid_record_error,
    last_start,
    read_anchor,
    read_meta,
    read_snapshot,
)
from shoe_ctl.records import NO_EPOCH, Audience, Record, key_difference
from shoe_ctl.table import state as states
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.inputs import Restarted, ShoeSaid, from_bytes
from shoe_ctl.table.settings import TableSettings

FEW_EVENTS = 16
RECORDS_BEFORE_EVENT = 8
"""So many of a table's first events after a start, and so many records before each of them, are
searched first for a numbered event of the shoe. Only then are all of its inputs read."""

# The rules that a table runs under.


@cache
def software() -> str:
    """Return the version of shoe-ctl that runs."""
    found = (_installed_in(Path(folder)) for folder in sys.path)
    installed = next((versions for versions in found if versions), ())
    if len(installed) == 1:
        return installed[0]
    from importlib.metadata import version  # costs a megabyte, and more than a replay's imports

    return version("shoe-ctl")


def _installed_in(folder: Path) -> list[str]:
    """Return the versions of shoe-ctl that are installed in this folder, by the files' names."""
    with suppress(OSError):
        return [found.name[9:-10] for found in folder.glob("shoe_ctl-*.dist-info")]
    return []


def start_record(game: Game, settings: TableSettings, t_us: int, epoch: str = NO_EPOCH) -> Meta:
    """Return the record of a start: all that is needed to run the inputs again, anywhere."""
    return Meta(
        game=game.source,
        settings=msgspec.to_builtins(settings),
        software=software(),
        t_us=t_us,
        epoch=epoch,
    )


def controller_for(meta: Meta, before: TableController | None = None) -> TableController:
    """Return a controller under these rules, with the state of ``before``, if given.

    A shoe is taken off the table if the new rules need other cards.

    Raises:
        JournalError: the settings or the game file cannot be read.
    """
    try:
        settings = msgspec.convert(meta.settings, TableSettings)
        game = game_file.parse(meta.game, "the journal's game file")
        if (differs := key_difference(meta.settings, msgspec.to_builtins(settings))) is not None:
            raise ValueError(differs)
    except ValueError as error:
        raise JournalError(f"the journal's settings cannot be read: {error}") from None
    if before is None:
        return TableController(game, settings)
    state = before.state
    if isinstance(settings.applied_within_s, msgspec.UnsetType):
        state = msgspec.structs.replace(state, told=msgspec.UNSET)
    same_cards = (before.game.deck, before.settings.decks) == (game.deck, settings.decks)
    if not same_cards and state.state != "no_shoe":
        state = msgspec.structs.replace(
            state,
            state="no_shoe",
            shoe=None,
            halt=None,
            unplaced=tuple(c for c in state.unplaced if c.role not in ("held", "outside_game")),
            pending_set=None,
            arming=None,
        )
    return TableController(game, settings, state)


def continue_under(
    before: TableController | None, earlier: Meta | None, meta: Meta
) -> TableController:
    """Return the controller to start with: the table as it was, under the rules configured now.

    ``earlier`` is the record of the table's last start.

    Raises:
        ConfigError: a round is open that began under other rules.
    """
    if before is None or earlier is None:
        return controller_for(meta)
    if meta.same_rules(earlier):
        return before
    if before.state.round is not None:
        raise ConfigError(
            f"table {before.settings.table}: round {before.state.round.id} is open under other "
            "settings or another game file; start with those, end the round, then change them"
        )
    return controller_for(meta, before)


# Snapshots to the journal.


def take_snapshot(
    controller: TableController,
    under: Meta,
    head: Head,
    index: EventIndex,
    *,
    rules: str | None = None,
) -> Snapshot:
    """Return a snapshot of the table, to be stored right after ``head``, the end of its chain.

    ``rules`` is ``under.rules``, if it was computed already.
    """
    state = controller.state
    return Snapshot(
        after=head.n,
        hash=head.hash.hex(),
        inputs=state.inputs,
        public=head.counters.public,
        restricted=head.counters.restricted,
        rules=under.rules if rules is None else rules,
        software=under.software,
        state=msgspec.Raw(states.to_bytes(state)),
        answers={
            command_id: tuple((ids.public, ids.restricted) for ids in recorded.events)
            for command_id in state.answered
            if (recorded := index.answer(command_id)) is not None
        },
        outcomes=tuple((of, ids.public, ids.restricted) for of, ids in index.outcomes.items()),
    )


# Snapshots from the journal.


class RecoveredTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table as its records leave it; without controller and ``meta`` if it was never started.

    ``meta`` is the record of its last start, ``index`` the event ids that it knows. ``shoe_sent``:
    a numbered event of its shoe was read after that start.
    """

    controller: TableController | None
    meta: Meta | None
    index: EventIndex
    shoe_sent: bool = False


class _Start(msgspec.Struct, frozen=True, kw_only=True):
    """Where a recovery starts: after record ``after``, whose chain hash is ``end``."""

    controller: TableController | None = None
    meta: Meta | None = None
    after: int = 0
    end: bytes = GENESIS
    index: EventIndex


def recover_tables(reader: Reader, tables: Sequence[str]) -> dict[str, RecoveredTable]:
    """Return each of these tables as its records leave it, reading the journal once for all.

    That is its last valid snapshot and the inputs after it. A snapshot by another version of the
    software, or under other rules than the start before it, is skipped. If none is left, the
    recovery starts at the table's first record; if that was removed, at the first snapshot that is
    left, whatever version wrote it.

    Raises:
        JournalError: the journal cannot be read, is damaged or of another format where it was
            read, or holds no place at which a table's recovery can start.
    """
    recoveries = {table: _Recovery(reader, table) for table in tables}
    places = {table: each.place for table, each in recoveries.items()}
    for record in checked_records(reader, places):
        recoveries[record.table].read(record)
    return {table: each.finish() for table, each in recoveries.items()}


class _Recovery:
    """The recovery of one table from its last valid snapshot, with the records after ``place``."""

    def __init__(self, reader: Reader, table: str) -> None:
        found = (_start(reader, record) for record in reader.indexed_records(table, Kind.SNAPSHOT))
        start = next((start for start in found if start is not None), None)
        if start is None:
            start = _first_start(reader, table)
        self.place = ChainPlace(start.after, start.end)
        self._path = reader.path
        self._now, self._meta, self._index = start.controller, start.meta, start.index
        self._shoe_sent = False

    def read(self, record: Record) -> None:
        """Apply the table's next record."""
        now = self._now
        self._index.read(record, () if now is None else now.state.answered)
        if record.kind == Kind.META.value:
            started = read_meta(record, self._path)
            if now is None or self._meta is None or not started.same_rules(self._meta):
                self._now = controller_for(started, now)
            self._meta, self._shoe_sent = started, False
        elif record.kind == Kind.INPUT.value:
            if now is None:
                raise JournalError(f"record {record.n}: an input before the table was started")
            now.handle(from_bytes(record.body))
            self._shoe_sent = self._shoe_sent or _is_numbered(record)

    def finish(self) -> RecoveredTable:
        """Return the table. All of its records were read."""
        now, index = self._now, self._index
        answered = {} if now is None else now.state.answered
        index.finish({command_id: first.again() for command_id, first in answered.items()})
        return RecoveredTable(
            controller=now, meta=self._meta, index=index, shoe_sent=self._shoe_sent
        )


def restore(under: Meta, snapshot: Snapshot) -> TableController | None:
    """Return the controller of a snapshot; None if its state counts other inputs than it says.

    Raises:
        JournalError: the settings or the game file of ``under`` cannot be read.
        ValueError: the state is not one of this format.
    """
    state = states.from_bytes(bytes(snapshot.state))
    if state.inputs != snapshot.inputs:
        return None
    controller = controller_for(under)
    controller.state = state
    return controller


def agrees(controller: TableController, snapshot: Snapshot) -> bool | None:
    """Return True if a table that ran all inputs until then has the state of its snapshot.

    None where it differs and another version of the software wrote the snapshot: its state may have
    other fields, so that a difference shows nothing.
    """
    if states.to_bytes(controller.state) == bytes(snapshot.state):
        return True
    return False if snapshot.software == software() else None


def from_first_snapshot(
    under: Meta, snapshot: Snapshot
) -> tuple[TableController, EventIndex] | None:
    """Return a table from the first snapshot of a journal whose earlier records were removed.

    The ids of outcomes until then come with it. None if the snapshot's state counts other inputs
    than it says.

    Raises:
        JournalError: the settings or the game file of ``under`` cannot be read.
        ValueError: the state is not one of this format.
    """
    start = _start_at(under, snapshot, restore(under, snapshot))
    if start is None or start.controller is None:
        return None
    return start.controller, start.index


def not_compared_since(reader: Reader, table: str, epoch: str) -> int:
    """Return the record after which nothing of the table was compared with its shoe.

    That is the one before the first of the last starts after which the shoe sent no numbered event;
    the journal's last record if it sent one after the last start. Records after it may have ids
    that were used before a loss: only the shoe can show that. Starts before the last ruling, in
    another epoch, are not looked at: the ruling covers them.

    Raises:
        JournalError: the journal cannot be read.
    """
    since = upto = reader.newest() or 0
    for meta in reader.indexed_records(table, Kind.META):
        if read_meta(meta, reader.path).epoch != epoch:
            break
        if _sent_soon(reader, table, meta.n, upto):
            return since
        starts = False
        stored = reader.records(after=meta.n, upto=upto, table=table, kinds=(Kind.INPUT,))
        for place, record in enumerate(stored):
            if _is_numbered(record):
                return since
            starts = starts or (place == 0 and isinstance(from_bytes(record.body), Restarted))
        since = meta.n - 1 if starts else since
        upto = meta.n
    return since


def _sent_soon(reader: Reader, table: str, after: int, upto: int) -> bool:
    """Return True if a numbered event of the shoe is right before one of the next few events.

    The table's events are found by an index, however many records of other tables are in between.
    """
    events, _ = reader.events(Audience.RESTRICTED, after=after, limit=FEW_EVENTS, table=table)
    for n, _ in events:
        begins = max(after, n - RECORDS_BEFORE_EVENT)
        near = reader.records(after=begins, upto=min(n, upto), table=table, kinds=(Kind.INPUT,))
        if any(_is_numbered(record) for record in near):
            return True
    return False


def _is_numbered(record: Record) -> bool:
    """Return True if this input is an event that the shoe keeps until it is acknowledged."""
    if b'"input":"shoe"' not in record.body:  # the others need not be decoded
        return False
    happened = from_bytes(record.body)
    return isinstance(happened, ShoeSaid) and happened.seq is not None


def _start(reader: Reader, record: Record) -> _Start | None:
    """Return the start at this snapshot; None if this software or these rules cannot use it."""
    meta = last_start(reader, record.table, record.n)
    try:
        snapshot = read_snapshot(record, reader.path)
        if meta is None or (snapshot.software, snapshot.rules) != (software(), meta.rules):
            return None
        return _start_at(meta, snapshot, restore(meta, snapshot))
    except ValueError as error:
        raise invalid_record_error(
            record, reader.path, f"how table {record.table} stood", error
        ) from None


def _first_start(reader: Reader, table: str) -> _Start:
    """Return the start at the table's first record, or at the first snapshot that is left."""
    begins = read_anchor(reader)
    if table not in begins.ends:
        return _Start(index=EventIndex())
    where = f"journal {reader.path}: table {table}"
    if chain_end(reader, table).n < begins.n:
        raise JournalError(f"{where} was served long ago, and is taken out: use another id")
    for record in reader.indexed_records(table, Kind.META, after=begins.n):
        meta = read_meta(record, reader.path)
        for stood in reader.indexed_records(table, Kind.SNAPSHOT, after=record.n):
            try:
                snapshot = read_snapshot(stood, reader.path)
                start = _start_at(meta, snapshot, restore(meta, snapshot))
            except ValueError as error:
                raise invalid_record_error(
                    stood, reader.path, f"how table {table} stood", error
                ) from None
            if start is not None:
                return start
            break
    raise JournalError(f"{where} cannot go on: this version reads nothing of how it stood")


def _start_at(meta: Meta, snapshot: Snapshot, controller: TableController | None) -> _Start | None:
    if controller is None:
        return None
    answered = {
        command_id: tuple(EventIds(*ids) for ids in events)
        for command_id, events in snapshot.answers.items()
    }
    outcomes = {of: EventIds(public, secret) for of, public, secret in snapshot.outcomes}
    return _Start(
        controller=controller,
        meta=meta,
        after=snapshot.after,
        end=bytes.fromhex(snapshot.hash),
        index=EventIndex(answered, outcomes),
    )
