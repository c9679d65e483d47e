"""The guide's examples are the clients' own, and do what the guide says in both languages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shoe_ctl.cli.recording import SHIPPED
from shoe_testing.paths import ROOT
from shoe_testing.typescript import built_package, program
from tools import guide_examples

GUIDE = (ROOT / "docs/guides/receive-events.md").read_text("utf-8")
RESULTS = re.findall(r"(?m)^t1-s1-r\d \w+$", GUIDE)

LINES = [
    line + b"\n"
    for line in (SHIPPED / "irregular_shoe.jsonl").read_bytes().splitlines()
    if b'"t1/p' in line
]


def test_the_guides_show_every_example_as_it_is() -> None:
    shown: set[str] = set()
    for guide in guide_examples.GUIDES:
        page = guide.read_text("utf-8")
        assert guide_examples.with_examples(page) == page, "run: make docs"
        shown |= set(re.findall(r"<!-- (clients/\S+) -->", page))
    files = (ROOT / "clients").glob("*/examples/*")
    assert {str(path.relative_to(ROOT)) for path in files} == shown


def python_words() -> list[str]:
    return [sys.executable, str(ROOT / "clients/python/examples/results.py")]


def typescript_words() -> list[str]:
    return [program("node"), str(built_package() / "examples/results.js")]


def run(words: list[str], lines: list[bytes], folder: Path) -> list[str]:
    done = subprocess.run(
        words,
        input=b"".join(lines),
        cwd=folder,
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode().splitlines()


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT / "clients/python")}


@pytest.mark.slow
@pytest.mark.parametrize("words", [python_words, typescript_words])
def test_a_gap_is_seen_and_closed_and_each_round_stands_once(
    words: Callable[[], list[str]], tmp_path: Path
) -> None:
    with_gap = [line for line in LINES if b'"t1/p14"' not in line]
    assert run(words(), with_gap, tmp_path) == ["missing behind t1/p13 up to number 14"]
    assert run(words(), LINES, tmp_path) == RESULTS
    assert run(words(), LINES, tmp_path) == RESULTS
