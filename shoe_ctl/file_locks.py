"""Find the processes that hold a lock on a file, as /proc/locks lists them (proc(5)).

In: a path. Out: process ids, or whether there are any. Must not know: what is locked, and why.
"""

from __future__ import annotations

import os
from collections.abc import Container
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")

FLOCK = ("FLOCK",)
"""The kind of lock that flock(2) takes."""


def find_lock_holders(path: Path, kinds: Container[str] = FLOCK, proc: Path = PROC) -> list[int]:
    """Return the processes of any user that hold such a lock on the file, as far as is visible."""
    return [pid for pid in _find_holders(path, kinds, proc) if pid > 0]


def is_locked(path: Path, proc: Path = PROC) -> bool:
    """Return True if some process has locked the file by flock(2). This takes no lock itself.

    A process outside of this container counts, too. Newer kernels do not show its locks.
    """
    return bool(_find_holders(path, FLOCK, proc))


def _find_holders(path: Path, kinds: Container[str], proc: Path) -> list[int]:
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
    return [int(row[4]) for row in rows if row[1] in kinds and row[5] in files]


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
