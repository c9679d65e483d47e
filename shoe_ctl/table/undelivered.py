"""Undelivered events: events of this table that a sink refused, or took and lost.

In: the sink, the event, the reason. Out: delivery.parked .taken .lost .refilled; what the status
shows.
Must not know: sinks; what was in the event.
"""

from __future__ import annotations

from typing import Any

import msgspec

from shoe_ctl.table.inputs import (
    DeliveryLost,
    DeliveryParked,
    DeliveryRefilled,
    DeliveryTaken,
)
from shoe_ctl.table.state import TableState, UndeliveredEvents
from shoe_ctl.table.turn import Turn

MOST_WAITING = 1000
"""For each sink the last so many events can be offered again; older ones stay in the journal."""


def note_undelivered(turn: Turn) -> None:
    """Note that a sink refused an event, or that it took one that it had refused before.

    The event about it is public if the sink gets the public stream. A refusal that is reported
    again is not noted again.
    """
    if isinstance(turn.input, DeliveryParked):
        _note_refused(turn, turn.input)
    elif isinstance(turn.input, DeliveryTaken):
        _note_delivered(turn, turn.input)


def note_lost(turn: Turn) -> None:
    """Note that a sink lost events which it had taken, until it was offered all of them again.

    The event about it is public if the sink gets the public stream.
    """
    lost = turn.input
    assert isinstance(lost, DeliveryLost)
    before = _of(turn, lost.sink, public=lost.public)
    first, last = before.lost or (lost.first, lost.last)
    _store(
        turn,
        msgspec.structs.replace(before, lost=(min(first, lost.first), max(last, lost.last))),
    )
    data = {"sink": lost.sink, "first": lost.first, "last": lost.last}
    _emit(turn, before, "delivery.lost", data)


def note_refilled(turn: Turn) -> None:
    """Note that a sink was offered again all that it had lost."""
    refilled = turn.input
    assert isinstance(refilled, DeliveryRefilled)
    for before in turn.now.undelivered:
        if before.sink == refilled.sink and before.lost is not None:
            _store(turn, msgspec.structs.replace(before, lost=None))
            first, last = before.lost
            data = {"sink": before.sink, "first": first, "last": last}
            if refilled.refused:
                data["refused"] = refilled.refused
            _emit(turn, before, "delivery.refilled", data)


def _of(turn: Turn, sink: str, *, public: bool) -> UndeliveredEvents:
    found = (p for p in turn.now.undelivered if p.sink == sink)
    return next(found, UndeliveredEvents(sink=sink, public=public))


def _note_refused(turn: Turn, refused: DeliveryParked) -> None:
    before = _of(turn, refused.sink, public=refused.public)
    if before.last == refused.event or refused.record in before.waiting:
        return
    now = msgspec.structs.replace(
        before,
        count=before.count + 1,
        last=refused.event,
        kind=refused.event_type,
        waiting=(*before.waiting, *([refused.record] if refused.record else []))[-MOST_WAITING:],
    )
    _store(turn, now)
    _emit(turn, now, "delivery.parked", _named(refused), reason=refused.why.as_data())


def _note_delivered(turn: Turn, delivered: DeliveryTaken) -> None:
    for before in turn.now.undelivered:
        if before.sink == delivered.sink and delivered.record in before.waiting:
            left = tuple(record for record in before.waiting if record != delivered.record)
            _store(turn, msgspec.structs.replace(before, waiting=left))
            _emit(turn, before, "delivery.taken", _named(delivered))


def _named(event: DeliveryParked | DeliveryTaken) -> dict[str, object]:
    return {"sink": event.sink, "event": event.event, "type": event.event_type}


def _store(turn: Turn, now: UndeliveredEvents) -> None:
    others = tuple(p for p in turn.now.undelivered if p.sink != now.sink)
    turn.change(undelivered=(*others, now))


def _emit(
    turn: Turn,
    undelivered: UndeliveredEvents,
    kind: str,
    data: dict[str, object],
    **secret: object,
) -> None:
    if undelivered.public:
        turn.emit(kind, data, restricted={**data, **secret})
    else:
        turn.emit_restricted(kind, {**data, **secret})


def describe(now: TableState, *, restricted: bool) -> list[dict[str, Any]]:
    """Return for each sink how many events it refused, and the last of them, for the status.

    ``waiting`` is how many it has not taken since and can be offered again. Sinks of the restricted
    stream are in it only if ``restricted``.
    """
    return [
        {
            "sink": parked.sink,
            "count": parked.count,
            "last": parked.last,
            "type": parked.kind,
            "waiting": len(parked.waiting),
        }
        for parked in now.undelivered
        if parked.count and (parked.public or restricted)
    ]


def list_lost(now: TableState) -> dict[str, tuple[int, int]]:
    """Return for each sink the first and last number of the events that it lost and has not yet."""
    return {p.sink: p.lost for p in now.undelivered if p.lost is not None}


def list_waiting(now: TableState, *, restricted: bool) -> dict[str, tuple[int, ...]]:
    """Return for each sink the journal's records of what it has not taken, in order.

    Sinks of the restricted stream are in it only if ``restricted``.
    """
    return {p.sink: p.waiting for p in now.undelivered if p.waiting and (p.public or restricted)}
