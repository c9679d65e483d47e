"""Notices that a port, or a device, came back: udev made its link, the kernel its node.

In: a port. Out: a flag that is up once something arrived where it is looked for.
Must not know: whether it opens, back-off, what is spoken there.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path

from .inotify import ATTRIBUTES, CREATED, ENDED, MOVED_HERE, OVERFLOWED, Inotify
from .port_trouble import PTYS
from .ports import Port, SerialPort, UsbPort

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

Place = tuple[Path, str | None]
"""A folder that is there, and the name to come up in it; None: whatever comes."""

Arrivals = Callable[[], AbstractContextManager[asyncio.Event]]
"""Watches from entering to leaving; the flag goes up once. Enter it *before* trying the port: what
arrives while that fails is then not missed."""


@contextmanager
def nothing_arrives() -> Iterator[asyncio.Event]:
    """Of a device server nobody tells that it came back."""
    yield asyncio.Event()


def arrivals(port: Port, *, usb_nodes: Path = USB_NODES) -> Arrivals:
    """What tells of this port's return; where nothing can be watched the flag stays down."""
    match port:
        case SerialPort():
            return partial(_watching, lambda: _on_the_way(Path(port.path)))
        case UsbPort():
            return partial(_watching, lambda: _of_usb(usb_nodes))
        case _:
            return nothing_arrives


@contextmanager
def _watching(places: Callable[[], Iterator[Place]]) -> Iterator[asyncio.Event]:
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


def _on_the_way(path: Path) -> Iterator[Place]:
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


def _nearest(path: Path) -> Place:
    """The nearest folder above that is there, and the name in it that leads to the path."""
    folder, name = path.parent, path.name
    while not folder.is_dir():
        folder, name = folder.parent, folder.name
    return folder, name


def _of_usb(nodes: Path) -> Iterator[Place]:
    """Every bus, and the place where buses come up: an address says nothing before it is there."""
    yield _nearest(nodes)
    if nodes.is_dir():
        yield nodes, None
        with os.scandir(nodes) as buses:
            yield from ((Path(bus.path), None) for bus in buses if bus.is_dir())
