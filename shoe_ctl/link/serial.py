"""A serial port as a transport: pyserial opens and configures it, the event loop reads and writes.

In: a path, the profile's serial settings. Out: chunks of bytes; why it was lost, or PortError.
Must not know: frames, sessions, reconnecting.
"""

from __future__ import annotations

import asyncio
import errno
import grp
import os
import pwd
import stat
import termios
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from firmware_proto.profiles import SerialSettings
from firmware_proto.suggestion import nearest_names
from shoe_ctl.errors import PortError
from shoe_ctl.link.address import SerialAddress
from shoe_ctl.link.port_users import PROC, PTY_MAJORS, find_port_users, terminal_owner
from shoe_ctl.link.transport import (
    DescriptorTransport,
    Loss,
    Opener,
    Transport,
    failed,
    unplugged,
)

PTYS = Path("/dev/pts")

_PTMX = (5, 2)

_PLACES = (
    ("/dev/card-shoe", "*"),
    ("/dev/serial/by-id", "*"),
    ("/dev", "ttyUSB*"),
    ("/dev", "ttyACM*"),
)
"""Where the ports of shoes and adapters are found, stable names first."""

_NAMED_AT_MOST = 4
"""One error names so many ports: it stays one line."""

_MAX_LINKS = 40
"""Symbolic links that are followed: the kernel's own limit."""

CLOSED_WITHIN_S = 1.0
"""The end of a program waits for so long for the ports that it closes. A driver that waits for
longer is left to the end of the process, which breaks that wait off: the port is free then, and
nothing is lost, as what was not sent had been dropped before."""

_UNPLUGGED = (errno.EIO, errno.ENXIO, errno.ENODEV, errno.EPIPE)

_ROOT = 0

_FILE_KINDS = (
    (stat.S_ISREG, "a plain file"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)

_CHECK = "check power and cable"
_USE_A_LINK = "run the simulated shoe with shoe-sim serve --port pty:LINK, and configure LINK"


# Opening a port.


def serial_opener(
    port: SerialAddress,
    settings: SerialSettings,
    executor: Executor,
    node: DeviceNode | None = None,
) -> Opener:
    """Return what opens this port with these settings, each time it is called.

    Opening can block (a driver that waits for its adapter): it runs in ``executor``. So can closing
    (one that waits for what is not sent, up to 30 s): each port is closed in a thread of its own,
    and opened again once it is closed. ``node`` is shared by all openers of the same port.
    """
    node = DeviceNode(port.path) if node is None else node

    def give_back(device: Any) -> None:
        node.closing = _Closing(port.path)
        node.closing.close(device)

    async def open_port() -> Transport:
        if node.closing is not None:
            await node.closing.ended()
        opening = executor.submit(_open, port.path, settings, node)
        try:
            device = await asyncio.wrap_future(opening)
        except asyncio.CancelledError:
            # The thread cannot be stopped: what it still opens is closed.
            node.closing = _Closing(port.path)
            opening.add_done_callback(node.closing.close_unwanted)
            raise
        return _transport(device, port.path, give_back)

    return open_port


async def ports_closed() -> None:
    """Return once the ports that this program closes are closed, after ``CLOSED_WITHIN_S`` at most.

    Call it before the program ends: a port that nobody has begun to close holds up its end.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOSED_WITHIN_S):
            for closing in list(_closings):
                await closing.ended()


def _open(path: str, settings: SerialSettings, node: DeviceNode) -> Any:
    """Return the open pyserial port: raw, locked for this process, its input flushed.

    What a tty received before it was raw may be cut or our own echo: pyserial flushes it.
    """
    import serial  # type: ignore[import-untyped]

    try:
        with node.held():
            return serial.Serial(
                path,
                baudrate=settings.baud,
                bytesize=settings.bits,
                parity=settings.parity,
                stopbits=settings.stop_bits,
                exclusive=True,
                # Sets VMIN to 1: a read that finds nothing gives EAGAIN, and an empty read means
                # that the device was unplugged.
                inter_byte_timeout=0,
            )
    except (OSError, ValueError, termios.error) as error:
        raise port_error(path, error) from error


def _transport(device: Any, path: str, give_back: Callable[[Any], None]) -> Transport:
    """Return the transport of an open port, in the running loop."""

    def why_lost(error: OSError | None) -> Loss:
        if error is None or error.errno in _UNPLUGGED:
            return unplugged(path)
        return failed(path, error.strerror or str(error))

    return DescriptorTransport(
        device.fileno(), path, why_lost=why_lost, give_back=partial(give_back, device)
    )


class _Closing:
    """The closing of one port. It begins with ``close``, or once a cancelled opening has ended."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._ended: Future[None] = Future()
        _closings.add(self)

    def close(self, device: Any) -> None:
        """Close the device in a thread of its own, which holds up no other port.

        The thread may be left behind when the program ends.
        """
        thread = threading.Thread(
            target=self._close, args=(device,), name=f"{self._path} close", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # there can be no more threads
            self._close(device)

    def close_unwanted(self, opening: Future[Any]) -> None:
        """Close what was opened although nobody waits for it any more, if anything was."""
        if opening.cancelled() or opening.exception() is not None:
            self._end()
        else:
            self.close(opening.result())

    async def ended(self) -> None:
        """Return once the port is closed."""
        loop, closed = asyncio.get_running_loop(), asyncio.Event()

        def wake(_: Future[None]) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(closed.set)

        self._ended.add_done_callback(wake)
        await closed.wait()

    def _close(self, device: Any) -> None:
        try:
            _close(device)
        finally:
            self._end()

    def _end(self) -> None:
        _closings.discard(self)
        self._ended.set_result(None)


_closings: set[_Closing] = set()
"""The closings of this program that have not ended."""


def _close(device: Any) -> None:
    """Close without sending the rest: the kernel would wait up to 30 s for it.

    It may wait all the same: usb-serial flushes nothing, and a UART sends what it has begun
    (``tty_port_close_start`` and the drivers' ``flush_buffer`` in Linux).
    """
    with suppress(OSError, termios.error):
        if device.out_waiting:
            device.reset_output_buffer()
    # A port that was unplugged may refuse even this; its descriptor is closed all the same.
    with suppress(OSError):
        device.close()


# The device node behind a path. A pty's number is given out again: it must not be mistaken.


@dataclass(frozen=True, slots=True)
class _PtyPath:
    """The links that a path leads over, and the pty at its end, at one moment.

    The number, inode and device of a pty that is given out again are the same as before; the time
    at which it was made, or changed its owner, is not.
    """

    links: tuple[tuple[int, int, int, str], ...]
    pty: tuple[int, ...]


class DeviceNode:
    """The node behind one path. It is kept over all the times that the path is opened."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._opened: _PtyPath | None = None
        self.closing: _Closing | None = None
        """The last closing of the port, which may take a while; None before the first."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Open the port in here, and write to it only after that.

        A pty is held open meanwhile, so that its number stays its own. It is remembered once the
        block has ended without an error.

        Raises:
            PortError: the path leads to no serial port, to somebody's terminal, or to another pty
                than before.
            OSError: as the system reports it.
        """
        no_port = why_no_port(self._path)
        if no_port is not None:
            raise no_port
        found = _follow_to_pty(self._path)
        if found is None:
            yield
            return
        before = self._opened
        if before is not None and found != before and found.links == before.links:
            raise self._replaced()
        pty = os.open(self._path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if _pty_identity(os.fstat(pty)) != found.pty:
                raise self._replaced()
            yield
            self._opened = found
        finally:
            os.close(pty)

    def _replaced(self) -> PortError:
        """Return the error for a pty whose number was given to another program."""
        path = Path(self._path)
        if path.is_symlink():
            line = (
                f"no such port: {path} is a stale link: {os.path.realpath(path)} belongs to "
                "another program now (start the simulated shoe again)"
            )
        else:
            line = (
                f"no such port: the pty {path} was closed, and its number belongs to another "
                f"program now ({_USE_A_LINK}; if {path} is the shoe's new pty, restart shoectl)"
            )
        return PortError(line, "no_such_port")


def _follow_to_pty(path: str) -> _PtyPath | None:
    """Follow the links of a path to a pty; None where it leads to anything else, or nowhere."""
    at = Path(path)
    links: list[tuple[int, int, int, str]] = []
    with suppress(OSError):
        for _ in range(_MAX_LINKS):
            info = at.lstat()
            if not stat.S_ISLNK(info.st_mode):
                found = _pty_identity(info)
                return None if found is None else _PtyPath(tuple(links), found)
            target = at.readlink()
            links.append((info.st_dev, info.st_ino, info.st_ctime_ns, str(target)))
            at = at.parent / target
    return None


def _pty_identity(info: os.stat_result) -> tuple[int, ...] | None:
    """Return what distinguishes this pty from any other of its number; None if it is no pty."""
    if not stat.S_ISCHR(info.st_mode) or os.major(info.st_rdev) not in PTY_MAJORS:
        return None
    return (info.st_dev, info.st_ino, info.st_rdev, info.st_ctime_ns, info.st_uid, info.st_gid)


# What is no port of a shoe.


def why_no_port(path: str, proc: Path = PROC) -> PortError | None:
    """Return why nobody should open this path as a shoe's port; None also if it is missing."""
    try:
        info = Path(path).stat()
    except (OSError, ValueError):
        return None
    kind = _kind_of_other(info, proc)
    if kind is not None:
        return PortError(f"not a serial port: {path} ({kind})", "not_serial")
    owner = terminal_owner(path, proc)
    if owner is None:
        return None
    if _pty_identity(info) is not None:
        return PortError(f"not a serial port: {path} is the terminal of {owner}", "not_serial")
    unit = f"serial-getty@{Path(os.path.realpath(path)).name}.service"
    return PortError(
        f"port taken: {path} is the terminal of {owner} (if it is a login console, run sudo "
        f"systemctl disable --now {unit}; otherwise use another port)",
        "taken",
    )


def _kind_of_other(info: os.stat_result, proc: Path) -> str | None:
    """Name the kind of a node that is no serial line and no pty; None where it may be one."""
    for is_one, kind in _FILE_KINDS:
        if is_one(info.st_mode):
            return kind
    number = (os.major(info.st_rdev), os.minor(info.st_rdev))
    with suppress(OSError, ValueError, IndexError):
        driver = _terminal_driver(number, proc)
        if driver is None:
            return "a device of another kind"
        if driver == "pty:master" or number == _PTMX:
            return "the other end of a pty"
        if driver == "console" or driver.startswith("system:"):
            return "a console of this host"
    return None


def _terminal_driver(number: tuple[int, int], proc: Path) -> str | None:
    """Return the type of this device's terminal driver (proc(5)); None if it is no terminal."""
    for line in (proc / "tty" / "drivers").read_text("utf-8", "replace").splitlines():
        *_, major, minors, driver = line.split()
        first, _, last = minors.partition("-")
        if number[0] == int(major) and int(first) <= number[1] <= int(last or first):
            return driver
    return None


# Errors of opening, in one line: what failed, why, what to do.


def port_error(path: str, error: Exception) -> PortError:
    """Return the error to report for this error of the system."""
    match _errno(error):
        case errno.ENOENT | errno.ENOTDIR:
            return PortError(f"no such port: {path} ({_why_missing(Path(path))})", "no_such_port")
        case errno.EACCES | errno.EPERM:
            return PortError(f"permission denied: {path} ({_why_denied(path)})", "permission")
        case errno.EAGAIN | errno.EBUSY:
            return PortError(f"port taken: {path} {_taken_by(path)}", "taken")
        case errno.EISDIR | errno.ENOTTY:
            return PortError(f"not a serial port: {path}", "not_serial")
        case errno.ENXIO | errno.ENODEV | errno.EIO:
            return PortError(f"no device answers behind {path} ({_CHECK})", "no_device")
        case _:
            why = " ".join(str(error).split()) or type(error).__name__
            return PortError(f"cannot open port {path}: {why}")


def _errno(error: Exception) -> int | None:
    """Return the system's error number, also where a library wrapped the error without it."""
    for candidate in (error, error.__context__):
        number = getattr(candidate, "errno", None)
        if number is None and candidate is not None and candidate.args:
            number = candidate.args[0]
        if isinstance(number, int):
            return number
    return None


def _why_missing(path: Path) -> str:
    """Describe a port that is not there, and what to do."""
    with suppress(OSError):  # it is no link, or is gone by now
        return f"it links to {path.readlink()}, which does not exist: {_CHECK}"
    if path.parent == PTYS:  # those that are there are other people's
        return f"a pty ends with its program, and its number is given to another: {_USE_A_LINK}"
    present = _find_similar(path)
    if present:
        return f"there are: {', '.join(present)}"
    if not path.parent.is_dir():
        return f"{path.parent} does not exist either: {_CHECK}, and the port's name"
    return f"no serial adapter is plugged in: {_CHECK}, and the port's name"


def _find_similar(path: Path) -> list[str]:
    """List ports that might have been meant: those with a similar name, then adapters."""
    found: list[str] = []
    if path.parent != Path("/dev"):  # consoles there have similar names and are never meant
        with suppress(OSError):
            names = [entry.name for entry in path.parent.iterdir() if entry.is_char_device()]
            found += [str(path.parent / name) for name in nearest_names(path.name, names, 2)]
    for folder, pattern in _PLACES:
        with suppress(OSError):  # udev removes a folder with its last link
            found += sorted(map(str, Path(folder).glob(pattern)))
    return list(dict.fromkeys(found))[:_NAMED_AT_MOST]


def _why_denied(path: str) -> str:
    """Say who has access to the port, and the one step that helps; no group that would not."""
    node, user = Path(path), _user_name(os.geteuid())
    try:
        info = node.stat()
    except OSError:
        return _why_unreachable(node, user)
    if _mode_allows(info):
        return "its mode allows access: check container device rules and security modules"
    if info.st_uid == os.geteuid():
        mode = stat.S_IMODE(info.st_mode)
        return f"mode {mode:03o} denies its owner, this user: run chmod u+rw {path}"
    if _group_allows(info) and info.st_gid != _ROOT:
        return _how_to_join(info.st_gid, user)
    owner = _user_name(info.st_uid)
    if os.major(info.st_rdev) in PTY_MAJORS:
        return f"only {owner}, who made this pty, has access: run both programs as one user"
    return (
        f"only {owner} has access: install udev/70-card-shoe.rules and name the adapter in "
        "60-card-shoe-site.rules, which gives it to the group card-shoe"
    )


def _mode_allows(info: os.stat_result) -> bool:
    """Return whether owner, group and mode let this process open it."""
    if info.st_uid == os.geteuid():
        return info.st_mode & 0o600 == 0o600
    if info.st_gid in {os.getegid(), *os.getgroups()}:
        return _group_allows(info)
    return info.st_mode & 0o006 == 0o006


def _group_allows(info: os.stat_result) -> bool:
    return info.st_mode & 0o060 == 0o060


def _how_to_join(gid: int, user: str) -> str:
    """Say how this user joins a group that has access."""
    try:
        found = grp.getgrgid(gid)
    except KeyError:
        return f"group {gid} has access and no name: give the port to a named group by a udev rule"
    again = "log in again or restart the service"
    if user in found.gr_mem:
        return f"{user} joined group {found.gr_name} after this session began: {again}"
    return (
        f"group {found.gr_name} has access: sudo usermod -aG {found.gr_name} {user}, then {again}"
    )


def _why_unreachable(node: Path, user: str) -> str:
    """Say what on the way to the port this user may not pass."""
    for folder in reversed(node.absolute().parents):
        if not os.access(folder, os.X_OK, effective_ids=True):
            with suppress(OSError):
                owner = _user_name(folder.stat().st_uid)
                return f"{user} may not enter its folder {folder}, which belongs to {owner}"
            return f"{user} may not enter its folder {folder}"
    maker = _link_owner(node)
    if maker not in (None, os.geteuid()) and _is_sticky(node.parent):
        return (
            f"the link belongs to {_user_name(maker)} and is in a folder that everybody may write "
            "to, where the kernel does not follow other users' links: make it in another folder"
        )
    return f"{user} may not go where it links to"


def _link_owner(node: Path) -> int | None:
    with suppress(OSError):
        info = node.lstat()
        return info.st_uid if stat.S_ISLNK(info.st_mode) else None
    return None


def _is_sticky(folder: Path) -> bool:
    """Return whether it is a folder like /tmp (proc_sys_fs(5), protected_symlinks)."""
    with suppress(OSError):
        return folder.stat().st_mode & 0o1002 == 0o1002
    return False


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _taken_by(path: str) -> str:
    """Say which process has the port, where the system tells."""
    holder = next(find_port_users(path), None)
    if holder is None:
        return f"by another program (fuser -v {path} names it)"
    if holder.pid == os.getpid():
        return "by this program itself (give each table its own port)"
    return f"by {holder}"
