"""What each part may import from outside, and proof that the import contract bites.

In: the source tree and the contract in pyproject.toml. Out: the imports that break it.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shoe_testing.paths import ROOT

OURS = {"firmware_proto", "shoe_bench", "shoe_ctl", "simulators"}

# A new name here is a decision: what one part imports, every command that loads it pays for.
MAY_IMPORT = {
    "firmware_proto": {"construct", "cobs"},
    "simulators": {"click", "construct", "usb"},
    "shoe_bench": {"pytest"},
    "shoe_ctl/errors.py": set(),
    "shoe_ctl/records.py": {"msgspec"},
    "shoe_ctl/api": {"msgspec"},
    "shoe_ctl/games": {"msgspec"},
    "shoe_ctl/table": {"msgspec", "transitions"},
    "shoe_ctl/link": {"libusb_package", "msgspec", "serial", "usb"},
    "shoe_ctl/journal": {"apsw", "cryptography", "msgspec"},
    "shoe_ctl/sinks": {"aiomqtt", "msgspec", "nats", "paho"},
}


def imported(path: Path) -> set[str]:
    """The top-level packages that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_a_part_imports_from_outside_only_what_it_may(part: str) -> None:
    place = ROOT / part
    modules = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    assert modules
    foreign = {
        (str(path.relative_to(ROOT)), package)
        for path in modules
        for package in imported(path) - OURS - set(sys.stdlib_module_names) - MAY_IMPORT[part]
    }
    assert foreign == set()


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree that may be spoilt, with an empty module in each part to do it in."""
    target = tmp_path_factory.mktemp("copy")
    for package in OURS:
        shutil.copytree(ROOT / package, target / package, ignore=shutil.ignore_patterns("__pyc*"))
    for part in ("games", "table/round", "journal", "sinks", "link", "cli"):
        (target / "shoe_ctl" / part / "spoilt.py").touch()
    (target / "simulators" / "shoe" / "spoilt.py").touch()
    (target / "shoe_bench" / "spoilt.py").touch()
    shutil.copy(ROOT / "pyproject.toml", target)
    return target


def kept(tree: Path) -> tuple[bool, str]:
    # Run in the tree: what lies in the working folder is found before what is installed.
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()",
         "--no-cache"],
        cwd=tree, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return done.returncode == 0, done.stdout + done.stderr


FORBIDDEN = (
    ("firmware_proto.cards", "time"),
    ("firmware_proto.events", "shoe_ctl.errors"),
    ("shoe_ctl.games.spoilt", "firmware_proto.events"),
    ("shoe_ctl.games.spoilt", "random"),
    ("shoe_ctl.games.spoilt", "shoe_ctl.table.inputs"),
    ("shoe_ctl.table.round.spoilt", "asyncio"),
    ("shoe_ctl.table.round.spoilt", "firmware_proto.session"),
    ("shoe_ctl.table.round.spoilt", "shoe_ctl.table.irregularities.halts"),
    ("shoe_ctl.journal.spoilt", "shoe_ctl.sinks.spoilt"),
    ("shoe_ctl.journal.spoilt", "firmware_proto.cards"),
    ("shoe_ctl.sinks.spoilt", "shoe_ctl.table.inputs"),
    ("shoe_ctl.link.spoilt", "shoe_ctl.games.spoilt"),
    ("shoe_ctl.errors", "shoe_ctl.table.inputs"),
    ("shoe_ctl.cli.spoilt", "simulators.shoe"),
    ("simulators.shoe.spoilt", "shoe_ctl.games.table_of_play"),
    ("simulators.shoe.spoilt", "shoe_bench.events"),
    ("shoe_ctl.cli.spoilt", "shoe_bench.plugin"),
    ("shoe_bench.spoilt", "shoe_ctl.errors"),
)


@contextmanager
def added(tree: Path, lines: Iterable[tuple[str, str]]) -> Iterator[None]:
    """The tree with these lines at the end of its modules; a module may be new."""
    before: dict[Path, str | None] = {}
    try:
        for module, line in lines:
            path = tree / f"{module.replace('.', '/')}.py"
            text = path.read_text("utf-8") if path.exists() else None
            before.setdefault(path, text)
            path.write_text(f"{text or ''}\n{line}\n", "utf-8")
        yield
    finally:
        for path, text in before.items():
            if text is None:
                path.unlink()
            else:
                path.write_text(text, "utf-8")


@pytest.mark.slow
def test_each_import_against_the_contract_is_caught(copy: Path) -> None:
    with added(copy, ((module, f"import {imported}") for module, imported in FORBIDDEN)):
        fine, said = kept(copy)
    assert not fine
    assert [each for each in FORBIDDEN if f"{each[0]} -> {each[1]} (l." not in said] == []


@pytest.mark.slow
@pytest.mark.parametrize("module", ["shoe_ctl.unplaced", "shoe_ctl.table.unplaced"])
def test_a_module_without_a_place_is_caught(copy: Path, module: str) -> None:
    with added(copy, [(module, "")]):
        fine, said = kept(copy)
    assert not fine
    assert "unplaced" in said


@pytest.mark.slow
def test_the_tree_as_it_is_keeps_the_contract(copy: Path) -> None:
    fine, said = kept(copy)
    assert fine, said
