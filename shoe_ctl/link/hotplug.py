"""Notices that a port, or a device, came back: udev made its link, the kernel its node.

In: a port. Out: a flag that is up once something arrived where it is looked for.
Must not know: whether it opens, back-off, what is spoken there.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from shoe_ctl.link.address import Address, SerialAddress, UsbAddress
from shoe_ctl.link.serial import PTYS

# <sys/inotify.h>: part of the kernel's interface, the same on every machine.
ATTRIBUTES, MOVED_HERE, CREATED = 0x04, 0x80, 0x100
OVERFLOWED, ENDED = 0x4000, 0x8000

_READ_SIZE = 4096
"""Bytes; an entry has at most 16 and the longest name, 256."""

_HEAD = struct.Struct("=iIII")


class FileEvent(NamedTuple):
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

    def read(self) -> Iterator[FileEvent]:
        """What happened since the last call, oldest first; what is asked too late comes next."""
        try:
            data = os.read(self._fd, _READ_SIZE)
        except BlockingIOError:
            return
        at = 0
        while at < len(data):
            watch, what, _, length = _HEAD.unpack_from(data, at)
            at += _HEAD.size + length
            yield FileEvent(watch, what, os.fsdecode(data[at - length : at].rstrip(b"\0")))

    def close(self) -> None:
        """Ends every watch."""
        os.close(self._fd)

    def _done(self, result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result


log = logging.getLogger(__name__)

USB_NODES = Path("/dev/bus/usb")
"""A folder for each bus, a node for each device: the kernel's own, with udev or without. Its news
over netlink would reach no container that has a network of its own."""

MOST_LINKS = 8
"""Links that are followed from a configured path; udev makes one."""

_ARRIVALS = CREATED | MOVED_HERE | ATTRIBUTES
"""A node is made, then its group and mode are set, then udev renames a link into its place."""

_LOOK_ANEW = ENDED | OVERFLOWED
"""The folder went, or some news was lost: only another look tells."""

Location = tuple[Path, str | None]
"""A folder that is there, and the name to come up in it; None: whatever comes."""

Arrivals = Callable[[], AbstractContextManager[asyncio.Event]]
"""Watches from entering to leaving; the flag goes up once. Enter it *before* trying the port: what
arrives while that fails is then not missed."""


@contextmanager
def nothing_arrives() -> Iterator[asyncio.Event]:
    """Of a device server nobody tells that it came back."""
    yield asyncio.Event()


def watch_arrivals(port: Address, *, usb_nodes: Path = USB_NODES) -> Arrivals:
    """What tells of this port's return; where nothing can be watched the flag stays down."""
    match port:
        case SerialAddress():
            return partial(_watching, lambda: _on_the_way(Path(port.path)))
        case UsbAddress():
            return partial(_watching, lambda: _of_usb(usb_nodes))
        case _:
            return nothing_arrives


@contextmanager
def _watching(places: Callable[[], Iterator[Location]]) -> Iterator[asyncio.Event]:
    """The places are looked up anew at each entering: folders of udev come and go."""
    arrived = asyncio.Event()
    try:
        inotify = Inotify()
    except OSError as error:
        log.debug("nothing tells of a port's return (%s): it is tried from time to time", error)
        yield arrived
        return
    loop = asyncio.get_running_loop()
    wanted: dict[int, set[str | None]] = {}

    def news() -> None:
        for watch, what, name in inotify.read():
            names = wanted.get(watch, set())
            if what & _LOOK_ANEW or name in names or None in names:
                arrived.set()

    try:
        with suppress(OSError):  # a folder on the way that may not be looked into
            for folder, name in places():
                with suppress(OSError):  # gone, not ours to read, or one watch too many
                    wanted.setdefault(inotify.watch(folder, _ARRIVALS), set()).add(name)
        loop.add_reader(inotify.fileno(), news)
        yield arrived
    finally:
        loop.remove_reader(inotify.fileno())
        inotify.close()


def _on_the_way(path: Path) -> Iterator[Location]:
    """Where this path, and what it leads to, is or would come up.

    A pty never does: what comes up under its number is another program's.
    """
    path = Path.cwd() / path
    for _ in range(MOST_LINKS):
        if path.parent == PTYS:
            return
        yield _nearest(path)
        if not path.is_symlink():
            return
        path = path.parent / path.readlink()


def _nearest(path: Path) -> Location:
    """The nearest folder above that is there, and the name in it that leads to the path."""
    folder, name = path.parent, path.name
    while not folder.is_dir():
        folder, name = folder.parent, folder.name
    return folder, name


def _of_usb(nodes: Path) -> Iterator[Location]:
    """Every bus, and the place where buses come up: an address says nothing before it is there."""
    yield _nearest(nodes)
    if nodes.is_dir():
        yield nodes, None
        with os.scandir(nodes) as buses:
            yield from ((Path(bus.path), None) for bus in buses if bus.is_dir())
