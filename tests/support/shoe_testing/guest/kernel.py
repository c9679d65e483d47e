"""Debian's kernel: downloaded and unpacked once, never installed, and kept between runs.

In: the package archives that apt knows. Out: an image that QEMU boots, and modules in the order in
which they load. Must not know: QEMU, the guest's work.
"""

from __future__ import annotations

import fcntl
import lzma
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CACHE_VARIABLE = "SHOE_CTL_KERNEL_CACHE"
"""A folder in which kernels are kept."""

METAPACKAGE = "linux-image-amd64"
"""Depends on the current kernel. That for clouds has no USB."""

MODULES = (
    "virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_console", "virtio_net",
    "vhci_hcd", "cdc_acm", "xhci_pci", "ftdi_sio",
)  # fmt: skip
"""What the guest needs, without what these need in turn."""

INIT = Path(__file__).with_name("init.sh")
ATTACH = Path(__file__).with_name("attach.sh")
BUSYBOX = Path("/bin/busybox")

_DOWNLOAD_S = 120
_ENTER = 0o111
_GUESTS = 2
_XZ = bytes.fromhex("FD377A585A00")
_FOLDERS = ("all", "bin", "dev", "files", "host", "modules", "new", "proc", "rw", "sys")
_ORDER = "order"


class NoKernel(Exception):
    """There is no kernel to be had; says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that is kept in a folder."""

    folder: Path
    was_kept: bool

    @property
    def image(self) -> Path:
        return self.folder / "vmlinux"

    def initrd(self, files: Iterable[Path], texts: Mapping[str, str]) -> bytes:
        """Return the archive that it boots: busybox, the modules, ``init.sh``, and what is given.

        ``files`` are the host's, or links there; ``texts`` are written to these paths besides. The
        service's user may enter every folder of these files: in the guest alone.
        """
        with tempfile.TemporaryDirectory(prefix="shoe-kernel-") as name:
            copied, links = Path(name, "copied"), Path(name, "links")
            for folder in _FOLDERS:
                (copied / folder).mkdir(parents=True)
            (links / "files").mkdir(parents=True)
            (copied / "bin" / "busybox").symlink_to(BUSYBOX)
            for module in (self.folder / "modules").iterdir():
                (copied / "modules" / module.name).symlink_to(module)
            for script, to in (INIT, "init"), (ATTACH, "attach.sh"):
                shutil.copy(script, copied / to)
                (copied / to).chmod(0o755)
            for path in files:
                root = links if path.is_symlink() else copied
                _make_folders(root / "files", path.parent)
                at = path.readlink() if path.is_symlink() else path
                (root / "files" / path.relative_to("/")).symlink_to(at)
            for to, text in texts.items():
                at = copied / to
                at.parent.mkdir(parents=True, exist_ok=True)
                at.write_text(text)
            return _archive(copied, "--dereference") + _archive(links)


def _archive(root: Path, *options: str) -> bytes:
    """The same files give the same archive."""
    names = sorted(str(path.relative_to(root)) for path in root.rglob("*"))
    for name in names:
        os.utime(root / name, (0, 0), follow_symlinks=False)
    return subprocess.run(
        ["cpio", "--create", "--format=newc", "--owner=0:0", "--quiet", "--reproducible", *options],
        cwd=root, input="\n".join(names).encode(), stdout=subprocess.PIPE, check=True,
    ).stdout  # fmt: skip


def _make_folders(below: Path, folder: Path) -> None:
    """Make a folder of the host and those above it, open for all to enter."""
    made = below / folder.relative_to("/")
    if not made.is_dir():
        _make_folders(below, folder.parent)
        made.mkdir()
        made.chmod(stat.S_IMODE(folder.stat().st_mode) | _ENTER)


def cache() -> Path:
    """Return the folder in which kernels are kept."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "shoe-ctl" / "kernel"


@contextmanager
def kept_guest(key: str) -> Iterator[Path]:
    """The file that keeps a guest of this key, or is to keep it; nobody else is at it meanwhile."""
    folder = cache() / "guests"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = folder / f"{key}.guest"
        yield kept
        kept.touch()
        for older in sorted(folder.glob("*.guest"), key=_age)[:-_GUESTS]:
            older.unlink()
        for unfinished in folder.glob("*.unfinished"):
            unfinished.unlink()


def _age(path: Path) -> float:
    return path.stat().st_mtime


def current_kernel() -> Kernel:
    """Return the kernel that Debian has now; download and unpack it if it is not kept yet.

    Older ones are removed. Where apt knows no kernel, the newest that is kept has to do.

    Raises:
        NoKernel: none can be had.
    """
    folder = cache()
    folder.mkdir(parents=True, exist_ok=True)
    package = _current_package()
    if package is None:
        kept = sorted(folder.glob("linux-image-*"), key=lambda path: path.stat().st_mtime)
        if not kept:
            raise NoKernel(
                f"apt knows no package {METAPACKAGE}: run sudo apt-get update (Debian), or set "
                f"{CACHE_VARIABLE} to a folder that keeps a kernel"
            )
        return Kernel(kept[-1], was_kept=True)
    kernel = folder / package
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be at it
        if kernel.is_dir():
            return Kernel(kernel, was_kept=True)
        with tempfile.TemporaryDirectory(prefix="unpacked-", dir=folder) as name:
            made = Path(name) / "kernel"
            _unpack(_download(package, Path(name)), made)
            for older in folder.glob("linux-image-*"):
                shutil.rmtree(older)
            made.rename(kernel)
    return Kernel(kernel, was_kept=False)


def _current_package() -> str | None:
    if shutil.which("apt-cache") is None:
        return None
    said = subprocess.run(
        ["apt-cache", "depends", METAPACKAGE], capture_output=True, text=True, check=False
    ).stdout
    found = re.search(r"Depends: (linux-image-\S+)", said)
    return None if found is None else found[1]


def _download(package: str, folder: Path) -> Path:
    """Download the package; return its file."""
    try:
        done = subprocess.run(
            ["apt-get", "download", "--quiet", package],
            cwd=folder, capture_output=True, text=True, check=False, timeout=_DOWNLOAD_S,
        )  # fmt: skip
        why = " ".join(done.stderr.split())
    except subprocess.TimeoutExpired:
        why = f"it took more than {_DOWNLOAD_S} s"
    found = next(folder.glob("*.deb"), None)
    if found is None:
        raise NoKernel(f"{package} cannot be downloaded: run sudo apt-get update first ({why})")
    return found


def _unpack(package: Path, made: Path) -> None:
    """Keep the kernel's image and the modules that the guest needs."""
    root = package.parent / "root"
    subprocess.run(["dpkg-deb", "--extract", package, root], check=True)
    (made / "modules").mkdir(parents=True)
    (compressed,) = root.glob("boot/vmlinuz-*")
    (made / "vmlinux").write_bytes(_extracted(compressed.read_bytes()))
    files = {_module_name(path): path for path in root.glob("**/*.ko*")}
    order = list(dict.fromkeys(_with_needs(MODULES, files)))
    for name in order:
        packed = files[name].read_bytes()
        data = lzma.decompress(packed) if files[name].suffix == ".xz" else packed
        (made / "modules" / f"{name}.ko").write_bytes(data)
    (made / "modules" / _ORDER).write_text("\n".join(order) + "\n")
    shutil.rmtree(root)
    package.unlink()


def _extracted(image: bytes) -> bytes:
    """Return the kernel within its compressed image: QEMU starts it three seconds sooner.

    One that is packed in another way stays as it is.
    """
    start = image.find(_XZ)
    return image if start < 0 else lzma.LZMADecompressor().decompress(image[start:])


def _module_name(path: Path) -> str:
    return path.name.partition(".")[0].replace("-", "_")


def _with_needs(names: Sequence[str], files: dict[str, Path]) -> Iterator[str]:
    """Yield modules, each behind those that it needs; what is built in has no file."""
    for name in names:
        if name not in files:
            continue
        said = subprocess.run(
            ["modinfo", "--field", "depends", files[name]],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        needs = [need.replace("-", "_") for need in said.strip().split(",") if need]
        yield from _with_needs(needs, files)
        yield name
