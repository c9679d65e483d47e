"""Mistakes in values that were read from TOML or JSON, in plain words, each with its place.

In: plain values, and the type of msgspec that they do not fit. Out: each mistake, such as
``table[0].decks: expected a whole number, found the text "8"``, with a suggestion for a key that
looks like a typing error. Must not know: what is configured or asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from firmware_proto.suggestion import nearest_name

if TYPE_CHECKING:
    from msgspec import inspect

_LONGEST = 64
"""Characters of a wrong text that a mistake repeats."""

_MOST_BITS = 64

_PLACE = re.compile(r" - at `[^`]*`*$")


class Mistake(NamedTuple):
    """A value that is not what its place takes. ``place`` is empty for the whole."""

    place: str
    what: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}" if self.place else self.what


def find_mistakes(plain: object, form: type, *, section: str = "a section") -> list[Mistake]:
    """Return every mistake in plain values that do not fit a type; none where they fit.

    A description of a type (``msgspec.Meta``) says what is expected, where it has a pattern.
    ``section`` is the word for what has keys: a section of TOML, an object of JSON.
    """
    return list(_Finder(section).of(plain, _info(form), ""))


def in_words(error: str) -> str:
    """Return a message of msgspec without the place."""
    return _PLACE.sub("", error)


@lru_cache(16)
def _info(form: type) -> inspect.Type:
    from msgspec.inspect import type_info

    return type_info(form)


class _Finder:
    def __init__(self, section: str) -> None:
        self._section = section

    def of(self, value: object, kind: inspect.Type, place: str) -> Iterator[Mistake]:
        from msgspec import inspect

        bare = _bare(kind)
        if isinstance(bare, inspect.UnionType):
            yield from self._of_union(value, bare, place)
        elif isinstance(bare, inspect.StructType):
            yield from self._of_structs(value, [bare], place)
        elif isinstance(bare, inspect.ListType | inspect.VarTupleType):
            yield from self._of_list(value, bare, place)
        elif isinstance(bare, inspect.DictType):
            yield from self._of_dict(value, bare, place)
        elif isinstance(bare, inspect.LiteralType):
            if value not in bare.values:
                yield Mistake(place, self._not_known(value, bare.values))
        elif not _fits(value, bare):
            is_text = isinstance(bare, inspect.StrType) and not isinstance(value, str)
            wanted = "a text" if is_text else _leaf_words(kind)
            yield Mistake(place, f"expected {wanted}{self._found(value, bare)}")

    def _of_union(self, value: object, kind: inspect.UnionType, place: str) -> Iterator[Mistake]:
        from msgspec import inspect

        kinds = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
        if value is None and len(kinds) < len(kind.types):
            return
        structs = [one for one in map(_bare, kinds) if isinstance(one, inspect.StructType)]
        if structs and (isinstance(value, dict) or len(structs) == len(kinds)):
            yield from self._of_structs(value, structs, place)
            return
        found = [list(self.of(value, one, place)) for one in kinds]
        if all(found):
            alike = [
                wrong
                for one, wrong in zip(map(_bare, kinds), found, strict=True)
                if len(kinds) == 1 or _is_alike(value, one)
            ]
            if alike:
                yield from alike[0]
            else:
                wanted = " or ".join(dict.fromkeys(self._words(one) for one in kinds))
                yield Mistake(place, f"expected {wanted}{self._found(value, None)}")

    def _of_structs(
        self, value: object, structs: Sequence[inspect.StructType], place: str
    ) -> Iterator[Mistake]:
        """Check a section; of several kinds, the one that its tag names."""
        if not isinstance(value, dict):
            yield Mistake(place, f"expected {self._section}{self._found(value, None)}")
            return
        tag = structs[0].tag_field
        struct: inspect.StructType | None = structs[0]
        if tag is not None:
            if tag not in value:
                yield Mistake(place, f"missing key `{tag}`")
                return
            struct = next((one for one in structs if one.tag == value[tag]), None)
            if struct is None:
                kinds = [one.tag for one in structs]
                yield Mistake(_join(place, tag), self._not_known(value[tag], kinds))
                return
        assert struct is not None
        found = list(self._of_keys(value, struct, structs, place))
        yield from found or self._of_whole(value, struct, place)

    def _of_keys(
        self,
        value: Mapping[str, object],
        struct: inspect.StructType,
        kinds: Sequence[inspect.StructType],
        place: str,
    ) -> Iterator[Mistake]:
        fields = {field.encode_name: field for field in struct.fields}
        elsewhere = {field.encode_name for one in kinds for field in one.fields}
        meant = set()
        unknown = [key for key in value if key not in fields and key != struct.tag_field]
        for key in unknown if struct.forbid_unknown_fields else ():
            near = None if key in elsewhere else nearest_name(key, fields)
            meant.add(near)
            is_it = "" if near is None else f": is it `{near}`?"
            yield Mistake(place, f"unknown key `{key[:_LONGEST]}`{is_it}")
        for name, field in fields.items():
            if name in value:
                yield from self.of(value[name], field.type, _join(place, name))
            elif field.required and name not in meant:
                yield Mistake(place, f"missing key `{name}`")

    def _of_whole(
        self, value: Mapping[str, object], struct: inspect.StructType, place: str
    ) -> Iterator[Mistake]:
        """Check what the struct itself says of keys that are right one by one."""
        import msgspec

        if hasattr(struct.cls, "__post_init__"):
            try:
                msgspec.convert(value, struct.cls)
            except msgspec.ValidationError as error:
                yield Mistake(place, in_words(str(error)))

    def _of_list(
        self, value: object, kind: inspect.ListType | inspect.VarTupleType, place: str
    ) -> Iterator[Mistake]:
        from msgspec import inspect

        if not isinstance(value, list):
            if isinstance(value, dict) and isinstance(_bare(kind.item_type), inspect.StructType):
                name = place.rpartition(".")[2]
                yield Mistake(place, f"expected a list, found {self._section}: write [[{name}]]")
            else:
                yield Mistake(place, f"expected a list{self._found(value, None)}")
            return
        if len(value) < (kind.min_length or 0):
            yield Mistake(place, "expected one or more, found none")
        for at, item in enumerate(value):
            yield from self.of(item, kind.item_type, f"{place}[{at}]")

    def _of_dict(self, value: object, kind: inspect.DictType, place: str) -> Iterator[Mistake]:
        if not isinstance(value, dict):
            yield Mistake(place, f"expected {self._section}{self._found(value, None)}")
            return
        for key, item in value.items():
            yield from self.of(item, kind.value_type, _join(place, str(key)[:_LONGEST]))

    def _words(self, kind: inspect.Type) -> str:
        """Return what a kind of value is called."""
        from msgspec import inspect

        bare = _bare(kind)
        if isinstance(bare, inspect.StructType | inspect.DictType):
            return self._section
        if isinstance(bare, inspect.ListType | inspect.VarTupleType):
            return "a list"
        return _leaf_words(kind)

    def _found(self, value: object, kind: inspect.Type | None) -> str:
        """Return what is there instead."""
        from msgspec import inspect

        if isinstance(value, str):
            if not isinstance(kind, inspect.StrType):
                return f", found the text {json.dumps(_shortened(value), ensure_ascii=False)}"
            if kind.pattern is None:
                return f", found {len(value):,}"
            return f", found {_shortened(value)!r}"
        return f", found {self._name(value)}"

    def _not_known(self, value: object, known: Sequence[object]) -> str:
        shown = repr(_shortened(value)) if isinstance(value, str) else self._name(value)
        return f"not a known value: {shown} (known: {', '.join(map(str, known))})"

    def _name(self, value: object) -> str:
        """Return what a value is called that is no text."""
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:  # Python would not spell it
            return "a number that is too large"
        if isinstance(value, float):  # also nan and inf, as TOML spells them
            return repr(value)
        if value is None or isinstance(value, bool | int):
            return _shortened(json.dumps(value))
        if isinstance(value, dict):
            return self._section
        return "a list" if isinstance(value, list) else "a date or a time"


def _is_alike(value: object, kind: inspect.Type) -> bool:
    """Return whether a value is of this kind, whatever is in it."""
    from msgspec import inspect

    if isinstance(value, dict):
        return isinstance(kind, inspect.DictType | inspect.StructType)
    if isinstance(value, list):
        return isinstance(kind, inspect.ListType | inspect.VarTupleType)
    if isinstance(value, str):
        return isinstance(kind, inspect.StrType | inspect.LiteralType)
    return type(value) is int and isinstance(kind, inspect.IntType)


def _fits(value: object, kind: inspect.Type) -> bool:
    """Return whether a single value fits; one of a kind that nothing here takes does."""
    from msgspec import inspect

    if isinstance(kind, inspect.IntType):
        return type(value) is int and _is_within(value, kind)
    if isinstance(kind, inspect.FloatType):
        return type(value) in (int, float)
    if isinstance(kind, inspect.BoolType):
        return isinstance(value, bool)
    if isinstance(kind, inspect.StrType):
        return isinstance(value, str) and _is_spelt(value, kind)
    return True


def _is_within(value: int, kind: inspect.IntType) -> bool:
    least, most = kind.ge, kind.le
    return (least is None or value >= least) and (most is None or value <= most)


def _is_spelt(value: str, kind: inspect.StrType) -> bool:
    least, most = kind.min_length or 0, kind.max_length
    return (
        least <= len(value)
        and (most is None or len(value) <= most)
        and (kind.pattern is None or re.search(kind.pattern, value) is not None)
    )


def _leaf_words(kind: inspect.Type) -> str:
    """Return what a single value is called."""
    from msgspec import inspect

    if isinstance(kind, inspect.Metadata):
        described: str | None = (kind.extra_json_schema or {}).get("description")
        if described is not None:
            return described
    bare = _bare(kind)
    if isinstance(bare, inspect.IntType):
        return f"a whole number{_span(bare.ge, bare.le)}"
    if isinstance(bare, inspect.StrType):
        span = _span(bare.min_length, bare.max_length, " of ")
        return f"a text{span} characters" if span else "a text"
    if isinstance(bare, inspect.LiteralType):
        return " or ".join(f'"{word}"' for word in bare.values)
    return "true or false" if isinstance(bare, inspect.BoolType) else "a number"


def _span(least: int | None, most: int | None, between: str = " from ") -> str:
    if least is not None and most is not None:
        return f"{between}{least:,} to {most:,}"
    if least is not None:
        return f" of at least {least:,}"
    return "" if most is None else f" of at most {most:,}"


def _bare(kind: inspect.Type) -> inspect.Type:
    """Return the kind without what is noted about it."""
    from msgspec import inspect

    return kind.type if isinstance(kind, inspect.Metadata) else kind


def _join(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
