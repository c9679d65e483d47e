"""Which processes have a port open, or a connection to a device server.

In: a path or an address; what the kernel lists under /proc. Out: holders, with their names.
Must not know: how ports are opened, what is spoken there.
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

PROC = Path("/proc")
MODEM_MANAGER = "ModemManager"
_ESTABLISHED = "01"


@dataclass(frozen=True, slots=True)
class PortUser:
    """A process. ``pid`` is None where the system does not tell whose it is.

    ``daemon``: it is a ``shoectl run``.
    """

    pid: int | None
    name: str
    daemon: bool = False

    def __str__(self) -> str:
        return self.name if self.pid is None else f"{self.name} (process {self.pid})"


def find_port_users(path: str, proc: Path = PROC) -> Iterator[PortUser]:
    """Who has this port, or holds a lock on it, as far as this user may know.

    Locks come first: they cost one look, all descriptors of all processes many.
    """
    real = os.path.realpath(path)
    seen: set[int] = set()
    for pid in chain(_lockers(real, proc), _openers({real}.__contains__, proc)):
        if pid not in seen:
            seen.add(pid)
            yield _holder(pid, proc)


def terminal_owner(path: str, proc: Path = PROC) -> PortUser | None:
    """Whose terminal this is: of the leader of the session there, or who else runs in it."""
    with suppress(OSError, ValueError):
        info = Path(path).stat()
        if stat.S_ISCHR(info.st_mode):
            found = dict(_in_terminal(info.st_rdev, proc))
            leaders = [pid for pid, session in found.items() if pid == session]
            for pid in (*leaders, *found):
                return _holder(pid, proc)
    return None


def find_connected(addresses: Iterable[tuple[str, int]], proc: Path = PROC) -> list[PortUser]:
    """Who on this host is connected to one of these numeric addresses."""
    inodes = set(_connections(set(addresses), proc))
    if not inodes:
        return []
    pids = _openers(inodes.__contains__, proc)
    found = [_holder(pid, proc) for pid in dict.fromkeys(pids)]
    return found or [PortUser(None, "a program of another user")]


def find_modem_manager(proc: Path = PROC) -> PortUser | None:
    """ModemManager, where it runs."""
    return next((h for pid in _pids(proc) if (h := _holder(pid, proc)).name == MODEM_MANAGER), None)


def _pids(proc: Path) -> list[int]:
    with suppress(OSError):
        return sorted(int(entry.name) for entry in proc.iterdir() if entry.name.isdigit())
    return []


def _openers(wanted: Callable[[str], bool], proc: Path) -> Iterator[int]:
    """Processes with a descriptor that leads to what is wanted; those of others do not show."""
    for pid in _pids(proc):
        with suppress(OSError):
            for descriptor in (proc / str(pid) / "fd").iterdir():
                with suppress(OSError):  # closed while it was looked at
                    if wanted(str(descriptor.readlink())):
                        yield pid
                        break


def _in_terminal(device: int, proc: Path) -> Iterator[tuple[int, int]]:
    """The processes with this controlling terminal, each with its session (proc_pid_stat(5))."""
    for pid in _pids(proc):
        with suppress(OSError, ValueError, IndexError):
            text = (proc / str(pid) / "stat").read_text("utf-8", "replace")
            words = text.rpartition(")")[2].split()
            number = int(words[4])
            major, minor = number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xFFF00
            if os.makedev(major, minor) == device:
                yield pid, int(words[3])


def _lockers(path: str, proc: Path) -> Iterator[int]:
    """Processes with a lock, whosever they are."""
    with suppress(OSError):
        info = Path(path).stat()
        file = f"{os.major(info.st_dev):02x}:{os.minor(info.st_dev):02x}:{info.st_ino}"
        for line in (proc / "locks").read_text().splitlines():
            words = line.split()
            if file in words and (pid := words[words.index(file) - 1]).isdigit():
                yield int(pid)


def _holder(pid: int, proc: Path) -> PortUser:
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


def _connections(addresses: set[tuple[str, int]], proc: Path) -> Iterator[str]:
    """The sockets, as descriptors lead to them, that are connected to one of the addresses."""
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (proc / "net" / table).read_text().splitlines()[1:]:
                words = line.split()
                if words[3] == _ESTABLISHED and _address(words[2]) in addresses:
                    yield f"socket:[{words[9]}]"


def _address(text: str) -> tuple[str, int]:
    """``0100007F:0FA1`` as address and port; the kernel prints words as its machine stores them."""
    words, _, port = text.partition(":")
    raw = b"".join(
        int(words[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(words), 8)
    )
    family = socket.AF_INET if len(raw) == 4 else socket.AF_INET6
    return socket.inet_ntop(family, raw).removeprefix("::ffff:"), int(port, 16)
