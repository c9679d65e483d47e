"""Plays a capture back at a port of its own: the same bytes, the same pauses, the same losses.

In: a capture's file, a port. Out: the port's address once it is open; how it went.
Must not know: what the bytes mean, who listens.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from firmware_proto.capture import SHOE, Chunk, Entry, Header, Lost, Opened, read_entry, read_header
from simulators.errors import PortFault, WrongUsage
from simulators.ports.port import Port, PtyAt, TcpAt
from simulators.serving import port_at, signals

LINGER_S = 1.0
"""How long the port stays after the last byte: a hang-up would take what the host has not read."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A capture as it was read."""

    header: Header
    entries: tuple[Entry, ...]

    @property
    def shoe_bytes(self) -> int:
        """How many bytes the shoe sent in it."""
        return sum(len(e.data) for e in self.entries if isinstance(e, Chunk) and e.sender == SHOE)


def recording(file: Path) -> Recording:
    """Reads a capture. A last line without its end was cut off and is left out.

    Raises:
        simulators.errors.SimulatorError: it cannot be read, or is none: with the line's number.
    """
    try:
        body = file.read_bytes()
    except OSError as error:
        raise PortFault(f"cannot read {file}: {error.strerror}") from None
    lines = body.decode("utf-8", "replace").split("\n")[:-1]
    if not lines:
        raise WrongUsage(f"{file} is no capture: it has no line")
    number = 1
    try:
        header = read_header(lines[0])
        entries = []
        for number, text in enumerate(lines[1:], start=2):  # noqa: B007 - named in the error
            if text.strip():
                entries.append(read_entry(text))
    except ValueError as error:
        raise WrongUsage(f"{file}: line {number}: {error}") from None
    return Recording(header, tuple(entries))


class Player:
    """Is the port's Wire. Plays on only while a host has the port open where one had it then.

    ``speed`` 2.0 halves the pauses. ``ended`` is called once, when all was played and the host
    has gone, or has had ``LINGER_S`` to read the last of it. Where the port was lost in the
    capture the plug is pulled, and put back after as long as it took; then the host is waited for.
    """

    def __init__(
        self, entries: tuple[Entry, ...], port: Port, *, speed: float, ended: Callable[[], None]
    ) -> None:
        self._left = deque(entries)
        self._port = port
        self._speed = speed
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._began = 0.0
        self._hosted = False
        self._waits_for_host = True
        self._timer: asyncio.TimerHandle | None = None
        self.ignored = 0
        """Bytes of the host: a capture cannot answer."""

    def start(self) -> None:
        """Plugs the port in.

        Raises:
            simulators.errors.PortFault: the port cannot be made.
        """
        self._port.start(self)

    def stop(self) -> None:
        """Pulls the plug for good."""
        self._left.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._ended = _nothing
        self._port.close()

    def opened(self) -> None:
        """A host opened the port."""
        self._hosted = True
        if self._waits_for_host:
            self._waits_for_host = False
            at_us = self._left[0].t_us if self._left else 0
            self._began = self._loop.time() - at_us / 1e6 / self._speed
            self._play()

    def received(self, data: bytes) -> None:
        """Bytes of the host."""
        self.ignored += len(data)

    def closed(self) -> None:
        """The host went, or the plug was pulled: a shoe goes on all the same."""
        self._hosted = False
        if not self._left and not self._waits_for_host:
            self._end()

    def drained(self) -> None:
        """A slow host has read; what is under way it still has ``LINGER_S`` for."""

    def _play(self) -> None:
        """Lets happen what is due, and comes back for the next."""
        while self._left:
            due = self._began + self._left[0].t_us / 1e6 / self._speed
            if due > self._loop.time():
                self._timer = self._loop.call_at(due, self._play)
                return
            entry = self._left[0]
            if isinstance(entry, Opened) and not self._hosted:
                self._waits_for_host = True
                self._port.reopen()
                return
            self._left.popleft()
            self._do(entry)
        self._timer = self._loop.call_later(LINGER_S, self._end)

    def _do(self, entry: Entry) -> None:
        if isinstance(entry, Chunk) and entry.sender == SHOE:
            self._port.write(entry.data)
        elif isinstance(entry, Lost):
            self._port.close()

    def _end(self) -> None:
        ended, self._ended = self._ended, _nothing
        ended()


def _nothing() -> None:
    """Nobody is to be told."""


def play(
    found: Recording,
    at: PtyAt | TcpAt,
    *,
    speed: float,
    opened: Callable[[str], None],
) -> int:
    """Plays once, from when a host opens the port.

    Returns 0 at its end or after SIGTERM, 130 after SIGINT.

    Raises:
        simulators.errors.PortFault: the port cannot be made.
    """
    return asyncio.run(_play(found, at, speed, opened))


async def _play(
    found: Recording,
    at: PtyAt | TcpAt,
    speed: float,
    opened: Callable[[str], None],
) -> int:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[int] = loop.create_future()

    def ended() -> None:
        if not done.done():
            done.set_result(0)

    with contextlib.ExitStack() as cleanup:
        cleanup.enter_context(signals(loop, done))
        port = cleanup.enter_context(port_at(at))
        player = Player(found.entries, port, speed=speed, ended=ended)
        cleanup.callback(player.stop)
        player.start()
        opened(port.address)
        return await done
