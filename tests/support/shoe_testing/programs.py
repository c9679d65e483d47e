"""Programs in processes of their own: started, interrupted, read to their end.

In: words, a configuration. Out: exit codes, what stood on stderr, what a service manager heard.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from shoe_testing.command_server import A_SHOE, WarmProgram, start_warm
from shoe_testing.config import write_config

SHOECTL = str(Path(sys.executable).parent / "shoectl")
PATIENCE_S = 60


@contextmanager
def started_program(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command with its output in pipes; it must have ended in the end."""
    pipe = subprocess.PIPE
    program: subprocess.Popen[bytes] = WarmProgram((SHOECTL, *words), stdout=pipe, stderr=pipe)
    with program as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def rest_of(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    """The exit code, once it has one, and what stands on stderr."""
    assert process.stderr is not None
    said = process.stderr.read()
    return process.wait(PATIENCE_S), said


@contextmanager
def shoe_program(profile: str) -> Iterator[str]:
    """A simulated shoe in a process of its own, dealt without haste; gives its port."""
    options = ("--profile", profile, "--port", "pty", "--seed", "1", "--pace-ms", "5")
    with WarmProgram((*A_SHOE, *options), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["port"]
        finally:
            process.stdin.close()
            assert process.wait(PATIENCE_S) == 0


@contextmanager
def running_daemon(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """``shoectl run --json`` with a shoe that is being dealt; its first event was read."""
    with (
        shoe_program("reference") as port,
        started_program("run", "--json", "--config", str(write_config(folder, port))) as process,
    ):
        assert process.stdout is not None
        first = [json.loads(process.stdout.readline())["type"] for _ in range(2)]
        assert first == ["table.started", "shoe.connected"]
        yield process


AT_A_TERMINAL = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGHUP, signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Makes stdin the controlling terminal of the new session, as a shell's is.

Tests that run under ``nohup`` ignore the signal of a terminal that is closed: the command does not.
"""

WATCHDOG_US = 400_000


class Service:
    """A daemon and the end of the socket on which it speaks."""

    def __init__(self, process: subprocess.Popen[bytes], listener: socket.socket) -> None:
        self.process = process
        self._listener = listener

    def said(self) -> dict[str, str]:
        """The next datagram."""
        lines = self._listener.recv(4096).decode().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def until(self, key: str) -> dict[str, str]:
        while key not in (said := self.said()):
            assert said.keys() <= {"WATCHDOG", "READY", "STATUS"}
        return said


@contextmanager
def daemon_service(config: Path, *options: str) -> Iterator[Service]:
    address = config.parent / "notify"
    environment = os.environ | {
        "NOTIFY_SOCKET": str(address),
        "WATCHDOG_USEC": str(WATCHDOG_US),
    }
    environment.pop("WATCHDOG_PID", None)
    address.unlink(missing_ok=True)  # of the daemon before
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(address))
        listener.settimeout(PATIENCE_S)
        program: subprocess.Popen[bytes] = WarmProgram(
            (SHOECTL, "run", "--config", str(config), *options),
            stderr=subprocess.PIPE,
            env=environment,
        )
        with program as process:
            try:
                yield Service(process, listener)
            finally:
                if process.poll() is None:
                    process.kill()


A_FEW_CARDS = 200_000
"""Bytes that the journal's log still has room for."""

STORAGE_FAULT = "storage fault, nothing is stored, acknowledged or published: "


def largest_of(folder: Path) -> int:
    """The journal's larger file, in bytes."""
    return max(path.stat().st_size for path in folder.glob("journal.db*"))


def let_grow(service: Service, size: int) -> None:
    """No file of the daemon's grows beyond this."""
    hard = resource.RLIM_INFINITY
    resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (size, hard))


@asynccontextmanager
async def daemon_process(config: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """``shoectl run``; on leaving it must have ended."""
    with (config.parent / "daemon.log").open("ab") as log:
        process = await start_warm(SHOECTL, "run", "--config", str(config), stderr=log)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
