"""The alarm for events that a sink will not take: their tables are told, which tell everyone.

In: a sink, an event's bytes, why. Out: an input of the event's table, stored.
Must not know: why sinks refuse, what an event means.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

import msgspec

from shoe_ctl.delivery import SinkPlace
from shoe_ctl.records import Envelope
from shoe_ctl.runner import TableRunner

OWN = "delivery.parked"
"""The alarm's own events: that one of these is not taken either is logged, not told again."""

log = logging.getLogger(__name__)

_decoder = msgspec.json.Decoder(Envelope)


class Alarm:
    """Waits with what it has to tell until the tables are at work."""

    def __init__(self) -> None:
        self._tables: asyncio.Future[Mapping[str, TableRunner]]
        self._tables = asyncio.get_running_loop().create_future()

    def tables_are(self, tables: Mapping[str, TableRunner]) -> None:
        """These are at work, by their ids."""
        self._tables.set_result(tables)

    async def parked(self, place: SinkPlace, event: bytes, why: str) -> None:
        """Tells the event's table, and returns when that is stored.

        Raises:
            JournalError: the journal takes nothing more.
        """
        envelope = _decoder.decode(event)
        table = (await asyncio.shield(self._tables)).get(envelope.source.removeprefix("/table/"))
        if table is None or envelope.type == OWN:
            log.error("sink %s will not take event %s: %s", place.name, envelope.id, why)
        else:
            await table.parked(place.name, place.sees, envelope, why)
