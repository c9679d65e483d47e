"""The state diagram in the documents is the one that the literal table gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shoe_ctl.table import diagram, machine

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "contributor" / "state-diagram.md"
STAFF = ROOT / "docs" / "table-staff" / "round.md"


def test_the_committed_page_is_the_generated_one() -> None:
    made = diagram.page()
    assert PAGE.read_text("utf-8") == made, "python -m shoe_ctl.table.diagram > " + str(PAGE)


@pytest.mark.slow
def test_the_script_prints_the_page() -> None:
    command = [sys.executable, "-m", "shoe_ctl.table.diagram"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == diagram.page()


def test_every_change_of_state_in_the_table_is_an_edge_of_the_diagram() -> None:
    drawn = diagram.diagram()
    edges = {(r.state, r.dest) for r in machine.ROWS if r.state != r.dest}
    assert len(drawn.splitlines()) == len(edges) + 2
    assert all(f"    {a} --> {b} : " in drawn for a, b in edges)


def test_the_staffs_page_explains_every_state() -> None:
    text = STAFF.read_text("utf-8")
    assert [s for s in machine.STATES if f"**{s.replace('_', ' ')}**" not in text] == []
