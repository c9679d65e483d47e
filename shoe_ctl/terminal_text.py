"""Text from outside, made safe for a terminal; the width of text there.

In: any text. Out: one line without control characters, or characters that change its direction;
lines of a width. Must not know: who wrote it, where it is shown.
"""

from __future__ import annotations

from collections.abc import Iterator

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

    A line is broken between words, and between Chinese characters but never before a stop or
    behind an opening bracket. A word that is too long for any line is broken within.
    """
    if text.isascii():
        import textwrap

        return textwrap.wrap(
            text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
        )
    lines, line, gap = [first], "", ""
    for piece in _pieces(text):
        if piece.isspace():
            gap = piece if line else ""
            continue
        left = piece
        while cell_width(lines[-1] + line + gap + left) > width:
            if line:
                lines[-1] += line
                lines.append(rest)
                line = gap = ""
            else:
                begins = cut(left, width - cell_width(lines[-1]))
                lines[-1] += begins
                lines.append(rest)
                left = left[len(begins) :]
        line, gap = line + gap + left, ""
    lines[-1] += line
    return [one for one in lines if one.strip()]


_ENDS = ("Po", "Pe", "Pf")
"""Categories of characters that no line begins with: stops, closing brackets and quotes."""

_BEGINS = ("Ps", "Pi")
"""Categories of characters that no line ends with."""


def _pieces(text: str) -> Iterator[str]:
    """Yield what a line is never broken within: words, spaces, wide characters with their marks."""
    from unicodedata import category

    piece = ""
    for character in text:
        before = piece[-1:]
        alike = before.isspace() == character.isspace()
        narrow = _cells(character) < 2 and bool(before) and _cells(before) < 2
        marks = narrow or category(character) in _ENDS
        opens = bool(before) and category(before) in _BEGINS
        if before and not (alike and (marks or opens)):
            yield piece
            piece = ""
        piece += character
    yield piece


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
