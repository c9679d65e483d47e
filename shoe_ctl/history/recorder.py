"""The records of a table in the journal: the raw bytes of its link, its inputs and their events.

In: connections, receptions, inputs with their effects. Out: records in a journal group, the same
live and in replay. Must not know: loops, stores, when a group is committed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from firmware_proto.commands import Armed, ClearError, Locked, Query
from firmware_proto.events import Discarded, Repeated, ShoeEvent
from firmware_proto.reference.mac import VERDICTS
from firmware_proto.session import ReceivedEvent, Resume
from shoe_ctl.history.event_ids import EventIndex
from shoe_ctl.journal import record_format
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.record_format import Direction
from shoe_ctl.link.connection import Call, Connection, Ended, Reception
from shoe_ctl.table.effects import Effect, TableEvent
from shoe_ctl.table.inputs import Fault, Input, ShoeSaid, to_bytes

DECODING = "decoding"
"""The ``where`` of a fault that the session raised while it decoded bytes."""

SHOWN_BYTES = 8
"""So many of a run's first and last bytes are recorded with it, in hex. The wire records hold all
of them."""

_IN_RUNS = (Discarded, Repeated)
"""Types of events that may be joined."""

SEVERAL = "several"
"""The reason given for a run whose pieces were discarded for different reasons."""


class LinkRecorder:
    """Records the link of one table. Bytes sent to the shoe wait for the table's next group."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._connection: Connection | None = None

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
        """Forget the connection, which ended. Call ``sent`` first: the rest is not recorded."""
        self._connection = None

    def received(self, group: Batch, reception: Reception, t_us: int) -> None:
        """Record the bytes of a reception, and the calls that its session got before them."""
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
    joined in the same way.
    """
    heard = list(heard)
    for one in heard:
        if type(one.event) in _IN_RUNS:
            return _joined(heard, data, offset)
    return heard


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
        KeyError: an event replaces or revokes an outcome that ``index`` does not know.
    """
    first = group.append_input(table, to_bytes(happened), happened.t_us)
    try:
        return [
            _record_event(group, table, happened.t_us, effect, index)
            for effect in effects
            if isinstance(effect, TableEvent)
        ]
    except Exception:
        group.remove_from(first)
        raise


def _record_event(group: Batch, table: str, t_us: int, event: TableEvent, index: EventIndex) -> int:
    data, restricted = event.data, event.restricted_data
    if event.revises is not None or event.revokes is not None:
        for key, round_id in (("revises", event.revises), ("revokes", event.revokes)):
            if round_id is not None:
                ids = index.outcome(round_id)
                restricted = {**(data if restricted is None else restricted), key: ids.restricted}
                data = {**data, key: ids.public}
    return group.append_event(
        table,
        event.audience,
        event.type,
        t_us=t_us,
        subject=event.subject,
        data=data,
        data_restricted=restricted,
    )
