"""Simulated shoes by the hundred, in a process of its own, on a pty each.

In: as JSON on stdin, where the shoes lie, at what pace each draws, for how long, who listens. Out:
a line when all are dealt their first card, and as JSON which cards they dealt and how long each
took until it was *stored*: acknowledged to the shoe after the commit; and until its line was there.

A shoe draws a card every ``pace_s`` at the earliest, and only a card that it is armed for.
"""

from __future__ import annotations

import heapq
import json
import os
import resource
import select
import socket
import sys
import termios
import tty
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from firmware_proto.cards import DECKS
from simulators.shoe.build import simulated_shoe
from simulators.shoe.device import Device
from simulators.shoe.model import CardOut

FILES = 8192
FIRST_WAIT_S = 120.0
LAST_WAIT_S = 10.0


def open_pty(link: Path) -> int:
    """A pty under this link; its own end stays open, so that it never hangs up."""
    master, slave = os.openpty()
    tty.setraw(slave, termios.TCSANOW)
    os.set_blocking(master, False)
    link.symlink_to(os.ttyname(slave))
    return master


class PacedShoe:
    """A shoe and the hand that draws from it."""

    def __init__(self, port: Path, seed: int, pace_s: float, poll: Poll) -> None:
        self.fd = open_pty(port)
        self.cards: list[str] = []
        self.stored_s: list[float] = []
        self.due = float("inf")
        self.pace_s = pace_s
        self.device: Device = simulated_shoe("reference", seed=seed, device_id=f"SIM-{seed:04}")
        self._sets = seed * 100
        self._written: float | None = None
        self.drawn_at = 0.0
        self._poll = poll
        self.device.boot(perf_counter())
        self.device.host_opened()
        poll.add(self.fd, self.readable)

    def readable(self) -> None:
        """The host sent something."""
        came = perf_counter()
        self.device.receive(os.read(self.fd, 4096), came)
        if self._written is not None and not self._unstored:
            self.stored_s.append(came - self._written)
            self._written = None
        self.turn(came)

    @property
    def _unstored(self) -> int:
        unstored: int = self.device.event_log.unacknowledged  # type: ignore[attr-defined]
        return unstored

    def turn(self, now: float) -> None:
        """Draw if it is time, and send what is to be sent."""
        device, drawn = self.device, False
        if now >= self.due and device.lamp is not None and self._written is None:
            out = device.draw(now)
            if isinstance(out, CardOut):
                self.cards.append(out.card.code)
                self.due = max(self.due + self.pace_s, now)
                drawn = True
        elif now >= self.due and device.lamp is None and not device.shoe.remaining:
            self._sets += 1
            device.load(DECKS["french52"], 8, self._sets, now)
        device.tick(now)
        if data := device.outgoing():
            if drawn:
                self._written = self.drawn_at = perf_counter()
            os.write(self.fd, data)
        draws = self.due if self.due > now else float("inf")  # else once the host arms the shoe
        self._poll.at(min(draws, device.next_deadline or now + 1.0), self)


class Poll:
    """What is waited for: descriptors and times."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._readers: dict[int, Callable[[], None]] = {}
        self._times: list[tuple[float, int, PacedShoe]] = []
        self._next: dict[PacedShoe, float] = {}
        self._count = 0

    def add(self, fd: int, reader: Callable[[], None]) -> None:
        """Call ``reader`` whenever there is something to read."""
        self._readers[fd] = reader
        self._poll.register(fd, select.EPOLLIN)

    def at(self, when: float, shoe: PacedShoe) -> None:
        """Give the shoe its turn then, and not at the time named before."""
        if self._next.get(shoe) != when:
            self._next[shoe] = when
            self._count += 1
            heapq.heappush(self._times, (when, self._count, shoe))

    def run_until(self, end: float, done: Callable[[], bool] = lambda: False) -> None:
        """Serve all until then, or until it is ``done``."""
        while (now := perf_counter()) < end and not done():
            while self._times and self._times[0][0] <= now:
                when, _, shoe = heapq.heappop(self._times)
                if self._next.get(shoe) == when:
                    del self._next[shoe]
                    shoe.turn(now)
            due = min(end, self._times[0][0] if self._times else end)
            for fd, _ in self._poll.poll(max(0.0, due - perf_counter())):
                self._readers[fd]()


class Floor:
    """The least that anybody can do, in another process: read, commit, answer, write a line."""

    def __init__(self, port: Path, pace_s: float, poll: Poll) -> None:
        self.fd = open_pty(port)
        self.due = float("inf")
        self.stored_s: list[float] = []
        self.line_s: list[float] = []
        self._pace_s = pace_s
        self._written = 0.0
        self._poll = poll
        poll.add(self.fd, self.readable)

    def readable(self) -> None:
        """It is stored."""
        os.read(self.fd, 4096)
        self.stored_s.append(perf_counter() - self._written)

    def line(self) -> None:
        """The line is there."""
        self.line_s.append(perf_counter() - self._written)

    def turn(self, now: float) -> None:
        """Send what a card takes, if it is time."""
        if now >= self.due:
            self._written = perf_counter()
            os.write(self.fd, bytes(31))
            self.due = max(self.due + self._pace_s, now)
        self._poll.at(self.due, self)  # type: ignore[arg-type]


def subscribe(path: str, asked: bytes, poll: Poll, line: Callable[[bytes], None]) -> socket.socket:
    """Call ``line`` with each line that comes from this socket."""
    there = socket.socket(socket.AF_UNIX)
    there.connect(path)
    there.sendall(asked)
    rest = b""

    def readable() -> None:
        nonlocal rest
        *lines, rest = (rest + there.recv(1 << 16)).split(b"\n")
        for one in lines:
            line(one)

    poll.add(there.fileno(), readable)
    return there


def main() -> None:
    """Serve until the time is over; talk with whoever started this over stdin and stdout."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, most), most))
    asked: dict[str, Any] = json.loads(sys.stdin.readline())
    poll = Poll()
    shoes = [
        PacedShoe(Path(port), seed, asked["pace_s"], poll)
        for seed, port in enumerate(asked["ports"], 1)
    ]
    floor = Floor(Path(asked["floor_port"]), asked["pace_s"], poll) if "floor_port" in asked else None
    print("ready", flush=True)
    begin = json.loads(sys.stdin.readline())
    lines_s: list[float] = []

    def dealt(line: bytes) -> None:
        if b'"type":"round.card_dealt"' in line:
            shoe = shoes[0]
            lines_s.append(perf_counter() - shoe.drawn_at)

    keep = []
    if "socket" in begin:
        request = json.dumps({"request": "events"}).encode() + b"\n"
        keep.append(subscribe(begin["socket"], request, poll, dealt))
    if floor is not None:
        keep.append(subscribe(begin["floor_socket"], b"", poll, lambda _: floor.line()))
    poll.run_until(
        perf_counter() + FIRST_WAIT_S,
        lambda: all(shoe.device.lamp is not None for shoe in shoes),
    )
    for phase, warm in ((begin["warm_s"], True), (begin["for_s"], False)):
        now = perf_counter()
        if warm:
            for number, shoe in enumerate(shoes):
                shoe.due = now + number / len(shoes) * shoe.pace_s
                poll.at(shoe.due, shoe)
            if floor is not None:
                floor.due = now + asked["pace_s"] / 2
                poll.at(floor.due, floor)  # type: ignore[arg-type]
        else:
            for shoe in shoes:
                shoe.stored_s.clear()
            lines_s.clear()
            if floor is not None:
                floor.stored_s.clear()
                floor.line_s.clear()
            before = sum(len(shoe.cards) for shoe in shoes)
            print(json.dumps({"began": True}), flush=True)
        poll.run_until(now + phase)
    spent = perf_counter() - now
    print(json.dumps({"ended": True}), flush=True)
    cards = sum(len(shoe.cards) for shoe in shoes) - before
    for shoe in shoes:
        shoe.due = float("inf")
    if floor is not None:
        floor.due = float("inf")
    poll.run_until(
        perf_counter() + LAST_WAIT_S, lambda: all(shoe._written is None for shoe in shoes)
    )
    found: dict[str, Any] = {
        "cards": cards,
        "seconds": spent,
        "stored_s": [each for shoe in shoes for each in shoe.stored_s],
        "line_s": lines_s,
        "dealt": [shoe.cards for shoe in shoes],
        "unstored": sum(shoe._written is not None for shoe in shoes),
    }
    if floor is not None:
        found |= {"floor_stored_s": floor.stored_s, "floor_line_s": floor.line_s}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
