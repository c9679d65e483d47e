"""What the code base builds: every call of ``message`` with its code and the names of arguments."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import shoe_ctl

PACKAGE = Path(shoe_ctl.__file__).parent


class Built(NamedTuple):
    """A message as it is built in one place."""

    code: str
    args: frozenset[str]
    where: str


def calls() -> Iterator[tuple[ast.Call, str]]:
    """Every call of ``message``, and where it stands."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id == "message":
                yield node, f"{path.relative_to(PACKAGE.parent)}:{node.lineno}"


@cache
def built() -> list[Built]:
    """Every message that is built, with its code and arguments: all of shoe-ctl is parsed once."""
    found = []
    for call, where in calls():
        (code,) = call.args
        assert isinstance(code, ast.Constant) and isinstance(code.value, str), where
        names = [keyword.arg for keyword in call.keywords]
        assert None not in names, f"{where}: ** hides the names of the arguments"
        found.append(Built(code.value, frozenset(name for name in names if name), where))
    return found


@cache
def by_code() -> dict[str, list[Built]]:
    """The places of each code."""
    places: dict[str, list[Built]] = defaultdict(list)
    for one in built():
        places[one.code].append(one)
    return places
