"""The counts of ``bench/house.py``, and what ``bench/controller.py`` measures: no times here."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from bench import controller, house
from bench._table import BEFORE, ROOT, Table, packages_at

RECORDED = {
    "card_files": 20,
    "card_changes": 94,
    "card_functions": 74,
    "card_calls": 156,
    "double_draw_files": 20,
    "void_files": 29,
    "void_changes": 254,
    "link_files": 43,
    "modules": 146,
    "lines": 18_693,
    "most_in_a_folder": 71,
    "storeys": 18,
    "present_participles": 39,
}
"""What was counted at that commit by hand, before there was a script."""

DEPENDS_ON_PYTHON = {key for key in RECORDED if key.rpartition("_")[2] in {"changes", "calls"}} | {
    "card_functions"
}
"""From Python 3.12 on a comprehension is no call."""


def has_commit(commit: str) -> bool:
    known = subprocess.run(
        ("git", "-C", str(ROOT), "cat-file", "-e", f"{commit}^{{commit}}"),
        capture_output=True,
        check=False,
    )
    return known.returncode == 0


@pytest.mark.slow
@pytest.mark.exhaustive(cpu_s=1.4)
def test_the_earlier_commit_has_the_figures_that_were_counted_by_hand() -> None:
    if not has_commit(BEFORE):
        pytest.skip("this copy has no history")
    with packages_at(BEFORE) as packages:
        found = house.figures(packages)
    same = {
        key: value
        for key, value in RECORDED.items()
        if sys.version_info < (3, 12) or key not in DEPENDS_ON_PYTHON
    }
    assert {key: found[key] for key in same} == same


@pytest.mark.slow
@pytest.mark.exhaustive(cpu_s=2)
def test_every_figure_is_counted_now() -> None:
    found = house.figures(ROOT)
    assert found.keys() == {each.key for each in house.FIGURES}
    assert all(count >= 0 for count in found.values())
    assert found["card_files"] > 0 and found["link_files"] >= found["link_alone_files"] > 0


def test_a_commit_that_is_not_there_is_named() -> None:
    with pytest.raises(SystemExit, match="no-such-commit"), packages_at("no-such-commit"):
        pass


def test_a_change_of_file_is_a_call_into_another_file_than_the_last() -> None:
    made = house.Calls((("a", "f"), ("a", "g"), ("b", "h"), ("a", "f")))
    assert (made.files, made.changes) == (2, 3)
    assert (house.Calls(()).files, house.Calls(()).changes) == (0, 0)


def test_calls_are_counted_in_our_packages_only() -> None:
    table = house.opened()
    made = house.calls(ROOT, table.open_round).made
    assert made and all(file.startswith(f"{ROOT}/") for file, _ in made)
    assert any(file.endswith("table/controller.py") for file, _ in made)
    outside = (f"{ROOT}/tests/", f"{ROOT}/bench/")
    assert not any(file.startswith(outside) for file, _ in made)


def test_storeys_are_the_longest_way_down_and_a_circle_is_one_of_them() -> None:
    assert house.storeys({"a": (), "b": ()}) == 1
    assert house.storeys({"a": ("b", "c"), "b": ("c",), "c": ()}) == 3
    assert house.storeys({"a": ("b",), "b": ("a", "c"), "c": ("d",), "d": ()}) == 3


@pytest.mark.exhaustive(cpu_s=0.9)
def test_every_line_is_of_one_kind() -> None:
    for name, path in house.core(ROOT).items():
        text = path.read_text("utf-8")
        assert house.kinds_of_lines(name, text).total() == text.count("\n"), name
    written = '''"""A module."""

X = 1  # code
"""What it is."""

# A comment.
def f():
    """Do nothing.

    At all.
    """
    return """a text

in a string"""
'''
    assert house.kinds_of_lines("m", written) == {
        "code_lines": 5, "docstring_lines": 6, "comment_lines": 1, "blank_lines": 2,
    }  # fmt: skip
    assert house.kinds_of_lines(house.TEXTS[0], "TEXTS = {}\n")["text_lines"] == 1


@pytest.mark.exhaustive(cpu_s=2.5)
def test_the_rooms_make_up_the_core() -> None:
    whole = sum(house.rooms(ROOT).values(), Counter[str]())
    assert whole["lines"] == house.read(ROOT)["lines"]
    assert whole["lines"] == sum(whole[kind] for kind in house.LINE_KINDS)


def test_imports_are_found_however_they_are_written(tmp_path: Path) -> None:
    known = {"p.a", "p.b", "p.q", "p.q.c", "p.q.d"}
    inside = tmp_path / "d.py"
    inside.write_text(
        "from . import c\nfrom ..a import x\n\ndef f():\n    import p.b\n    import os\n"
    )
    assert house.imports("p.q.d", inside, known) == {"p.q", "p.q.c", "p.a", "p.b"}
    package = tmp_path / "__init__.py"
    package.write_text("from .c import y\nfrom p import a\n")
    assert house.imports("p.q", package, known) == {"p.q.c", "p.a"}


def test_a_promise_is_missed_above_its_limit_only() -> None:
    kept = {each.key: each.most or 0 for each in house.FIGURES}
    assert house.missed(kept) == []
    assert [each.key for each in house.missed({**kept, "link_alone_files": 21})] == [
        "link_alone_files"
    ]


@pytest.mark.parametrize("way", controller.WAYS)
def test_the_shoe_that_is_measured_is_dealt_without_a_halt(way: str) -> None:
    inputs = controller.shoe_of(implied=way == "implied")
    table = Table(implied=way == "implied")
    for happened in inputs:
        table.controller.handle(happened)
    stands = table.controller.state
    assert (stands.state, stands.halt, stands.rounds) == ("idle", None, controller.ROUNDS)
    assert 4 * controller.ROUNDS <= sum(map(controller.is_card, inputs)) <= 6 * controller.ROUNDS


def test_a_ratio_is_held_from_what_is_promised_on_and_always_where_nothing_is() -> None:
    measured = controller.compared([(9.0, 3.0), (8.0, 2.0), (6.0, 3.0)])
    assert measured == {"before": 8.0, "now": 3.0, "ratio": 3.0, "ratios": (2.0, 4.0)}
    assert controller.is_held(measured)
    assert controller.is_held({**measured, "promised": 3.0})
    assert not controller.is_held({**measured, "promised": 3.1})
