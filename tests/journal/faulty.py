"""A file layer whose disk fails when told to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw


class FaultyDisk(apsw.VFS):
    """The system's file layer, but calls named in ``failing`` fail on files ending so.

    ``failing`` maps ``sync``, ``write`` or ``truncate`` to the error to raise. ``calls`` counts
    what was asked for on the log of a journal.
    """

    def __init__(self, name: str) -> None:
        self.vfs_name = name
        self.failing: dict[str, type[apsw.Error]] = {}
        self.calls = {"sync": 0, "write": 0, "truncate": 0}
        super().__init__(name, "")

    def xOpen(  # noqa: N802 - SQLite's name
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> apsw.VFSFile:
        return _File(self, name, flags)

    def meet(self, call: str) -> None:
        """Counts a call and fails it if it is to fail."""
        self.calls[call] += 1
        if call in self.failing:
            raise self.failing[call]("the disk failed")


class _File(apsw.VFSFile):
    def __init__(
        self, disk: FaultyDisk, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self._disk = disk
        filename = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._is_log = filename is not None and filename.endswith("-wal")
        super().__init__("", name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        if self._is_log:
            self._disk.meet("sync")
        super().xSync(flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        if self._is_log:
            self._disk.meet("write")
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's name
        if self._is_log:
            self._disk.meet("truncate")
        super().xTruncate(newsize)


@contextmanager
def faulty_disk() -> Iterator[FaultyDisk]:
    """A disk that works until told otherwise."""
    disk = FaultyDisk("faulty")
    try:
        yield disk
    finally:
        disk.unregister()
