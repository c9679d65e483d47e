"""The demands on a socket's path, as far as it can be known without opening the socket.

In: a path. Out: nothing, or the line that says what is wrong with it.
Must not know: who connects, requests. It imports no asyncio: `shoectl config check` starts with it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from shoe_ctl.errors import EnvironmentFault

LONGEST_PATH = 107
"""The kernel's limit for a socket's path, in bytes (sun_path less its end)."""


def check_socket_path(path: Path) -> None:
    """Check what can be known of a socket's path without opening it: a daemon may be serving there.

    A directory that is missing passes: the service manager may make it.

    Raises:
        EnvironmentFault: a path too long, a directory that everyone may write to, a file that is no
            socket, no permission.
    """
    path = path.absolute()
    check_length(path)
    try:
        check_directory(path.parent, path.parent.stat())
        check_kind(path, path.lstat())
    except FileNotFoundError:
        pass
    except OSError as error:
        raise EnvironmentFault(f"socket {path}: {error.strerror}") from None


def check_length(path: Path) -> None:
    """Check that the kernel takes the path."""
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise EnvironmentFault(f"socket {path}: the path is longer than {LONGEST_PATH} bytes")


def check_directory(folder: Path, found: os.stat_result) -> None:
    """Check that not everyone may put something else into the directory."""
    if stat.S_IMODE(found.st_mode) & stat.S_IWOTH:
        raise EnvironmentFault(
            f"socket directory {folder} is world-writable: choose one with mode 0755 or stricter"
        )


def check_kind(path: Path, found: os.stat_result) -> None:
    """Check that what is there is a socket."""
    if not stat.S_ISSOCK(found.st_mode):
        raise EnvironmentFault(f"socket {path}: there is a file of another kind; remove it")
