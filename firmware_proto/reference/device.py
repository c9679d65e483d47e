"""The shoe's end of a connection: what firmware does, and simulated shoes use.

In: the host's bytes, events with their numbers, the time. Out: host messages, bytes to the host.
What is not acknowledged in time is sent again, from the oldest on, and ever less often.
Must not know: cards in the shoe, its memory, ports, clocks.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

from firmware_proto.commands import (
    Acknowledge,
    Armed,
    Challenge,
    HelloRequest,
    HostMessage,
    Locked,
    ReplayRequest,
    VendorCommand,
)
from firmware_proto.events import Discarded, Gap, Hello, QueryAnswered, Reply, ShoeEvent, Status
from firmware_proto.reference.authentication import ShoeAuthenticator
from firmware_proto.reference.codec import Message, body_of, encode, event_body, read
from firmware_proto.reference.framing import FrameError, Splitter, frame_body
from firmware_proto.reference.host import Deadline
from firmware_proto.reference.packing import FIRST_OF_HOST, Kind

SEND_AGAIN_S = 0.25
"""A full window takes 90 ms of a 115200 baud line, and a host that commits to a slow disk before it
acknowledges some tens more. Sooner would send twice what is only on its way."""

LONGEST_WAIT_S = 1.0
"""The wait doubles up to this: a host with too much to do would get more of it with each repeat. A
host that has caught up still gets the event within this time."""

WINDOW = 32
"""Events on their way and not acknowledged: 31 bytes each, 1 kB. More would not be over before
``SEND_AGAIN_S``, and a long memory would never get through."""


class ReferenceDevice:
    """One connection, from the shoe's end; see ``DeviceSession`` and SPEC 6 to 10.

    Until the owner has sent hello, nothing else is sent: the host could not know which shoe it is
    from, and everything kept is sent again after hello. With an ``auth`` the same holds until the
    host is authenticated: then it asks for hello once more.
    """

    def __init__(self, auth: ShoeAuthenticator | None = None) -> None:
        self._auth = auth
        self._introduction: Message | None = None
        self._handshake = bytearray()  # what goes without a MAC
        self._splitter = Splitter()
        self._hello: Message | None = None  # not yet sent
        self._boot_id: int | None = None
        self._next = 0  # the number that the next event will have
        # Not acknowledged, oldest first: the first and last number of each frame, the frame.
        self._kept: deque[tuple[int, int, bytes]] = deque()
        self._sent = 0  # how many of them are on their way
        self._replays = 0  # requests that the owner was given last, and did not go back for yet
        self._out: list[bytes] = []  # bodies: a MAC counts when it is sent
        self._resend_timer = Deadline()
        self._wait_s = SEND_AGAIN_S
        self._armed: int | None = None  # the draw that the host's last command named

    def receive(self, data: bytes, t: float) -> list[HostMessage]:
        """Return the host messages of these bytes. Never raises; garbage becomes ``Discarded``."""
        received: list[HostMessage] = []
        self._replays = 0
        for stuffed, _, _, _, reason in self._splitter.feed(data):
            if reason is not None:
                received.append(Discarded(reason=reason))
                continue
            try:
                kind, what, trusted = self._read(stuffed)
            except FrameError as error:
                received.append(error.discarded())
                continue
            answer = (
                self._handle(kind, what, t) if trusted else self._handle_unauthenticated(kind, what)
            )
            received += [] if answer is None else [answer]
        return received

    def send(self, event: ShoeEvent, *, seq: int, t_us: int, boot_id: int | None = None) -> None:
        """Send an event; ``boot_id`` is the boot in which it happened, by default this one.

        Raises:
            ValueError: the profile has no frame for it, a value does not fit, or a number that is
                not above the number of the event before it.
        """
        if isinstance(event, Hello):
            self._start(event, seq, t_us)
            return
        if self._boot_id is None or (self._auth is not None and not self._auth.is_authenticated):
            return
        boot = self._boot_id if boot_id is None else boot_id
        if type(event) is Status:
            self._out.append(event_body(event, seq, boot, t_us))
            return
        if isinstance(event, Reply) and event.number is None and event.command_id is None:
            event = replace(event, number=self._armed)
        frame = event_body(event, seq, boot, t_us)
        if isinstance(event, Reply | QueryAnswered):
            self._out.append(frame)
            return
        if self._kept and seq <= self._kept[-1][1]:
            self._go_back(seq)
        last = event.last if isinstance(event, Gap) else seq
        self._next = max(self._next, last + 1)
        self._kept.append((seq, last, frame))
        self._fill()

    def tick(self, t: float) -> None:
        """Let time pass: send again what was not acknowledged in time, from the oldest on."""
        if self._resend_timer.is_running:
            self._resend_timer.observe(t)
        if self._resend_timer.has_expired:
            self._resend_timer.stop()
            self._sent = 0
            self._wait_s = min(2 * self._wait_s, LONGEST_WAIT_S)
            self._fill()

    @property
    def next_deadline(self) -> float | None:
        """When ``tick`` wants to be called next; 0.0 is at once."""
        return self._resend_timer.deadline

    def outgoing(self) -> bytes:
        """Take the bytes to send now, in order."""
        if not (self._out or self._hello or self._handshake):
            return b""
        hello, bodies = self._hello, self._out
        self._hello, self._out = None, []
        if hello is not None:
            bodies.insert(0, body_of(self._with_oldest(hello)))
        wire = frame_body if self._auth is None else self._auth.sign
        out = b"".join([self._handshake, *map(wire, bodies)])
        self._handshake.clear()
        return out

    def _start(self, hello: Hello, seq: int, t_us: int) -> None:
        """Handle hello: everything kept will be sent again."""
        hello = replace(hello, authenticates=True if self._auth is not None else None)
        message = Message(content=hello, seq=seq, boot_id=hello.boot_id, t_us=t_us)
        body_of(message)  # a value that does not fit is refused at once
        if self._auth is not None:
            self._introduction = _introduction(message, hello)
            if not self._auth.is_authenticated:
                self._handshake += encode(self._introduction)
                return
        self._hello = message
        self._boot_id = hello.boot_id
        self._next = seq
        self._kept.clear()
        self._sent = 0
        self._out.clear()
        self._stop_waiting()

    def _with_oldest(self, message: Message) -> Message:
        """Return hello with its oldest event: the owner's, or the first sent after hello."""
        hello = message.content
        assert isinstance(hello, Hello)
        if hello.oldest_seq is None and self._kept:
            oldest = min(self._kept[0][0], message.seq or 0)
            return replace(message, content=replace(hello, oldest_seq=oldest))
        return message

    def _read(self, stuffed: bytes) -> tuple[int, Any, bool]:
        """Return kind, content, and whether to act on it."""
        if self._auth is not None:
            return self._auth.read(stuffed)
        kind, what, _, _, _ = read(stuffed)
        return kind, what, True

    def _handle_unauthenticated(self, kind: int, content: object) -> HostMessage | None:
        """Handle a message without a MAC: only hello_request and challenge are answered."""
        assert self._auth is not None
        if isinstance(content, HelloRequest):
            if self._introduction is None or not self._auth.is_authenticated:
                return content
            self._handshake += encode(self._introduction)
            return None
        if isinstance(content, Challenge) and self._introduction is not None:
            hello = self._introduction.content
            assert isinstance(hello, Hello)
            answer = self._auth.answer(content, hello)
            self._handshake += encode(replace(self._introduction, content=answer))
            return None
        return Discarded(reason="no_mac", of=Kind(kind).name.lower())

    def _handle(self, kind: int, content: object, t: float) -> HostMessage | None:
        """Return the message that the owner has to act on; None if this session has."""
        if type(content) is Acknowledge and self._boot_id is not None:
            return self._acknowledged(content, t)
        if kind < FIRST_OF_HOST:
            return Discarded(reason="for_the_host", of=Kind(kind).name.lower())
        if isinstance(content, Challenge):
            return Discarded(reason="no_key", of="challenge")
        assert isinstance(content, HostMessage) and not isinstance(
            content, Discarded | VendorCommand
        )
        if self._boot_id is None and not isinstance(content, HelloRequest):
            return Discarded(reason="before_hello", of=Kind(kind).name.lower())
        if isinstance(content, ReplayRequest):
            return self._replay(content)
        if isinstance(content, Armed | Locked):
            self._armed = content.number if isinstance(content, Armed) else None
        return content

    def _acknowledged(self, content: Acknowledge, t: float) -> HostMessage:
        if content.through >= self._next:
            return Discarded(reason="never_sent", of="acknowledge")
        self._forget(content.through, t)
        return content

    def _forget(self, through: int, t: float) -> None:
        kept = len(self._kept)
        while self._kept and self._kept[0][1] <= through:
            self._kept.popleft()
        self._sent = max(0, self._sent - (kept - len(self._kept)))
        if len(self._kept) < kept:
            self._stop_waiting()
        if 0 < len(self._kept) < kept:
            self._fill()
            self._resend_timer.observe(t)

    def _replay(self, request: ReplayRequest) -> HostMessage | None:
        """Replay from a number; return the request where only the owner still has the events."""
        if request.first > self._next:
            return Discarded(reason="never_sent", of="replay_request")
        if request.first == self._next:
            return None
        if not self._kept or request.first < self._kept[0][0]:
            self._kept.clear()
            self._sent = 0
            self._stop_waiting()
            self._replays += 1
            return request
        before = sum(last < request.first for _, last, _ in self._kept)
        self._sent = min(self._sent, before)
        self._stop_waiting()
        self._fill()
        return None

    def _go_back(self, seq: int) -> None:
        """Keep nothing from this number on: the owner goes back for a replay.

        It was given several messages at once, and had handled those before the request.
        """
        if not self._replays:
            raise ValueError(f"event {seq} after event {self._kept[-1][1]}")
        self._replays -= 1
        while self._kept and self._kept[-1][1] >= seq:
            self._kept.pop()
        self._sent = min(self._sent, len(self._kept))

    def _stop_waiting(self) -> None:
        """Stop the timer: the host showed that it is there. The next wait is the shortest again."""
        self._resend_timer.stop()
        self._wait_s = SEND_AGAIN_S

    def _fill(self) -> None:
        """Send what the window has room for."""
        kept = self._kept
        while self._sent < len(kept) and self._sent < WINDOW:
            self._out.append(kept[self._sent][2])
            self._sent += 1
        if kept and self._resend_timer.is_idle:
            self._resend_timer.start(self._wait_s)


def _introduction(message: Message, hello: Hello) -> Message:
    """Return the hello that anyone may receive: identity only, no cards and no events."""
    content = Hello(
        device_id=hello.device_id,
        firmware=hello.firmware,
        boot_id=hello.boot_id,
        deck=hello.deck,
        can_arm=hello.can_arm,
        authenticates=True,
    )
    return replace(message, content=content, seq=1)
