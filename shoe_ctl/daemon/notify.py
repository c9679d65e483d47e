"""What a service manager is told: ready, alive, what is wrong, stopping.

In: its socket's address and its patience, as systemd puts them into the environment. Out: datagrams
on that socket; none where nobody asked for them. Must not know: tables, links, the journal.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from shoe_ctl.link.clock import Clock, sleep

log = logging.getLogger(__name__)

LONGEST_STATUS = 400
"""Characters of a status line: it is read in a terminal, in the output of ``systemctl status``."""


class ServiceManager:
    """Speaks the protocol of sd_notify(3); a manager that does not listen stops nothing.

    ``watchdog_s`` is how long it waits for a sign of life, None where it does not.
    """

    def __init__(self, address: str | None = None, watchdog_s: float | None = None) -> None:
        self.watchdog_s = watchdog_s
        self._address = address
        self._socket: socket.socket | None = None
        self._complained = False
        self._status = "serving"
        if address is not None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            self._socket.setblocking(False)

    def ready(self) -> None:
        """The daemon does what it is there for: *serving*, or what it said last of how it is."""
        self._tell(f"READY=1\nSTATUS={self._status}")

    def status(self, text: str) -> None:
        """One line for whoever asks how it is."""
        self._status = " ".join(text.split())[:LONGEST_STATUS]
        self._tell(f"STATUS={self._status}")

    def stopping(self) -> None:
        """The daemon ends."""
        self._tell("STOPPING=1")

    async def beat(self, clock: Clock) -> None:
        """A sign of life from the loop that asks, twice in the time that is given, for ever.

        Without a watchdog it returns at once.
        """
        if self.watchdog_s is None:
            return
        while True:
            self._tell("WATCHDOG=1")
            await sleep(clock, self.watchdog_s / 2)

    def close(self) -> None:
        """Tells nothing more."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _tell(self, said: str) -> None:
        if self._socket is None or self._address is None:
            return
        address = self._address
        if address.startswith("@"):  # in the abstract name space
            address = "\0" + address[1:]
        try:
            self._socket.sendto(said.encode(), address)
        except OSError as error:
            if not self._complained:
                self._complained = True
                log.warning("the service manager cannot be told: %s", error)


@contextmanager
def service_manager(environment: Mapping[str, str], pid: int) -> Iterator[ServiceManager]:
    """Whoever started this process, if it wants to be told; its socket is closed on leaving.

    A watchdog that is meant for another process (``WATCHDOG_PID``) is none of ours.
    """
    address = environment.get("NOTIFY_SOCKET")
    if address is not None and not address.startswith(("/", "@")):
        log.warning("NOTIFY_SOCKET names no local socket: %s", address)
        address = None
    manager = ServiceManager(address, _watchdog_s(environment, pid))
    try:
        yield manager
    finally:
        manager.close()


def _watchdog_s(environment: Mapping[str, str], pid: int) -> float | None:
    wanted, whose = environment.get("WATCHDOG_USEC"), environment.get("WATCHDOG_PID")
    if wanted is None or (whose is not None and whose != str(pid)):
        return None
    if not (wanted.isascii() and wanted.isdigit()) or int(wanted) == 0:
        log.warning("WATCHDOG_USEC is no time: %s", wanted)
        return None
    return int(wanted) / 1_000_000
