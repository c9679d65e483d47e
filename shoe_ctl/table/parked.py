"""Events that a sink would not take: what is known of them, and the alarm.

In: the sink, the event, why. Out: delivery.parked; what the status shows.
Must not know: sinks; what was in the event.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .inputs import DeliveryParked
from .state import Parked, TableState
from .turn import Turn


def note(turn: Turn) -> None:
    """Told as widely as the event itself was to be; the same event is told once."""
    found = turn.happened
    assert isinstance(found, DeliveryParked)
    before = next((p for p in turn.now.parked if p.sink == found.sink), None)
    if before is None:
        before = Parked(sink=found.sink, public=found.public)
    elif before.last == found.event:
        return
    others = tuple(p for p in turn.now.parked if p.sink != found.sink)
    now = msgspec.structs.replace(
        before, count=before.count + 1, last=found.event, kind=found.event_type
    )
    turn.change(parked=(*others, now))
    told = {"sink": found.sink, "event": found.event, "type": found.event_type}
    if found.public:
        turn.tell("delivery.parked", told, restricted={**told, "why": found.why})
    else:
        turn.tell_restricted("delivery.parked", {**told, "why": found.why})


def shown(now: TableState, *, restricted: bool) -> list[dict[str, Any]]:
    """For each sink how many events of this table it would not take, and the last of them.

    Sinks of the restricted stream are shown only to those who see it.
    """
    return [
        {"sink": parked.sink, "count": parked.count, "last": parked.last, "type": parked.kind}
        for parked in now.parked
        if parked.public or restricted
    ]
