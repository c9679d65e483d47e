"""What the path of a serial port leads to: whether it can be a shoe's, and whether it still is.

The kernel gives the numbers of ptys out again: ``/dev/pts/7`` is another program's terminal as soon
as the first has gone. In: a path, what /proc lists. Out: PortError where it is not to be opened.
Must not know: pyserial, what is spoken on the port.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from shoe_ctl.errors import PortError

from .holders import PROC, at_home_in
from .port_trouble import GIVE_A_LINK, trouble

_PTYS = range(136, 144)
"""The kernel's numbers for the host's ends of ptys (Documentation/admin-guide/devices.txt)."""

_MOST_LINKS = 8


@dataclass(frozen=True, slots=True)
class _Way:
    """The links that a path leads over, and the pty at its end, as they are at one moment.

    The number, the inode and the device of a pty that is given out again are the same as before:
    the time at which it was made, or changed its owner, is not.
    """

    links: tuple[tuple[int, int, int, str], ...]
    pty: tuple[int, ...]


class DeviceNode:
    """The node behind one path, over all the times that it is opened."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._opened: _Way | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Open the port in here, and write to it only after that.

        A pty is held open meanwhile, so that its number stays its own. It is remembered once the
        block has ended well.

        Raises:
            PortError: it leads to somebody's terminal, or to another pty than it did before.
        """
        self._refuse_a_terminal()
        way = _way(self._path)
        if way is None:
            yield
            return
        self._refuse_another(way)
        try:
            pty = os.open(self._path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise trouble(self._path, error) from error
        try:
            if _pty(os.fstat(pty)) != way.pty:
                raise self._another()
            yield
            self._opened = way
        finally:
            os.close(pty)

    def _refuse_a_terminal(self) -> None:
        holder = at_home_in(self._path, PROC)
        if holder is not None:
            line = f"not a serial port: {self._path} is the terminal of {holder}"
            raise PortError(line, "not_serial")

    def _refuse_another(self, way: _Way) -> None:
        before = self._opened
        if before is None or way == before:
            return
        if way.links == before.links:
            raise self._another()

    def _another(self) -> PortError:
        path = Path(self._path)
        if path.is_symlink():
            line = (
                f"no such port: {path} was left behind: it leads to {os.path.realpath(path)}, "
                "which is another program's by now: start the simulated shoe again"
            )
        else:
            line = (
                f"no such port: the pty {path} that was open here is gone, and its number is "
                f"another program's by now: {GIVE_A_LINK}; is it the shoe's, start shoectl again"
            )
        return PortError(line, "no_such_port")


def _way(path: str) -> _Way | None:
    """The way to a pty; None where the path leads to anything else, or nowhere."""
    at = Path(path)
    links: list[tuple[int, int, int, str]] = []
    with suppress(OSError):
        for _ in range(_MOST_LINKS):
            info = at.lstat()
            if not stat.S_ISLNK(info.st_mode):
                found = _pty(info)
                return None if found is None else _Way(tuple(links), found)
            target = at.readlink()
            links.append((info.st_dev, info.st_ino, info.st_ctime_ns, str(target)))
            at = at.parent / target
    return None


def _pty(info: os.stat_result) -> tuple[int, ...] | None:
    """What tells this pty from any other of its number; None of what is no pty."""
    if not stat.S_ISCHR(info.st_mode) or os.major(info.st_rdev) not in _PTYS:
        return None
    return (info.st_dev, info.st_ino, info.st_rdev, info.st_ctime_ns, info.st_uid, info.st_gid)
