"""What a doctor is shown: shoes and ends of ports in every condition, and who else has them.

In: ports, profiles, keys, rates. Out: ends in this loop, processes, diagnoses.
Must not know: how a port is tried.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import termios
import tty
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from firmware_proto.angel_eye.frames import encode_event
from firmware_proto.events import Standby
from firmware_proto.profiles import profile as profile_named
from firmware_proto.profiles import with_keys
from firmware_proto.reference.mac import ShoeKeys
from shoe_ctl.clock import SystemClock
from shoe_ctl.link.address import parse_address
from shoe_ctl.link.discovery import System
from shoe_ctl.link.doctor import Diagnosis, Doctor, ProbeTarget
from simulators.faults import CleanLine, Line
from simulators.ports.port import Port
from simulators.rig import Rig
from simulators.shoe.build import simulated_shoe

DevicePlay = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]


@asynccontextmanager
async def device_server(play: DevicePlay) -> AsyncIterator[str]:
    """A port that plays this to each host that connects."""
    playing: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        playing.add(task)
        try:
            await play(reader, writer)
        except (asyncio.CancelledError, ConnectionError):
            pass
        finally:
            playing.discard(task)
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in playing:
            task.cancel()
        await server.wait_closed()


BRIEFLY_S = 0.4
PATIENTLY_S = 20.0
KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))
EVENTS = {
    "angel_eye": encode_event(Standby(), "5"),
    "bee_tek": b" [Game]<Card:4S> \r\n",
}


class Heard(CleanLine):
    """A clean line that keeps what went over it."""

    def __init__(self) -> None:
        super().__init__()
        self.data = b""

    def put(self, data: bytes, t: float) -> None:
        self.data += data
        super().put(data, t)


@contextmanager
def shoe(
    port: Port,
    profile: str = "reference",
    *,
    keys: Mapping[int, bytes] | None = None,
    to_shoe: Line | None = None,
    to_host: Line | None = None,
) -> Iterator[Rig]:
    """A simulated shoe with power on this port, in this loop; nobody draws."""
    own = None if keys is None else ShoeKeys(dict(keys), lambda: os.urandom(16))
    device = simulated_shoe(profile, device_id="SH-0042", keys=own)
    rig = Rig(device, port, to_shoe=to_shoe, to_host=to_host)
    device.boot(rig.now)
    rig.start()
    try:
        yield rig
    finally:
        rig.stop()


def target(
    port: str,
    profile: str = "reference",
    *,
    keys: Mapping[str, Mapping[int, bytes]] | None = None,
    settings: Mapping[str, object] | None = None,
) -> ProbeTarget:
    chosen = profile_named(profile)
    serial = chosen.SERIAL
    if keys is not None:
        chosen = with_keys(chosen, keys, lambda: os.urandom(16))
    return ProbeTarget(
        port=parse_address(port),
        name=profile,
        profile=chosen,
        settings=settings or {},
        serial=serial,
    )


async def diagnosed(
    wanted: ProbeTarget,
    *,
    seconds: float = PATIENTLY_S,
    system: System | None = None,
    bus: object = None,
) -> Diagnosis:
    with ThreadPoolExecutor(1) as executor:
        doctor = Doctor(
            system=system or System(),
            clock=SystemClock(),
            executor=executor,
            usb=lambda: bus,
            seconds=seconds,
        )
        return await doctor.diagnose(wanted)


class Uart:
    """A shoe's end of a pty that says one thing again and again, at one rate.

    A host at another rate gets bytes of as little sense as a real line would give it.
    """

    def __init__(self, says: bytes, baud: int) -> None:
        self._says = says
        self._baud = baud
        self._end, self._host = os.openpty()
        tty.setraw(self._host)
        os.set_blocking(self._end, False)
        self.path = os.ttyname(self._host)
        os.close(self._host)
        self.heard = b""
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_soon(self._say)

    def _say(self) -> None:
        rate = termios.tcgetattr(self._end)[5]
        fits = rate == getattr(termios, f"B{self._baud}")
        said = self._says if fits else bytes((b * 7 + 129) & 0xFF for b in self._says)
        with suppress(OSError):  # nothing came, or nobody is there
            self.heard += os.read(self._end, 4096)
        with suppress(BlockingIOError):
            os.write(self._end, said)
        self._timer = self._loop.call_later(0.005, self._say)

    def close(self) -> None:
        self._timer.cancel()
        os.close(self._end)


@contextmanager
def speaking(says: bytes, baud: int) -> Iterator[Uart]:
    end = Uart(says, baud)
    try:
        yield end
    finally:
        end.close()


def reference_bytes(rig: Rig) -> bytes:
    """What this shoe says of itself when it is asked."""
    rig.device.host_opened()
    rig.device.receive(bytes.fromhex("00 07 01 81 08 90 7D C2 00"), rig.now)
    return rig.device.outgoing()


HOLD = "import os, sys; os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY); print(); sys.stdin.read()"
LOCK = HOLD.replace("print()", "import fcntl; fcntl.flock(3, fcntl.LOCK_EX); print()")


@contextmanager
def held(path: str, *words: str, how: str = HOLD) -> Iterator[int]:
    """Another process that has the port open."""
    with subprocess.Popen(
        [sys.executable, "-c", how, path, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.communicate()


def as_process(proc: Path, pid: int, name: str, *open_files: str) -> None:
    """What the kernel would list of such a process."""
    folder = proc / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "comm").write_text(f"{name}\n")
    (folder / "cmdline").write_text(f"/usr/sbin/{name}\0")
    for number, path in enumerate(open_files):
        (folder / "fd" / str(number)).symlink_to(path)


class Nobody:
    """A shoe's end that hears nothing and says nothing."""

    def opened(self) -> None: ...

    def received(self, data: bytes) -> None: ...

    def closed(self) -> None: ...

    def drained(self) -> None: ...
