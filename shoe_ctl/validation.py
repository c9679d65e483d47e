"""Validation errors of msgspec in plain words, with the key first.

In: the message of a ``ValidationError`` and the type that the value was checked against. Out: one
line such as ``table[0].decks: expected int, got str``, with a suggestion for a key or a word that
looks like a typing error. Must not know: what is configured or asked for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from firmware_proto.suggestion import nearest_name

if TYPE_CHECKING:
    from msgspec import inspect

_PLACE = re.compile(r" - at `(?:key in )?`?\$\.?([^`]*)`*$")
_UNKNOWN_KEY = re.compile(r"Object contains unknown field `(.*)`")


def error_text(message: str, form: type) -> str:
    """Return msgspec's message with the key first; ``form`` is the type that was expected."""
    place = _PLACE.search(message)
    what = message[: place.start()] if place else message
    key = place[1] if place else ""
    if (unknown := _UNKNOWN_KEY.fullmatch(what)) is not None:
        suggestion = suggest_key(form, key, unknown[1])
        what += "" if suggestion is None else f": is it `{suggestion}`?"
    if what.startswith("Invalid value"):  # of the key that tells kinds of a section apart
        what = what.replace("Invalid value", "Invalid enum value")
    if what.startswith("Invalid enum value"):
        what += f" (known: {', '.join(allowed_words(form, key))})"
    what = what.replace("Object contains unknown field", "unknown key")
    what = what.replace("Object missing required field", "missing key")
    what = what.replace("Expected", "expected").replace("Invalid enum value", "not a known value:")
    return f"{key}: {what}" if key else what


def suggest_key(form: type, place: str, key: str) -> str | None:
    """Return the key at this place (``table[0].shoe``; empty: the top) most like ``key``."""
    structs = _structs_at(form, re.findall(r"[a-z_]+", place))
    names = [field.encode_name for struct in structs for field in struct.fields]
    if key in names:  # of another kind of this section
        return None
    return nearest_name(key, names)


def allowed_words(form: type, place: str) -> list[str]:
    """Return the words that are allowed at this place (``sink[0].kind``); none where any is."""
    *folders, key = re.findall(r"[a-z_]+", place)
    structs = _structs_at(form, folders)
    kinds = [str(struct.tag) for struct in structs if struct.tag_field == key]
    return kinds + [
        str(word)
        for struct in structs
        for field in struct.fields
        if field.encode_name == key
        for word in _words(field.type)
    ]


def _structs_at(form: type, path: list[str]) -> list[inspect.StructType]:
    from msgspec.inspect import type_info

    there = _structs(type_info(form))
    for name in path:
        fields = [field for struct in there for field in struct.fields]
        there = [found for f in fields if f.encode_name == name for found in _structs(f.type)]
    return there


def _words(kind: inspect.Type) -> list[object]:
    from msgspec import inspect

    if isinstance(kind, inspect.LiteralType):
        return list(kind.values)
    if isinstance(kind, inspect.UnionType):
        return [word for one in kind.types for word in _words(one)]
    return []


def _structs(kind: inspect.Type) -> list[inspect.StructType]:
    """Return the structs that this type is, or is a list of, or may be."""
    from msgspec import inspect

    if isinstance(kind, inspect.StructType):
        return [kind]
    if isinstance(kind, inspect.UnionType):
        return [found for one in kind.types for found in _structs(one)]
    if isinstance(kind, inspect.ListType | inspect.VarTupleType):
        return _structs(kind.item_type)
    return []
