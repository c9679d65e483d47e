"""A Debian system in a folder, to install packages in and to run programs in as if it were a host.

In: a folder, packages. Out: what commands print there, what files there are. Nothing of it reaches
the machine around it: it has processes and mounts of its own, no network, and ends with the test.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SUITES = {(3, 11): "bookworm", (3, 13): "trixie"}
"""Which Debian has which Python: the package is for the Python that built it."""

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
    "var/cache/ldconfig/",
    "etc/passwd-",
    "etc/shadow-",
    "etc/group-",
    "etc/gshadow-",
    "etc/.pwd.lock",
)

SYSTEMCTL = """\
#!/bin/sh
# Plays systemd for shoectl@main: what the unit says of command, user and folders is done.
set -e
unit=/usr/lib/systemd/system/shoectl@.service
pid=/run/main.pid
echo "$*" >>/run/systemctl.log
case "$1" in
start)
    install -d -o shoectl -g shoectl -m 750 /var/lib/shoectl/main /run/shoectl/main
    command=$(sed -n 's/^ExecStart=//p' $unit | sed 's/%i/main/g')
    user=$(sed -n 's/^User=//p' $unit)
    cd /var/lib/shoectl/main
    setpriv --reuid "$user" --regid "$user" --init-groups $command </dev/null >>/run/main.log 2>&1 &
    echo $! >$pid
    ;;
stop)
    kill -TERM "$(cat $pid)"
    tail --pid "$(cat $pid)" -f /dev/null
    rm $pid
    ;;
list-units)
    if [ -e $pid ]; then
        echo "shoectl@main.service loaded active running Card shoe controller, tables of main"
    fi
    ;;
esac
"""


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
            ["nsenter", "-t", str(self._init), "-m", "-p", "-n", "-r", "-w", *words],
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
        shutil.copy(package, self.path("/root"))
        self.run("dpkg", "--force-unsafe-io", "--install", f"/root/{package.name}")
        self.path(f"/root/{package.name}").unlink()

    def json(self, *words: str) -> Any:
        """Run a command there that prints JSON."""
        return json.loads(self.run(*words))

    def play_systemd(self) -> None:
        """Let the package's scripts find a service manager, which plays the one unit there is."""
        stand_in = self.path("/usr/local/sbin/systemctl")
        stand_in.write_text(SYSTEMCTL)
        stand_in.chmod(0o755)
        self.path("/run/systemd/system").mkdir(parents=True)

    def contents(self) -> dict[str, str]:
        """Every file, folder and link, with owner, mode and content, but dpkg's log and notes."""
        ours = {"proc", "dev", "sys"}
        found = {}
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder)
            if name.parts[0] in ours or is_note(name):
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
    """Files that any installation changes: logs, locks, copies of the last state."""
    return str(name).startswith(NOTES)


@contextmanager
def machine(folder: Path) -> Iterator[Machine]:
    """A fresh system in a folder, which ends, with all its processes, on leaving."""
    system = folder / "system"
    # cp keeps owners, links and devices, and copies nothing where the file system shares blocks.
    subprocess.run(["cp", "-a", "--reflink=auto", made_root(), system], check=True)
    begin = (
        f'mount -t proc proc "{system}/proc" && mount --rbind /dev "{system}/dev" && '
        f'echo up && exec chroot "{system}" sleep infinity'
    )
    process = subprocess.Popen(
        ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", begin],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("utf-8")
        yield Machine(system, int(children.split()[0]))
    finally:
        process.kill()  # unshare ignores SIGTERM; with it everything in there ends
        process.communicate()
        shutil.rmtree(system)
