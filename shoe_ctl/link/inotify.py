"""The kernel's word that something happened in a folder, without asking it again and again.

In: folders. Out: what happened there, read without blocking from a descriptor of one's own.
Must not know: event loops, ports, why anyone wants to know.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# <sys/inotify.h>: part of the kernel's interface, the same on every machine.
ATTRIBUTES, MOVED_HERE, CREATED = 0x04, 0x80, 0x100
OVERFLOWED, ENDED = 0x4000, 0x8000

_READ_SIZE = 4096
"""Bytes; an entry has at most 16 and the longest name, 256."""

_HEAD = struct.Struct("=iIII")


class Happened(NamedTuple):
    """What happened: in the folder of which watch, what (bits as above), to what name there."""

    watch: int
    what: int
    name: str


class Inotify:
    """One instance of the kernel's; it counts against the user's limit until it is closed.

    Raises:
        OSError: the kernel gives no more of them.
    """

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd: int = self._done(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))

    def fileno(self) -> int:
        return self._fd

    def watch(self, folder: Path, what: int) -> int:
        """The number of this watch; the same folder has the same number.

        Raises:
            OSError: the folder is not there or may not be read, or there are too many watches.
        """
        name = ctypes.c_char_p(os.fsencode(folder))
        return self._done(self._libc.inotify_add_watch(self._fd, name, ctypes.c_uint32(what)))

    def read(self) -> Iterator[Happened]:
        """What happened since the last call, oldest first; what is asked too late comes next."""
        try:
            data = os.read(self._fd, _READ_SIZE)
        except BlockingIOError:
            return
        at = 0
        while at < len(data):
            watch, what, _, length = _HEAD.unpack_from(data, at)
            at += _HEAD.size + length
            yield Happened(watch, what, os.fsdecode(data[at - length : at].rstrip(b"\0")))

    def close(self) -> None:
        """Ends every watch."""
        os.close(self._fd)

    def _done(self, result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result
