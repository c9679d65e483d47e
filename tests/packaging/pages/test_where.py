"""The contributor's pages that name modules: where to look, and the rooms of the table.

In: docs/contributing/where.md, docs/architecture/overview.md, the import contract, the packages.
Out: what they name wrongly.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

from shoe_testing.for_each import for_each
from shoe_testing.paths import ROOT

PAGES = ROOT / "docs"
COVERED = ("table", "daemon", "history", "replay", "config")
"""Rooms of shoe_ctl/."""

PACKAGES = ("firmware_proto", "shoe_bench", "simulators")
"""They are covered whole; their paths begin with their names."""

ROW = re.compile(r"^\| (?P<question>[^|]*\?) \| (?P<answer>[^|]*) \|$", re.MULTILINE)
ANSWER = re.compile(r"`(?P<module>[a-z_/]+\.py)`(?:: (?P<names>`[A-Za-z_]+`(?:, `[A-Za-z_]+`)*))?")

WHERE = (PAGES / "contributing/where.md").read_text("utf-8")
ROWS = ROW.findall(WHERE)
ARCHITECTURE = (PAGES / "architecture/overview.md").read_text("utf-8")

NODE = re.compile(r'(\w+)\["([^"]+)"\]')


def file_of(module: str) -> Path:
    """The file that the page names so."""
    return ROOT / module if module.partition("/")[0] in PACKAGES else ROOT / "shoe_ctl" / module


def modules() -> set[str]:
    """The modules of the covered rooms and packages, as the page names them."""
    rooms = [(ROOT / "shoe_ctl", ROOT / "shoe_ctl" / room) for room in COVERED]
    packages = [(ROOT, ROOT / package) for package in PACKAGES]
    return {
        str(path.relative_to(beginning))
        for beginning, folder in (*rooms, *packages)
        for path in folder.rglob("*.py")
        if path.name != "__init__.py"
    }


def public_names(module: str) -> set[str]:
    """The names that a module defines for others."""
    found: set[str] = set()
    for node in ast.parse(file_of(module).read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {each.id for each in targets if isinstance(each, ast.Name)}
    return {name for name in found if not name.startswith("_")}


def test_every_line_of_the_page_is_a_question_with_an_answer() -> None:
    lines = [line for line in WHERE.splitlines() if line.startswith("| ")]
    assert len(lines) - lines.count("| question | module |") == len(ROWS)
    assert len(ROWS) >= 40
    assert len({question for question, _ in ROWS}) == len(ROWS)


@for_each(ROWS)
def test_a_question_is_answered_by_a_module_and_names_that_exist(row: tuple[str, str]) -> None:
    question, answer = row
    found = ANSWER.fullmatch(answer)
    assert found, f"{question}: write `module.py`: `name`, `name`"
    assert file_of(found["module"]).is_file(), f"{question}: there is no {found['module']}"
    names = set(re.findall(r"\w+", found["names"] or ""))
    assert names - public_names(found["module"]) == set()


def test_every_module_answers_a_question() -> None:
    named = {found["module"] for found in ANSWER.finditer(WHERE)}
    assert modules() - named == set()


def rooms() -> str:
    """The section of the architecture page about the table's rooms."""
    return ARCHITECTURE.partition("## The rooms of the table")[2].partition("\n## ")[0]


def table_contract() -> dict[str, list[str]]:
    """The import contract of the table, as pyproject.toml has it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (found,) = [each for each in contracts if each.get("containers") == ["shoe_ctl.table"]]
    return {"layers": found["layers"], "ignored": found["ignore_imports"]}


def drawn_layers() -> list[set[str]]:
    """The lines of the boxes in the drawing, from the first box that its arrows name to the last.

    The first line of a box is its name.
    """
    (drawing,) = re.findall(r"```mermaid\n(.*?)```", rooms(), re.DOTALL)
    boxes = dict(NODE.findall(drawing))
    (order,) = re.findall(r"^ *(\w+(?: --> \w+)+)$", drawing, re.MULTILINE)
    assert sorted(order.split(" --> ")) == sorted(boxes)
    lines = [line for box in order.split(" --> ") for line in boxes[box].split("<br>")[1:]]
    return [set(line.split(", ")) for line in lines if line]


def test_the_rooms_are_drawn_as_the_import_contract_has_them() -> None:
    contract = [set(layer.split(" | ")) for layer in table_contract()["layers"]]
    assert drawn_layers() == contract


def test_the_imports_that_go_the_other_way_are_those_of_the_contract() -> None:
    named = re.findall(r"^\| `([a-z_]+)` \| `([a-z_.]+)` \|", rooms(), re.MULTILINE)
    imports = {f"shoe_ctl.table.{upper} -> shoe_ctl.table.{lower}" for upper, lower in named}
    assert imports == set(table_contract()["ignored"])


def test_every_part_of_the_machine_in_the_drawing_of_a_card_exists() -> None:
    (drawing,) = re.findall(r"```mermaid\n(sequenceDiagram.*?)```", ARCHITECTURE, re.DOTALL)
    parts = re.findall(r"participant \w+ as (\w+)<br>(\w+)", drawing)
    assert parts
    missing = [
        each for each in parts if not (ROOT / "shoe_ctl" / each[0] / f"{each[1]}.py").is_file()
    ]
    assert missing == []
