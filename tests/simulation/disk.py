"""A disk for one journal: what was not synced may be lost or torn, and calls fail when told to.

In: SQLite's calls, through a file layer of its own over real files; faults; moments of a crash.
Out: what a crash leaves of every file. Must not know: records, who writes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw

SECTOR = 512
"""A disk writes so much wholly or not at all, as most do; a torn write ends at a multiple of it."""

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


class Disk:
    """Registers a file layer called ``name`` until ``close``. ``calls`` counts what it was asked.

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
        self._layer = _Layer(self, name)

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

    # What the file layer tells.

    def read(self) -> None:
        self.calls["read"] += 1
        self.before_read()

    def met(self, call: str) -> None:
        self.calls[call] += 1
        self.before(call)

    def wrote(self, path: Path, offset: int, old: bytes, new: bytes) -> None:
        writes = self._unsynced.setdefault(path, [])
        end = offset + len(new)
        # What is written anew is to be synced anew: the failed sync of it is past.
        writes[:] = [w for w in writes if not (w.doomed and w.overlaps(offset, end))]
        writes.append(_Write(offset, old, new))

    def synced(self, path: Path) -> None:
        self._unsynced[path] = [w for w in self._unsynced.get(path, []) if w.doomed]

    def sync_failed(self, path: Path) -> None:
        """The system believes these pages clean from now on, and never writes them again."""
        for write in self._unsynced.get(path, []):
            write.doomed = True

    def cut(self, path: Path, size: int) -> None:
        self._unsynced[path] = [w for w in self._unsynced.get(path, []) if w.end <= size]

    def gone(self, path: Path) -> None:
        self._unsynced.pop(path, None)

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


class _Layer(apsw.VFS):
    """The system's file layer, watched."""

    def __init__(self, disk: Disk, name: str) -> None:
        self._disk = disk
        super().__init__(name, "")

    def xOpen(  # noqa: N802 - SQLite's name
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> apsw.VFSFile:
        return _File(self._disk, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self._disk.met("delete")
        super().xDelete(filename, syncdir)
        self._disk.gone(Path(filename))


class _File(apsw.VFSFile):
    """A file whose writes are kept in mind until they are synced; syncing costs no time."""

    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        filename = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._path = Path(filename or "")
        super().__init__("", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._disk.read()
        return super().xRead(amount, offset)

    def xLock(self, level: int) -> None:  # noqa: N802
        try:
            super().xLock(level)
        except apsw.IOError as error:
            # A reader that closes last asks for the writer's lock and goes without it; from here
            # that would fail its close instead.
            raise apsw.BusyError("not for a reader") from error

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.met("write")
        old = super().xRead(len(data), offset) if offset < super().xFileSize() else b""
        super().xWrite(data, offset)
        self._disk.wrote(self._path, offset, old, bytes(data))

    def xSync(self, flags: int) -> None:  # noqa: N802, ARG002
        try:
            self._disk.met("sync")
        except apsw.Error:
            self._disk.sync_failed(self._path)
            raise
        self._disk.synced(self._path)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.met("truncate")
        super().xTruncate(newsize)
        self._disk.cut(self._path, newsize)
