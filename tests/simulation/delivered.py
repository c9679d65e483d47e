"""What every remote system was told, held to the promise of delivery: in order, once by its id.

In: batches as they arrive, events that were refused. Out: each new event, once; Broken.
Must not know: the journal, why a batch comes again, what an event means.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from shoe_ctl.records import Audience
from tests.simulation.broken import Broken

Event = dict[str, Any]

_decode = msgspec.json.Decoder(type=dict[str, Any]).decode


class Delivered:
    """``new`` is called with each event that no remote system was told before, in their order.

    One that a system parked, and no other was told of yet, holds back those behind it.
    """

    def __init__(self, new: Callable[[Audience, Event], None]) -> None:
        self._new = new
        self.told: dict[Audience, list[bytes]] = {audience: [] for audience in Audience}
        self._ahead: dict[Audience, dict[int, bytes]] = {audience: {} for audience in Audience}
        self.applied: dict[str, int] = defaultdict(int)
        self.again = 0
        self.parked: dict[str, set[int]] = defaultdict(set)

    def refused(self, remote: str, audience: Audience, body: bytes) -> None:
        """It was offered this alone and will not take it: it is passed over, until asked for."""
        number = _number(_decode(body), audience)
        if number > self.applied[remote]:
            self.parked[remote].add(number)

    def take(self, remote: str, audience: Audience, events: Sequence[bytes]) -> None:
        """One batch for one remote system.

        Raises:
            Broken: it skips an event, or gives one id to two.
        """
        before: int | None = None
        for body in events:
            event = _decode(body)
            number = _number(event, audience)
            if before is not None and number != before + 1:
                raise Broken("order", f"{remote} was told {number} behind {before} in one batch")
            before = number
            self._apply(remote, audience, number, body, event)

    def _apply(
        self, remote: str, audience: Audience, number: int, body: bytes, event: Event
    ) -> None:
        told, applied, parked = self.told[audience], self.applied[remote], self.parked[remote]
        missing = set(range(applied + 1, number)) - parked
        if missing:
            raise Broken("order", f"{remote} was told {number} and never {min(missing)}")
        self.again += number <= applied and number not in parked
        parked.discard(number)
        self.applied[remote] = max(applied, number)
        ahead = self._ahead[audience]
        first = told[number - 1] if number <= len(told) else ahead.setdefault(number, body)
        if first != body:
            how = f"{event['id']} was {first.decode()}, and now {body.decode()}"
            raise Broken("one id, one event", how)
        while (following := ahead.pop(len(told) + 1, None)) is not None:
            told.append(following)
            self._new(audience, _decode(following))


def _number(event: Event, audience: Audience) -> int:
    stream = event["id"].rpartition("/")[2]
    if stream[0] != audience.value:
        raise Broken("audience", f"{event['id']} went to the {audience.name} stream")
    return int(stream[1:])
