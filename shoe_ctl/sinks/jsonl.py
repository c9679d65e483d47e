"""Events as JSON lines, to standard output or to a file.

In: envelopes' bytes, one JSON object each. Out: lines, each whole, in order.
Must not know: the journal, what an event means. Each sink has one stream, of one audience.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import select
import stat
import struct
import time
import zlib
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from shoe_ctl.errors import EnvironmentFault
from shoe_ctl.file_locks import find_lock_holders
from shoe_ctl.records import Audience
from shoe_ctl.sinks.pump import Sink, SinkEnded

_PIECE = select.PIPE_BUF
"""A pipe that is ready takes this much without blocking."""

_EVENT_STARTS = b'{"id":"'
"""The beginning of every event's line."""

_LENGTH = struct.Struct("<I")
"""The last four bytes of a gzip file: the length of what was compressed, up to 4 GiB."""

_MOST_TURNS = 16
"""One delivery starts over so often because the file was renamed, removed or cut meanwhile. Then it
fails with a reason, and is retried like any other: staff see a file that is taken away all
along."""

_KEPT_NS = 10_000_000_000
_MOST_KEPT = 4096
"""Written lines are remembered for so long, and so many: a copy of the file that was begun before
them may lack them."""

_DOUBTED_NS = 1_000_000_000
"""Lines written within this time before a cut may have been written after the copy was made."""

_LEFT_ALONE_S = 1.0
"""A renamed file is left unchanged for so long for a program that compresses it: gzip reports a
file that changes meanwhile."""

_PACKED_WITHIN_S = 10.0
"""The wait, once its last lines were taken back, for a program that may have read them before and
is still compressing. After it they are written again: better twice than never."""

_LOOK_S = 0.005
"""The interval at which these waits look for the compressed file; nothing tells of its end."""

GATHER_S = 0.02
"""Each delivery syncs the file, and the journal needs the same disk: events gather before it. By
then the loop has done what else follows from a card, and does not wait for this thread."""

log = logging.getLogger(__name__)

_MODES = {Audience.PUBLIC: 0o644, Audience.RESTRICTED: 0o600}
"""Of a new file. The restricted stream names cards that nobody may know yet: only its owner reads
them."""


def open_jsonl(path: str, audience: Audience, writer: Executor) -> JsonlStream | JsonlFile:
    """Return the sink for a configured path; ``-`` is standard output.

    ``writer`` is an executor for this sink alone, with one thread: a write may block for long.

    Raises:
        EnvironmentFault: the file cannot be opened, or holds something other than events.
    """
    if path == "-":
        try:
            return JsonlStream(os.dup(1), writer)
        except OSError:
            raise EnvironmentFault("sink -: standard output is closed") from None
    return JsonlFile(Path(path), audience, writer)


class JsonlStream(Sink):
    """Lines to a pipe, a terminal or whatever else ``fd`` is. Closes ``fd`` in the end."""

    def __init__(self, fd: int, writer: Executor) -> None:
        self._fd = fd
        self._writer = writer
        self._closed = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._rest = b""

    async def deliver(self, events: Sequence[bytes]) -> None:
        """Deliver as ``Sink.deliver``; wait while the other end does not read.

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
        """Close the stream, even while a write waits for a reader."""
        os.eventfd_write(self._closed, 1)
        await asyncio.get_running_loop().run_in_executor(self._writer, self._close)

    def _close(self) -> None:
        os.close(self._fd)
        os.close(self._closed)


def _torn(data: memoryview, written: int) -> bytes:
    """Return the rest of the line that ``written`` ends in the middle of."""
    whole = bytes(data)
    if written == 0 or whole[written - 1 : written] == b"\n":
        return b""
    return whole[written : whole.index(b"\n", written) + 1]


class _Line(NamedTuple):
    """A line as it was written: where it starts in the file, and when (ns since 1970 UTC)."""

    start: int
    written_ns: int
    data: bytes

    @property
    def end(self) -> int:
        """Where the next line starts."""
        return self.start + len(self.data)


class JsonlFile(Sink):
    """Lines appended to a file, synced before they count as delivered.

    A restricted file is created readable by its owner only. The file is locked, so that it has one
    writer.

    Before and after each write its name must still lead to it. If it was renamed or removed, the
    name is opened again. What was just written is then removed from the old file and written to the
    new one, except for lines that were compressed meanwhile. If the file was cut, as by logrotate's
    ``copytruncate``, the lines that the copy lacks are written again.

    Raises:
        EnvironmentFault: the file cannot be opened, has another writer, or holds something other
            than events.
    """

    gather_s = GATHER_S

    def __init__(self, path: Path, audience: Audience, writer: Executor) -> None:
        self._path = path
        self._mode = _MODES[audience]
        self._writer = writer
        try:
            self._fd, self._size = _opened(path, self._mode)
        except OSError as error:
            raise EnvironmentFault(str(error)) from None
        self._tried: list[bytes] = []
        """Lines of a failed write: bytes behind ``_size`` are theirs."""
        self._packed: set[bytes] = set()
        """Lines of failed writes that a compressed file holds: they are not written again."""
        self._recent: deque[_Line] = deque()
        self._owed: list[bytes] = []
        """Delivered lines that a cut removed and no copy holds: they are written again."""

    async def deliver(self, events: Sequence[bytes]) -> None:
        """Deliver as ``Sink.deliver``: the lines are then on the disk, in the file of that name.

        Raises:
            OSError: nothing counts as delivered; what stands in the file of it is removed later.
        """
        lines = [event + b"\n" for event in events]
        await asyncio.get_running_loop().run_in_executor(self._writer, self._write, lines)

    async def reopen(self) -> None:
        """Check now whether the name still leads to the file; open it again if not."""
        await asyncio.get_running_loop().run_in_executor(self._writer, self._reopen)

    def _reopen(self) -> None:
        try:
            self._write([])
        except OSError as error:
            log.warning('sink file: not opened: reason="%s". The next event retries.', error)

    def _write(self, lines: list[bytes]) -> None:
        for _ in range(_MOST_TURNS):
            self._find_file()
            batch = [line for line in (*self._owed, *lines) if line not in self._packed]
            if not batch:
                self._owed = []
                self._packed.difference_update(lines)
                return
            data = b"".join(batch)
            self._append(batch, data)
            own = os.fstat(self._fd)
            if _at(self._path) != (own.st_dev, own.st_ino):
                continue  # renamed or removed meanwhile: the lines go to a new file
            self._tried, self._owed = [], []
            self._packed.difference_update(lines)
            if own.st_size >= self._size + len(data):
                self._count(batch)
                return
            self._cut_while_written(batch, own.st_size)
            lines = []
        raise OSError(f"sink file {self._path}: it is taken away again and again")

    def _append(self, batch: list[bytes], data: bytes) -> None:
        """Append lines and sync. After an error none of them counts: they are written again."""
        self._tried = batch
        view, written = memoryview(data), 0
        while written < len(view):
            written += os.write(self._fd, view[written:])
        os.fsync(self._fd)

    def _count(self, batch: Sequence[bytes]) -> None:
        """Count these lines as written."""
        now_ns, recent = time.time_ns(), self._recent
        for data in batch:
            recent.append(_Line(self._size, now_ns, data))
            self._size += len(data)
        # one old line stays: a copy that has none of the newer lines ends with it
        while len(recent) > 1 and recent[1].written_ns < now_ns - _KEPT_NS:
            recent.popleft()
        while len(recent) > _MOST_KEPT:
            recent.popleft()

    def _find_file(self) -> None:
        """Make sure that the file has its name, and ends with the last line that counts.

        Raises:
            OSError: the name cannot be opened, or leads to something other than a file of events.
        """
        own = os.fstat(self._fd)
        if _at(self._path) != (own.st_dev, own.st_ino):
            self._take_back(own.st_size)
            fd, size = _opened(self._path, self._mode)
            log.info("sink file: opened again: path=%s reason=renamed_or_removed", self._path)
            os.close(self._fd)
            self._fd, self._size, self._recent = fd, size, deque()
        elif own.st_size < self._size:
            self._look_what_was_cut(own)
        elif own.st_size > self._size:
            # what a failed write left, or what another program has written
            end = self._size if self._tried else _whole_lines(self._fd, self._path)
            os.ftruncate(self._fd, end)
            self._size = end
        self._tried = []

    def _take_back(self, size: int) -> None:
        """Remove the lines of a failed write from the old file; note those compressed before."""
        if not self._tried:
            return
        _packing_over(self._fd, self._path, _LEFT_ALONE_S)
        if size > self._size:
            os.ftruncate(self._fd, self._size)
        old, over = _packing_over(self._fd, self._path, _PACKED_WITHIN_S)
        tried, end = [], self._size
        for data in self._tried:
            tried.append(_Line(end, 0, data))
            end += len(data)
        held = _copied(old, tried)
        if held is not None:
            self._packed.update(line.data for line in tried if line.end <= held)
        elif not over:
            log.warning(
                "sink file: renamed and still being compressed: path=%s events=%d. These last "
                "events are written again and may stand in two files.",
                self._path, len(tried),
            )  # fmt: skip
        self._tried = []

    def _cut_while_written(self, batch: Sequence[bytes], size: int) -> None:
        data = b"".join(batch)
        left = os.pread(self._fd, size, 0)
        if left == data:  # cut before the write: only these lines stand in the file
            self._owed = self._cut_off(time.time_ns(), 0)
            self._size, self._recent = 0, deque()
            self._count(batch)
            return
        if left and data.endswith(left):  # cut during the write
            os.ftruncate(self._fd, 0)
        self._count(batch)

    def _look_what_was_cut(self, own: os.stat_result) -> None:
        whole = _whole_lines(self._fd, self._path)
        log.info("sink file: truncated: path=%s bytes=%d left=%d", self._path, self._size, whole)
        self._owed += self._cut_off(own.st_mtime_ns, whole)
        os.ftruncate(self._fd, whole)
        self._size = whole
        self._recent = deque(line for line in self._recent if line.end <= whole)

    def _cut_off(self, at_ns: int, size: int) -> list[bytes]:
        """Return the lines that are neither in the truncated file nor in its copy.

        A program that copies a file and then cuts it misses what is written in between. If no copy
        is found, these are the lines written shortly before the cut, as any of them may be missed.
        """
        gone = [line for line in self._recent if line.end > size]
        copied = _copied(self._path, gone) if gone else None
        if gone and copied is None:
            # gzip may have put its file in the copy's place while the folder was read: look again.
            time.sleep(_LOOK_S)
            copied = _copied(self._path, gone)
        if copied is not None:
            return [line.data for line in gone if line.end > copied]
        doubtful = [line.data for line in gone if line.written_ns >= at_ns - _DOUBTED_NS]
        if doubtful:
            log.warning(
                "sink file: truncated without a copy beside it: path=%s events=%d. These last "
                "events are written again and may stand in two files.",
                self._path, len(doubtful),
            )  # fmt: skip
        return doubtful

    async def close(self) -> None:
        """Close the file."""
        await asyncio.get_running_loop().run_in_executor(self._writer, self._close)

    def _close(self) -> None:
        try:
            if self._owed or os.fstat(self._fd).st_size < self._size:
                self._reopen()
        finally:
            os.close(self._fd)


def _at(path: Path) -> tuple[int, int] | None:
    """Return device and inode of the file that the name leads to; None if there is none."""
    try:
        at = os.stat(path)  # noqa: PTH116 - twice at every delivery
    except OSError:
        return None
    return at.st_dev, at.st_ino


def _opened(path: Path, mode: int) -> tuple[int, int]:
    """Open or create the file of this name, and lock it; return it and where its last line ends.

    Raises:
        OSError: what is wrong, in one line for people.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
    while True:
        try:
            fd = os.open(path, flags, mode)
        except FileNotFoundError as error:
            why = f"{error.strerror} (make the folder {path.parent})"
            raise OSError(f"sink file {path}: {why}") from None
        except OSError as error:
            raise OSError(f"sink file {path}: {error.strerror}") from None
        try:
            own = os.fstat(fd)
            if not stat.S_ISREG(own.st_mode):
                raise OSError(f"sink file {path}: not a regular file")
            _lock(fd, path)
            # Only under the lock: before it, the name may have been given to another file.
            if _at(path) == (own.st_dev, own.st_ino):
                size = _whole_lines(fd, path)
                os.ftruncate(fd, size)
                _sync_folder(path)
                return fd, size
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # renamed or removed before we locked it


def _lock(fd: int, path: Path) -> None:
    """Lock the file, so that no other daemon writes to it.

    A lock that is shared is passed over, and that of a user who may only read the file: a writer's
    is neither.

    Raises:
        OSError: it has another writer, or cannot be locked.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holders = find_lock_holders(path)
        writers = [pid for pid in find_lock_holders(path, exclusive=True) if _may_write(pid, fd)]
        if holders and not writers:
            log.warning("sink: lock of a reader passed over: file=%s process=%d", path, holders[0])
            return
        pid = next(iter(writers), None)
        if pid == os.getpid():
            who, each = "another sink of this configuration", "sink"
        else:
            who, each = "another process" if pid is None else f"process {pid}", "daemon"
        raise OSError(
            f"sink file {path}: {who} writes to it; give each {each} a file of its own"
        ) from None
    except OSError as error:
        raise OSError(f"sink file {path} cannot be locked: {error.strerror}") from None


def _may_write(pid: int, fd: int) -> bool:
    """Return True if this process is of a user who may write to the file; False for a reader.

    Anybody who may read a file can lock it, flock(2) asks for no more.
    """
    try:
        user = Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return True  # it has ended, or is not shown: the lock counts
    found = os.fstat(fd)
    others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return user in {0, os.geteuid(), found.st_uid} or bool(others)


def _sync_folder(path: Path) -> None:
    """Sync a new file's name, if its folder may be read."""
    with suppress(OSError):
        fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _whole_lines(fd: int, path: Path) -> int:
    """Return the file's size without a last line that a crash cut off; that event comes again.

    Raises:
        OSError: the last line is cut off and is not one of ours.
    """
    size = os.fstat(fd).st_size
    end, tail = size, b""
    while end and b"\n" not in tail:
        start = max(0, end - 65536)
        tail = os.pread(fd, end - start, start) + tail
        end = start
    torn = tail[tail.rfind(b"\n") + 1 :]
    if torn[: len(_EVENT_STARTS)] != _EVENT_STARTS[: len(torn)]:
        raise OSError(f"sink file {path}: it does not end in an event's line")
    return size - len(torn)


def _packing_over(fd: int, path: Path, within_s: float) -> tuple[Path, bool]:
    """Wait until nobody compresses a rotated file; return its new name, and False if they still do.

    gzip creates the compressed file before it reads, and removes the original at the end. While
    there is no compressed file, a gzip that starts later reads what stands in the file then.
    """
    until = time.monotonic() + within_s
    while True:
        with suppress(OSError):
            path = Path(os.readlink(f"/proc/self/fd/{fd}"))  # noqa: PTH115 - not to be resolved
        if os.fstat(fd).st_nlink == 0 or not path.with_name(f"{path.name}.gz").exists():
            return path, True
        if time.monotonic() >= until:
            return path, False
        time.sleep(_LOOK_S)


def _copied(path: Path, lines: Sequence[_Line]) -> int | None:
    """Return how many bytes of the file the longest copy in its folder holds; None without one.

    A copy is known by its end: within one of these lines, at the same place in the file, with the
    same bytes. It may be compressed.
    """
    found = None
    with suppress(OSError), os.scandir(path.resolve().parent) as folder:
        for entry in folder:
            with suppress(OSError, EOFError, zlib.error):
                if entry.name != path.name and entry.is_file(follow_symlinks=False):
                    held = _held_by(Path(entry.path), lines)
                    found = max((n for n in (found, held) if n is not None), default=None)
    return found


def _held_by(copy: Path, lines: Sequence[_Line]) -> int | None:
    """Return how many bytes this copy holds; None if it is none: see ``_copied``.

    Raises:
        OSError: it cannot be read, or its name says that it is compressed and it is not.
        EOFError: it is still being compressed.
    """
    with copy.open("rb") as plain:
        size = os.fstat(plain.fileno()).st_size
        packed = copy.suffix == ".gz" and size > _LENGTH.size
        if packed:
            (size,) = _LENGTH.unpack(os.pread(plain.fileno(), _LENGTH.size, size - _LENGTH.size))
        line = next((line for line in lines if line.start < size <= line.end), None)
        if line is None:
            return None
        wanted = line.data[: size - line.start]
        if not packed:
            return size if os.pread(plain.fileno(), len(wanted), line.start) == wanted else None
        import gzip

        tail = b""
        with gzip.open(plain) as unpacked:
            while piece := unpacked.read(1 << 20):
                tail = (tail + piece)[-len(wanted) :]
        return size if tail == wanted else None
