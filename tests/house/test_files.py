"""The house's own rules about files: short, introduced in six lines, packages that import nothing.

In: the source tree. Out: the files that break a rule, by name.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("firmware_proto", "shoe_ctl", "simulators")
SOURCES = sorted(
    path for folder in (*PACKAGES, "tests", "bench") for path in (ROOT / folder).rglob("*.py")
)
MODULES = [path for path in SOURCES if path.name != "__init__.py"]

MOST_LINES = 400
MOST_DOCSTRING_LINES = 6


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose_lines(docstring: str) -> int:
    """Lines that say something; a drawing (an indented block) is looked at, not read."""
    return sum(
        bool(line.strip()) and line != "::" and not line.startswith("    ")
        for line in docstring.splitlines()
    )


def test_there_are_sources_to_hold_to_the_rules() -> None:
    assert len(MODULES) > 20


def test_every_package_has_an_empty_init_file() -> None:
    folders = {path.parent for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    inits = [folder / "__init__.py" for folder in sorted(folders)]
    assert [name(init) for init in inits if not init.is_file()] == []
    assert [name(init) for init in inits if init.read_bytes() != b""] == []


def test_tests_and_benches_are_no_packages() -> None:
    assert [name(path) for path in SOURCES if path.name == "__init__.py" and is_outside(path)] == []


def is_outside(path: Path) -> bool:
    return path.relative_to(ROOT).parts[0] not in PACKAGES


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_module_is_introduced_in_six_lines_or_fewer(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8")), clean=False)
    assert docstring, "says nothing about itself"
    assert prose_lines(docstring) <= MOST_DOCSTRING_LINES


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_file_is_under_400_lines(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) < MOST_LINES


@pytest.mark.parametrize(
    ("docstring", "lines"),
    [
        ("One.", 1),
        ("One.\n\nTwo.\nThree.\n", 3),
        ("One.\n\n::\n\n    a drawing\n    of two lines\n", 1),
    ],
)
def test_only_the_prose_of_an_introduction_is_counted(docstring: str, lines: int) -> None:
    assert prose_lines(docstring) == lines
