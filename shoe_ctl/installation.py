"""The files of shoe-ctl that are installed here, and one digest of them all.

In: the folder with the packages. Out: paths, digests. Must not know: who asks, what a file is for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

PACKAGES = ("firmware_proto", "shoe_bench", "shoe_ctl", "simulators")
COMPILED = "__pycache__"
"""The folders of what Python compiles by itself, beside the files."""

_PIECE = 1 << 20


def root() -> Path:
    """Return the folder that the packages are installed in."""
    return Path(__file__).parents[1]


def installed_files(folder: Path) -> Iterator[str]:
    """Yield the files of the packages in this folder, with slashes, in the order of their bytes.

    What Python compiled is left out.
    """
    found = []
    for package in PACKAGES:
        for at, folders, names in os.walk(folder / package):
            folders[:] = [name for name in folders if name != COMPILED]
            inner = Path(at).relative_to(folder)
            found += [(inner / name).as_posix() for name in names]
    yield from sorted(found, key=os.fsencode)


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hex.

    Raises:
        OSError: it cannot be read.
    """
    found = sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
    return found.hexdigest()


def digest(folder: Path) -> str:
    """Return one SHA-256 for all files of the packages, in hex.

    It is that of the lines which ``sha256sum`` prints of them, so that anybody can compute it.

    Raises:
        OSError: one cannot be read.
    """
    found = sha256()
    for name in installed_files(folder):
        found.update(os.fsencode(f"{digest_of(folder / name)}  {name}\n"))
    return found.hexdigest()
