"""Copy the kit's examples into the guides that show them: each block names its file before it.

``make docs`` runs it. In: a guide, the files that it names. Out: the guide with their text.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
GUIDES = [ROOT / "docs/guides" / name for name in ("receive-events.md", "certify.md")]

_BLOCK = re.compile(r"<!-- (clients/\S+) -->\n```(\w+)\n.*?```\n", re.DOTALL)


def with_examples(page: str) -> str:
    """Return a page whose examples are what stands in their files."""

    def block(found: re.Match[str]) -> str:
        text = (ROOT / found[1]).read_text("utf-8")
        return f"<!-- {found[1]} -->\n```{found[2]}\n{text}```\n"

    return _BLOCK.sub(block, page)


if __name__ == "__main__":
    for guide in GUIDES:
        guide.write_text(with_examples(guide.read_text("utf-8")), "utf-8")
