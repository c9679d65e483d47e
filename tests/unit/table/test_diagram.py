"""The state diagram in the documents is the one that the literal table gives."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from shoe_ctl.table import diagram, situations, transitions
from shoe_ctl.table.commands import COMMANDS
from shoe_testing.paths import ROOT

OVERVIEW = ROOT / "docs" / "architecture" / "overview.md"
DRAWN = diagram.round_diagram() + diagram.shoe_diagram()
PAGE = ROOT / "docs" / "architecture" / "state-diagram.md"
STAFF = ROOT / "docs" / "staff" / "en" / "round.md"


def test_the_committed_page_is_the_generated_one() -> None:
    made = diagram.page()
    assert PAGE.read_text("utf-8") == made, "python -m shoe_ctl.table.diagram > " + str(PAGE)


@pytest.mark.slow
def test_the_script_prints_the_page() -> None:
    command = [sys.executable, "-m", "shoe_ctl.table.diagram"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == diagram.page()


def test_every_change_of_state_in_the_round_is_an_edge_of_the_diagram() -> None:
    drawn = DRAWN
    named: dict[object, object] = {
        transitions.BY_CARDS: "by_the_cards",
        transitions.RESUME: "resumed",
    }
    edges = {
        (state, named.get(cell.to, cell.to))
        for state, rows in transitions.ROUND.items()
        for cell in rows.values()
        if state != cell.to
    }
    assert drawn.count(" --> ") == len(edges) + 1
    assert all(f"    {a} --> {b} : " in drawn for a, b in edges)


def test_every_edge_of_the_ordinary_round_is_one_of_the_diagram() -> None:
    section = OVERVIEW.read_text("utf-8").partition("## The ordinary round")[2]
    edges = re.findall(r"^    (\w+) --> (\w+) : (.+)$", section.partition("\n## ")[0], re.MULTILINE)
    assert len(edges) == 9
    drawn = {
        (source, to, label)
        for source, to, labels in re.findall(r"^    (\w+) --> (\w+) : (.+)$", DRAWN, re.MULTILINE)
        for label in labels.split("<br>")
    }
    assert set(edges) <= drawn


def test_all_that_halts_a_table_stands_beside_the_diagram() -> None:
    page = diagram.page()
    for (state, trigger), lines in transitions.lines().items():
        if state != "suspended" and trigger not in COMMANDS:
            assert f"| `{trigger}` |" in page or not any(line.to == "suspended" for line in lines)


def test_the_page_says_why_for_every_line_that_a_table_holds() -> None:
    page = diagram.page()
    rounds = [cell for rows in transitions.ROUND.values() for cell in rows.values()]
    shoe = [cell for rows in transitions.SHOE.values() for cell in rows.values()]
    for cell in (*rounds, *shoe, *transitions.ALWAYS.values()):
        assert f"| {cell.why} | {cell.rule or ''} |" in page


def test_the_staffs_page_explains_every_state() -> None:
    text = STAFF.read_text("utf-8")
    assert [s for s in situations.STATES if f"**{s.replace('_', ' ')}**" not in text] == []
