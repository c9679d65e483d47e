"""`make mutants` at a small checkout: survivors, Ctrl-C and going on, and what it refuses.

The checkout's one test file leaves the bound of a rule open: the faults at that bound survive.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from shoe_testing.paths import ROOT
from tools.faults import find_faults
from tools.mutants import Project, draw, interval

RULES = '''\
"""When a hand draws, and what it pays."""


def draws(total: int) -> bool:
    return total <= 5


def pays(stake: int) -> int:
    return stake + stake
'''

TESTS = """\
from rules import draws, pays


def test_a_low_hand_draws() -> None:
    assert draws(2) and not draws(9)


def test_even_money_doubles_the_stake() -> None:
    assert pays(10) == 20


def test_what_fails_anyway_says_nothing() -> None:
    assert pays(10) == draws(9)
"""

SETTINGS = """\
[parts.play]
files = ["rules.py"]
tests = ["tests"]

[[equivalent]]
file = "rules.py"
within = "draws"
is = "return total <= 5"
becomes = "return total <= 6"
reason = "Stands here to be left out."
"""

SURVIVORS = {
    "-    return total <= 5\n+    return total < 5",
    "-    return total <= 5\n+    return total <= 4",
}


@dataclass
class Checkout:
    """A checkout with one rule and its tests, and a folder for what is kept."""

    root: Path
    cache: Path

    def write(self) -> None:
        (self.root / "tools").mkdir(parents=True)
        (self.root / "tests").mkdir()
        (self.root / "rules.py").write_text(RULES)
        (self.root / "tests/test_rules.py").write_text(TESTS)
        (self.root / "tools/mutants.toml").write_text(SETTINGS)
        (self.root / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tools.mutants", "--cache", str(self.cache), *words],
            cwd=self.root, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *words: str) -> tuple[int, str, str]:
        process = self.start(*words)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def results(self, seed: str) -> list[dict[str, object]]:
        (path,) = self.cache.glob(f"*/results/play/{seed}.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = Checkout(tmp_path / "checkout", tmp_path / "cache")
    made.write()
    return made


@pytest.mark.slow
def test_survivors_are_found_and_an_interrupted_run_goes_on(checkout: Checkout) -> None:
    words = ("--part", "play", "--seed", "7", "--count", "20")
    first = checkout.start(*words)
    assert first.stdout is not None
    said = []
    for line in first.stdout:
        said.append(line)
        if line.startswith(("killed", "survived")):
            first.send_signal(signal.SIGINT)
            break
    assert first.wait(60) == 130
    assert first.communicate()[1] == "stopped: the same command goes on from here\n"
    assert [line for line in said if "test_what_fails_anyway" in line] == [
        "left out: it fails without a fault in the copy:"
        " tests/test_rules.py::test_what_fails_anyway_says_nothing\n"
    ]
    before = checkout.results("7")
    assert 1 <= len(before) < 6

    code, out, _ = checkout.run(*words)
    assert code == 0
    assert "recording" not in out
    assert f"; {len(before)} were tried with this seed before" in out
    after = checkout.results("7")
    assert after[: len(before)] == before
    outcomes = [str(each["outcome"]) for each in after]
    # Draws negated, the sum turned into a difference; two at the bound survive, one is not tried.
    assert sorted(outcomes) == ["killed", "killed", "survived", "survived"]
    survived = [each["diff"] for each in after if each["outcome"] == "survived"]
    assert {"\n".join(d[1:]) for d in survived if isinstance(d, list)} == SURVIVORS
    assert "2 of 4 killed, 50.0 % (15.0 to 85.0)" in out
    assert (checkout.root / "rules.py").read_text() == RULES

    # A test of the bound comes, and only the survivors are tried once more.
    tests = checkout.root / "tests/test_rules.py"
    tests.write_text(TESTS + "\n\ndef test_five_draws() -> None:\n    assert draws(5)\n")
    code, out, _ = checkout.run(*words, "--again")
    assert code == 0
    assert "4 of 4 killed" in out
    assert len(checkout.results("7")) == 6


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--part", "plya"], "mutants: there is no part 'plya': did you mean play?\n"),
        (["--part", "shoes"], "mutants: there is no part 'shoes': the parts are play\n"),
        ([], "mutants: name a part: --part play\n"),
        (["--part", "play", "--count", "0"], "mutants: --count and --jobs are at least 1\n"),
        (["--page", "--seed", "3"], "mutants: nothing was tried with the seed 3\n"),
    ],
    ids=["misspelt", "unknown", "none", "count", "page"],
)  # fmt: skip
def test_what_cannot_be_done_gets_one_line(checkout: Checkout, words: list[str], line: str) -> None:
    assert checkout.run(*words) == (2, "", line)


def test_a_seed_draws_the_same_faults_and_a_larger_count_goes_on_with_them() -> None:
    faults = find_faults("rules.py", RULES.encode())
    drawn = list(draw(faults, "7"))
    assert drawn == list(draw(faults, "7"))
    assert sorted(drawn) == sorted(faults)
    assert {each.operator for each in drawn[:4]} == {each.operator for each in faults}
    assert len({tuple(draw(faults, str(seed))) for seed in range(20)}) > 5


@pytest.mark.slow
def test_each_part_has_its_files_and_each_equivalent_fault_can_be_planted() -> None:
    project = Project(ROOT)
    parts = [project.part(name) for name in project.names]
    assert all(part.files and part.tests and {*part.literals} <= {*part.tests} for part in parts)
    faults = {
        file: find_faults(file, project.source(file))
        for file in {each["file"] for each in project.equivalent}
    }
    for each in project.equivalent:
        source = project.source(each["file"])
        there = [one for one in faults[each["file"]] if one.within == each["within"]]
        assert (each["is"], each["becomes"]) in {one.change(source) for one in there}


@pytest.mark.parametrize(
    ("killed", "tried", "low", "high"),
    [(50, 100, 0.404, 0.596), (0, 10, 0.0, 0.278), (10, 10, 0.722, 1.0), (95, 100, 0.888, 0.978)],
)
def test_the_interval_is_that_of_wilson(killed: int, tried: int, low: float, high: float) -> None:
    assert interval(killed, tried) == pytest.approx((low, high), abs=0.0006)
