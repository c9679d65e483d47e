"""The host's end of a connection to a reference shoe.

In: the shoe's bytes, what is stored, what the shoe should be, the time. Out: events, each once and
in order; acknowledgements, arm and lock. The events depend on ``resume`` and the bytes alone.
Must not know: ports, clocks, the journal, the round.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firmware_proto.commands import (
    Acknowledge,
    AnyCommand,
    Armed,
    ClearError,
    DesiredShoeState,
    HelloRequest,
    HostMessage,
    Locked,
    ReplayRequest,
    RotateKey,
    SetTime,
    ShoeCommand,
)
from firmware_proto.events import (
    HOST_WITHOUT_KEY,
    Authenticated,
    AuthenticationFailed,
    ChallengeAnswered,
    Challenged,
    Discarded,
    Gap,
    Hello,
    QueryAnswered,
    Repeated,
    Reply,
    ResetDone,
    SelfTested,
    ShoeEvent,
    Status,
)
from firmware_proto.frozen_values import slot_filled
from firmware_proto.reference.authentication import LINK_EVENTS, HostAuthenticator
from firmware_proto.reference.codec import Message, encode, encode_host_message, next_card, read
from firmware_proto.reference.framing import DELIMITER, UNFINISHED, FrameError, Splitter
from firmware_proto.reference.mac import NO_SESSION
from firmware_proto.reference.packing import FIRST_NUMBERED, FIRST_OF_HOST, Kind
from firmware_proto.reference.settings import CAPABILITIES, WITH_KEYS, AllowedFirmware
from firmware_proto.session import ReceivedEvent, Resume

ASK_AGAIN_S = 1.0
"""The answer, with the longest hello, takes 15 ms of a 115200 baud line; a shoe that is booting may
take seconds. Once a second costs it nothing and is soon enough after it is up."""

SILENCE_S = 6.0
"""Three of a shoe's status intervals (SPEC 8): two may be lost before the host asks for hello."""

_SlotFilledEvent = slot_filled(ReceivedEvent)
_CARD_DRAWN = int(Kind.CARD_DRAWN)
_STATUS = int(Kind.STATUS)
_EVENTS_LOST = int(Kind.EVENTS_LOST)
_KEY_ROTATED = int(Kind.KEY_ROTATED)


class ReferenceHost:
    """One connection, from the host's end; see ``HostSession`` and SPEC 6 to 10.

    ``Hello`` comes with the last number that this host no longer needs, a gap with its last number:
    stored like any event, they move what the host durably knows of the shoe. With an ``auth``
    only authenticated messages count (SPEC 7); ``firmware`` lists the firmware that is allowed.
    ``acknowledged`` is as in ``Acknowledging``, ``heeded`` and ``unheeded`` are as in ``Heeding``.
    """

    def __init__(
        self,
        resume: Resume | None,
        *,
        auth: HostAuthenticator | None = None,
        firmware: AllowedFirmware | None = None,
    ) -> None:
        self.capabilities = CAPABILITIES if auth is None else WITH_KEYS
        self.acknowledged: Resume | None = None
        self._auth = auth
        self._firmware = firmware or AllowedFirmware()
        self._refused: AuthenticationFailed | None = None
        self._splitter = Splitter()
        self._resume = resume
        self._hello: Hello | None = None  # None until the shoe has said hello
        self._known: str | None = None  # whose numbers _expected counts
        self._expected = -1  # the next number; none is -1, before hello
        self._boot_id = -1
        self._next_at_hello = 0  # the next number as the last hello gave it
        self._history = 0  # numbers up to here are from before this host knew the shoe
        self._stored = -1
        self._stale = range(0)  # numbers of a device that left, received and not yet stored
        self._behind_at: int | None = None
        self._expected_at_hello = 0  # the next number when hello came
        self._received_t: float | None = None
        self._out = bytearray(DELIMITER)
        self._acknowledge = False
        self._told = -1  # the last number that the shoe was sent an acknowledgement of
        self.heeded = self.unheeded = 0
        self._replay = ReplayRequests()
        self._hello_timer = Deadline()
        self._hello_timer.expire()
        self._new_key_due = False  # the shoe has a new key: hello is asked for until it proves it
        self._new_key_challenged = False
        self._desired_state = DesiredState()
        self._commands = CommandQueue()
        self._timers = (self._hello_timer, self._desired_state.timer, self._commands.timer)

    # --- in ----------------------------------------------------------------------------------

    def receive(  # noqa: C901, PLR0912 - for each card
        self, data: bytes, t: float
    ) -> list[ReceivedEvent]:
        """Return the events of these bytes. Never raises; any split of the bytes gives the same."""
        auth, splitter = self._auth, self._splitter
        verifier = None if auth is None else auth.verifier
        if splitter.between_frames and (auth is None or verifier is not None):
            card = next_card(data, splitter, verifier, self._expected, self._boot_id)
            if card is not None:
                self._received_t = t
                self._expected += 1
                return [card]
        received: list[ReceivedEvent] = []
        for stuffed, _, first, last, reason in splitter.feed(data):
            if reason is not None:
                received.append(ReceivedEvent(Discarded(reason=reason), None, first, last))
                continue
            try:
                kind, content, seq, boot_id, t_us = (
                    read(stuffed) if auth is None else auth.read(stuffed, first)
                )
            except FrameError as error:
                self.unheeded += error.reason == NO_SESSION  # it was asked for a hello
                received.append(ReceivedEvent(error.discarded(), None, first, last))
                continue
            self._received_t = t
            number: int | None = None
            device_us: int | None = None
            if (
                seq == self._expected  # which no frame of a host has
                and kind >= FIRST_NUMBERED
                and (boot_id == self._boot_id or seq < self._next_at_hello)
            ):
                if kind != _CARD_DRAWN:
                    self._desired_state.send_again()
                    self._commands.on_event(content)
                    if kind == _KEY_ROTATED and self._auth is not None:
                        # Until the new key is proved the old one counts.
                        self._new_key_due, self._new_key_challenged = True, False
                        self._hello_timer.expire()
                    if kind == _EVENTS_LOST:
                        seq = content.last
                self._expected = seq + 1
                number = seq
                if boot_id == self._boot_id:
                    device_us = t_us
            elif kind == _STATUS and self._hello is not None and boot_id == self._boot_id:
                if not self._new_key_due:
                    self._hello_timer.stop()
                self._handle_status(content, seq, self._hello)
            else:
                received.extend(
                    ReceivedEvent(event, numbered, first, last)
                    for event, numbered in self._handle_other(kind, content, seq, boot_id)
                )
                continue
            event = _SlotFilledEvent()
            event.event = content
            event.seq = number
            event.first = first
            event.last = last
            event.device_us = device_us
            event.__class__ = ReceivedEvent
            received.append(event)
        return received

    def stored(self, seq: int | str) -> None:
        """Acknowledge this event and all before it: they are stored durably."""
        if not isinstance(seq, int):
            return
        if seq in self._stale:
            if seq == self._stale[-1]:
                self._stale = range(0)
            return
        if self._hello is not None and self._stored < seq < self._expected:
            self._stored = seq
            self._acknowledge = True

    def set_desired_state(self, state: DesiredShoeState) -> None:
        """Set the state that the shoe should be in from now on."""
        self._desired_state.set_state(state)

    def command(self, command: AnyCommand) -> None:
        """Send a command, again every half second until it is answered; see ``ShoeCommand``.

        It is forgotten when the connection ends, or another shoe takes this one's place, first.

        Raises:
            ValueError: a value that does not fit its field, a command of other shoes, a new key
                for a shoe that has none.
        """
        if isinstance(command, ClearError):
            raise ValueError("a reference shoe's errors are cleared by a reset, not one by one")
        encode(Message(content=command))
        if isinstance(command, RotateKey) and self._auth is None:
            raise ValueError("a key is only told over a connection that has one")
        self._commands.put(command)

    def ask_hello(self) -> None:
        """Ask the shoe for its hello now; see ``Heeding``."""
        self._hello_timer.expire()

    def tick(self, t: float) -> list[ReceivedEvent]:
        """Let time pass. It brings no events."""
        if self._received_t is None:
            self._received_t = t
        if self._hello is not None and self._expected > self._expected_at_hello:
            if not self._new_key_due:
                self._hello_timer.stop()
            self._expected_at_hello = self._expected
        for timer in self._timers:
            if timer.is_running:
                timer.observe(t)
        if t >= self._received_t + SILENCE_S and self._hello_timer.is_idle:
            self._hello_timer.expire()
        return []

    def end(self) -> list[ReceivedEvent]:
        """End the connection; return the unfinished frame, if any."""
        return [
            ReceivedEvent(Discarded(reason=reason or UNFINISHED), None, first, last)
            for _, _, first, last, reason in self._splitter.end()
        ]

    # --- out ---------------------------------------------------------------------------------

    @property
    def next_deadline(self) -> float | None:
        """When ``tick`` wants to be called next; 0.0 is at once."""
        hello = self._hello_timer
        first = hello.deadline
        if first is None and self._received_t is not None and not hello.has_expired:
            first = self._received_t + SILENCE_S
        if self._desired_state.is_pending and self._caught_up:
            first = _earlier(first, self._desired_state.timer.deadline)
        if self._commands.is_pending and self._hello is not None:
            first = _earlier(first, self._commands.timer.deadline)
        return first

    def outgoing(self) -> bytes:
        """Take the bytes to send now, in order."""
        if self._auth is not None:
            self._out += self._auth.outgoing()
            if self._auth.wants_hello:
                self._auth.wants_hello = False
                self._hello_timer.start(ASK_AGAIN_S)
                self._send(HelloRequest())
        if self._hello_timer.has_expired:
            self._hello_timer.start(ASK_AGAIN_S)
            self._out += encode(Message(content=HelloRequest()))
        if self._acknowledge and self._hello is not None:
            self._acknowledge = False
            self._told = self._stored
            self._send(Acknowledge(self._stored))
        first = self._replay.take()
        if first is not None and self._hello is not None:
            self._send(ReplayRequest(first))
        if self._hello is not None:
            for command in self._commands.take():
                self._send(command)
        if self._desired_state.is_pending and self._caught_up:
            state = self._desired_state.take()
            if state is not None:
                self._send(state)
        out = bytes(self._out)
        self._out.clear()
        return out

    def _send(self, content: HostMessage) -> None:
        if self._auth is None:
            self._out += encode_host_message(content)
        else:
            self._out += self._auth.sign(Message(content=content))

    @property
    def _caught_up(self) -> bool:
        """Everything up to the last hello is received and stored, and the shoe can be armed."""
        return (
            self._hello is not None
            and self.capabilities.arm
            and self._stored >= self._next_at_hello - 1
        )

    # --- all but the next event ----------------------------------------------------------------

    def _handle_other(
        self, kind: int, content: Any, seq: int, boot_id: int
    ) -> list[tuple[ShoeEvent, int | None]]:
        """Return the events, with their numbers, of a frame that is not the next event."""
        if isinstance(content, LINK_EVENTS) or not kind:
            self._note_heeded()
            self._note_proof(content)
            return [(content, None)]
        refused = self._refuses(kind, content)
        if refused is not None:
            return [(refused, None)]
        if isinstance(content, Hello):
            return self._start_shoe(content, seq)
        if self._hello is not None and self._is_newer_boot(kind, seq, boot_id):
            self._hello, self._boot_id, self._next_at_hello = None, -1, 0
            self._hello_timer.expire()
        if self._hello is None:
            self.unheeded += 1
            return [(Discarded(reason="before_hello", of=content.type), None)]
        if not self._new_key_due:
            self._hello_timer.stop()
        if kind >= FIRST_NUMBERED:
            return [self._out_of_order(content, seq)]
        if isinstance(content, Status):
            self._handle_status(content, seq, self._hello)
        else:
            self._note_heeded()
            if isinstance(content, Reply) and content.command_id is None:
                self._desired_state.reply(content)
        self._commands.on_event(content)
        return [(content, None)]

    def _note_proof(self, content: ShoeEvent) -> None:
        """Note that the shoe proved its newest key; an answer to an earlier challenge is none."""
        if isinstance(content, Challenged):
            self._new_key_challenged = True
        elif isinstance(content, Authenticated) and self._new_key_challenged:
            self._new_key_due = False

    def _note_heeded(self) -> None:
        self.heeded += 1
        self.unheeded = 0

    def _handle_status(self, status: Status, seq: int, hello: Hello) -> None:
        desired = self._desired_state
        was_sent = desired.was_sent
        desired.status(status)
        self._look_behind(seq)
        before, acknowledged = self.acknowledged, seq - 1 - status.unacknowledged
        device_id = hello.device_id
        if before is None or before.seq != acknowledged or before.device_id != device_id:
            self.acknowledged = Resume(device_id, acknowledged)
        is_armed = was_sent and desired.is_armed_as_desired(status)
        if is_armed or (before is not None and before.seq < acknowledged <= self._told):
            self._note_heeded()
        if acknowledged < self._told or (was_sent and desired.is_pending):
            self.unheeded += 1
        else:
            self.unheeded = 0
        if status.unacknowledged < seq - self._expected:
            self._replay.want(self._expected)  # the shoe takes them for acknowledged

    def _refuses(self, kind: int, content: Any) -> ShoeEvent | None:
        """Return what to report instead of a frame that no host accepts, in any state."""
        if kind >= FIRST_OF_HOST:
            return Discarded(reason="for_the_shoe", of=Kind(kind).name.lower())
        if isinstance(content, ChallengeAnswered):
            return Discarded(reason="no_challenge", of=content.type)
        if isinstance(content, Hello) and content.authenticates and self._auth is None:
            self._note_heeded()  # it sends nothing more to a host without a key
            failed = AuthenticationFailed(reason=HOST_WITHOUT_KEY, device_id=content.device_id)
            again, self._refused = failed == self._refused, failed
            return Repeated(of=failed.type) if again else failed
        return None

    def _is_newer_boot(self, kind: int, seq: int, boot_id: int) -> bool:
        """Return whether the shoe restarted and its hello was lost.

        An event in its memory may well be of an earlier boot, but not one that it had not had
        when it said hello.
        """
        numbered_before = kind >= FIRST_NUMBERED and seq < self._next_at_hello
        return boot_id != self._boot_id and not numbered_before

    def _out_of_order(self, content: ShoeEvent, seq: int) -> tuple[ShoeEvent, int | None]:
        if seq > self._expected:
            self._replay.want(self._expected)
            return Discarded(reason="out_of_order", of=content.type), None
        if isinstance(content, Gap) and content.last >= self._expected:
            rest = replace(content, first=self._expected)
            self._expected = content.last + 1
            return rest, content.last
        if seq <= self._history:
            return Discarded(reason="history", of=content.type, history=True), None
        if seq <= self._stored:
            self._acknowledge = True  # the acknowledgement was lost
            self.unheeded += seq <= self._told
        return Repeated(of=content.type), None

    def _look_behind(self, next_seq: int) -> None:
        """Ask for hello after two statuses without progress, or when the shoe has fewer events."""
        if next_seq == self._expected:
            self._behind_at = None
        elif next_seq < self._expected or self._behind_at == self._expected:
            self._behind_at = None
            if self._hello_timer.is_idle:
                self._hello_timer.expire()
        else:
            self._behind_at = self._expected

    def _start_shoe(self, hello: Hello, next_seq: int) -> list[tuple[ShoeEvent, int | None]]:
        """Handle hello: which shoe it is, its next number, and what is lost for good."""
        self._note_heeded()
        again = (
            self._known == hello.device_id
            and self._boot_id == hello.boot_id
            and self._expected <= next_seq
        )
        if not self._hello_timer.has_expired:  # an unrequested hello is all that the shoe sends
            self._hello_timer.start(ASK_AGAIN_S)
        resumed = self._count_from(hello, next_seq)
        self._hello = hello
        self._boot_id = hello.boot_id
        self._next_at_hello = next_seq
        self._expected_at_hello = self._expected
        self._replay = ReplayRequests()
        objection = self._firmware.check(hello)
        self._desired_state.only_locks = objection is not None and objection.refused
        self.capabilities = replace(self.capabilities, arm=hello.can_arm is not False)
        self._desired_state.send_again()
        self._commands.send_again()
        event: list[tuple[ShoeEvent, int | None]] = [(Repeated(of=hello.type), None)]
        if not again:
            event = [(replace(hello, resumed=resumed), self._expected - 1)]
            event += [] if objection is None else [(objection, None)]
        oldest = min(hello.oldest_seq or self._expected, next_seq)
        if oldest > self._expected:
            self.acknowledged = Resume(hello.device_id, oldest - 1)
            event.append((Gap(first=self._expected, last=oldest - 1), oldest - 1))
            self._expected = oldest
        return event

    def _count_from(self, hello: Hello, next_seq: int) -> bool:
        """Set the next number; return whether this host resumes where it stopped."""
        if self._known is None and self._resume and self._resume.device_id == hello.device_id:
            self._expected = self._resume.seq + 1
            self._stored = self._resume.seq
            self._known = hello.device_id
        if self._known == hello.device_id and self._expected <= next_seq:
            self._acknowledge = self._stored >= 0
            return True
        self._told = -1
        self._stale = range(self._stored + 1, self._expected) if self._known else range(0)
        if self._known not in (None, hello.device_id):
            self._commands = CommandQueue()  # they were for the shoe that left
        self._known = hello.device_id
        self._expected = next_seq
        self._history = next_seq - 1
        self._stored = -1
        self._acknowledge = False
        return False


def _earlier(one: float | None, other: float | None) -> float | None:
    """Return the earlier of two deadlines, of which either may be missing."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


# --- what is still to be sent, each until confirmed ----------------------------------------------


class ReplayRequests:
    """Asks for missing events, once for each gap: many frames may show the same one."""

    __slots__ = ("_asked", "_due")

    def __init__(self) -> None:
        self._asked = 0
        self._due: int | None = None

    def want(self, first: int) -> None:
        """Ask for event ``first`` and all after it."""
        if first != self._asked:
            self._due = first

    def take(self) -> int | None:
        """Take the number to ask for now, if any; each is returned once."""
        first, self._due = self._due, None
        if first is not None:
            self._asked = first
        return first


AT_ONCE = 0.0
"""A deadline that has passed on any scale: ``tick`` is due now, to start a timer."""


class Deadline:
    """A timer that runs from the first ``observe`` after its start: sending has no time.

    ``is_running``: it was started, and has not expired. Only then ``observe`` does anything.
    ``deadline``: when ``observe`` is due; None while it does not run.
    """

    __slots__ = ("_span_s", "deadline", "has_expired", "is_running")

    def __init__(self) -> None:
        self.has_expired = self.is_running = False
        self._span_s: float | None = None
        self.deadline: float | None = None

    @property
    def is_idle(self) -> bool:
        """Neither running nor expired."""
        return not self.has_expired and not self.is_running

    def start(self, span_s: float) -> None:
        """Run for this many seconds, from the next observed time."""
        self.has_expired, self._span_s, self.deadline = False, span_s, AT_ONCE
        self.is_running = True

    def expire(self) -> None:
        """Expire now."""
        self.has_expired, self._span_s, self.deadline = True, None, None
        self.is_running = False

    def stop(self) -> None:
        """Stop; it is idle."""
        self.has_expired, self._span_s, self.deadline = False, None, None
        self.is_running = False

    def observe(self, t: float) -> None:
        """Take note that the time is ``t`` seconds."""
        if self._span_s is not None:
            self.deadline, self._span_s = t + self._span_s, None
        elif self.deadline is not None and t >= self.deadline:
            self.expire()


REPEAT_STATE_S = 0.5
"""A shoe answers with a status at once; arm and status together take under 10 ms of the line. Half
a second leaves a slow adapter room, and is short for a dealer whose card is held back."""


class DesiredState:
    """Sends a state until the shoe confirms it, and again whenever the shoe shows another.

    A refused state is not sent again before the shoe has changed. With ``only_locks`` the shoe is
    locked, whatever state is desired. ``is_pending``: there is a state that the shoe has neither
    confirmed, nor refused, nor used up.
    """

    def __init__(self) -> None:
        self.timer = Deadline()
        self._desired: DesiredShoeState | None = None
        self.is_pending = False
        self._refused = False
        self._last_status: tuple[int | None, int, bool] | None = None
        self.only_locks = False

    @property
    def was_sent(self) -> bool:
        """The pending state was sent, and no status confirmed it yet."""
        return self.is_pending and not self.timer.has_expired

    def set_state(self, state: DesiredShoeState) -> None:
        """Set the desired state; the same state again changes nothing.

        An owner that sets it after each event would otherwise never stop: the shoe sends a status
        after each command, and that is an event too.
        """
        if state is not self._desired and state != self._desired:
            self._desired = state
            self.send_again()

    def send_again(self) -> None:
        """Send the state again: what was known of the shoe may have changed."""
        self._refused = False
        self.is_pending = self._desired is not None
        self.timer.expire()

    def status(self, status: Status) -> None:
        """Handle a status of the shoe."""
        shown = (status.armed, status.drawn, status.locked_by_key)
        if shown != self._last_status:
            self._refused = False
        self._last_status = shown
        rested = not self.is_pending
        self.is_pending = not (
            self._desired is None or self._refused or self._is_as_desired(status)
        )
        if rested and self.is_pending:
            self.timer.expire()

    def reply(self, reply: Reply) -> None:
        """Handle the reply to an arm or a lock."""
        number = self._desired.number if isinstance(self._desired, Armed) else None
        if not reply.accepted and reply.number == number:
            self._refused, self.is_pending = True, False

    def take(self) -> DesiredShoeState | None:
        """Take the state to send now, or None; it is sent again after half a second."""
        if not self.is_pending or not self.timer.has_expired:
            return None
        self.timer.start(REPEAT_STATE_S)
        return Locked() if self.only_locks else self._desired

    def is_armed_as_desired(self, status: Status) -> bool:
        """Return whether the shoe is armed for the very draw that it was to be armed for."""
        return isinstance(self._desired, Armed) and status.armed == self._desired.number

    def _is_as_desired(self, status: Status) -> bool:
        if isinstance(self._desired, Armed) and not self.only_locks:
            return status.armed == self._desired.number or status.drawn >= self._desired.number
        return status.armed is None


REPEAT_COMMAND_S = 0.5
"""As for a desired state: an answer takes a few milliseconds of the line, a slow adapter tens."""


class CommandQueue:
    """Commands that wait for their answer. A shoe carries out each once, however often it is sent.

    The time is sent once: later it would be wrong.
    """

    def __init__(self) -> None:
        self.timer = Deadline()
        self._waiting: dict[int, ShoeCommand] = {}

    @property
    def is_pending(self) -> bool:
        """True if a command is not answered yet."""
        return bool(self._waiting)

    def put(self, command: ShoeCommand) -> None:
        """Add a command; it replaces one with the same id."""
        self._waiting[command.command_id] = command
        self.timer.expire()

    def send_again(self) -> None:
        """Send all of them again: the shoe may have received none."""
        self.timer.expire()

    def on_event(self, event: ShoeEvent) -> None:
        """Handle an event; an answer removes its command."""
        if isinstance(event, Reply | QueryAnswered | ResetDone | SelfTested):
            self._waiting.pop(event.command_id or 0, None)

    def take(self) -> list[ShoeCommand]:
        """Take the commands to send now, oldest first."""
        if not self._waiting or not self.timer.has_expired:
            return []
        self.timer.start(REPEAT_COMMAND_S)
        due = list(self._waiting.values())
        for command in due:
            if isinstance(command, SetTime):
                del self._waiting[command.command_id]
        return due
