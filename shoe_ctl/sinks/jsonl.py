"""Events as JSON lines, to standard output or to a file.

In: envelopes' bytes, one JSON object each. Out: lines, each whole, in order.
Must not know: the journal, what an event means, which audience it is for (a stream a sink).
"""

from __future__ import annotations

import asyncio
import os
import select
import stat
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

from shoe_ctl.errors import EnvironmentFault
from shoe_ctl.records import Audience

from .pump import Sink, SinkEnded

_PIECE = select.PIPE_BUF
"""A pipe that is ready takes this much without blocking."""

_EVENT_STARTS = b'{"id":"'
"""How every event's line begins."""

_MODES = {Audience.PUBLIC: 0o644, Audience.RESTRICTED: 0o600}


def open_jsonl(path: str, audience: Audience, writer: Executor) -> JsonlStream | JsonlFile:
    """The sink for a configured path, ``-`` being standard output.

    ``writer`` is an executor of this sink's own (one thread): it may block for long.

    Raises:
        EnvironmentFault: the file cannot be opened, or is no file of events.
    """
    if path == "-":
        try:
            return JsonlStream(os.dup(1), writer)
        except OSError:
            raise EnvironmentFault("sink -: standard output is closed") from None
    return JsonlFile(Path(path), audience, writer)


class JsonlStream(Sink):
    """Lines to a pipe, a terminal or whatever else ``fd`` is; owns ``fd``."""

    def __init__(self, fd: int, writer: Executor) -> None:
        self._fd = fd
        self._writer = writer
        self._closed = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._rest = b""

    async def deliver(self, events: Sequence[bytes]) -> None:
        """As ``Sink.deliver``; waits while the other end does not read.

        Raises:
            SinkEnded: the other end is closed, or this one.
            OSError: writing failed.
        """
        lines = b"".join(event + b"\n" for event in events)
        await asyncio.get_running_loop().run_in_executor(self._writer, self._write, lines)

    def _write(self, lines: bytes) -> None:
        # what an earlier failure cut off comes first, so that no line is ever torn
        data = memoryview(self._rest + lines)
        poll = select.poll()
        poll.register(self._fd, select.POLLOUT)
        poll.register(self._closed, select.POLLIN)
        written = 0
        try:
            while written < len(data):
                if any(fd == self._closed for fd, _ in poll.poll()):
                    raise SinkEnded("it was closed before all was written")
                written += os.write(self._fd, data[written : written + _PIECE])
        except BrokenPipeError:
            raise SinkEnded("its reader has gone") from None
        finally:
            self._rest = _torn(data, written)

    async def close(self) -> None:
        """Ends it, even while a write waits for a reader."""
        os.eventfd_write(self._closed, 1)
        await asyncio.get_running_loop().run_in_executor(self._writer, self._close)

    def _close(self) -> None:
        os.close(self._fd)
        os.close(self._closed)


def _torn(data: memoryview, written: int) -> bytes:
    """The rest of the line that ``written`` ends in the middle of."""
    whole = bytes(data)
    if written == 0 or whole[written - 1 : written] == b"\n":
        return b""
    return whole[written : whole.index(b"\n", written) + 1]


class JsonlFile(Sink):
    """Lines appended to a file, synced before they count as delivered.

    A restricted file is made readable by its owner only.
    """

    def __init__(self, path: Path, audience: Audience, writer: Executor) -> None:
        self._writer = writer
        try:
            self._fd = os.open(
                path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, _MODES[audience]
            )
        except OSError as error:
            raise EnvironmentFault(f"sink file {path}: {error.strerror}") from None
        try:
            if not stat.S_ISREG(os.fstat(self._fd).st_mode):
                raise EnvironmentFault(f"sink file {path}: not a regular file")
            self._size = _whole_lines(self._fd, path)
            os.ftruncate(self._fd, self._size)
        except BaseException:
            os.close(self._fd)
            raise

    async def deliver(self, events: Sequence[bytes]) -> None:
        """As ``Sink.deliver``; on return the lines are on the disk.

        Raises:
            OSError: nothing of it stands in the file, or will be overwritten by the next try.
        """
        lines = b"".join(event + b"\n" for event in events)
        await asyncio.get_running_loop().run_in_executor(self._writer, self._write, lines)

    def _write(self, lines: bytes) -> None:
        # what an earlier try left is cut off and written anew: a failed sync proves nothing
        os.ftruncate(self._fd, self._size)
        data = memoryview(lines)
        written = 0
        while written < len(data):
            written += os.write(self._fd, data[written:])
        os.fsync(self._fd)
        self._size += len(data)

    async def close(self) -> None:
        """Ends it."""
        await asyncio.get_running_loop().run_in_executor(self._writer, os.close, self._fd)


def _whole_lines(fd: int, path: Path) -> int:
    """The file's size without a last line that a crash cut off; that event comes again.

    Raises:
        EnvironmentFault: the last line is cut off and is not one of ours.
    """
    size = os.fstat(fd).st_size
    end, tail = size, b""
    while end and b"\n" not in tail:
        start = max(0, end - 65536)
        tail = os.pread(fd, end - start, start) + tail
        end = start
    torn = tail[tail.rfind(b"\n") + 1 :]
    if torn[: len(_EVENT_STARTS)] != _EVENT_STARTS[: len(torn)]:
        raise EnvironmentFault(f"sink file {path}: it does not end in an event's line")
    return size - len(torn)
