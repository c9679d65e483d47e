"""Text from outside, made safe for a terminal.

In: any text. Out: one line without control characters, or characters that change its direction.
Must not know: who wrote it, where it is shown.
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
    """Return ``text`` with escapes for what is not printable, cut to ``most`` characters."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if most is None or len(text) <= most else f"{text[: most - 3]}..."
