"""A journal's file layer whose every call is counted, and can be made to fail, to tear or to kill.

In: what is to happen around each call. Out: an SQLite file layer to hand to ``Store.open``.
Must not know: what is stored.
"""

from __future__ import annotations

import os
import random
import signal
import sys
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

    ``number`` counts from 1 over all files. A ``write`` has its data, its offset in bytes and
    ``put``, which writes as many bytes as one likes; a ``truncate`` has its size as ``offset``.
    """

    number: int
    op: str
    path: str
    data: bytes = b""
    offset: int = 0
    put: Callable[[bytes, int], None] | None = None

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
        more = {"data": data, "offset": offset, "put": base}
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
