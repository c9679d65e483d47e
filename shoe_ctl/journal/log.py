"""The log beside a journal: made sure of before anything in it is relied upon, and kept short.

In: the journal's path, its connections. Out: a log that is on the disk; errors where it is not.
Must not know: what is stored, who reads.
"""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path

import apsw

from .place import log_of

PAGES = 1000
"""How long it grows before it is written back into the journal: about four megabytes."""

_PIECE = 1 << 16
"""Bytes a call: SQLite's file layer takes fewer than 128 KiB at once."""


def make_sure(journal: Path, vfs: str | None) -> None:
    """Writes the log that a writer left once more, as it is, and syncs it.

    What it left may be there to be read and yet be lost with the power: it was killed before its
    sync, or the sync failed, after which the system holds for written what it never wrote. Readers
    are not disturbed, and no other writer may be there.

    Raises:
        apsw.Error, OSError: it cannot be relied upon.
    """
    path = log_of(journal)
    if not path.exists() or path.stat().st_size == 0:
        return
    flags = [apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_WAL, 0]
    with closing(_File(vfs or "", str(path), flags)) as log:
        size = log.xFileSize()
        for offset in range(0, size, _PIECE):
            log.xWrite(log.xRead(min(_PIECE, size - offset), offset), offset)
        log.xSync(apsw.SQLITE_SYNC_FULL)


class _File(apsw.VFSFile):
    """A file of the file layer that the journal is on."""

    def close(self) -> None:
        self.xClose()


class Log:
    """Writes the log back as it grows. SQLite would do so too, but say nothing where it fails."""

    def __init__(self) -> None:
        self._pages = 0

    def watch(self, connection: apsw.Connection) -> None:
        """This connection writes to it."""
        connection.set_wal_hook(self._grown)

    def _grown(self, _: apsw.Connection, __: str, pages: int) -> int:
        self._pages = pages
        return apsw.SQLITE_OK

    def tidy(self, connection: apsw.Connection) -> None:
        """Writes it back if it is long; as far as readers let it, and the rest another time.

        Raises:
            apsw.Error: it could not be: nothing is lost that was committed, but no more may be.
        """
        if self._pages >= PAGES:
            with suppress(apsw.BusyError):
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
