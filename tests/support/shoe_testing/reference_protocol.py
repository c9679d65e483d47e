"""A shoe's memory and a host's store around the two real sessions, and a line between them.

In: seeds. Out: what was stored, what went over each connection. Must not know: how either end
decides what to send.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from firmware_proto.cards import FRENCH52
from firmware_proto.commands import Acknowledge, Armed, HelloRequest, HostMessage, Locked
from firmware_proto.events import CardDrawn, Discarded, Hello, Reply, ShoeEvent, Status
from firmware_proto.reference.authentication import KeyAuthenticator, ShoeAuthenticator
from firmware_proto.reference.device import ReferenceDevice
from firmware_proto.reference.host import ReferenceHost
from firmware_proto.reference.mac import HostKeys, ShoeKeys
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
        reason = "locked by key" if self.locked_by_key else None
        if number <= self.drawn:
            reason = "already drawn"
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
