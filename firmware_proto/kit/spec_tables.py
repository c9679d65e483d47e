"""The part of a SPEC.md that is derived from the layouts, between two markers.

In: the text of a SPEC.md, lines of Markdown. Out: the text with these lines between its markers.
Must not know: profiles, layouts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

BEGIN: Final = "<!-- Derived from layouts.py by `make layouts`: begin -->\n"
END: Final = "<!-- end -->\n"


def replace_generated(text: str, lines: Iterable[str]) -> str:
    """The text with these lines between its markers.

    Raises:
        ValueError: the text has no markers.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, behind = rest.partition(END)
    if not begin or not end:
        raise ValueError("SPEC.md has no markers for what is derived from the layouts")
    return before + begin + "\n" + "".join(f"{line}\n" for line in lines) + "\n" + end + behind
