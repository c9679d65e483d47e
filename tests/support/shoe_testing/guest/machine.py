"""QEMU with the guest in it: booted once, called by many tests, killed at the end.

In: a kernel. Out: calls of functions in the guest, its console, its serial lines.
Must not know: what is called, shoes.

The guest sees the host's files read-only, writes into memory, and has one folder with the host. It
reaches servers of the host's loopback at ``HOST``.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from io import BufferedRWPair
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar, cast

from shoe_testing.guest.files import files_of_guest
from shoe_testing.guest.kernel import BUSYBOX, Kernel, kept_guest
from shoe_testing.paths import ROOT

P = ParamSpec("P")
T = TypeVar("T")

HOST = "10.0.2.2"
"""The host's loopback, as the guest sees it."""

LIMIT_VARIABLE = "SHOE_CTL_KERNEL_LIMIT_S"
"""Seconds after which the guest is killed, however far the tests are."""

LIMIT_S = 240.0
"""Ten times what it needs on two idle cores."""

CALL_LIMIT_S = 60.0
"""How long one call may take. The guest that takes longer hangs, and is killed."""

CONSOLE_LINES = 60
"""The last lines of the console that a failure shows."""

QEMU = "qemu-system-x86_64"
PROGRAMS: Final = {
    QEMU: "qemu-system-x86", "cpio": "cpio", "modinfo": "kmod", "dpkg-deb": "dpkg",
    str(BUSYBOX): "busybox-static", "udevadm": "udev", "systemd-sysusers": "systemd",
}  # fmt: skip
"""Programs that a run needs, with Debian's packages of them."""

SERIAL_LINE, USB_ADAPTER = "ttyS1", "ttyUSB0"
"""The guest's 8250, and its FTDI adapter: it is plugged in while somebody is at its far end."""

ADAPTER_NAME, LINE_NAME = "SH-0043", "SH-0044"

SITE_RULES = f"""\
SUBSYSTEM=="usb", ENV{{DEVTYPE}}=="usb_device", ATTR{{idVendor}}=="0403", ENV{{CARD_SHOE}}="{ADAPTER_NAME}"
SUBSYSTEM=="tty", KERNEL=="{SERIAL_LINE}", ENV{{CARD_SHOE}}="{LINE_NAME}"
"""  # noqa: E501 - as a site writes them

_READ = 65536
_XHCI = "xhci"
_NO_ARCHIVE = bytes(512)
_FAST = 1 << 40  # bytes a second
_SOCKETS = ("monitor", SERIAL_LINE, USB_ADAPTER, "agent")
"""QEMU makes them in this order: once it takes the agent's line, all are there."""


class GuestFailed(Exception):
    """A call failed in the guest, or the guest itself; with what it said."""


def missing_programs() -> list[str]:
    """The packages that a run needs and this host does not have."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    return [package for name, package in PROGRAMS.items() if shutil.which(name, path=path) is None]


class Monitor:
    """QEMU's monitor, as its protocol has it."""

    def __init__(self, file: BufferedRWPair) -> None:
        self._file = file
        file.readline()  # a greeting
        self.execute("qmp_capabilities")

    def execute(self, command: str, **arguments: Any) -> Any:
        """Execute a command; return its answer."""
        words = {"execute": command, "arguments": arguments}
        self._file.write(json.dumps(words).encode() + b"\n")
        self._file.flush()
        while line := self._file.readline():
            answer = json.loads(line)
            if "event" not in answer:
                assert "return" in answer, answer
                return answer["return"]
        raise GuestFailed(f"QEMU ended at {command}")


@dataclass(slots=True)
class Machine:
    """A running guest. ``folder`` is what it shares with the host."""

    process: subprocess.Popen[bytes]
    folder: Path
    line: socket.socket
    started_s: float
    limit_s: float
    calls: int = 0
    made_s: float = 0.0
    ready_s: float = 0.0
    uptime_s: float = 0.0
    unread: bytes = field(default=b"")

    @property
    def left_s(self) -> float:
        """Seconds until it is killed."""
        return self.started_s + self.limit_s - time.monotonic()

    @property
    def taken_s(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self.started_s

    def costs(self) -> str:
        """What it took so far: seconds, and seconds of a core."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        cpu_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        made = f"booted and kept in {self.made_s:.1f} s, then " if self.made_s else ""
        return (
            f"{made}ready after {self.ready_s:.1f} s, {self.taken_s:.1f} s in all, "
            f"{cpu_s:.1f} s of a core"
        )

    def console(self) -> str:
        """The last lines of its console."""
        text = (self.folder / "console.log").read_text("utf-8", "replace")
        return "\n".join(text.splitlines()[-CONSOLE_LINES:])

    @contextmanager
    def monitor(self) -> Iterator[Monitor]:
        """Connect to QEMU's monitor."""
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(self.left_s)
            line.connect(str(self.folder / "monitor"))
            with line.makefile("rwb") as file:
                yield Monitor(file)

    def send_break(self) -> None:
        """Let the far end of the 8250 send a break."""
        with self.monitor() as monitor:
            monitor.execute("chardev-send-break", id=SERIAL_LINE)

    def keep(self, path: Path) -> None:
        """Stop the guest, and keep it as it is now in a file."""
        unfinished = path.with_suffix(".unfinished")
        with self.monitor() as monitor:
            monitor.execute("stop")
            monitor.execute("migrate-set-parameters", **{"max-bandwidth": _FAST})
            monitor.execute("migrate", uri=f"exec:cat >{shlex.quote(str(unfinished))}")
            while (status := monitor.execute("query-migrate"))["status"] != "completed":
                if status["status"] == "failed":
                    raise self.failed(f"it cannot be kept: {status}")
                time.sleep(0.02)
        unfinished.rename(path)

    def go_on(self, kept: Path) -> None:
        """Let a guest that was kept go on, once QEMU has it."""
        try:
            with self.monitor() as monitor:
                while monitor.execute("query-status")["status"] == "inmigrate":
                    time.sleep(0.01)
                monitor.execute("cont")
        except (GuestFailed, OSError):
            kept.unlink(missing_ok=True)
            said = (self.folder / "qemu.log").read_text("utf-8", "replace").strip()
            raise self.failed(f"{kept} does not go on, and was removed: {said}") from None

    def failed(self, why: str) -> GuestFailed:
        """Kill it; return the failure to raise."""
        self.kill()
        return GuestFailed(f"{why}; the guest was killed. Its console:\n{self.console()}")

    def kill(self) -> None:
        """End it: there is nothing in it to be saved."""
        self.process.kill()
        self.process.wait()


@contextmanager
def booted(kernel: Kernel) -> Iterator[Machine]:
    """Start a guest, and kill it on leaving. It dies with this process in any case.

    It goes on from one that was booted and kept when nothing that it depends on was different.

    Raises:
        GuestFailed: it does not come up.
    """
    limit_s = float(os.environ.get(LIMIT_VARIABLE, LIMIT_S))
    archive = _archive(kernel)
    made_s = 0.0
    with kept_guest(_key(kernel, archive)) as kept:
        if not kept.is_file():
            with _started(kernel, archive, limit_s) as first:
                _hear(first)
                first.keep(kept)
                made_s = first.taken_s
    with _started(kernel, archive, limit_s, kept) as machine:
        machine.made_s = made_s
        _meet(machine)
        yield machine


@contextmanager
def _started(
    kernel: Kernel, archive: bytes, limit_s: float, kept: Path | None = None
) -> Iterator[Machine]:
    """Start QEMU, and connect to the agent's line: on a guest that boots, or on the kept one."""
    with (
        tempfile.TemporaryDirectory(prefix="shoe-guest-") as name,
        socket.socket(socket.AF_UNIX) as line,
    ):
        folder = Path(name)
        (folder / "share").mkdir()
        (folder / "initrd").write_bytes(archive if kept is None else _NO_ARCHIVE)
        command = _command(kernel, folder)
        if kept is not None:
            command += ["-incoming", f"exec:cat {shlex.quote(str(kept))}"]
        with (folder / "qemu.log").open("wb") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        machine = Machine(process, folder, line, time.monotonic(), limit_s)
        try:
            _connect(machine)
            if kept is not None:
                machine.go_on(kept)
            yield machine
        finally:
            machine.kill()


def _key(kernel: Kernel, archive: bytes) -> str:
    """What a guest depends on until it sees its host: another one of the same key is the same."""
    version = subprocess.run([QEMU, "--version"], stdout=subprocess.PIPE, check=True).stdout
    command = " ".join(_command(kernel, Path("FOLDER"))).encode()
    return hashlib.sha256(b"\0".join((version, command, archive))).hexdigest()[:32]


def _archive(kernel: Kernel) -> bytes:
    """The archive that the guest boots; all that it has before it sees its host."""
    path = os.pathsep.join((str(ROOT / "tests" / "support"), str(ROOT)))
    here = Path(__file__).parent
    environment = {
        "CHECKOUT": str(ROOT),
        "GUEST": str(here),
        "PYTHON": sys.executable,
        "PYTHONPATH": path,
    }
    users, rules = ROOT / "systemd" / "shoectl.sysusers.conf", ROOT / "udev" / "70-card-shoe.rules"
    files = files_of_guest(sys.executable, path, here / "start.sh", users)
    return kernel.initrd(
        files,
        {
            "environment": "".join(
                f"export {key}={shlex.quote(value)}\n" for key, value in environment.items()
            ),
            f"files/etc/udev/rules.d/{rules.name}": rules.read_text(),
            "files/etc/udev/rules.d/60-card-shoe-site.rules": SITE_RULES,
        },
    )


def _connect(machine: Machine) -> None:
    """Connect to the agent's line."""
    path = machine.folder / "agent"
    while True:
        try:
            machine.line.connect(str(path))
            break
        except OSError:
            if machine.process.poll() is not None:
                said = (machine.folder / "qemu.log").read_text("utf-8", "replace").strip()
                raise GuestFailed(f"QEMU does not start: {said}") from None
            time.sleep(0.01)


def _meet(machine: Machine) -> None:
    """Plug in what cannot be kept, let the guest see its host, and wait until the agent serves."""
    with machine.monitor() as monitor:
        monitor.execute("device_add", driver="usb-serial", chardev=USB_ADAPTER, bus=f"{_XHCI}.0")
    word = {"time": time.time(), "random": os.urandom(64).hex()}
    machine.line.sendall(json.dumps(word).encode() + b"\n")
    machine.uptime_s = _hear(machine)
    machine.ready_s = time.monotonic() - machine.started_s
    machine.line.setblocking(False)


def _hear(machine: Machine) -> float:
    """One line of the agent: for how long its kernel has been up."""
    machine.line.settimeout(machine.left_s)
    try:
        said = machine.line.recv(_READ)
    except TimeoutError:
        raise machine.failed(f"not ready within {machine.limit_s:g} s") from None
    if not said:
        raise machine.failed("the guest ended before it was ready")
    return float(json.loads(said)["value"])


def _command(kernel: Kernel, folder: Path) -> list[str]:
    append = (
        "console=ttyS0 quiet panic=-1 mitigations=off nokaslr norandmaps no_timer_check audit=0 "
        "cryptomgr.notests random.trust_cpu=on rcupdate.rcu_expedited=1 lsm=capability "
        "init_on_alloc=0 hardened_usercopy=off cgroup_disable=memory psi=0 nowatchdog tsc=reliable "
        "usbcore.autosuspend=-1 highres=off nohz=off"
    )
    words = [
        "setpriv", "--pdeathsig", "KILL", "--",  # it ends when the tests are gone
        QEMU, "-M", "q35,accel=tcg", "-cpu", "qemu64", "-smp", "1", "-m", "1024",
        "-nodefaults", "-no-reboot", "-display", "none",
        "-kernel", str(kernel.image), "-initrd", str(folder / "initrd"), "-append", append,
        "-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap",
        "-virtfs", f"local,path={folder / 'share'},mount_tag=share,security_model=mapped-file",
        "-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile=",
        "-chardev", f"file,id=console,path={folder / 'console.log'}",
        "-device", "isa-serial,chardev=console",
    ]  # fmt: skip
    for name in _SOCKETS:
        words += ["-chardev", f"socket,id={name},path={folder / name},server=on,wait=off"]
    return [
        *words,
        "-device", f"isa-serial,chardev={SERIAL_LINE}",
        "-device", f"qemu-xhci,id={_XHCI}",
        "-device", "virtio-serial-pci", "-device", "virtserialport,chardev=agent,name=agent",
        "-mon", "chardev=monitor,mode=control",
    ]  # fmt: skip


class Call:
    """A call that runs in the guest."""

    def __init__(self, name: str, log: Path) -> None:
        self.name = name
        self._log = log
        self.pid: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.ended: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._value: Any = None
        self._answered = False
        self._error: str | None = None

    @property
    def log(self) -> str:
        """What it printed."""
        return self._log.read_text("utf-8", "replace") if self._log.exists() else ""

    def take(self, answer: dict[str, Any]) -> None:
        """One line of the agent."""
        if "pid" in answer:
            self.pid.set_result(answer["pid"])
        elif "error" in answer:
            self._error = answer["error"]
        elif "value" in answer:
            self._value = answer["value"]
            self._answered = True
        elif answer["ended"] and not self.ended.done():
            self.fail(GuestFailed(f"{self.name} was ended by signal {-answer['ended']}"))
        elif self._error is not None:
            self.fail(GuestFailed(f"{self.name} failed in the guest:\n{self._error}{self.log}"))
        elif not self._answered:
            self.fail(GuestFailed(f"{self.name} ended without an answer:\n{self.log}"))
        elif not self.ended.done():
            self.ended.set_result(self._value)

    def fail(self, error: Exception) -> None:
        """It will not end any more."""
        for future in (self.pid, self.ended):
            if not future.done():
                future.set_exception(error)
                future.exception()  # seen, also where nobody waits


class Guest:
    """The calls of one test, in its loop. Its functions are those of ``actions``, or any others."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.folder = machine.folder / "share"
        self._loop = asyncio.get_running_loop()
        self._calls: dict[int, Call] = {}

    def begin(self, function: Callable[P, T], *args: P.args, **named: P.kwargs) -> Call:
        """Begin a call in the guest."""
        assert not named, "by position only"
        name = f"{function.__module__}:{function.__qualname__}"
        self.machine.calls += 1
        number = self.machine.calls
        call = Call(name, self.folder / f"call-{number}.log")
        self._calls[number] = call
        asked = json.dumps({"call": number, "function": name, "args": args}).encode() + b"\n"
        self.machine.line.setblocking(True)  # the agent reads at once
        self.machine.line.settimeout(CALL_LIMIT_S)
        try:
            self.machine.line.sendall(asked)
        except OSError:
            raise self.machine.failed("the guest takes no calls") from None
        finally:
            self.machine.line.setblocking(False)
        return call

    async def call(self, function: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Call a function in the guest.

        Raises:
            GuestFailed: it raised, was killed, or did not return in time.
        """
        call = self.begin(function, *args, **named)
        return cast(T, await self.end_of(call))

    async def call_within(
        self, limit_s: float, function: Callable[P, T], *args: P.args, **named: P.kwargs
    ) -> T:
        """As ``call``, of a function that takes long; the guest may live so much longer."""
        self.machine.limit_s += limit_s
        call = self.begin(function, *args, **named)
        return cast(T, await self.end_of(call, limit_s))

    async def end_of(self, call: Call, limit_s: float = CALL_LIMIT_S) -> Any:
        """Wait for the end of a call; raises like ``call``."""
        limit_s = max(0.0, min(limit_s, self.machine.left_s))
        try:
            async with asyncio.timeout(limit_s):
                return await call.ended
        except TimeoutError:
            raise self.machine.failed(f"{call.name} did not end within {limit_s:.0f} s") from None

    async def serve(self) -> None:
        """Take what the agent says, until cancelled."""
        machine = self.machine
        try:
            while data := await self._loop.sock_recv(machine.line, _READ):
                *lines, machine.unread = (machine.unread + data).split(b"\n")
                for line in lines:
                    answer = json.loads(line)
                    call = self._calls.get(answer["call"])
                    if call is not None:
                        call.take(answer)
                        if "ended" in answer:
                            del self._calls[answer["call"]]
        except OSError:
            pass
        gone = self.machine.failed("the guest ended")
        for call in self._calls.values():
            call.fail(gone)

    async def interrupt(self) -> None:
        """Kill what still runs in the guest: a test that failed leaves nothing to the next one."""
        from shoe_testing.guest.actions import signalled

        for call in tuple(self._calls.values()):
            with suppress(GuestFailed):
                if call.pid.done():
                    await self.call(signalled, call.pid.result(), signal.SIGKILL)
                await self.end_of(call)


@asynccontextmanager
async def calls_to(machine: Machine) -> AsyncIterator[Guest]:
    """The calls of one test; on leaving nothing of them runs in the guest."""
    if machine.process.poll() is not None:
        raise GuestFailed("the guest was killed in an earlier test")
    guest = Guest(machine)
    serving = asyncio.create_task(guest.serve(), name="calls to the guest")
    try:
        yield guest
        await guest.interrupt()
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
