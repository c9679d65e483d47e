"""Make the staff pages ready to print: ``python tools/staff_pages.py [--pdf] [FOLDER]``.

In: the Markdown pages and drawings in docs/staff. Out: ``en.html`` and ``zh.html``, each
situation on one A4 sheet; with ``--pdf`` the PDF files too, printed by Chromium. The HTML needs
no other file and no script: a flow chart is nested boxes, whose text the browser wraps in any
language.
"""

from __future__ import annotations

import argparse
import html
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from markdown_it import MarkdownIt

STAFF = Path(__file__).parents[1] / "docs" / "staff"
LANGUAGES = {"en": "en", "zh": "zh-Hans"}
"""Folder → language tag."""

FIRST = ("index", "round")
CARDS = (
    *("first-evening", "card-a", "card-b", "card-c"),
    *("pit-supervisor", "surveillance", "typed-wrong"),
)
"""Pages to keep at hand, for one reader or one method: each is one sheet too."""

LAST = ("commands", "glossary")
"""Pages of several sheets: they stand before and behind those of one sheet."""

TYPED = {"en": "before each command type", "zh": "每个命令前输入"}
"""What the foot of a sheet says of ``shoectl table``, which its commands leave out."""

LARGEST_PT, SMALLEST_PT = 11.5, 7.0
"""A short page is set in large type, no page in smaller than this, in points."""

FILLS = 255_000
"""Weight times type size, squared, that fills a sheet: a little less than it can hold."""

MOST = round(FILLS / SMALLEST_PT**2)
"""No situation weighs more: beyond it a page cannot be one sheet."""

DRAWING = 230
"""Weight of a drawing, half as wide as a sheet."""

PLAIN_PT = 8.6
"""The size of type of the other pages, which may take several sheets."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

STYLE = """
@page { size: A4; margin: 9mm 11mm; }
* { box-sizing: border-box; }
body { font: 10pt/1.32 "Noto Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei",
       Arial, sans-serif; color: #111; margin: 0; }
section { break-before: page; padding: 0 .3mm; }
td:nth-child(3):nth-last-child(4), td:nth-child(4):nth-last-child(3) { white-space: nowrap; }
:lang(zh) em { font-style: normal; font-weight: 600; }
section:first-of-type { break-before: auto; }
h1 { font-size: 1.7em; line-height: 1.15; margin: 0 0 1.5mm; padding-bottom: 1mm;
     border-bottom: 1.2mm solid #8a1420; }
h2 { font-size: 1.2em; margin: .9em 0 .3em; color: #8a1420; break-after: avoid; }
p { margin: 0 0 1.2mm; }
ol, ul { margin: 0 0 1.2mm; padding-left: 6mm; }
li { margin: 0 0 .6mm; }
ol > li::marker { font-weight: bold; }
code { font: .92em/1.3 "DejaVu Sans Mono", "Noto Sans Mono CJK SC", monospace;
       background: #f1efe9; padding: 0 .6mm; overflow-wrap: break-word; }
pre { background: #f1efe9; padding: 1.2mm 2mm; margin: 0 0 1.5mm; white-space: pre-wrap; }
pre code { background: none; padding: 0; }
table { border-collapse: collapse; width: 100%; margin: 0 0 1.5mm; }
tr { break-inside: avoid; }
th, td { border: .2mm solid #999; padding: .12em .4em; min-width: 3.6em;
         text-align: left; vertical-align: top; }
th { background: #ece9e0; font-weight: 600; }
blockquote { margin: 0 0 1.5mm 6mm; padding: .5mm 3mm; border-left: 1mm solid #c9b27c; }
blockquote p { margin: 0; }
a { color: inherit; text-decoration: none; border-bottom: .2mm dotted #888; }
#index ul { columns: 2; }
footer { margin-top: 2.5mm; font-size: 7.5pt; color: #666; }
svg { width: 89mm; display: inline-block; margin: 0 2mm 1mm 0; }
p:has(> svg) { display: inline; }
.chart { margin: 0 0 1.5mm; }
.node { display: flex; align-items: center; }
.box { border: .3mm solid #333; border-radius: 1.2mm; padding: .7mm 1.6mm; background: #fff;
       max-width: 70mm; font-size: .94em; line-height: 1.25; }
.box.question { background: #f7e9cf; border-radius: 3.5mm; }
.ways { border-left: .3mm solid #333; margin-left: 3mm; position: relative; }
.ways::before { content: ""; position: absolute; left: -3.2mm; top: 50%; width: 3mm;
                border-top: .3mm solid #333; }
.way { display: flex; align-items: center; padding: .5mm 0; }
.way::before { content: ""; flex: none; width: 3mm; border-top: .3mm solid #333; }
.way > i { font-size: .92em; line-height: 1.2; font-style: normal; font-weight: 600;
           margin: 0 1.5mm; max-width: 42mm; }
@media screen { body { background: #777; }
  section { background: #fff; width: 210mm; min-height: 297mm; padding: 11mm 13mm;
            margin: 6mm auto; } }
"""


class Node(NamedTuple):
    """A box of a flow chart, with the ways that lead on from it."""

    name: str
    text: str
    is_question: bool
    ways: tuple[tuple[str, Node], ...]


class ChartError(ValueError):
    """A flow chart is not a tree of the few forms that are drawn."""


_BOX = re.compile(r'^(\w+)(?:\["([^"]+)"\]|\{"([^"]+)"\})$')
_WAY = re.compile(r'^(\w+) -->(?:\|"([^"]+)"\|)? (\w+)$')


def read_chart(source: str) -> Node:
    """Return the root of a Mermaid flow chart.

    Raises:
        ChartError: it is not ``flowchart LR`` with boxes, questions and ways that form a tree.
    """
    first, *lines = (line.strip() for line in source.strip().splitlines())
    if first != "flowchart LR":
        raise ChartError(first)
    boxes: dict[str, tuple[str, bool]] = {}
    ways: dict[str, list[tuple[str, str]]] = {}
    for line in lines:
        if box := _BOX.match(line):
            boxes[box[1]] = (box[2] or box[3], box[3] is not None)
        elif way := _WAY.match(line):
            ways.setdefault(way[1], []).append((way[2] or "", way[3]))
        else:
            raise ChartError(line)
    led_to = [to for found in ways.values() for _, to in found]
    roots = [name for name in boxes if name not in led_to]
    if len(roots) != 1 or len(led_to) != len({*led_to}) or {*led_to, *ways} - {*boxes}:
        raise ChartError("not a tree")

    def node(name: str) -> Node:
        text, question = boxes[name]
        return Node(name, text, question, tuple((a, node(to)) for a, to in ways.get(name, ())))

    return node(roots[0])


def draw_chart(node: Node) -> str:
    """Return the flow chart as nested boxes."""
    kind = "box question" if node.is_question else "box"
    drawn = f'<div class="node"><div class="{kind}">{html.escape(node.text)}</div>'
    if node.ways:
        ways = "".join(
            f'<div class="way">{f"<i>{html.escape(answer)}</i>" if answer else ""}'
            f"{draw_chart(to)}</div>"
            for answer, to in node.ways
        )
        drawn += f'<div class="ways">{ways}</div>'
    return drawn + "</div>"


def _render_fence(self: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:
    if tokens[at].info.strip() == "mermaid":
        return f'<div class="chart">{draw_chart(read_chart(tokens[at].content))}</div>\n'
    return str(self.fence(tokens, at, options, env))


def _render_link(self: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:
    """Write a link to another sheet as one inside the file, or inside that of its language."""
    target = re.fullmatch(r"(?:\.\./(\w+)/)?([\w-]+)\.md", str(tokens[at].attrGet("href")))
    if target:
        file = f"{target[1]}.html" if target[1] else ""
        tokens[at].attrSet("href", f"{file}#{target[2]}")
    return str(self.renderToken(tokens, at, options, env))


def _render_image(
    self: Any,  # noqa: ARG001 - called so
    tokens: Sequence[Any],
    at: int,
    options: Any,  # noqa: ARG001 - called so
    env: Any,
) -> str:
    """Write a drawing into the page itself: the file needs no other."""
    drawing = Path(env["folder"]) / str(tokens[at].attrGet("src"))
    drawn = drawing.read_text("utf-8")
    return drawn.replace(' xmlns="http://www.w3.org/2000/svg"', "")


def parser() -> MarkdownIt:
    """Return the reader of the pages."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.add_render_rule("fence", _render_fence)
    markdown.add_render_rule("link_open", _render_link)
    markdown.add_render_rule("image", _render_image)
    return markdown


def pages(language: str) -> list[Path]:
    """Return the pages of a language in the order in which they are printed."""
    found = {path.stem: path for path in sorted((STAFF / language).glob("*.md"))}
    before = (*FIRST, *CARDS)
    order = [*before, *(name for name in found if name not in (*before, *LAST)), *LAST]
    return [found[name] for name in order if name in found]


def situations(language: str) -> list[Path]:
    """Return the pages of situations: each is one sheet."""
    others = (*FIRST, *CARDS, *LAST)
    return [path for path in pages(language) if path.stem not in others]


def cards(language: str) -> list[Path]:
    """Return the pages to keep at hand: each is one sheet."""
    return [path for path in pages(language) if path.stem in CARDS]


def weight(source: str) -> int:
    """Return about how much room a page takes: its letters, wide ones twice, and its lines."""
    lines = source.splitlines()
    wide = sum(1.4 for letter in source if letter > "\u2e7f")
    drawings = sum(1 for line in lines if line.startswith("!["))
    rows = sum(1 for line in lines if line.startswith(("|", "#")))
    return round(len(source) + wide) + 30 * rows + DRAWING * drawings


def type_size(source: str) -> float:
    """Return the size of type, in points, in which a page fills a sheet and not more."""
    fitting = math.sqrt(FILLS / weight(source))
    return round(min(LARGEST_PT, max(SMALLEST_PT, fitting)), 1)


def document(language: str, chosen: Sequence[Path]) -> str:
    """Return these pages as one HTML file that needs no other."""
    markdown, made_by = parser(), f"shoe-ctl {version('shoe-ctl')}"
    foot = f"{TYPED[language]} <code>shoectl table</code> · {made_by}"
    sheets = ""
    for path in chosen:
        source = path.read_text("utf-8")
        size = PLAIN_PT if path.stem in (*FIRST, *LAST) else type_size(source)
        page = markdown.render(source, {"folder": path.parent})
        sheets += (
            f'<section id="{path.stem}" style="font-size: {size}pt">\n{page}'
            f"<footer>{foot} · {path.stem}</footer>\n</section>\n"
        )
    return (
        f'<!DOCTYPE html>\n<html lang="{LANGUAGES[language]}">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{made_by}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{sheets}</body>\n</html>\n"
    )


def find_browser() -> str | None:
    """Return the path of a Chromium, or None."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def print_pdf(browser: str, source: Path, target: Path) -> None:
    """Print an HTML file to PDF.

    Raises:
        subprocess.CalledProcessError: the browser failed.
        subprocess.TimeoutExpired: it did not end within three minutes.
    """
    profile = target.with_suffix(".profile")
    try:
        subprocess.run(
            [
                browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                "--disable-background-networking", "--disable-extensions", "--disable-sync",
                "--disable-component-update", "--disable-dev-shm-usage",
                f"--user-data-dir={profile}", "--no-pdf-header-footer",
                f"--print-to-pdf={target}", source.resolve().as_uri(),
            ],
            check=True, capture_output=True, timeout=180,
        )  # fmt: skip
    finally:
        shutil.rmtree(profile, ignore_errors=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files. Return 0, or 3 where a PDF is wanted and no browser is there."""
    read = argparse.ArgumentParser(description="Make the staff pages ready to print.")
    read.add_argument("folder", nargs="?", type=Path, default=Path("build/staff"))
    read.add_argument("--pdf", action="store_true", help="print PDF files too, with Chromium")
    wanted = read.parse_args(arguments)
    browser = find_browser()
    if wanted.pdf and browser is None:
        print(f"no browser found: install one of {', '.join(BROWSERS)}", file=sys.stderr)
        return 3
    wanted.folder.mkdir(parents=True, exist_ok=True)
    for language in LANGUAGES:
        page = wanted.folder / f"{language}.html"
        page.write_text(document(language, pages(language)), "utf-8")
        print(page)
        if wanted.pdf and browser is not None:
            print_pdf(browser, page, page.with_suffix(".pdf"))
            print(page.with_suffix(".pdf"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
