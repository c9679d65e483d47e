"""Events that a sink would not take: what is known of them, the alarm, and its end.

In: the sink, the event, why. Out: delivery.parked .taken; what the status shows.
Must not know: sinks; what was in the event.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .inputs import DeliveryParked, DeliveryTaken
from .state import TableState, UndeliveredEvents
from .turn import Turn

MOST_WAITING = 1000
"""Of a sink, the last so many can be offered to it again; those before stand in the journal."""


def note_undelivered(turn: Turn) -> None:
    """Told as widely as the event itself was to be; the same event is told once."""
    if isinstance(turn.happened, DeliveryParked):
        _refused(turn, turn.happened)
    elif isinstance(turn.happened, DeliveryTaken):
        _taken(turn, turn.happened)


def _refused(turn: Turn, found: DeliveryParked) -> None:
    before = next((p for p in turn.now.parked if p.sink == found.sink), None)
    if before is None:
        before = UndeliveredEvents(sink=found.sink, public=found.public)
    elif before.last == found.event or found.record in before.waiting:
        return
    now = msgspec.structs.replace(
        before,
        count=before.count + 1,
        last=found.event,
        kind=found.event_type,
        waiting=(*before.waiting, *([found.record] if found.record else []))[-MOST_WAITING:],
    )
    _keep(turn, now)
    _tell(turn, now, "delivery.parked", found, why=found.why)


def _taken(turn: Turn, found: DeliveryTaken) -> None:
    for before in turn.now.parked:
        if before.sink == found.sink and found.record in before.waiting:
            left = tuple(record for record in before.waiting if record != found.record)
            _keep(turn, msgspec.structs.replace(before, waiting=left))
            _tell(turn, before, "delivery.taken", found)


def _keep(turn: Turn, now: UndeliveredEvents) -> None:
    others = tuple(p for p in turn.now.parked if p.sink != now.sink)
    turn.change(parked=(*others, now))


def _tell(
    turn: Turn,
    parked: UndeliveredEvents,
    kind: str,
    found: DeliveryParked | DeliveryTaken,
    **secret: str,
) -> None:
    told = {"sink": found.sink, "event": found.event, "type": found.event_type}
    if parked.public:
        turn.tell(kind, told, restricted={**told, **secret})
    else:
        turn.tell_restricted(kind, {**told, **secret})


def shown(now: TableState, *, restricted: bool) -> list[dict[str, Any]]:
    """For each sink how many events of this table it would not take, and the last of them.

    ``waiting`` is how many it has not taken since, and can be offered again. Sinks of the
    restricted stream are shown only to those who see it.
    """
    return [
        {
            "sink": parked.sink,
            "count": parked.count,
            "last": parked.last,
            "type": parked.kind,
            "waiting": len(parked.waiting),
        }
        for parked in now.parked
        if parked.public or restricted
    ]


def waiting(now: TableState, *, restricted: bool) -> dict[str, tuple[int, ...]]:
    """For each sink the records of what it has not taken, in order; seen as in ``shown``."""
    return {p.sink: p.waiting for p in now.parked if p.waiting and (p.public or restricted)}
