"""Keep a table connected to its shoe: open the port, and open it again after each loss.

In: an opener, the shoe's profile, what the host has stored. Out: connections and receptions.
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
from shoe_ctl.link.connection import Connection, OnHearing, OnReception
from shoe_ctl.link.hotplug import Arrivals, nothing_arrives
from shoe_ctl.link.keyring import troubleshooting_hint
from shoe_ctl.link.line_budget import KEPT_A_MINUTE, LineBudget, Suspensions
from shoe_ctl.link.transport import Loss, Opener, Transport, TransportLost

log = logging.getLogger(__name__)

STEADY_S = 5.0
"""A connection that lasts this long is no failure, whatever was received: an adapter that ends each
connection at once must not be tried quickly for ever."""

DRAIN_EVERY_S = 0.1
"""The interval at which a suspended line is read and its bytes dropped. A tty holds what comes in
between: 4096 bytes are 0.35 s at 115200 baud."""

DRAIN_READS = 64
"""Reads of a suspended line in a row, so that no other table waits. The sender is held back."""

QUIET_S = 2.5
"""A suspended line is opened again once it stayed within its budget for this long: half of the
shortest suspension, so that its end counts, not what it began with."""


class LinkState(Enum):
    """The state of a link.

    ``LISTENING``: the port is open again after its shoe was silent, and nothing was received yet.
    ``WAITING``: the pause before the next attempt. ``SUSPENDED``: the line exceeded its budget of
    garbage; its bytes are counted and dropped.
    """

    STOPPED = "stopped"
    CONNECTING = "connecting"
    LISTENING = "listening"
    UP = "up"
    WAITING = "waiting"
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspension:
    """A line exceeded its budget of garbage on this connection, which ended by this ``loss``.

    It is checked again in ``wait_s``. ``unkept`` bytes were dropped since it was suspended;
    ``again``: it was checked, and brings as much as before.
    """

    connection: int
    loss: Loss
    wait_s: float
    unkept: int = 0
    again: bool = False


async def _ignore(_: object) -> None:
    """Do nothing."""


class Supervisor:
    """The link of one table. Everything is called in one event loop.

    * ``on_up`` gets each connection before anything that it brings, ``on_reception`` what it
      brings, ``on_lost`` why it ended. They are awaited one at a time, in order; what
      they raise ends ``run``.
    * A port opens although its shoe is off. After a connection on which a shoe that always answers
      was silent, ``on_up`` gets the next one only once something is received on it.
    * ``on_suspended`` replaces ``on_lost`` where garbage ended the connection, and is called again
      each time that the line brings as much as before. ``on_resumed`` gets the number of dropped
      bytes before the port is opened again.
    * ``on_hearing`` gets whether the shoe of the connection that is up hears, when that changes.
    * ``resume`` is called at each connect. ``first_connection`` is the number of the first one.
    * ``arrivals`` notices the port's return; what it misses, the next attempt finds.

    Raises:
        ValueError: settings that the profile does not take.
    """

    def __init__(  # noqa: PLR0913 - all that a link needs from outside
        self,
        *,
        name: str,
        profile: Profile,
        settings: Mapping[str, object],
        opener: Opener,
        clock: Clock,
        resume: Callable[[], Resume | None],
        on_up: Callable[[Connection], Awaitable[None]],
        on_lost: Callable[[Loss], Awaitable[None]],
        on_reception: OnReception,
        first_connection: int,
        arrivals: Arrivals = nothing_arrives,
        on_suspended: Callable[[Suspension], Awaitable[None]] = _ignore,
        on_resumed: Callable[[int], Awaitable[None]] = _ignore,
        on_hearing: OnHearing = _ignore,
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
        self._on_hearing = on_hearing
        self._budget = LineBudget()
        self._suspensions = Suspensions()
        self._suspension: Suspension | None = None
        self._unkept = 0
        self._desired: DesiredShoeState | None = None
        self._backoff = Backoff()
        self._state = LinkState.STOPPED
        self._connection: Connection | None = None
        self._trouble: str | None = None
        self._doubted = False
        self._shoe_log = ShoeLog(name, None)

    @property
    def state(self) -> LinkState:
        """The state of the link."""
        return self._state

    @property
    def connection(self) -> Connection | None:
        """The connection that is up, or None."""
        return self._connection if self._state is LinkState.UP else None

    @property
    def unreported(self) -> Suspension | None:
        """A suspension of which bytes were dropped since ``on_suspended`` had it; else None."""
        suspension = self._suspension
        if suspension is None or suspension.unkept == self._unkept:
            return None
        return replace(suspension, unkept=self._unkept, again=True)

    @property
    def trouble(self) -> str | None:
        """Why the link is down, one line for people; None while it is up or not yet tried."""
        return self._trouble

    def set_desired_state(self, state: DesiredShoeState) -> None:
        """Set the state that the shoe should be in, on this connection and on each later one."""
        self._desired = state
        if self._connection is not None:
            self._connection.set_desired_state(state)

    async def run(self, *, must_open_first: bool = False) -> None:
        """Connect, and connect again after each loss, until cancelled.

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
        """Try until the port opens."""
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
        """Serve one connection to its end, and wait a moment after it."""
        with closing(transport):
            resume = self._resume()
            session = self._profile.host_session(resume=resume, settings=self._settings)
            self._shoe_log = ShoeLog(self._name, None if resume is None else resume.device_id)
            connection = Connection(
                name=self._name,
                number=self._next_number,
                transport=transport,
                session=session,
                clock=self._clock,
                on_reception=self._on_reception,
                on_notable=self._notice,
                on_hearing=self._hearing_changed,
                budget=self._budget,
            )
            began = self._clock.monotonic()
            if self._desired is not None:
                connection.set_desired_state(self._desired)
            self._next_number += 1
            self._connection, self._state = connection, LinkState.LISTENING
            try:
                if not self._doubted:
                    await self._announce()
                loss = await connection.run()
            finally:
                was_up, self._connection = self._state is LinkState.UP, None
            if connection.over_budget:
                await self._suspend(connection, transport, loss)
                return
        if connection.spoke:
            if connection.played or self._clock.monotonic() >= began + STEADY_S:
                self._backoff.spoke()
            else:
                self._backoff.died()
        answers = connection.capabilities.silence_s is not None
        self._doubted = answers and (connection.fell_silent or not connection.spoke)
        self._state, self._trouble = LinkState.WAITING, str(loss)
        hint = " (check that the shoe is on, and its cable)" if connection.fell_silent else ""
        if was_up:
            log.info(
                "%s: connection ended: connection=%d bytes=%d discarded=%d",
                *(self._name, connection.number, connection.received, connection.discarded),
            )
            await self._on_lost(loss)
        with self._arrivals() as arrived:
            await self._wait(f"{loss}{hint}", arrived)

    async def _suspend(self, connection: Connection, transport: Transport, loss: Loss) -> None:
        """Leave the line alone until it is quiet; count and drop what it brings."""
        self._state, self._trouble, self._unkept = LinkState.SUSPENDED, str(loss), 0
        wait_s = self._suspensions.next(self._clock.monotonic())
        log.warning(
            "%s: line suspended: wait_s=%g garbage_limit_per_min=%d. Check cable, ground, baud "
            "rate and what is connected.",
            *(self._name, wait_s, KEPT_A_MINUTE),
        )
        suspension = Suspension(connection=connection.number, loss=loss, wait_s=wait_s)
        while True:
            self._suspension = suspension
            await self._on_suspended(suspension)
            if await self._drain(transport, wait_s):
                break
            wait_s = self._suspensions.next(self._clock.monotonic())
            log.warning(
                "%s: line still suspended: wait_s=%g bytes_dropped=%d",
                *(self._name, wait_s, self._unkept),
            )
            suspension = replace(suspension, wait_s=wait_s, unkept=self._unkept, again=True)
        log.warning("%s: line resumed: bytes_dropped=%d", self._name, self._unkept)
        await self._on_resumed(self._unkept)
        self._suspension = None

    async def _drain(self, transport: Transport, wait_s: float) -> bool:
        """Count and drop what comes in this time; return whether its end was quiet."""
        late = 0
        end = self._clock.monotonic() + wait_s
        while (now := self._clock.monotonic()) < end:
            await sleep(self._clock, min(DRAIN_EVERY_S, end - now))
            dropped = _drop_waiting(transport)
            self._unkept += dropped
            late += dropped if self._clock.monotonic() > end - QUIET_S else 0
        return late <= KEPT_A_MINUTE / 60 * QUIET_S

    async def _notice(self, heard: Iterable[ReceivedEvent]) -> None:
        """Report that a shoe answers, where that was in doubt, and log what people should know."""
        if self._state is LinkState.LISTENING:
            await self._announce()
        self._shoe_log.log_events(heard)

    async def _hearing_changed(self, hears: bool) -> None:
        assert self._connection is not None
        if hears:
            log.warning("%s: shoe hears again: connection=%d", self._name, self._connection.number)
        else:
            log.warning(
                "%s: shoe does not hear: connection=%d. Its messages arrive, and nothing that is "
                "sent to it has an effect. Check the wire to the shoe and its plugs.",
                *(self._name, self._connection.number),
            )
        await self._on_hearing(hears)

    async def _announce(self) -> None:
        """Report that the link is up."""
        assert self._connection is not None
        log.info("%s: link up: connection=%d", self._name, self._connection.number)
        self._state, self._trouble = LinkState.UP, None
        await self._on_up(self._connection)

    async def _wait(self, trouble: str, arrived: asyncio.Event) -> None:
        """Log the trouble (its first time as a warning, later at debug level), and wait."""
        log.log(
            logging.DEBUG if self._backoff.failing else logging.WARNING,
            "%s: link down: %s; retrying",
            self._name,
            trouble,
        )
        self._state, self._trouble = LinkState.WAITING, trouble
        delay_s = self._backoff.failed(self._clock.monotonic())
        if not await sleep(self._clock, delay_s, unless=arrived):
            log.debug("%s: device arrived: retrying now", self._name)
            self._backoff.arrived(self._clock.monotonic())


def _drop_waiting(transport: Transport) -> int:
    """Read and drop what waits there, ``DRAIN_READS`` times at most; return how many bytes."""
    count = 0
    try:
        for _ in range(DRAIN_READS):
            if not (data := transport.read()):
                break
            count += len(data)
    except TransportLost:
        pass  # the port is opened again when the suspension ends
    return count


FIRST_S = 0.05
"""An adapter that only re-enumerates is back within a tenth of a second."""

QUICK_CAP_S = 0.25
"""A shoe that is plugged in again resumes within a second: one delay, opening, its hello."""

QUICK_PERIOD_S = 60.0
"""Within a minute, whoever pulled a cable by mistake has found it."""

SLOW_CAP_S = 5.0
"""Later nobody waits at the table for it; after five seconds it still seems to return by itself."""


class Backoff:
    """Growing delays from ``FIRST_S``: to ``QUICK_CAP_S`` for a minute, then to ``SLOW_CAP_S``."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._delay_s = 0.0
        self._died = False

    @property
    def failing(self) -> bool:
        """True if anything failed since the shoe last sent something."""
        return self._since is not None

    def failed(self, now: float) -> float:
        """Return the seconds to wait after a failure at ``now`` (monotonic seconds)."""
        if self._since is None:
            self._since = now
        quick = now - self._since < QUICK_PERIOD_S and not self._died
        cap_s = QUICK_CAP_S if quick else SLOW_CAP_S
        self._delay_s = min(max(FIRST_S, 2 * self._delay_s), cap_s)
        return self._delay_s

    def died(self) -> None:
        """Note that the shoe sent something and was lost at once: the delays grow to the longest.

        Nobody pulled a cable, so there is no minute of quick attempts.
        """
        self._died = True

    def arrived(self, now: float) -> None:
        """Note that a device arrived where the port is: the delays begin anew."""
        self._since, self._delay_s, self._died = now, 0.0, False

    def spoke(self) -> None:
        """Note that the shoe sent something: the next failure is a first one."""
        self._since, self._delay_s, self._died = None, 0.0, False


class ShoeLog:
    """Logs what staff or integrators should know of a table's shoe.

    ``known`` is the device id of the shoe that the table was connected to last.
    """

    def __init__(self, name: str, known: str | None) -> None:
        self._name = name
        self._known = known

    def log_events(self, received: Iterable[ReceivedEvent]) -> None:
        """Log the events worth it. Sessions give an event that repeats an earlier one as such."""
        for each in received:
            self._log(each.event)

    def _log(self, event: ShoeEvent) -> None:
        match event:
            case Hello():
                self._log_hello(event)
            case AuthenticationFailed():
                hint = troubleshooting_hint(event)
                log.warning(
                    "%s: authentication failed: shoe=%s reason=%s. Events are ignored until %s.",
                    *(self._name, event.device_id, hint.reason, hint.ignored_until),
                )
            case UnknownFirmware(firmware=firmware, refused=refused):
                log.warning(
                    "%s: unknown firmware: firmware=%s arming=%s. Update it, or add its digest to "
                    "shoe.firmware.",
                    *(self._name, firmware, "refused" if refused else "allowed"),
                )
            case Gap(first=first, last=last):
                log.warning(
                    "%s: events lost: first=%d last=%d. Staff rule on them, or enter the cards.",
                    *(self._name, first, last),
                )

    def _log_hello(self, hello: Hello) -> None:
        found, expected = hello.device_id, self._known
        self._known = found
        if expected not in (None, found):
            log.warning(
                "%s: shoe changed: expected=%s found=%s. If the shoe was not replaced, check the "
                "cabling.",
                *(self._name, expected, found),
            )
        elif expected is not None and not hello.resumed:
            log.warning(
                "%s: event numbers restarted: shoe=%s. Check whether its memory was replaced.",
                *(self._name, found),
            )
        else:
            log.info("%s: shoe identified: shoe=%s firmware=%s", self._name, found, hello.firmware)
