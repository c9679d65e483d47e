"""Files beside the journal: whole or not at all, for their owner only, on the disk when made.

In: a path, content. Out: the file. Must not know: what is in it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path


def put(
    path: Path,
    content: bytes | Iterable[bytes],
    look: Callable[[Path], None] = lambda _: None,
) -> None:
    """Makes the file beside its place and moves it there, once ``look`` found nothing wrong.

    ``content`` is all of it, or pieces, which are written as they come.

    Raises:
        OSError: it cannot be made, or it is not sure that it stays. What ``look`` raises, too.
    """
    new = path.with_name(path.name + "-new")
    try:
        new.unlink(missing_ok=True)
        fd = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with open(fd, "wb") as file:  # noqa: PTH123 - a descriptor
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            os.fsync(fd)
        look(new)
        new.rename(path)
        sync_folder(path)
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Makes sure of the name of this file, not of what is in it.

    Raises:
        OSError: it is not sure.
    """
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
