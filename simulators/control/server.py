"""The socket of a served shoe: a change a line in, what happened a line out, its owner only.

In: a path, a shoe on its port. Out: each change made, and an answer once it has happened.
Must not know: what a change does.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import os
import socket
import stat
import time
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from firmware_proto.events import to_plain
from simulators.arguments import read_arguments
from simulators.control.changes import CHANGES, NotInTime, ShoeBench, Waited
from simulators.errors import PortFault, SimulatorError
from simulators.shoe.model import CannotSay, Refused
from simulators.table.fields import Fields, Wrong

MODE = 0o600
"""Its owner alone may connect."""

LONGEST_PATH = 107
"""The kernel's limit for a socket's path, in bytes."""

LONGEST_LINE = 65536
MOST_CONNECTIONS = 16

LOCKED_WITHIN_S = 1.0
"""Another process may lock the socket's folder for so long."""

USAGE, REFUSED, ENVIRONMENT = "usage", "refused", "environment"
CANNOT_REPORT, NOT_IN_TIME = "cannot_report", "not_in_time"
"""Kinds of errors: asked for wrongly, not possible as the shoe stands, the machine fails; refused
because shoes of this profile have no message for it, or because what is waited for did not come."""


@asynccontextmanager
async def controlled(path: Path, bench: ShoeBench) -> AsyncIterator[None]:
    """Take changes at ``path`` until left; the socket that a killed shoe left there is replaced.

    Raises:
        simulators.errors.PortFault: no such folder, one that everyone may write to, a path too
            long, a file that is no socket, a shoe that is served there, no permission.
    """
    with _bound(path) as listener:
        desk = _Desk(bench)
        server = await asyncio.start_unix_server(desk.talk, sock=listener, limit=LONGEST_LINE)
        try:
            yield
        finally:
            server.close()
            await desk.stop()
            await server.wait_closed()


class _Desk:
    """Every conversation that is under way; one change is made at a time, waits side by side."""

    def __init__(self, bench: ShoeBench) -> None:
        self._bench = bench
        self._talks: set[asyncio.Task[None]] = set()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, line for line."""
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        try:
            if len(self._talks) > MOST_CONNECTIONS:
                await _say(writer, _failure(REFUSED, f"{MOST_CONNECTIONS} connections are open"))
                return
            while (line := await _line(reader)) is not None:
                await _say(writer, await self._answer(line))
        except asyncio.LimitOverrunError:
            await _say(writer, _failure(USAGE, f"a line may hold {LONGEST_LINE:,} bytes"))
        except (OSError, asyncio.CancelledError):
            pass  # the other end is gone, or the shoe is
        finally:
            self._talks.discard(task)
            writer.transport.abort()

    async def stop(self) -> None:
        """Hang up on everybody."""
        for task in self._talks:
            task.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    async def _answer(self, line: bytes) -> Mapping[str, Any]:
        try:
            name, given = _read(line)
        except Wrong as error:
            return _failure(USAGE, str(error))
        try:
            return await self._make(name, given)
        except CannotSay as refusal:
            return _failure(CANNOT_REPORT, f"{name}: {refusal}")
        except NotInTime as refusal:
            return _failure(NOT_IN_TIME, f"{name}: {refusal}")
        except Refused as refusal:
            return _failure(REFUSED, f"{name}: {refusal}")
        except SimulatorError as error:
            return _failure(ENVIRONMENT, f"{name}: {error}")

    async def _make(self, name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Make a change.

        Raises:
            simulators.shoe.model.Refused: it cannot be made as the shoe stands.
            simulators.errors.SimulatorError: a port fails.
        """
        change = CHANGES[name]
        bench = self._bench
        try:
            with bench.rig.device.listened_to() as reported:
                made = change.make(bench, given)
        finally:
            bench.rig.turn()
        waited = await made if isinstance(made, Awaitable) else Waited(made or (), reported)
        return {
            "did": name,
            "arguments": {key: value for key, value in given.items() if value is not None},
            "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "cards": list(waited.cards),
            "reported": [to_plain(event) for event in waited.reported],
            "shoe": bench.state(),
        }


def _read(line: bytes) -> tuple[str, dict[str, Any]]:
    """Return the change that a line names, with its arguments.

    Raises:
        Wrong: says what was expected.
    """
    try:
        plain = json.loads(line)
    except (ValueError, RecursionError):
        plain = None
    if not isinstance(plain, dict):
        raise Wrong('expected a JSON object on one line, such as {"do": "unplug"}')
    fields = Fields(plain, "")
    name = fields.choice("do", tuple(CHANGES))
    return name, read_change(name, {k: v for k, v in plain.items() if k != "do"})


def read_change(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a change of this name.

    Raises:
        Wrong: says argument and what was expected.
    """
    change = CHANGES[name]
    fields = Fields(given, name)
    read = read_arguments(change.arguments, fields)
    if given and not change.arguments:
        raise Wrong(f"{name}.{next(iter(given))}: unknown key, {name} takes no arguments")
    fields.nothing_else()
    if change.needs_one and all(value is None for value in read.values()):
        raise Wrong(f"{name}: expected one or more of {', '.join(change.arguments)}")
    return read


def _failure(kind: str, why: str) -> Mapping[str, Any]:
    return {"error": why, "kind": kind}


async def _line(reader: asyncio.StreamReader) -> bytes | None:
    """Read the next line; None at the end, also of a line without one: nothing of it is done.

    Raises:
        asyncio.LimitOverrunError: it is too long.
    """
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError:
        return None


async def _say(writer: asyncio.StreamWriter, answer: Mapping[str, Any]) -> None:
    writer.write(json.dumps(answer).encode() + b"\n")
    await writer.drain()


@contextmanager
def _bound(path: Path) -> Iterator[socket.socket]:
    """Open a socket that listens at ``path``; remove it on leaving."""
    path = path.absolute()
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise PortFault(f"socket {path}: the path is longer than {LONGEST_PATH} bytes")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        try:
            with _alone_in(path.parent):
                _clear(path)
                os.fchmod(listener.fileno(), MODE)  # Linux makes the file with the socket's mode
                listener.bind(os.fsencode(path))
                made = path.lstat()
                listener.listen(MOST_CONNECTIONS)
        except OSError as error:
            raise PortFault(f"socket {path}: {error.strerror}") from None
        listener.setblocking(False)
        try:
            yield listener
        finally:
            with suppress(OSError):
                found = path.lstat()
                if (found.st_dev, found.st_ino) == (made.st_dev, made.st_ino):
                    path.unlink()


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Lock the folder, so that two shoes that start at once do not both find the path free."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if stat.S_IMODE(os.fstat(fd).st_mode) & stat.S_IWOTH:
            raise PortFault(
                f"socket directory {folder} is world-writable: choose one with mode 0755 or "
                "stricter"
            )
        _lock(fd, folder)
        yield
    finally:
        os.close(fd)


def _lock(fd: int, folder: Path) -> None:
    """Lock the folder; another shoe that starts holds it for a moment.

    Raises:
        PortFault: somebody holds it for longer.
    """
    until = time.monotonic() + LOCKED_WITHIN_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise PortFault(
                    f"socket directory {folder} is held by another process: try again"
                ) from None
            time.sleep(0.01)
        else:
            return


def _clear(path: Path) -> None:
    """Remove the socket of a shoe that was killed."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise PortFault(f"socket {path}: there is a file of another kind; remove it")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        answer = probe.connect_ex(os.fsencode(path))
    if answer in (0, errno.EAGAIN):  # EAGAIN: so many wait already that it takes no more now
        raise PortFault(f"socket {path} is served by another process")
    if answer not in (errno.ECONNREFUSED, errno.ENOENT):
        raise PortFault(f"socket {path}: {os.strerror(answer)}")
    path.unlink(missing_ok=True)
