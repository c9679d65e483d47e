"""What ``conftest.py`` does to a run: the share of exhaustive tests, and signals as they are meant.

In: files of tests of their own. Out: which of them pytest ran.
"""

from __future__ import annotations

import re
import signal
import tomllib
from pathlib import Path

import pytest

from shoe_testing.paths import ROOT, child_environment
from shoe_testing.pytest_runs import pytest_says

TIERS = """
import pytest

pytestmark = pytest.mark.slow

def test_common():
    pass

@pytest.mark.exhaustive(cpu_s=2)
@pytest.mark.parametrize("number", range(20))
def test_rare(number):
    pass
"""


def passed(said: str) -> set[str]:
    return set(re.findall(r"^PASSED test_leaky.py::(\S+)", said, re.MULTILINE))


def test_as_many_exhaustive_tests_run_as_fit_and_a_seed_chooses_them(tmp_path: Path) -> None:
    def ran(seed: str, workers: str) -> set[str]:
        options = ("-n", workers, "--exhaustive-s", "7", "--exhaustive-seed", seed)
        return passed(pytest_says(tmp_path, TIERS, *options, seed="1"))

    first, again, other = ran("2026-11-22", "0"), ran("2026-11-22", "2"), ran("2026-11-23", "0")
    assert "test_common" in first and len(first) == 1 + 3
    assert first == again
    assert first != other and len(other) == len(first)


def test_without_a_limit_nothing_is_left_out(tmp_path: Path) -> None:
    assert len(passed(pytest_says(tmp_path, TIERS, seed="1"))) == 21


def test_make_test_leaves_the_exhaustive_tests_to_make_test_all() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    options = project["tool"]["pytest"]["ini_options"]["addopts"]
    never = "not soak and not deb and not guest"
    assert options[options.index("-m") + 1] == f"not exhaustive and {never}"
    recipes = dict(
        re.findall(r"^(test|test-all):.*\n\t(.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    )
    assert recipes == {
        "test": "@$(PYTEST) $(ARGS)",
        "test-all": f'@$(PYTEST) -m "{never}" --hypothesis-profile thorough $(ARGS)',
    }


PROPERTIES = """
from hypothesis import given, strategies
from shoe_testing.examples import examples

tried = {"usual": 0, "twice": 0}

@given(strategies.integers())
def test_usual(number):
    tried["usual"] += 1

@examples(200)
@given(strategies.integers())
def test_twice(number):
    tried["twice"] += 1

def test_tried():
    assert tried == {"usual": USUAL, "twice": 2 * USUAL}
"""


@pytest.mark.parametrize(
    ("usual", "options"), [(40, ()), (100, ("-n", "1", "--hypothesis-profile", "thorough"))]
)
@pytest.mark.exhaustive(cpu_s=1.4)
def test_all_examples_of_a_property_are_tried_in_all_tests_and_two_in_five_else(
    tmp_path: Path, usual: int, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", child_environment()["PYTHONPATH"])
    tests = PROPERTIES.replace("USUAL", str(usual))
    assert len(passed(pytest_says(tmp_path, tests, *options, seed="1"))) == 3


INTERRUPTS = """
import subprocess, sys

def test_child_can_be_interrupted():
    program = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert done.stdout == b"False\\n"
"""


@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.exhaustive(cpu_s=1)
def test_a_run_in_the_background_can_interrupt_its_children(tmp_path: Path, workers: str) -> None:
    """A shell lets its background jobs ignore Ctrl-C, and children inherit that."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        said = pytest_says(tmp_path, INTERRUPTS, "-n", workers, seed="1")
    finally:
        signal.signal(signal.SIGINT, before)
    assert passed(said) == {"test_child_can_be_interrupted"}
