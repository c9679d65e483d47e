"""Locks on files: one that other users cannot hold, and the processes that hold any (proc(5)).

In: a path. Out: a lock; process ids, or whether there are any. Must not know: what is locked, why.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PROC = Path("/proc")

_BETWEEN_S = 0.02
"""Between two tries to lock a file: a daemon that ends has it for some milliseconds."""

FLOCK = ("FLOCK",)
"""The kind of lock that flock(2) takes."""


def find_lock_holders(
    path: Path, kinds: Container[str] = FLOCK, proc: Path = PROC, *, exclusive: bool = False
) -> list[int]:
    """Return the processes of any user that hold such a lock on the file, as far as is visible.

    With ``exclusive``, a lock that others may share does not count.
    """
    modes = ("WRITE",) if exclusive else ("WRITE", "READ")
    return [pid for pid in _find_holders(path, kinds, proc, modes) if pid > 0]


def is_locked(path: Path, proc: Path = PROC) -> bool:
    """Return True if some process has locked the file by flock(2). This takes no lock itself.

    A process outside of this container counts, too. Newer kernels do not show its locks.
    """
    return bool(_find_holders(path, FLOCK, proc))


def _find_holders(
    path: Path, kinds: Container[str], proc: Path, modes: Container[str] = ("WRITE", "READ")
) -> list[int]:
    """Return the holders' process ids; 0 for one outside of this container."""
    try:
        file = os.open(path, os.O_PATH | os.O_CLOEXEC)  # no driver is asked to open a device
    except OSError:
        return []
    try:
        files = _names_in_list(file, proc)
        lines = (proc / "locks").read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    finally:
        os.close(file)
    # "2: FLOCK ADVISORY WRITE 359 fd:01:11691 0 EOF"; one that waits has "->" for the kind.
    rows = [line.split() for line in lines]
    held = (row for row in rows if row[1] in kinds and row[3] in modes and row[5] in files)
    return [int(row[4]) for row in held]


def _names_in_list(file: int, proc: Path) -> set[str]:
    """Return what the list may call this file: the device in hex, and the inode.

    The list has the device of the file system. On btrfs ``stat`` gives another one, which stands
    for the subvolume, and on overlayfs it may; no other file system has that one. The file system's
    own is in the list of mounts.
    """
    info = os.fstat(file)
    devices = {(os.major(info.st_dev), os.minor(info.st_dev))}
    with suppress(OSError, StopIteration, ValueError):
        devices.add(_device_of_mount(file, proc))
    return {f"{major:02x}:{minor:02x}:{info.st_ino}" for major, minor in devices}


def _device_of_mount(file: int, proc: Path) -> tuple[int, int]:
    known = (proc / "self" / "fdinfo" / str(file)).read_text("utf-8", "replace").splitlines()
    mount = next(line.split()[1] for line in known if line.startswith("mnt_id:"))
    mounts = (proc / "self" / "mountinfo").read_text("utf-8", "replace").splitlines()
    device = next(words[2] for words in map(str.split, mounts) if words[0] == mount)
    major, _, minor = device.partition(":")  # in decimal
    return int(major), int(minor)


@contextmanager
def held_lock(path: Path, *, wait_s: float) -> Iterator[None]:
    """Hold the lock of a file that is made for this alone, and is removed on leaving.

    Only its owner can open it (mode 0600), so that no other user can hold it: flock(2) asks for no
    right beyond that. Another process of this user that holds it is waited for, ``wait_s`` at most.

    Raises:
        BlockingIOError: another process held it all the time.
        OSError: it cannot be made, or there is a file that others may open.
    """
    until_s = time.monotonic() + wait_s
    while (fd := _try_to_lock(path)) is None:
        if time.monotonic() >= until_s:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        time.sleep(_BETWEEN_S)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # while it is locked: whoever waits for it looks whether it is still here
        os.close(fd)


def _try_to_lock(path: Path) -> int | None:
    """Return the descriptor of the locked file; None while another process holds it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        made = os.fstat(fd)
        if not stat.S_ISREG(made.st_mode) or made.st_uid != os.geteuid() or made.st_mode & 0o077:
            raise OSError(errno.EPERM, f"{path.name} is no lock file of this user; remove it")
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        there = path.lstat()
        if (there.st_dev, there.st_ino) == (made.st_dev, made.st_ino):
            return fd
    except (BlockingIOError, FileNotFoundError):  # held, or removed by the one that held it
        pass
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return None
