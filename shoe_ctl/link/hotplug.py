"""Notice that a port or USB device is back: the kernel made its node, udev its link.

In: a port. Out: an event that is set once something arrived where the port is expected.
Must not know: whether it opens, back-off, what is sent there.
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

log = logging.getLogger(__name__)

USB_NODES = Path("/dev/bus/usb")
"""A folder for each bus, a node for each device: made by the kernel, with udev or without. Its
messages over netlink do not reach a container with its own network."""

MAX_LINKS = 8
"""Links followed from a configured path. Udev makes one."""

Location = tuple[Path, str | None]
"""An existing folder, and the name expected in it; None: any name."""

Arrivals = Callable[[], AbstractContextManager[asyncio.Event]]
"""Watches while it is entered, and sets the event once. Enter it *before* an attempt to open: an
arrival during the attempt is then not missed."""


def watch_arrivals(port: Address, *, usb_nodes: Path = USB_NODES) -> Arrivals:
    """Return what watches for this port; where nothing can be watched, the event is never set."""
    match port:
        case SerialAddress():
            return partial(_watch, lambda: _locations_of_path(Path(port.path)))
        case UsbAddress():
            return partial(_watch, lambda: _usb_locations(usb_nodes))
        case _:
            return nothing_arrives


@contextmanager
def nothing_arrives() -> Iterator[asyncio.Event]:
    """Watch nothing: the return of a device server cannot be noticed."""
    yield asyncio.Event()


@contextmanager
def _watch(locations: Callable[[], Iterator[Location]]) -> Iterator[asyncio.Event]:
    """Watch the locations, which are looked up at each entering: udev's folders come and go."""
    arrived = asyncio.Event()
    try:
        inotify = Inotify()
    except OSError as error:
        log.debug('hotplug unavailable: reason="%s". Ports are retried on a timer.', error)
        yield arrived
        return
    loop = asyncio.get_running_loop()
    wanted: dict[int, set[str | None]] = {}

    def on_events() -> None:
        for watch, what, name in inotify.read():
            names = wanted.get(watch, set())
            if what & _UNCERTAIN or name in names or None in names:
                arrived.set()

    try:
        with suppress(OSError):  # a folder on the path that may not be read
            for folder, name in locations():
                with suppress(OSError):  # gone, not ours to read, or one watch too many
                    wanted.setdefault(inotify.watch(folder, _ARRIVALS), set()).add(name)
        loop.add_reader(inotify.fileno(), on_events)
        yield arrived
    finally:
        loop.remove_reader(inotify.fileno())
        inotify.close()


def _locations_of_path(path: Path) -> Iterator[Location]:
    """Yield where this path, and what it links to, is or would appear.

    A pty never does: what appears under its number belongs to another program.
    """
    path = Path.cwd() / path
    for _ in range(MAX_LINKS):
        if path.parent == PTYS:
            return
        yield _nearest(path)
        if not path.is_symlink():
            return
        path = path.parent / path.readlink()


def _nearest(path: Path) -> Location:
    """Return the nearest existing folder above, and the name in it that leads to the path."""
    folder, name = path.parent, path.name
    while not folder.is_dir():
        folder, name = folder.parent, folder.name
    return folder, name


def _usb_locations(nodes: Path) -> Iterator[Location]:
    """Yield every bus, and where buses appear: the address of a missing device is not known."""
    yield _nearest(nodes)
    if nodes.is_dir():
        yield nodes, None
        with os.scandir(nodes) as buses:
            yield from ((Path(bus.path), None) for bus in buses if bus.is_dir())


# The kernel's inotify, from <sys/inotify.h>: the same on every machine.

ATTRIBUTES, MOVED_HERE, CREATED = 0x04, 0x80, 0x100

OVERFLOWED, ENDED = 0x4000, 0x8000

_ARRIVALS = CREATED | MOVED_HERE | ATTRIBUTES
"""A node is made, then its group and mode are set, then udev renames a link into its place."""

_UNCERTAIN = ENDED | OVERFLOWED
"""The folder was removed, or events were lost: only another attempt to open shows."""

_READ_SIZE = 4096
"""Bytes. An entry has 16 and a name of at most 256."""

_HEAD = struct.Struct("=iIII")


class FileEvent(NamedTuple):
    """An event: the watch of its folder, what happened (bits as above), the name in the folder."""

    watch: int
    what: int
    name: str


class Inotify:
    """One inotify instance. It counts against the user's limit until it is closed.

    Raises:
        OSError: the limit is reached.
    """

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd: int = self._checked(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))

    def fileno(self) -> int:
        return self._fd

    def watch(self, folder: Path, what: int) -> int:
        """Watch a folder, and return the watch's number: the same for the same folder.

        Raises:
            OSError: the folder is missing or may not be read, or there are too many watches.
        """
        name = ctypes.c_char_p(os.fsencode(folder))
        return self._checked(self._libc.inotify_add_watch(self._fd, name, ctypes.c_uint32(what)))

    def read(self) -> Iterator[FileEvent]:
        """Yield the events since the last call, oldest first; the rest comes at the next call."""
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
        """End every watch."""
        os.close(self._fd)

    def _checked(self, result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result
