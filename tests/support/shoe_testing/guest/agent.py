"""The guest's agent: takes calls at a virtual serial line, some in a process of their own.

A line asks: ``{"call": 3, "function": "module:name", "args": […]}``. Lines answer: the process it
has for itself, what it returned or raised, and that it ended, with its exit code (negative: a
signal).

In: lines of JSON. Out: lines of JSON. Must not know: what is called.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any, Final

from shoe_testing.guest.warm_start import load_and_make

SHARE: Final = Path("/run/share")
"""A folder that the host sees, too."""

LOCK: Final = Path("/run/agent.lock")
"""Whoever writes to the line has it."""

LONGEST: Final = 16_000
"""Characters of a traceback."""

_READ = 65536
_RESEED = 0x5207  # RNDRESEEDCRNG


class Agent:
    """Serves one line, from its first call to the guest's end."""

    def __init__(self, line: int) -> None:
        self._line = line
        self._calls: dict[int, int] = {}
        self._unread = b""

    def serve(self) -> None:
        """Take calls, and tell of processes that ended."""
        wake, woken = socket.socketpair()
        woken.setblocking(False)
        wake.setblocking(False)
        signal.set_wakeup_fd(woken.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        with selectors.DefaultSelector() as ready:
            ready.register(self._line, selectors.EVENT_READ, self._take_calls)
            ready.register(wake, selectors.EVENT_READ, lambda: self._reap(wake))
            while True:
                for key, _ in ready.select():
                    key.data()

    def say(self, **answer: Any) -> None:
        """Write a line whole: those of two processes never mix."""
        data = json.dumps(answer).encode() + b"\n"
        with LOCK.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            while data:
                data = data[os.write(self._line, data) :]

    def _take_calls(self) -> None:
        *lines, self._unread = (self._unread + os.read(self._line, _READ)).split(b"\n")
        for line in lines:
            asked = json.loads(line)
            module, _, name = asked["function"].partition(":")
            function = getattr(import_module(module), name)
            if getattr(function, "in_own_process", False):
                pid = os.fork()
                if pid == 0:
                    self._run_apart(asked["call"], function, asked["args"])
                self._calls[pid] = asked["call"]
            else:
                self._run(asked["call"], function, asked["args"])
                self.say(call=asked["call"], ended=0)

    def _reap(self, wake: socket.socket) -> None:
        wake.recv(_READ)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid in self._calls:
                code = os.waitstatus_to_exitcode(status)
                self.say(call=self._calls.pop(pid), ended=code)

    def _run(self, call: int, function: Callable[..., Any], args: list[Any]) -> None:
        try:
            self.say(call=call, value=function(*args))
        except BaseException:  # noqa: BLE001 - shown where the call was made
            self.say(call=call, error=traceback.format_exc()[-LONGEST:])

    def _run_apart(self, call: int, function: Callable[..., Any], args: list[Any]) -> None:
        """Run a call, in a process that was split off for it."""
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self.say(call=call, pid=os.getpid())
            log = os.open(SHARE / f"call-{call}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            for standard in (1, 2):
                os.dup2(log, standard)
            self._run(call, function, args)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)


def main() -> None:
    """Load and make what calls need, see the host, then serve."""
    gc.disable()  # a search for garbage among all that is loaded takes seconds
    load_and_make()
    LOCK.touch()
    LOCK.chmod(0o666)
    (port,) = Path("/dev").glob("vport*p*")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    line = os.open(port, os.O_RDWR | os.O_CLOEXEC)
    agent = Agent(line)
    agent.say(call=0, value=_uptime_s())
    meet_host(json.loads(os.read(line, _READ)))
    gc.freeze()
    gc.enable()
    agent.say(call=0, value=_uptime_s())
    agent.serve()


def meet_host(word: dict[str, Any]) -> None:
    """Take the host's time and randomness, and see its files from now on.

    Until here the guest may have been kept for days, and others may have begun as the same.
    """
    time.clock_settime(time.CLOCK_REALTIME, word["time"])
    with Path("/dev/urandom").open("wb", buffering=0) as source:
        source.write(bytes.fromhex(word["random"]))
        fcntl.ioctl(source, _RESEED)
    below = "/proc/1/root"
    subprocess.run([f"{below}/bin/busybox", "chroot", below, "/attach.sh"], check=True)
    os.chroot(f"{below}/all")
    os.chdir("/tmp")
    invalidate_caches()


def _uptime_s() -> float:
    return float(Path("/proc/uptime").read_text().split()[0])


if __name__ == "__main__":
    main()
