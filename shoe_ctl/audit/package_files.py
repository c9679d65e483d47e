"""An installation beside the wheel or the Debian package that it came from, file by file.

In: a wheel or a package, the folder that it is installed in. Out: the files that differ. Must not
know: how that is shown. Nothing of the file that is given is unpacked to the disk or run.
"""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from hashlib import sha256
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO, Literal, NamedTuple

import msgspec

from shoe_ctl import installation
from shoe_ctl.errors import EnvironmentFault, InputRefused

HOME = PurePosixPath("opt/shoe-ctl")
"""The folder of the Debian package in which nothing else lies."""

MOST_FILES = 100_000
MOST_BYTES = 1 << 29
"""A file that is given may be a stranger's: more files, or more bytes unpacked, are refused."""

_PIECE = 1 << 20
_AR = b"!<arch>\n"
_AR_HEAD = 60


class FileDifference(msgspec.Struct, frozen=True):
    """A file that is not as in the package; ``detail`` says more for people, or is empty.

    ``changed`` is one that is the administrator's to change, and no fault.
    """

    path: str
    what: Literal["altered", "missing", "added", "mode", "changed"]
    detail: str = ""

    @property
    def is_fault(self) -> bool:
        """Return True unless the administrator may have changed it."""
        return self.what != "changed"


class Comparison(msgspec.Struct, frozen=True):
    """The result of comparing ``files`` of ``package``, with those installed in ``folder``.

    ``sha256`` is that of the package's own file. ``not_compared`` says what the package does not
    show, in one line each.
    """

    package: str
    sha256: str
    folder: str
    files: int
    differences: list[FileDifference] = []
    not_compared: list[str] = []

    @property
    def ok(self) -> bool:
        """Return True if every file of the package is installed as it is, and no other."""
        return not any(one.is_fault for one in self.differences)


class _Packed(NamedTuple):
    """A file of a package: its digest, or where a link leads to; its modes, None if not known."""

    digest: str
    link: str
    mode: int | None


def compare(package: Path, folder: Path | None = None) -> Comparison:
    """Compare an installation with a wheel or a Debian package.

    ``folder`` is where the package's paths begin: by default the folder of this installation for a
    wheel, and ``/`` for a package.

    Raises:
        InputRefused: it is neither, or damaged.
        EnvironmentFault: it, or a file that is installed, cannot be read.
    """
    try:
        with package.open("rb") as file:
            begins = file.read(len(_AR))
            file.seek(0)
            digest = _Budget(package).digest(file)
            file.seek(0)
            if begins == _AR:
                return _compare_deb(file, package, digest, folder or Path("/"))
            if begins.startswith(b"PK"):
                return _compare_wheel(file, package, digest, folder or installation.root())
    except OSError as error:
        name = error.filename or package
        raise EnvironmentFault(f"{name} cannot be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, LZMAError, EOFError, ValueError) as e:
        raise InputRefused(f"{package}: damaged: {e}") from None
    raise InputRefused(f"{package}: neither a wheel (.whl) nor a Debian package (.deb)")


class _Budget:
    """The bytes and files that may still be read of a package."""

    def __init__(self, package: Path) -> None:
        self._package = package
        self._files, self._bytes = MOST_FILES, MOST_BYTES

    def digest(self, file: IO[bytes]) -> str:
        """Return the digest of a file, within what may still be read."""
        self._files -= 1
        found = sha256()
        while piece := file.read(_PIECE):
            self._bytes -= len(piece)
            found.update(piece)
            if min(self._bytes, self._files) < 0:
                raise InputRefused(f"{self._package}: larger than any package")
        return found.hexdigest()


def _compare_wheel(file: IO[bytes], package: Path, digest: str, folder: Path) -> Comparison:
    due: dict[str, _Packed] = {}
    with zipfile.ZipFile(file) as wheel:
        budget = _Budget(package)
        for one in wheel.infolist():
            if one.is_dir() or ".dist-info/" in one.filename:
                continue  # the installer writes its own there
            with wheel.open(one) as content:
                packed = _Packed(budget.digest(content), "", None)
            due[_path(one.filename, package)] = packed
    if not any(name.startswith("shoe_ctl/") for name in due):
        raise InputRefused(f"{package}: not a wheel of shoe-ctl")
    found = list(_differences(due, folder))
    there = set(installation.installed_files(folder))
    found += [FileDifference(name, "added") for name in sorted(there - due.keys())]
    compiled = sum(1 for name in installation.PACKAGES for _ in (folder / name).rglob("*.pyc"))
    not_compared = ["the Python packages that it needs: compare with the Debian package for those"]
    if compiled:
        not_compared.insert(
            0, f"{compiled:,} files that Python compiled: remove the folders __pycache__, and "
            "Python makes them again",
        )  # fmt: skip
    return Comparison(package.name, digest, str(folder), len(due), found, not_compared)


def _compare_deb(file: IO[bytes], package: Path, digest: str, folder: Path) -> Comparison:
    due: dict[str, _Packed] = {}
    settings: set[str] = set()
    is_ours, budget = False, _Budget(package)
    for name, content in _members(file, package):
        if name.startswith("control.tar"):
            for one, inner in _unpacked(content, package):
                if one.name.removeprefix("./") == "conffiles" and inner is not None:
                    settings |= {line.strip("/") for line in inner.read(1 << 20).decode().split()}
                if one.name.removeprefix("./") == "control" and inner is not None:
                    is_ours = b"Package: shoe-ctl\n" in inner.read(1 << 20)
        elif name.startswith("data.tar"):
            for one, inner in _unpacked(content, package):
                if one.isdir():
                    continue
                link = one.linkname if one.issym() else ""
                packed = "" if inner is None else budget.digest(inner)
                due[_path(one.name, package)] = _Packed(packed, link, one.mode)
    if not is_ours:
        raise InputRefused(f"{package}: not a Debian package of shoe-ctl")
    found = [
        msgspec.structs.replace(one, what="changed") if one.path in settings else one
        for one in _differences(due, folder)
    ]
    found += [FileDifference(name, "added") for name in _added(due, folder)]
    return Comparison(package.name, digest, str(folder), len(due), found)


def _members(file: IO[bytes], package: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the members of an ``ar`` archive."""
    file.seek(len(_AR))
    while head := file.read(_AR_HEAD):
        size = head[48:58].strip()
        if len(head) < _AR_HEAD or head[58:] != b"`\n" or not size.isdigit():
            raise InputRefused(f"{package}: damaged: a member has no header")
        content = file.read(int(size))
        if len(content) < int(size):
            raise InputRefused(f"{package}: damaged: it breaks off")
        file.seek(int(size) % 2, os.SEEK_CUR)
        yield head[:16].decode("ascii", "replace").strip().rstrip("/"), content


def _unpacked(content: bytes, package: Path) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            for one in tar:
                yield one, tar.extractfile(one) if one.isfile() else None
    except tarfile.ReadError as error:
        raise InputRefused(f"{package}: its content cannot be unpacked: {error}") from None


def _path(name: str, package: Path) -> str:
    """Return a path of a package, which leads nowhere else."""
    path = PurePosixPath(name.removeprefix("./"))
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise InputRefused(f"{package}: a file in it is named {name!r}")
    return path.as_posix()


def _differences(due: dict[str, _Packed], folder: Path) -> Iterator[FileDifference]:
    for name, packed in sorted(due.items()):
        path = folder / name
        try:
            there = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            yield FileDifference(name, "missing")
            continue
        is_link = stat.S_ISLNK(there.st_mode)
        if is_link and packed.mode is not None:
            if str(path.readlink()) != packed.link:
                yield FileDifference(name, "altered", f"a link to {path.readlink()}")
        elif packed.link or not path.is_file():
            yield FileDifference(name, "altered", "it is another kind of file")
        elif installation.digest_of(path) != packed.digest:
            yield FileDifference(name, "altered")
        elif packed.mode is not None and stat.S_IMODE(there.st_mode) != packed.mode:
            modes = f"{stat.S_IMODE(there.st_mode):03o}, in the package {packed.mode:03o}"
            yield FileDifference(name, "mode", modes)


def _added(due: dict[str, _Packed], folder: Path) -> Iterator[str]:
    """Yield the files below the package's own folder that are not in it."""
    for at, folders, names in os.walk(folder / HOME):
        inner = PurePosixPath(Path(at).relative_to(folder).as_posix())
        links = [name for name in folders if (Path(at) / name).is_symlink()]
        for name in sorted((*names, *links)):
            if (inner / name).as_posix() not in due:
                yield (inner / name).as_posix()
