"""Find the processes that use a port, or are connected to a device server: fuser for shoes.

In: a path or an address; the kernel's lists under /proc. Out: processes with their names.
Must not know: how ports are opened, what is sent there.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from shoe_ctl.file_locks import FLOCK, find_lock_holders

PROC = Path("/proc")
MODEM_MANAGER = "ModemManager"
_ESTABLISHED = "01"

PTY_MAJORS = range(136, 144)
"""The kernel's device numbers of the slave ends of ptys (Documentation/admin-guide/devices.txt).

Each mounted devpts counts them from 0, so that ptys of two containers have the same numbers.
"""

_LOCKS = (*FLOCK, "POSIX")
"""The kinds of locks that programs take on a port."""


@dataclass(frozen=True, slots=True)
class PortUser:
    """A process that uses a port. ``pid`` is None where the system does not show it.

    ``daemon``: it is a ``shoectl run``.
    """

    pid: int | None
    name: str
    daemon: bool = False

    def __str__(self) -> str:
        return self.name if self.pid is None else f"{self.name} (process {self.pid})"


def find_port_users(path: str, proc: Path = PROC) -> Iterator[PortUser]:
    """Yield the processes that have this port open or locked, as far as this user may know.

    Locks come first: one file lists them all, while descriptors are listed process by process.
    """
    real = os.path.realpath(path)
    seen: set[int] = set()
    lockers = find_lock_holders(Path(real), _LOCKS, proc)
    openers = (
        p for p in _find_openers({real}.__contains__, proc) if not _has_namesake(p, real, proc)
    )
    for pid in chain(lockers, openers):
        if pid not in seen:
            seen.add(pid)
            yield _port_user(pid, proc)


def terminal_owner(path: str, proc: Path = PROC) -> PortUser | None:
    """Return the process whose terminal this is: the session's leader, or another one in it."""
    with suppress(OSError, ValueError):
        info = Path(path).stat()
        if stat.S_ISCHR(info.st_mode):
            at_number = _find_in_terminal(info.st_rdev, proc)
            found = {pid: s for pid, s in at_number if not _has_namesake(pid, path, proc)}
            leaders = [pid for pid, session in found.items() if pid == session]
            for pid in (*leaders, *found):
                return _port_user(pid, proc)
    return None


def find_connected(addresses: Iterable[tuple[str, int]], proc: Path = PROC) -> list[PortUser]:
    """List the processes on this host that are connected to one of these numeric addresses."""
    inodes = set(_find_sockets(set(addresses), proc))
    if not inodes:
        return []
    pids = _find_openers(inodes.__contains__, proc)
    found = [_port_user(pid, proc) for pid in dict.fromkeys(pids)]
    return found or [PortUser(None, "a program of another user")]


def find_modem_manager(proc: Path = PROC) -> PortUser | None:
    """Return ModemManager's process, if it runs."""
    return next(
        (h for pid in _pids(proc) if (h := _port_user(pid, proc)).name == MODEM_MANAGER), None
    )


def _pids(proc: Path) -> list[int]:
    with suppress(OSError):
        return sorted(int(entry.name) for entry in proc.iterdir() if entry.name.isdigit())
    return []


def _find_openers(wanted: Callable[[str], bool], proc: Path) -> Iterator[int]:
    """Yield processes with a wanted descriptor. Those of other users are not visible."""
    for pid in _pids(proc):
        with suppress(OSError):
            for descriptor in (proc / str(pid) / "fd").iterdir():
                with suppress(OSError):  # closed meanwhile
                    if wanted(str(descriptor.readlink())):
                        yield pid
                        break


def _find_in_terminal(device: int, proc: Path) -> Iterator[tuple[int, int]]:
    """Yield the processes with this controlling terminal and their session (proc_pid_stat(5))."""
    for pid in _pids(proc):
        with suppress(OSError, ValueError, IndexError):
            text = (proc / str(pid) / "stat").read_text("utf-8", "replace")
            words = text.rpartition(")")[2].split()
            number = int(words[4])
            major, minor = number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xFFF00
            if os.makedev(major, minor) == device:
                yield pid, int(words[3])


def _has_namesake(pid: int, path: str, proc: Path) -> bool:
    """Return True if what a process has there is the pty of this number in another container.

    False where this process may not look: a person's terminal is rather refused once too often.
    """
    try:
        info = Path(path).stat()
    except OSError:
        return False
    if not stat.S_ISCHR(info.st_mode) or os.major(info.st_rdev) not in PTY_MAJORS:
        return False
    of_process = proc / str(pid)
    try:
        # Behind these links lie the files themselves, whatever their paths mean to this process.
        had = _instances(info.st_rdev, (of_process / "fd").iterdir())
        if not had:  # it closed them, or they lead elsewhere: what has this number where it lives?
            had = _instances(info.st_rdev, [of_process / f"root/dev/pts/{os.minor(info.st_rdev)}"])
    except OSError:
        return False
    return bool(had) and info.st_dev not in had


def _instances(number: int, places: Iterable[Path]) -> set[int]:
    """Return the file systems that hold the terminals of this number at these places."""
    found = set()
    for place in places:
        with suppress(FileNotFoundError):  # closed meanwhile
            info = place.stat()
            if stat.S_ISCHR(info.st_mode) and info.st_rdev == number:
                found.add(info.st_dev)
    return found


def _port_user(pid: int, proc: Path) -> PortUser:
    try:
        name = (proc / str(pid) / "comm").read_text("utf-8", "replace").strip()
        words = (proc / str(pid) / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return PortUser(pid, "a program")
    daemon = "run" in words and any(
        "shoectl" in word.rpartition("/")[2] or "shoe_ctl" in word
        for word in words[: words.index("run")]
    )
    return PortUser(pid, "shoectl run" if daemon else name, daemon)


def _find_sockets(addresses: set[tuple[str, int]], proc: Path) -> Iterator[str]:
    """Yield the sockets connected to one of the addresses, as descriptors name them."""
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (proc / "net" / table).read_text().splitlines()[1:]:
                words = line.split()
                if words[3] == _ESTABLISHED and _parse_address(words[2]) in addresses:
                    yield f"socket:[{words[9]}]"


def _parse_address(text: str) -> tuple[str, int]:
    """Parse ``0100007F:0FA1``. The kernel prints words as the machine stores them."""
    words, _, port = text.partition(":")
    raw = b"".join(
        int(words[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(words), 8)
    )
    family = socket.AF_INET if len(raw) == 4 else socket.AF_INET6
    return socket.inet_ntop(family, raw).removeprefix("::ffff:"), int(port, 16)
