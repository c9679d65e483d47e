"""The host's files that the guest reads before its first call, for the archive that it boots.

In: what the agent loads, loaded here. Out: paths on stdout, when run as a program.

The guest sees every other file of the host, too, but each costs it several round trips. Python's
bytecode is written on the way, if it was not there: the guest would compile it under emulation.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PROGRAMS: Final = (
    "/bin/sh", "/bin/chmod", "/bin/cp", "/bin/dmesg", "/bin/mkdir", "/bin/readlink", "/bin/rm",
    "/bin/systemd-sysusers", "/bin/udevadm", "/lib/systemd/systemd-udevd",
)  # fmt: skip
"""What the guest's start runs, and its tests."""

DATA: Final = (
    ("/etc", "ld.so.cache"), ("/etc", "nsswitch.conf"), ("/etc", "passwd"), ("/etc", "group"),
    ("/etc/udev", "udev.conf"), ("/lib/udev/rules.d", "*.rules"),
    ("/usr/lib/locale/C.utf8", "LC_*"),
)  # fmt: skip

_OF_THE_GUEST = ("dev", "proc", "run", "sys")


def files_of_guest(python: str, path: str) -> list[Path]:
    """Return what the guest reads until it is ready, as far as that is known, by real paths.

    ``python`` runs the agent, with ``path`` as its PYTHONPATH.
    """
    said = subprocess.run(
        [python, "-m", "shoe_testing.guest.files"],
        env={"PYTHONPATH": path, "LANG": "C.UTF-8"}, stdout=subprocess.PIPE, text=True, check=True,
    ).stdout  # fmt: skip
    named = {*map(Path, said.splitlines()), *_programs()}
    named.update(path for folder, names in DATA for path in Path(folder).glob(names))
    real = {path.resolve() for path in named if path.is_file()}
    return sorted(path for path in real if path.parts[1] not in _OF_THE_GUEST)


def _programs() -> Iterator[Path]:
    """The programs, with the libraries that these need."""
    there = [name for name in PROGRAMS if Path(name).is_file()]
    said = subprocess.run(["ldd", *there], capture_output=True, text=True, check=False).stdout
    yield from map(Path, (*there, *re.findall(r"(/\S+) \(0x", said)))


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
        if slash:
            yield slash + rest


def main() -> None:
    """Load what the agent loads; print which files that takes."""
    opened: list[str] = []

    def note(event: str, args: tuple[object, ...]) -> None:
        if event == "open" and isinstance(args[0], str):
            opened.append(args[0])

    sys.addaudithook(note)
    import shoe_testing.guest.agent
    from shoe_testing.guest.warm_start import load_and_make

    load_and_make()
    environment = Path(sys.prefix)
    also = [environment / "pyvenv.cfg", *environment.glob("lib/*/site-packages/*.pth")]
    print(*dict.fromkeys((*_loaded(), *opened, *map(str, also))), sep="\n")


if __name__ == "__main__":
    main()
