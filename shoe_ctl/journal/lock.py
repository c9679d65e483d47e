"""The one-writer lock of a journal, which the system frees when its holder dies.

In: the journal's path. Out: a held lock, or who holds it.
Must not know: SQLite. It locks a file beside the journal, since closing any descriptor of the
journal itself would drop the locks that SQLite holds on it.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from shoe_ctl.errors import JournalError


class WriterLock:
    """Held from construction until ``release``.

    Raises:
        JournalError: another process has it, or the file cannot be made.
    """

    def __init__(self, journal: Path) -> None:
        self._path = journal.with_name(journal.name + "-lock")
        self._fd = _locked(self._path, journal)
        # who holds it is a help to people: a full disk has no room for it, and the lock holds
        with suppress(OSError):
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Lets the next writer in and removes the file."""
        if self._fd >= 0:
            # removed while still held: whoever opened it meanwhile sees that it is gone
            with suppress(OSError):
                self._path.unlink()
            os.close(self._fd)
            self._fd = -1


def is_held(journal: Path) -> bool:
    """Whether a process holds the journal's lock; looking gets in nobody's way."""
    try:
        inode = journal.with_name(journal.name + "-lock").stat().st_ino
        held = Path("/proc/locks").read_text("ascii")
    except OSError:
        return False
    return any(
        " FLOCK " in line and line.split()[-3].endswith(f":{inode}") for line in held.splitlines()
    )


def _locked(path: Path, journal: Path) -> int:
    while True:
        fd = _opened(path, journal)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(fd)
            raise JournalError(f"journal {journal} is in use by process {holder}") from None
        except OSError as error:
            os.close(fd)
            raise JournalError(f"journal {journal} cannot be locked: {error.strerror}") from None
        with suppress(FileNotFoundError):
            if path.stat().st_ino == os.fstat(fd).st_ino:
                return fd
        os.close(fd)  # its last holder removed it between our open and our lock


def _opened(path: Path, journal: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        raise JournalError(f"journal {journal}: no such directory") from None
    except OSError as error:
        raise JournalError(f"journal {journal} is not writable: {error.strerror}") from None
