"""A Debian system in a folder, to install packages in and to run programs in as if it were a host.

In: a folder, packages. Out: what commands print there, what files there are. Nothing of it reaches
the machine around it: it has processes and mounts of its own, no network, and ends with the test.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shoe_testing.paths import ROOT

SUITES = {(3, 11): "bookworm", (3, 13): "trixie"}
"""Which Debian has which Python: the package is for the Python that built it."""

PATIENCE_S = 120.0

NEEDED = ("procps", "python3", "systemd")
TOOLS = {
    "debootstrap": "debootstrap",
    "dpkg-deb": "dpkg",
    "unshare": "util-linux",
    "nsenter": "util-linux",
}
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

NOTES = (
    "var/log/dpkg.log",
    "var/lib/dpkg/status",
    "var/lib/dpkg/lock",
    "var/lib/dpkg/triggers/",
    "var/cache/debconf/",
    "var/cache/ldconfig/",
    "etc/passwd-",
    "etc/shadow-",
    "etc/group-",
    "etc/gshadow-",
    "etc/.pwd.lock",
)
"""Files that any installation changes: logs, locks, copies of the last state."""

BEGIN = """
set -e
system=$1
shift
mkdir "$CGROUP"
echo $$ >"$CGROUP/cgroup.procs"
set -- sh -s "$system" "$@"
exec unshare --mount --net --pid --ipc --uts --cgroup --fork --kill-child "$@" <<"END"
set -e
system=$1
shift
mount --bind "$system" "$system"
mount -t proc proc "$system/proc"
mount --bind "$system/proc/sys" "$system/proc/sys"
mount -o remount,bind,ro "$system/proc/sys"
mount -t sysfs -o ro sysfs "$system/sys"
mount -t cgroup2 cgroup2 "$system/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$system/run"
mount -t tmpfs -o mode=755 tmpfs "$system/dev"
mkdir "$system/dev/pts" "$system/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$system/dev/pts"
ln -s pts/ptmx "$system/dev/ptmx"
for device in null zero full random urandom tty; do
    cp -a "/dev/$device" "$system/dev/$device"
done
echo up
exec chroot "$system" "$@" </dev/null
END
"""
"""Begins a system of its own: nothing in it can reach a device, a mount or a setting around it."""

IDLE = ("/bin/sleep", "infinity")
SYSTEMD = ("/lib/systemd/systemd", "--system", "--unit=multi-user.target")


def need(what: str, missing: bool) -> None:
    """Skip where something is missing, and say what; fail in continuous integration."""
    if missing:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(what)


def need_tools() -> None:
    """Skip or fail unless a Debian root can be made and entered here."""
    need("only root can enter a Debian root: run make test-deb as root", os.getuid() != 0)
    search = f"{os.environ['PATH']}:/usr/sbin"
    for tool, package in TOOLS.items():
        missing = shutil.which(tool, path=search) is None
        need(f"{tool} is missing: sudo apt-get install {package}", missing)
    version = ".".join(map(str, sys.version_info[:2]))
    need(f"no Debian has Python {version}", sys.version_info[:2] not in SUITES)


def made_root() -> Path:
    """A minimal Debian with what the package depends on; made once, kept in build/."""
    suite = SUITES[sys.version_info[:2]]
    kept = ROOT / "build" / "-".join(("debian", suite, *NEEDED))
    if not kept.is_dir():
        making = kept.with_name(f"{kept.name}.new")
        shutil.rmtree(making, ignore_errors=True)
        making.parent.mkdir(exist_ok=True)
        done = subprocess.run(
            [
                "debootstrap",
                "--variant=minbase",
                f"--include={','.join(NEEDED)}",
                suite,
                str(making),
            ],
            env={**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin"},
            capture_output=True,
            text=True,
            check=False,
        )
        need(f"debootstrap found no Debian: {done.stdout[-300:]}", done.returncode != 0)
        making.rename(kept)
    return kept


class Machine:
    """A running system in a folder."""

    def __init__(self, folder: Path, init: int) -> None:
        self.folder = folder
        self._init = init

    def path(self, name: str) -> Path:
        """Where a file of the system is, for whoever looks from outside."""
        return self.folder / name.lstrip("/")

    def start(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command there; its exit code is the caller's to look at."""
        return subprocess.run(
            ["nsenter", "-t", str(self._init), "-m", "-n", "-p", "-i", "-u", "-r", "-w", *words],
            env={"PATH": PATH, "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "teletype"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )  # fmt: skip

    def run(self, *words: str) -> str:
        """Run a command there that succeeds. Returns its output."""
        done = self.start(*words)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def install(self, package: Path) -> None:
        """Install a package or a newer one, as apt does once it has what the package depends on."""
        shutil.copy(package, self.path("/srv"))
        self.run("dpkg", "--force-unsafe-io", "--install", f"/srv/{package.name}")
        self.path(f"/srv/{package.name}").unlink()

    def json(self, *words: str) -> Any:
        """Run a command there that prints JSON."""
        return json.loads(self.run(*words))

    def contents(self) -> dict[str, str]:
        """Every file, folder and link, with owner, mode and content, but dpkg's log and notes."""
        found = {}
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder)
            if is_note(name):
                continue
            status = path.lstat()
            what = f"{status.st_uid} {status.st_gid} {status.st_mode:o}"
            if path.is_symlink():
                what += f" {path.readlink()}"
            elif path.is_file():
                what += f" {hashlib.sha256(path.read_bytes()).hexdigest()}"
            found[str(name)] = what
        return found


def is_note(name: Path) -> bool:
    """Whether any installation changes this file."""
    return str(name).startswith(NOTES)


def own_cgroup() -> Path:
    """Where a system's processes are to be counted: below the cgroup that this process is in."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text("utf-8").splitlines()]
    found = [fields[1] for fields in mounts if fields[2] == "cgroup2"]
    need("no cgroup2 is mounted here", not found)
    rows = Path("/proc/self/cgroup").read_text("utf-8").splitlines()
    (inside,) = [row.removeprefix("0::") for row in rows if row.startswith("0::")]
    return Path(found[0]) / inside.lstrip("/") / f"shoe-ctl-test-{os.getpid()}"


@contextmanager
def machine(folder: Path, runs: tuple[str, ...] = IDLE) -> Iterator[Machine]:
    """A fresh system in a folder, which ends, with all its processes, on leaving.

    Args:
        folder: Where it is made, and removed again.
        runs: Its first process: one that does nothing, or systemd.
    """
    system = folder / "system"
    # cp keeps owners, links and modes, and copies nothing where the file system shares blocks.
    subprocess.run(["cp", "-a", "--reflink=auto", f"{made_root()}/.", system], check=True)
    cgroup = own_cgroup()
    process = subprocess.Popen(
        ["sh", "-c", BEGIN, "sh", system, *runs],
        env={"PATH": PATH, "CGROUP": str(cgroup), "container": "shoe-ctl-test"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said == "up\n", said + process.communicate()[0]
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("utf-8")
        init = int(children.split()[0])
        last = os.pidfd_open(init)
        try:
            yield Machine(system, init)
        finally:
            process.kill()  # unshare ignores SIGTERM. Its child ends with it, after all others.
            select.select([last], [], [], PATIENCE_S)
            os.close(last)
    finally:
        process.kill()
        process.communicate()
        if cgroup.is_dir():
            for path in sorted([cgroup, *cgroup.rglob("*")], reverse=True):
                if path.is_dir():
                    path.rmdir()
        shutil.rmtree(system)


@contextmanager
def booted_machine(folder: Path) -> Iterator[Machine]:
    """A system that runs systemd, once it is up."""
    with machine(folder, SYSTEMD) as made:
        state = ("systemctl", "is-system-running", "--wait")
        until(lambda: made.start(*state).stdout.strip() in {"running", "degraded"})
        made.run("systemctl", "is-active", "multi-user.target")
        yield made


def until(look: Callable[[], Any]) -> Any:
    """What a look finds, once it finds anything. Each look takes a moment of its own."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < deadline
    return found
