"""How the core is laid out: files that one input enters, modules, lines, storeys of imports.

In: --commit (what it was before), --json. Out: a table (or JSON): before, now, what is promised;
with --files the files that each input enters now, by the number of calls; with --rooms what the
lines of each room are, before and now.
The core is ``shoe_ctl`` without the packages around it: its root and ``table/`` at commit 25e38fb.
Calls are those into ``shoe_ctl`` and ``firmware_proto`` while a table is played at, in Python 3.11
(later ones make no calls of comprehensions): the controller's, a card read from its code, a look
at what the shoe should be. Exits 1 where a promise is missed.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from bench._promises import Promise
from bench._table import BEFORE, PACKAGES, ROOT, Table, imported_from, packages_at, run_with

AROUND = frozenset({
    "account", "api", "cli", "clock", "docstrings", "events", "games", "journal", "link",
    "round_report", "sinks",
})  # fmt: skip
"""Packages of ``shoe_ctl`` that are no part of the core."""

TEXTS = ("shoe_ctl.texts.english", "shoe_ctl.texts.chinese")
"""Catalogues of texts: entries, no code."""

WIDEST = 100

PAST = frozenset({
    "found", "held", "meant", "misread", "overdrawn", "taken", "told", "unforeseen", "unread",
})  # fmt: skip
"""Past participles that do not end in -ed."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table: its key, what it says, and the most that is promised, if anything."""

    key: str
    text: str
    most: int | None = None


FIGURES = (
    Figure("card_files", "an ordinary card: files entered", 10),
    Figure("card_changes", "an ordinary card: changes of file", 45),
    Figure("card_functions", "an ordinary card: functions"),
    Figure("card_calls", "an ordinary card: calls"),
    Figure("double_draw_files", "a double draw, raised: files entered"),
    Figure("double_draw_changes", "a double draw, raised: changes of file"),
    Figure("void_files", "a double draw, ended as void: files entered"),
    Figure("void_changes", "a double draw, ended as void: changes of file"),
    Figure("link_files", "a round opened, two cards, the link lost and back: files"),
    Figure("link_changes", "a round opened, two cards, the link lost and back: changes"),
    Figure("link_alone_files", "the link lost and back alone: files entered", 20),
    Figure("link_alone_changes", "the link lost and back alone: changes of file"),
    Figure("modules", "modules of the core"),
    Figure("lines", "lines of the core"),
    Figure("code_lines", "  of code"),
    Figure("text_lines", "  of the catalogues of texts"),
    Figure("docstring_lines", "  of docstrings"),
    Figure("comment_lines", "  of comments"),
    Figure("blank_lines", "  blank"),
    Figure("most_in_a_folder", "most modules in one folder"),
    Figure("storeys", "storeys of imports in table/, a folder as one"),
    Figure("storeys_of_modules", "storeys of imports in the core, module by module"),
    Figure("wide_lines", f"lines wider than {WIDEST} columns"),
    Figure("present_participles", "modules named by a present participle (-ing)"),
    Figure("past_participles", "modules named by a past participle"),
)


LINE_KINDS = ("code_lines", "text_lines", "docstring_lines", "comment_lines", "blank_lines")
"""Figures that make up ``lines``."""


# What one input enters.


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of Python functions in our packages: each one's file and qualified name."""

    made: tuple[tuple[str, str], ...]

    @property
    def files(self) -> int:
        """Files that were entered."""
        return len({file for file, _ in self.made})

    @property
    def changes(self) -> int:
        """Calls into another file than the call before: the first one is a change too."""
        before = (None, *(file for file, _ in self.made))
        return sum(file != last for last, (file, _) in zip(before, self.made, strict=False))


def calls(packages: Path, act: Callable[[], object]) -> Calls:
    """What is called in our packages while this is done."""
    ours = tuple(f"{packages / package}/" for package in PACKAGES)
    made: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ours):
            made.append((code.co_filename, code.co_qualname))

    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
    return Calls(tuple(made))


def opened() -> Table:
    """A table of explicit announcements with a shoe, before its first round."""
    table = Table(implied=False)
    table.open_shoe()
    return table


def dealt(*codes: str) -> Table:
    """The table with these cards of a round out."""
    table = opened()
    table.open_round()
    for code in codes:
        table.draw(code)
    return table


def lose_link(table: Table) -> None:
    """The link is lost, and the same shoe is back with nothing missed."""
    table.disconnect()
    table.connect()
    table.hello(set_id="set-1")


def lose_link_in_a_round(table: Table) -> None:
    """A round is opened, and loses the link after its second card."""
    table.open_round()
    table.draw("7D")
    table.draw("7C")
    lose_link(table)


def played() -> dict[str, Calls]:
    """What is called while a table is played at, with the packages that this process imports."""
    packages = imported_from()
    card, link, whole = dealt("7D"), dealt("7D", "7C"), opened()
    pulled = dealt("7D")
    return {
        "card": calls(packages, lambda: card.draw("7C")),
        "double_draw": calls(packages, lambda: pulled.draw_together("7C TS")),
        "void": calls(packages, lambda: void(pulled)),
        "link": calls(packages, lambda: lose_link_in_a_round(whole)),
        "link_alone": calls(packages, lambda: lose_link(link)),
    }


def inside() -> dict[str, int]:
    """What is counted by playing."""
    found = played()
    counted = {f"{name}_files": each.files for name, each in found.items()}
    counted |= {f"{name}_changes": each.changes for name, each in found.items()}
    counted["card_functions"] = len(set(found["card"].made))
    counted["card_calls"] = len(found["card"].made)
    return counted


def void(table: Table) -> None:
    """Nobody knows the order of what was drawn together: the round is void."""
    choice = {"choice": "order_unknown", "reason": "as seen"}
    table.command("decide", position="pit_manager", **choice)


# What the files say.


def core(packages: Path) -> dict[str, Path]:
    """The modules of the core that hold code, by name; a package is named like its folder."""
    found = {}
    for path in sorted((packages / "shoe_ctl").rglob("*.py")):
        parts = path.relative_to(packages).with_suffix("").parts
        part = parts[1] if len(parts) > 1 else ""
        if part not in AROUND and path.read_text("utf-8").strip():
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


def imports(name: str, path: Path, known: Iterable[str]) -> set[str]:
    """The known modules that a module imports, wherever in it."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(above if node.level else ()), *filter(None, [node.module])])
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return found & set(known) - {name}


def storeys(arrows: Mapping[str, Iterable[str]]) -> int:
    """The longest way down; what imports each other in a circle stands on one storey."""
    below = {name: _reached(name, arrows) for name in arrows}
    circle = {
        name: frozenset(other for other in down if name in below[other]) | {name}
        for name, down in below.items()
    }
    heights: dict[frozenset[str], int] = {}
    for name in sorted(arrows, key=lambda n: len(below[n] | circle[n])):
        under = {circle[other] for one in circle[name] for other in arrows[one]} - {circle[name]}
        heights[circle[name]] = 1 + max((heights[each] for each in under), default=0)
    return max(heights.values())


def _reached(name: str, arrows: Mapping[str, Iterable[str]]) -> set[str]:
    found: set[str] = set()
    ahead = list(arrows[name])
    while ahead:
        if (each := ahead.pop()) not in found:
            found.add(each)
            ahead += arrows[each]
    return found


_NO_CODE = frozenset({
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
})  # fmt: skip


def kinds_of_lines(name: str, text: str) -> Counter[str]:
    """How many lines of a module are code, docstrings, comments or blank.

    A catalogue of texts counts as text instead of code. The strings that explain the fields of a
    class are docstrings too. A line with code and a comment is code.
    """
    docs: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docs |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code: set[int] = set()
    comments: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.add(token.start[0])
        elif token.type not in _NO_CODE:
            code |= set(range(token.start[0], token.end[0] + 1))
    code -= docs
    comments -= code
    return Counter({
        "text_lines" if name in TEXTS else "code_lines": len(code),
        "docstring_lines": len(docs),
        "comment_lines": len(comments),
        "blank_lines": text.count("\n") - len(code | docs | comments),
    })  # fmt: skip


def rooms(packages: Path) -> dict[str, Counter[str]]:
    """The lines of each room by kind: a folder of ``shoe_ctl/`` or of ``table/``, or what is left.

    Of a folder the modules beside its folders are a room of their own.
    """
    found: dict[str, Counter[str]] = {}
    for name, path in core(packages).items():
        parts = name.split(".")[1:]
        if path.name != "__init__.py":
            parts = parts[:-1]
        room = "/".join(parts[:2]) or "root"
        text = path.read_text("utf-8")
        found.setdefault(room, Counter()).update(kinds_of_lines(name, text))
        found[room]["lines"] += text.count("\n")
    return found


def is_past_participle(name: str) -> bool:
    """Whether a module's whole name is one."""
    return name in PAST or (name.endswith("ed") and "_" not in name)


def read(packages: Path) -> dict[str, int]:
    """What is counted by reading the files."""
    modules = core(packages)
    arrows = {name: imports(name, path, modules) for name, path in modules.items()}
    table = {name for name in modules if name.startswith("shoe_ctl.table.")}
    rooms: dict[str, set[str]] = {_room(name): set() for name in table}
    for name in table:
        rooms[_room(name)] |= {_room(other) for other in arrows[name] & table} - {_room(name)}
    by_name = {name: path.read_text("utf-8") for name, path in modules.items()}
    texts = list(by_name.values())
    kinds = sum((kinds_of_lines(*each) for each in by_name.items()), Counter[str]())
    folders = [path.parent for path in modules.values()]
    names = [path.stem for path in modules.values()]
    return {
        "modules": len(modules),
        "lines": sum(text.count("\n") for text in texts),
        **{key: kinds[key] for key in LINE_KINDS},
        "most_in_a_folder": max(map(folders.count, folders)),
        "storeys": storeys(rooms),
        "storeys_of_modules": storeys(arrows),
        "wide_lines": sum(len(line) > WIDEST for text in texts for line in text.splitlines()),
        "present_participles": sum(name.endswith("ing") for name in names),
        "past_participles": sum(map(is_past_participle, names)),
    }


def _room(name: str) -> str:
    """A module of ``table/``, or the folder of it that it stands in."""
    return ".".join(name.split(".")[:3])


# What comes of it.


def figures(packages: Path) -> dict[str, int]:
    """All figures of the packages in this folder; playing is done in a process of its own."""
    return {**json.loads(run_with(packages, __file__, "--inside")), **read(packages)}


def missed(now: Mapping[str, int]) -> list[Figure]:
    """The promises that these figures do not keep."""
    return [each for each in FIGURES if each.most is not None and now[each.key] > each.most]


def main() -> int:
    """Counts both, and compares the later one with what is promised."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--commit", default=BEFORE, help="before (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    parser.add_argument("--files", action="store_true", help="name the files that are entered now")
    parser.add_argument("--rooms", action="store_true", help="what the lines of each room are")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        print(json.dumps(inside()))
        return 0
    if options.files:
        _show_files()
        return 0
    if options.rooms:
        with packages_at(options.commit) as packages:
            _show_rooms(options.commit[:10], rooms(packages))
        _show_rooms("now", rooms(ROOT))
        return 0
    now = figures(ROOT)
    with packages_at(options.commit) as packages:
        before = figures(packages)
    broken = missed(now)
    if options.json:
        shown: dict[str, Any] = {"commit": options.commit, "before": before, "now": now}
        shown["promised"] = {each.key: each.most for each in FIGURES if each.most is not None}
        kept = [
            Promise(each.text, now[each.key], most=each.most).as_json()
            for each in FIGURES
            if each.most is not None
        ]
        missing = [each.key for each in broken]
        print(json.dumps(shown | {"missed": missing, "promises": kept}))
    else:
        _show(options.commit, before, now, broken)
    return 1 if broken else 0


def _show_files() -> None:
    for name, each in played().items():
        print(f"{name}: {each.files} files, {each.changes} changes of file")
        for file, times in Counter(file for file, _ in each.made).most_common():
            print(f"  {times:5}  {Path(file).relative_to(ROOT)}")


def _show_rooms(when: str, counted: Mapping[str, Counter[str]]) -> None:
    kinds = ("lines", *LINE_KINDS)
    heads = (kind.removesuffix("_lines") for kind in kinds)
    print(f"{when:24}" + "".join(f"{head:>11}" for head in heads))
    whole = {**counted, "all": sum(counted.values(), Counter[str]())}
    for room, found in whole.items():
        print(f"{room:24}" + "".join(f"{found[kind]:>11,}" for kind in kinds))


def _show(
    commit: str, before: Mapping[str, int], now: Mapping[str, int], broken: list[Figure]
) -> None:
    print(f"{'':52}{commit[:10]:>10}{'now':>10}{'promise':>10}")
    for each in FIGURES:
        promise = "" if each.most is None else f"{each.most:,}"
        note = "  MISSED" if each in broken else ""
        print(f"{each.text:52}{before[each.key]:>10,}{now[each.key]:>10,}{promise:>10}{note}")


if __name__ == "__main__":
    sys.exit(main())
