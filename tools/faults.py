"""Single faults that can be planted in the product's sources, one at a time.

In: a source file: Python, a game (TOML) or C. Out: every ``Fault`` that an operator finds there, in
the order of the file. Must not know: tests, parts, how a fault is tried.

An operator is named for what it does to the source. Those of tables and literals look only at what
stands at the top level of a module; the others look into functions.
"""

from __future__ import annotations

import ast
import bisect
import difflib
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeGuard

LADDER = (
    "dealer",
    "pit_supervisor",
    "pit_manager",
    "assistant_casino_manager",
    "gaming_shift_manager",
)
"""Positions, from the lowest."""

CELLS = ("does", "halts", "goes")
"""Functions that make a cell of the tables; their positional arguments are actions."""

LITERALS = ("Accepts", "Choice", "Command", "Declared", "End", "Procedure", "Step")
"""Types whose values are literals of what people may do, and where it leads."""

TEXTS = ("why", "prompt", "seen", "text", "title", "about", "help")
"""Keywords and keys that only hold words for people: no fault is planted in them."""


class Fault(NamedTuple):
    """One change of one source file."""

    file: str
    """The file's path in the checkout."""

    operator: str
    """The kind of change."""

    begin: int
    """Where the replaced text begins, in bytes."""

    end: int
    """Where it ends."""

    text: str
    """What stands there instead."""

    within: str
    """The function, table or section that it is in, by name."""

    lines: range
    """The lines of a function of which one is run when the fault is reached; empty at the top level
    of a module, whose lines are run by every import."""

    def planted(self, source: bytes) -> bytes:
        """Return the source with the fault in it."""
        return source[: self.begin] + self.text.encode() + source[self.end :]

    def is_readable(self, source: bytes) -> bool:
        """Return False if Python could not even read the source with the fault in it."""
        if not self.file.endswith(".py"):
            return True
        try:
            ast.parse(self.planted(source))
        except (SyntaxError, ValueError):
            return False
        return True

    def line(self, source: bytes) -> int:
        """Return the number of the first line that it changes."""
        return source.count(b"\n", 0, self.begin) + 1

    def diff(self, source: bytes) -> list[str]:
        """Return the changed lines, as a unified diff without headings."""
        before, after = source.decode().splitlines(), self.planted(source).decode().splitlines()
        return list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]

    def change(self, source: bytes) -> tuple[str, str]:
        """Return the lines that go and those that come, each as one."""
        lines = [line for line in self.diff(source) if not line.startswith("@@")]
        lost = " ".join(line[1:].strip() for line in lines if line.startswith("-"))
        came = " ".join(line[1:].strip() for line in lines if line.startswith("+"))
        return lost, came

    def key(self, source: bytes) -> str:
        """Return a name that stays the same when lines are added above it."""
        changed = [line for line in self.diff(source) if not line.startswith("@@")]
        said = "\n".join([self.file, self.within, *(line.strip() for line in changed)])
        return hashlib.sha256(said.encode()).hexdigest()[:12]


def find_faults(file: str, source: bytes) -> list[Fault]:
    """Return all faults that can be planted in this file, in its order.

    Raises:
        ValueError: nothing is known of files with such a name.
    """
    kind = file.rpartition(".")[2]
    if kind not in _KINDS:
        raise ValueError(f"{file}: faults are known for .py, .toml, .c and .h")
    found: dict[tuple[int, int, str], Fault] = {}
    for fault in _KINDS[kind](file, source):
        changed = source[fault.begin : fault.end] != fault.text.encode()
        if changed:
            found.setdefault((fault.begin, fault.end, fault.text), fault)
    return sorted(found.values(), key=lambda each: (each.begin, each.end, each.text))


class _Change(NamedTuple):
    """What one operator does at one node."""

    operator: str
    begin: int
    end: int
    text: str


# Python


_OPPOSITE = {
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip

_SIGNS: dict[type[ast.operator], tuple[str, str]] = {ast.Add: ("+", "-"), ast.Sub: ("-", "+")}

_LOGS = {"log", "logger", "logging", "warnings", "LOG", "LOGGER", "_log", "_LOG"}


class _Source:
    """The text of a Python file, by the places of its nodes."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self._begins = [0]
        for line in source.splitlines(keepends=True):
            self._begins.append(self._begins[-1] + len(line))

    def begin(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self._begins[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._begins[node.end_lineno - 1] + node.end_col_offset

    def line(self, offset: int) -> int:
        return bisect.bisect_right(self._begins, offset)

    def text(self, node: ast.expr | ast.stmt | ast.keyword) -> str:
        return self.source[self.begin(node) : self.end(node)].decode()

    def between(self, one: ast.expr, other: ast.expr) -> tuple[int, str]:
        begin = self.end(one)
        return begin, self.source[begin : self.begin(other)].decode()

    def replaced(self, operator: str, node: ast.expr | ast.stmt, text: str) -> _Change:
        return _Change(operator, self.begin(node), self.end(node), text)


def _python_faults(file: str, source: bytes) -> Iterator[Fault]:
    tree, text = ast.parse(source), _Source(source)
    literals = _Literals(tree, text)
    for statement, within, function in _statements(tree):
        for node in _own_nodes(statement):
            changes = [*_general_changes(node, text)]
            if function is None:
                changes += literals.changes(node)
            for fault in _placed(file, within, changes, statement if function else None):
                names = [] if function else _entries(statement, text, fault.begin)
                yield fault._replace(within=" ".join([within, *names]))
        if function is not None:
            dropped = [*_dropped(statement, function, text)]
            yield from _placed(file, within, dropped, statement)


def _placed(
    file: str, within: str, changes: Iterable[_Change], inside: ast.stmt | None
) -> Iterator[Fault]:
    for change in changes:
        if inside is None:
            lines = range(0)
        else:  # of a compound statement, the head
            body = getattr(inside, "body", None)
            last = body[0].lineno if body else (inside.end_lineno or inside.lineno) + 1
            lines = range(inside.lineno, max(last, inside.lineno + 1))
        yield Fault(file, change.operator, change.begin, change.end, change.text, within, lines)


def _entries(statement: ast.stmt, text: _Source, place: int) -> list[str]:
    """Return the names of the rows, steps and choices of a literal that this place is in."""
    named: list[tuple[int, str]] = []
    for node in ast.walk(statement):
        pairs = zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ()
        for key, value in pairs:
            if _is_string(key) and text.begin(key) <= place < text.end(value):
                named.append((text.begin(key), str(key.value)))
        first = node.args[0] if isinstance(node, ast.Call) and node.args else None
        if _called(node) in LITERALS and _is_string(first):
            assert isinstance(node, ast.Call)
            if text.begin(node) <= place < text.end(node):
                named.append((text.begin(node), str(first.value)))
    return [name for _, name in sorted(named)]


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _statements(tree: ast.Module) -> Iterator[tuple[ast.stmt, str, _Function | None]]:
    """Yield the statements in which faults are planted, each with the function around it."""

    def inside(
        body: Sequence[ast.stmt], names: tuple[str, ...], function: _Function | None
    ) -> Iterator[tuple[ast.stmt, str, _Function | None]]:
        for each in body:
            if isinstance(each, ast.ClassDef):
                yield from inside(each.body, (*names, each.name), function)
            elif isinstance(each, _Function):
                yield from inside(each.body, (*names, each.name), each)
            elif not _is_left_alone(each):
                own = names or (_assigned(each),)
                yield each, ".".join(filter(None, own)), function
                for field in ("body", "orelse", "finalbody"):
                    yield from inside(getattr(each, field, ()), names, function)
                for handler in getattr(each, "handlers", ()):
                    yield from inside(handler.body, names, function)
                for case in getattr(each, "cases", ()):
                    yield from inside(case.body, names, function)

    return inside(tree.body, (), None)


def _assigned(statement: ast.stmt) -> str:
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    return targets[0].id if isinstance(targets[0], ast.Name) else ""


def _is_left_alone(statement: ast.stmt) -> bool:
    """Return True for what does nothing, only checks the program itself, or only names a type."""
    if isinstance(statement, ast.Import | ast.ImportFrom | ast.Assert | ast.Pass):
        return True
    if isinstance(statement, ast.Expr):
        call = ast.unparse(statement.value).lstrip("_")
        is_quiet = isinstance(statement.value, ast.Constant) or _is_log(statement.value)
        return is_quiet or call.startswith("assert")
    if isinstance(statement, ast.If):
        return ast.unparse(statement.test) == "TYPE_CHECKING"
    value = getattr(statement, "value", None)
    is_type = isinstance(value, ast.Subscript) and ast.unparse(value)[0].isupper()
    return _assigned(statement) == "__all__" or (isinstance(statement, ast.Assign) and is_type)


def _is_log(call: ast.expr) -> bool:
    while isinstance(call, ast.Call | ast.Attribute):
        call = call.func if isinstance(call, ast.Call) else call.value
    return isinstance(call, ast.Name) and call.id in _LOGS


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the nodes of a statement without those of the statements in it, types and words."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            for child in value if isinstance(value, list) else [value]:
                inner = isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case)
                words = isinstance(child, ast.keyword) and child.arg in TEXTS
                if isinstance(child, ast.AST) and not inner and not words:
                    waiting.append(child)


def _general_changes(node: ast.AST, text: _Source) -> Iterator[_Change]:
    if isinstance(node, ast.Compare):
        yield from _comparisons(node, text)
    elif isinstance(node, ast.BoolOp):
        word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for one, next_one in pairwise(node.values):
            yield from _swapped_word(text, "boolean", (one, next_one), word, other)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        begin = text.begin(node)
        yield _Change("condition negated", begin, begin + len("not"), "")
    elif isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
        if not _is_text(node.left) and not _is_text(node.right):
            signs = _SIGNS[type(node.op)]
            yield from _swapped_word(text, "arithmetic", (node.left, node.right), *signs)
    elif isinstance(node, ast.Constant):
        yield from _constants(node, text)
    for test in _tests(node):
        if not isinstance(test, ast.UnaryOp | ast.Constant):
            yield text.replaced("condition negated", test, f"not ({text.text(test)})")


def _constants(node: ast.Constant, text: _Source) -> Iterator[_Change]:
    if isinstance(node.value, bool):
        yield text.replaced("boolean", node, str(not node.value))
    elif isinstance(node.value, int):
        for bound in (node.value + 1, node.value - 1):
            yield text.replaced("bound by one", node, str(bound))


def _comparisons(node: ast.Compare, text: _Source) -> Iterator[_Change]:
    sides = (node.left, *node.comparators)
    for (one, other), op in zip(pairwise(sides), node.ops, strict=True):
        word, opposite = _OPPOSITE[type(op)]
        yield from _swapped_word(text, "comparison", (one, other), word, opposite)


def _swapped_word(
    text: _Source, operator: str, sides: tuple[ast.expr, ast.expr], word: str, other: str
) -> Iterator[_Change]:
    begin, gap = text.between(*sides)
    place = gap.find(word)
    if place >= 0:
        yield _Change(operator, begin + place, begin + place + len(word), other)


def _tests(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        return [node.test]
    return list(node.ifs) if isinstance(node, ast.comprehension) else []


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr | ast.Tuple | ast.List):
        return True
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _dropped(statement: ast.stmt, function: _Function, text: _Source) -> Iterator[_Change]:
    """Yield the statement left out, where something would be missing without an error."""
    if _is_droppable(statement):
        yield text.replaced("statement dropped", statement, "pass")
    elif isinstance(statement, ast.If) and not statement.orelse:
        if isinstance(statement.body[-1], ast.Return | ast.Raise | ast.Continue):
            yield text.replaced("question left out", statement, "pass")
    elif isinstance(statement, ast.Return) and statement.value is not None:
        returns = "" if function.returns is None else ast.unparse(function.returns)
        if returns == "bool" and not isinstance(statement.value, ast.Constant):
            value = text.text(statement.value)
            yield text.replaced("condition negated", statement.value, f"not ({value})")
        elif returns.endswith("| None") and text.text(statement.value) != "None":
            yield text.replaced("result dropped", statement.value, "None")


def _is_droppable(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Call | ast.Await)
    if isinstance(statement, ast.Assign):
        return all(isinstance(t, ast.Attribute | ast.Subscript) for t in statement.targets)
    return isinstance(statement, ast.AugAssign | ast.Raise | ast.Continue | ast.Break | ast.Delete)


class _Literals:
    """The changes of tables and literals at the top level of a module."""

    def __init__(self, tree: ast.Module, text: _Source) -> None:
        self._text = text
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        self._pairs = {c.args[2] for c in calls if _called(c) == "End" and len(c.args) > 2}
        self._rules = _distinct(text.text(k.value) for c in calls for k in _keywords(c, "rule"))
        self._cites = _distinct(
            text.text(c.args[2]) for c in calls if _called(c) == "End" and len(c.args) > 2
        )
        self._targets = _distinct(
            text.text(c.args[0]) for c in calls if _called(c) in ("Step", "End") and c.args
        )
        self._states = _distinct(
            text.text(c.args[0]) for c in calls if _called(c) == "goes" and c.args
        )
        self._halts = _distinct(
            text.text(a) for c in calls if _called(c) == "halts" for a in c.args if _is_string(a)
        )
        self._situations = _distinct(
            name
            for node in ast.walk(tree)
            if isinstance(node, ast.Dict) and _is_row(node)
            for key in node.keys
            for name in _names(key)
        )

    def changes(self, node: ast.AST) -> Iterator[_Change]:
        """Yield the changes of this node."""
        if isinstance(node, ast.Dict):
            yield from self._rows(node)
        elif isinstance(node, ast.Tuple | ast.List):
            yield from self._elements(node)
        elif isinstance(node, ast.Call):
            yield from self._arguments(node)
        elif _is_string(node) and node.value in LADDER:
            yield from self._positions(node, LADDER.index(node.value))
        elif isinstance(node, ast.Name) and node.id == "DECIDES":
            yield self._text.replaced("position", node, '"dealer"')

    def _positions(self, node: ast.Constant, place: int) -> Iterator[_Change]:
        for other in (place - 1, place + 1):
            if 0 <= other < len(LADDER):
                yield self._text.replaced("position", node, f'"{LADDER[other]}"')

    def _rows(self, node: ast.Dict) -> Iterator[_Change]:
        cells = [value for value in node.values if _called(value) in CELLS]
        if not cells or len(cells) != len(node.values):
            return
        for value in cells:
            for other in cells:
                if self._bare(value) != self._bare(other):
                    yield self._text.replaced("cell replaced", value, self._text.text(other))
                    break
        keys = [key for key in node.keys if _is_string(key)]
        if _is_row(node):
            yield from self._moved_cells(keys)
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None and not _is_row(node):
                end = self._text.end(value)
                comma = self._text.source[end : end + 1] == b","
                yield _Change("cell dropped", self._text.begin(key), end + comma, "")

    def _bare(self, cell: ast.expr) -> str:
        """Return what a cell does, without its reason and rule."""
        assert isinstance(cell, ast.Call)
        return ", ".join([_called(cell), *(self._text.text(each) for each in cell.args)])

    def _moved_cells(self, keys: list[ast.Constant]) -> Iterator[_Change]:
        """Yield each situation taken out of a column, and another one put into it."""
        taken = [name for key in keys for name in _names(key)]
        if "otherwise" not in taken:
            return
        free = [name for name in self._situations if name not in taken]
        for key in keys:
            names = _names(key)
            if names == ["otherwise"]:
                continue
            for name in names if len(names) > 1 else ():
                rest = ", ".join(each for each in names if each != name)
                yield self._text.replaced("cell moved", key, f'"{rest}"')
            for name in free:
                yield self._text.replaced("cell moved", key, f'"{", ".join([*names, name])}"')
                rest = ", ".join([*names[1:], name])
                yield self._text.replaced("cell moved", key, f'"{rest}"')

    def _elements(self, node: ast.Tuple | ast.List) -> Iterator[_Change]:
        parts, whole = node.elts, self._text.text(node)
        is_pair = len(parts) == 2 and sum(map(_is_string, parts)) == 1
        if not parts or whole[0] not in "([" or is_pair or node in self._pairs:
            return
        words = [self._text.text(part) for part in parts]
        comma = "," if isinstance(node, ast.Tuple) else ""
        for place in range(len(parts)):
            rest = [*words[:place], *words[place + 1 :]]
            if len(rest) == 1:
                yield self._text.replaced(
                    "element dropped", node, f"{whole[0]}{rest[0]}{comma}{whole[-1]}"
                )
            elif not rest:
                yield self._text.replaced("element dropped", node, f"{whole[0]}{whole[-1]}")
            else:
                yield self._without(parts, place, "element dropped")
        if not all(_is_string(part) or isinstance(part, ast.Starred) for part in parts):
            yield from self._swapped(parts, "order")

    def _swapped(self, parts: Sequence[ast.expr], operator: str) -> Iterator[_Change]:
        text = self._text
        for one, other in pairwise(parts):
            begin, gap = text.between(one, other)
            swapped = f"{text.text(other)}{gap}{text.text(one)}"
            if text.text(one) != text.text(other):
                yield _Change(operator, text.begin(one), text.end(other), swapped)
            assert begin <= text.begin(other)

    def _without(
        self, parts: Sequence[ast.expr | ast.keyword], place: int, operator: str
    ) -> _Change:
        text = self._text
        if place + 1 < len(parts):
            return _Change(operator, text.begin(parts[place]), text.begin(parts[place + 1]), "")
        begin = text.end(parts[place - 1]) if place else text.begin(parts[place])
        return _Change(operator, begin, text.end(parts[place]), "")

    def _arguments(self, node: ast.Call) -> Iterator[_Change]:
        name = _called(node)
        for keyword in _keywords(node, "rule"):
            yield from self._another("rule", keyword.value, self._rules)
        if name in CELLS:
            yield from self._cell(node, name)
        elif name in LITERALS:
            yield from self._literal(node, name)

    def _literal(self, node: ast.Call, name: str) -> Iterator[_Change]:
        parts: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        for place, part in enumerate(parts):
            if isinstance(part, ast.keyword) and part.arg not in (*TEXTS, None):
                yield self._without(parts, place, "condition or option dropped")
        if name == "End" and len(node.args) > 2:
            yield from self._another("rule", node.args[2], self._cites)
        leads = node.args[2:3] if name in ("Accepts", "Choice") else []
        for target in [*leads, *(k.value for k in _keywords(node, "leads_to"))]:
            yield from self._another("target", target, self._targets)

    def _cell(self, node: ast.Call, name: str) -> Iterator[_Change]:
        text, actions = self._text, node.args[1:] if name == "goes" else node.args
        parts: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        for action in actions:
            yield self._without(parts, parts.index(action), "action dropped")
            if _is_string(action):
                yield from self._another("halt", action, self._halts)
        yield from self._swapped(actions, "order")
        if name == "goes":
            yield from self._another("target", node.args[0], self._states)
        elif name == "halts" and not any(_is_string(action) for action in actions):
            yield text.replaced("halt", node.func, "does")

    def _another(self, operator: str, node: ast.expr, pool: Sequence[str]) -> Iterator[_Change]:
        """Yield the node replaced by the two that follow it in the pool."""
        now = self._text.text(node)
        place = pool.index(now) if now in pool else -1
        others = [pool[(place + step) % len(pool)] for step in (1, 2) if len(pool) > step]
        for other in dict.fromkeys(others):
            if other != now:
                yield self._text.replaced(operator, node, other)


def _distinct(texts: Iterable[str]) -> list[str]:
    return sorted(set(texts))


def _called(node: ast.AST) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _keywords(call: ast.Call, name: str) -> list[ast.keyword]:
    return [keyword for keyword in call.keywords if keyword.arg == name]


def _is_string(node: ast.AST | None) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _names(key: ast.AST | None) -> list[str]:
    return str(key.value).split(", ") if _is_string(key) else []


def _is_row(node: ast.Dict) -> bool:
    """Return True for a row of the shoe's table: situations, and what is done in each of them."""
    has_rest = any(_names(key) == ["otherwise"] for key in node.keys)
    return has_rest and all(_called(value) in CELLS for value in node.values)


# Games


_SECTION = re.compile(r"^\[+([^]]+)\]+$")
_ODDS = re.compile(r'"(\d+)((?:\.\d+)?:1)"')
_STRING = re.compile(r'(\w+) = "([^"]*)"')
_NUMBER = re.compile(r"(?<![\w.\"-])\d+(?![\w.\"-])")
_ELEMENT = re.compile(r'"\w+", ')
_WHEN = (
    re.compile(r"(?<=\{ )\w+ = [^,{}[\]]+, (?=\w+ = )"),
    re.compile(r", \w+ = [^,{}[\]]+(?= \}, )"),
)
_BOOLEAN = re.compile(r"\b(true|false)\b")
_NOT_RULES = (*TEXTS, "id", "version", "date", "pays", "commission")


def _game_faults(file: str, source: bytes) -> Iterator[Fault]:
    text, section, begin = source.decode(), "", 0
    values: dict[str, list[str]] = {}
    for key, value in _STRING.findall(text):
        values.setdefault(_pool(key, value), []).append(value)
    pools = {name: _distinct(each) for name, each in values.items()}
    in_words = False
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if (heading := _SECTION.match(line.strip())) is not None:
            section = heading[1]
        in_words ^= line.count('"""') % 2 == 1
        words = line.startswith(("#", *(f"{key} =" for key in (*TEXTS, "date"))))
        quiet = in_words or '"""' in line or words or section == "readings"
        if not quiet:
            later = lines[number + 1] if number + 1 < len(lines) else ""
            for change in _changes_of_line(line, later, section, pools):
                first = begin + len(line[: change.begin].encode())
                last = first + len((line + later)[change.begin : change.end].encode())
                yield Fault(file, change.operator, first, last, change.text, section, range(0))
        begin += len(line.encode())


def _pool(key: str, value: str) -> str:
    """Return the name of the values that one may be mistaken for: rule numbers have one in all."""
    return "rule" if re.fullmatch(r"\d+(\.\d+)+|none", value) else key


def _changes_of_line(
    line: str, later: str, section: str, pools: dict[str, list[str]]
) -> Iterator[_Change]:
    yield from _changed_numbers(line)
    yield from _changed_values(line, pools)
    for truth in _BOOLEAN.finditer(line):
        yield _Change("boolean", *truth.span(), "false" if truth[0] == "true" else "true")
    if line.strip().startswith("{ when") and section.startswith("wagers"):
        yield from _changed_pay_lines(line, later)
    for name in _ELEMENT.finditer(line) if "=" not in line or "= [" in line else ():
        yield _Change("element dropped", *name.span(), "")


def _changed_numbers(line: str) -> Iterator[_Change]:
    for odds in _ODDS.finditer(line):
        for number in (int(odds[1]) + 1, int(odds[1]) - 1):
            yield _Change("odds", *odds.span(1), str(number))
    for whole in _NUMBER.finditer(line):
        for number in (int(whole[0]) + 1, int(whole[0]) - 1):
            yield _Change("bound by one", *whole.span(), str(number))


def _changed_values(line: str, pools: dict[str, list[str]]) -> Iterator[_Change]:
    for found in _STRING.finditer(line):
        if found[1] in _NOT_RULES:
            continue
        pool = pools[name := _pool(found[1], found[2])]
        place = pool.index(found[2])
        others = dict.fromkeys((pool[(place + 1) % len(pool)], pool[place - 1]))
        for other in others:
            yield _Change("rule" if name == "rule" else "value", *found.span(2), other)


def _changed_pay_lines(line: str, later: str) -> Iterator[_Change]:
    yield _Change("pay line dropped", 0, len(line), "")
    if later.strip().startswith("{ when"):
        yield _Change("order", 0, len(line) + len(later), later + line)
    for pattern in _WHEN:
        for condition in pattern.finditer(line):
            yield _Change("condition or option dropped", *condition.span(), "")


# C


_C_WORDS = (
    (re.compile(r"(?<=[\w)\]] )(==|!=|<=|>=|<|>)(?= )"), "comparison",
     {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}),
    (re.compile(r"(&&|\|\|)"), "boolean", {"&&": "||", "||": "&&"}),
    (re.compile(r"(?<=[\w)\]] )([+-])(?= [\w(])"), "arithmetic", {"+": "-", "-": "+"}),
)  # fmt: skip
_C_NUMBER = re.compile(r"(?<![\w.\"'])\d+(?=[uU]?\b)(?![\w.]*[xX])")
_C_STATEMENT = re.compile(r"^(\s+)((?!return\b|break\b|case\b|goto\b|static\b|const\b)[^;{}]+;)$")
_C_FUNCTION = re.compile(r"^[\w*][\w\s*]*?\b(\w+)\([^;]*$")
_C_DECLARATION = re.compile(r"^\s+[\w*]+(\s+[\w*]+)*\s+\**\w+(\[[^]]*\])?(\s*=.*|\s*,.*)?;$")


def _c_faults(file: str, source: bytes) -> Iterator[Fault]:
    text, within, begin = _without_comments(source.decode()), "", 0
    for line in text.splitlines(keepends=True):
        if (named := _C_FUNCTION.match(line)) is not None and not line.startswith("#"):
            within = named[1]
        code = line.rstrip()
        for change in _changes_of_c(code) if within and not code.startswith("#") else ():
            place = begin + len(line[: change.begin].encode())
            end = place + len(line[change.begin : change.end].encode())
            yield Fault(file, change.operator, place, end, change.text, within, range(0))
        begin += len(line.encode())


def _without_comments(text: str) -> str:
    """Return the text with comments and strings blanked, as many bytes long as before."""

    def blank(found: re.Match[str]) -> str:
        kept = ("\n" if sign == "\n" else " " * len(sign.encode()) for sign in found[0])
        return "".join(kept)

    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.DOTALL)


def _changes_of_c(code: str) -> Iterator[_Change]:
    for pattern, operator, others in _C_WORDS:
        for found in pattern.finditer(code):
            yield _Change(operator, *found.span(1), others[found[1]])
    for number in _C_NUMBER.finditer(code):
        for bound in (int(number[0]) + 1, int(number[0]) - 1):
            if bound >= 0:
                yield _Change("bound by one", *number.span(), str(bound))
    if (statement := _C_STATEMENT.match(code)) is not None and not _C_DECLARATION.match(code):
        yield _Change("statement dropped", *statement.span(2), ";")


_KINDS: dict[str, Callable[[str, bytes], Iterator[Fault]]] = {
    "py": _python_faults, "toml": _game_faults, "c": _c_faults, "h": _c_faults,
}  # fmt: skip
