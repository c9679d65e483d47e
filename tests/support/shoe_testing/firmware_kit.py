"""The firmware kit, compiled by this machine's C compiler, and asked line by line.

In: the generated header and the sources beside it. Out: what the C code makes of bytes and values,
and a whole shoe on a pty.
Must not know: what the answers should be.
"""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import firmware_proto

SOURCES = Path(firmware_proto.__path__[0]) / "kit"
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic", "-O1", "-g")
SANITISED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@dataclass(frozen=True)
class Kit:
    """``program`` is the harness; each call of ``ask`` is a process and a stream of its own."""

    program: Path

    def ask(self, *lines: str) -> list[list[str]]:
        """What each line gave."""
        done = subprocess.run(
            [self.program], input="\n".join(lines) + "\n", capture_output=True, text=True,
            timeout=120, check=False, env={"ASAN_OPTIONS": "detect_leaks=0"},
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), done.stderr[-2000:]
        answers = done.stdout.split(".\n")
        assert answers.pop() == ""
        assert len(answers) == len(lines)
        return [answer.splitlines() for answer in answers]


def compiler() -> str:
    """The system's C compiler; where there is none the tests are skipped, but not in CI."""
    found = shutil.which("cc")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("no C compiler: install gcc and libc6-dev")
        pytest.skip("no C compiler (cc): the firmware kit is not tried; install gcc")
    return found


def compile_kit(folder: Path) -> Kit:
    """The kit behind stdin and stdout, line by line."""
    program = folder / "host_harness"
    compile_program(folder, program, sorted(SOURCES.glob("*.c")))
    return Kit(program)


def compile_shoe(folder: Path) -> Path:
    """The kit's example of a whole shoe, whose line is stdin and stdout."""
    program = folder / "bench_shoe"
    kit = [source for source in SOURCES.glob("*.c") if source.stem != "host_harness"]
    compile_program(folder, program, [*sorted(kit), SOURCES / "examples" / "bench_shoe.c"])
    return program


@contextmanager
def shoe_on_a_pty(program: Path, link: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """The program at the far end of a serial line, until left; the line's port is ``link``."""
    master, slave = pty.openpty()
    try:
        tty.setraw(slave)
        link.symlink_to(os.ttyname(slave))
        with subprocess.Popen([program, *words], stdin=master, stdout=master) as process:
            try:
                yield process
                assert process.poll() is None, f"the firmware ended: {process.returncode}"
            finally:
                process.kill()
    finally:
        link.unlink(missing_ok=True)
        os.close(master)
        os.close(slave)


def compile_program(folder: Path, program: Path, sources: list[Path]) -> None:
    """Compiles everything, warnings being errors; with sanitizers where the compiler has them."""
    cc = compiler()
    header = folder / "shoe_wire.h"
    made = [sys.executable, "-m", "firmware_proto.kit.c_header", "-o", str(header)]
    subprocess.run(made, check=True, timeout=60, cwd=SOURCES.parents[1])
    probe = folder / "probe.c"
    probe.write_text("int main(void) { return 0; }\n")
    sanitised = _runs([cc, *SANITISED, str(probe), "-o", str(folder / "probe")])
    flags = [*STRICT, *(SANITISED if sanitised else ()), f"-I{folder}", f"-I{SOURCES}"]
    done = subprocess.run(
        [cc, *flags, *map(str, sources), "-o", str(program)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def _runs(build: list[str]) -> bool:
    built = subprocess.run(build, capture_output=True, timeout=60, check=False)
    if built.returncode:
        return False
    return not subprocess.run([build[-1]], capture_output=True, timeout=60, check=False).returncode
