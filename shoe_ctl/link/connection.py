"""One connection to a shoe: one transport and one fresh session, used once and thrown away.

In: bytes of the transport, time. Out: Receptions, each taken before more is read; bytes to send.
Must not know: how the port was opened or is opened again, the journal, the round.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from firmware_proto.commands import AnyCommand, Armed, DesiredShoeState, Locked
from firmware_proto.events import (
    Authenticated,
    AuthenticationFailed,
    Challenged,
    Discarded,
    Hello,
    Repeated,
    Reply,
    ShoeEvent,
    Started,
    Status,
    UnknownFirmware,
)
from firmware_proto.session import HostSession, ReceivedEvent, Resume
from shoe_ctl.clock import Clock
from shoe_ctl.link.line_budget import LineBudget
from shoe_ctl.link.transport import Transport, TransportLost

log = logging.getLogger(__name__)


PORTION = 1024
"""Bytes that are decoded in one go: other tables have their turn in between."""


class Ended:
    """What a session is told last: nothing more comes."""


Call = DesiredShoeState | AnyCommand | float | Ended
"""What a session was told besides bytes: the desired state, a command, the time of a tick, or that
the connection ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reception:
    """What came in one go, and what it says.

    ``offset`` is the place of the chunk's first byte in this connection's stream, from 0.
    ``chunk`` is empty where time passing, not bytes, gave the events. ``t_us`` is microseconds
    since 1970 UTC. ``fault`` says why the bytes could not be decoded; the connection then ends.
    ``calls`` are what the session was told before, since the last reception, where what it gives
    depends on them (``Capabilities.timed``); the tick that gave the events is the last of them.
    ``acknowledged`` is the last event that the shoe says was acknowledged, where it says so.
    """

    connection: int
    offset: int
    chunk: bytes
    heard: tuple[ReceivedEvent, ...]
    t_us: int
    fault: str | None = None
    calls: tuple[Call, ...] = ()
    acknowledged: Resume | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """Bytes handed to the transport; whether they arrived, only the shoe knows.

    ``offset`` is the place of the first in what went to the shoe on this connection, from 0.
    ``t_us`` is microseconds since 1970 UTC.
    """

    offset: int
    data: bytes
    t_us: int


_OF_CONNECTING = (
    *(Hello, Challenged, Authenticated, AuthenticationFailed, UnknownFirmware),
    *(Started, Status, Reply, Discarded),
)
"""What a shoe says because it was connected or switched on."""

OnReception = Callable[[Reception], Awaitable[None]]
"""Takes a reception: stores it, then calls ``stored`` and ``set_desired_state``. Until it returns,
nothing is read or sent."""


class Connection:
    """A connection with its number, which rises over all connections of a table."""

    def __init__(  # noqa: PLR0913 - both ends, what is said between them, and whose it is
        self,
        *,
        name: str,
        number: int,
        transport: Transport,
        session: HostSession,
        clock: Clock,
        on_reception: OnReception,
        allowance: LineBudget | None = None,
    ) -> None:
        self.number = number
        self._name = name
        self.capabilities = session.capabilities
        self._transport = transport
        self._session = session
        self._clock = clock
        self._on_reception = on_reception
        self._received = 0
        self._calls: list[Call] = []
        self._wrote = 0
        self._sent: list[Sent] = []
        self._discarded = 0
        self._history = 0
        self._heard_at = clock.monotonic()
        self._faulty = False
        self._fell_silent = False
        self._dropped: str | None = None
        self._wake = asyncio.Event()
        self._allowance = allowance or LineBudget()
        self._allowance.begin_connection()
        self._read_at = clock.monotonic()
        self._over_budget = False
        self._played = False

    @property
    def over_budget(self) -> bool:
        """Whether it ended because more garbage came than is kept; its transport is still open."""
        return self._over_budget

    @property
    def played(self) -> bool:
        """Whether the shoe said more than who it is and how it is."""
        return self._played

    @property
    def spoke(self) -> bool:
        """Whether anything came from the other end, and all of it could be decoded."""
        return self._received > 0 and not self._faulty

    @property
    def fell_silent(self) -> bool:
        """Whether it ended because nothing was heard for longer than a live shoe is silent."""
        return self._fell_silent

    @property
    def received(self) -> int:
        """Bytes taken from the transport."""
        return self._received

    @property
    def discarded(self) -> int:
        """How often bytes did not fit and were discarded; each was handed on, with its reason."""
        return self._discarded

    def stored(self, seq: int | str) -> None:
        """The event with this number, and all before it, is stored durably: acknowledge it."""
        self._session.stored(seq)
        self._wake.set()

    def set_desired_state(self, state: DesiredShoeState) -> None:
        """What the shoe should be from now on."""
        self._note_call(state)
        self._session.set_desired_state(state)
        self._wake.set()

    def drop(self, why: str) -> None:
        """Ends the connection once the reception that is handed on was taken."""
        self._dropped = why
        self._wake.set()

    def take_sent(self) -> list[Sent]:
        """What was sent since this was last asked, in order."""
        sent, self._sent = self._sent, []
        return sent

    def command(self, command: AnyCommand) -> None:
        """Tells the shoe this; see ``HostSession``.

        Raises:
            ValueError: such a shoe has no such command, or it cannot be sent now.
        """
        self._session.command(command)
        self._note_call(command)
        self._wake.set()

    async def run(self) -> str:
        """Serves the connection until it ends, closes its transport, and says why it ended.

        Whatever ``on_reception`` raises ends the connection and is raised. The transport of one
        that is ``over_budget`` stays open: its owner counts what is not kept.
        """
        try:
            reason = await self._serve()
            if not self._faulty:
                self._calls.append(Ended())
                await self._decode(b"", self._clock.wall_us(), self._session.end)
        finally:
            if not self._over_budget:
                self._transport.close()
        if self._transport.dropped:
            reason = f"{reason}; {self._transport.dropped} bytes to it were not sent"
        return reason

    async def _serve(self) -> str:
        try:
            while not self._faulty:
                if self._dropped is not None:
                    return self._dropped
                self._wake.clear()  # what woke us up to here, this round takes care of
                self._write(self._session.outgoing())
                await self._readable()
                chunk = b"" if self._gathers else self._transport.read()
                if not chunk and self._silent:
                    self._fell_silent = True
                    return f"nothing heard for {self.capabilities.silence_s:g} s"
                size = max(len(chunk), 1) if self._allowance.noisy else PORTION
                for at in range(0, max(len(chunk), 1), size):
                    if not self._faulty:
                        await self._take(chunk[at : at + size])
                if self._allowance.is_spent:
                    self._over_budget = True
                    return "the line brought more garbage than is kept"
        except TransportLost as lost:
            return str(lost)
        return "what the shoe said could not be decoded"

    def _write(self, data: bytes) -> None:
        if data:
            self._sent.append(Sent(self._wrote, data, self._clock.wall_us()))
            self._wrote += len(data)
            self._transport.write(data)

    @property
    def _silent_at(self) -> float | None:
        """When silence means that nobody is there."""
        limit_s = self.capabilities.silence_s
        return None if limit_s is None else self._heard_at + limit_s

    @property
    def _silent(self) -> bool:
        return self._silent_at is not None and self._clock.monotonic() >= self._silent_at

    async def _readable(self) -> None:
        """Waits for bytes, for the session's deadline, for silence, or for something to send."""
        gathers = self._gathers
        read_at = self._read_at if gathers else None
        deadlines = (self._session.next_deadline, self._silent_at, read_at)
        deadline = min((d for d in deadlines if d is not None), default=None)
        timer = None
        if deadline is not None:
            delay_s = max(0.0, deadline - self._clock.monotonic())
            timer = self._clock.call_later(delay_s, self._wake.set)
        if not gathers:
            self._transport.when_readable(self._wake.set)
        try:
            await self._wake.wait()
        finally:
            self._transport.when_readable(None)
            if timer is not None:
                timer.cancel()

    @property
    def _gathers(self) -> bool:
        """The line is noisy: its bytes are left where they are for a while."""
        return self._clock.monotonic() < self._read_at

    async def _take(self, chunk: bytes) -> None:
        """Hands on what the chunk says, then what the passing of time says."""
        t, t_us = self._clock.monotonic(), self._clock.wall_us()
        if chunk:
            self._heard_at = t
            await self._decode(chunk, t_us, lambda: self._session.receive(chunk, t))
        deadline = self._session.next_deadline
        over = self._faulty or self._dropped is not None
        if deadline is not None and deadline <= self._clock.monotonic() and not over:
            t, t_us = self._clock.monotonic(), self._clock.wall_us()
            self._note_call(t)
            await self._decode(b"", t_us, lambda: self._session.tick(t))

    async def _decode(
        self, chunk: bytes, t_us: int, step: Callable[[], list[ReceivedEvent]]
    ) -> None:
        offset = self._received
        self._received += len(chunk)
        heard: tuple[ReceivedEvent, ...] = ()
        fault = None
        began = self._clock.processor_s()
        try:
            heard = tuple(step())
        except Exception as error:  # noqa: BLE001 - the raw bytes are kept whatever decoding does
            self._faulty = True
            fault = f"{type(error).__name__}: {error}"
        self._note_discarded(heard)
        self._spend(chunk, heard, began)
        if chunk or heard or fault:
            calls, self._calls = tuple(self._calls), []
            await self._on_reception(
                Reception(
                    connection=self.number,
                    offset=offset,
                    chunk=chunk,
                    heard=heard,
                    t_us=t_us,
                    fault=fault,
                    calls=calls,
                    acknowledged=getattr(self._session, "acknowledged", None),
                )
            )

    def _spend(self, chunk: bytes, heard: tuple[ReceivedEvent, ...], began: float) -> None:
        """What the chunk cost, and how long the line is not read for it."""
        useful = [one for one in heard if _is_useful(one.event)]
        self._played = self._played or any(_is_played(one.event) for one in useful)
        if not chunk:
            return
        repeated = [one for one in heard if isinstance(one.event, Repeated)]
        now = self._clock.monotonic()
        pause_s = self._allowance.spend(
            received=len(chunk),
            useful=sum(one.last - one.first for one in useful),
            pieces=1 if len(useful) + len(repeated) < len(heard) else 0,
            cost_s=self._clock.processor_s() - began,
            now=now,
            repeated=sum(one.last - one.first for one in repeated),
        )
        self._read_at = now + pause_s

    def _note_call(self, call: Call) -> None:
        can = self.capabilities
        is_told = can.arm or can.commands or not isinstance(call, Armed | Locked)
        if can.timed and is_told:
            self._calls.append(call)

    def _note_discarded(self, heard: tuple[ReceivedEvent, ...]) -> None:
        """Tells the first, the tenth, the hundredth: a noisy line must not fill the log."""
        for event in (h.event for h in heard if isinstance(h.event, Discarded)):
            if event.history:  # nothing is wrong: so begins whoever meets a shoe that was at work
                self._history += 1
                level, what, times = logging.INFO, "kept, not played", self._history
            else:
                self._discarded += 1
                level, what, times = logging.WARNING, "discarded bytes", self._discarded
            if str(times).strip("0") == "1":
                log.log(
                    level,
                    "%s: connection %d: %s (%s), %d times by now",
                    *(self._name, self.number, what, event.reason, times),
                )


def _is_useful(event: ShoeEvent) -> bool:
    """Neither garbage nor what was heard before; history is kept for what it is."""
    return not isinstance(event, Repeated | Discarded) or bool(getattr(event, "history", False))


def _is_played(event: ShoeEvent) -> bool:
    """Something happened at the shoe; a connection alone brings none of these."""
    return not isinstance(event, _OF_CONNECTING)
