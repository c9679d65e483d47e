"""Keeps a table connected to its shoe: opens the port, and opens it again when it is lost.

In: an opener, the shoe's profile, what the host durably knows. Out: connections and receptions.
Must not know: kinds of ports, frames, the journal, the round.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from enum import Enum

from firmware_proto.commands import DesiredShoeState
from firmware_proto.events import AuthenticationFailed, Gap, Hello, ShoeEvent, UnknownFirmware
from firmware_proto.profiles import Profile
from firmware_proto.session import ReceivedEvent, Resume
from shoe_ctl.clock import Clock, sleep
from shoe_ctl.errors import PortError
from shoe_ctl.link.connection import Connection, OnReception, Reception
from shoe_ctl.link.hotplug import Arrivals, nothing_arrives
from shoe_ctl.link.keyring import troubleshooting_hint
from shoe_ctl.link.line_budget import KEPT_A_MINUTE, LineBudget, Suspensions
from shoe_ctl.link.transport import Opener, Transport, TransportLost

FIRST_S = 0.05
"""An adapter that only re-enumerates is back within a tenth of a second."""

QUICK_CAP_S = 0.25
"""A shoe that is plugged in again resumes within a second: one delay, opening, its hello."""

QUICK_PERIOD_S = 60.0
"""Whoever pulled a cable by mistake has found it within a minute."""

SLOW_CAP_S = 5.0
"""Later nobody waits at the table for it; five seconds still feel like *by itself*."""


class Backoff:
    """Delays that grow from ``FIRST_S``; slowly at first, up to ``SLOW_CAP_S`` after a minute."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._delay_s = 0.0
        self._died = False

    @property
    def failing(self) -> bool:
        """Whether anything failed since the shoe last spoke."""
        return self._since is not None

    def failed(self, now: float) -> float:
        """Seconds to wait after a failure at ``now`` (monotonic seconds)."""
        if self._since is None:
            self._since = now
        quick = now - self._since < QUICK_PERIOD_S and not self._died
        cap_s = QUICK_CAP_S if quick else SLOW_CAP_S
        self._delay_s = min(max(FIRST_S, 2 * self._delay_s), cap_s)
        return self._delay_s

    def died(self) -> None:
        """The shoe spoke and was gone at once: from now on the delays grow to the longest.

        Nobody pulled a cable, so that no minute of quick attempts is due.
        """
        self._died = True

    def arrived(self, now: float) -> None:
        """Something arrived where the port is: from now on it is as likely as after a loss."""
        self._since, self._delay_s, self._died = now, 0.0, False

    def spoke(self) -> None:
        """The shoe spoke: the next failure is a first one."""
        self._since, self._delay_s, self._died = None, 0.0, False


log = logging.getLogger(__name__)


class ShoeLog:
    """The log of one table's shoe; ``known`` is whom the table spoke with last."""

    def __init__(self, name: str, known: str | None) -> None:
        self._name = name
        self._known = known

    def heard(self, heard: Iterable[ReceivedEvent]) -> None:
        """Tells what is worth it; sessions give a shoe that says the same again as a repeat."""
        for each in heard:
            self._note(each.event)

    def _note(self, event: ShoeEvent) -> None:
        match event:
            case Hello():
                self._hello(event)
            case AuthenticationFailed(device_id=who, reason=why):
                log.warning(
                    "%s: nothing that %s says counts, for %s: %s",
                    *(self._name, who, why, troubleshooting_hint(event)[1]),
                )
            case UnknownFirmware(firmware=firmware, refused=refused):
                log.warning(
                    "%s: the shoe's firmware %s is not on the list%s: update it, or add its digest "
                    "to shoe.firmware",
                    *(self._name, firmware, ", so it is not armed" if refused else ""),
                )
            case Gap(first=first, last=last):
                log.warning(
                    "%s: the shoe's events %d to %d are lost: staff decide, or enter the cards",
                    *(self._name, first, last),
                )

    def _hello(self, hello: Hello) -> None:
        who, known = hello.device_id, self._known
        self._known = who
        if known not in (None, who):
            log.warning(
                "%s: %s speaks where %s did: if nobody changed the shoe, look where the cables go",
                *(self._name, who, known),
            )
        elif known is not None and not hello.resumed:
            log.warning(
                "%s: %s speaks, and has forgotten its numbers: was its memory replaced?",
                *(self._name, who),
            )
        else:
            log.info("%s: %s speaks, firmware %s", self._name, who, hello.firmware)


SILENT = ": is the shoe switched on, and is its cable whole?"

STEADY_S = 5.0
"""A connection that lasts so long is no failure, whatever came."""

COUNTED_EVERY_S = 0.25
"""How often a suspended line is emptied."""

COUNTED_READS = 64
"""So often at once at most: the sender is held back, and no other table waits."""

QUIET_S = 2.5
"""A suspended line is opened again once it brought less than its budget allows for this long."""


class LinkState(Enum):
    """What the link is doing.

    ``LISTENING``: the port is open again after its shoe was silent, and nothing was heard yet.
    ``WAITING``: the pause before the port is tried again. ``SUSPENDED``: the line brought more
    garbage than is kept; what comes is counted, and nothing is made of it.
    """

    STOPPED = "stopped"
    CONNECTING = "connecting"
    LISTENING = "listening"
    UP = "up"
    WAITING = "waiting"
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspension:
    """A line went over its budget of garbage on this connection, which ended for ``reason``.

    It is looked at again in ``wait_s``. ``unkept`` bytes came since it was suspended; ``again``:
    it was looked at, and brings as much as before.
    """

    connection: int
    reason: str
    wait_s: float
    unkept: int = 0
    again: bool = False


async def _nobody(_: object) -> None:
    """Nobody wants to know."""


class Supervisor:
    """The link of one table. All is called in one event loop.

    ``on_up`` is given each connection before anything that it brings, ``on_lost`` the reason of
    its end, ``on_reception`` what came in between; they are awaited one at a time, in order, and
    what they raise ends ``run``. A port opens although its shoe is off: after a connection on which
    a shoe that always answers was silent, the next is told only once something is heard on it.
    ``on_suspended`` is told instead of ``on_lost`` where garbage ended the connection, and again
    each time that the line brings as much as before; ``on_resumed``, with how many bytes were not
    kept, before it is opened again.
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
        on_suspended: Callable[[Suspension], Awaitable[None]] = _nobody,
        on_resumed: Callable[[int], Awaitable[None]] = _nobody,
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
        self._on_suspended = on_suspended
        self._on_resumed = on_resumed
        self._allowance = LineBudget()
        self._suspensions = Suspensions()
        self._desired: DesiredShoeState | None = None
        self._backoff = Backoff()
        self._state = LinkState.STOPPED
        self._connection: Connection | None = None
        self._trouble: str | None = None
        self._doubted = False
        self._noted = ShoeLog(name, None)

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

    def set_desired_state(self, state: DesiredShoeState) -> None:
        """What the shoe should be from now on, told to this connection and to each later one."""
        self._desired = state
        if self._connection is not None:
            self._connection.set_desired_state(state)

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
            self._noted = ShoeLog(self._name, None if resume is None else resume.device_id)
            connection = Connection(
                name=self._name,
                number=self._next_number,
                transport=transport,
                session=session,
                clock=self._clock,
                on_reception=self._received,
                allowance=self._allowance,
            )
            began = self._clock.monotonic()
            if self._desired is not None:
                connection.set_desired_state(self._desired)
            self._next_number += 1
            self._connection, self._state = connection, LinkState.LISTENING
            try:
                if not self._doubted:
                    await self._announce()
                reason = await connection.run()
            finally:
                told, self._connection = self._state is LinkState.UP, None
            if connection.over_budget:
                await self._suspend(connection, transport, reason)
                return
        if connection.spoke:
            if connection.played or self._clock.monotonic() >= began + STEADY_S:
                self._backoff.spoke()
            else:
                self._backoff.died()
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

    async def _suspend(self, connection: Connection, transport: Transport, reason: str) -> None:
        """Leaves the line alone until it is quiet; what comes is counted and not kept."""
        self._state, self._trouble, unkept = LinkState.SUSPENDED, reason, 0
        wait_s = self._suspensions.next(self._clock.monotonic())
        log.warning(
            "%s: the line is suspended for %g s: it brought more than %d bytes a minute that are "
            "no frames: look at cable, ground and baud rate, and at what is connected there",
            *(self._name, wait_s, KEPT_A_MINUTE),
        )
        told = Suspension(connection=connection.number, reason=reason, wait_s=wait_s)
        while True:
            await self._on_suspended(told)
            counted, is_quiet = await self._count(transport, wait_s)
            unkept += counted
            if is_quiet:
                break
            wait_s = self._suspensions.next(self._clock.monotonic())
            log.warning(
                "%s: the line stays suspended for %g s: %d bytes came and were not kept",
                *(self._name, wait_s, unkept),
            )
            told = replace(told, wait_s=wait_s, unkept=unkept, again=True)
        log.warning(
            "%s: the line is quiet again and opened anew: %d bytes were not kept",
            *(self._name, unkept),
        )
        await self._on_resumed(unkept)

    async def _count(self, transport: Transport, wait_s: float) -> tuple[int, bool]:
        """Counts what comes in this time; whether the end of it was quiet."""
        counted, late = 0, 0
        end = self._clock.monotonic() + wait_s
        while (now := self._clock.monotonic()) < end:
            await sleep(self._clock, min(COUNTED_EVERY_S, end - now))
            came = _emptied(transport)
            counted += came
            late += came if self._clock.monotonic() > end - QUIET_S else 0
        return counted, late <= KEPT_A_MINUTE / 60 * QUIET_S

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


def _emptied(transport: Transport) -> int:
    """How many bytes waited there, as far as one look takes them."""
    counted = 0
    try:
        for _ in range(COUNTED_READS):
            if not (data := transport.read()):
                break
            counted += len(data)
    except TransportLost:
        pass  # it is opened anew when its time comes
    return counted
