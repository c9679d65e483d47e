"""A toy protocol in plain text, so that the simulators are tested without a real profile.

In: what a device says, what a test's host wants. Out: lines of JSON and words.
Must not know: any profile.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from firmware_proto.cards import DECKS
from firmware_proto.commands import (
    Acknowledge,
    Armed,
    DesiredShoeState,
    HelloRequest,
    HostMessage,
    Locked,
    VendorCommand,
)
from firmware_proto.events import Discarded, ShoeEvent, from_plain, to_plain
from firmware_proto.session import Capabilities, ReceivedEvent, Resume
from simulators.shoe.angel_eye import AngelEyeDevice
from simulators.shoe.event_log import EventLog
from simulators.shoe.ground_truth import GroundTruth
from simulators.shoe.model import Shoe
from simulators.shoe.reference import ReferenceDevice


class TextDeviceSession:
    """Says a line of JSON an event; hears words."""

    next_deadline: float | None = None

    def __init__(self) -> None:
        self._out = bytearray()
        self._in = b""

    def receive(self, data: bytes, t: float) -> list[HostMessage]:  # noqa: ARG002
        *lines, self._in = (self._in + data).split(b"\n")
        return [self._understood(line.decode().split()) for line in lines]

    def send(self, event: ShoeEvent, *, seq: int, t_us: int, boot_id: int | None = None) -> None:
        line = json.dumps({"seq": seq, "boot_id": boot_id, "t_us": t_us, "event": to_plain(event)})
        self._out += line.encode() + b"\n"

    def tick(self, t: float) -> None: ...

    def outgoing(self) -> bytes:
        out = bytes(self._out)
        self._out.clear()
        return out

    def _understood(self, words: list[str]) -> HostMessage:
        match words:
            case ["hello"]:
                return HelloRequest()
            case ["ack", through]:
                return Acknowledge(int(through))
            case ["arm", number, hand, index]:
                return Armed(int(number), hand, int(index))
            case ["lock"]:
                return Locked()
            case ["command", operation, kind, data]:
                return VendorCommand(operation, kind, data)
            case _:
                return Discarded(reason=" ".join(words))


class TextHostSession:
    """The other end: acknowledges what is stored, says what it desires once."""

    capabilities = Capabilities(
        arm=True, replay=True, judges=False, names_hands=False, decks=tuple(DECKS)
    )
    next_deadline: float | None = None

    def __init__(self) -> None:
        self._out = bytearray(b"hello\n")
        self._in = b""
        self._first = 0

    def receive(self, data: bytes, t: float) -> list[ReceivedEvent]:  # noqa: ARG002
        *lines, self._in = (self._in + data).split(b"\n")
        return [self._heard(line) for line in lines]

    def stored(self, seq: int | str) -> None:
        self._out += f"ack {seq}\n".encode()

    def set_desired_state(self, state: DesiredShoeState) -> None:
        if isinstance(state, Armed):
            self._out += f"arm {state.number} {state.hand} {state.index}\n".encode()
        else:
            self._out += b"lock\n"

    def tick(self, t: float) -> list[ReceivedEvent]:  # noqa: ARG002
        return []

    def outgoing(self) -> bytes:
        out = bytes(self._out)
        self._out.clear()
        return out

    def _heard(self, line: bytes) -> ReceivedEvent:
        said = json.loads(line)
        first, self._first = self._first, self._first + len(line) + 1
        event = from_plain(said["event"])
        return ReceivedEvent(
            event, None if event.type == "hello" else said["seq"], first, self._first
        )


@pytest.fixture
def text_host() -> Callable[[Resume | None], TextHostSession]:
    """Makes a host's end of one connection."""
    return lambda _resume: TextHostSession()


@pytest.fixture
def reference_shoe() -> Callable[..., ReferenceDevice]:
    """Makes a shoe that can be armed, with a set in it, switched on at t = 0."""

    def make(
        *,
        seed: int = 1,
        decks: int = 1,
        deck: str = "french52",
        event_log: EventLog | None = None,
        unreadable: frozenset[int] = frozenset(),
    ) -> ReferenceDevice:
        shoe = Shoe("SIM-TEST", unreadable=unreadable)
        device = ReferenceDevice(
            shoe, GroundTruth(), session=TextDeviceSession, event_log=event_log
        )
        device.load(DECKS[deck], decks, seed, 0.0)
        device.boot(0.0)
        return device

    return make


@pytest.fixture
def angel_eye_shoe() -> Callable[..., AngelEyeDevice]:
    """Makes a shoe that judges, with a set in it, without power."""

    def make(
        *, seed: int = 1, decks: int = 1, unreadable: frozenset[int] = frozenset()
    ) -> AngelEyeDevice:
        shoe = Shoe("SIM-TEST", unreadable=unreadable)
        device = AngelEyeDevice(shoe, GroundTruth(), session=TextDeviceSession)
        device.load(DECKS["french52"], decks, seed, 0.0)
        return device

    return make


@pytest.fixture
def said() -> Callable[[bytes], list[ShoeEvent]]:
    """What a device's bytes say."""

    def read(data: bytes) -> list[ShoeEvent]:
        return [from_plain(json.loads(line)["event"]) for line in data.splitlines()]

    return read
