"""No sentence is built in the controller: people read texts of the catalogues alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import shoe_ctl.table
from shoe_ctl.table.situations import SITUATIONS
from shoe_testing.for_each import for_each

FOLDER = Path(shoe_ctl.table.__file__).parent
MODULES = sorted(FOLDER.rglob("*.py"))

WORDS = re.compile(r"[A-Za-z]{2,},? [A-Za-z]{2,}")
"""Two words in a row."""

NAMES = frozenset({
    "Paiza Club", "Ruby Room",  # areas, as the rules name them
    "drawn early",  # a place, as it is typed
    "locked by key", "memory full", "already drawn", "not the next draw",  # what a shoe replies
    "Object missing required field",  # how the decoder's message begins
    "no more answers", "nothing received", "too much garbage", "decoding failed",
    "write queue full",  # how the line of a lost link begins
})  # fmt: skip

ELSEWHERE = frozenset({"diagram.py"})
"""Writes a page of the documentation."""

CELLS = frozenset({"does", "halts", "goes"})
"""A line of the tables of transitions; ``why`` is its reason, which no table shows."""


def sentences(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Words in a row, but for docstrings, patterns, and what is said of a failed assertion."""
    if isinstance(tree, ast.Assert | ast.Raise):
        return
    if isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Constant):
        return
    if isinstance(tree, ast.Call) and ast.unparse(tree.func) == "re.compile":
        return
    text = tree.value if isinstance(tree, ast.Constant) else None
    if isinstance(text, str) and WORDS.search(text) and not _is_name(text):
        yield getattr(tree, "lineno", 0), text
    is_cell = isinstance(tree, ast.Call) and ast.unparse(tree.func) in CELLS
    for child in ast.iter_child_nodes(tree):
        if not (is_cell and isinstance(child, ast.keyword) and child.arg == "why"):
            yield from sentences(child)


def _is_name(text: str) -> bool:
    """A name that is typed so, or the names of several situations of a table."""
    return text in NAMES or set(text.split(", ")) <= SITUATIONS.keys()


@for_each(MODULES)
def test_no_sentence_is_built_in_the_controller(path: Path) -> None:
    if path.name not in ELSEWHERE:
        assert list(sentences(ast.parse(path.read_text("utf-8")))) == []


@pytest.mark.parametrize(
    "line",
    [
        'turn.refuse("no round is open")',
        'why = f"the layout has no seat {seat}"',
        'STEP = Step("look", "look at the cards", ())',
        'turn.emit("shoe.lost", why="the cable is off")',
    ],
)
def test_a_sentence_is_found_wherever_it_stands(line: str) -> None:
    assert list(sentences(ast.parse(line)))


@pytest.mark.parametrize(
    "line",
    [
        '"""What the step asks for."""',
        'assert found, "the row above takes it"',
        'raise ValueError("time ran backwards")',
        'message("refused_no_round")',
        'CELL = does(link.connect, why="The port is open.")',
    ],
)
def test_what_nobody_reads_at_a_table_is_no_sentence(line: str) -> None:
    assert not list(sentences(ast.parse(line)))
