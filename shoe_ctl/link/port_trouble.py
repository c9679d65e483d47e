"""Why a port does not open, in one line that says what to do about it.

In: the path and the error of the system. Out: PortError.
Must not know: pyserial, what is spoken on the port.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path

from shoe_ctl.errors import PortError

from .holders import holders_of

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


def trouble(path: str, error: Exception) -> PortError:
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
    holder = next(holders_of(path), None)
    if holder is None:
        return f"by another program (fuser -v {path} names it)"
    if holder.pid == os.getpid():
        return "by this very program (is it configured twice?)"
    return f"by {holder}"
