"""The socket's file: made where only its own users reach it, removed in the end.

In: a path, a group. Out: a listening socket, or one line that says why there is none.
Must not know: who connects, what is said.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from shoe_ctl.errors import EnvironmentFault

MODE = 0o660
"""Its owner and its group may connect; who of them may act is checked by credentials."""

LONGEST_PATH = 107
"""What the kernel takes for a socket's path, in bytes (sun_path less its end)."""

BACKLOG = 64


@contextmanager
def listening(path: Path, *, gid: int | None = None) -> Iterator[socket.socket]:
    """A socket that listens at ``path`` and belongs to group ``gid``; on leaving it is gone.

    What a daemon that died left there is replaced.

    Raises:
        EnvironmentFault: no such directory, one that everyone may write to, a path too long, a
            file that is no socket, a daemon that is alive, no permission.
    """
    path = path.absolute()
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise EnvironmentFault(f"socket {path}: the path is longer than {LONGEST_PATH} bytes")
    with ExitStack() as cleanup:
        listener = cleanup.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        try:
            with _alone_in(path.parent):
                _clear(path)
                inode = _bind(listener, path, gid)
        except OSError as error:
            raise EnvironmentFault(f"socket {path}: {error.strerror}") from None
        cleanup.callback(_remove, path, inode)
        yield listener


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Holds the folder, so that two daemons that start at once do not both find it free."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise EnvironmentFault(f"socket folder {folder}: {error.strerror}") from None
    try:
        if stat.S_IMODE(os.fstat(fd).st_mode) & stat.S_IWOTH:
            raise EnvironmentFault(
                f"socket folder {folder} may be written to by everyone: take one that may not"
            )
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EnvironmentFault(
                f"socket folder {folder} is held by another process; try again"
            ) from None
        yield
    finally:
        os.close(fd)


def _clear(path: Path) -> None:
    """Removes the socket of a daemon that died."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise EnvironmentFault(f"socket {path}: there is a file of another kind; remove it")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        answer = probe.connect_ex(os.fsencode(path))
    if answer in (0, errno.EAGAIN):  # EAGAIN: so many wait already that it takes no more now
        raise EnvironmentFault(f"socket {path} is served by another process")
    if answer not in (errno.ECONNREFUSED, errno.ENOENT):
        raise EnvironmentFault(f"socket {path}: {os.strerror(answer)}")
    path.unlink(missing_ok=True)


def _bind(listener: socket.socket, path: Path, gid: int | None) -> tuple[int, int]:
    """Binds it closed, opens it to its group, and only then listens."""
    os.fchmod(listener.fileno(), 0o600)  # Linux makes the file with the socket's own mode
    listener.bind(os.fsencode(path))
    made = path.lstat()
    try:
        if gid is not None:
            os.chown(path, -1, gid)
        path.chmod(MODE)
        listener.listen(BACKLOG)
    except OSError:
        path.unlink()
        raise
    listener.setblocking(False)
    return made.st_dev, made.st_ino


def _remove(path: Path, inode: tuple[int, int]) -> None:
    """Removes our own file; what someone else put there since stays."""
    with suppress(OSError):
        found = path.lstat()
        if (found.st_dev, found.st_ino) == inode:
            path.unlink()
