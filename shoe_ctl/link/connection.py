"""One connection to a shoe: one transport and one new session, used once.

In: bytes of the transport, time. Out: Receptions, each handled before more is read; bytes to send.
Must not know: how the port was opened or is opened again, the journal, the round.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from functools import partial

import msgspec

from firmware_proto.commands import AnyCommand, Armed, DesiredShoeState, Locked
from firmware_proto.events import (
    Authenticated,
    AuthenticationFailed,
    CardDrawn,
    CardsDrawn,
    Challenged,
    Discarded,
    Gap,
    Hello,
    Repeated,
    Reply,
    ShoeEvent,
    Standby,
    Started,
    Status,
    UnknownFirmware,
)
from firmware_proto.session import Acknowledging, Heeding, HostSession, ReceivedEvent, Resume
from shoe_ctl.clock import Clock, Timer
from shoe_ctl.link.hearing import Hearing
from shoe_ctl.link.line_budget import (
    LARGE_PORTION,
    NOTICES_A_MINUTE,
    SMALL_PORTION,
    LineBudget,
)
from shoe_ctl.link.transport import Loss, Transport, TransportLost, log_unread
from shoe_ctl.texts.message import message

log = logging.getLogger(__name__)

PORTION = 256
"""Bytes decoded at once, some eight frames. Other tables have their turn in between."""

NOISY_PORTION = 3072
"""Bytes of a noisy line decoded at once, at most: each portion is a record. Of more bytes than
these every portion has at least half as many, ``LARGE_PORTION``."""


class Ended:
    """The last call of a session: nothing more is received."""


Call = DesiredShoeState | AnyCommand | float | Ended
"""A call of the session besides bytes: a desired state, a command, a tick (its time) or the end."""


class Reception(msgspec.Struct, frozen=True, kw_only=True):
    """One received chunk and the events in it.

    ``offset`` is the position of the chunk's first byte in this connection's stream, from 0.
    ``chunk`` is empty where a deadline, not bytes, gave the events. ``t_us`` is microseconds since
    1970 UTC. ``fault`` is why the bytes could not be decoded; the connection then ends, and bytes
    that were read along with them follow in a last reception, not decoded. ``calls`` are the calls
    of the session since the last reception, where its events depend on them
    (``Capabilities.timed``); the tick that gave the events is the last of them. ``acknowledged`` is
    the last acknowledged event by the shoe's own account, where it reports that.
    """

    connection: int
    offset: int
    chunk: bytes
    heard: tuple[ReceivedEvent, ...]
    t_us: int
    fault: str | None = None
    calls: tuple[Call, ...] = ()
    acknowledged: Resume | None = None


class Sent(msgspec.Struct, frozen=True):
    """Bytes handed to the transport. Only the shoe knows whether they arrived.

    ``offset`` is the position of the first byte in this connection's stream to the shoe, from 0.
    ``t_us`` is microseconds since 1970 UTC.
    """

    offset: int
    data: bytes
    t_us: int


_OF_CONNECTING = (
    *(Hello, Challenged, Authenticated, AuthenticationFailed, UnknownFirmware),
    *(Started, Status, Reply, Discarded),
)
"""Events that a shoe sends because it was connected or switched on."""

_GARBAGE = (Repeated, Discarded)

_NO_NEWS = frozenset({Status, Standby, Started, Reply, Hello})
"""Types of events that a shoe may send again and again, and in which nothing need be new."""

_CARDS = frozenset({CardDrawn, CardsDrawn})

NOTABLE = frozenset({Hello, AuthenticationFailed, UnknownFirmware, Gap})
"""Types of events that the owner of a connection is told of, beside the receptions."""

OnNotable = Callable[[tuple[ReceivedEvent, ...]], Awaitable[None]]
"""Gets the events of a connection's first reception, and of each with a ``NOTABLE`` event."""

OnReception = Callable[[Reception], Awaitable[None]]
"""Stores a reception, then calls ``stored`` and ``set_desired_state``. Until it returns, nothing is
read or sent."""

OnHearing = Callable[[bool], Awaitable[None]]
"""Is given whether the shoe hears, each time that it changes."""


async def _ignore(_: object) -> None:
    """Do nothing."""


class Connection:
    """A connection with its number, which rises over all connections of a table."""

    def __init__(  # noqa: PLR0913 - both ends, and what the connection needs from its owner
        self,
        *,
        name: str,
        number: int,
        transport: Transport,
        session: HostSession,
        clock: Clock,
        on_reception: OnReception,
        on_notable: OnNotable = _ignore,
        on_hearing: OnHearing = _ignore,
        budget: LineBudget | None = None,
    ) -> None:
        self.number = number
        self._name = name
        self.capabilities = session.capabilities
        self._transport = transport
        self._session = session
        self._clock = clock
        self._on_reception = on_reception
        self._on_notable = on_notable
        self._on_hearing = on_hearing
        self._is_first = True
        self._acknowledging = session if isinstance(session, Acknowledging) else None
        self._heeding = session if isinstance(session, Heeding) else None
        self._hearing = Hearing()
        self._received = 0
        self._unread = b""
        self._is_drained = False
        self._calls: list[Call] = []
        self._wrote = 0
        self._sent: list[Sent] = []
        self._discarded = 0
        self._history = 0
        self._heard_at = clock.monotonic()
        self._faulty = False
        self._fell_silent = False
        self._dropped: Loss | None = None
        self._wake = asyncio.Event()
        self._timer: Timer | None = None
        self._timer_at = 0.0
        self._budget = budget or LineBudget()
        self._budget.begin_connection()
        self._read_at: float | None = None
        """When the bytes of a noisy line are read again; None while they are read as they come."""
        self._over_budget = False
        self._played = False
        self._pieces = self._events = self._cards = 0
        """Messages in the last portion, and those that may bring something new."""

    @property
    def over_budget(self) -> bool:
        """True if it ended because its garbage exceeded the budget; its transport is still open."""
        return self._over_budget

    @property
    def played(self) -> bool:
        """True if the shoe sent more than its identity and status."""
        return self._played

    @property
    def spoke(self) -> bool:
        """True if anything was received, and all of it could be decoded."""
        return self._received > 0 and not self._faulty

    @property
    def fell_silent(self) -> bool:
        """True if it ended because the shoe was silent for longer than a live shoe is."""
        return self._fell_silent

    @property
    def received(self) -> int:
        """Bytes taken from the transport."""
        return self._received

    @property
    def discarded(self) -> int:
        """The number of times that bytes were discarded; each was handed on as an event."""
        return self._discarded

    def stored(self, seq: int | str) -> None:
        """Acknowledge the event with this number, and all before it: they are stored."""
        self._session.stored(seq)
        self._wake.set()

    def set_desired_state(self, state: DesiredShoeState) -> None:
        """Set the state that the shoe should be in from now on."""
        self._note_call(state)
        self._session.set_desired_state(state)
        self._wake.set()

    def drop(self, why: Loss) -> None:
        """End the connection once the current reception is handled."""
        self._dropped = why
        self._wake.set()

    def take_sent(self) -> list[Sent]:
        """Return what was sent since the last call, in order."""
        sent, self._sent = self._sent, []
        return sent

    def command(self, command: AnyCommand) -> None:
        """Send the shoe a command; see ``HostSession``.

        Raises:
            ValueError: the profile has no such command, or it cannot be sent now.
        """
        self._session.command(command)
        self._note_call(command)
        self._wake.set()

    async def run(self) -> Loss:
        """Serve the connection until it ends, close its transport, and return why it ended.

        What ``on_reception`` raises ends the connection and is raised. If it is ``over_budget``,
        its transport stays open: its owner counts the bytes that are dropped.
        """
        try:
            loss = await self._serve()
            if not self._faulty:
                self._calls.append(Ended())
                await self._decode(b"", self._clock.wall_us(), self._session.end)
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self._transport.when_readable(None)
            if self._unread:
                log_unread(self._name, len(self._unread))
            if not self._over_budget:
                self._transport.close()
        unsent = self._transport.dropped
        return loss.with_unsent(unsent) if unsent else loss

    async def _serve(self) -> Loss:
        try:
            while not self._is_over():
                self._wake.clear()  # this round handles what set it
                deadline = await self._send()
                if self._is_over():
                    break
                await self._wait(deadline)
                gathering = self._is_gathering
                chunk = b"" if gathering else self._read_portion()
                if not chunk and self._is_silent():
                    self._fell_silent = True
                    limit = f"{self.capabilities.silence_s:g}"
                    return Loss("silent", message("link_silent", seconds=limit))
                await self._take(chunk)
                if self._heeding is not None:
                    await self._check_hearing(self._heeding, gathering=gathering)
                if self._budget.is_spent and not self._unread:
                    self._over_budget = True
                    return Loss("garbage", message("link_garbage"))
        except TransportLost as lost:
            return lost.loss
        if self._dropped is not None and not self._faulty:
            return self._dropped
        await self._keep_unread()
        return Loss("decoding_failed", message("link_decoding_failed"))

    async def _check_hearing(self, session: Heeding, *, gathering: bool) -> None:
        """Report whether the shoe hears, where that changed; ask one that does not."""
        hearing = self._hearing
        if not session.unheeded and hearing.next_deadline is None:
            return  # after nearly every portion
        before, now = hearing.is_lost, self._clock.monotonic()
        empty = self._is_drained and not (gathering or self._unread)
        if hearing.observe(session.heeded, session.unheeded, now, empty=empty):
            session.ask_hello()
        if hearing.is_lost != before:
            await self._on_hearing(before)

    async def _keep_unread(self) -> None:
        """Hand on what was read along with bytes that could not be decoded: nobody decodes it."""
        chunk, self._unread = self._unread, b""
        if chunk:
            log.warning(
                "%s: bytes stored without decoding them: connection=%d bytes=%d",
                *(self._name, self.number, len(chunk)),
            )
            await self._decode(chunk, self._clock.wall_us(), list)

    def _read_portion(self) -> bytes:
        """Return the next bytes to decode, of those that came at once."""
        unread = self._unread
        if not unread:
            unread = self._transport.read()
            self._is_drained = len(unread) < PORTION
        size = LARGE_PORTION if self._budget.is_throttled else PORTION
        if self._budget.is_slowed:
            size = SMALL_PORTION
        if self._budget.is_noisy:
            portions = math.ceil(len(unread) / NOISY_PORTION)
            size = math.ceil(len(unread) / max(portions, 1))
        self._unread = unread[size:]
        return unread[:size]

    def _let_others_work(self, began: float) -> None:
        """Set when the next portion of many is read: the line has its share of the time."""
        now = self._clock.monotonic()
        pause_s = self._budget.share(now - began, self._pieces, self._events, now)
        if pause_s and (self._read_at is None or self._read_at < now + pause_s):
            self._read_at = now + pause_s

    def _is_over(self) -> bool:
        """True if nothing more is to be decoded or sent."""
        return self._faulty or self._dropped is not None

    async def _send(self) -> float | None:
        """Send what the session has to say. Return its deadline.

        A session has no clock: the deadline of what it sent counts from the tick after that, which
        it asks for at once.
        """
        data = self._session.outgoing()
        deadline = self._session.next_deadline
        if not data:
            return deadline
        self._write(data)
        t, t_us = self._clock.monotonic(), self._clock.wall_us()
        if deadline is None or deadline > t:
            return deadline
        await self._tick(t, t_us)
        if self._is_over():
            return None
        self._write(self._session.outgoing())
        return self._session.next_deadline

    def _write(self, data: bytes) -> None:
        """Send these bytes, if any."""
        if data:
            self._sent.append(Sent(self._wrote, data, self._clock.wall_us()))
            self._wrote += len(data)
            self._transport.write(data)

    @property
    def _silence_deadline(self) -> float | None:
        """The time from which silence means that the shoe is lost."""
        limit_s = self.capabilities.silence_s
        return None if limit_s is None else self._heard_at + limit_s

    def _is_silent(self) -> bool:
        deadline = self._silence_deadline
        return deadline is not None and self._clock.monotonic() >= deadline

    async def _wait(self, deadline: float | None) -> None:
        """Wait for bytes, the session's ``deadline``, silence, or something to send."""
        gathering = self._is_gathering
        if self._unread and not gathering:
            await asyncio.sleep(0)
            return
        for other in (self._silence_deadline, self._read_at, self._hearing.next_deadline):
            if other is not None and (deadline is None or other < deadline):
                deadline = other
        if deadline is not None:
            self._wake_by(deadline)
        self._transport.when_readable(None if gathering else self._wake.set)
        await self._wake.wait()

    def _wake_by(self, deadline: float) -> None:
        """Wake no later than that. A timer that fires earlier stays: most are put off in time."""
        if self._timer is not None:
            if self._timer_at <= deadline:
                return
            self._timer.cancel()
        self._timer_at = deadline
        delay_s = max(0.0, deadline - self._clock.monotonic())
        self._timer = self._clock.call_later(delay_s, self._time_came)

    def _time_came(self) -> None:
        self._timer = None
        self._wake.set()

    @property
    def _is_gathering(self) -> bool:
        """True while the bytes of a noisy line are left to gather."""
        if self._read_at is None:
            return False
        if self._clock.monotonic() < self._read_at:
            return True
        self._read_at = None
        return False

    async def _take(self, chunk: bytes) -> None:
        """Decode the chunk, then let the session act on its deadline."""
        t, t_us = self._clock.monotonic(), self._clock.wall_us()
        if chunk:
            self._heard_at = t
            await self._decode(chunk, t_us, partial(self._session.receive, chunk, t))
        deadline = self._session.next_deadline
        if deadline is not None and deadline <= t and not self._is_over():
            await self._tick(t, t_us)
        if len(chunk) >= PORTION and not self._budget.is_noisy:
            self._let_others_work(t)

    async def _tick(self, t: float, t_us: int) -> None:
        self._note_call(t)
        await self._decode(b"", t_us, partial(self._session.tick, t))

    async def _decode(
        self, chunk: bytes, t_us: int, step: Callable[[], list[ReceivedEvent]]
    ) -> None:
        offset = self._received
        self._received += len(chunk)
        heard: tuple[ReceivedEvent, ...] = ()
        fault = None
        # Reading the processor's time costs as much as decoding a card. It is not read on a line
        # without garbage or repeats: the first portion with some is charged by its bytes alone.
        began = None if self._budget.is_full else self._clock.processor_s()
        try:
            heard = tuple(step())
        except Exception as error:  # noqa: BLE001 - the raw bytes are kept whatever decoding does
            self._faulty = True
            fault = f"{type(error).__name__}: {error}"
        cost_s = 0.0 if began is None else self._clock.processor_s() - began
        notable = self._look_at(heard)
        self._spend(chunk, heard, cost_s)
        if chunk or heard or fault:
            if notable or self._is_first:
                self._is_first = False
                await self._on_notable(heard)
            calls, self._calls = tuple(self._calls), []
            reports = self._acknowledging
            await self._on_reception(
                Reception(
                    connection=self.number,
                    offset=offset,
                    chunk=chunk,
                    heard=heard,
                    t_us=t_us,
                    fault=fault,
                    calls=calls,
                    acknowledged=None if reports is None else reports.acknowledged,
                )
            )

    def _spend(self, chunk: bytes, heard: tuple[ReceivedEvent, ...], cost_s: float) -> None:
        """Charge the chunk to the line's budget, and set when the line is read again."""
        useful, octets, frames, events, cards = 0, 0, 0, 0, 0
        for one in heard:
            if _is_useful(one.event):
                useful += 1
                octets += one.last - one.first
                if type(one.event) in _NO_NEWS:
                    frames += one.last - one.first
                else:
                    events += 1
                    cards += type(one.event) in _CARDS
                if not self._played:
                    self._played = _is_played(one.event)
        if not chunk:
            return
        self._pieces, self._events = len(heard), events
        self._cards += cards
        if frames:
            now = self._clock.monotonic()
            pause_s = self._budget.read_frames(frames, events, now)
            self._read_at = now + pause_s if pause_s else None
        if events > cards:
            self._read_notices(events - cards)
        if self._budget.is_full and octets >= len(chunk) and useful == len(heard):
            return  # nearly every portion: nothing to charge, and nothing to forgive
        repeated = [one for one in heard if isinstance(one.event, Repeated)]
        now = self._clock.monotonic()
        pause_s = self._budget.spend(
            received=len(chunk),
            useful=octets,
            pieces=1 if useful + len(repeated) < len(heard) else 0,
            cost_s=cost_s,
            now=now,
            repeated=sum(one.last - one.first for one in repeated),
            unread=bool(self._unread),
        )
        if pause_s and (self._read_at is None or self._read_at < now + pause_s):
            self._read_at = now + pause_s

    def _read_notices(self, notices: int) -> None:
        """Charge events that are no card, and say when they are too many for the line's budget."""
        now, was_slowed = self._clock.monotonic(), self._budget.is_slowed
        pause_s = self._budget.read_notices(notices, self._cards, now)
        self._cards = 0
        if pause_s and (self._read_at is None or self._read_at < now + pause_s):
            self._read_at = now + pause_s
        if self._budget.is_slowed and not was_slowed:
            log.warning(
                "%s: line slowed: connection=%d events_a_minute=%d. It brings too many events that "
                "are no card; the rest waits at the shoe. Check the shoe.",
                self._name, self.number, NOTICES_A_MINUTE,
            )  # fmt: skip

    def _note_call(self, call: Call) -> None:
        can = self.capabilities
        matters = can.arm or can.commands or not isinstance(call, Armed | Locked)
        if can.timed and matters:
            self._calls.append(call)

    def _look_at(self, heard: tuple[ReceivedEvent, ...]) -> bool:
        """Return whether an event is ``NOTABLE``. Log what was discarded.

        That is the first, the tenth, the hundredth time: a noisy line must not fill the log.
        """
        notable = False
        for one in heard:
            event = one.event
            if not isinstance(event, Discarded):
                notable = notable or type(event) in NOTABLE
                continue
            if event.history:  # nothing is wrong: the shoe had been at work before the connection
                self._history += 1
                level, times = logging.INFO, self._history
                what = "event from before the daemon knew this shoe: stored, not played"
            else:
                self._discarded += 1
                level, what, times = logging.WARNING, "bytes discarded", self._discarded
            if str(times).strip("0") == "1":
                log.log(
                    level,
                    '%s: %s: connection=%d count=%d reason="%s"',
                    *(self._name, what, self.number, times, event.reason),
                )
        return notable


def _is_useful(event: ShoeEvent) -> bool:
    """Return whether it is neither garbage nor a repeat. History is useful."""
    return not isinstance(event, _GARBAGE) or bool(getattr(event, "history", False))


def _is_played(event: ShoeEvent) -> bool:
    """Return whether something happened at the shoe: a connection alone brings no such event."""
    return not isinstance(event, _OF_CONNECTING)
