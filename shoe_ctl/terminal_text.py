"""Text from outside, made safe for a terminal; the width of text there.

In: any text. Out: one line without control characters, or characters that change its direction;
lines of a width. Must not know: who wrote it, where it is shown.
"""

from __future__ import annotations

LONGEST_WORD = 300
"""The longest word that is shown whole: a path of thousands of characters would hide the rest."""


def shortened(text: str) -> str:
    """Return ``text`` without the middle of each word that is longer than ``LONGEST_WORD``."""
    half = LONGEST_WORD // 4
    return " ".join(
        word if len(word) <= LONGEST_WORD else f"{word[:half]}...{word[-half:]}"
        for word in text.split(" ")
    )


def printable(text: str, *, most: int | None = None) -> str:
    """Return ``text`` with escapes for what is not printable, cut to ``most`` columns."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if most is None or cell_width(text) <= most else f"{cut(text, most - 3)}..."


def cell_width(text: str) -> int:
    """Return how many columns of a terminal ``text`` takes: two for a Chinese character."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def pad(text: str, width: int) -> str:
    """Return ``text`` with spaces behind it up to ``width`` columns."""
    return text + " " * (width - cell_width(text))


def wrap(text: str, width: int, *, first: str = "", rest: str = "") -> list[str]:
    """Return ``text`` in lines of at most ``width`` columns; ``first`` and ``rest`` begin them.

    A line is broken between words. A word that is too long for any line is broken within.
    """
    import textwrap

    wide = text if text.isascii() else "".join(c + _FILLER * (_cells(c) - 1) for c in text)
    lines = textwrap.wrap(
        wide, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
    return [line.replace(_FILLER, "") for line in lines]


_FILLER = "\ue000"
"""The second column of a wide character, while lines are measured. No printable text has it."""


def _cells(character: str) -> int:
    import unicodedata  # text of ASCII alone does not need it

    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def cut(text: str, most: int) -> str:
    """Return the beginning of ``text`` that fits into ``most`` columns."""
    width = 0
    for at, character in enumerate(text):
        width += _cells(character)
        if width > most:
            return text[:at]
    return text
