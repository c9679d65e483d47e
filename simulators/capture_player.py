"""Play a capture back at a port of its own: the same bytes, the same pauses, the same losses.

In: a capture's file, a port. Out: the port's address once it is open; how it went.
Must not know: what the bytes mean, who listens.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from firmware_proto.capture import (
    LONGEST_LINE,
    SHOE,
    Chunk,
    Entry,
    Header,
    Lost,
    Opened,
    read_entry,
    read_header,
)
from simulators.errors import PortFault, SimulatorError, WrongUsage
from simulators.ports.port import Attachment, Port, PortAt
from simulators.server import port_at, signals

LINGER_S = 1.0
"""The port stays so long after the last byte: a hang-up would take what the host has not read."""

SERIAL = "CAPTURE"
"""The serial number of a USB device that plays: a capture does not know that of its shoe."""

MOST_BYTES = 1 << 30
"""The longest capture that is played: months of a shoe. What has no end is refused there."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A capture that was read to its end once, and is held to it: none of it stays in memory.

    ``shoe_bytes`` is how many bytes the shoe sent in it.
    """

    header: Header
    shoe_bytes: int
    name: str
    file: BinaryIO
    length: int

    def entries(self) -> Iterator[Entry]:
        """All that follows the header, read again as it is asked for.

        Raises:
            simulators.errors.SimulatorError: it was changed since, or cannot be read any more.
        """
        try:
            self.file.seek(0)
            yield from _entries(_lines(self.file, self.name, self.length), self.name)
        except OSError as error:
            raise PortFault(f"cannot read {self.name}: {error.strerror}") from None


@contextlib.contextmanager
def recording(path: Path) -> Iterator[Recording]:
    """Read a capture. A last line without its end was cut off and is left out.

    What can be read only once, a pipe, is kept in an unnamed temporary file.

    Raises:
        simulators.errors.SimulatorError: it cannot be read, is too long, or is none: with the
            line's number.
    """
    name = str(path)
    with contextlib.ExitStack() as files:
        try:
            source: BinaryIO = files.enter_context(path.open("rb"))
            kept = source if source.seekable() else files.enter_context(tempfile.TemporaryFile())
            found = _read_through(source, kept, name)
        except OSError as error:
            raise PortFault(f"cannot read {path}: {error.strerror}") from None
        yield found


def _read_through(source: BinaryIO, kept: BinaryIO, name: str) -> Recording:
    """Read all lines of ``source`` into ``kept``, and return the capture."""
    length = shoe_bytes = 0

    def lines() -> Iterator[bytes]:
        nonlocal length
        for line in _lines(source, name, MOST_BYTES + 2 * LONGEST_LINE):
            length += len(line)
            if length > MOST_BYTES:
                raise WrongUsage(f"{name}: no capture has more than {MOST_BYTES >> 20} MB")
            if kept is not source:
                kept.write(line)
            yield line

    coming = lines()
    first = next(coming, None)
    if first is None:
        raise WrongUsage(f"{name} is no capture: it has no line")
    try:
        header = read_header(first.decode("utf-8", "replace"))
    except ValueError as error:
        raise WrongUsage(f"{name}: line 1: {error}") from None
    for entry in _read(coming, name):
        if isinstance(entry, Chunk) and entry.sender == SHOE:
            shoe_bytes += len(entry.data)
    return Recording(header, shoe_bytes, name, kept, length)


def _lines(file: BinaryIO, name: str, most: int) -> Iterator[bytes]:
    """Whole lines with their ends, of the first ``most`` bytes."""
    while line := file.readline(min(LONGEST_LINE, most) + 1):
        most -= len(line)
        if line.endswith(b"\n") and most >= 0:
            yield line
        elif len(line) > LONGEST_LINE:
            raise WrongUsage(f"{name}: a line of more than {LONGEST_LINE:,} bytes")
        else:
            return


def _entries(lines: Iterator[bytes], name: str) -> Iterator[Entry]:
    """Return the entries behind the header, which is passed over."""
    next(lines, None)
    return _read(lines, name)


def _read(lines: Iterator[bytes], name: str) -> Iterator[Entry]:
    for number, line in enumerate(lines, start=2):
        text = line.decode("utf-8", "replace")
        if text.strip():
            try:
                yield read_entry(text)
            except ValueError as error:
                raise WrongUsage(f"{name}: line {number}: {error}") from None


class CapturePlayer:
    """Is the port's Wire. Plays on only while a host has the port open where one had it then.

    ``speed`` 2.0 halves the pauses. ``ended`` is called once, when all was played and the host
    has gone, or has had ``LINGER_S`` to read the last of it. Where the port was lost in the
    capture the plug is pulled, and put back after as long as it took; then the host is waited for.
    ``failed`` is called instead where the capture cannot be read on.
    """

    def __init__(
        self,
        entries: Iterable[Entry],
        port: Port,
        *,
        speed: float,
        ended: Callable[[], None],
        failed: Callable[[SimulatorError], None],
    ) -> None:
        self._coming = iter(entries)
        self._failed = failed
        self._next = next(self._coming, None)
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
        """Plug the port in.

        Raises:
            simulators.errors.PortFault: the port cannot be made.
        """
        self._port.start(self)

    def stop(self) -> None:
        """Pull the plug for good."""
        self._next = None
        if self._timer is not None:
            self._timer.cancel()
        self._ended = _nothing
        self._port.close()

    def opened(self) -> None:
        """A host opened the port."""
        self._hosted = True
        if self._waits_for_host:
            self._waits_for_host = False
            at_us = 0 if self._next is None else self._next.t_us
            self._began = self._loop.time() - at_us / 1e6 / self._speed
            self._play()

    def received(self, data: bytes) -> None:
        """Bytes of the host."""
        self.ignored += len(data)

    def closed(self) -> None:
        """The host went, or the plug was pulled: a shoe goes on all the same."""
        self._hosted = False
        if self._next is None and not self._waits_for_host:
            self._end()

    def drained(self) -> None:
        """A slow host has read; what is under way it still has ``LINGER_S`` for."""

    def _play(self) -> None:
        """Let happen what is due, and come back for the next."""
        while (entry := self._next) is not None:
            due = self._began + entry.t_us / 1e6 / self._speed
            if due > self._loop.time():
                self._timer = self._loop.call_at(due, self._play)
                return
            if isinstance(entry, Opened) and not self._hosted:
                self._waits_for_host = True
                self._port.reopen()
                return
            try:
                self._next = next(self._coming, None)
            except SimulatorError as error:
                self._failed(error)
                return
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
    at: PortAt,
    *,
    speed: float,
    opened: Callable[[str, Attachment | None], None],
) -> int:
    """Play once, from when a host opens the port.

    Returns 0 at its end or after SIGTERM, 130 after SIGINT.

    Raises:
        simulators.errors.PortFault: the port cannot be made.
    """
    return asyncio.run(_play(found, at, speed, opened))


async def _play(
    found: Recording,
    at: PortAt,
    speed: float,
    opened: Callable[[str, Attachment | None], None],
) -> int:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[int] = loop.create_future()

    def ended() -> None:
        if not done.done():
            done.set_result(0)

    def failed(error: SimulatorError) -> None:
        if not done.done():
            done.set_exception(error)

    with contextlib.ExitStack() as cleanup:
        cleanup.enter_context(signals(loop, done))
        port = cleanup.enter_context(port_at(at, serial=SERIAL))
        player = CapturePlayer(found.entries(), port, speed=speed, ended=ended, failed=failed)
        cleanup.callback(player.stop)
        player.start()
        opened(port.address, port.attachment)
        return await done
