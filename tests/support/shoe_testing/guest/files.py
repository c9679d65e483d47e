"""The host's files that the guest reads before its first call, for the archive that it boots.

In: what the agent loads, loaded here. Out: paths on stdout, when run as a program.

The guest sees every other file of the host, too, but each costs it several round trips. Python's
bytecode is written on the way, if it was not there: the guest would compile it under emulation.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

PROGRAMS: Final = (
    "/bin/sh", "/bin/dmesg", "/bin/systemd-sysusers", "/bin/udevadm", "/lib/systemd/systemd-udevd",
)  # fmt: skip
"""What the guest's start runs, and its tests."""

DATA: Final = (
    ("/etc", "ld.so.cache"), ("/etc", "nsswitch.conf"), ("/etc", "passwd"), ("/etc", "group"),
    ("/etc/udev", "udev.conf"), ("/lib/udev", "hwdb.bin"), ("/lib/udev/rules.d", "*.rules"),
    ("/usr/lib/locale/C.utf8", "LC_*"),
)  # fmt: skip
"""Folders, and which of their files. Nothing secret: a guest is kept with them."""

_OF_THE_GUEST = ("dev", "proc", "run", "sys")


def files_of_guest(python: str, path: str, *also: Path) -> list[Path]:
    """Return what the guest reads until it is ready: files, and the links that lead there.

    ``python`` runs the agent, with ``path`` as its PYTHONPATH.
    """
    said = subprocess.run(
        [python, "-m", "shoe_testing.guest.files"],
        env={"PYTHONPATH": path, "LANG": "C.UTF-8"}, stdout=subprocess.PIPE, text=True, check=True,
    ).stdout  # fmt: skip
    named = {*map(Path, (*PROGRAMS, *said.splitlines(), python)), *also}
    named.update(path for folder, names in DATA for path in Path(folder).glob(names))
    named.update(_libraries(*PROGRAMS))
    found: set[Path] = set()
    for each in named:
        if each.is_file():
            found.update(_steps(each))
    return sorted(path for path in found if path.parts[1] not in _OF_THE_GUEST)


def _steps(path: Path) -> Iterator[Path]:
    """Each link on the way to a file, and the file itself, without links in its folders."""
    while True:
        path = path.absolute()
        at = Path("/")
        for number, part in enumerate(path.parts[1:], 2):
            at /= part
            if at.is_symlink():
                yield at
                path = Path(os.path.normpath(at.parent / at.readlink()), *path.parts[number:])
                break
        else:
            yield path
            return


def _libraries(*programs: str) -> Iterator[Path]:
    """The libraries that programs need."""
    said = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    yield from map(Path, re.findall(r"(/\S+) \(0x", said))


def _loaded() -> Iterator[str]:
    """The files of this process: its modules with their bytecode, its libraries."""
    for module in tuple(sys.modules.values()):
        spec = getattr(module, "__spec__", None)
        if spec is not None and spec.has_location:
            yield spec.origin
            if spec.cached is not None:
                yield spec.cached
    for line in Path("/proc/self/maps").read_text().splitlines():
        _, slash, rest = line.partition("/")
        name = slash + rest
        while ".so" in name:  # by the name that asks for it: libz.so.1 leads to libz.so.1.2.13
            yield name
            name = name.rpartition(".")[0]


def main() -> None:
    """Load what the agent loads; print which files that takes."""
    opened: list[str] = []

    def note(event: str, args: tuple[object, ...]) -> None:
        if event == "open" and isinstance(args[0], str):
            opened.append(args[0])

    sys.addaudithook(note)
    import_module("shoe_testing.guest.agent")
    import_module("shoe_testing.guest.warm_start").load_and_make()
    environment = Path(sys.prefix)
    also = [environment / "pyvenv.cfg", *environment.glob("lib/*/site-packages/*.pth")]
    sys.stdout.writelines(f"{path}\n" for path in {*_loaded(), *opened, *map(str, also)})


if __name__ == "__main__":
    main()
