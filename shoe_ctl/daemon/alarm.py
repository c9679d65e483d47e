"""The alarm for events that a sink will not take: their tables are told, which tell everyone.

In: a sink, an event's bytes, why; that it took one after all. Out: an input of the event's table,
stored. Must not know: why sinks refuse, what an event means.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

import msgspec

from shoe_ctl.daemon.table_runner import TableRunner
from shoe_ctl.records import Audience, Envelope, table_in

OWN = ("delivery.parked", "delivery.taken")
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

    def of(self, sink: str, sees: Audience) -> SinkAlarm:
        """The alarm of this sink, which gets this stream."""
        return SinkAlarm(self, sink, sees)

    async def table_of(self, event: Envelope) -> TableRunner | None:
        """The event's table; None where it is not served here, or the event is an alarm itself."""
        tables = await asyncio.shield(self._tables)
        return None if event.type in OWN else tables.get(table_in(event.source))


class SinkAlarm:
    """One sink's. Each call returns when what it tells is stored, or raises JournalError."""

    def __init__(self, alarm: Alarm, sink: str, sees: Audience) -> None:
        self._alarm = alarm
        self._sink = sink
        self._sees = sees

    async def parked(self, n: int, event: bytes, why: str) -> None:
        """The sink will not take this event, record ``n``: its table is told."""
        envelope = _decoder.decode(event)
        if (table := await self._alarm.table_of(envelope)) is None:
            log.error("sink %s will not take event %s: %s", self._sink, envelope.id, why)
        else:
            await table.parked(self._sink, self._sees, n, envelope, why)

    async def taken(self, n: int, event: bytes) -> None:
        """It has taken it after all."""
        envelope = _decoder.decode(event)
        if (table := await self._alarm.table_of(envelope)) is not None:
            await table.taken(self._sink, n, envelope)
