"""Files beside the journal: whole or not at all, for their owner only, on the disk when made.

In: a path, content. Out: the file. Must not know: what is in it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from shoe_ctl.errors import JournalError


def write_atomically(
    path: Path,
    content: bytes | Iterable[bytes],
    look: Callable[[Path], None] = lambda _: None,
) -> None:
    """Makes the file beside its place and moves it there, once ``look`` found nothing wrong.

    ``content`` is all of it, or pieces, which are written as they come.

    Raises:
        OSError: it cannot be made, or it is not sure that it stays. What ``look`` raises, too.
    """
    new = path.with_name(path.name + "-new")
    try:
        new.unlink(missing_ok=True)
        fd = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with open(fd, "wb") as file:  # noqa: PTH123 - a descriptor
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            os.fsync(fd)
        look(new)
        new.rename(path)
        sync_folder(path)
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Makes sure of the name of this file, not of what is in it.

    Raises:
        OSError: it is not sure.
    """
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


PAGE = 4096
"""SQLite makes sure of one byte in so many, which is enough where blocks are no smaller."""

RESERVED = 128 * 1024
"""Bytes: the index of a log of 64 MB. It is written back at four."""


class SharedMemoryFile:
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


FileIds = list[tuple[int, int] | None]
"""The devices and numbers of the files that stand at a journal's places; None where none does."""


LEAST_ROOM = 1 << 20
"""Bytes that must be free before a journal is opened: one that cannot grow is of no use."""


def log_path(journal: Path) -> Path:
    """Where what was committed last stands until it is written back into the journal."""
    return journal.with_name(journal.name + "-wal")


def head_path(journal: Path) -> Path:
    """Where it is noted, apart from the journal, how far it went."""
    return journal.with_name(journal.name + "-head")


def file_ids(journal: Path) -> FileIds:
    """Which files the journal and its log are now."""
    found: FileIds = []
    for path in (journal, log_path(journal)):
        try:
            at = os.stat(path)  # noqa: PTH116 - at every commit
        except OSError:
            found.append(None)
        else:
            found.append((at.st_dev, at.st_ino))
    return found


def refuse_if_moved(journal: Path, opened: FileIds) -> None:
    """What was just written may stand where nobody finds it.

    Raises:
        JournalError: the journal or its log is not the file that was opened.
    """
    if file_ids(journal) != opened:
        raise JournalError(f"journal {journal} was taken away while it was written")


def refuse_if_lost(journal: Path, *, new: bool) -> None:
    """A journal that is not there, or empty, is begun only where nothing says that there was one.

    Raises:
        JournalError: there was.
    """
    if not new:
        raise JournalError(f"journal {journal} not found. Restore it and its log file to continue.")
    found = [
        f"its {what} {beside.name}"
        for beside, what in ((log_path(journal), "log"), (head_path(journal), "head file"))
        if beside.exists() and beside.stat().st_size > 0
    ]
    if found:
        there = "is" if len(found) == 1 else "are"
        them = "it" if len(found) == 1 else "them"
        raise JournalError(
            f"journal {journal} not found, but {' and '.join(found)} {there} there. Restore the "
            f"journal, or move {them} away to begin a new one."
        )


def refuse_if_full(journal: Path) -> None:
    """Opening a journal on a full disk would only fail again at its first record.

    Raises:
        JournalError: there is not ``LEAST_ROOM``.
        OSError: that cannot be told.
    """
    disk = os.statvfs(journal.parent)
    if disk.f_bavail * disk.f_frsize < LEAST_ROOM:
        raise JournalError(f"journal {journal} cannot grow: the disk is full")
