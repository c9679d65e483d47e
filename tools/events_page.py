"""Generates the page on events from its template and the catalogue of events.

In: ``events_page.md`` beside this module, the catalogue. Out: Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from shoe_ctl.docstrings import field_docstrings
from shoe_ctl.events.catalog import EVENTS, FAMILIES
from shoe_ctl.events.event_type import EventType, plain

TEMPLATE = Path(__file__).with_suffix(".md")

TITLE = "Events"

Table = Callable[[tuple[str, ...], Sequence[tuple[str, ...]]], str]

_AUDIENCES = {
    "public": "**Public.**",
    "restricted": "**Restricted only.**",
    "either": "**Public**, in some cases restricted only.",
}

_SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`\[*])")


def body(table: Table) -> str:
    """Return the page below its title; ``table`` writes a table in Markdown."""
    template = TEMPLATE.read_text("utf-8")
    shown = set(re.findall(r"\{\{([a-z_.]+)\}\}", template)) & EVENTS.keys()
    parts: dict[str, str] = {name: _section(EVENTS[name], table) for name in shown}
    parts["families"] = "\n\n".join(_families(shown, table))
    return re.sub(r"\{\{([a-z_.]+)\}\}", lambda found: parts[found[1]], template)


def _families(shown: set[str], table: Table) -> Iterator[str]:
    for title, family in FAMILIES.items():
        yield f"## {title}"
        for event in family:
            if event.name not in shown:
                yield f"### `{event.name}`\n\n{_section(event, table)}"


def _section(event: EventType, table: Table) -> str:
    about = _SENTENCE.sub("\n", f"{_AUDIENCES[event.audience]} {event.description}")
    rows = list(_rows(event))
    return (
        f"{about}\n\n{table(('key', 'value', 'meaning'), rows)}" if rows else f"{about}\n\nNo data."
    )


def _rows(event: EventType) -> Iterator[tuple[str, str, str]]:
    yield from _fields(event.data, "", "")
    for part in event.adds:
        yield from _fields(part, "", "restricted")


def _fields(of: type[msgspec.Struct], path: str, mark: str) -> Iterator[tuple[str, str, str]]:
    """Yield each field: its key with the keys around it, its values, its meaning."""
    texts = field_docstrings(of)
    info = inspect.type_info(of)
    assert isinstance(info, inspect.StructType)
    for field in sorted(info.fields, key=lambda each: not each.required):
        marks = [mark] if mark else []
        marks += [] if field.required else ["optional"]
        meaning = plain(texts[field.name])
        key = f"{path}{field.encode_name}"
        marked = f"*{', '.join(marks)}.* " if marks else ""
        yield f"`{key}`", _values(field.type), marked + meaning
        for within, inner in _structs(field.type):
            if inner.__name__ != "Message":
                yield from _fields(inner, f"{key}{within}.", mark)


def _structs(of: inspect.Type) -> Iterator[tuple[str, type[msgspec.Struct]]]:
    """Yield the structs in a value, with what stands between its key and theirs."""
    match of:
        case inspect.StructType():
            yield "", of.cls
        case inspect.ListType():
            yield from (("[]" + within, each) for within, each in _structs(of.item_type))
        case inspect.DictType():
            yield from ((".NAME" + within, each) for within, each in _structs(of.value_type))
        case inspect.UnionType():
            for one in of.types:
                yield from _structs(one)


def _values(of: inspect.Type) -> str:
    match of:
        case inspect.UnionType():
            return " or ".join(dict.fromkeys(map(_values, of.types)))
        case inspect.LiteralType():
            return ", ".join(f"`{value}`" for value in of.values)
        case inspect.ListType():
            return f"list of {_plural(_values(of.item_type))}"
        case inspect.TupleType():
            return f"list of {len(of.item_types)} {_plural(_values(of.item_types[0]))}"
        case inspect.DictType():
            return f"object: name and {_values(of.value_type)}"
        case inspect.StructType():
            return "message" if of.cls.__name__ == "Message" else "object"
        case inspect.StrType():
            return _PATTERNS.get(of.pattern or "", "text")
    return _PLAIN.get(type(of), "any")


def _plural(word: str) -> str:
    return {"text": "texts", "code": "codes", "card": "cards", "number": "numbers",
            "object": "objects", "slot": "slots"}.get(word, word)  # fmt: skip


_PLAIN: Mapping[type[inspect.Type], str] = {
    inspect.BoolType: "true, false",
    inspect.IntType: "number",
    inspect.NoneType: "null",
}


def _patterns() -> dict[str, str]:
    from shoe_ctl.events import event_type
    from shoe_ctl.events.irregularities import Slot

    named: dict[str, Any] = {
        "code": event_type.Code,
        "card": event_type.Card,
        "time": event_type.Time,
        "fraction": event_type.Fraction,
        "slot": Slot,
    }
    kinds = {word: inspect.type_info(of) for word, of in named.items()}
    return {of.pattern or "": word for word, of in kinds.items() if isinstance(of, inspect.StrType)}


_PATTERNS = _patterns()
