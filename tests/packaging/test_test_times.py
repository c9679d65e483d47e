"""``tools/test_times.py`` measures runs of tests: what it counts, and how it says so."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tools import test_times

TESTS = """
import os, subprocess, sys

def test_children_count() -> None:
    assert not {"CPU_TIMES_FOLDER", "PYTEST_ADDOPTS"} & os.environ.keys()
    subprocess.run([sys.executable, "-Sc", "sum(range(3_000_000))"], check=True)

def test_nothing() -> None:
    pass

def test_in_vain() -> None:
    raise AssertionError
"""


@pytest.mark.slow
@pytest.mark.exhaustive(cpu_s=2)
def test_a_run_has_the_time_of_each_test_and_what_pytest_said_last(tmp_path: Path) -> None:
    (tmp_path / "test_three.py").write_text(TESTS)
    command = f"{sys.executable} -m pytest -q -p no:cacheprovider -n $(WORKERS) ."
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "Makefile").write_text(f"test:\n\t@{command}\n")
    for workers in ("0", "1"):
        run = test_times.run_tests("now", tmp_path, "test", workers, tmp_path / "log")
        assert run.code != 0 and run.summary.startswith("1 failed, 2 passed in ")
        names = ["test_children_count", "test_in_vain", "test_nothing"]
        assert sorted(run.tests) == [f"test_three.py::{name}" for name in names]
        child_s, _, nothing_s = (run.tests[f"test_three.py::{name}"][0] for name in names)
        assert nothing_s < child_s < run.cpu_s
        assert 0 < run.collection_s < run.cpu_s
        assert run.wall_s > 0


def test_folders_are_added_up() -> None:
    tests = {
        "a/test_x.py::f": (1.0, 9.0),
        "a/test_y.py::g[a/b]": (2.0, 9.0),
        "b/t.py::h": (4.0, 9.0),
    }
    assert test_times.by_folder(tests) == {"a": (2, 3.0), "b": (1, 4.0)}


def test_a_slow_run_and_a_failed_one_are_shown_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = iter([0, 2])

    def ran(name: str, checkout: Path, target: str, workers: str, log: Path) -> test_times.Run:
        assert (checkout, target, workers) == (test_times.ROOT, "quick", "2")
        return test_times.Run(name, next(codes), 50.0, 80.0, 1.5, "9 passed in 49s")

    monkeypatch.setattr(test_times, "set_up", lambda *_: None)
    monkeypatch.setattr(test_times, "run_tests", ran)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    words = ["test_times", "--runs", "1", "--target", "quick", "--workers", "2"]
    monkeypatch.setattr(sys, "argv", [*words, "--most", "40", "--logs", str(tmp_path)])
    assert test_times.main() == 1
    assert "now takes longer than 40 s" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", [*words, "--most", "60", "--logs", str(tmp_path)])
    assert test_times.main() == 1
    assert "80.0      1.5  FAILED: 9 passed in 49s" in capsys.readouterr().out
