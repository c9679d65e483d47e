"""The rules for files: each module has a docstring, packages import their modules late."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("firmware_proto", "shoe_ctl", "simulators")
SOURCES = sorted(
    path for folder in (*PACKAGES, "tests", "bench") for path in (ROOT / folder).rglob("*.py")
)
INITS = sorted(
    {path.parent / "__init__.py" for folder in PACKAGES for path in (ROOT / folder).rglob("*.py")}
)
MODULES = [path for path in SOURCES if path.name != "__init__.py"]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_there_are_sources_to_hold_to_the_rules() -> None:
    assert len(MODULES) > 20


def test_every_folder_of_modules_is_a_package() -> None:
    assert [name(init) for init in INITS if not init.is_file()] == []


@pytest.mark.parametrize("path", [p for p in INITS if p.read_bytes()], ids=name)
def test_a_package_imports_its_modules_only_when_a_name_is_used(path: Path) -> None:
    """Commands start as fast as what they use: a package's public names are lazy."""
    tree = ast.parse(path.read_text("utf-8"))
    assert ast.get_docstring(tree)
    at_once = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert at_once <= {"__future__", "typing", f"{path.parts[len(ROOT.parts)]}.lazy_names"}
    package = import_module(".".join(path.relative_to(ROOT).parent.parts))
    public = getattr(package, "__all__", ())
    assert [one for one in public if not hasattr(package, one)] == []
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        package.nothing  # noqa: B018 - looking is what is tested


def test_tests_and_benches_are_no_packages() -> None:
    assert [name(path) for path in SOURCES if path.name == "__init__.py" and is_outside(path)] == []


def is_outside(path: Path) -> bool:
    return path.relative_to(ROOT).parts[0] not in PACKAGES


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))
