"""The journal's file and those beside it: lock, log, shared memory, head file, free space.

In: the journal's path. Out: their paths and identities, the writer's lock, files written whole or
not at all, for their owner only. Must not know: what is stored in them.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from shoe_ctl.errors import CorruptJournal, JournalError
from shoe_ctl.file_locks import find_lock_holders, is_locked

PAGE = 4096
"""SQLite makes sure of one byte in so many, which is enough where blocks are no smaller."""

RESERVED = 128 * 1024
"""Bytes: the index of a log of 64 MB. The log is written back at four, so it stays within them."""

LEAST_ROOM = 1 << 20
"""Bytes that must be free before a journal is opened: one that cannot grow is of no use."""


def corrupt_journal(path: Path, what: str) -> JournalError:
    """Return the error for a journal that does not hold what was written."""
    return CorruptJournal(f"journal {path} is corrupt: {what}", f"Run: shoectl verify {path}")


# Paths and identities


@lru_cache(64)
def log_path(journal: Path) -> Path:
    """Return the path of the write-ahead log: commits that are not in the journal's file yet."""
    return journal.with_name(journal.name + "-wal")


def head_path(journal: Path) -> Path:
    """Return the path of the head file: where the chains ended, kept apart from the journal."""
    return journal.with_name(journal.name + "-head")


_SQLITE_MAGIC = b"SQLite format 3\0"
_GZIP_MAGIC = b"\x1f\x8b"  # of an export, which is refused as such

FileIds = list[tuple[int, int] | None]
"""Device and inode of a journal's file and of its log; None for one that is not there."""


def file_ids(journal: Path) -> FileIds:
    """Return the identities of the journal's file and its log."""
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
    """Refuse a journal whose files were moved: what was just written would be lost.

    Raises:
        JournalError: the journal or its log is not the file that was opened.
    """
    if file_ids(journal) != opened:
        raise JournalError(
            f"journal {journal} was moved, deleted or replaced while it was being written. Restore "
            f"{journal.name} and {log_path(journal).name} to continue."
        )


def refuse_if_foreign(journal: Path) -> None:
    """Refuse a file that is no SQLite file, before anything is made beside it.

    Raises:
        JournalError: it has content, and that begins otherwise.
    """
    try:
        with journal.open("rb") as file:
            begins = file.read(len(_SQLITE_MAGIC))
    except OSError:
        return  # it is not there, or who opens it says why it cannot be read
    if begins not in {b"", _SQLITE_MAGIC} and not begins.startswith(_GZIP_MAGIC):
        raise JournalError(
            f"journal {journal} is not a journal of shoe-ctl: it is not an SQLite file"
        )


def refuse_if_linked(journal: Path) -> None:
    """Refuse a journal that has a second name: another daemon may write to it under that one.

    Each name has a lock, a log and a head file of its own, so that neither would notice.

    Raises:
        JournalError: it has.
        OSError: that cannot be told.
    """
    names = journal.stat().st_nlink
    if names > 1:
        raise JournalError(
            f"journal {journal} has {names} names (hard links), and a daemon may write to it under "
            f"each: find the other with find -samefile {journal.name}, and remove it or copy it"
        )


def refuse_if_lost(journal: Path, *, new: bool) -> None:
    """Refuse to begin a journal where one is required, or where something shows that one existed.

    Raises:
        JournalError: there was.
    """
    if not new:
        raise JournalError(
            f"journal {journal} not found. Restore {journal.name} and {log_path(journal).name} to "
            "continue."
        )
    found = [
        f"its {what} {beside.name}"
        for beside, what in ((log_path(journal), "log"), (head_path(journal), "head file"))
        if beside.exists() and beside.stat().st_size > 0
    ]
    if found:
        exist, them = ("exists", "it") if len(found) == 1 else ("exist", "them")
        raise JournalError(
            f"journal {journal} not found, but {' and '.join(found)} {exist}. Restore "
            f"{journal.name} to continue, or remove {them} to begin a new journal."
        )


def refuse_if_full(journal: Path) -> None:
    """Refuse to open a journal on a full disk: its first record would fail.

    Raises:
        JournalError: there is not ``LEAST_ROOM``.
        OSError: that cannot be told.
    """
    disk = os.statvfs(journal.parent)
    if disk.f_bavail * disk.f_frsize < LEAST_ROOM:
        raise JournalError(f"journal {journal} cannot grow: the disk is full. Free some space.")


# Writing files


def unfinished_path(path: Path) -> Path:
    """Return where ``write_atomically`` writes; a kill leaves a file there."""
    return path.with_name(path.name + "-new")


def write_atomically(
    path: Path,
    content: bytes | Iterable[bytes],
    look: Callable[[Path], None] = lambda _: None,
) -> None:
    """Write the file beside its path and move it there once ``look`` found nothing wrong.

    ``content`` is all of it, or pieces, which are written as they come.

    Raises:
        OSError: it cannot be made, or it is not sure that it stays. What ``look`` raises, too.
    """
    new = unfinished_path(path)
    try:
        new.unlink(missing_ok=True)
        fd = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with open(fd, "wb") as file:  # noqa: PTH123 - a descriptor
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            os.fsync(fd)  # before the rename: else the power may leave a name without its content
        look(new)
        new.rename(path)
        sync_folder(path)  # the rename itself outlasts a power failure only from here on
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Sync the name of this file, not its content.

    Raises:
        OSError: it is not sure.
    """
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


# The lock of the one writer

WRITER = "-lock"
"""Added to a journal's name: the file whose lock its writer holds."""


class WriterLock:
    """The lock of a journal's one writer, held from construction until ``release``.

    The lock is on the file beside the journal: on the journal itself, closing any descriptor of it
    would drop SQLite's own locks. The file is never removed: a writer that opened it before would
    hold the lock of a file without a name. Its content only names the holder.

    Raises:
        JournalError: another process has it, or the file cannot be made.
    """

    def __init__(self, journal: Path) -> None:
        path = journal.with_name(journal.name + WRITER)
        self._fd = _open_lock_file(path, journal)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._fd, 32, 0).decode("ascii", "replace").strip()
            if not holder:  # it has not written its name yet, or there was no room for it
                holder = str(next(iter(find_lock_holders(path)), "unknown"))
            os.close(self._fd)
            raise JournalError(
                f"journal {journal} is in use by process {holder} (stop that one, or give each "
                "daemon a journal of its own)"
            ) from None
        except OSError as error:
            os.close(self._fd)
            raise JournalError(f"journal {journal} cannot be locked: {error.strerror}") from None
        # who holds it is a help to people: a full disk has no room for it, and the lock holds
        with suppress(OSError):
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let the next writer in; releasing twice is no harm. Never raises."""
        if self._fd >= 0:
            with suppress(OSError):
                os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = -1


def _open_lock_file(path: Path, journal: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        raise JournalError(f"journal {journal}: no such directory") from None
    except OSError as error:
        raise JournalError(f"journal {journal} is not writable: {error.strerror}") from None


def is_held(journal: Path) -> bool:
    """Return True if a process holds the journal's lock. This takes no lock itself."""
    return is_locked(journal.with_name(journal.name + WRITER))


# SQLite's shared memory


class SharedMemoryFile:
    """Reserves the blocks of SQLite's shared memory while the journal is open.

    There must be a connection already.

    Raises:
        OSError: there is no room.
    """

    def __init__(self, journal: Path) -> None:
        self._fd: int | None = None
        if os.statvfs(journal.parent).f_frsize >= PAGE:
            return
        self._fd = os.open(journal.with_name(journal.name + "-shm"), os.O_RDWR | os.O_CLOEXEC)
        try:
            # SQLite maps this file: where the disk has no block for a page of it, the system ends
            # the process. Asked for beforehand, a full disk is an error.
            os.posix_fallocate(self._fd, 0, RESERVED)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file, after the connections: closing drops this process's locks."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
