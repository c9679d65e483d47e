"""The daemon's way to its host: threads, ports, callers, and the service manager.

In: the environment of the process. Out: Environment, which a test can replace as a whole; messages
to systemd. Must not know: tables, the journal, what runs in a thread.
"""

from __future__ import annotations

import gc
import logging
import os
import platform
import resource
import socket
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from firmware_proto.profiles import SerialSettings
from shoe_ctl import installation
from shoe_ctl.api.requests import Caller
from shoe_ctl.api.unix_socket import Handler
from shoe_ctl.clock import Clock, sleep
from shoe_ctl.daemon.worker_thread import WorkerThread
from shoe_ctl.errors import EnvironmentFault
from shoe_ctl.history.snapshots import software
from shoe_ctl.link.address import Address
from shoe_ctl.link.transport import Opener
from shoe_ctl.link.transport_factory import opener
from shoe_ctl.link.usb_discovery import Backends

log = logging.getLogger(__name__)

OPEN_FILES = 65_536
"""Ports, connections and files of a daemon: twice what the most tables need."""

LEAST_NEW_OBJECTS = 2_000
NEW_OBJECTS_A_TABLE = 100
"""New objects between two garbage collections. More with more tables: a collection takes time, and
finds little."""

LONGEST_STATUS = 400
"""Characters of a status line: it is read in the output of ``systemctl status``."""

Thread = Callable[[str], Executor]
"""An executor of this name that does one call at a time, in order, until it is shut down."""

WayIn = Callable[[Handler], AbstractAsyncContextManager[None]]
"""Hands what callers ask to the handler, from entering to leaving."""


def one_thread(name: str) -> Executor:
    """A thread of the system."""
    return WorkerThread(name)


def allow_open_files(limit: int = OPEN_FILES) -> None:
    """Let this process open ``limit`` files, or as many as the host's hard limit allows.

    A thousand tables need more than the usual soft limit of 1024: each has its port.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = limit if hard == resource.RLIM_INFINITY else min(hard, limit)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def keep_objects(tables: int) -> None:
    """Let garbage be collected rarely, and only among objects made from now on.

    Call it once everything is open. A thousand tables are 170,000 objects: a collection of all of
    them holds every card up for 100 ms. What cards bring is freed without a collection; only errors
    leave garbage.
    """
    gc.freeze()
    often = max(LEAST_NEW_OBJECTS, NEW_OBJECTS_A_TABLE * tables)
    gc.set_threshold(often, *gc.get_threshold()[1:])


def draw_epoch() -> str:
    """Eight hex digits, by chance."""
    return os.urandom(4).hex()


class Installed(NamedTuple):
    """The versions of shoe-ctl and of Python, and the digest of the installed files."""

    software: str
    python: str
    files: str


def what_is_installed() -> Installed:
    """Return what runs here. It reads every file of shoe-ctl.

    Raises:
        EnvironmentFault: one of them cannot be read.
    """
    try:
        files = installation.digest(installation.root())
    except OSError as error:
        raise EnvironmentFault(f"{error.filename} cannot be read: {error.strerror}") from None
    return Installed(software(), platform.python_version(), files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The daemon's way to its host.

    ``ways_in`` are opened beside the configured socket, for ``callers``. ``epoch`` draws the epoch
    that tells the events of one journal, or of a part of it, from all others. ``installed`` says
    what is installed, for the record of a start; without it there is none.
    """

    thread: Thread = one_thread
    opener: Callable[[Address, SerialSettings, Executor, Backends], Opener] = opener
    ways_in: tuple[WayIn, ...] = ()
    callers: tuple[Caller, ...] = ()
    epoch: Callable[[], str] = draw_epoch
    installed: Callable[[], Installed] | None = None


SYSTEM = Environment()
"""The system's own threads and ports, and no way in but the socket."""


class ServiceManager:
    """Reports to the service manager by sd_notify(3). A manager that is not there stops nothing.

    ``watchdog_s`` is how long the manager waits for a sign of life, None where it has no watchdog.
    """

    def __init__(self, address: str | None = None, watchdog_s: float | None = None) -> None:
        self.watchdog_s = watchdog_s
        self._address = address
        self._socket: socket.socket | None = None
        self._failed_once = False
        self._status = "serving"
        if address is not None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            self._socket.setblocking(False)

    def ready(self) -> None:
        """The daemon serves. The status line is *serving*, or the last one given."""
        self._send(f"READY=1\nSTATUS={self._status}")

    def status(self, text: str) -> None:
        """Report one line of status."""
        self._status = " ".join(text.split())[:LONGEST_STATUS]
        self._send(f"STATUS={self._status}")

    def alive(self) -> None:
        """Report a sign of life, for the watchdog."""
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        """The daemon ends."""
        self._send("STOPPING=1")

    async def beat(self, clock: Clock) -> None:
        """Send a sign of life from this loop, twice in the watchdog's time, for ever.

        Without a watchdog it returns at once.
        """
        if self.watchdog_s is None:
            return
        while True:
            self.alive()
            await sleep(clock, self.watchdog_s / 2)

    def close(self) -> None:
        """Close the socket: nothing more is reported."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, said: str) -> None:
        if self._socket is None or self._address is None:
            return
        address = self._address
        if address.startswith("@"):  # in the abstract name space
            address = "\0" + address[1:]
        try:
            self._socket.sendto(said.encode(), address)
        except OSError as error:
            if not self._failed_once:
                self._failed_once = True
                log.warning('service manager: not reachable: reason="%s"', error)


@contextmanager
def service_manager(environment: Mapping[str, str], pid: int) -> Iterator[ServiceManager]:
    """Report to the service manager that started this process, if any, until leaving.

    A watchdog that is meant for another process (``WATCHDOG_PID``) is ignored.
    """
    address = environment.get("NOTIFY_SOCKET")
    if address is not None and not address.startswith(("/", "@")):
        log.warning("service manager: NOTIFY_SOCKET ignored: value=%s is no local socket", address)
        address = None
    manager = ServiceManager(address, _watchdog_s(environment, pid))
    try:
        yield manager
    finally:
        manager.close()


def _watchdog_s(environment: Mapping[str, str], pid: int) -> float | None:
    """Return how long the service manager waits for a sign of life; None without a watchdog."""
    wanted, whose = environment.get("WATCHDOG_USEC"), environment.get("WATCHDOG_PID")
    if wanted is None or (whose is not None and whose != str(pid)):
        return None
    if not (wanted.isascii() and wanted.isdigit()) or int(wanted) == 0:
        log.warning("service manager: WATCHDOG_USEC ignored: value=%s is no duration", wanted)
        return None
    return int(wanted) / 1_000_000
