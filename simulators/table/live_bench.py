"""A live bench: a simulated shoe on a port of its own, a daemon behind a socket, real time.

In: a rig, a client, the file that the daemon's public sink writes. Out: a Bench.
Must not know: how the daemon is started, scenarios.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from simulators.errors import PortFault
from simulators.rig import Rig
from simulators.shoe.device import Device
from simulators.shoe.reference import ReferenceDevice
from simulators.table.bench import Stuck
from simulators.table.client import Client
from simulators.table.expectation import Told

LOOK_EVERY_S = 0.005
"""Far below what a person or a daemon takes to do anything; a file tells nobody that it grew."""

UNHEARD_AFTER_S = 1.0
"""A card of a shoe that gets no acknowledgements, of which no event comes, is not waited for."""

UNSEEN_S = 0.1
"""The same where only the public stream is read: what a loaded host takes to store a card."""

NOISE = b"\x55" * 4096
"""Garbage that is no frame of any profile, as much as a tty holds."""

CARD_EVENTS = ("round.card_drawn", "shoe.fault")
"""Events of the restricted stream for every card that leaves a shoe."""


class TableTime:
    """The time that has passed at a table, in a file that its daemon reads.

    The file holds microseconds as 8 bytes, least significant first.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._passed_us = 0
        self.pass_us(0)

    def pass_us(self, us: int) -> None:
        """Let so much more pass.

        Raises:
            PortFault: the file cannot be written.
        """
        self._passed_us += us
        mode = "r+b" if self._path.exists() else "wb"  # a daemon never finds it empty
        try:
            with self._path.open(mode, buffering=0) as file:
                file.write(self._passed_us.to_bytes(8, "little"))
        except OSError as error:
            raise PortFault(f"time file {self._path}: {error.strerror}") from None


Arrived = Callable[[Mapping[str, Any]], None]


class Stream:
    """The events in a file of JSON lines, as far as they have been written.

    ``arrived`` is called with each event as it is found there. One that comes twice, as the last
    ones do after a storage fault, counts once.
    """

    def __init__(self, path: Path, arrived: Arrived = lambda _: None) -> None:
        self.path = path
        self._arrived = arrived
        self.told: list[Told] = []
        self._ids: set[str] = set()
        self._at = 0

    def read(self) -> None:
        """Take in what is new; a line that is still being written waits.

        Raises:
            PortFault: the file cannot be read.
        """
        try:
            with self.path.open("rb") as file:
                file.seek(self._at)
                new = file.read()
        except FileNotFoundError:
            return  # the daemon makes it
        except OSError as error:
            raise PortFault(f"events file {self.path}: {error.strerror}") from None
        end = new.rfind(b"\n") + 1
        self._at += end
        for line in new[:end].splitlines():
            event = json.loads(line)
            if event["id"] in self._ids:
                continue
            self._ids.add(event["id"])
            self.told.append(Told(event["type"], event["data"], event["id"]))
            self._arrived(event)


class LiveBench:
    """See ``Bench``. ``host`` is asked to let something happen around the daemon, by its part.

    ``time`` shows the daemon how much time has passed; None where it lives in real time.
    ``restricted`` is read, where it is given, to know when a card has been told of.
    ``arrived`` is called with each public event when it is found in its file.
    ``pace_s`` is how long the hand takes for a card; ``patience_s`` bounds every wait.
    """

    def __init__(  # noqa: PLR0913 - what a bench is made of, each by name
        self,
        rig: Rig,
        client: Client,
        public: Path,
        *,
        host: Callable[[str, str], Awaitable[None]],
        restricted: Path | None = None,
        time: TableTime | None = None,
        pace_s: float = 0.0,
        patience_s: float = 30.0,
        arrived: Arrived = lambda _: None,
    ) -> None:
        self.client = client
        self._rig = rig
        self._public = Stream(public, arrived)
        self._restricted = None if restricted is None else Stream(restricted)
        self._host = host
        self._time = time
        self._pace_s = pace_s
        self._patience_s = patience_s
        self._cards_told = 0

    @property
    def device(self) -> Device:
        """The shoe."""
        return self._rig.device

    @property
    def now(self) -> float:
        """The loop's time."""
        return self._rig.now

    @property
    def public(self) -> Sequence[Told]:
        """The events that the file holds by now."""
        self._public.read()
        return self._public.told

    @property
    def restricted(self) -> Sequence[Told] | None:
        """The events that the restricted stream's file holds by now; None where none is given."""
        if self._restricted is None:
            return None
        self._restricted.read()
        return self._restricted.told

    @property
    def connections(self) -> int:
        """As the rig counts them."""
        return self._rig.connections

    def touched(self) -> None:
        """The shoe says what it has to say."""
        self._rig.turn()

    async def until(self, so: Callable[[], bool], what: str) -> None:
        """As ``Bench.until``, for as long as patience lasts."""
        if not await self.in_time(so, self._patience_s):
            raise Stuck(f"{what} did not come in {self._patience_s:g} s")

    async def in_time(self, so: Callable[[], bool], limit_s: float) -> bool:
        """Return whether it was so within this time."""
        end = self.now + limit_s
        while not so():
            if self.now >= end:
                return False
            await asyncio.sleep(LOOK_EVERY_S)
        return True

    async def pass_time(self, us: int) -> None:
        """As ``Bench.pass_time``: at once where the daemon goes by the scenario's time."""
        if self._time is None:
            await asyncio.sleep(us / 1_000_000)
        else:
            self.device.clock.pass_by(us / 1_000_000)
            self._time.pass_us(us)

    async def taken_up(self, cards: int = 0) -> None:
        """As ``Bench.taken_up``: by acknowledgements where there are any, and by events.

        A card is acknowledged, and the next one freed, before any sink is told of it.
        """
        if cards and self._pace_s:
            await asyncio.sleep(self._pace_s)
        device = self.device
        if isinstance(device, ReferenceDevice):
            await self.until(
                lambda: not device.connected or not device.event_log.unacknowledged,
                "the host's acknowledgement",
            )
        if not cards or not device.connected:
            return
        if self._restricted is not None or not isinstance(device, ReferenceDevice):
            await self._until_told_of(cards)

    async def _until_told_of(self, cards: int) -> None:
        if self._restricted is None:
            await asyncio.sleep(max(0.0, UNSEEN_S - self._pace_s))
            return
        wanted = self._cards_told + cards
        await self.in_time(
            lambda: self._count_cards() >= wanted and self._public_is_told_of_them(),
            UNHEARD_AFTER_S,
        )
        self._cards_told = self._count_cards()

    def unplug(self) -> None:
        """The cable comes off."""
        self._rig.unplug()

    def replug(self) -> None:
        """It is plugged in again."""
        self._rig.replug()

    def cut(self, direction: str) -> None:
        """One wire of the cable breaks."""
        self._rig.cut(direction)

    def mend(self) -> None:
        """Both wires are whole again."""
        self._rig.mend()

    async def noise(self) -> None:
        """Garbage comes as fast as it is read, until the table tells that the line is suspended."""

        def count() -> int:
            return sum(told.type == "shoe.line_suspended" for told in self.public)

        def is_suspended() -> bool:
            if not self._rig.port.pending:
                self._rig.add_noise(NOISE)
            return count() > before

        before = count()
        await self.until(is_suspended, "shoe.line_suspended")

    def hold(self) -> None:
        """Neither end hears the other."""
        self._rig.hold()

    def release(self) -> None:
        """Each hears what the other has said."""
        self._rig.release()

    async def host(self, what: str, part: str) -> None:
        """Whoever runs the daemon is asked, and the shoe waits until it has hung up."""
        if part == "host":
            await self.client.close()
        await self._host(what, part)

    def _count_cards(self) -> int:
        assert self._restricted is not None
        self._restricted.read()
        return sum(told.type in CARD_EVENTS for told in self._restricted.told)

    def _public_is_told_of_them(self) -> bool:
        """Each file is written when its own sink comes to it."""
        assert self._restricted is not None
        public, restricted = (
            sum(told.type == "round.card_dealt" for told in stream)
            for stream in (self.public, self._restricted.told)
        )
        return public >= restricted
