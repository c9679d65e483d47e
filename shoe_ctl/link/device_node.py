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
from .port_trouble import GIVE_A_LINK, PTY_MAJORS

_MOST_LINKS = 40
"""As many as the kernel follows."""


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
            PortError: it leads to no serial port, to somebody's terminal, or to another pty than
                it did before.
            OSError: as the system says.
        """
        no_port = why_no_port(self._path)
        if no_port is not None:
            raise no_port
        way = _way(self._path)
        if way is None:
            yield
            return
        self._refuse_another(way)
        pty = os.open(self._path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if _pty(os.fstat(pty)) != way.pty:
                raise self._another()
            yield
            self._opened = way
        finally:
            os.close(pty)

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


def why_no_port(path: str, proc: Path = PROC) -> PortError | None:
    """Why nobody should open this as a shoe's port; None also where it is not there."""
    try:
        info = Path(path).stat()
    except (OSError, ValueError):
        return None
    kind = _other_kind(info, proc)
    if kind is not None:
        return PortError(f"not a serial port: {path} ({kind})", "not_serial")
    holder = at_home_in(path, proc)
    if holder is None:
        return None
    if _pty(info) is not None:
        return PortError(f"not a serial port: {path} is the terminal of {holder}", "not_serial")
    unit = f"serial-getty@{Path(os.path.realpath(path)).name}.service"
    return PortError(
        f"port taken: {path} is the terminal of {holder}: where people log in there, sudo "
        f"systemctl disable --now {unit}, or give the shoe another port",
        "taken",
    )


_FILES = (
    (stat.S_ISREG, "a plain file"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)
_PTMX = (5, 2)


def _other_kind(info: os.stat_result, proc: Path) -> str | None:
    """What it is, where it is no serial line and no pty; None where nothing tells."""
    for is_one, kind in _FILES:
        if is_one(info.st_mode):
            return kind
    number = (os.major(info.st_rdev), os.minor(info.st_rdev))
    with suppress(OSError, ValueError, IndexError):
        driver = _driver_of(number, proc)
        if driver is None:
            return "a device of another kind"
        if driver == "pty:master" or number == _PTMX:
            return "the other end of a pty"
        if driver == "console" or driver.startswith("system:"):
            return "a console of this host"
    return None


def _driver_of(number: tuple[int, int], proc: Path) -> str | None:
    """The type of the terminal driver of this device (proc(5)); None: it is no terminal line."""
    for line in (proc / "tty" / "drivers").read_text("utf-8", "replace").splitlines():
        *_, major, minors, driver = line.split()
        first, _, last = minors.partition("-")
        if number[0] == int(major) and int(first) <= number[1] <= int(last or first):
            return driver
    return None


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
    if not stat.S_ISCHR(info.st_mode) or os.major(info.st_rdev) not in PTY_MAJORS:
        return None
    return (info.st_dev, info.st_ino, info.st_rdev, info.st_ctime_ns, info.st_uid, info.st_gid)
