"""What a service manager is told, over a real socket of its own.

In: environments, a clock moved by hand. Out: datagrams.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import pytest

from shoe_ctl.cli import run
from shoe_ctl.daemon.environment import (
    LONGEST_STATUS,
    ServiceManager,
    keep_objects,
    service_manager,
)
from shoe_testing.transports import HandClock

if TYPE_CHECKING:
    from shoe_ctl.daemon.daemon import Daemon

PID = 77


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(10)
        yield listening


def told(listener: socket.socket) -> list[str]:
    """Everything that waits there."""
    said = []
    listener.setblocking(False)
    while True:
        try:
            said.append(listener.recv(4096).decode())
        except BlockingIOError:
            return said


def environment(listener: socket.socket, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": listener.getsockname()} | more


def test_ready_status_and_stopping_are_one_datagram_each(listener: socket.socket) -> None:
    with service_manager(environment(listener), PID) as manager:
        manager.ready()
        manager.status("journal /var/x\nis  full")
        manager.stopping()
    assert told(listener) == [
        "READY=1\nSTATUS=serving",
        "STATUS=journal /var/x is full",
        "STOPPING=1",
    ]


def test_being_ready_does_not_hide_what_is_waited_for(listener: socket.socket) -> None:
    with service_manager(environment(listener), PID) as manager:
        manager.status("serving; waiting for resume: bac-07")
        manager.ready()
    assert told(listener)[-1] == "READY=1\nSTATUS=serving; waiting for resume: bac-07"


def test_a_status_can_say_nothing_but_a_status(listener: socket.socket) -> None:
    with service_manager(environment(listener), PID) as manager:
        manager.status("x\nMAINPID=1\n" + "y" * 10_000)
    (said,) = told(listener)
    assert said.startswith("STATUS=x MAINPID=1 y")
    assert "\n" not in said
    assert len(said) == len("STATUS=") + LONGEST_STATUS


def test_a_socket_in_the_abstract_name_space_is_reached() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("")  # the kernel chooses a name
        name = "@" + listener.getsockname()[1:].decode()
        with service_manager({"NOTIFY_SOCKET": name}, PID) as manager:
            manager.stopping()
        assert told(listener) == ["STOPPING=1"]


def test_without_a_manager_nothing_is_said_and_nothing_goes_wrong() -> None:
    with service_manager({}, PID) as manager:
        manager.ready()
        manager.stopping()
        assert manager.watchdog_s is None


def test_a_manager_that_has_gone_is_complained_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with service_manager({"NOTIFY_SOCKET": str(tmp_path / "none")}, PID) as manager:
        manager.ready()
        manager.stopping()
    assert [r.levelno for r in caplog.records] == [logging.WARNING]


def test_an_address_that_is_no_local_socket_is_not_used(caplog: pytest.LogCaptureFixture) -> None:
    with service_manager({"NOTIFY_SOCKET": "vsock:2:1234"}, PID) as manager:
        manager.ready()
    assert "vsock:2:1234" in caplog.text


@pytest.mark.parametrize(
    ("more", "watchdog_s"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "500000", "WATCHDOG_PID": str(PID)}, 0.5),
        ({"WATCHDOG_USEC": "500000", "WATCHDOG_PID": "78"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_the_watchdog_is_the_one_that_this_process_was_given(
    more: dict[str, str], watchdog_s: float | None
) -> None:
    with service_manager(more, PID) as manager:
        assert manager.watchdog_s == watchdog_s


async def test_signs_of_life_come_twice_in_the_time_that_is_given(listener: socket.socket) -> None:
    clock = HandClock()
    with service_manager(environment(listener, WATCHDOG_USEC="30000000"), PID) as manager:
        beating = asyncio.create_task(manager.beat(clock))
        counts = []
        for _ in range(4):
            await settle()
            counts.append(told(listener))
            clock.advance(15.0)
        await settle()
        assert counts == [["WATCHDOG=1"]] * 4
        clock.advance(14.0)
        told(listener)
        await settle()
        assert told(listener) == []
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)


async def test_without_a_watchdog_there_is_no_beat() -> None:
    clock: Any = None
    async with asyncio.timeout(10):
        await ServiceManager().beat(clock)


async def settle() -> None:
    """Lets the loop do all that is due."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_daemon_may_open_as_many_files_as_the_host_allows() -> None:
    """In a process of its own: a limit of this one would be every other test's."""
    code = (
        "import resource as r; from shoe_ctl.daemon.environment import allow_open_files as allow\n"
        "r.setrlimit(r.RLIMIT_NOFILE, (256, 2048)); allow(1500)\n"
        "print(r.getrlimit(r.RLIMIT_NOFILE))\n"
        "allow(99_999); print(r.getrlimit(r.RLIMIT_NOFILE)); allow(9)\n"
        "print(r.getrlimit(r.RLIMIT_NOFILE))"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, check=True, text=True)
    assert done.stdout.split("\n")[:3] == ["(1500, 2048)", "(2048, 2048)", "(2048, 2048)"]


RARELY_NEEDED = (
    "bz2 cryptography.hazmat.primitives.serialization difflib email gzip importlib.metadata lzma "
    "random secrets shoe_ctl.games.decided shoe_ctl.journal.export shoe_ctl.journal.verify "
    "shoe_ctl.link.usb tempfile unicodedata zipfile"
)


def test_a_daemon_that_serves_imports_nothing_that_is_rarely_needed(tmp_path: Path) -> None:
    code = (
        "import sys, shoe_ctl.cli.run, shoe_ctl.daemon.daemon, firmware_proto.reference.profile\n"
        "import shoe_ctl.sinks.jsonl\n"
        "from pathlib import Path\n"
        "from shoe_ctl.games import catalog\n"
        "from shoe_ctl.history.snapshots import software\n"
        "from shoe_ctl.journal.signing import open_signer\n"
        "catalog.load('tiger'), software()\n"
        "key = open_signer(Path(sys.argv[1]), None).public_key\n"  # it is made, then read
        "open_signer(Path(sys.argv[1]), key).sign(b'')\n"
        "print(sorted(set(sys.argv[2].split()) & sys.modules.keys()))"
    )
    asked = [sys.executable, "-c", code, str(tmp_path / "shoe.journal"), RARELY_NEEDED]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.fixture
def garbage_collector() -> Iterator[None]:
    """Python's settings of it, as they were."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("garbage_collector")
def test_a_daemon_that_is_ready_looks_for_garbage_among_newer_objects_only() -> None:
    class Ready:
        doubt = None
        settings = ("a table",) * 1000
        runners: ClassVar[dict[str, Any]] = {}

    there: list[object] = [[]]
    run._say_ready(ServiceManager(), cast("Daemon", Ready()), (), wait=False)
    assert not any(one is there for one in gc.get_objects())
    made: list[object] = [[]]
    assert any(one is made for one in gc.get_objects())
    many = gc.get_threshold()[0]
    keep_objects(1)
    assert many > gc.get_threshold()[0] > 700  # as many objects come and go at a thousand tables
