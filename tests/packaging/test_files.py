"""The rules for files: each module has a docstring, packages import their modules late."""

from __future__ import annotations

import ast
import tokenize
from importlib import import_module
from itertools import islice
from pathlib import Path

import pytest

from shoe_testing.for_each import for_each
from shoe_testing.paths import ROOT

PACKAGES = ("firmware_proto", "shoe_bench", "shoe_ctl", "simulators")
SOURCES = sorted(
    path for folder in (*PACKAGES, "tests", "bench") for path in (ROOT / folder).rglob("*.py")
)
INITS = sorted(
    {path.parent / "__init__.py" for folder in PACKAGES for path in (ROOT / folder).rglob("*.py")}
)
MODULES = [path for path in SOURCES if path.name != "__init__.py"]

BEFORE_CODE = {tokenize.ENCODING, tokenize.COMMENT, tokenize.NL}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_there_are_sources_to_hold_to_the_rules() -> None:
    assert len(MODULES) > 20


def test_every_folder_of_modules_is_a_package() -> None:
    assert [name(init) for init in INITS if not init.is_file()] == []


@for_each(path for path in INITS if path.read_bytes())
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


def test_of_tests_and_benches_only_what_others_import_is_a_package() -> None:
    packages = [name(p) for p in SOURCES if p.name == "__init__.py" and is_outside(p)]
    assert packages == [
        "tests/__init__.py",
        "tests/support/shoe_testing/__init__.py",
        "tests/support/shoe_testing/guest/__init__.py",
    ]


def is_outside(path: Path) -> bool:
    return path.relative_to(ROOT).parts[0] not in PACKAGES


def test_every_module_says_what_it_is_for() -> None:
    silent = [name(path) for path in MODULES if not has_docstring(path)]
    assert silent == []


def has_docstring(path: Path) -> bool:
    """The module begins with a string: only its first statement is read."""
    with path.open("rb") as file:
        words = (word for word in tokenize.tokenize(file.readline) if word.type not in BEFORE_CODE)
        begins = list(islice(words, 2))
    if [word.type for word in begins] != [tokenize.STRING, tokenize.NEWLINE]:
        return False
    text = ast.literal_eval(begins[0].string)
    return isinstance(text, str) and bool(text.strip())


def test_a_module_without_a_docstring_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    texts = {'"""It has one."""\n': True, "# no\n\n'one'\nx = 1\n": True, "x = 1\n": False}
    texts |= {"": False, '"" \n': False, 'b"bytes"\n': False, '"one" + f()\n': False}
    for text, has_one in texts.items():
        path.write_text(text)
        assert has_docstring(path) is has_one, text
