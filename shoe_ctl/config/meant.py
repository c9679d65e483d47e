"""What a key that a form does not have was probably meant to be, and which words a key takes.

In: the form's type, the place of the key in it. Out: the nearest key of that place, or None; words.
Must not know: files, what the keys are for.
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from msgspec import inspect

LIKE = 0.7
"""How alike two keys are, from 0 to 1, of which one is the other mistyped."""


def nearest(form: type, place: str, key: str) -> str | None:
    """The key at this place (``table[0].shoe``; empty: the top) that ``key`` is most like."""
    there = _struct(inspect.type_info(form))
    for name in re.findall(r"[a-z_]+", place):
        fields = () if there is None else there.fields
        there = next((_struct(f.type) for f in fields if f.encode_name == name), None)
    keys = [] if there is None else [field.encode_name for field in there.fields]
    return next(iter(get_close_matches(key, keys, n=1, cutoff=LIKE)), None)


def choices(form: type, place: str) -> list[str]:
    """The words that may stand at this place (``sink[0].kind``), where only certain ones may."""
    *folders, key = re.findall(r"[a-z_]+", place)
    there = _struct(inspect.type_info(form))
    for name in folders:
        fields = () if there is None else there.fields
        there = next((_struct(f.type) for f in fields if f.encode_name == name), None)
    fields = () if there is None else there.fields
    return [str(word) for f in fields if f.encode_name == key for word in _words(f.type)]


def _words(kind: inspect.Type) -> list[object]:
    if isinstance(kind, inspect.LiteralType):
        return list(kind.values)
    if isinstance(kind, inspect.UnionType):
        return [word for one in kind.types for word in _words(one)]
    return []


def _struct(kind: inspect.Type) -> inspect.StructType | None:
    """The struct that this is, or that it is a list of, or may be."""
    if isinstance(kind, inspect.StructType):
        return kind
    if isinstance(kind, inspect.UnionType):
        return next((found for one in kind.types if (found := _struct(one)) is not None), None)
    if isinstance(kind, inspect.ListType | inspect.VarTupleType):
        return _struct(kind.item_type)
    return None
