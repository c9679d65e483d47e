"""What each part may import from outside, and proof that the import contract bites.

In: the source tree and the contract in pyproject.toml. Out: the imports that break it.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shoe_testing.paths import ROOT

OURS = {"firmware_proto", "shoe_ctl", "simulators"}

# A new name here is a decision: what one part imports, every command that loads it pays for.
MAY_IMPORT = {
    "firmware_proto": {"construct", "cobs"},
    "simulators": {"click", "usb"},
    "shoe_ctl/errors.py": set(),
    "shoe_ctl/records.py": {"msgspec"},
    "shoe_ctl/api": {"msgspec"},
    "shoe_ctl/games": {"msgspec"},
    "shoe_ctl/table": {"msgspec", "transitions"},
    "shoe_ctl/link": {"libusb_package", "serial", "usb"},
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("firmware_proto/cards.py", "import time"),
        ("firmware_proto/events.py", "from shoe_ctl.errors import InputRefused"),
        ("shoe_ctl/games/spoilt.py", "from firmware_proto.events import ShoeEvent"),
        ("shoe_ctl/games/spoilt.py", "import random"),
        ("shoe_ctl/games/spoilt.py", "from shoe_ctl.table.inputs import Tick"),
        ("shoe_ctl/table/round/spoilt.py", "import asyncio"),
        ("shoe_ctl/table/round/spoilt.py", "from firmware_proto.session import HostSession"),
        ("shoe_ctl/table/round/spoilt.py", "from shoe_ctl.table.irregularities import halts"),
        ("shoe_ctl/table/unplaced.py", ""),
        ("shoe_ctl/journal/spoilt.py", "from shoe_ctl.sinks import spoilt"),
        ("shoe_ctl/journal/spoilt.py", "from firmware_proto.cards import Card"),
        ("shoe_ctl/sinks/spoilt.py", "from shoe_ctl.table.inputs import Tick"),
        ("shoe_ctl/link/spoilt.py", "from shoe_ctl.games import spoilt"),
        ("shoe_ctl/errors.py", "from shoe_ctl.table.inputs import Tick"),
        ("shoe_ctl/unplaced.py", ""),
        ("shoe_ctl/cli/spoilt.py", "import simulators.shoe"),
        ("simulators/shoe/spoilt.py", "from shoe_ctl.games import table_of_play"),
    ],
)
def test_an_import_against_the_contract_is_caught(copy: Path, module: str, line: str) -> None:
    path = copy / module
    before = path.read_text("utf-8") if path.exists() else None
    try:
        path.write_text(f"{before or ''}\n{line}\n", "utf-8")
        fine, said = kept(copy)
        assert not fine
        assert "BROKEN" in said or "unplaced" in said
    finally:
        if before is None:
            path.unlink()
        else:
            path.write_text(before, "utf-8")


@pytest.mark.slow
def test_the_tree_as_it_is_keeps_the_contract(copy: Path) -> None:
    fine, said = kept(copy)
    assert fine, said
