"""The reference protocol, worked out apart from the package: examples of SPEC.md, ends, lines.

In: frames, keys. Out: both sessions with a store around them, bytes as the document gives them.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

import firmware_proto.reference
from firmware_proto.cards import FRENCH52
from firmware_proto.commands import Acknowledge, Armed, HelloRequest, HostMessage, Locked
from firmware_proto.events import CardDrawn, Discarded, Hello, Reply, ShoeEvent, Status
from firmware_proto.reference.authentication import KeyAuthenticator, ShoeAuthenticator
from firmware_proto.reference.codec import Decoder, Message, body_of, encode, read
from firmware_proto.reference.compiled_layouts import COMPILED
from firmware_proto.reference.device import ReferenceDevice
from firmware_proto.reference.framing import FrameError, Splitter, frame_body
from firmware_proto.reference.host import ReferenceHost
from firmware_proto.reference.mac import HostKeys, SessionKeys, ShoeKeys, Transcript
from firmware_proto.reference.packing import FIRST_OF_HOST, VERSION, CompiledLayout, Kind
from firmware_proto.session import ReceivedEvent, Resume


def card_event(number: int) -> CardDrawn:
    return CardDrawn(card=FRENCH52.cards[number % 52], number=number, armed=True, confidence=99)


@dataclass
class Shoe:
    """Numbers and keeps events as SPEC 7 says; draws ``number`` are what it counts."""

    device_id: str = "SH-1"
    boot_id: int = 1
    next_seq: int = 1
    drawn: int = 0
    armed: int | None = None
    locked_by_key: bool = False
    kept: dict[int, ShoeEvent] = field(default_factory=dict)
    session: ReferenceDevice = field(default_factory=ReferenceDevice)
    received: list[HostMessage] = field(default_factory=list)
    status_at: float = 0.0
    keys: ShoeKeys | None = None

    def connect(self) -> None:
        self.session = ReferenceDevice(None if self.keys is None else ShoeAuthenticator(self.keys))

    def reboot(self, t: float) -> None:
        self.boot_id += 1
        self.armed = None
        self.connect()
        self.hello(t)

    def draw(self, t: float) -> None:
        self.drawn += 1
        self.armed = None
        self.kept[self.next_seq] = event = card_event(self.drawn)
        self.next_seq += 1
        self.session.send(event, seq=self.next_seq - 1, t_us=us(t))
        self.status(t)

    def hello(self, t: float) -> None:
        hello = Hello(
            device_id=self.device_id,
            firmware="1",
            boot_id=self.boot_id,
            deck="french52",
            drawn=self.drawn,
            oldest_seq=min(self.kept, default=self.next_seq),
        )
        self.session.send(hello, seq=self.next_seq, t_us=us(t))

    def status(self, t: float) -> None:
        self.status_at = t + 2.0
        status = Status(
            armed=self.armed,
            drawn=self.drawn,
            unacknowledged=len(self.kept),
            locked_by_key=self.locked_by_key,
        )
        self.session.send(status, seq=self.next_seq, t_us=us(t))

    def receive(self, data: bytes, t: float) -> None:
        for said in self.session.receive(data, t):
            self.received.append(said)
            self._heed(said, t)

    def tick(self, t: float) -> None:
        if t >= self.status_at:
            self.status(t)
        self.session.tick(t)

    def _heed(self, said: HostMessage, t: float) -> None:
        match said:
            case HelloRequest():
                self.hello(t)
                for seq, event in self.kept.items():
                    self.session.send(event, seq=seq, t_us=0)
                self.status(t)
            case Acknowledge(through):
                self.kept = {seq: e for seq, e in self.kept.items() if seq > through}
            case Armed(number, _, _):
                self._arm(number, t)
            case Locked():
                self.armed = None
                self.status(t)
            case Discarded():
                pass

    def _arm(self, number: int, t: float) -> None:
        reason = "locked_by_key" if self.locked_by_key else None
        if number <= self.drawn:
            reason = "already_drawn"
        if reason is None:
            self.armed = number
        else:
            self.session.send(Reply(accepted=False, reason=reason), seq=self.next_seq, t_us=us(t))
        self.status(t)


@dataclass
class Host:
    """Stores what it is given, in order, some time later, and knows no more than that."""

    resume: Resume | None = None
    session: ReferenceHost = field(default_factory=lambda: ReferenceHost(None))
    stored: list[tuple[int | str, ShoeEvent]] = field(default_factory=list)
    given: list[ReceivedEvent] = field(default_factory=list)
    waiting: list[ReceivedEvent] = field(default_factory=list)
    connections: list[tuple[Resume | None, bytearray, list[ReceivedEvent]]] = field(
        default_factory=list
    )
    keys: HostKeys | None = None

    def connect(self) -> None:
        auth = None if self.keys is None else KeyAuthenticator(self.keys)
        self.session = ReferenceHost(self.resume, auth=auth)
        self.waiting.clear()
        self.connections.append((self.resume, bytearray(), []))

    def receive(self, data: bytes, t: float) -> None:
        heard = self.session.receive(data, t)
        self.connections[-1][1].extend(data)
        self.connections[-1][2].extend(heard)
        self.given += heard
        self.waiting += heard

    def store(self, count: int) -> None:
        """Makes so many of what waits durable, oldest first."""
        for heard in self.waiting[:count]:
            if heard.seq is None:
                continue
            if isinstance(heard.event, Hello):
                self.resume = Resume(heard.event.device_id, int(heard.seq))
            elif self.resume:
                self.resume = Resume(self.resume.device_id, int(heard.seq))
                self.stored.append((heard.seq, heard.event))
            self.session.stored(heard.seq)
        del self.waiting[:count]


def us(t: float) -> int:
    return round(t * 1_000_000)


class Line:
    """Spoils what goes over it: loses, doubles, flips, cuts, and splits as it likes."""

    def __init__(self, random: Random, trouble: float) -> None:
        self._random = random
        self._trouble = trouble

    def carry(self, data: bytes) -> list[bytes]:
        random = self._random
        if not data or random.random() >= self._trouble:
            return [data] if data else []
        at = random.randrange(len(data))
        match random.randrange(5):
            case 0:
                return []
            case 1:
                return [data, data]
            case 2:
                return [data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]]
            case 3:
                return [data[:at]]
            case _:
                return [data[:at], data[at:]]


@dataclass
class Ends:
    """Both ends, a line, and a clock that moves 20 ms a step."""

    shoe: Shoe = field(default_factory=Shoe)
    host: Host = field(default_factory=Host)
    line: Line = field(default_factory=lambda: Line(Random(0), 0.0))
    t: float = 100.0
    from_host: list[bytes] = field(default_factory=list)
    from_shoe: list[bytes] = field(default_factory=list)

    def connect(self) -> None:
        self.shoe.connect()
        self.host.connect()

    def step(self, *, store: int = 1000) -> None:
        self.t += 0.02
        self.from_host.append(self.host.session.outgoing())
        for chunk in self.line.carry(self.from_host[-1]):
            self.shoe.receive(chunk, self.t)
        self.shoe.tick(self.t)
        self.from_shoe.append(self.shoe.session.outgoing())
        for chunk in self.line.carry(self.from_shoe[-1]):
            self.host.receive(chunk, self.t)
        deadline = self.host.session.next_deadline
        if deadline is not None and deadline <= self.t:
            assert self.host.session.tick(self.t) == []
        self.host.store(store)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.02)):
            self.step()


KEY = bytes(range(32))


def nonces(seed: int) -> Callable[[], bytes]:
    random = Random(seed)
    return lambda: random.randbytes(16)


def keyed(line: Line | None = None, *, key_id: int = 1, key: bytes = KEY) -> Ends:
    """Both ends with the same key, over this line."""
    shoe = Shoe(keys=ShoeKeys({key_id: key}, nonces(1)))
    host = Host(keys=HostKeys({"SH-1": {key_id: key}}, nonces(2)))
    return Ends(shoe=shoe, host=host, line=line or Line(Random(0), 0.0))


def host_frame(event: ShoeEvent, seq: int, boot_id: int = 1) -> bytes:
    return encode(Message(content=event, seq=seq, boot_id=boot_id, t_us=9))


def shoe_hello(
    seq: int, *, device: str = "SH-1", boot: int = 1, oldest: int | None = None, arm: bool = True
) -> bytes:
    event = Hello(
        device_id=device,
        firmware="1",
        boot_id=boot,
        deck="french52",
        oldest_seq=oldest,
        can_arm=arm,
    )
    return host_frame(event, seq, boot)


def shoe_status(
    seq: int, *, armed: int | None = None, drawn: int = 0, boot: int = 1, unheard: int = 9
) -> bytes:
    return host_frame(Status(armed=armed, drawn=drawn, unacknowledged=unheard), seq, boot)


def shoe_card(seq: int, boot: int = 1) -> bytes:
    return host_frame(card_event(seq), seq, boot)


def given_by(session: ReferenceHost, *frames: bytes) -> list[tuple[ShoeEvent, int | str | None]]:
    return [(h.event, h.seq) for f in frames for h in session.receive(f, 1.0)]


def event_names(session: ReferenceHost, *frames: bytes) -> list[str]:
    return [event.type for event, _ in given_by(session, *frames)]


def sent_frames(session: ReferenceHost) -> list[object]:
    found = Decoder().feed(b"\0" + session.outgoing())
    assert all(isinstance(f.content, Message) for f in found)
    return [f.content.content for f in found if isinstance(f.content, Message)]


def met(seq: int = 1, resume: Resume | None = None) -> ReferenceHost:
    """A session that has had hello, stored it, and sent what there was to send."""
    session = ReferenceHost(resume)
    for heard in session.receive(shoe_hello(seq), 1.0):
        if heard.seq is not None:
            session.stored(heard.seq)
    session.outgoing()
    return session


SPEC = Path(firmware_proto.reference.__path__[0]) / "SPEC.md"


@dataclass(frozen=True)
class Example:
    name: str
    plain: dict[str, Any]
    frame: bytes

    def __str__(self) -> str:
        return self.name


def spec_examples() -> list[Example]:
    text = SPEC.read_text(encoding="utf-8")
    found = re.findall(r"\*\*([^*\n]+)\*\*\n\n```golden\n(\{.*\})\n([0-9A-F\s]+)```", text)
    return [Example(name, json.loads(plain), bytes.fromhex(hexed)) for name, plain, hexed in found]


EXAMPLES = spec_examples()


def sealed_examples() -> list[Example]:
    """The frames with a MAC, in the order in which they are sent."""
    text = SPEC.read_text(encoding="utf-8")
    found = re.findall(r"\*\*([^*\n]+)\*\*\n\n```sealed\n(\{.*\})\n([0-9A-F\s]+)```", text)
    return [Example(name, json.loads(plain), bytes.fromhex(hexed)) for name, plain, hexed in found]


SEALED_EXAMPLES = sealed_examples()

_IV = (
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
    0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
)  # fmt: skip
_SIGMA = [
    [int(digit, 16) for digit in row]
    for row in (
        "0123456789abcdef", "ea489fd61c02b753",
        "b8c052fdae367194", "7931dcbe265a40f8",
        "905724afe1bc683d", "2c6a0b834d75fe19",
        "c51fed4a0763928b", "db7ec13950f4862a",
        "6fe9b308c2d714a5", "a2847615fb9e3cd0",
    )
]  # fmt: skip


def blake2s_by_the_book(key: bytes, data: bytes) -> bytes:
    """RFC 7693 with a key of 32 bytes and 32 bytes of output."""
    state = list(_IV)
    state[0] ^= 0x01010000 ^ len(key) << 8 ^ 32
    blocks = key.ljust(64, b"\0") + data
    count = 0
    while True:
        block, blocks = blocks[:64], blocks[64:]
        count += len(block)
        _mix(state, block.ljust(64, b"\0"), count, last=not blocks)
        if not blocks:
            return b"".join(word.to_bytes(4, "little") for word in state)


def _mix(state: list[int], block: bytes, count: int, *, last: bool) -> None:
    words = [int.from_bytes(block[n : n + 4], "little") for n in range(0, 64, 4)]
    v = state + list(_IV)
    v[12] ^= count & 0xFFFFFFFF
    v[13] ^= count >> 32
    v[14] ^= 0xFFFFFFFF if last else 0

    def turn(value: int, bits: int) -> int:
        return (value >> bits | value << 32 - bits) & 0xFFFFFFFF

    for sigma in _SIGMA:
        for n in range(8):
            slant = n // 4
            a, b = n % 4, 4 + (n + slant) % 4
            c, d = 8 + (n + 2 * slant) % 4, 12 + (n + 3 * slant) % 4
            for word, first, second in ((2 * n, 16, 12), (2 * n + 1, 8, 7)):
                v[a] = (v[a] + v[b] + words[sigma[word]]) & 0xFFFFFFFF
                v[d] = turn(v[d] ^ v[a], first)
                v[c] = (v[c] + v[d]) & 0xFFFFFFFF
                v[b] = turn(v[b] ^ v[c], second)
    for n in range(8):
        state[n] ^= v[n] ^ v[n + 8]


def crc32_by_the_book(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def stuffed_by_the_book(data: bytes) -> bytes:
    """COBS of what is shorter than 254 bytes."""
    return b"".join(bytes([len(run) + 1]) + run for run in data.split(b"\0"))


def framed_by_the_book(body: bytes) -> bytes:
    whole = body + crc32_by_the_book(body).to_bytes(4, "little")
    return b"\0" + stuffed_by_the_book(whole) + b"\0"


def unstuffed_by_the_book(frame: bytes) -> bytes:
    rest, out = frame[1:-1], b""
    while rest:
        out += rest[1 : rest[0]] + b"\0"
        rest = rest[rest[0] :]
    return out[:-1]


LINE_KEY = bytes(range(32))
TRANSCRIPT = Transcript(1, bytes(16), bytes(range(16)), 7, "SH-1")
CARD_FRAME = Message(content=CardDrawn(card=FRENCH52.cards[0], number=1), seq=1, boot_id=1, t_us=1)
NEIGHBOUR = {True: body_of(Message(content=Acknowledge(77))), False: body_of(CARD_FRAME)}
"""By whether a host says it."""


class FramedLine:
    """``before``, ``frame`` and ``behind`` as they are sent; with ``keyed`` each has its MAC."""

    def __init__(self, example: bytes, *, keyed: bool) -> None:
        body = unstuffed_by_the_book(example)[:-4]
        by_host = body[1] >= FIRST_OF_HOST
        bodies = (NEIGHBOUR[by_host], body, NEIGHBOUR[by_host])
        self._read: Callable[[bytes], object] = read
        self._session_keys: SessionKeys | None = None
        if keyed:
            host, shoe = (
                SessionKeys.by_host(TRANSCRIPT, LINE_KEY),
                SessionKeys.by_shoe(TRANSCRIPT, LINE_KEY),
            )
            sender, self._session_keys = (host, shoe) if by_host else (shoe, host)
            self._read = _reader(self._session_keys, by_host=by_host)
            bodies = tuple(sender.signer.sign(b) or b"" for b in bodies)  # type: ignore[assignment]
        self.before, self.frame, self.behind = map(frame_body, bodies)

    def believed(self, instead: bytes) -> list[bytes]:
        """The frames, without delimiters, that are believed with this in the frame's place."""
        if self._session_keys is not None:
            self._session_keys.verifier.last = (
                0  # each time is the first: no counter hides a wrong MAC
            )
        splitter = Splitter()
        pieces = splitter.feed(self.before + instead + self.behind) + splitter.end()
        return [piece[0] for piece in pieces if piece[4] is None and self._takes(piece[0])]

    @property
    def neighbours(self) -> list[bytes]:
        """What is to come through whatever stands between."""
        return [self.before.strip(b"\0"), self.behind.strip(b"\0")]

    def _takes(self, stuffed: bytes) -> bool:
        try:
            self._read(stuffed)
        except FrameError:
            return False
        return True


def _reader(agreed: SessionKeys, *, by_host: bool) -> Callable[[bytes], object]:
    if by_host:
        shoe = ShoeAuthenticator(ShoeKeys({1: LINE_KEY}, bytes))
        shoe._session_keys = agreed
        return shoe.read
    host = KeyAuthenticator(HostKeys({"SH-1": {1: LINE_KEY}}, bytes))
    host._session_keys = agreed
    return lambda stuffed: host.read(stuffed, 0)


CRC_SIZE = b"\0\0\0\0"
INTEGERS = {"B": 8, "H": 16, "L": 32, "Q": 64}
printable = st.text(string.digits + string.ascii_letters + string.punctuation + " ", max_size=24)


def _padded(size: int, text: str) -> bytes:
    return text.encode().ljust(size, b"\0")[:size]


def _little(size: int, number: int) -> bytes:
    return number.to_bytes(size, "little")


def wire_values(layout: CompiledLayout) -> st.SearchStrategy[bytes]:
    """Payloads whose numbers and bytes are drawn field by field, many of them without meaning."""
    parts: list[st.SearchStrategy[bytes]] = []
    for each in layout.fields:
        if each.format.endswith("s"):
            size = int(each.format[:-1])
            text = printable.map(partial(_padded, size))
            parts.append(text | st.binary(min_size=size, max_size=size))
        else:
            size = INTEGERS[each.format] // 8
            known = st.sampled_from(sorted(each.table)) if each.table else st.just(1)
            number = known | st.integers(0, 3) | st.integers(0, 2 ** (8 * size) - 1)
            parts.append(number.map(partial(_little, size)))
    return st.tuples(*parts).map(b"".join)


def by_fast_path(kind: Kind, payload: bytes) -> dict[str, Any] | None:
    layout = COMPILED[kind]
    try:
        values = layout.unpack(bytes((VERSION, kind)) + payload + CRC_SIZE)
    except FrameError:
        return None
    return dict(zip((f.name for f in layout.fields), values, strict=True))
