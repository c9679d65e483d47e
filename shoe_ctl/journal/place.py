"""Where a journal's files are: whether they are there, and still those that are written.

In: the journal's path. Out: errors where it was lost or taken away. SQLite goes on writing to a
file that nobody finds any more, and begins a new one beside what is left of the old.
Must not know: what is in the files.
"""

from __future__ import annotations

import os
from pathlib import Path

from shoe_ctl.errors import JournalError

Files = list[tuple[int, int] | None]
"""The devices and numbers of the files that stand at a journal's places; None where none does."""


LEAST_ROOM = 1 << 20
"""Bytes that must be free before a journal is opened: one that cannot grow is of no use."""


def log_of(journal: Path) -> Path:
    """Where what was committed last stands until it is written back into the journal."""
    return journal.with_name(journal.name + "-wal")


def head_of(journal: Path) -> Path:
    """Where it is noted, apart from the journal, how far it went."""
    return journal.with_name(journal.name + "-head")


def files(journal: Path) -> Files:
    """Which files the journal and its log are now."""
    found: Files = []
    for path in (journal, log_of(journal)):
        try:
            at = os.stat(path)  # noqa: PTH116 - at every commit
        except OSError:
            found.append(None)
        else:
            found.append((at.st_dev, at.st_ino))
    return found


def refuse_if_moved(journal: Path, opened: Files) -> None:
    """What was just written may stand where nobody finds it.

    Raises:
        JournalError: the journal or its log is not the file that was opened.
    """
    if files(journal) != opened:
        raise JournalError(f"journal {journal} was taken away while it was written")


def refuse_if_lost(journal: Path, *, new: bool) -> None:
    """A journal that is not there, or empty, is begun only where nothing says that there was one.

    Raises:
        JournalError: there was.
    """
    if not new:
        raise JournalError(f"journal {journal} is gone: put it back")
    found = [
        f"its {what} {beside.name}"
        for beside, what in ((log_of(journal), "log"), (head_of(journal), "head file"))
        if beside.exists() and beside.stat().st_size > 0
    ]
    if found:
        there = "is" if len(found) == 1 else "are"
        them = "it" if len(found) == 1 else "them"
        raise JournalError(
            f"journal {journal} is gone, but {' and '.join(found)} {there} there: put the journal "
            f"back, or take {them} away to begin a new one"
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
