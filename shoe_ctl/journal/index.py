"""Room on the disk for the log's index, which SQLite shares with readers as mapped memory.

In: the journal's path. Out: a file whose blocks are all there. Without them a full disk would not
be an error: the system ends a process that writes to mapped memory it has no block for.
Must not know: what is stored, who reads.
"""

from __future__ import annotations

import os
from pathlib import Path

PAGE = 4096
"""SQLite makes sure of one byte in so many, which is enough where blocks are no smaller."""

RESERVED = 128 * 1024
"""Bytes: the index of a log of 64 MB. It is written back at four."""


class Index:
    """Holds the index's blocks while the journal is open. There must be a connection already.

    Raises:
        OSError: there is no room.
    """

    def __init__(self, journal: Path) -> None:
        self._fd: int | None = None
        if os.statvfs(journal.parent).f_frsize >= PAGE:
            return
        self._fd = os.open(journal.with_name(journal.name + "-shm"), os.O_RDWR | os.O_CLOEXEC)
        try:
            os.posix_fallocate(self._fd, 0, RESERVED)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """To be called when the connections are closed: it takes this process's locks with it."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
