"""What floods a line, and a tap on the line beside it that times how long each card takes to store.

In: a profile and a kind of flood; a simulated shoe's port. Out: bytes for each host that connects;
the time from a card's last byte to its acknowledgement, which a daemon sends once it is stored.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import select
import socket
import threading
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import NamedTuple

from firmware_proto.angel_eye.frames import encode_event
from firmware_proto.cards import FRENCH52, card
from firmware_proto.commands import Acknowledge
from firmware_proto.events import CardDrawn, Hello, ShoeLoaded, Started, Status
from firmware_proto.reference.codec import Message, encode, read
from firmware_proto.reference.framing import FrameError, Splitter

LINE_RATE = 12_000
"""Bytes a second: a line at 115200 baud."""

FAST_LINE = 50_000
"""Bytes a second: a line at 460800 baud."""

FLOOD = 1 << 30
"""As fast as the daemon reads."""

PIECE = 4096
"""Bytes that are sent at once."""

NOBODY, ALL = -1, -2
"""Instead of a line's number."""

MINUTE_S = 60.0
FLOODED_S = 8.0
"""How long a flood without a pause is stored: the line is suspended within, and stays so as long as
it is not quiet, so that the rest of a minute adds nothing."""


class Case(NamedTuple):
    """A flood of a line: what a host is told first, then pieces of some 4 kB, without end.

    ``makes_sense``: they are new events of a shoe, all of which are kept. ``burst_s`` and
    ``quiet_s``: where it is stored alone, it comes in bursts. ``is_throttled``: it makes sense and
    brings nothing new, so that its line is read slowly and never suspended.
    """

    profile: str
    rate: int
    pieces: Callable[[], Iterator[bytes]]
    first: bytes = b""
    makes_sense: bool = False
    burst_s: float = 0.0
    quiet_s: float = 0.0
    is_throttled: bool = False

    @property
    def stored_s(self) -> float:
        """How long it is stored: a line that does not use up its budget at once, for a minute."""
        slow = self.rate != FLOOD or self.quiet_s or self.is_throttled
        return MINUTE_S if slow else FLOODED_S

    @property
    def suspended(self) -> int:
        """How often the line is suspended in that time, at least."""
        if self.makes_sense or self.is_throttled:
            return 0
        return 2 if self.quiet_s else 1


def _always(data: bytes) -> Callable[[], Iterator[bytes]]:
    whole = data * (PIECE // len(data))
    return lambda: iter(lambda: whole, b"")


def _random() -> Iterator[bytes]:
    drawn = random.Random(7)
    return iter(lambda: drawn.randbytes(PIECE), b"")


def _angel_eye_cards() -> Iterator[bytes]:
    drawn = CardDrawn(card=card("8S"), hand="player", index=1)
    whole = b"".join(encode_event(drawn, str(n % 10)) for n in range(300))
    return iter(lambda: whole, b"")


def _reference_event(seq: int) -> bytes:
    cards = FRENCH52.cards
    event = CardDrawn(card=cards[seq % 52], number=seq, armed=False, confidence=99)
    return encode(Message(content=event, seq=seq + 1, boot_id=1, t_us=seq))


def _reference_cards() -> Iterator[bytes]:
    for at in count(0, 100):
        yield b"".join(_reference_event(at + n + 1) for n in range(100))


def _reference_said() -> bytes:
    """A shoe that says who it is, and that cards were loaded."""
    hello = Hello(device_id="SH-9", firmware="1", boot_id=1, deck="french52", drawn=0, oldest_seq=1)
    loaded = ShoeLoaded(set_id="flood", decks=8)
    return encode(Message(content=hello, seq=2, boot_id=1, t_us=0)) + encode(
        Message(content=loaded, seq=1, boot_id=1, t_us=0)
    )


_AE_CARD = encode_event(CardDrawn(card=card("8S"), hand="player", index=1), "2")
_AE_SAID = encode_event(Started(), "1")
_STATE = encode(Message(content=Status(drawn=0, unacknowledged=0), seq=2, boot_id=1, t_us=1))
_BROKEN = _reference_event(1)[:-2] + b"\x01\0"

CASES = {
    "angel_eye: one byte, 50 kB/s": Case("angel_eye", FAST_LINE, _always(b"\x06")),
    "angel_eye: one byte, flood": Case("angel_eye", FLOOD, _always(b"\x06")),
    "angel_eye: starts of frames, flood": Case("angel_eye", FLOOD, _always(b"\x05")),
    "angel_eye: random, flood": Case("angel_eye", FLOOD, _random),
    "angel_eye: one card again, flood": Case("angel_eye", FLOOD, _always(_AE_CARD), _AE_SAID),
    "angel_eye: cards, flood": Case("angel_eye", FLOOD, _angel_eye_cards, _AE_SAID, True),
    "bee_tek: lines without end, flood": Case("bee_tek", FLOOD, _always(b"[Game]<Card:4S> ")),
    "bee_tek: random, 12 kB/s": Case("bee_tek", LINE_RATE, _random),
    "bee_tek: random, 2 s of 8 s": Case("bee_tek", FLOOD, _random, burst_s=2.0, quiet_s=6.0),
    "bee_tek: cards, flood": Case(
        "bee_tek", FLOOD, _always(b" [Game]<Card:4S> \r\n"), makes_sense=True
    ),
    "reference: one byte, 50 kB/s": Case("reference", FAST_LINE, _always(b"\x01")),
    "reference: random, flood": Case("reference", FLOOD, _random),
    "reference: wrong CRC, flood": Case("reference", FLOOD, _always(_BROKEN)),
    "reference: one card again, flood": Case(
        "reference", FLOOD, _always(_reference_event(1)), _reference_said()
    ),
    "reference: one state again, flood": Case(
        "reference", FLOOD, _always(_STATE), _reference_said(), is_throttled=True
    ),
    "reference: cards, flood": Case("reference", FLOOD, _reference_cards, _reference_said(), True),
}


class Floods:
    """Device servers in a process of their own; each floods its host while ``at_work``."""

    def __init__(self, case: Case, lines: int) -> None:
        servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(lines)]
        self.ports = [f"tcp://127.0.0.1:{server.getsockname()[1]}" for server in servers]
        fork = multiprocessing.get_context("fork")
        self._on = fork.Value("i", NOBODY)
        self._sent = fork.Value("q", 0)
        self._hosts = fork.Value("i", 0)
        self._process = fork.Process(target=self._run, args=(case, servers), daemon=True)
        self._process.start()
        for server in servers:
            server.close()

    @contextmanager
    def at_work(self, line: int) -> Iterator[None]:
        """This line, or all of them, are flooded while this is entered."""
        self._on.value = line
        try:
            yield
        finally:
            self._on.value = NOBODY

    @property
    def sent(self) -> int:
        """Bytes that the kernel took so far."""
        return int(self._sent.value)

    @property
    def hosts(self) -> int:
        """How many connections there were so far."""
        return int(self._hosts.value)

    def end(self) -> None:
        """Nobody is served any more."""
        self._process.terminate()
        self._process.join()

    def _run(self, case: Case, servers: list[socket.socket]) -> None:
        os.nice(10)  # it takes no processor's time from the daemon
        for at, server in enumerate(servers):
            threading.Thread(target=self._serve, args=(case, at, server), daemon=True).start()
        threading.Event().wait()

    def _serve(self, case: Case, line: int, server: socket.socket) -> None:
        while True:
            connection, _ = server.accept()
            with self._hosts.get_lock():
                self._hosts.value += 1
            with connection, suppress(OSError):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * PIECE)
                connection.sendall(case.first)
                self._send(case, line, connection)

    def _send(self, case: Case, line: int, connection: socket.socket) -> None:
        """Until the host is gone."""
        pieces = case.pieces()
        connection.setblocking(False)
        waiting, due = b"", time.monotonic()
        while True:
            is_on = self._on.value in (line, ALL)
            late = is_on and time.monotonic() >= due
            readable, writable, _ = select.select([connection], [connection] * late, [], 0.005)
            if readable and not connection.recv(PIECE):
                return
            if not is_on:
                due = time.monotonic()
            if writable:
                waiting = waiting or next(pieces)
                sent = connection.send(waiting)
                waiting = waiting[sent:]
                with self._sent.get_lock():
                    self._sent.value += sent
                due += 0 if case.rate == FLOOD else sent / case.rate


class Tap:
    """The line of a reference shoe, passed on both ways.

    ``drawn`` has when each card was drawn, and the seconds until it was stored.
    """

    def __init__(self, shoe: str) -> None:
        self.drawn: list[tuple[float, float]] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = f"tcp://127.0.0.1:{self._server.getsockname()[1]}"
        self._shoe = os.open(shoe, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self._shoe)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        host, _ = self._server.accept()
        host.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        from_shoe, from_host = Splitter(), Splitter()
        waiting: dict[int, float] = {}
        with suppress(OSError):
            while True:
                ready, _, _ = select.select([self._shoe, host.fileno()], [], [])
                if self._shoe in ready:
                    data = os.read(self._shoe, PIECE)
                    cards = [
                        seq for seq, what in _frames(from_shoe, data) if isinstance(what, CardDrawn)
                    ]
                    waiting |= dict.fromkeys(cards, time.monotonic())
                    host.sendall(data)
                if host.fileno() in ready:
                    data = host.recv(PIECE)
                    now = time.monotonic()
                    if not data:
                        return
                    os.write(self._shoe, data)
                    for _, what in _frames(from_host, data):
                        if isinstance(what, Acknowledge):
                            stored = [seq for seq in waiting if seq <= what.through]
                            drawn = [waiting.pop(seq) for seq in stored]
                            self.drawn += [(at, now - at) for at in drawn]

    def end(self) -> None:
        """The shoe is unplugged."""
        self._server.close()
        os.close(self._shoe)


def _frames(splitter: Splitter, data: bytes) -> Iterator[tuple[int, object]]:
    for stuffed, _, _, _, why in splitter.feed(data):
        if why is None:
            with suppress(FrameError):
                _, what, seq, _, _ = read(stuffed)
                yield seq, what
