"""A system that events go to: it applies each id once, and is slow, dead, forgetful or picky.

In: batches of events, from one daemon after the other. Out: what it applied.
Must not know: the journal, cursors, why a daemon went.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence

from shoe_ctl.records import Audience
from shoe_ctl.sinks.pump import EventRefused
from tests.simulation.process import Life

ANSWERS_S = 0.003
SLOWLY_S = 2.0
GIVES_UP_S = 0.5
"""How long a daemon waits for one that is dead."""


class RemoteSystem:
    """``took`` is called with each batch that arrives, before the daemon is told that it did.

    ``refused`` is called with an event that it was offered alone and will not take.
    """

    def __init__(
        self,
        name: str,
        audience: Audience,
        chance: random.Random,
        took: Callable[[str, Audience, Sequence[bytes]], None],
        refused: Callable[[str, Audience, bytes], None],
    ) -> None:
        self.name = name
        self.audience = audience
        self.dead = self.slow = False
        self.forgets = self.chokes = 0
        self._poison: set[bytes] = set()
        self._chance = chance
        self._took = took
        self._refused = refused

    def is_well(self) -> None:
        """It answers again, and at once, and takes everything."""
        self.dead = self.slow = False
        self.chokes = 0
        self._poison.clear()

    def reached_by(self, life: Life) -> Delivery:
        """The way of one process to it."""
        return Delivery(self, life)

    async def take(self, events: Sequence[bytes], life: Life) -> None:
        """As ``Sink.deliver``."""
        await asyncio.sleep(self._chance.uniform(0.0, ANSWERS_S))
        if self.slow:
            await asyncio.sleep(self._chance.uniform(0.0, SLOWLY_S))
        if self.dead:
            await asyncio.sleep(GIVES_UP_S)
            raise TimeoutError(f"{self.name} does not answer")
        if not life.alive:
            raise ConnectionResetError("its process died")
        self._swallow(events)
        self._took(self.name, self.audience, events)
        await asyncio.sleep(self._chance.uniform(0.0, ANSWERS_S))
        if self.forgets:
            self.forgets -= 1
            raise ConnectionResetError(f"{self.name} hung up before it answered")

    def _swallow(self, events: Sequence[bytes]) -> None:
        """Raises EventRefused at what it will not take; an alarm of that it always takes."""
        if self.chokes and b'"type":"delivery.' not in events[-1]:
            self.chokes -= 1
            self._poison.add(events[-1])
        if self._poison.intersection(events):
            if len(events) == 1:
                self._refused(self.name, self.audience, events[0])
            raise EventRefused(f"{self.name} does not understand an event")


class Delivery:
    """One process's sink."""

    def __init__(self, remote: RemoteSystem, life: Life) -> None:
        self._remote = remote
        self._life = life

    async def deliver(self, events: Sequence[bytes]) -> None:
        await self._remote.take(events, self._life)
