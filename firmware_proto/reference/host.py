"""The host's end of a connection to a reference shoe.

In: the shoe's bytes, what is stored, what the shoe should be, the time. Out: events, each once and
in order; acknowledgements, arm and lock. What is given depends on ``resume`` and the bytes alone.
Must not know: ports, clocks, the journal, the round.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firmware_proto.commands import (
    Acknowledge,
    AnyCommand,
    ClearError,
    DesiredShoeState,
    HelloRequest,
    HostMessage,
    ReplayRequest,
    RotateKey,
)
from firmware_proto.events import (
    HOST_WITHOUT_KEY,
    AuthenticationFailed,
    ChallengeAnswered,
    Discarded,
    Gap,
    Hello,
    Repeated,
    Reply,
    ShoeEvent,
    Status,
)
from firmware_proto.reference.authentication import LINK_EVENTS, HostAuthenticator
from firmware_proto.reference.codec import Message, encode, next_card, read, slot_filled
from firmware_proto.reference.framing import DELIMITER, UNFINISHED, FrameError, Splitter
from firmware_proto.reference.host_state import CommandQueue, Deadline, DesiredState, ReplayRequests
from firmware_proto.reference.packing import FIRST_NUMBERED, FIRST_OF_HOST, Kind
from firmware_proto.reference.settings import CAPABILITIES, WITH_KEYS, AllowedFirmware
from firmware_proto.session import ReceivedEvent, Resume

ASK_AGAIN_S = 1.0
"""The answer, with the longest hello, takes 15 ms of a 115200 baud line; a shoe that is booting may
take seconds. Once a second costs it nothing and is soon enough after it is up."""

SILENCE_S = 6.0
"""Three of a shoe's status intervals (SPEC 8): two may be lost before the host asks who speaks."""

_SlotFilledEvent = slot_filled(ReceivedEvent)
_CARD_DRAWN = int(Kind.CARD_DRAWN)
_EVENTS_LOST = int(Kind.EVENTS_LOST)
_KEY_ROTATED = int(Kind.KEY_ROTATED)


class ReferenceHost:
    """One connection, from the host's end; see ``HostSession`` and SPEC 6 to 10.

    ``Hello`` is given with the last number that this host needs no more, and a gap with its last:
    stored like any event, they move what the host durably knows of the shoe. With an ``auth``
    nothing is believed that is not proved (SPEC 7); ``firmware`` says which shoes to report.
    ``acknowledged`` is as in ``Acknowledging``.
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
        self._hello: Hello | None = None  # None while it is not known who speaks
        self._known: str | None = None  # whose numbers _expected counts
        self._expected = -1  # the next number to give; none has this one before hello
        self._boot_id = -1
        self._told_next = 0  # the next number as the last hello gave it
        self._history = 0  # numbers up to here are from before this host knew the shoe
        self._stored = -1
        self._stale = range(0)  # numbers of a device that went, given and not yet stored
        self._behind_at: int | None = None
        self._met_at = 0  # the next number to give when hello came
        self._heard_t: float | None = None
        self._out = bytearray(DELIMITER)
        self._acknowledge = False
        self._replay = ReplayRequests()
        self._asking = Deadline()
        self._asking.fire()
        self._assertion = DesiredState()
        self._outbox = CommandQueue()

    # --- in ----------------------------------------------------------------------------------

    def receive(self, data: bytes, t: float) -> list[ReceivedEvent]:
        """What these bytes say. Never raises; any split of the same bytes gives the same."""
        auth, splitter = self._auth, self._splitter
        verifier = None if auth is None else auth.verifier
        if splitter.between_frames and (auth is None or verifier is not None):
            card = next_card(data, splitter, verifier, self._expected, self._boot_id)
            if card is not None:
                self._heard_t = t
                self._expected += 1
                return [card]
        heard: list[ReceivedEvent] = []
        for stuffed, _, first, last, reason in splitter.feed(data):
            if reason is not None:
                heard.append(ReceivedEvent(Discarded(reason=reason), None, first, last))
                continue
            try:
                kind, said, seq, boot_id, _ = (
                    read(stuffed) if auth is None else auth.read(stuffed, first)
                )
            except FrameError as error:
                heard.append(ReceivedEvent(Discarded(reason=str(error)), None, first, last))
                continue
            self._heard_t = t
            if (
                seq == self._expected  # which no frame of a host has
                and kind >= FIRST_NUMBERED
                and (boot_id == self._boot_id or seq < self._told_next)
            ):
                if kind != _CARD_DRAWN:
                    self._assertion.assert_again()
                    self._outbox.heard(said)
                    if kind == _KEY_ROTATED and self._auth is not None:
                        self._asking.fire()  # to prove the new one: until then the old one counts
                    if kind == _EVENTS_LOST:
                        seq = said.last
                self._expected = seq + 1
                given = _SlotFilledEvent()
                given.event = said
                given.seq = seq
                given.first = first
                given.last = last
                given.__class__ = ReceivedEvent
                heard.append(given)
            else:
                heard.extend(
                    ReceivedEvent(event, number, first, last)
                    for event, number in self._other(kind, said, seq, boot_id)
                )
        return heard

    def stored(self, seq: int | str) -> None:
        """The event with this number, and all before it, is stored durably: acknowledge it."""
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
        """What the shoe should be from now on."""
        self._assertion.set_desired_state(state)

    def command(self, command: AnyCommand) -> None:
        """Tells the shoe this, again every half second until it answers; see ``ShoeCommand``.

        A command that was not answered when the connection ends, or another shoe takes this one's
        place, is forgotten.

        Raises:
            ValueError: a value that does not fit its field, a command of other shoes, a new key
                for a shoe that has none.
        """
        if isinstance(command, ClearError):
            raise ValueError("a reference shoe's errors are cleared by a reset, not one by one")
        encode(Message(content=command))
        if isinstance(command, RotateKey) and self._auth is None:
            raise ValueError("a key is only told over a connection that has one")
        self._outbox.put(command)

    def tick(self, t: float) -> list[ReceivedEvent]:
        """Time passed. Nothing is ever heard from that."""
        if self._heard_t is None:
            self._heard_t = t
        if self._hello is not None and self._expected > self._met_at:
            self._asking.stop()
            self._met_at = self._expected
        self._asking.observe(t)
        self._assertion.timer.observe(t)
        self._outbox.timer.observe(t)
        if self._asking.idle and t >= self._heard_t + SILENCE_S:
            self._asking.fire()
        return []

    def end(self) -> list[ReceivedEvent]:
        """The connection ended: the frame that was not finished, if any."""
        return [
            ReceivedEvent(Discarded(reason=reason or UNFINISHED), None, first, last)
            for _, _, first, last, reason in self._splitter.end()
        ]

    # --- out ---------------------------------------------------------------------------------

    @property
    def next_deadline(self) -> float | None:
        """When ``tick`` wants to be called next; 0.0 is at once."""
        deadlines = [self._asking.deadline]
        if self._asking.idle and self._heard_t is not None:
            deadlines.append(self._heard_t + SILENCE_S)
        if self._caught_up and self._assertion.waits:
            deadlines.append(self._assertion.timer.deadline)
        if self._hello is not None and self._outbox.waits:
            deadlines.append(self._outbox.timer.deadline)
        return min((d for d in deadlines if d is not None), default=None)

    def outgoing(self) -> bytes:
        """Takes the bytes to be sent now, in order."""
        if self._auth is not None:
            self._out += self._auth.outgoing()
            if self._auth.greets:
                self._auth.greets = False
                self._asking.start(ASK_AGAIN_S)
                self._send(HelloRequest())
        if self._asking.ran_out:
            self._asking.start(ASK_AGAIN_S)
            self._out += encode(Message(content=HelloRequest()))
        if self._acknowledge and self._hello is not None:
            self._acknowledge = False
            self._send(Acknowledge(self._stored))
        first = self._replay.take()
        if first is not None and self._hello is not None:
            self._send(ReplayRequest(first))
        if self._hello is not None:
            for command in self._outbox.take():
                self._send(command)
        if self._caught_up:
            state = self._assertion.take()
            if state is not None:
                self._send(state)
        out = bytes(self._out)
        self._out.clear()
        return out

    def _send(self, said: HostMessage) -> None:
        message = Message(content=said)
        self._out += encode(message) if self._auth is None else self._auth.sign(message)

    @property
    def _caught_up(self) -> bool:
        """All that had happened by the last hello is here and stored, and the shoe obeys."""
        return (
            self._hello is not None
            and self.capabilities.arm
            and self._stored >= self._told_next - 1
        )

    # --- all but the next event ----------------------------------------------------------------

    def _other(
        self, kind: int, said: Any, seq: int, boot_id: int
    ) -> list[tuple[ShoeEvent, int | None]]:
        """What is to be given for a frame that is not the next event, each with its number."""
        if isinstance(said, LINK_EVENTS) or not kind:
            return [(said, None)]
        refused = self._refuses(kind, said)
        if refused is not None:
            return [(refused, None)]
        if isinstance(said, Hello):
            return self._meet(said, seq)
        if self._hello is not None and self._is_newer_boot(kind, seq, boot_id):
            self._hello, self._boot_id, self._told_next = None, -1, 0
            self._asking.fire()
        if self._hello is None:
            return [(Discarded(reason=f"{said.type} before hello"), None)]
        self._asking.stop()
        if kind >= FIRST_NUMBERED:
            return [self._out_of_order(said, seq)]
        if isinstance(said, Status):
            self._assertion.status(said)
            self._look_behind(seq)
            self.acknowledged = Resume(self._hello.device_id, seq - 1 - said.unacknowledged)
            if said.unacknowledged < seq - self._expected:
                self._replay.want(self._expected)  # the shoe takes them for heard
        elif isinstance(said, Reply) and said.command_id is None:
            self._assertion.reply(said)
        self._outbox.heard(said)
        return [(said, None)]

    def _refuses(self, kind: int, said: Any) -> ShoeEvent | None:
        """What is said instead of a frame that this end has no use for, whatever went before."""
        if kind >= FIRST_OF_HOST:
            return Discarded(reason=f"{Kind(kind).name.lower()} is for the shoe to hear")
        if isinstance(said, ChallengeAnswered):
            return Discarded(reason="challenge_answered to no challenge")
        if isinstance(said, Hello) and said.authenticates and self._auth is None:
            # It will say nothing more to a host without a key.
            failed = AuthenticationFailed(reason=HOST_WITHOUT_KEY, device_id=said.device_id)
            again, self._refused = failed == self._refused, failed
            return Repeated(of=failed.type) if again else failed
        return None

    def _is_newer_boot(self, kind: int, seq: int, boot_id: int) -> bool:
        """Whether the shoe restarted and its hello was lost.

        An event in its memory may well be of an earlier boot, but not one that it had not had
        when it said hello.
        """
        numbered_before = kind >= FIRST_NUMBERED and seq < self._told_next
        return boot_id != self._boot_id and not numbered_before

    def _out_of_order(self, said: ShoeEvent, seq: int) -> tuple[ShoeEvent, int | None]:
        if seq > self._expected:
            self._replay.want(self._expected)
            return Discarded(reason=f"{said.type} {seq} before {self._expected}"), None
        if isinstance(said, Gap) and said.last >= self._expected:
            rest = replace(said, first=self._expected)
            self._expected = said.last + 1
            return rest, said.last
        if seq <= self._history:
            reason = f"{said.type} {seq} is history: of before this host"
            return Discarded(reason=reason, history=True), None
        if seq <= self._stored:
            self._acknowledge = True  # what said so was lost
        return Repeated(of=said.type), None

    def _look_behind(self, next_seq: int) -> None:
        """Two statuses without progress while the shoe has more, or has less than it had."""
        if next_seq == self._expected:
            self._behind_at = None
        elif next_seq < self._expected or self._behind_at == self._expected:
            self._behind_at = None
            if self._asking.idle:
                self._asking.fire()
        else:
            self._behind_at = self._expected

    def _meet(self, hello: Hello, next_seq: int) -> list[tuple[ShoeEvent, int | None]]:
        """Hello: who speaks, from which number on, and what is lost for good."""
        again = (
            self._known == hello.device_id
            and self._boot_id == hello.boot_id
            and self._expected <= next_seq
        )
        if not self._asking.ran_out:  # a shoe says hello unasked too, and then nothing more
            self._asking.start(ASK_AGAIN_S)
        resumed = self._count_from(hello, next_seq)
        self._hello = hello
        self._boot_id = hello.boot_id
        self._told_next = next_seq
        self._met_at = self._expected
        self._replay = ReplayRequests()
        objection = self._firmware.objects_to(hello)
        self._assertion.only_locks = objection is not None and objection.refused
        self.capabilities = replace(self.capabilities, arm=hello.can_arm is not False)
        self._assertion.assert_again()
        self._outbox.send_again()
        given: list[tuple[ShoeEvent, int | None]] = [(Repeated(of=hello.type), None)]
        if not again:
            given = [(replace(hello, resumed=resumed), self._expected - 1)]
            given += [] if objection is None else [(objection, None)]
        oldest = min(hello.oldest_seq or self._expected, next_seq)
        if oldest > self._expected:
            self.acknowledged = Resume(hello.device_id, oldest - 1)
            given.append((Gap(first=self._expected, last=oldest - 1), oldest - 1))
            self._expected = oldest
        return given

    def _count_from(self, hello: Hello, next_seq: int) -> bool:
        """Sets the next number to give; true when this host goes on where it stopped."""
        if self._known is None and self._resume and self._resume.device_id == hello.device_id:
            self._expected = self._resume.seq + 1
            self._stored = self._resume.seq
            self._known = hello.device_id
        if self._known == hello.device_id and self._expected <= next_seq:
            self._acknowledge = self._stored >= 0
            return True
        self._stale = range(self._stored + 1, self._expected) if self._known else range(0)
        if self._known not in (None, hello.device_id):
            self._outbox = CommandQueue()  # it was told to the one that went
        self._known = hello.device_id
        self._expected = next_seq
        self._history = next_seq - 1
        self._stored = -1
        self._acknowledge = False
        return False
