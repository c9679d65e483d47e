"""The shoe's end of a connection: what firmware does, and what simulated shoes speak with.

In: the host's bytes, events with their numbers, the time. Out: what the host said, bytes to it;
what was not acknowledged in time is sent again from the oldest on.
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
from firmware_proto.reference.codec import Message, body_of, encode, read
from firmware_proto.reference.framing import FrameError, Splitter, frame_body
from firmware_proto.reference.host_state import Deadline
from firmware_proto.reference.packing import FIRST_OF_HOST, Kind

SEND_AGAIN_S = 0.25
"""A full window takes 90 ms of a 115200 baud line, and a host that commits to a slow disk before it
acknowledges some tens more. Sooner would send twice what is only on its way."""

WINDOW = 32
"""Events on their way and not acknowledged: 31 bytes each, 1 kB. More would not be over before
``SEND_AGAIN_S``, and a long memory would never get through."""


class ReferenceDevice:
    """One connection, from the shoe's end; see ``DeviceSession`` and SPEC 6 to 10.

    Until the owner said hello, all else that it says is not sent: the host could not know whose it
    is, and all that is kept is said again after hello. With an ``auth`` the same holds until the
    host has proved itself: then it asks for hello once more.
    """

    def __init__(self, auth: ShoeAuthenticator | None = None) -> None:
        self._auth = auth
        self._introduction: Message | None = None
        self._handshake = bytearray()  # what goes without a MAC
        self._splitter = Splitter()
        self._hello: Message | None = None  # said, and not yet sent
        self._boot_id: int | None = None
        self._next = 0  # the number that the next event will have
        # Not acknowledged, oldest first: the first and last number of each frame, the frame.
        self._kept: deque[tuple[int, int, bytes]] = deque()
        self._sent = 0  # how many of them are on their way
        self._out: list[bytes] = []  # bodies: a MAC counts when it is sent
        self._waiting = Deadline()
        self._armed: int | None = None  # the draw that the host's last command named

    def receive(self, data: bytes, t: float) -> list[HostMessage]:
        """What these bytes of the host say. Never raises; garbage becomes ``Discarded``."""
        said: list[HostMessage] = []
        for stuffed, _, _, _, reason in self._splitter.feed(data):
            if reason is not None:
                said.append(Discarded(reason=reason))
                continue
            try:
                kind, what, trusted = self._read(stuffed)
            except FrameError as error:
                said.append(Discarded(reason=str(error)))
                continue
            heard = self._hear(kind, what, t) if trusted else self._hear_anyone(kind, what)
            said += [] if heard is None else [heard]
        return said

    def send(self, event: ShoeEvent, *, seq: int, t_us: int, boot_id: int | None = None) -> None:
        """Sends an event; ``boot_id`` is the boot in which it happened, by default this one.

        Raises:
            ValueError: the profile has no frame for it, a value does not fit, or a number that is
                not above the number of the event before it.
        """
        if isinstance(event, Hello):
            self._start(event, seq, t_us)
            return
        if self._boot_id is None or (self._auth is not None and not self._auth.proven):
            return
        boot = self._boot_id if boot_id is None else boot_id
        if isinstance(event, Reply) and event.number is None and event.command_id is None:
            event = replace(event, number=self._armed)
        frame = body_of(Message(content=event, seq=seq, boot_id=boot, t_us=t_us))
        if isinstance(event, Status | Reply | QueryAnswered):
            self._out.append(frame)
            return
        if self._kept and seq <= self._kept[-1][1]:
            raise ValueError(f"event {seq} after event {self._kept[-1][1]}")
        last = event.last if isinstance(event, Gap) else seq
        self._next = max(self._next, last + 1)
        self._kept.append((seq, last, frame))
        self._fill()

    def tick(self, t: float) -> None:
        """Time passed: what was not acknowledged in time is sent again, from the oldest on."""
        self._waiting.observe(t)
        if self._waiting.ran_out:
            self._waiting.stop()
            self._sent = 0
            self._fill()

    @property
    def next_deadline(self) -> float | None:
        """When ``tick`` wants to be called next; 0.0 is at once."""
        return self._waiting.deadline

    def outgoing(self) -> bytes:
        """Takes the bytes to be sent now, in order."""
        hello, bodies = self._hello, self._out
        self._hello, self._out = None, []
        if hello is not None:
            bodies.insert(0, body_of(self._with_oldest(hello)))
        wire = frame_body if self._auth is None else self._auth.sign
        out = bytes(self._handshake) + b"".join(wire(body) for body in bodies)
        self._handshake.clear()
        return out

    def _start(self, hello: Hello, seq: int, t_us: int) -> None:
        """Hello: everything that is kept will be said anew."""
        hello = replace(hello, authenticates=True if self._auth is not None else None)
        message = Message(content=hello, seq=seq, boot_id=hello.boot_id, t_us=t_us)
        body_of(message)  # what does not fit is the owner's to hear of now
        if self._auth is not None:
            self._introduction = _introduction(message, hello)
            if not self._auth.proven:
                self._handshake += encode(self._introduction)
                return
        self._hello = message
        self._boot_id = hello.boot_id
        self._next = seq
        self._kept.clear()
        self._sent = 0
        self._out.clear()
        self._waiting.stop()

    def _with_oldest(self, message: Message) -> Message:
        """Where the owner did not name the oldest event, the first that it said after hello."""
        hello = message.content
        assert isinstance(hello, Hello)
        if hello.oldest_seq is None and self._kept:
            oldest = min(self._kept[0][0], message.seq or 0)
            return replace(message, content=replace(hello, oldest_seq=oldest))
        return message

    def _read(self, stuffed: bytes) -> tuple[int, Any, bool]:
        """Kind, what it says, and whether it is to be heeded."""
        if self._auth is not None:
            return self._auth.read(stuffed)
        kind, what, _, _, _ = read(stuffed)
        return kind, what, True

    def _hear_anyone(self, kind: int, said: object) -> HostMessage | None:
        """What a shoe with a key does for whoever asks: it names itself and proves it."""
        assert self._auth is not None
        if isinstance(said, HelloRequest):
            if self._introduction is None or not self._auth.proven:
                return said
            self._handshake += encode(self._introduction)
            return None
        if isinstance(said, Challenge) and self._introduction is not None:
            hello = self._introduction.content
            assert isinstance(hello, Hello)
            answer = self._auth.answer(said, hello)
            self._handshake += encode(replace(self._introduction, content=answer))
            return None
        return Discarded(reason=f"{Kind(kind).name.lower()} without a MAC")

    def _hear(self, kind: int, said: object, t: float) -> HostMessage | None:
        """What the owner has to know of; None when this session has answered."""
        if kind < FIRST_OF_HOST:
            return Discarded(reason=f"{Kind(kind).name.lower()} is for the host to hear")
        if isinstance(said, Challenge):
            return Discarded(reason="challenge that this shoe cannot answer")
        assert isinstance(said, HostMessage) and not isinstance(said, Discarded | VendorCommand)
        if self._boot_id is None and not isinstance(said, HelloRequest):
            return Discarded(reason=f"{Kind(kind).name.lower()} before hello")
        if isinstance(said, Acknowledge):
            return self._acknowledged(said, t)
        if isinstance(said, ReplayRequest):
            return self._replay(said)
        if isinstance(said, Armed | Locked):
            self._armed = said.number if isinstance(said, Armed) else None
        return said

    def _acknowledged(self, said: Acknowledge, t: float) -> HostMessage:
        if said.through >= self._next:
            return Discarded(reason=f"acknowledge of {said.through}, which never was")
        self._forget(said.through, t)
        return said

    def _forget(self, through: int, t: float) -> None:
        kept = len(self._kept)
        while self._kept and self._kept[0][1] <= through:
            self._kept.popleft()
        self._sent = max(0, self._sent - (kept - len(self._kept)))
        if len(self._kept) < kept:
            self._waiting.stop()
            self._fill()
            self._waiting.observe(t)

    def _replay(self, asked: ReplayRequest) -> HostMessage | None:
        """Goes back to a number; the owner has to where this session was not told of it."""
        if asked.first > self._next:
            return Discarded(reason=f"replay from {asked.first}, which never was")
        if asked.first == self._next:
            return None
        if not self._kept or asked.first < self._kept[0][0]:
            self._kept.clear()
            self._sent = 0
            self._waiting.stop()
            return asked
        before = sum(last < asked.first for _, last, _ in self._kept)
        self._sent = min(self._sent, before)
        self._waiting.stop()
        self._fill()
        return None

    def _fill(self) -> None:
        """Sends what the window has room for."""
        while self._sent < min(len(self._kept), WINDOW):
            self._out.append(self._kept[self._sent][2])
            self._sent += 1
        if self._kept and self._waiting.idle:
            self._waiting.start(SEND_AGAIN_S)


def _introduction(message: Message, hello: Hello) -> Message:
    """What anyone may know: who this is. Nothing of its cards, nothing of what it has kept."""
    said = Hello(
        device_id=hello.device_id,
        firmware=hello.firmware,
        boot_id=hello.boot_id,
        deck=hello.deck,
        can_arm=hello.can_arm,
        authenticates=True,
    )
    return replace(message, content=said, seq=1)
