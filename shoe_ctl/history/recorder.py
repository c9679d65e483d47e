"""What a table's journal keeps of the line to its shoe: enough to decode every connection again.

In: connections, receptions. Out: connection, wire and calls records in a group; inputs.
Must not know: what an input brings about, when groups are committed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from firmware_proto.events import Armed, ClearError, Discarded, Locked, Query, Repeated, ShoeEvent
from firmware_proto.reference.seal import VERDICTS
from firmware_proto.session import Heard, Resume
from shoe_ctl.journal import bodies
from shoe_ctl.journal.bodies import Direction
from shoe_ctl.journal.group import Group
from shoe_ctl.link.connection import Call, Connection, Ended, Reception
from shoe_ctl.table.inputs import Fault, Input, ShoeSaid

DECODING = "decoding"
"""Where a fault was, when it was the session that raised it."""

SHOWN_BYTES = 8
"""So many of the first and of the last bytes of a run are recorded with it, in hex. All of them
stand in the wire records."""

SEVERAL = "several"
"""The reason of a run whose pieces were discarded for different ones."""


class Line:
    """The line of one table. What goes to the shoe waits for the table's next group."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._connection: Connection | None = None

    def opened(  # noqa: PLR0913 - all of it is what a connection is opened with
        self,
        group: Group,
        connection: Connection,
        *,
        profile: str,
        settings: dict[str, Any],
        resume: Resume | None,
        t_us: int,
    ) -> None:
        """A connection with which something may be heard from now on."""
        known = () if resume is None else (bodies.Resume(resume.device_id, resume.seq),)
        group.connection(
            self._table,
            bodies.Connection(
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

    def sent(self, group: Group) -> None:
        """What went to the shoe since this was last asked."""
        if self._connection is None:
            return
        for sent in self._connection.take_sent():
            group.wire(
                self._table,
                connection=self._connection.number,
                direction=Direction.TO_SHOE,
                offset=sent.offset,
                t_us=sent.t_us,
                data=sent.data,
            )

    def ended(self) -> None:
        """Nothing comes of the connection any more; ``sent`` was asked before."""
        self._connection = None

    def received(self, group: Group, reception: Reception, t_us: int) -> None:
        """The bytes of a reception, and what its session was told before them."""
        if reception.calls:
            told = tuple(_call(call) for call in reception.calls)
            calls = bodies.Calls(connection=reception.connection, t_us=t_us, calls=told)
            group.calls(self._table, calls)
        if reception.chunk:
            group.wire(
                self._table,
                connection=reception.connection,
                direction=Direction.FROM_SHOE,
                offset=reception.offset,
                t_us=t_us,
                data=reception.chunk,
            )


def inputs(reception: Reception, t_us: int) -> list[Input]:
    """What a reception is to the table."""
    heard = in_runs(reception.heard, reception.chunk, reception.offset)
    said: list[Input] = [shoe_said(one, reception.connection, t_us) for one in heard]
    if reception.fault is not None:
        said.append(Fault(t_us=t_us, where=DECODING, what=reception.fault))
    return said


def in_runs(heard: Iterable[Heard], data: bytes, offset: int) -> list[Heard]:
    """What was heard in one go, with pieces of garbage that follow one another as one.

    ``data`` is what came, its first byte at ``offset``: a run shows its first and last bytes. What
    only a key can tell (``VERDICTS``) is never mixed with anything else, so that a replay without
    the key finds each verdict again. Frames sent again are gathered in the same way.
    """
    given: list[Heard] = []
    run: list[Heard] = []
    kind: object = None
    for one in heard:
        of = _run_of(one.event)
        if of is None or of != kind:
            given += _as_one(run, data, offset)
            run, kind = [], of
        run.append(one)
    return given + _as_one(run, data, offset)


def of_a_run(event: ShoeEvent) -> ShoeEvent:
    """What any one piece of a run is recorded as."""
    if isinstance(event, Discarded) and event.count is not None:
        return replace(event, count=None, first_bytes=None, last_bytes=None)
    if isinstance(event, Repeated) and event.count is not None:
        return replace(event, count=None)
    return event


def _run_of(event: ShoeEvent) -> object:
    """The same for events that make a run with one another; None: it stands by itself."""
    if isinstance(event, Discarded) and event.history is None:
        return (Discarded, event.reason) if event.reason in VERDICTS else Discarded
    return (Repeated, event.of) if isinstance(event, Repeated) else None


def _as_one(run: list[Heard], data: bytes, offset: int) -> list[Heard]:
    """The run as one; what came before ``data`` is not looked for to show it."""
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
    return [Heard(event, last.seq, first.first, last.last)]


def shoe_said(heard: Heard, connection: int, t_us: int) -> ShoeSaid:
    """What was heard on a connection, as an input."""
    return ShoeSaid(
        t_us=t_us,
        event=heard.event,
        connection=connection,
        seq=heard.seq,
        first=heard.first,
        last=heard.last,
    )


def _call(call: Call) -> bodies.Call:
    """What a session was told, as the journal keeps it."""
    match call:
        case Armed(number=number, hand=hand, index=index):
            return bodies.Desired((number, hand, index))
        case Locked():
            return bodies.Desired(None)
        case Query(command_id=number, what=what):
            return bodies.Commanded("query", number, what)
        case ClearError(command_id=number, overdraw=fate):
            return bodies.Commanded("clear_error", number, fate)
        case float():
            return bodies.Ticked(call)
        case Ended():
            return bodies.Ended()
    raise TypeError(f"no session that depends on its calls takes {type(call).__name__}")
