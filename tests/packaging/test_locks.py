"""The locked requirements: complete, agreeing, hashed, and free of any one machine or index.

In: requirements/ and pyproject.toml. Out: the lines that break a rule.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from shoe_testing.paths import ROOT

FOLDER = ROOT / "requirements"
LOCKS = sorted(FOLDER.glob("*.txt"))

FOREIGN = {
    "an address": re.compile(r"[a-z+]+://", re.IGNORECASE),
    "a host": re.compile(r"\b[a-z0-9-]+\.(?:org|com|net|io|dev|local)\b", re.IGNORECASE),
    "a path": re.compile(r"(?:^|[\s=@'\"])~?/\w"),
    "an option of pip's": re.compile(r"^\s*-", re.MULTILINE),
}
PIN = re.compile(r"^([a-z0-9-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)


def lock_name(path: Path) -> str:
    return path.stem


def pins(name: str) -> dict[str, str]:
    text = (FOLDER / f"{name}.txt").read_text("utf-8")
    return {package: version for package, version, _ in PIN.findall(text)}


def wanted(lines: list[str]) -> set[str]:
    return {re.split(r"[<>=!~ \[;#]", line)[0].lower() for line in lines} - {""}


def foreign(text: str) -> list[str]:
    without_hashes = re.sub(r" \\\n    --hash=sha256:[0-9a-f]{64}", "", text)
    return [what for what, pattern in FOREIGN.items() if pattern.search(without_hashes)]


def test_the_five_locks_are_there() -> None:
    assert [path.stem for path in LOCKS] == ["bench", "build", "release", "run", "test"]


@pytest.mark.parametrize("path", LOCKS, ids=lock_name)
def test_a_lock_names_no_address_host_path_or_option(path: Path) -> None:
    assert foreign(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("--index-url https://example.org/simple", "an address"),
        ("# from pypi.example.org", "a host"),
        ("wheel @ file", None),
        ("apsw==1 # via -r /home/me/pyproject.toml", "a path"),
        ("--find-links wheels", "an option of pip's"),
    ],
)
def test_what_a_lock_may_not_name_is_seen(line: str, what: str | None) -> None:
    assert (what in foreign(line)) if what else foreign(line) == []


@pytest.mark.parametrize("path", LOCKS, ids=lock_name)
def test_every_line_of_a_lock_is_a_pin_with_hashes_or_a_comment(path: Path) -> None:
    rest = PIN.sub("", path.read_text("utf-8"))
    assert [line for line in rest.splitlines() if line and not line.startswith("#")] == []


def test_the_locks_agree_on_every_version() -> None:
    versions: dict[str, set[str]] = {}
    for path in LOCKS:
        for package, version in pins(path.stem).items():
            versions.setdefault(package, set()).add(version)
    assert {package: found for package, found in versions.items() if len(found) > 1} == {}


def test_the_locks_hold_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    run = wanted(project["dependencies"]) | wanted(extras["usb"])
    assert run <= pins("run").keys()
    assert (
        run | wanted(extras["test"]) | wanted(extras["bench"]) | wanted(extras["check"])
        <= pins("test").keys()
    )
    assert run | wanted(extras["benchmarks"]) <= pins("bench").keys()
    for path in FOLDER.glob("*.in"):
        assert wanted(path.read_text("utf-8").splitlines()) <= pins(path.stem).keys()


@pytest.mark.parametrize("package", ["bellows", "pymodbus"])
def test_a_bench_dependency_is_pinned_where_it_is_declared_and_stays_in_the_bench(
    package: str,
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = project["optional-dependencies"]["benchmarks"]
    assert f"{package}=={pins('bench')[package]}" in declared
    assert all("==" in line for line in declared)
    assert [path.stem for path in LOCKS if package in pins(path.stem)] == ["bench"]


def test_what_runs_does_not_carry_what_tests() -> None:
    assert pins("run").keys().isdisjoint({"pytest", "hypothesis", "mypy", "ruff"})
