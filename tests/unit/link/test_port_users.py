"""Ports that do not open, and those that others have: named, and left alone.

In: processes that hold a port, lists of processes, devices that refuse. Out: causes, one line.
Must not know: how a port is tried.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from firmware_proto.profiles import profile as profile_named
from shoe_ctl.link.address import parse_address
from shoe_ctl.link.discovery import System
from shoe_ctl.link.port_users import MODEM_MANAGER, find_port_users, terminal_owner
from shoe_ctl.link.transport_factory import opener
from shoe_testing.faulty_ports import (
    BRIEFLY_S,
    HOLD,
    LOCK,
    as_process,
    diagnosed,
    held,
    shoe,
    target,
)
from shoe_testing.simulated_usb import UsbBus, UsbPort
from shoe_testing.transports import somebody_at
from simulators.ports.pty import PtyPort


@pytest.fixture
def pty() -> Iterator[str]:
    end, host = os.openpty()
    path = os.ttyname(host)
    os.close(host)
    yield path
    os.close(end)


async def test_a_port_that_is_not_there_is_told() -> None:
    found = await diagnosed(target("/dev/card-shoe/none"))
    assert (found.well, found.cause) == (False, "no_such_port")


@pytest.mark.parametrize("how", [HOLD, LOCK], ids=["open", "locked"])
async def test_who_has_the_port_is_named_and_left_alone(pty: str, how: str) -> None:
    with held(pty, how=how) as pid:
        found = await diagnosed(target(pty))
    assert (found.well, found.cause) == (False, "taken")
    assert f"(process {pid})" in found.says


@pytest.mark.parametrize("profile", ["reference", "angel_eye"])
async def test_what_is_no_serial_port_is_not_to_be_given_up_by_whoever_has_it(
    tmp_path: Path, profile: str
) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    for path in ("/dev/null", str(plain)):
        with held(path) as pid:
            found = await diagnosed(target(path, profile))
        assert (found.well, found.cause) == (False, "not_serial")
        assert found.says.startswith(f"not a serial port: {path} (a ")
        assert "end it" not in found.says and str(pid) not in found.says


async def test_nobody_is_to_end_the_shell_whose_terminal_was_named(pty: str) -> None:
    with somebody_at(pty) as pid:
        found = await diagnosed(target(pty))
    assert (found.well, found.cause) == (False, "not_serial")
    assert "is the terminal of python" in found.says and f"(process {pid})" in found.says
    assert "end it" not in found.says


ELSEWHERE = """
import fcntl, os, subprocess, sys, termios
path, how, folder = sys.argv[1:]
wanted = int(path.rpartition("/")[2])
options = "newinstance,ptmxmode=0666"
subprocess.run(["mount", "-t", "devpts", "-o", options, "devpts", folder], check=True)
if how != "seen":
    subprocess.run(["mount", "--bind", folder, "/dev/pts"], check=True)
ends = [os.open(folder + "/ptmx", os.O_RDWR | os.O_NOCTTY) for _ in range(wanted + 1)]
fcntl.ioctl(ends[-1], 0x40045431, bytes(4))  # TIOCSPTLCK, which termios lacks: unlock it
os.setsid()
slave = os.open(folder + "/" + str(wanted), os.O_RDWR)
fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
if how == "closed":
    os.close(slave)
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def somebody_in_another_container(pty: str, how: str, folder: Path) -> Iterator[int]:
    """A session at the pty of the same number, of a second devpts."""
    rights = [] if os.geteuid() == 0 else ["--map-root-user"]
    with subprocess.Popen(
        ["unshare", *rights, "--mount", sys.executable, "-c", ELSEWHERE, pty, how, str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield process.pid
        finally:
            process.stdin.close()


@pytest.mark.parametrize("how", ["open", "closed", "seen"])
async def test_a_terminal_of_the_same_number_in_another_container_is_not_this_one(
    pty: str, how: str, tmp_path: Path
) -> None:
    with somebody_in_another_container(pty, how, tmp_path) as pid:
        number = os.stat(pty).st_rdev  # noqa: PTH116 - beside the kernel's own words
        stat_line = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        assert int(stat_line[4]) & 0xFF == os.minor(number) & 0xFF  # it does have a namesake
        assert terminal_owner(pty) is None
        assert [user.pid for user in find_port_users(pty)] == []
        found = await diagnosed(target(pty), seconds=BRIEFLY_S)
    assert found.cause not in {"not_serial", "taken"}, found.says


async def test_where_people_log_in_the_service_is_named_and_not_the_shell(
    pty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoe_ctl.link.serial.PTY_MAJORS", ())  # as on a line of the host
    with somebody_at(pty) as pid:
        found = await diagnosed(target(pty))
    assert (found.well, found.cause) == (False, "taken")
    assert f"(process {pid})" in found.says
    assert f"serial-getty@{Path(pty).name}.service" in found.says


async def test_the_daemon_that_has_the_port_is_known_and_its_shoe_is_not(pty: str) -> None:
    with held(pty, "shoectl", "run", "--config", "table.toml") as pid:
        found = await diagnosed(target(pty))
    assert (found.well, found.cause, found.holder) == (None, "held_by_daemon", pid)
    assert f"in use by shoectl run (process {pid}), not tried" in found.says


async def test_a_daemon_connected_to_the_device_server_keeps_its_connection() -> None:
    connect = (
        "import socket, sys; c = socket.create_connection(('127.0.0.1', int(sys.argv[1])));"
        "print(); sys.stdin.read()"
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
        with held(str(number), "shoectl", "run", how=connect) as pid:
            found = await diagnosed(target(f"tcp://127.0.0.1:{number}"))
            server.setblocking(False)
            server.accept()[0].close()
            with pytest.raises(BlockingIOError):
                server.accept()
    assert (found.well, found.cause) == (None, "held_by_daemon")
    assert str(pid) in found.says


async def test_modem_manager_that_has_the_port_is_named_with_its_cure(
    pty: str, tmp_path: Path
) -> None:
    as_process(tmp_path, 812, MODEM_MANAGER, pty)
    found = await diagnosed(target(pty), system=System(proc=tmp_path))
    assert (found.well, found.cause) == (False, "modem_manager")
    assert "ModemManager (process 812)" in found.says
    assert "70-card-shoe.rules" in found.says


@pytest.mark.parametrize(
    ("marks", "well"),
    [
        ("E:ID_MM_DEVICE_IGNORE=1\n", True),
        ("E:ID_MM_PORT_IGNORE=1\n", True),
        ("E:ID_BUS=usb\n", False),
        (None, True),
    ],
)
async def test_modem_manager_is_a_danger_where_udev_does_not_keep_it_away(
    tmp_path: Path, marks: str | None, well: bool
) -> None:
    as_process(tmp_path / "proc", 812, MODEM_MANAGER)
    link = tmp_path / "shoe"
    with shoe(PtyPort(str(link))):
        number = link.stat().st_rdev
        (tmp_path / "udev").mkdir()
        if marks is not None:
            known = tmp_path / "udev" / f"c{os.major(number)}:{os.minor(number)}"
            known.write_text(marks)
        system = System(proc=tmp_path / "proc", udev=tmp_path / "udev")
        found = await diagnosed(target(str(link)), system=system)
    assert (found.well, found.cause) == (well, "well" if well else "modem_manager")
    assert found.device_id == "SH-0042"


async def test_modem_manager_is_suspected_where_nobody_else_can_have_it(
    pty: str, tmp_path: Path
) -> None:
    as_process(tmp_path, 812, MODEM_MANAGER)
    with held(pty, how=LOCK):  # in a list of processes that does not show it
        found = await diagnosed(target(pty), system=System(proc=tmp_path))
    assert (found.well, found.cause) == (False, "taken")
    assert "possibly by ModemManager (process 812)" in found.says


async def test_two_tables_that_name_one_port_are_told_so(tmp_path: Path) -> None:
    link = str(tmp_path / "shoe")
    end, host = os.openpty()
    (tmp_path / "shoe").symlink_to(os.ttyname(host))
    os.close(host)
    both = await asyncio.gather(*(diagnosed(target(link), seconds=BRIEFLY_S) for _ in range(2)))
    os.close(end)
    assert sorted(found.cause for found in both) == ["silence", "taken"]
    assert any("give each table its own port" in found.says for found in both)


# USB.


def absent(port: UsbPort) -> None:
    port.close()


def driven(port: UsbPort) -> None:
    port.driver = True


def barred(port: UsbPort) -> None:
    port.barred = True


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [(absent, "no_such_port"), (driven, "kernel_driver"), (barred, "permission")],
)
async def test_a_usb_device_that_cannot_be_had_is_told_why(
    spoil: Callable[[UsbPort], None], cause: str
) -> None:
    bus = UsbBus()
    port = UsbPort(bus, "SH-0042")
    with shoe(port):
        spoil(port)
        found = await diagnosed(target("usb:SH-0042"), bus=bus)
    assert (found.well, found.cause) == (False, cause)


async def test_who_has_the_usb_device_is_named(tmp_path: Path) -> None:
    bus = UsbBus()
    port = UsbPort(bus, "SH-0042")
    as_process(tmp_path, 812, "usbmon", "/dev/bus/usb/001/001")
    with shoe(port), ThreadPoolExecutor(1) as executor:
        usb = parse_address("usb:SH-0042")
        transport = await opener(usb, profile_named("reference").SERIAL, executor, lambda: bus)()
        found = await diagnosed(target("usb:SH-0042"), bus=bus, system=System(proc=tmp_path))
        transport.close()
    assert (found.well, found.cause) == (False, "taken")
    assert "usbmon (process 812)" in found.says
