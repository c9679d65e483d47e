"""Daemons in processes of their own that are killed where one likes, and started again at once.

In: a configuration, where to die. Out: how it ended. One process has loaded all that a daemon
needs, and splits one off for each start: a crash costs a tenth of a second.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from shoe_ctl.cli.run import until_terminated
from shoe_ctl.clock import SystemClock
from shoe_ctl.config.schema import load
from shoe_ctl.daemon.daemon import Daemon
from shoe_testing.faulty_disk import WRITES, Call, Disk, Do
from shoe_testing.paths import child_environment

KILLED = -signal.SIGKILL


class Death(msgspec.Struct, frozen=True):
    """Killed at this write or sync of the journal, counted from 1: before it, after it, or torn.

    ``torn`` is how much of a write is done, from 0 to 1.
    """

    at: int
    when: str
    torn: float = 0.0


class _Dying:
    def __init__(self, death: Death) -> None:
        self._death = death
        self._met = 0

    def __call__(self, call: Call, do: Do) -> Any:
        if call.op not in WRITES and call.op != "sync":
            return do()
        self._met += 1
        if self._met != self._death.at:
            return do()
        if self._death.when == "torn" and call.put is not None:
            call.put(call.data[: int(len(call.data) * self._death.torn)], call.offset)
        elif self._death.when == "after":
            do()
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("killed")


def _serve(config: str, death: Death | None) -> None:
    layer = None if death is None else Disk("dying", _Dying(death))
    with ThreadPoolExecutor(1, "port") as executor:
        daemon = Daemon(
            load(config),
            clock=SystemClock(),
            executor=executor,
            host_boot="boot-1",
            vfs=None if layer is None else layer.name,
        )
        asyncio.run(until_terminated(daemon.run()))


def split_off() -> None:
    """Starts a daemon for each line on stdin; says its process and, later, how it ended."""
    import_module("shoe_testing.warm_start")
    for line in sys.stdin:
        config, death = msgspec.json.decode(line, type=tuple[str, Death | None])
        pid = os.fork()
        if pid == 0:
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(2, 1)
            code = 70
            try:
                _serve(config, death)
                code = 0
            except Exception as error:  # noqa: BLE001 - the process ends here, whatever it is
                print(f"daemon of {config} ended: {error!r}", file=sys.stderr)  # noqa: T201
            finally:
                os._exit(code)
        print(pid, flush=True)  # noqa: T201 - the pipe to the test
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)  # noqa: T201


class Starter:
    """Starts one daemon after another."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._pid: int | None = None

    async def start(self, config: Path, death: Death | None = None) -> None:
        """A daemon begins to start."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode((str(config), death)) + b"\n")
        self._pid = await self._says()

    def send(self, number: signal.Signals) -> None:
        """A signal for the daemon that was started last."""
        assert self._pid is not None
        os.kill(self._pid, number)

    async def ended(self) -> int:
        """How it ended: its exit code, or minus the signal that killed it."""
        code = await self._says()
        self._pid = None
        return code

    async def close(self) -> None:
        """Leaves no process behind."""
        if self._pid is not None:
            self.send(signal.SIGKILL)
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()

    async def _says(self) -> int:
        assert self._process.stdout is not None
        async with asyncio.timeout(60):
            line = await self._process.stdout.readline()
        assert line, "what starts daemons ended: its stderr says why"
        return int(json.loads(line))


@asynccontextmanager
async def starter() -> AsyncIterator[Starter]:
    """What starts daemons; it takes a moment to load."""
    program = "from shoe_testing.daemon_processes import split_off; split_off()"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program),
        env=child_environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    made = Starter(process)
    try:
        yield made
    finally:
        await made.close()
