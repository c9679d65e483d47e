"""A serial port as a transport: pyserial opens and configures it, the event loop reads and writes.

In: a path, the profile's serial settings. Out: chunks of bytes, or why the port is lost.
Must not know: frames, sessions, reconnecting.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import grp
import os
import pwd
import stat
import termios
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from firmware_proto.profiles import SerialSettings
from shoe_ctl.errors import PortError
from shoe_ctl.link.address import SerialAddress
from shoe_ctl.link.port_users import PROC, find_port_users, terminal_owner
from shoe_ctl.link.transport import DescriptorTransport, Opener, Transport

_PLACES = (
    ("/dev/card-shoe", "*"),
    ("/dev/serial/by-id", "*"),
    ("/dev", "ttyUSB*"),
    ("/dev", "ttyACM*"),
)
"""Where the ports of shoes and adapters are found, the steadiest names first."""

_NAMED_AT_MOST = 4
"""How many ports one line names."""

PTYS = Path("/dev/pts")

PTY_MAJORS = range(136, 144)
"""The kernel's numbers for the host's ends of ptys (Documentation/admin-guide/devices.txt)."""

_ROOT = 0

GIVE_A_LINK = "give a simulated shoe a link, shoe-sim serve --port pty:LINK, and configure LINK"


def port_error(path: str, error: Exception) -> PortError:
    """The error that a user is told for this error of the system."""
    match _errno(error):
        case errno.ENOENT | errno.ENOTDIR:
            return PortError(f"no such port: {path} ({_whereabouts(Path(path))})", "no_such_port")
        case errno.EACCES | errno.EPERM:
            return PortError(f"permission denied: {path} ({_who_may(path)})", "permission")
        case errno.EAGAIN | errno.EBUSY:
            return PortError(f"port taken: {path} {_held_by(path)}", "taken")
        case errno.EISDIR | errno.ENOTTY:
            return PortError(f"not a serial port: {path}", "not_serial")
        case errno.ENXIO | errno.ENODEV | errno.EIO:
            line = f"no device answers behind {path} (is it plugged in and powered?)"
            return PortError(line, "no_device")
        case _:
            why = " ".join(str(error).split()) or type(error).__name__
            return PortError(f"cannot open port {path}: {why}")


def _errno(error: Exception) -> int | None:
    """The system's number, also where a library wrapped it without one."""
    for candidate in (error, error.__context__):
        number = getattr(candidate, "errno", None)
        if number is None and candidate is not None and candidate.args:
            number = candidate.args[0]
        if isinstance(number, int):
            return number
    return None


def _whereabouts(path: Path) -> str:
    """What is known of a port that is not there."""
    if path.is_symlink():
        return f"it leads to {path.readlink()}, which is gone: is the shoe plugged in and powered?"
    if path.parent == PTYS:  # those that are there are other people's
        return f"a pty goes with its program, and its number to another: {GIVE_A_LINK}"
    present = _present(path)
    if present:
        return f"there are: {', '.join(present)}"
    if not path.parent.is_dir():
        return f"{path.parent} does not exist either: is the shoe plugged in and powered?"
    return "no serial adapter is plugged in: check cable and power"


def _present(path: Path) -> list[str]:
    """Ports that might have been meant: alike in name first, then those of adapters."""
    found: list[str] = []
    if path.parent != Path("/dev"):  # consoles there are alike in name and never meant
        with suppress(OSError):
            names = [entry.name for entry in path.parent.iterdir()]
            found += [str(path.parent / name) for name in get_close_matches(path.name, names, n=2)]
    for folder, pattern in _PLACES:
        found += sorted(map(str, Path(folder).glob(pattern)))
    return list(dict.fromkeys(found))[:_NAMED_AT_MOST]


def _who_may(path: str) -> str:
    """Who may use the port, and the one step that helps; no group that would not help."""
    node, user = Path(path), _user(os.geteuid())
    try:
        info = node.stat()
    except OSError:
        return _who_may_enter(node, user)
    if _mode_allows(info):
        return "its mode allows it: a container, its device rules or a security module forbid it"
    if info.st_uid == os.geteuid():
        mode = stat.S_IMODE(info.st_mode)
        return f"its owner, this user, may not both read and write it (mode {mode:03o})"
    if _allows_group(info) and info.st_gid != _ROOT:
        return _join(info.st_gid, user)
    owner = _user(info.st_uid)
    if os.major(info.st_rdev) in PTY_MAJORS:
        return f"only {owner} may, who made this pty: run both as one user"
    return (
        f"only {owner} may: install udev/70-card-shoe.rules and name the adapter in "
        "60-card-shoe-site.rules, which gives it to the group card-shoe"
    )


def _mode_allows(info: os.stat_result) -> bool:
    """By owner, group and mode this program may open it: something else stands against it."""
    if info.st_uid == os.geteuid():
        return info.st_mode & 0o600 == 0o600
    if info.st_gid in {os.getegid(), *os.getgroups()}:
        return _allows_group(info)
    return info.st_mode & 0o006 == 0o006


def _allows_group(info: os.stat_result) -> bool:
    return info.st_mode & 0o060 == 0o060


def _join(gid: int, user: str) -> str:
    """How this user comes into a group that may."""
    try:
        found = grp.getgrgid(gid)
    except KeyError:
        return f"group {gid} may, which has no name here: give the port to another by a udev rule"
    again = "log in again, or restart the service"
    if user in found.gr_mem:
        began = "but was not when this program's session began"
        return f"{user} is in group {found.gr_name}, {began}: {again}"
    return f"group {found.gr_name} may: sudo usermod -aG {found.gr_name} {user}, then {again}"


def _who_may_enter(node: Path, user: str) -> str:
    """What on the way to the port this user may not pass."""
    for folder in reversed(node.absolute().parents):
        if not os.access(folder, os.X_OK, effective_ids=True):
            with suppress(OSError):
                owner = _user(folder.stat().st_uid)
                return f"its folder {folder} is {owner}'s, and {user} may not enter it"
            return f"its folder {folder} may not be entered by {user}"
    maker = _owner_of_link(node)
    if maker not in (None, os.geteuid()) and _anybody_writes(node.parent):
        return (
            f"the link is {_user(maker)}'s, in a folder that everybody may write to, where the "
            "kernel follows links of others for nobody: make it in a folder of its own"
        )
    return f"{user} may not go where it leads to"


def _owner_of_link(node: Path) -> int | None:
    with suppress(OSError):
        info = node.lstat()
        return info.st_uid if stat.S_ISLNK(info.st_mode) else None
    return None


def _anybody_writes(folder: Path) -> bool:
    """A sticky folder like /tmp (proc_sys_fs(5), protected_symlinks)."""
    with suppress(OSError):
        return folder.stat().st_mode & 0o1002 == 0o1002
    return False


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _held_by(path: str) -> str:
    """Who holds a port, where the system tells."""
    holder = next(find_port_users(path), None)
    if holder is None:
        return f"by another program (fuser -v {path} names it)"
    if holder.pid == os.getpid():
        return "by this very program (is it configured twice?)"
    return f"by {holder}"


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
    holder = terminal_owner(path, proc)
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


_UNPLUGGED = (errno.EIO, errno.ENXIO, errno.ENODEV, errno.EPIPE)


def serial_opener(
    port: SerialAddress,
    settings: SerialSettings,
    executor: Executor,
    node: DeviceNode | None = None,
) -> Opener:
    """Opens this port with these settings, each time it is called.

    Opening can block (a driver that waits for its adapter), so it runs in ``executor``. ``node``
    is what other openers of the same port know of it.
    """
    node = DeviceNode(port.path) if node is None else node

    async def open_port() -> Transport:
        opening = executor.submit(_open, port.path, settings, node)
        try:
            device = await asyncio.wrap_future(opening)
        except asyncio.CancelledError:
            # The thread cannot be stopped: what it still opens it closes itself.
            opening.add_done_callback(_close_unwanted)
            raise
        return _transport(device, port.path)

    return open_port


def _open(path: str, settings: SerialSettings, node: DeviceNode) -> Any:
    """The open pyserial port: raw, locked for us alone, its input flushed.

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
                # Makes VMIN 1: a read that finds nothing then says EAGAIN, and empty means
                # unplugged.
                inter_byte_timeout=0,
            )
    except (OSError, ValueError, termios.error) as error:
        raise port_error(path, error) from error


def _close_unwanted(opening: Future[Any]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        _close(opening.result())


def _close(device: Any) -> None:
    """Closes at once: the kernel would wait up to 30 s for what is not sent yet."""
    with contextlib.suppress(OSError, termios.error):
        if device.out_waiting:
            device.reset_output_buffer()
    # A port that was unplugged may refuse even this; its descriptor is gone all the same.
    with contextlib.suppress(OSError):
        device.close()


def _transport(device: Any, path: str) -> Transport:
    """The open port in the running loop."""

    def why_lost(error: OSError | None) -> str:
        if error is None or error.errno in _UNPLUGGED:
            return f"unplugged: {path}"
        return f"{path}: {error.strerror or error}"

    return DescriptorTransport(
        device.fileno(), path, why_lost=why_lost, give_back=lambda: _close(device)
    )
