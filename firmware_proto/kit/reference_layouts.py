"""Compiles the layouts of the reference profile, and derives the tables of its SPEC.md.

In: the construct declarations. Out: compiled layouts, the module that holds them, SPEC tables.
Must not know: events, sessions, C.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from construct import Bytes, Construct, FormatField, Renamed

from firmware_proto.reference import fields
from firmware_proto.reference.fields import Codes, Converter, Unchanged
from firmware_proto.reference.layouts import PAYLOADS, Converted
from firmware_proto.reference.packing import (
    FIRST_NUMBERED,
    FIRST_OF_HOST,
    CompiledField,
    CompiledLayout,
    Kind,
)

_HEAD = '''\
"""Compiled layouts of the reference profile: struct formats and converters of every field.

Generated from ``layouts.py`` by ``make layouts``: do not edit. A test holds the two equal. Sessions
read and write by this module, so that they need not import construct.
"""

from __future__ import annotations

'''


def compile_layout(kind: Kind, layout: Construct) -> CompiledLayout:
    """The compiled form of one declared layout.

    Raises:
        TypeError: the layout uses something that has no fixed length or no little-endian form.
    """
    return CompiledLayout(kind, *map(_compile_field, layout.subcons))


def _compile_field(field: Construct) -> CompiledField:
    if not isinstance(field, Renamed):
        raise TypeError(f"a field without a name: {field!r}")
    inner = field.subcon
    if isinstance(inner, Converted):
        return CompiledField(field.name, _wire_format(inner.subcon), inner.converter)
    return CompiledField(field.name, _wire_format(inner))


def _wire_format(carrier: Construct) -> str:
    if isinstance(carrier, FormatField):
        order, code = carrier.fmtstr
        if order == "<":
            return str(code)
    elif isinstance(carrier, Bytes) and isinstance(carrier.length, int):
        return f"{carrier.length}s"
    raise TypeError(f"no compiled form for {carrier!r}")


LAYOUTS: dict[Kind, CompiledLayout] = {
    kind: compile_layout(kind, layout) for kind, layout in PAYLOADS.items()
}
"""Compiled straight from the declarations; equal to ``compiled_layouts.COMPILED``."""


# --- the module ------------------------------------------------------------------------------


def compiled() -> str:
    """The text of ``compiled_layouts.py``."""
    body = [*_entries()]
    names = sorted(set(re.findall(r"\b[A-Z][A-Z_]+_CODES\b", "".join(body)))) + sorted(
        {
            type(field.converter).__name__
            for layout in LAYOUTS.values()
            for field in layout.fields
            if not isinstance(field.converter, Unchanged)
        }
    )
    imported = "".join(f"    {name},\n" for name in names)
    return (
        f"{_HEAD}from firmware_proto.reference.fields import (\n{imported})\n"
        "from firmware_proto.reference.packing import CompiledField, CompiledLayout, Kind\n\n"
        "COMPILED: dict[Kind, CompiledLayout] = {\n" + "".join(body) + "}\n"
        '"""The compiled layout of every kind."""\n'
    )


def _entries() -> Iterator[str]:
    for kind, layout in LAYOUTS.items():
        rows = [f"Kind.{kind.name}", *map(_source, layout.fields)]
        if len(rows) == 1:
            yield f"    Kind.{kind.name}: CompiledLayout({rows[0]}),\n"
            continue
        lines = "".join(f"        {row},\n" for row in rows)
        yield f"    Kind.{kind.name}: CompiledLayout(\n{lines}    ),\n"


def _source(field: CompiledField) -> str:
    shown = f'"{field.name}", "{field.format}"'
    if isinstance(field.converter, Unchanged):
        return f"CompiledField({shown})"
    return f"CompiledField({shown}, {_converter(field.converter)})"


def _converter(converter: Converter) -> str:
    if not isinstance(converter, Codes):
        return repr(converter)
    for name, value in vars(fields).items():
        if value is converter.codes:
            return f"Codes({name})"
    raise TypeError(f"codes that have no name in fields.py: {converter.codes}")


# --- the tables of SPEC.md ---------------------------------------------------------------------

_HEADER = ("seq", "boot_id", "t_us")
_ROW = re.compile(r"\| (?P<name>\w*) \| (?P<size>[\w*]+) \| (?P<text>.*)\|")
_CODE_LIST = re.compile(r"\d+ [a-z][\w ]*(?:, \d+ [a-z][\w ]*)+")


def spec(text: str) -> str:
    """SPEC.md with its tables of kinds and fields as the layouts have them.

    Derived are a table's fields, their order, their sizes, the frame's length, and lists of codes.
    What a field means stands in the last column, and stays. A new field gets an empty one.
    """
    for kind, layout in LAYOUTS.items():
        section = re.compile(
            rf"(?P<head>^\*\*{layout.name}\*\* `{kind:02X}`.*?)(?P<rest>\n\n(?:\|.*\n)*)",
            re.MULTILINE,
        )
        found = section.search(text)
        if found is None:
            raise TypeError(f"SPEC.md has no section **{layout.name}** `{kind:02X}`")
        table = _table(layout, found["rest"]) if "|" in found["rest"] else found["rest"]
        head = found["head"]
        if "|" not in found["rest"]:
            head = re.sub(r"\*\*\d+\*\*$", f"**{layout.frame.size}**", head)
        text = text[: found.start()] + head + table + text[found.end() :]
    return _with_kinds(text)


def _table(layout: CompiledLayout, old: str) -> str:
    texts = {row["name"]: row["text"].strip() for row in _ROW.finditer(old)}
    lines = ["\n", "| field | bytes | |", "|---|---|---|"]
    own = layout.fields
    if layout.kind < FIRST_OF_HOST:
        size = sum(map(_size, own[: len(_HEADER)]))
        lines.append(_row("header", str(size), texts.get("header", "")))
        own = own[len(_HEADER) :]
    lines += [_row(field.name, str(_size(field)), _with_codes(texts, field)) for field in own]
    lines.append(f"| | **{layout.frame.size}** | |")
    return "\n".join(lines) + "\n"


def _row(name: str, size: str, text: str) -> str:
    return f"| {name} | {size} | {text} |" if text else f"| {name} | {size} | |"


def _with_codes(texts: dict[str, str], field: CompiledField) -> str:
    text = texts.get(field.name, "")
    if not isinstance(field.converter, Codes) or not _CODE_LIST.match(text):
        return text
    codes = field.converter.codes
    if not all(isinstance(name, str) for name in codes if name is not None):
        return text
    listed = ", ".join(f"{code} {name or 'accepted'}" for name, code in codes.items())
    return _CODE_LIST.sub(listed, text, count=1)


def _size(field: CompiledField) -> int:
    numbers = {"B": 1, "H": 2, "L": 4, "Q": 8}
    return numbers.get(field.format) or int(field.format.removesuffix("s"))


def _with_kinds(text: str) -> str:
    rows = "".join(
        f"| `{kind:02X}` | {kind.name.lower()} | {'host' if kind >= FIRST_OF_HOST else 'shoe'} |"
        f"{' yes ' if FIRST_NUMBERED <= kind < FIRST_OF_HOST else ' '}|\n"
        for kind in sorted(LAYOUTS)
    )
    head = "| kind | name | from | numbered |\n|---|---|---|---|\n"
    start = text.index(head) + len(head)
    end = text.index("\n\n", start) + 1
    return text[:start] + rows + text[end:]
