"""Why a port does not open, in one line that says what to do about it.

In: the path and the error of the system. Out: PortError.
Must not know: pyserial, what is spoken on the port.
"""

from __future__ import annotations

import errno
import grp
import os
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

_PTYS = Path("/dev/pts")

GIVE_A_LINK = "give a simulated shoe a link (shoe-sim serve --port pty:LINK) and configure LINK"


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
    if path.parent == _PTYS:  # those that are there are other people's
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
    """Which group may use the port, and how to get into it."""
    try:
        gid = Path(path).stat().st_gid
    except OSError:
        return "its folder may not be entered by this user"
    try:
        group = grp.getgrgid(gid).gr_name
    except KeyError:
        group = str(gid)
    return f"group {group} may: sudo usermod -aG {group} USER, then log in again"


def _held_by(path: str) -> str:
    """Who holds a port, where the system tells."""
    holder = next(holders_of(path), None)
    if holder is None:
        return f"by another program (fuser -v {path} names it)"
    if holder.pid == os.getpid():
        return "by this very program (is it configured twice?)"
    return f"by {holder}"
