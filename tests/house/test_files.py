"""The rules for files: each module has a docstring, packages import nothing."""

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


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


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
def test_a_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))
