"""Validation errors of msgspec in plain words, with the key first.

In: the message of a ``ValidationError`` and the type that the value was checked against. Out: one
line such as ``table[0].decks: expected int, got str``, with a suggestion for a key or a word that
looks like a typing error. Must not know: what is configured or asked for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from msgspec import inspect

SIMILARITY = 0.7
"""How alike two keys must be, from 0 to 1, for one to be suggested for the other."""

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
    if what.startswith("Invalid enum value"):
        what += f" (known: {', '.join(allowed_words(form, key))})"
    what = what.replace("Object contains unknown field", "unknown key")
    what = what.replace("Object missing required field", "missing key")
    what = what.replace("Expected", "expected").replace("Invalid enum value", "not a known value:")
    return f"{key}: {what}" if key else what


def suggest_key(form: type, place: str, key: str) -> str | None:
    """Return the key at this place (``table[0].shoe``; empty: the top) most like ``key``."""
    from difflib import get_close_matches

    names = [field.encode_name for field in _fields_at(form, re.findall(r"[a-z_]+", place))]
    return next(iter(get_close_matches(key, names, n=1, cutoff=SIMILARITY)), None)


def allowed_words(form: type, place: str) -> list[str]:
    """Return the words that are allowed at this place (``sink[0].kind``); none where any is."""
    *folders, key = re.findall(r"[a-z_]+", place)
    fields = _fields_at(form, folders)
    return [
        str(word) for field in fields if field.encode_name == key for word in _words(field.type)
    ]


def _fields_at(form: type, path: list[str]) -> tuple[inspect.Field, ...]:
    """Return the fields of the struct that this path leads to; none where it leads to no struct."""
    from msgspec.inspect import type_info

    there = _struct(type_info(form))
    for name in path:
        fields = () if there is None else there.fields
        there = next((_struct(f.type) for f in fields if f.encode_name == name), None)
    return () if there is None else there.fields


def _words(kind: inspect.Type) -> list[object]:
    from msgspec import inspect

    if isinstance(kind, inspect.LiteralType):
        return list(kind.values)
    if isinstance(kind, inspect.UnionType):
        return [word for one in kind.types for word in _words(one)]
    return []


def _struct(kind: inspect.Type) -> inspect.StructType | None:
    """Return the struct that this type is, or is a list of, or may be."""
    from msgspec import inspect

    if isinstance(kind, inspect.StructType):
        return kind
    if isinstance(kind, inspect.UnionType):
        return next((found for one in kind.types if (found := _struct(one)) is not None), None)
    if isinstance(kind, inspect.ListType | inspect.VarTupleType):
        return _struct(kind.item_type)
    return None
