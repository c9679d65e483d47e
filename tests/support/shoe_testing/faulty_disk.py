"""A disk that fails: one file layer of SQLite, and what may happen around each of its calls.

In: what is to happen around each call: fail, tear, kill, lose power. Out: a file layer to hand to
``Store.open``, and the files as a crash or a power failure leaves them.
Must not know: what is stored.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import apsw

WRITES = frozenset({"write", "truncate", "delete"})
"""What changes a file."""

READS = frozenset({"read", "size", "access"})


@dataclass(frozen=True, slots=True)
class Call:
    """One call: ``op`` is open, read, write, truncate, sync, size, lock, delete or access.

    ``number`` counts from 1 over all files. A ``write`` has its data, its offset in bytes,
    ``put``, which writes as many bytes as one likes, and ``old``, which reads what it replaces;
    a ``truncate`` has its size as ``offset``.
    """

    number: int
    op: str
    path: str
    data: bytes = b""
    offset: int = 0
    put: Callable[[bytes, int], None] | None = None
    old: Callable[[], bytes] = bytes

    @property
    def part(self) -> str:
        """Which file it is about: the ``main`` one, or its ``wal``, ``shm``, ``new``, …"""
        return self.path.rpartition("-")[2] if "-" in Path(self.path).name else "main"


Do = Callable[[], Any]
Around = Callable[[Call, Do], Any]
"""Is given each call, and what does it; raising an ``apsw.Error`` instead makes it fail."""


def quietly(_: Call, do: Do) -> Any:
    """Lets every call be."""
    return do()


class Disk(apsw.VFS):
    """The system's file layer, with ``around`` around each call; it may be changed at any time."""

    def __init__(self, name: str, around: Around) -> None:
        self.name = name
        self.around = around
        self._numbers = count(1)
        super().__init__(name, "")

    def met(self, op: str, path: str | None, do: Do, **more: Any) -> Any:
        """Has this done, or not, as ``around`` wills."""
        return self.around(Call(next(self._numbers), op, path or "", **more), do)

    def xOpen(  # noqa: N802 - SQLite's name
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> apsw.VFSFile:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        opened: apsw.VFSFile = self.met("open", path, lambda: _File(self, path, name, flags))
        return opened

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 - SQLite's name
        base = super().xDelete
        self.met("delete", filename, lambda: base(filename, syncdir))

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: N802 - SQLite's name
        base = super().xAccess
        return bool(self.met("access", pathname, lambda: base(pathname, flags)))


class _File(apsw.VFSFile):
    def __init__(
        self, disk: Disk, path: str | None, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self._disk = disk
        self._path = path
        super().__init__("", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802 - SQLite's name
        base = super().xRead
        read: bytes = self._disk.met("read", self._path, lambda: base(amount, offset))
        return read

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        base, data = super().xWrite, bytes(data)
        read, size = super().xRead, super().xFileSize

        def old() -> bytes:
            return read(len(data), offset) if offset < size() else b""

        more = {"data": data, "offset": offset, "put": base, "old": old}
        self._disk.met("write", self._path, lambda: base(data, offset), **more)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's name
        base = super().xTruncate
        self._disk.met("truncate", self._path, lambda: base(newsize), offset=newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        base = super().xSync
        self._disk.met("sync", self._path, lambda: base(flags))

    def xFileSize(self) -> int:  # noqa: N802 - SQLite's name
        size: int = self._disk.met("size", self._path, super().xFileSize)
        return size

    def xLock(self, level: int) -> None:  # noqa: N802 - SQLite's name
        base = super().xLock
        self._disk.met("lock", self._path, lambda: base(level))


_serial = count(1)


@contextmanager
def disk(around: Around = quietly) -> Iterator[Disk]:
    """A file layer of its own name, gone in the end.

    What it raises where SQLite takes no answer, while it closes a file, say, is nobody's to hear.
    """
    made = Disk(f"tried-{next(_serial)}", around)
    before = sys.unraisablehook

    def heard(unraisable: Any) -> None:
        if not isinstance(unraisable.exc_value, apsw.Error):
            before(unraisable)

    sys.unraisablehook = heard
    try:
        yield made
    finally:
        sys.unraisablehook = before
        made.unregister()


class Listing:
    """Lets every call be and keeps it."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def __call__(self, call: Call, do: Do) -> Any:
        self.calls.append(call)
        return do()

    def numbers(self, *ops: str) -> list[int]:
        """The calls of these kinds, all if none is named."""
        return [call.number for call in self.calls if not ops or call.op in ops]


@dataclass(frozen=True, slots=True)
class Fault:
    """A way in which a disk fails: which calls can meet it, and the error that SQLite is told.

    A lasting one stays for every such call from the first on; else only one call fails.
    """

    name: str
    ops: frozenset[str]
    error: type[apsw.Error]
    lasting: bool = False


FULL = Fault("full", frozenset({"write"}), apsw.FullError, lasting=True)
READ_ONLY = Fault("read-only", WRITES | {"sync"}, apsw.ReadOnlyError, lasting=True)
BROKEN = Fault("broken", WRITES | READS | {"open", "sync", "lock"}, apsw.IOError, lasting=True)
ONE_ERROR = Fault("one error", WRITES | READS | {"open", "sync", "lock"}, apsw.IOError)
ONE_SYNC = Fault("one failed sync", frozenset({"sync"}), apsw.IOError)

FAULTS = (FULL, READ_ONLY, BROKEN, ONE_ERROR, ONE_SYNC)


class Failing:
    """The disk fails so from call ``at`` on. ``met`` says whether any call did."""

    def __init__(self, fault: Fault, at: int) -> None:
        self._fault = fault
        self._at = at
        self.met: Call | None = None

    def __call__(self, call: Call, do: Do) -> Any:
        due = call.number >= self._at if self._fault.lasting else call.number == self._at
        if due and call.op in self._fault.ops:
            self.met = self.met or call
            raise self._fault.error(f"the disk failed: {self._fault.name}")
        return do()


class Dying:
    """The process is killed around call ``at``: ``before`` it, ``after`` it, or, where it is a
    write, when that many bytes of it are written."""

    def __init__(self, at: int, when: str | int) -> None:
        self._at = at
        self._when = when

    def __call__(self, call: Call, do: Do) -> Any:
        if call.number != self._at:
            return do()
        if isinstance(self._when, int):
            assert call.put is not None
            call.put(call.data[: self._when], call.offset)
        elif self._when == "after":
            do()
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("killed")


SECTOR = 512
"""What a disk writes whole or not at all, in bytes."""

Piece = tuple[int, bytes | None]
"""Bytes at an offset; or None, and the size that the file is cut to."""


@dataclass(slots=True)
class _Kept:
    """One file: what is surely on the disk, and what was written since, in pieces of a sector."""

    durable: bytearray
    pending: list[Piece] = field(default_factory=list)


class ForgetfulDisk:
    """Keeps what each file is sure to hold: what was synced, and nothing that came after.

    ``failing_syncs`` names those that fail, counted from 1 over all files. As on Linux, what such
    a sync was to write is never written any more, although it is still read as if it were there.
    """

    def __init__(self, folder: Path, *, failing_syncs: Sequence[int] = ()) -> None:
        self._files = {
            str(path): _Kept(bytearray(path.read_bytes()))
            for path in folder.iterdir()
            if path.is_file() and not path.name.endswith(("-lock", "-shm"))
        }
        self._failing = frozenset(failing_syncs)
        self.syncs = 0

    def __call__(self, call: Call, do: Do) -> Any:
        if call.op == "sync":
            return self._sync(call, do)
        done = do()
        if call.op == "open" and not call.path.endswith("-shm"):
            self._files.setdefault(call.path, _Kept(bytearray()))
        elif call.op == "write":
            self._files[call.path].pending += _in_sectors(call.data, call.offset)
        elif call.op == "truncate":
            self._files[call.path].pending.append((call.offset, None))
        elif call.op == "delete":
            self._files.pop(call.path, None)
        return done

    def _sync(self, call: Call, do: Do) -> None:
        self.syncs += 1
        kept = self._files[call.path]
        pending, kept.pending = kept.pending, []
        if self.syncs in self._failing:
            raise apsw.IOError("the disk failed to sync")
        do()
        for piece in pending:
            _apply(kept.durable, piece)

    def killed(self, folder: Path) -> ForgetfulDisk:
        """This disk after the writer was killed: in ``folder`` stands what can be read of it."""
        folder.mkdir()
        left = ForgetfulDisk(folder)
        for name, kept in self._files.items():
            path = folder / Path(name).name
            path.write_bytes(Path(name).read_bytes())
            left._files[str(path)] = _Kept(bytearray(kept.durable), list(kept.pending))
        return left

    def cut(
        self, folder: Path, choose: random.Random | None = None, *, all_written: bool = False
    ) -> None:
        """The files as they are found after the power went now.

        Of what was not synced there is nothing; all of it with ``all_written``; or as many of its
        sectors, in any order, as ``choose`` chooses.
        """
        folder.mkdir()
        for path, kept in self._files.items():
            content = bytearray(kept.durable)
            pieces = list(kept.pending) if all_written or choose is not None else []
            if choose is not None:
                pieces = [piece for piece in pieces if choose.random() < 0.5]
            for piece in pieces:
                _apply(content, piece)
            (folder / Path(path).name).write_bytes(content)


def _in_sectors(data: bytes, offset: int) -> list[Piece]:
    pieces: list[Piece] = []
    while data:
        size = SECTOR - offset % SECTOR
        pieces.append((offset, data[:size]))
        data, offset = data[size:], offset + size
    return pieces


def _apply(content: bytearray, piece: Piece) -> None:
    offset, data = piece
    if data is None:
        del content[offset:]
        return
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


Image = dict[str, bytes]
"""What is left of a folder: each file's content by its name."""

_NEVER_LEFT = ("-shm", "-lock")
"""Shared memory does not outlive its machine, and a lock not its process."""


@dataclass(slots=True)
class _Write:
    """A write that no sync has covered. ``doomed``: a sync of it failed, and no later one helps."""

    offset: int
    old: bytes
    new: bytes
    doomed: bool = False

    @property
    def end(self) -> int:
        return self.offset + len(self.new)

    def overlaps(self, offset: int, end: int) -> bool:
        return self.offset < end and offset < self.end


class SimulatedDisk:
    """The disk of the simulated world: registered as ``name`` until ``close``.

    Other than ``ForgetfulDisk``, which tests cut at a call that they choose, it loses whole
    writes by chance, tears some, and goes on after each crash. ``calls`` counts what it was asked.

    ``before`` is called ahead of each write, sync, truncate and delete, with the call's name, and
    may raise an ``apsw.Error``: the call is then not done. ``before_read`` is the same for reads.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        self.calls: Counter[str] = Counter()
        self.before: Callable[[str], None] = lambda _: None
        self.before_read: Callable[[], None] = lambda: None
        self._unsynced: dict[Path, list[_Write]] = {}
        self._layer = Disk(name, self._call)

    def close(self) -> None:
        """Takes the file layer away again."""
        self._layer.unregister()

    def processes_end(self) -> Image:
        """What a process that is killed leaves: all that it wrote."""
        return {path.name: path.read_bytes() for path in self._files()}

    def power_fails(self, chance: random.Random) -> Image:
        """What a power failure leaves: of writes not synced any part, in any order."""
        share = chance.choice((0.0, 0.5, 1.0))
        return {path.name: self._left(path, chance, share) for path in self._files()}

    def synced_only(self) -> Image:
        """The least that a power failure can leave."""
        return {path.name: self._left(path, random.Random(0), 0.0) for path in self._files()}

    def restore(self, image: Image) -> None:
        """The folder as it was left; nobody may have a file of it open."""
        for path in self.folder.iterdir():
            path.unlink()
        for name, content in image.items():
            path = self.folder / name
            path.touch(mode=0o600)
            path.write_bytes(content)
        self._unsynced.clear()

    def _call(self, call: Call, do: Do) -> Any:
        """Has one call done; syncing costs no time."""
        path = Path(call.path)
        if call.op == "read":
            self.calls["read"] += 1
            self.before_read()
        elif call.op == "lock":
            return self._lock(do)
        elif call.op == "sync":
            return self._sync(path)
        elif call.op in WRITES:
            self._ahead_of(call.op)
        old = call.old() if call.op == "write" else b""
        done = do()
        if call.op == "write":
            self._wrote(path, call.offset, old, call.data)
        elif call.op == "truncate":
            self._unsynced[path] = [w for w in self._unsynced.get(path, []) if w.end <= call.offset]
        elif call.op == "delete":
            self._unsynced.pop(path, None)
        return done

    def _ahead_of(self, op: str) -> None:
        self.calls[op] += 1
        self.before(op)

    def _lock(self, do: Do) -> None:
        try:
            do()
        except apsw.IOError as error:
            # A reader that closes last asks for the writer's lock and goes without it; from here
            # that would fail its close instead.
            raise apsw.BusyError("not for a reader") from error

    def _sync(self, path: Path) -> None:
        try:
            self._ahead_of("sync")
        except apsw.Error:
            # The system believes these pages clean from now on, and never writes them again.
            for write in self._unsynced.get(path, []):
                write.doomed = True
            raise
        self._unsynced[path] = [w for w in self._unsynced.get(path, []) if w.doomed]

    def _wrote(self, path: Path, offset: int, old: bytes, new: bytes) -> None:
        writes = self._unsynced.setdefault(path, [])
        end = offset + len(new)
        # What is written anew is to be synced anew: the failed sync of it is past.
        writes[:] = [w for w in writes if not (w.doomed and w.overlaps(offset, end))]
        writes.append(_Write(offset, old, new))

    # What is left.

    def _files(self) -> Iterator[Path]:
        for path in sorted(self.folder.iterdir()):
            if not path.name.endswith(_NEVER_LEFT):
                yield path

    def _left(self, path: Path, chance: random.Random, share: float) -> bytes:
        """The file as synced, and each later write with this probability, perhaps torn."""
        content = bytearray(path.read_bytes())
        writes = self._unsynced.get(path, [])
        for write in reversed(writes):
            end = write.offset + len(write.old)
            if write.end >= len(content):
                del content[write.offset :]
                content += write.old
            else:
                content[write.offset : write.end] = write.old.ljust(len(write.new), b"\0")
            assert len(content) >= end
        for write in writes:
            if chance.random() < share:
                new = write.new[: _torn(chance, len(write.new))]
                content.extend(bytes(max(0, write.offset - len(content))))
                content[write.offset : write.offset + len(new)] = new
        return bytes(content)


def _torn(chance: random.Random, size: int) -> int:
    """How much of a write arrives."""
    if chance.random() < 0.5:
        return size
    return min(size, SECTOR * chance.randrange(size // SECTOR + 1))
