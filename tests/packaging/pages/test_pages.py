"""What the documents name exists: files, modules and their names, other pages and their headings.

In: README.md, docs/, the specifications of the protocols. Out: what they name and nobody finds.
"""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from shoe_testing.for_each import for_each
from shoe_testing.markdown import dead_links, is_linked
from shoe_testing.paths import ROOT

PAGES = sorted(
    {
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "firmware_proto").rglob("*.md"),
        *(ROOT / "simulators").rglob("*.md"),
    }
)
FOLDERS = ("shoe_bench", "shoe_ctl", "simulators", "firmware_proto", "tests", "bench", "docs")
MODULES = [
    f"/{path.relative_to(ROOT)}"
    for folder in FOLDERS[:-1]
    for path in (ROOT / folder).rglob("*.py")
]

PATH = re.compile(rf"(?<![\w./-])(?:{'|'.join(FOLDERS)})/[\w./*-]*[\w*/]")
FILE = re.compile(r"`((?:\w+/)*\w+\.py)`")
DOTTED = re.compile(
    r"(?<![\w./-])(?:shoe_ctl|simulators|firmware_proto)(?:\.[A-Za-z_]\w*)+(?![/\w])"
)


def is_path(named: str) -> bool:
    """A file or folder has this path, with or without its suffix, or matches it as a pattern."""
    return any(ROOT.glob(named)) or any(ROOT.glob(f"{named}.*"))


def is_importable(dotted: str) -> bool:
    """There is a module of this name, or a module with a public name as its last part."""
    parent, _, last = dotted.rpartition(".")
    try:
        if find_spec(dotted) is not None:
            return True
    except ModuleNotFoundError:
        pass
    try:
        return hasattr(import_module(parent), last)
    except ModuleNotFoundError:
        return False


@for_each(PAGES)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    assert [each for each in PATH.findall(text) if not is_path(each)] == []
    files = FILE.findall(text)
    assert [each for each in files if not any(m.endswith(f"/{each}") for m in MODULES)] == []


@for_each(PAGES)
def test_every_module_that_a_page_names_exists(page: Path) -> None:
    named = set(DOTTED.findall(page.read_text("utf-8")))
    assert [each for each in sorted(named) if not is_importable(each)] == []


@for_each(PAGES)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert dead_links(page) == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("see `shoe_ctl/table/round/deal.py`.", ["shoe_ctl/table/round/deal.py"]),
        ("in simulators/scenarios/, and", ["simulators/scenarios/"]),
        ("`/srv/tests/x.py`", []),
    ],
)
def test_paths_are_found_in_text(text: str, named: list[str]) -> None:
    assert PATH.findall(text) == named


def test_what_does_not_exist_is_noticed(tmp_path: Path) -> None:
    assert not is_path("shoe_ctl/table/no_such_module.py")
    assert not is_importable("shoe_ctl.table.no_such_module")
    assert not is_importable("shoe_ctl.records.no_such_name")
    page = tmp_path / "page.md"
    page.write_text("# One heading, of it's own\n")
    assert is_linked(page, "", "one-heading-of-its-own")
    assert not is_linked(page, "", "another-heading")
    assert not is_linked(page, "other.md", "")
