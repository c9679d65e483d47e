"""Keeps a table connected to its shoe: opens the port, and opens it again when it is lost.

In: an opener, the shoe's profile, what the host durably knows. Out: connections and receptions.
Must not know: kinds of ports, frames, the journal, the round.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from enum import Enum

from firmware_proto.events import DesiredShoeState
from firmware_proto.profiles import Profile
from firmware_proto.session import Resume
from shoe_ctl.errors import PortError

from .arrivals import Arrivals, nothing_arrives
from .backoff import Backoff
from .clock import Clock, sleep
from .connection import Connection, OnReception, Reception
from .noted import Noted
from .transport import Opener, Transport

log = logging.getLogger(__name__)

SILENT = ": is the shoe switched on, and is its cable whole?"


class LinkState(Enum):
    """What the link is doing.

    ``LISTENING``: the port is open again after its shoe was silent, and nothing was heard yet.
    ``WAITING``: the pause before the port is tried again.
    """

    STOPPED = "stopped"
    CONNECTING = "connecting"
    LISTENING = "listening"
    UP = "up"
    WAITING = "waiting"


class Supervisor:
    """The link of one table. All is called in one event loop.

    ``on_up`` is given each connection before anything that it brings, ``on_lost`` the reason of
    its end, ``on_reception`` what came in between; they are awaited one at a time, in order, and
    what they raise ends ``run``. A port opens although its shoe is off: after a connection on which
    a shoe that always answers was silent, the next is told only once something is heard on it.
    ``resume`` is asked at each connect. ``first_connection`` is the number of the first one.
    ``arrivals`` tells of the port's return; what it misses, the next attempt finds.

    Raises:
        ValueError: settings that the profile does not take.
    """

    def __init__(  # noqa: PLR0913 - all that a link needs from outside meets here
        self,
        *,
        name: str,
        profile: Profile,
        settings: Mapping[str, object],
        opener: Opener,
        clock: Clock,
        resume: Callable[[], Resume | None],
        on_up: Callable[[Connection], Awaitable[None]],
        on_lost: Callable[[str], Awaitable[None]],
        on_reception: OnReception,
        first_connection: int,
        arrivals: Arrivals = nothing_arrives,
    ) -> None:
        profile.host_session(resume=None, settings=settings)
        self._name = name
        self._profile = profile
        self._settings = settings
        self._opener = opener
        self._clock = clock
        self._resume = resume
        self._on_up = on_up
        self._on_lost = on_lost
        self._on_reception = on_reception
        self._next_number = first_connection
        self._arrivals = arrivals
        self._desired: DesiredShoeState | None = None
        self._backoff = Backoff()
        self._state = LinkState.STOPPED
        self._connection: Connection | None = None
        self._trouble: str | None = None
        self._doubted = False
        self._noted = Noted(name, None)

    @property
    def state(self) -> LinkState:
        """What the link is doing now."""
        return self._state

    @property
    def connection(self) -> Connection | None:
        """The connection that is up, or None."""
        return self._connection if self._state is LinkState.UP else None

    @property
    def trouble(self) -> str | None:
        """Why the link is not up, one line for people; None while it is up or not yet tried."""
        return self._trouble

    def desire(self, state: DesiredShoeState) -> None:
        """What the shoe should be from now on, told to this connection and to each later one."""
        self._desired = state
        if self._connection is not None:
            self._connection.desire(state)

    async def run(self, *, must_open_first: bool = False) -> None:
        """Connects, and connects again after each loss, until cancelled.

        Raises:
            PortError: with ``must_open_first``, when the very first attempt fails.
        """
        try:
            transport = await self._open(give_up=must_open_first)
            while True:
                await self._serve(transport)
                transport = await self._open(give_up=False)
        finally:
            self._state = LinkState.STOPPED

    async def _open(self, *, give_up: bool) -> Transport:
        """Tries until the port opens."""
        while True:
            self._state = LinkState.CONNECTING
            with self._arrivals() as arrived:
                try:
                    return await self._opener()
                except PortError as error:
                    if give_up:
                        raise
                    await self._wait(str(error), arrived)

    async def _serve(self, transport: Transport) -> None:
        """Serves one connection to its end, and waits a moment after it."""
        with closing(transport):
            resume = self._resume()
            session = self._profile.host_session(resume=resume, settings=self._settings)
            self._noted = Noted(self._name, None if resume is None else resume.device_id)
            connection = Connection(
                name=self._name,
                number=self._next_number,
                transport=transport,
                session=session,
                clock=self._clock,
                on_reception=self._received,
            )
            if self._desired is not None:
                connection.desire(self._desired)
            self._next_number += 1
            self._connection, self._state = connection, LinkState.LISTENING
            try:
                if not self._doubted:
                    await self._announce()
                reason = await connection.run()
            finally:
                told, self._connection = self._state is LinkState.UP, None
        if connection.spoke:
            self._backoff.spoke()
        answers = connection.capabilities.silence_s is not None
        self._doubted = answers and (connection.fell_silent or not connection.spoke)
        self._state, self._trouble = LinkState.WAITING, reason
        hint = SILENT if connection.fell_silent else ""
        if told:
            log.info(
                "%s: connection %d brought %d bytes, %d times some were discarded",
                *(self._name, connection.number, connection.received, connection.discarded),
            )
            await self._on_lost(reason)
        with self._arrivals() as arrived:
            await self._wait(reason + hint, arrived)

    async def _received(self, reception: Reception) -> None:
        if self._state is LinkState.LISTENING:
            await self._announce()
        self._noted.heard(reception.heard)
        await self._on_reception(reception)

    async def _announce(self) -> None:
        """The link is up."""
        assert self._connection is not None
        log.info("%s: connection %d is up", self._name, self._connection.number)
        self._state, self._trouble = LinkState.UP, None
        await self._on_up(self._connection)

    async def _wait(self, trouble: str, arrived: asyncio.Event) -> None:
        """Tells the first failure as a warning, those that only repeat it for debugging."""
        log.log(
            logging.DEBUG if self._backoff.failing else logging.WARNING,
            "%s: %s; trying again",
            self._name,
            trouble,
        )
        self._state, self._trouble = LinkState.WAITING, trouble
        delay_s = self._backoff.failed(self._clock.monotonic())
        if not await sleep(self._clock, delay_s, unless=arrived):
            log.debug("%s: something arrived where its port is", self._name)
            self._backoff.arrived(self._clock.monotonic())
