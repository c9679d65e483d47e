"""An owner of a link, on a clock by hand: notes what it is told, acknowledges what it is given."""

from __future__ import annotations

import asyncio

import pytest

from firmware_proto.session import Resume
from shoe_ctl.link.connection import Connection, Reception
from shoe_ctl.link.hotplug import Arrivals, nothing_arrives
from shoe_ctl.link.reconnect import Supervisor
from shoe_ctl.link.transport import Opener
from shoe_testing.transports import HandClock, LineProfile


class Host:
    """An owner of a link: notes what it is told, acknowledges what it is given."""

    def __init__(
        self,
        opener: Opener,
        profile: LineProfile | None = None,
        *,
        arrivals: Arrivals = nothing_arrives,
    ) -> None:
        self.clock = HandClock()
        self.profile = profile or LineProfile()
        self.told: list[str] = []
        self.last = 0
        self.inside = 0
        self.go = asyncio.Event()
        self.go.set()
        self.link = Supervisor(
            name="bac-07",
            profile=self.profile,
            settings={},
            opener=opener,
            clock=self.clock,
            resume=lambda: Resume("SH-1", self.last) if self.last else None,
            on_up=self.on_up,
            on_lost=self.on_lost,
            on_reception=self.on_reception,
            first_connection=41,
            arrivals=arrivals,
        )

    async def _note(self, what: str) -> None:
        assert self.inside == 0, "callbacks overlap"
        self.inside += 1
        self.told.append(what)
        try:
            await asyncio.sleep(0)
            await self.go.wait()
        finally:
            self.inside -= 1

    async def on_up(self, connection: Connection) -> None:
        await self._note(f"up {connection.number}")

    async def on_lost(self, reason: str) -> None:
        await self._note(f"lost {reason}")

    async def on_reception(self, reception: Reception) -> None:
        await self._note(f"{reception.connection}@{reception.offset} {reception.chunk!r}")
        if reception.heard:
            self.last = int(str(reception.heard[-1].seq))
            assert self.link.connection is not None
            self.link.connection.stored(self.last)


async def end(running: asyncio.Task[None]) -> None:
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
