"""What stands at the head of the project for whoever takes, reports or changes it.

In: the changelog, SECURITY.md, CONTRIBUTING.md, .editorconfig and the hooks. Out: what is not so.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from datetime import date

import pytest

from shoe_testing.paths import ROOT

CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
HOOKS = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
SECTIONS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
LONGEST = 140
"""The most characters of a line of the changelog that can be read in one look."""

LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]+)")


def versions() -> list[tuple[str, str]]:
    return re.findall(r"(?m)^## \[(\d[^]]*)\] - (\S+)$", CHANGELOG)


def test_the_changelog_begins_with_the_version_of_the_project_once_it_is_released() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    released, under_development, _ = str(project["version"]).partition(".dev")
    if not under_development:
        assert versions()[0][0] == released
    assert under_development or "\n* " not in CHANGELOG.partition(f"## [{released}]")[0]


def test_versions_of_the_changelog_are_dated_newest_first() -> None:
    dates = [date.fromisoformat(each) for _, each in versions()]
    assert dates == sorted(dates, reverse=True)


def test_every_line_of_the_changelog_stands_under_a_known_heading() -> None:
    headings = re.findall(r"(?m)^### (.+)$", CHANGELOG)
    assert set(headings) <= set(SECTIONS)
    for version in re.split(r"(?m)^## ", CHANGELOG)[1:]:
        found = re.findall(r"(?m)^### (.+)$", version)
        assert found == [each for each in SECTIONS if each in found], version[:20]
        assert "\n* " not in version.partition("\n### ")[0]


def test_a_change_is_one_line() -> None:
    body = CHANGELOG.partition("\n## ")[2]
    changes = re.findall(r"(?m)^\* .*$", body)
    assert len(changes) > 50
    assert [each for each in changes if len(each) > LONGEST] == []
    assert re.findall(r"(?m)^ +\S.*$", body) == []


@pytest.mark.parametrize("name", ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_lead_somewhere(name: str) -> None:
    links = LINK.findall((ROOT / name).read_text("utf-8"))
    assert [each for each in links if not (ROOT / each).exists()] == []


def test_contributing_names_targets_that_make_has() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"(?m)^([a-z][a-z-]*):", makefile))
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = {word for words in re.findall(r"`make ([a-z -]+)", text) for word in words.split()}
    assert {"check", "quick", "same", "test", "lock"} <= named
    assert named <= targets


def test_what_make_lists_fits_eighty_columns() -> None:
    listed = subprocess.run(
        ["make", "--no-print-directory", "-C", str(ROOT)],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    assert len(listed) > 15
    assert [line for line in listed if len(line) > 80] == []


def test_hooks_download_nothing_and_run_the_locked_tools() -> None:
    assert re.findall(r"(?m)^ *- repo: (.+)$", HOOKS) == ["local"]
    assert set(re.findall(r"(?m)^ *language: (.+)$", HOOKS)) == {"system"}
    locked = (ROOT / "requirements/test.txt").read_text("utf-8")
    tools = {
        "ruff": "ruff",
        "mypy": "mypy",
        "lint-imports": "import-linter",
        "codespell": "codespell",
    }
    run = set(re.findall(r"(?m)^ *entry: \.venv/bin/(\S+)", HOOKS))
    assert run == tools.keys() | {"python"}
    assert re.findall(r"(?m)^ *entry: \.venv/bin/python (.+)$", HOOKS) == ["tools/prose.py"]
    assert all(re.search(rf"(?m)^{tool}==", locked) for tool in tools.values())


def test_hooks_run_what_make_check_runs() -> None:
    check = (ROOT / "Makefile").read_text("utf-8").partition("\ncheck:")[2].partition("\n\n")[0]
    ran = set(re.findall(r"\$\(BIN\)/((?:python )?\S+)", check))
    assert ran == set(re.findall(r"(?m)^ *entry: \.venv/bin/((?:python )?\S+)", HOOKS))


def test_the_editorconfig_agrees_with_the_formatter() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    config = (ROOT / ".editorconfig").read_text("utf-8")
    assert f"[*.py]\nmax_line_length = {project['tool']['ruff']['line-length']}\n" in config
