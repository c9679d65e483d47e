"""The host's end of one connection to an Angel Eye shoe. Sans I/O.

In: the shoe's bytes, the time, whether it should be locked. Out: received events, commands.
Must not know: ports, clocks, the journal, the round: whether a card fits is for the table.
"""

from __future__ import annotations

from dataclasses import replace

from firmware_proto.angel_eye.codec import EVENT_BEGINS, Decoder, Item
from firmware_proto.angel_eye.command_queue import PROGRESS, CommandQueue, LockKeeper
from firmware_proto.angel_eye.fields import ENQ
from firmware_proto.angel_eye.frames import (
    CARD_BYTES,
    CARDS_READ,
    CHECK,
    DIGITS,
    MEANING,
    SEQ_AT,
    SEQUENCES,
    SHORTEST_EVENT,
    Checks,
)
from firmware_proto.angel_eye.scanner import HEAD_BYTES, RepeatFilter
from firmware_proto.angel_eye.settings import HostSettings
from firmware_proto.commands import (
    AnyCommand,
    Armed,
    ClearError,
    DesiredShoeState,
    Locked,
    Query,
    VendorCommand,
)
from firmware_proto.events import (
    Discarded,
    Error,
    ErrorCleared,
    Lock,
    Redesignated,
    Reply,
    ShoeEvent,
    Started,
)
from firmware_proto.frozen_values import slot_filled
from firmware_proto.session import Capabilities, ReceivedEvent

_START = bytes((ENQ,))
_SlotFilledEvent = slot_filled(ReceivedEvent)

CAPABILITIES = Capabilities(
    arm=False,
    replay=False,
    judges=True,
    names_hands=True,
    decks=("french52",),
    obeys=("clear_error", "query"),
    tells=(PROGRESS,),
)

ASK_AFTER_S = 30.0
"""The interval of the look whether anything came: a round is seldom quieter. A shoe that sent
nothing since the last look is asked, and has three attempts of 3 s to answer."""

LOST_S = 75.0
"""Asked so, a shoe that is there has sent something by then."""

_REPLY_TO_NOTHING = Discarded(reason="reply_to_nothing")
"""One for all: a noisy line may bring thousands a second."""

UNANSWERED = "command_unanswered"
"""The code of the ``Error`` for a shoe that is not locked or unlocked as commanded."""


class AngelEyeHost:
    """A ``HostSession``. Without leave to send commands no byte ever goes to the shoe.

    With it, which replies count depends on what is outstanding, and giving up is reported: it is
    ``timed``.
    """

    def __init__(self, settings: HostSettings) -> None:
        may = settings.commands
        self._asks = may and settings.ask_when_silent
        self.capabilities = replace(
            CAPABILITIES, timed=may, commands=may, silence_s=LOST_S if self._asks else None
        )
        self._looked_at = 0  # how many bytes had come by the last look
        self._look_at = float("-inf")
        self._decoder = Decoder(Checks((settings.command_bcc,), (settings.reply_bcc,)))
        self._scanner = self._decoder.scanner
        self._repeats = RepeatFilter(settings.repeats)
        self._redesignation = settings.redesignation.value
        self._commands = CommandQueue(settings.command_bcc)
        self._locked: bool | None = None
        self._reset = False
        self._lock: LockKeeper | None = None
        if settings.commands:
            self._lock = LockKeeper(
                bcc=settings.command_bcc, confirmed_by_event=settings.lock_confirmed_by_event
            )

    def receive(self, data: bytes, t: float) -> list[ReceivedEvent]:
        """Return the events of these bytes; any split gives the same events. Never raises.

        Nearly all that a shoe sends are cards, whose frames have a fast path: one that was read by
        its layout before, with nothing behind it. Everything else goes through the decoder, which
        finds the reason; tests compare the two.
        """
        scanner = self._scanner
        size = len(data)
        if size < scanner.missing and ENQ not in data:
            scanner.rest += data
            scanner.missing -= size
            return []
        if scanner.run is not None:
            return self._receive_other(data, t)
        raw = scanner.rest + data if scanner.rest else data
        size = len(raw)
        read = CARDS_READ.get(raw[MEANING]) if size >= CARD_BYTES else None
        if read is None or raw[0] != ENQ:
            missing = EVENT_BEGINS.get(raw[:HEAD_BYTES], 0) - size
            if missing > 0 and (size <= HEAD_BYTES or raw.find(ENQ, 1) < 0):
                scanner.rest = raw
                scanner.missing = missing
                return []
            return self._receive_other(data, t)
        event: ShoeEvent
        event, check = read
        seq = SEQUENCES.get(raw[SEQ_AT])
        if seq is None or DIGITS[check ^ raw[SEQ_AT]] != raw[CHECK]:
            return self._receive_other(data, t)
        frames, key = self._repeats.frames, raw[self._repeats.key]
        last = frames.get(key)
        if last == raw:
            event = self._repeats.fresh_or_repeated(event, raw)
        else:
            if last is not None:
                del frames[key]
            frames[key] = raw
        received = _SlotFilledEvent()
        received.event = event
        received.seq = seq
        received.first = first = scanner.at
        received.last = scanner.at = first + size
        received.device_us = None
        received.__class__ = ReceivedEvent
        scanner.rest = b""
        scanner.missing = 0
        return [received]

    _receive_part = receive
    """The same, for part of what came: whoever replaces ``receive`` replaces it once a portion."""

    def _receive_other(self, data: bytes, t: float) -> list[ReceivedEvent]:
        """Return the events of bytes that are not the end of one card's frame."""
        starts = data.count(ENQ, 1)
        if 0 < starts * SHORTEST_EVENT <= len(data):
            first, *others = data.split(_START)
            heard = self._receive_part(first, t) if first else []
            for frame in others:
                heard += self._receive_part(_START + frame, t)
            return heard
        return [
            ReceivedEvent(self._event(item), item.seq, item.first, item.last)
            for item in self._decoder.feed(data)
        ]

    def stored(self, seq: int | str) -> None:
        """Nothing to do: this wire has no acknowledgement of events."""

    def set_desired_state(self, state: DesiredShoeState) -> None:
        """Locks for ``Locked``, unlocks for ``Armed``; nothing at all without commands.

        The shoe cannot be armed for one draw: ``number``, ``hand`` and ``index`` have no place
        on this wire.
        """
        if self._lock is None:
            return
        match state:
            case Locked():
                self._locked = True
            case Armed():
                self._locked = False
        self._take_turns()

    def command(self, command: AnyCommand) -> None:
        """Send a command, after those before it.

        What ends it has the same id: the ``Reply`` that settles it, or ``CommandUnanswered``.

        Raises:
            ValueError: commands are not allowed, this shoe has no such one, or would refuse it: an
                overdraw is cleared by keeping or discarding its card, every other error by neither.
        """
        if self._lock is None:
            raise ValueError("commands are not allowed at this shoe: commands = true")
        if not isinstance(command, ClearError | Query):
            raise ValueError(f"an angel_eye shoe has no such command: {type(command).__name__}")
        self._commands.put(command)
        self._take_turns()

    def tick(self, t: float) -> list[ReceivedEvent]:
        """Let time pass: send commands again, and report which are given up."""
        if self._lock is None:
            return []
        given_up: list[ShoeEvent] = []
        if (unanswered := self._commands.tick(t)) is not None:
            given_up.append(unanswered)
        if self._lock.tick(t):
            given_up.append(Error(code=UNANSWERED))
        if self._asks and t >= self._look_at:
            self._look(t)
        self._take_turns()
        at = self._decoder.position
        return [ReceivedEvent(event, None, at, at) for event in given_up]

    def end(self) -> list[ReceivedEvent]:
        """The connection ended: the frame that was not finished, if any."""
        return [ReceivedEvent(self._event(i), i.seq, i.first, i.last) for i in self._decoder.end()]

    @property
    def next_deadline(self) -> float | None:
        """When ``tick`` wants to be called next, or None."""
        if self._lock is None:
            return None
        looks = self._look_at if self._asks else None
        waits = (self._lock.next_deadline, self._commands.next_deadline, looks)
        return min((t for t in waits if t is not None), default=None)

    def outgoing(self) -> bytes:
        """Takes the bytes to be sent now."""
        return b"" if self._lock is None else self._lock.outgoing() + self._commands.outgoing()

    def _look(self, t: float) -> None:
        """Check that something came since the last look; if not, ask the shoe for any answer."""
        came = self._decoder.position
        if came == self._looked_at and self._look_at > float("-inf"):
            self._commands.ask_whether_alive()
        self._looked_at = came
        self._look_at = t + ASK_AFTER_S

    def _take_turns(self) -> None:
        """One command is outstanding at a time; the lock comes first."""
        assert self._lock is not None
        if self._commands.busy:
            return
        if self._locked is not None:
            self._lock.want(locked=self._locked)
            self._locked = None
        if self._reset:
            self._lock.send_again()
            self._reset = False
        if not self._lock.busy:
            self._commands.start()

    def _event(self, item: Item) -> ShoeEvent:
        content = item.content
        if isinstance(content, VendorCommand):
            return Discarded(reason="host_command")
        if isinstance(content, Reply):
            return self._reply(content)
        if item.seq is None or item.code is None:
            return content
        event = self._repeats.fresh_or_repeated(content, item.raw)
        return self._noted(event)

    def _reply(self, reply: Reply) -> ShoeEvent:
        answered: Reply | None = None
        if self._lock is not None:
            answered = self._commands.reply(reply)
            if answered is None and self._lock.reply(reply):
                answered = reply
            self._take_turns()
        return _REPLY_TO_NOTHING if answered is None else answered

    def _noted(self, event: ShoeEvent) -> ShoeEvent:
        """The event, once it is known what it means for commands and to this host."""
        match event:
            case Redesignated():
                return replace(event, meaning=self._redesignation)
            case Error(code=code):
                self._commands.error(code)
            case ErrorCleared():
                self._commands.cleared()
            case Lock(locked=locked) if self._lock is not None:
                self._lock.lock_event(locked)
            case Started():
                self._reset = True
        if self._lock is not None:
            self._take_turns()
        return event
