"""Text from outside as a terminal may be given it: what is no visible character is spelt out.

In: any text. Out: text of one line, without control characters or ones that turn the line about.
Must not know: who wrote it, where it is shown.
"""

from __future__ import annotations

LONGEST_WORD = 300
"""Characters of a word that a line shows whole: a path of thousands would hide what is said."""


def shortened(text: str) -> str:
    """``text`` with the middle of every word left out that is longer than ``LONGEST_WORD``."""
    half = LONGEST_WORD // 4
    return " ".join(
        word if len(word) <= LONGEST_WORD else f"{word[:half]}...{word[-half:]}"
        for word in text.split(" ")
    )


def printable(text: str, *, most: int | None = None) -> str:
    """``text`` with everything that is not printed as an escape; cut to ``most`` characters."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if most is None or len(text) <= most else f"{text[: most - 3]}..."
