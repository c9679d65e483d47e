"""Checks the words that people read: phrases to avoid, one sentence a line, docstrings.

``make check`` runs it. In: the Markdown pages, the English catalog, ``prose.txt``, the product's
docstrings. Out: a line for each finding. Help texts are checked in the reference pages that show
them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from shoe_ctl.texts import english

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

LISTS_TRIGGERS = DOCS / "architecture/state-diagram.md"
"""This page is made of the code's own names."""

STAFF = DOCS / "staff"
"""These pages are set for paper, not line by line, and quote the catalog."""

PACKAGES = ("firmware_proto", "shoe_bench", "shoe_ctl", "simulators")

_QUESTION = re.compile(r"\s*(What|Which|How|Who|Whether)\b")
_CODE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`[^`\n]*`|\]\([^)\n]*\)|<!--.*?-->")
_TWO_SENTENCES = re.compile(r"(?<=[a-z0-9)`_][.!?])\)? (?=[A-Z`_\[])")
_MARK = re.compile(r"^ *(?:[*-]|\d+\.) ")
_PROSE = re.compile(r"(?!\||#| *```)")


def pages() -> list[Path]:
    """Return every page that is checked."""
    root = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    found = [path for path in sorted(DOCS.rglob("*.md")) if path != LISTS_TRIGGERS]
    return [*root, ROOT / "tests/README.md", *found]


def phrases(*, of_pages: bool = True) -> list[tuple[re.Pattern[str], str]]:
    """Return the phrases of ``prose.txt``, each with what to write instead."""
    lines = Path(__file__).with_name("prose.txt").read_text("utf-8").splitlines()
    split = (line.split(" | ") for line in lines if line and not line.startswith("#"))
    return [
        (re.compile(rf"\b(?:{phrase})\b", re.IGNORECASE), instead)
        for phrase, instead, *where in split
        if of_pages or where != ["pages"]
    ]


def wrong_texts(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Return the code of each text of a catalog that has a phrase to avoid, and what is wrong."""
    for code, text in texts.items():
        for phrase, instead in phrases(of_pages=False):
            if (found := phrase.search(text)) is not None:
                yield code, f"{found[0]!r}: write {instead}"


def wrong_lines(page: Path) -> Iterator[tuple[int, str]]:
    """Return the number of each line at fault of a page, and what is wrong with it."""
    return findings(page.read_text("utf-8"), staff=page.is_relative_to(STAFF))


def findings(text: str, *, staff: bool = False) -> Iterator[tuple[int, str]]:
    """Return the number of each line at fault, and what is wrong with it.

    ``staff``: a page for staff, whose lines may have several sentences.
    """
    plain = _CODE.sub(lambda code: "\n" * code[0].count("\n"), text)
    for number, line in enumerate(plain.split("\n"), 1):
        words = _SPAN.sub("`", line)
        for phrase, instead in phrases(of_pages=not staff):
            if (found := phrase.search(words)) is not None:
                yield number, f"{found[0]!r}: write {instead}"
        prose = not staff and _PROSE.match(line) and not line.startswith("    ")
        if prose and _TWO_SENTENCES.search(_MARK.sub("", words)):
            yield number, "two sentences: give each a line"


def wrong_docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Return the line of each docstring that begins as a question does, and what is wrong.

    The strings below a module's, a class's or an instance's names are docstrings, too.
    """
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
            continue
        if isinstance(text := node.value.value, str) and (begins := _QUESTION.match(text)):
            yield node.lineno, f"{begins[1]!r}: name the thing, or write Return, True if"


def main() -> int:
    """Print every finding; 1 if there is one."""
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {what}"
        for path in pages()
        for number, what in wrong_lines(path)
    ]
    wrong += [f"{english.__name__}:{code}: {what}" for code, what in wrong_texts(english.TEXTS)]
    wrong += [
        f"{path.relative_to(ROOT)}:{number}: {what}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for number, what in wrong_docstrings(path.read_text("utf-8"))
    ]
    for line in wrong:
        sys.stdout.write(f"{line}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
