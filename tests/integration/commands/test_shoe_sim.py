"""``shoe-sim serve`` and ``python -m simulators`` as processes.

In: command lines, signals, a closed stdin. Out: first lines, truth files, exit codes.
Must not know: how it is served.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import signal
import socket
import stat
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from firmware_proto.angel_eye.codec import Listener
from firmware_proto.events import Discarded
from firmware_proto.profiles import profile
from firmware_proto.session import HostSession, ReceivedEvent, Resume
from shoe_testing.command_server import WarmProgram
from shoe_testing.toy_table import Table
from shoe_testing.usbip_host import list_devices
from simulators.ports.port import Attachment

pytestmark = pytest.mark.usefixtures("commands")

SERVE = [str(Path(sys.executable).with_name("shoe-sim")), "serve"]
CHILD = [sys.executable, "-m", "simulators"]
PTY = ["--profile", "reference", "--port", "pty"]

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    running: list[subprocess.Popen[str]] = []

    def begin(command: list[str], **options: Any) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        process: subprocess.Popen[str] = WarmProgram(
            command, **{"stdin": pipe, "stdout": pipe, "stderr": pipe, "text": True} | options
        )
        running.append(process)
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=20)
    return process.returncode, out, err


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def deal(port: str, table: Table, done: Callable[[], bool]) -> None:
    """A host as simple as can be, until there is nothing more to do."""
    fd = os.open(port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    session = profile("reference").host_session(resume=None, settings={})
    try:
        termios.tcflush(fd, termios.TCIOFLUSH)
        end = time.monotonic() + 30
        while not done() and time.monotonic() < end:
            session.tick(time.monotonic())
            os.write(fd, session.outgoing())
            if select.select([fd], [], [], 0.01)[0]:
                for heard in session.receive(os.read(fd, 65536), time.monotonic()):
                    table.take(heard, session)
    finally:
        os.close(fd)


def no_host(resume: Resume | None) -> HostSession:
    raise AssertionError("this table opens its port itself")


def test_a_child_says_its_port_deals_a_shoe_and_ends_with_its_stdin(
    start: Start, tmp_path: Path
) -> None:
    truth = tmp_path / "truth.jsonl"
    options = ["--decks", "2", "--seed", "5", "--pace-ms", "0", "--truth", str(truth)]
    process = start([*CHILD, *PTY, *options])
    told = json.loads(first_line(process))
    assert told["seed"] == 5
    assert told["pid"] == process.pid
    table = Table(no_host)

    def lines() -> list[dict[str, Any]]:
        return [json.loads(line) for line in truth.read_text().splitlines()]

    def done() -> bool:
        last = lines()[-1]
        return "round" in last and any("cutting_card_after" in e for e in lines())

    def heard_all() -> bool:
        return done() and len(table.rounds) == sum("round" in e for e in lines())

    deal(told["port"], table, heard_all)
    rounds = [e for e in lines() if "round" in e]
    assert [e["cards"] for e in rounds] == table.rounds
    assert [e["round"] for e in rounds] == list(range(1, len(rounds) + 1))
    assert {"winner", "player_total", "banker_total"} <= rounds[0].keys()
    drawn = [e for e in lines() if "card" in e]
    assert [e["number"] for e in drawn] == list(range(1, len(drawn) + 1))
    assert finished(process) == (0, "", "")
    assert not Path(told["port"]).is_symlink()


def test_a_child_ends_on_sigterm_and_takes_its_link_away(start: Start, tmp_path: Path) -> None:
    link = tmp_path / "shoe"
    process = start([*CHILD, "--profile", "angel_eye", "--port", f"pty:{link}"])
    assert json.loads(first_line(process))["port"] == str(link)
    assert link.is_symlink()
    process.send_signal(signal.SIGTERM)
    assert finished(process) == (0, "", "")
    assert not link.is_symlink()


def test_a_child_without_a_stdin_ends_at_once(start: Start) -> None:
    process = start([*CHILD, *PTY], stdin=subprocess.DEVNULL)
    assert finished(process)[0] == 0


def test_serve_tells_a_person_the_port_and_ignores_stdin(start: Start, tmp_path: Path) -> None:
    process = start([*SERVE, *PTY, "--seed", "5"], stdin=subprocess.DEVNULL)
    port = first_line(process)
    assert Path(port).is_char_device()
    (folder,) = tmp_path.iterdir()
    assert Path(port) == folder / "shoe" and Path(port).is_symlink()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    process.send_signal(signal.SIGINT)
    code, out, err = finished(process)
    assert (code, out) == (130, "")
    assert "seed 5" in err
    assert f'port = "{port}"' in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_a_bad_cable_is_served_and_what_it_did_is_told_at_the_end(
    start: Start, tmp_path: Path
) -> None:
    options = ["--profile", "angel_eye", "--port", f"pty:{tmp_path}/shoe", "--pace-ms", "0"]
    process = start([*SERVE, *options, "--seed", "3", "--fault", "flip=1,split=1"])
    fd = os.open(first_line(process), os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    listener = Listener()
    heard: list[ReceivedEvent] = []
    try:
        while sum(isinstance(each.event, Discarded) for each in heard) < 10:
            assert select.select([fd], [], [], 30)[0]
            heard += listener.feed(os.read(fd, 65536))
    finally:
        os.close(fd)
    process.send_signal(signal.SIGINT)
    code, _, err = finished(process)
    assert code == 130
    told = dict(re.findall(r"(\w+) (\d+)", err.splitlines()[-1]))
    assert err.splitlines()[-1].startswith("faults of the line: ")
    assert int(told["flip"]) >= 1 and int(told["split"]) >= 1


def test_it_says_its_version(start: Start) -> None:
    process = start([*SERVE[:-1], "--version"])
    code, out, err = finished(process)
    assert (code, err) == (0, "")
    assert out.startswith(f"shoe-sim, version {version('shoe-ctl')}")


def test_serve_listens_on_tcp(start: Start) -> None:
    process = start([*SERVE, "--profile", "reference", "--port", "tcp:127.0.0.1:0"])
    assert first_line(process).startswith("tcp://127.0.0.1:")
    process.send_signal(signal.SIGTERM)
    assert finished(process)[0] == 0


def test_serve_exports_a_usb_device_and_tells_how_to_attach_it(start: Start) -> None:
    options = ["--profile", "reference", "--port", "usbip:127.0.0.1:0"]
    process = start([*SERVE, *options])
    address = first_line(process)
    assert address.startswith("/dev/card-shoe/SIM-")
    assert process.stderr is not None
    told = [process.stderr.readline() for _ in range(9)]
    (number,) = re.findall(r"usbip --tcp-port ([0-9]+) attach -r 127\.0\.0\.1 -b 1-1$", told[1])
    assert f'port = "{address}"' in told[5]
    at = Attachment("127.0.0.1", int(number), "1-1")
    assert [listed.interfaces[0] for listed in asyncio.run(list_devices(at))] == [(2, 2, 0)]
    process.send_signal(signal.SIGUSR1)
    assert process.stderr.readline() == "unplugged\n"
    assert asyncio.run(list_devices(at)) == []
    with socket.create_connection((at.host, at.port)) as browser:
        browser.sendall(b"GET / HTTP/1.0\r\n\r\n")
        line = process.stderr.readline()
    assert re.fullmatch(
        r"usbip: 127\.0\.0\.1:[0-9]+: expected USB/IP version 0x0111, not 0x4745; "
        r"connection closed\n",
        line,
    )
    process.send_signal(signal.SIGTERM)
    assert finished(process) == (0, "", "")


def test_a_child_tells_its_parent_what_to_attach(start: Start) -> None:
    process = start([*CHILD, "--profile", "bee_tek", "--port", "usbip:127.0.0.1:0:bulk"])
    told = json.loads(first_line(process))
    assert told["port"] == f"usb:{told['device_id']}"
    (listed,) = asyncio.run(list_devices(Attachment(**told["attach"])))
    assert (listed.bus_id, listed.interfaces) == (told["attach"]["bus_id"], [(0xFF, 0, 0)])
    assert finished(process) == (0, "", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "code", "why"),
    [
        (["--profile", "nobody", "--port", "pty"], 2, "nobody"),
        (["--profile", "reference", "--port", "usb"], 2, "expected pty"),
        (["--profile", "reference"], 2, "--port"),
        ([*PTY, "--decks", "11"], 2, "--decks"),
        ([*PTY, "--shoes", "0"], 2, "--shoes"),
        ([*PTY, "--seed", "some"], 2, "'some' is not a valid whole number"),
        ([*PTY, "--colour", "red"], 2, "--colour"),
        (["--profile", "angel_eye", "--port", "pty", "--deck", "element65"], 2, "element65"),
        (["--profile", "reference", "--port", "pty:/nowhere/at/all"], 3, "/nowhere"),
        (["--profile", "reference", "--port", "tcp:192.0.2.1:1"], 3, "cannot listen"),
        (["--profile", "reference", "--port", "usbip:192.0.2.1:1"], 3, "cannot listen at usbip:"),
        ([*PTY, "--truth", "/nowhere/at/all"], 3, "/nowhere"),
        ([*PTY, "--fault", "drop=2"], 2, "expected drop=a rate, 0 to 1"),
    ],
)
@pytest.mark.parametrize("command", [SERVE, CHILD], ids=["serve", "child"])
def test_what_cannot_be_is_one_line_and_an_exit_code(
    start: Start, command: list[str], options: list[str], code: int, why: str
) -> None:
    got, out, err = finished(start([*command, *options]))
    assert (got, out) == (code, "")
    assert why in err
    assert err.count("\n") == 1
    assert "Traceback" not in err
