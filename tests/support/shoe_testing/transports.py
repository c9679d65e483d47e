"""Far ends of a link: ptys, TCP and USB used alike, clocks by hand, owners, other programs' ptys.

In: a kind of transport. Out: its far end, the opener of the host's end, what its owner was told.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import termios
import threading
import time
import tty
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import serial  # type: ignore[import-untyped]

from firmware_proto.commands import AnyCommand, Armed, DesiredShoeState, Query
from firmware_proto.events import Discarded, Error, ShoeEvent, Standby
from firmware_proto.profiles import SerialSettings
from firmware_proto.session import Capabilities, DeviceSession, HostSession, ReceivedEvent, Resume
from shoe_ctl.clock import SystemClock, Timer
from shoe_ctl.link.address import parse_address
from shoe_ctl.link.connection import Connection, Reception
from shoe_ctl.link.hotplug import Arrivals, nothing_arrives
from shoe_ctl.link.reconnect import Supervisor
from shoe_ctl.link.transport import Loss, Opener, Transport, TransportLost, failed
from shoe_ctl.link.transport_factory import opener
from shoe_testing.simulated_usb import UsbBus, UsbPort
from simulators.ports.port import Port
from simulators.ports.pty import PtyPort
from simulators.ports.tcp import TcpPort

PTY_PATIENCE_S = 30.0
MOST_AT_ONCE = 256


class Pty:
    """A pty, and the path of its host's end."""

    def __init__(self) -> None:
        self._end, host = os.openpty()
        self.path = os.ttyname(host)
        self.made = os.fstat(host).st_ctime_ns
        self._settings = termios.tcgetattr(host)
        os.close(host)
        os.set_blocking(self._end, False)
        self._open = True

    def close(self) -> None:
        if self._open:
            self._open = False
            os.close(self._end)

    @property
    def untouched(self) -> bool:
        """Nobody wrote into it, nobody set it otherwise."""
        try:
            written = os.read(self._end, 4096)
        except OSError:  # nothing is there, and nobody has the other end open
            written = b""
        return not written and self.now_set() == self._settings

    def now_set(self) -> list[object]:
        host = os.open(self.path, os.O_RDWR | os.O_NOCTTY)
        try:
            return termios.tcgetattr(host)
        finally:
            os.close(host)


@contextmanager
def another_with_the_number_of(path: str, made: int) -> Iterator[Pty]:
    """Another program's pty that was given the number of one that is gone, made at ``made``."""
    others: list[Pty] = []
    until_s = time.monotonic() + PTY_PATIENCE_S
    try:
        while time.monotonic() < until_s:
            other = Pty()
            if other.path == path and other.made == made:  # within one tick of the kernel's clock
                other.close()
                continue
            others.append(other)
            if other.path == path:
                yield other
                return
            while len(others) > MOST_AT_ONCE:  # programs beside this one make ptys, too
                others.pop(0).close()
        pytest.fail(f"{path} was not given out again")
    finally:
        for other in others:
            other.close()


AT_HOME = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(os.open(sys.argv[1], os.O_RDWR), termios.TIOCSCTTY, 0)
print(flush=True)
input()
"""


@contextmanager
def somebody_at(path: str) -> Iterator[int]:
    """A session whose terminal this is, as a shell has one."""
    with subprocess.Popen(
        [sys.executable, "-c", AT_HOME, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.communicate(b"\n")


CAPABILITIES = Capabilities(
    arm=True, replay=True, judges=False, names_hands=False, decks=("french52",)
)


class ShoeEnd:
    """The shoe's end of a pty, which the host finds under a link, as udev would make it."""

    def __init__(self, link: Path) -> None:
        self.link = link
        self._fd: int | None = None
        self.plug_in()

    @property
    def fd(self) -> int:
        assert self._fd is not None
        return self._fd

    def plug_in(self) -> None:
        """A new pty under the same link."""
        self._fd, host = os.openpty()
        tty.setraw(host)
        os.set_blocking(self._fd, False)
        self.link.unlink(missing_ok=True)
        self.link.symlink_to(os.ttyname(host))
        os.close(host)

    def unplug(self) -> None:
        """The link leads nowhere from then on: another's pty may soon have this one's number."""
        if self._fd is not None:
            self.link.unlink()
            self.link.symlink_to("/dev/pts/none")
            os.close(self._fd)
            self._fd = None

    def say(self, data: bytes) -> None:
        assert os.write(self.fd, data) == len(data)

    async def hear(self, size: int) -> bytes:
        """The next ``size`` bytes that the host sends."""
        heard = b""
        async with asyncio.timeout(10):
            while len(heard) < size:
                try:
                    heard += os.read(self.fd, size - len(heard))
                except OSError:  # nothing yet, or the host has not opened its end yet
                    await asyncio.sleep(0.001)
        return heard


class HangingPorts:
    """Serial ports whose closing hangs until ``sent``, as drivers wait until the rest is sent.

    ``closing`` counts the closings that began, ``closed`` those that ended.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent = threading.Event()
        self.closing = self.closed = 0
        real_close = serial.Serial.close

        def close(port: serial.Serial) -> None:
            if port.is_open:
                assert threading.current_thread() is not threading.main_thread(), "the loop waits"
                self.closing += 1
                assert self.sent.wait(30)
                self.closed += 1
            real_close(port)

        monkeypatch.setattr(serial.Serial, "close", close)


class HandClock:
    """A clock that stands until a test moves it."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.asked: list[float] = []
        self._timers: list[HandTimer] = []

    def monotonic(self) -> float:
        return self.now

    def wall_us(self) -> int:
        return round(self.now * 1_000_000)

    def processor_s(self) -> float:
        return 0.0

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> HandTimer:
        self.asked.append(delay_s)
        timer = HandTimer(self, self.now + delay_s, callback)
        if delay_s <= 0:
            asyncio.get_running_loop().call_soon(timer.run)
        else:
            self._timers.append(timer)
        return timer

    def call_when(self, wall_us: int, callback: Callable[[], None]) -> HandTimer:
        return self.call_later((wall_us - self.wall_us()) / 1_000_000, callback)

    @property
    def waiting(self) -> bool:
        return bool(self._timers)

    def forget(self, timer: HandTimer) -> None:
        if timer in self._timers:
            self._timers.remove(timer)

    def advance(self, seconds: float) -> None:
        self.now += seconds
        for timer in [t for t in self._timers if t.due <= self.now]:
            self.forget(timer)
            timer.run()

    async def pass_next(self) -> None:
        """Waits until somebody waits for the time, then moves to that moment."""
        await until(lambda: self.waiting)
        self.advance(min(t.due for t in self._timers) - self.now)


class QuickClock(SystemClock):
    """The real clock, but so many times as fast: what waits for seconds waits for a part of them.

    Only what is given this clock is quick. A shoe that keeps its own time is not.
    """

    def __init__(self, times: int) -> None:
        started_ns = time.time_ns()
        super().__init__(
            wall_ns=lambda: started_ns + (time.time_ns() - started_ns) * times,
            processor_s=lambda: time.thread_time() * times,
        )
        self._times = times

    def monotonic(self) -> float:
        return super().monotonic() * self._times

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        return super().call_later(delay_s / self._times, callback)


class HandTimer:
    def __init__(self, clock: HandClock, due: float, callback: Callable[[], None]) -> None:
        self.due = due
        self._clock = clock
        self._callback: Callable[[], None] | None = callback

    def run(self) -> None:
        if self._callback is not None:
            self._callback()

    def cancel(self) -> None:
        self._callback = None
        self._clock.forget(self)


class LineSession:
    """A host session of lines: ``c`` a stand-by, ``!`` raises, anything else is discarded; ``h``
    is history.

    It greets with the number it resumes from, acknowledges ``+N``, asserts ``*N`` (0: locked), asks
    ``?ID WHAT``.
    With a patience, silence for so many seconds is an error event.
    """

    capabilities = CAPABILITIES

    def __init__(self, resume: Resume | None, patience_s: float | None) -> None:
        self._out = bytearray(b"?%d\n" % (resume.seq if resume else 0))
        self._seq = resume.seq if resume else 0
        self._line = b""
        self._offset = 0
        self._patience_s = patience_s
        self._deadline: float | None = None

    def receive(self, data: bytes, t: float) -> list[ReceivedEvent]:
        if self._patience_s is not None:
            self._deadline = t + self._patience_s
        heard = []
        for byte in data:
            self._line += bytes([byte])
            if byte == ord("\n"):
                heard.append(self._say(self._line.rstrip(b"\n")))
        return heard

    def _say(self, line: bytes) -> ReceivedEvent:
        if line == b"!":
            raise ZeroDivisionError("as never happens")
        first, self._offset, self._line = self._offset, self._offset + len(line) + 1, b""
        history = True if line == b"h" else None
        event: ShoeEvent = (
            Standby() if line == b"c" else Discarded(reason=repr(line), history=history)
        )
        self._seq += 1
        return ReceivedEvent(event, self._seq, first, self._offset)

    def stored(self, seq: int | str) -> None:
        self._out += b"+%d\n" % int(seq)

    def set_desired_state(self, state: DesiredShoeState) -> None:
        self._out += b"*%d\n" % (state.number if isinstance(state, Armed) else 0)

    def command(self, command: AnyCommand) -> None:
        if not isinstance(command, Query):
            raise ValueError(f"a shoe of lines has no {type(command).__name__}")
        self._out += f"?{command.command_id} {command.what}\n".encode()

    def tick(self, t: float) -> list[ReceivedEvent]:  # noqa: ARG002 - as the protocol has it
        self._deadline = None
        return [ReceivedEvent(Error(code="silence"), None, self._offset, self._offset)]

    def end(self) -> list[ReceivedEvent]:
        return []

    @property
    def next_deadline(self) -> float | None:
        return self._deadline

    def outgoing(self) -> bytes:
        out, self._out = bytes(self._out), bytearray()
        return out


class LineProfile:
    """The profile of ``LineSession``; remembers what each session was to resume from."""

    CAPABILITIES = CAPABILITIES
    SERIAL = SerialSettings(baud=115200)

    def __init__(self) -> None:
        self.resumed_from: list[Resume | None] = []

    def host_session(self, *, resume: Resume | None, settings: Mapping[str, object]) -> HostSession:
        unknown = set(settings) - {"patience_s"}
        if unknown:
            raise ValueError(f"unknown setting: {unknown}")
        self.resumed_from.append(resume)
        patience_s = settings.get("patience_s")
        return LineSession(resume, patience_s if isinstance(patience_s, float) else None)

    def device_session(self, *, settings: Mapping[str, object]) -> DeviceSession:
        raise AssertionError(f"these tests play the shoe themselves, {settings} or not")


class ScriptedTransport:
    """A transport whose other end is a list of chunks; at its end the line is lost."""

    def __init__(self, chunks: list[bytes]) -> None:
        self.chunks = list(chunks)
        self.reads = 0
        self.written = b""
        self.closed = False
        self.lost: Loss | None = None
        self.dropped = 0
        self.hold = False

    def read(self) -> bytes:
        self.reads += 1
        if self.hold and not self.chunks:
            return b""
        if not self.chunks:
            self.lost = failed("script", "over")
            raise TransportLost(self.lost)
        return self.chunks.pop(0)

    def when_readable(self, wake: Callable[[], None] | None) -> None:
        if wake is not None and (self.chunks or not self.hold):
            asyncio.get_running_loop().call_soon(wake)

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True


async def until(true: Callable[[], bool], timeout_s: float = 10.0) -> None:
    """Lets the loop run until it is so."""
    async with asyncio.timeout(timeout_s):
        while not true():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0.001)


class LinkOwner:
    """An owner of a link: notes what it is told, acknowledges what it is given."""

    def __init__(
        self,
        opener: Opener,
        profile: LineProfile | None = None,
        *,
        arrivals: Arrivals = nothing_arrives,
    ) -> None:
        self.clock = HandClock()
        self.profile = profile or LineProfile()
        self.told: list[str] = []
        self.last = 0
        self.inside = 0
        self.go = asyncio.Event()
        self.go.set()
        self.link = Supervisor(
            name="bac-07",
            profile=self.profile,
            settings={},
            opener=opener,
            clock=self.clock,
            resume=lambda: Resume("SH-1", self.last) if self.last else None,
            on_up=self.on_up,
            on_lost=self.on_lost,
            on_reception=self.on_reception,
            first_connection=41,
            arrivals=arrivals,
        )

    async def _note(self, what: str) -> None:
        assert self.inside == 0, "callbacks overlap"
        self.inside += 1
        self.told.append(what)
        try:
            await asyncio.sleep(0)
            await self.go.wait()
        finally:
            self.inside -= 1

    async def on_up(self, connection: Connection) -> None:
        await self._note(f"up {connection.number}")

    async def on_lost(self, reason: Loss) -> None:
        await self._note(f"lost {reason}")

    async def on_reception(self, reception: Reception) -> None:
        await self._note(f"{reception.connection}@{reception.offset} {reception.chunk!r}")
        if reception.heard:
            self.last = int(str(reception.heard[-1].seq))
            assert self.link.connection is not None
            self.link.connection.stored(self.last)


async def end_link(running: asyncio.Task[None]) -> None:
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


TRANSPORT_KINDS = ("pty", "tcp", "usb")
TRANSPORT_SETTINGS = SerialSettings(baud=115200)


def port_of(kind: str, folder: Path, bus: Any) -> Port:
    """A port of this kind, not yet plugged in."""
    if kind == "pty":
        return PtyPort(str(folder / "SH-0042"))
    return TcpPort("127.0.0.1", 0) if kind == "tcp" else UsbPort(bus, "SH-0042")


class TransportEnd:
    """The shoe's end: is the port's Wire, keeps what it hears, counts the connections."""

    def __init__(self, kind: str, folder: Path, executor: ThreadPoolExecutor) -> None:
        self.bus = UsbBus()
        self.port = port_of(kind, folder, self.bus)
        self.heard = bytearray()
        self.connections = 0
        self.connected = False
        self.port.start(self)
        self.name = parse_address(self.port.address)
        self.open: Opener = opener(self.name, TRANSPORT_SETTINGS, executor, lambda: self.bus)

    def opened(self) -> None:
        self.connections += 1
        self.connected = True

    def received(self, data: bytes) -> None:
        self.heard += data

    def closed(self) -> None:
        self.connected = False

    def drained(self) -> None:
        pass

    async def connect(self) -> Transport:
        """An open transport whose shoe has seen it open."""
        before = self.connections
        transport = await self.open()
        await until(lambda: self.connections > before)
        return transport

    async def hear(self, size: int) -> bytes:
        """All that the host sent, once it is so much."""
        await until(lambda: len(self.heard) >= size)
        return bytes(self.heard)


@asynccontextmanager
async def plugged_in(kind: str, folder: Path) -> AsyncIterator[TransportEnd]:
    with ThreadPoolExecutor(1) as executor:
        end = TransportEnd(kind, folder, executor)
        try:
            yield end
        finally:
            end.port.close()


async def is_readable(transport: Transport) -> None:
    """Waits until the transport says that there is something to read, or a loss."""
    woken = asyncio.Event()
    transport.when_readable(woken.set)
    try:
        async with asyncio.timeout(10):
            await woken.wait()
    finally:
        transport.when_readable(None)


async def read_bytes(transport: Transport, size: int) -> bytes:
    """Reads until so many bytes are there."""
    data = b""
    while len(data) < size:
        await is_readable(transport)
        data += transport.read()
    return data
