"""The records of a table in the journal: bytes of its link, inputs and events, snapshots.

In: connections, receptions, inputs with their effects. Out: records in a journal group, the same
live and in replay. Must not know: loops, stores, when a group is committed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from zlib import crc32

import msgspec

from firmware_proto.commands import Armed, ClearError, Locked, Query
from firmware_proto.events import Discarded, Hello, Repeated, ShoeEvent, Status
from firmware_proto.reference.mac import VERDICTS
from firmware_proto.session import ReceivedEvent, Resume
from shoe_ctl.history.event_ids import EventIndex
from shoe_ctl.history.snapshots import take_snapshot
from shoe_ctl.journal import record_format
from shoe_ctl.journal.batch import Batch, EventIds
from shoe_ctl.journal.journal import Ends
from shoe_ctl.journal.record_format import Direction
from shoe_ctl.link.connection import Call, Connection, Ended, Reception
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.effects import Effect, TableEvent
from shoe_ctl.table.inputs import Fault, Input, ShoeSaid, TableCommand, to_bytes
from shoe_ctl.table.state import older_from_bytes

DECODING = "decoding"
"""The ``where`` of a fault that the session raised while it decoded bytes."""

SHOWN_BYTES = 8
"""So many of a run's first and last bytes are recorded with it, in hex. The wire records hold all
of them."""

MOST_INPUTS = 300
"""A table's inputs between two of its snapshots: about as many as fifteen rounds."""

MOST_RECORDS = 5_000
"""Records of all tables between two snapshots of a table, while there are few tables. The last
group may exceed it."""

RECORDS_A_TABLE = 200
"""As ``MOST_RECORDS``, for each table of the journal, if that is more in all: about three rounds. A
restart reads the records of all tables in one go: each table adds these to it, and no more."""

_IN_RUNS = (Discarded, Repeated)
"""Types of events that may be joined."""

SEVERAL = "several"
"""The reason given for a run whose pieces were discarded for different reasons."""


class TableRecorder:
    """Records one table: its link, its snapshots, the last event number of each of its shoes.

    A group of records begins here. Bytes that were sent to the shoe wait for the next one.

    Each start of the table and each set of cards begins a section, with the table's rules and a
    snapshot: it can be run without anything before it. Within a section another snapshot follows
    whenever enough was recorded since the last one.

    ``under`` is what the table runs under, ``ends`` what is stored, ``devices`` the last event
    number stored of each shoe that the table has had: a connection resumes from it.
    """

    def __init__(
        self, table: str, under: record_format.Meta, ends: Ends, devices: dict[str, int]
    ) -> None:
        self._table = table
        self._under = under
        self._ends = ends
        self._devices = devices
        self._connection: Connection | None = None
        self._device_id: str | None = None
        self._rules: str | None = None
        self._shoes: int | None = None
        self.has_new_set = False
        """True if a new set of cards began a section. Whoever acts on it sets it back."""
        self._inputs = 0
        self._n = 0
        self.has_snapshot = False
        """True if the last group began with a snapshot."""

    # Groups.

    @property
    def epoch(self) -> str:
        """The epoch of what is recorded."""
        return self._under.epoch

    @property
    def software(self) -> str:
        """The version of shoe-ctl that records."""
        return self._under.software

    def begin_epoch(self, epoch: str, t_us: int) -> None:
        """Let the next group begin a section, under another epoch."""
        self._under = msgspec.structs.replace(self._under, epoch=epoch, t_us=t_us)
        self._shoes = self._rules = None

    def begin(self, controller: TableController, index: EventIndex, *, waits: bool) -> Batch:
        """Return a new group: a section's beginning or a snapshot, if due, and the bytes sent.

        Both need everything before the group to be stored. While a group still ``waits`` for that,
        a snapshot is put off; no section may begin.
        """
        group = Batch(self._under.epoch)
        state, ends = controller.state, self._ends
        most = max(MOST_RECORDS, RECORDS_A_TABLE * ends.tables)
        many = state.inputs - self._inputs >= MOST_INPUTS or ends.last_n - self._n >= most
        new_set = state.shoes != self._shoes and state.round is None
        self.has_snapshot = self._shoes is None or new_set or (many and not waits)
        if self.has_snapshot:
            assert not waits, f"{self._table}: a section begins before all is stored"
            self.add_snapshot(group, controller, index)
        if self._connection is not None:
            self.sent(group)
        return group

    def add_snapshot(self, group: Batch, controller: TableController, index: EventIndex) -> None:
        """Add a snapshot to a group; before it what the table runs under, if a section begins."""
        state, last_n = controller.state, self._ends.last_n
        started = self._shoes is None
        new_section = started or (state.shoes != self._shoes and state.round is None)
        if new_section:
            group.append_meta(self._table, self._under)
            self.has_new_set = not started
            self._shoes = state.shoes
        head = self._ends.head(self._table)
        if self._rules is None:
            self._rules = self._under.rules
        stands = take_snapshot(controller, self._under, head, index, rules=self._rules)
        group.append_snapshot(self._table, stands)
        self._inputs, self._n = state.inputs, last_n
        if new_section:  # many tables begin at once: their next snapshots are spread evenly
            most = max(MOST_RECORDS, RECORDS_A_TABLE * self._ends.tables)
            self._n -= crc32(self._table.encode()) % (most - MOST_RECORDS + 1)

    # The link.

    def opened(  # noqa: PLR0913 - all of it is what a connection is opened with
        self,
        group: Batch,
        connection: Connection,
        *,
        profile: str,
        settings: dict[str, Any],
        resume: Resume | None,
        t_us: int,
    ) -> None:
        """Record a connection that opened. Its receptions are recorded from now on."""
        known = () if resume is None else (record_format.Resume(resume.device_id, resume.seq),)
        group.append_connection(
            self._table,
            record_format.Connection(
                number=connection.number,
                profile=profile,
                settings=settings,
                resume=known,
                t_us=t_us,
                authenticated=connection.capabilities.authenticated,
            ),
        )
        self._connection = connection
        self._device_id = None  # which device it is, is not known yet
        self.sent(group)

    def sent(self, group: Batch) -> None:
        """Record the bytes that were sent to the shoe since the last call."""
        if self._connection is None:
            return
        for sent in self._connection.take_sent():
            group.append_wire(
                self._table,
                connection=self._connection.number,
                direction=Direction.TO_SHOE,
                offset=sent.offset,
                t_us=sent.t_us,
                data=sent.data,
            )

    def ended(self) -> None:
        """Forget the connection, which ended. Begin a group first: the rest is not recorded."""
        self._connection = None

    def received(self, group: Batch, reception: Reception, t_us: int) -> int | str | None:
        """Record the bytes of a reception, and the calls that its session got before them.

        Returns the number of its last event, which is stored with the group.
        """
        if reception.calls:
            made = tuple(_call(call) for call in reception.calls)
            calls = record_format.Calls(connection=reception.connection, t_us=t_us, calls=made)
            group.append_calls(self._table, calls)
        if reception.chunk:
            group.append_wire(
                self._table,
                connection=reception.connection,
                direction=Direction.FROM_SHOE,
                offset=reception.offset,
                t_us=t_us,
                data=reception.chunk,
            )
        last: int | str | None = None
        for heard in reception.heard:
            if isinstance(heard.event, Hello):
                self._device_id = heard.event.device_id
            seq = heard.seq
            if seq is None:
                continue
            last = seq
            if isinstance(seq, int) and self._device_id is not None:
                self._devices[self._device_id] = seq
                group.set_device_seq(self._table, self._device_id, seq)
        return last

    def last_stored(self, device_id: str | None) -> int | None:
        """Return the last event number stored of this device; None where nothing is known of it."""
        return None if device_id is None else self._devices.get(device_id)


def inputs_of(reception: Reception, t_us: int) -> list[Input]:
    """Return the inputs that a reception brings to the table."""
    heard = in_runs(reception.heard, reception.chunk, reception.offset)
    said: list[Input] = [shoe_input(one, reception.connection, t_us) for one in heard]
    if reception.fault is not None:
        said.append(Fault(t_us=t_us, where=DECODING, what=reception.fault))
    return said


def in_runs(heard: Iterable[ReceivedEvent], data: bytes, offset: int) -> list[ReceivedEvent]:
    """Return the events of one reception, with consecutive pieces of garbage joined to one.

    ``data`` are the bytes received, the first of them at ``offset``: a run shows its first and last
    bytes. Frames discarded for a reason that only the key shows (``VERDICTS``) are joined with
    their like only, so that a replay without the key finds each verdict again. Repeated frames are
    joined in the same way, and so is a state that the shoe reports again without a change: it
    counts as repeated.
    """
    heard = list(heard)
    states = 0
    for one in heard:
        kind = type(one.event)
        states += kind is Status
        if kind in _IN_RUNS or states > 1:
            return _joined(_without_equal_states(heard), data, offset)
    return heard


def _without_equal_states(heard: list[ReceivedEvent]) -> list[ReceivedEvent]:
    """Return the events with each state that equals the one just before it as a repeated frame."""
    given: list[ReceivedEvent] = []
    last: ShoeEvent | None = None
    for one in heard:
        event = one.event
        if isinstance(event, Status) and event == last:
            again = Repeated(of=event.type)
            given.append(ReceivedEvent(again, one.seq, one.first, one.last))
        else:
            given.append(one)
            last = event
    return given


def _joined(heard: list[ReceivedEvent], data: bytes, offset: int) -> list[ReceivedEvent]:
    """Return events with consecutive pieces of garbage joined; see ``in_runs``."""
    given: list[ReceivedEvent] = []
    run: list[ReceivedEvent] = []
    kind: object = None
    for one in heard:
        of = _run_of(one.event)
        if of is None or of != kind:
            given += _as_one(run, data, offset)
            run, kind = [], of
        run.append(one)
    return given + _as_one(run, data, offset)


def of_a_run(event: ShoeEvent) -> ShoeEvent:
    """Return an event as it would be of one piece: a run's without its count and its bytes."""
    if isinstance(event, Discarded) and event.count is not None:
        return replace(event, count=None, first_bytes=None, last_bytes=None)
    if isinstance(event, Repeated) and event.count is not None:
        return replace(event, count=None)
    return event


def _run_of(event: ShoeEvent) -> object:
    """Return a key that is equal for events of one run; None for an event that stands alone."""
    if isinstance(event, Discarded) and event.history is None:
        return (Discarded, event.reason) if event.reason in VERDICTS else Discarded
    return (Repeated, event.of) if isinstance(event, Repeated) else None


def _as_one(run: list[ReceivedEvent], data: bytes, offset: int) -> list[ReceivedEvent]:
    """Return a run as one event. Bytes that came before ``data`` are not shown."""
    if len(run) < 2:
        return run
    first, last = run[0], run[-1]
    event: ShoeEvent
    if isinstance(first.event, Repeated):
        event = replace(first.event, count=len(run))
    else:
        reasons = {one.event.reason for one in run if isinstance(one.event, Discarded)}
        own = data[max(0, first.first - offset) : last.last - offset]
        event = Discarded(
            reason=reasons.pop() if len(reasons) == 1 else SEVERAL,
            count=len(run),
            first_bytes=own[:SHOWN_BYTES].hex() or None,
            last_bytes=own[-SHOWN_BYTES:].hex() or None,
        )
    return [ReceivedEvent(event, last.seq, first.first, last.last)]


def shoe_input(heard: ReceivedEvent, connection: int, t_us: int) -> ShoeSaid:
    """Return an event that was decoded on a connection as an input."""
    return ShoeSaid(
        t_us=t_us,
        event=heard.event,
        connection=connection,
        seq=heard.seq,
        first=heard.first,
        last=heard.last,
        device_us=heard.device_us,
    )


def _call(call: Call) -> record_format.Call:
    """Return a call to a session as the journal holds it."""
    match call:
        case Armed(number=number, hand=hand, index=index):
            return record_format.Desired((number, hand, index))
        case Locked():
            return record_format.Desired(None)
        case Query(command_id=number, what=what):
            return record_format.Commanded("query", number, what)
        case ClearError(command_id=number, overdraw=fate):
            return record_format.Commanded("clear_error", number, fate)
        case float():
            return record_format.Ticked(call)
        case Ended():
            return record_format.Ended()
    raise TypeError(f"no session that depends on its calls takes {type(call).__name__}")


def record_input(
    group: Batch, table: str, happened: Input, effects: Iterable[Effect], index: EventIndex
) -> list[int]:
    """Add an input and its events to a group, each at the input's time.

    Effects that are not events leave no record: a replay of the inputs gives them again. ``index``
    knows the events that earlier groups committed. Returns the events' handles, for
    ``CommitResult.ids``. If it raises, nothing is added.

    Raises:
        KeyError: an event replaces, revokes or reopens an outcome that ``index`` does not know.
    """
    first = group.append_input(table, to_bytes(happened), happened.t_us)
    handles: list[int] = []
    try:
        for effect in effects:
            if not isinstance(effect, TableEvent):
                continue
            data, restricted = effect.data, effect.restricted_data
            if effect.revises or effect.revokes or effect.reopens:
                data, restricted = _with_outcomes(effect, index, _older_outcome(happened))
            handle = group.append_event(
                table,
                effect.audience,
                effect.type,
                t_us=happened.t_us,
                subject=effect.subject,
                data=data,
                data_restricted=restricted,
            )
            handles.append(handle)
    except Exception:
        group.remove_from(first)
        raise
    return handles


def _older_outcome(happened: Input) -> dict[str, EventIds]:
    """Return the ids of the outcome that came with a command, by its round; it is a single one."""
    if not isinstance(happened, TableCommand) or isinstance(happened.older, msgspec.UnsetType):
        return {}
    older = older_from_bytes(happened.older)
    return {older.settled.round.id: EventIds(*older.told)}


def _with_outcomes(
    event: TableEvent, index: EventIndex, older: dict[str, EventIds]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return both data of an event, with the ids of the outcomes that it names."""
    data = event.data
    restricted = data if event.restricted_data is None else event.restricted_data
    for key in ("revises", "revokes", "reopens"):
        if (round_id := getattr(event, key)) is not None:
            ids = older.get(round_id) or index.outcome(round_id)
            restricted = {**restricted, key: ids.restricted}
            data = {**data, key: ids.public}
    return data, restricted
