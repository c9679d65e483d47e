"""A simulated shoe on a pty, in a process of its own, that takes turns with the floor.

In: as JSON on stdin, where the shoe lies, at what pace it draws, for how long, who listens. Out:
a line when it begins, and as JSON which cards it dealt and how long each took until it was
*stored*: acknowledged to the shoe after the commit; and until its line was there.

A shoe draws a card every ``pace_s`` at the earliest, and only a card that it is armed for.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import termios
import tty
from collections import deque
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from firmware_proto.cards import DECKS
from simulators.floor.poll import Poll
from simulators.shoe.build import simulated_shoe
from simulators.shoe.device import Device
from simulators.shoe.model import CardOut

FIRST_WAIT_S = 120.0
LAST_WAIT_S = 10.0
MOST_UNTOLD = 10_000
"""Cards whose lines are waited for."""

CHANGE_AFTER_S = 0.3
"""A shoe that stays locked so long behind its cutting card is changed."""

SEED = 1


def open_pty(link: Path) -> int:
    """A pty under this link; its own end stays open, so that it never hangs up."""
    master, slave = os.openpty()
    tty.setraw(slave, termios.TCSANOW)
    os.set_blocking(master, False)
    link.symlink_to(os.ttyname(slave))
    return master


class PacedShoe:
    """A shoe and the hand that draws from it."""

    def __init__(self, port: Path, pace_s: float, poll: Poll) -> None:
        self.fd = open_pty(port)
        self.cards: list[str] = []
        self.stored_s: list[float] = []
        self.due = self.wakes_at = float("inf")
        self.pace_s = pace_s
        self.device: Device = simulated_shoe("reference", seed=SEED, device_id="SIM-0001")
        self._sets = SEED
        self._written: float | None = None
        self.drawn_at: deque[float] = deque(maxlen=MOST_UNTOLD)
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
    def is_waiting(self) -> bool:
        """Whether the last card is not known to be stored."""
        return self._written is not None

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
        elif now >= self.due + CHANGE_AFTER_S and device.shoe.cutting_card_out:
            self._sets += 1
            device.load(DECKS["french52"], 8, self._sets, now)
            self.due = now
        device.tick(now)
        if data := device.outgoing():
            if drawn:
                self._written = perf_counter()
                self.drawn_at.append(self._written)
            os.write(self.fd, data)
        draws = self.due if self.due > now else self.due + CHANGE_AFTER_S
        draws = draws if draws > now else float("inf")  # else once the host arms the shoe
        self._poll.wake(self, min(draws, device.next_deadline or now + 1.0))


class Floor:
    """The least that anybody can do, in another process: read, commit, answer, write a line."""

    def __init__(self, port: Path, pace_s: float, poll: Poll) -> None:
        self.fd = open_pty(port)
        self.due = self.wakes_at = float("inf")
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
        self._poll.wake(self, self.due)


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


class Session:
    """The shoe, the floor if it is asked for, and what listens beside them."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.poll = Poll()
        pace_s = asked["pace_s"]
        self.shoe = PacedShoe(Path(asked["port"]), pace_s, self.poll)
        floor_port = asked.get("floor_port")
        self.floor = None if floor_port is None else Floor(Path(floor_port), pace_s, self.poll)
        self.lines_s: list[float] = []
        self._pace_s = pace_s
        self._open: list[socket.socket] = []

    def listen(self, begin: dict[str, Any]) -> None:
        """Subscribe to the daemon's events, and to the floor's lines."""
        if "socket" in begin:
            request = json.dumps({"request": "events"}).encode() + b"\n"
            self._open.append(subscribe(begin["socket"], request, self.poll, self._event))
        if self.floor is not None:
            floor = self.floor
            heard = subscribe(begin["floor_socket"], b"", self.poll, lambda _: floor.line())
            self._open.append(heard)

    def _event(self, line: bytes) -> None:
        if b'"type":"round.card_dealt"' in line:
            self.lines_s.append(perf_counter() - self.shoe.drawn_at.popleft())

    def warm_up(self, for_s: float) -> None:
        """Deal so long; the floor begins half a pace later."""
        end = perf_counter() + FIRST_WAIT_S
        self.poll.run(end, lambda: self.shoe.device.lamp is not None)
        now = perf_counter()
        self.shoe.due = now
        self.poll.wake(self.shoe, now)
        if self.floor is not None:
            self.floor.due = now + self._pace_s / 2
            self.poll.wake(self.floor, self.floor.due)
        self.poll.run(now + for_s, lambda: False)

    def measure(self, for_s: float) -> dict[str, Any]:
        """Deal so long; what was found in that time."""
        self.shoe.stored_s.clear()
        self.lines_s.clear()
        if self.floor is not None:
            self.floor.stored_s.clear()
            self.floor.line_s.clear()
        before, began = len(self.shoe.cards), perf_counter()
        self.poll.run(began + for_s, lambda: False)
        return {"cards": len(self.shoe.cards) - before, "seconds": perf_counter() - began}

    def end(self) -> dict[str, Any]:
        """Wait for what is under way; all cards that were dealt, and all times."""
        self.shoe.due = float("inf")
        if self.floor is not None:
            self.floor.due = float("inf")
        end = perf_counter() + LAST_WAIT_S
        self.poll.run(end, lambda: not self.shoe.is_waiting)
        found: dict[str, Any] = {
            "stored_s": self.shoe.stored_s,
            "line_s": self.lines_s,
            "dealt": self.shoe.cards,
        }
        if self.floor is not None:
            found["floor_stored_s"] = self.floor.stored_s
            found["floor_line_s"] = self.floor.line_s
        return found


def main() -> None:
    """Serve until the time is over; talk with whoever started this over stdin and stdout."""
    session = Session(json.loads(sys.stdin.readline()))
    print("ready", flush=True)
    begin = json.loads(sys.stdin.readline())
    session.listen(begin)
    session.warm_up(begin["warm_s"])
    print("began", flush=True)
    found = session.measure(begin["for_s"])
    print("ended", flush=True)
    print(json.dumps(found | session.end()), flush=True)


if __name__ == "__main__":
    main()
