"""What the tests of the pytest plugin share: runs of pytest, and a firmware built from the kit."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shoe_testing.bench_runs import ALONE, BenchRun, run_bench
from shoe_testing.command_server import WarmProgram
from shoe_testing.firmware_kit import compile_shoe, shoe_on_a_pty


@pytest.fixture
def bench_run(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, commands: object
) -> Callable[..., BenchRun]:
    """Runs pytest in this process; daemons are split off from one that has loaded everything."""
    monkeypatch.setenv(*ALONE)
    monkeypatch.setattr(subprocess, "Popen", WarmProgram)
    return lambda *words: run_bench(pytester, *words)


@pytest.fixture
def served_port(commands: object, tmp_path: Path) -> Iterator[str]:
    """The port of a shoe in another process, which takes no changes: to the plugin a device."""
    port = tmp_path / "served"
    words = ("serve", "--profile", "reference", "--port", f"pty:{port}", "--pace-ms", "1")
    program: subprocess.Popen[bytes] = WarmProgram(("shoe-sim", *words), stdout=subprocess.PIPE)
    with program as served:
        try:
            assert served.stdout is not None
            assert served.stdout.readline()
            yield str(port)
        finally:
            served.terminate()


@pytest.fixture(scope="session")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of the kit's example shoe."""
    return compile_shoe(tmp_path_factory.mktemp("firmware"))


@pytest.fixture
def firmware_port(firmware: Path, tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """A serial line with that firmware behind it: its port, its process."""
    port = tmp_path / "firmware"
    with shoe_on_a_pty(firmware, port, "KIT-0042", "5") as process:
        yield port, process
