"""Links and headings of Markdown pages, and whether a link leads to one of them."""

from __future__ import annotations

import re
from pathlib import Path

LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    headings = HEADING.findall(page.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", each).strip().lower().replace(" ", "-") for each in headings}


def is_linked(page: Path, target: str, anchor: str) -> bool:
    """The link leads to a file, and to one of its headings where it names one."""
    linked = (page.parent / target).resolve() if target else page
    return linked.exists() and (not anchor or anchor in anchors(linked))


def dead_links(page: Path) -> list[str]:
    """The links of a page that lead nowhere, as they stand there."""
    links = LINK.findall(page.read_text("utf-8"))
    dead = [link for link in links if not is_linked(page, *link)]
    return ["#".join(filter(None, link)) for link in dead]
