"""The words of the pages: phrases to avoid are found, and so are two sentences in a line."""

from __future__ import annotations

import pytest

from shoe_ctl.texts import english
from tools import prose


def test_no_page_has_a_phrase_to_avoid_or_two_sentences_in_a_line() -> None:
    wrong = [(path.name, *found) for path in prose.pages() for found in prose.wrong_lines(path)]
    assert wrong == []


def test_a_page_for_staff_is_held_to_the_phrases_of_the_catalog() -> None:
    line = "It is told once. Take whatever lies there."
    assert [what for _, what in prose.findings(line, staff=True)] == [
        "'whatever': write name the things, or: any"
    ]
    checked = {path.relative_to(prose.ROOT).as_posix() for path in prose.pages()}
    assert {"SECURITY.md", "docs/staff/en/halted.md", "docs/guides/install.md"} <= checked


def test_no_text_of_the_catalog_has_a_phrase_to_avoid() -> None:
    assert list(prose.wrong_texts(english.TEXTS)) == []
    assert list(prose.wrong_texts({"a": "call whoever decides", "b": "is told"})) == [
        ("a", "'whoever': write a person who, the user who, the one who")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Take whatever lies there.",
        "1. It is gone on with.",
        "One sentence. Another one.",
        "* One sentence. `Another` one.",
        "> One sentence. Another one.",
    ],
)
def test_a_line_at_fault_is_found(text: str) -> None:
    assert [number for number, _ in prose.findings(f"A line.\n{text}\n")] == [2]


@pytest.mark.parametrize(
    "text",
    [
        "The rules 3.14 and 3.15 say so.",
        "`whatever. The` code",
        "* **Away.** The daemon tries again.",
        "1. [A link](page.md)",
        "| a cell. With two | sentences |",
        "```\nwhatever. The code\n```",
        "[a page](whatever.md)",
    ],
)
def test_code_tables_and_bold_beginnings_are_left_alone(text: str) -> None:
    assert list(prose.findings(text)) == []


@pytest.mark.parametrize(
    "source",
    [
        '"""What it holds."""',
        'class A:\n    """Who asks."""',
        'def f():\n    """\n    How it is done.\n    """',
        'class A:\n    b: int = 1\n    """Whether it counts."""',
        'def f(self):\n    self.b = 1\n    """Which one."""',
    ],
)
def test_a_docstring_that_begins_as_a_question_is_found(source: str) -> None:
    assert len(list(prose.wrong_docstrings(source))) == 1


@pytest.mark.parametrize(
    "source",
    ['"""Return what it holds."""', '"""However it ends."""', 'x = "What"', 'f("Who")', "1"],
)
def test_other_docstrings_and_strings_are_left_alone(source: str) -> None:
    assert list(prose.wrong_docstrings(source)) == []
