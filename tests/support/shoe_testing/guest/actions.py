"""What a test calls in the guest: attach, what udev and the kernel show, programs.

Arguments and results are plain JSON.
"""

from __future__ import annotations

import asyncio
import grp
import os
import pwd
import re
import socket
import stat
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

VHCI = Path("/sys/devices/platform/vhci_hcd.0")
USB_DEVICES = Path("/sys/bus/usb/devices")

ATTACHED_WITHIN_S = 20
"""How long the kernel may take to enumerate a device, and udev to name it."""

KERNEL_LINES = 20
"""The last lines of the kernel that a failure shows."""

_T = TypeVar("_T", bound=Callable[..., Any])

_FREE = 4
_IMPORT = struct.Struct(">HHI32s")
_IMPORTED = struct.Struct(">HHI256s32sIIIHHHBBBBBB")
_VERSION, _REQUEST = 0x0111, 0x8003
_HIGH_SPEED_HUB = "hs"


def in_own_process(function: _T) -> _T:
    """Mark what may not run in the agent itself: it goes on, becomes another user, or has threads.

    Any other call blocks the agent, and is cheaper.
    """
    function.in_own_process = True  # type: ignore[attr-defined]
    return function


def attach(host: str, port: int, bus_id: str, controller: int) -> int:
    """Attach a device as ``usbip attach`` does; return the number of the port that has it now.

    Each of the kernel's controllers works by itself: what is slow at one is not slow at another.

    Raises:
        RuntimeError: the server refused.
    """
    with socket.create_connection((host, port)) as server:
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server.sendall(_IMPORT.pack(_VERSION, _REQUEST, 0, bus_id.encode()))
        reply = server.recv(8, socket.MSG_WAITALL)
        _, _, status = struct.unpack(">HHI", reply)
        if status:
            raise RuntimeError(f"import refused with status {status}")
        reply += server.recv(_IMPORTED.size - len(reply), socket.MSG_WAITALL)
        _, _, _, _, _, bus, device, speed, *_ = _IMPORTED.unpack(reply)
        number = free_ports(controller)[0]
        (VHCI / "attach").write_text(f"{number} {server.fileno()} {bus << 16 | device} {speed}")
    return number


def _ports(controller: int | None = None) -> dict[int, int]:
    """The ports for devices of up to high speed, with what the kernel says of their state."""
    found = {}
    names = "status*" if controller is None else f"status.{controller}" if controller else "status"
    for path in sorted(VHCI.glob(names)):
        for line in path.read_text().splitlines()[1:]:
            hub, number, state, *_ = line.split()
            if hub == _HIGH_SPEED_HUB:
                found[int(number)] = int(state)
    return found


def free_ports(controller: int) -> list[int]:
    """The ports that have no device, not even one that was pulled out and not yet removed.

    A hub that finds another device at a port before it has removed the last one mistakes it for
    that, and leaves it alone.
    """
    at_hub = sorted(_ports(controller).items())
    bus = f"{2 * controller + 1}"
    return [
        number
        for place, (number, state) in enumerate(at_hub, 1)
        if state == _FREE and not (USB_DEVICES / f"{bus}-{place}").exists()
    ]


def used_ports() -> dict[str, int]:
    """The ports that are not free, with their states."""
    return {str(number): state for number, state in _ports().items() if state != _FREE}


def enumerated(number: int) -> dict[str, Any]:
    """Wait until udev has seen the device at a port of the first controller; what it is."""
    name = f"1-{number + 1}"
    wait_for(str(VHCI / "usb1" / name))
    (found,) = (device for device in usb_devices() if device["at"] == name)
    return found


@in_own_process
def ask_for_status() -> int:
    """Ask the first simulated shoe for its status, as USB has it; 0, or the error's number."""
    import usb.core  # type: ignore[import-untyped]

    from shoe_ctl.link.usb_discovery import libusb

    device = usb.core.find(idVendor=0x1209, backend=libusb())
    try:
        device.ctrl_transfer(0x80, 0, 0, 0, 2, timeout=300)
    except usb.core.USBError as error:
        return int(error.errno)
    return 0


def wait_for(*paths: str) -> None:
    """Wait until udev has made or named all of these."""
    _udev_wait(paths)


def wait_until_gone(*paths: str) -> None:
    """Wait until none of these is there."""
    _udev_wait(paths, "--removed")


def _udev_wait(paths: tuple[str, ...], *options: str) -> None:
    subprocess.run(
        ["udevadm", "wait", f"--timeout={ATTACHED_WITHIN_S}", *options, *paths], check=True
    )


def node(path: str) -> dict[str, Any]:
    """What is at a path: where its link leads, whose it is, who may use it."""
    real = os.path.realpath(path)
    info = Path(real).stat()
    return {
        "leads_to": real,
        "owner": pwd.getpwuid(info.st_uid).pw_name,
        "group": grp.getgrgid(info.st_gid).gr_name,
        "mode": f"{stat.S_IMODE(info.st_mode):03o}",
    }


def exists(path: str) -> bool:
    """Whether it is there; a link counts by itself."""
    return os.path.lexists(path)


def properties(path: str) -> dict[str, str]:
    """What udev knows of the device at a node."""
    said = subprocess.run(
        ["udevadm", "info", "--query=property", path], capture_output=True, text=True, check=True
    ).stdout
    return dict(line.split("=", 1) for line in said.splitlines())


def read(path: str) -> str:
    """A file of the guest's."""
    return Path(path).read_text()


def write(path: str, text: str) -> None:
    """Write a file of the guest's."""
    Path(path).write_text(text)


def usb_devices() -> list[dict[str, Any]]:
    """The devices at the hubs, with the driver of each interface."""
    found = []
    for device in sorted(USB_DEVICES.glob("*-*")):
        if ":" in device.name:
            continue
        facts: dict[str, Any] = {"at": device.name, "drivers": {}}
        for name in ("idVendor", "idProduct", "product", "serial", "speed", "devnum"):
            if (device / name).is_file():
                facts[name] = (device / name).read_text().strip()
        for interface in sorted(USB_DEVICES.glob(f"{device.name}:*")):
            driver = interface / "driver"
            number = interface.name.rpartition(".")[2]
            facts["drivers"][number] = driver.resolve().name if driver.exists() else None
        found.append(facts)
    return found


def kernel_log(*parts: str) -> list[str]:
    """What these parts of the kernel said, by how their lines begin."""
    said = subprocess.run(["dmesg", "--notime"], capture_output=True, text=True, check=True).stdout
    return [line for line in said.splitlines() if line.startswith(parts)]


def signalled(pid: int, number: int) -> None:
    """Send a process a signal."""
    os.kill(pid, number)


def threads_and_descriptors(pid: int) -> dict[str, int]:
    """How many threads a process has, and how many descriptors of each kind.

    Two devices of a kind differ in their numbers only.
    """
    leads_to = [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]
    found = Counter(re.sub("[0-9]+", "N", target) for target in leads_to)
    return {**found, "threads": len(list(Path(f"/proc/{pid}/task").iterdir()))}


def state_of(pid: int) -> str:
    """Where each thread of a process waits in the kernel, and what the kernel has and said."""
    lines = []
    for task in sorted(Path(f"/proc/{pid}/task").iterdir()):
        name, stack = (task / "comm").read_text().strip(), (task / "stack").read_text().split("\n")
        lines.append(f"{name}: {' < '.join(line.partition('+')[0][4:] for line in stack if line)}")
    said = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    lines += [
        f"ports: {used_ports()}",
        *map(str, usb_devices()),
        *said.splitlines()[-KERNEL_LINES:],
    ]
    return "\n".join(lines)


def as_user(name: str, *groups: str) -> None:
    """Be this user from now on, with these groups and its own."""
    user = pwd.getpwnam(name)
    os.setgroups([grp.getgrnam(group).gr_gid for group in groups])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)


@in_own_process
def shoectl(user: str, groups: list[str], words: list[str]) -> dict[str, Any]:
    """Run a command as this user to its end: its exit code, and what it printed."""
    from shoe_ctl.cli.main import main

    out, err = os.memfd_create("out"), os.memfd_create("err")
    os.dup2(out, 1)
    os.dup2(err, 2)
    as_user(user, *groups)
    code = _exit_code(main, words)
    said = [os.pread(fd, os.fstat(fd).st_size, 0).decode() for fd in (out, err)]
    return {"code": code, "out": said[0], "err": said[1]}


@in_own_process
def run_daemon(config: str, journal: str) -> int:
    """Run ``shoectl run`` as the service does; its exit code. The journal's folder is made anew."""
    from shoe_ctl.cli.main import main

    folder = Path(journal)
    folder.mkdir(parents=True)
    os.chown(folder, pwd.getpwnam("shoectl").pw_uid, -1)
    as_user("shoectl", "card-shoe")
    os.chdir(folder)
    return _exit_code(main, ["run", "--wait", "--config", config])


@in_own_process
def run_suite(command: list[str], control: str, host: str, port: int) -> int:
    """Run tests of a shoe as somebody who may use one; pytest's exit code.

    The shoe takes changes at this port, and so at the socket ``control`` in the folder of the run.
    """
    from shoe_testing.guest.relay import relayed

    as_user("shoectl", "card-shoe")
    os.chdir(tempfile.mkdtemp())

    async def run() -> int:
        listen = partial(asyncio.start_unix_server, path=control)
        async with relayed(listen, partial(asyncio.open_connection, host, port)):
            process = await asyncio.create_subprocess_exec(*command)
            return await process.wait()

    return asyncio.run(run())


def _exit_code(main: Any, words: list[str]) -> int:
    sys.argv[:] = ["shoectl", *words]
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def copy_to_share(folder: str, to: str) -> None:
    """Copy the files of a folder to one that the host sees."""
    for path in Path(folder).iterdir():
        Path(to, path.name).write_bytes(path.read_bytes())
