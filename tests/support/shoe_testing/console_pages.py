"""Pages that show commands with what they print: their blocks, and whether a print is as shown.

In: a page, what a command printed. Out: blocks, commands, a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

BLOCK = re.compile(r"^```(\w+)(?: ([^\n]*))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block: a script (``sh``), commands with what they print (``console``), a file."""

    kind: str
    about: str
    text: str


class Command(NamedTuple):
    """A line that is typed, and the lines that are shown below it."""

    typed: str
    shown: str


def blocks(text: str) -> list[Block]:
    return [Block(*found) for found in BLOCK.findall(text)]


def commands(block: Block) -> Iterator[Command]:
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        typed, _, shown = part.partition("\n")
        yield Command(typed, shown)


def matches(shown: str, printed: str) -> bool:
    """The text is the one shown: ``…`` stands for a part of a line, and alone for any lines."""
    pattern = ""
    for line in shown.splitlines():
        if line == "…":
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += ".+".join(map(re.escape, line.split("…"))) + r"\n"
    return re.fullmatch(pattern, printed) is not None
