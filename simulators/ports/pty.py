"""A real pty as the shoe's serial port, under a link that is there while the shoe is plugged in.

The kernel gives the numbers of ptys out again: a host that goes by ``/dev/pts/7`` opens another
program's terminal as soon as this one is gone. A host is told the link, and nothing else.

In: bytes for the host. Out: the host's open, bytes and close. Without a host, bytes are lost,
and what a host left unread is gone when it closes: a real wire holds nothing either.
Must not know: what the bytes mean.
"""

from __future__ import annotations

import asyncio
import os
import select
import stat
import termios
import tty
from pathlib import Path

from simulators.errors import PortFault
from simulators.ports.port import Wire
from simulators.ports.stream import StreamPort

LOOK_EVERY_S = 0.01
"""A pty does not tell its master that a slave opens it: the hang-up mark is looked at."""


class PtyPort(StreamPort):
    """Each time a host opens the slave is one connection; needs a running loop to start."""

    def __init__(self, link: str) -> None:
        super().__init__()
        self._link = Path(link)
        self._master: int | None = None
        self._slave_name = ""
        self._look: asyncio.TimerHandle | None = None

    @property
    def address(self) -> str:
        """The link."""
        return str(self._link)

    def start(self, wire: Wire) -> None:
        """Make the pty and its link.

        Raises:
            simulators.errors.PortFault: no pty is left, or the link cannot be made.
        """
        self._wire = wire
        self._loop = asyncio.get_running_loop()
        try:
            master, slave = os.openpty()
        except OSError as error:
            raise PortFault(f"no pty: {error.strerror}") from None
        try:
            tty.setraw(slave)
            self._slave_name = os.ttyname(slave)
            os.set_blocking(master, False)
            self._make_link()
        except BaseException:
            os.close(master)
            raise
        finally:
            os.close(slave)
        self._master = master
        self._watch_for_host()

    def close(self) -> None:
        """Pull the plug; doing it twice is harmless."""
        if self._master is None:
            return
        if self._look is not None:
            self._look.cancel()
            self._look = None
        had_host = self._end_stream()
        self._remove_link()  # first: once the pty is closed, its number may be another's
        os.close(self._master)
        self._master = None
        if had_host and self._wire is not None:
            self._wire.closed()

    def reopen(self) -> None:
        """Plug in again: a new pty, under the same link."""
        if self._master is None and self._wire is not None:
            self.start(self._wire)

    def _watch_for_host(self) -> None:
        """Look for a host; the slave was open once, so the master shows whether it is now."""
        self._look = None
        if self._master is None:
            return
        poll = select.poll()
        poll.register(self._master, select.POLLIN)
        if any(mask & select.POLLHUP for _, mask in poll.poll(0)):
            self._look = self._loop.call_later(LOOK_EVERY_S, self._watch_for_host)
            return
        if self._wire is not None:
            self._begin_stream(self._wire, self._master, self._host_gone, self._loop)

    def _host_gone(self) -> None:
        self._end_stream()
        self._forget_unread()
        if self._wire is not None:
            self._wire.closed()
        if self._look is None:
            self._watch_for_host()

    def _forget_unread(self) -> None:
        """The kernel would hand the next host what the last one left unread."""
        try:
            slave = os.open(self._slave_name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError:
            return  # the host holds it exclusively again: it flushes for itself
        try:
            termios.tcflush(slave, termios.TCIOFLUSH)
        finally:
            os.close(slave)

    def _make_link(self) -> None:
        if self._is_taken():
            raise PortFault(
                f"{self._link}: there is a file of this name, or the link of another shoe that is "
                "served: name another link"
            )
        beside = self._link.with_name(f"{self._link.name}.{os.getpid()}")
        try:
            beside.symlink_to(self._slave_name)
            beside.replace(self._link)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise PortFault(f"cannot make the link {self._link}: {error.strerror}") from None

    def _is_taken(self) -> bool:
        """Return whether something is there that no killed shoe left behind.

        A pty that was made after the link is another program's: the number was given out again.
        """
        try:
            link = self._link.lstat()
        except OSError:  # whoever makes the link says what is wrong with its folder
            return False
        if not stat.S_ISLNK(link.st_mode):
            return True
        try:
            pty = self._link.stat()
        except OSError:
            return False
        return not stat.S_ISCHR(pty.st_mode) or pty.st_ctime_ns <= link.st_ctime_ns

    def _remove_link(self) -> None:
        link = self._link
        if link.is_symlink() and str(link.readlink()) == self._slave_name:
            link.unlink()
