"""Ptys of other programs, and the number of one that is gone, given out again.

In: nothing. Out: ptys that tell whether anybody touched them. Must not know: ports, shoes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

PATIENCE_S = 30.0
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
    until_s = time.monotonic() + PATIENCE_S
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
