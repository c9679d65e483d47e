"""The kit in TypeScript, installed and compiled for a test.

In: the package's lock. Out: the folder of what was compiled. Without node or npm a test is skipped,
and under CI it fails.
"""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from shoe_testing.paths import ROOT

FOLDER = ROOT / "clients/typescript"
LOCK = FOLDER / "package-lock.json"


def program(name: str) -> str:
    """The path of a program; the test is skipped without it, and fails under CI."""
    found = shutil.which(name)
    if found is None:
        why = f"{name} is missing: apt-get install nodejs npm"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    return found


def run_in_package(*words: str | Path) -> str:
    """Run a command in the package's folder; return what it printed. It must succeed."""
    done = subprocess.run(
        words, cwd=FOLDER, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


@functools.cache
def built_package() -> Path:
    """The folder of the compiled package, made once by whichever process comes first.

    What the lock names is installed where it is not there yet.
    """
    node, npm = program("node"), program("npm")
    modules, output = FOLDER / "node_modules", FOLDER / "dist"
    modules.mkdir(exist_ok=True)
    with (FOLDER / ".building").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        installed = modules / ".installed"
        if not installed.is_file() or installed.read_bytes() != LOCK.read_bytes():
            run_in_package(npm, "ci", "--ignore-scripts")
            shutil.copyfile(LOCK, installed)
        made_from = _sources()
        compiled = output / ".made-from"
        if not compiled.is_file() or compiled.read_bytes() != made_from:
            shutil.rmtree(output, ignore_errors=True)
            run_in_package(node, modules / "typescript/bin/tsc")
            compiled.write_bytes(made_from)
    return output


def _sources() -> bytes:
    """All that the compiler reads."""
    files = [FOLDER / "tsconfig.json", FOLDER / "package.json", LOCK]
    files += [path for each in ("src", "test", "examples") for path in (FOLDER / each).glob("*.ts")]
    return b"".join(str(path.name).encode() + b"\0" + path.read_bytes() for path in sorted(files))
