"""What is wrong with a command's arguments, in the words of those who typed them.

In: the arguments, the kind that they should be, what the decoder found. Out: one line.
Must not know: what a command does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

import msgspec

_KINDS = {
    "int": "a whole number",
    "str": "text",
    "bool": "true or false",
    "null": "null",
    "array": "a list",
    "object": "a group of values",
    "float": "a number with a fraction",
}
"""What a dealer calls the decoder's types."""

_LONGEST = 64
"""How many characters of an unknown argument's name are said back."""

_AT = re.compile(r" - at `\$\.(\w+)[^`]*`$")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`$", re.DOTALL)
_EXPECTED = re.compile(r"Expected `([^`]*)`(?:, got `([^`]*)`)?")


def what_is_wrong(error: str, kind: type[msgspec.Struct], given: Mapping[str, Any]) -> str:
    """One line: which arguments are missing, which are not asked for, which is of a wrong kind."""
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    values = {name: _values(field) for name, field in fields.items()}
    missing = [name for name, field in fields.items() if field.required and name not in given]
    if error.startswith("Object missing required field"):
        return " ".join(["say", *(f"{name}={'|'.join(values[name]) or '...'}" for name in missing)])
    if (unknown := _UNKNOWN.search(error)) is not None:
        takes = ", ".join(fields) or "no arguments"
        return f"there is no {in_line(unknown[1])}=... here: it takes {takes}"
    at = _AT.search(error)
    if at is None:
        return error
    if one_of := values.get(at[1]):
        return f"{at[1]}: it is {' or '.join(one_of)}"
    return f"{at[1]}: {_EXPECTED.sub(_expected, error[: at.start()])}"


def in_line(name: str) -> str:
    """What somebody called an argument, short enough and fit for one line."""
    return name[:_LONGEST] if name.isprintable() else ascii(name[:_LONGEST])


def _values(field: msgspec.structs.FieldInfo) -> tuple[str, ...]:
    """The values that this argument may have, none where they cannot be counted."""
    kinds = (field.type, *get_args(field.type))
    return next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), ())


def _expected(found: re.Match[str]) -> str:
    wanted = " or ".join(_KINDS.get(kind, kind) for kind in found[1].split(" | "))
    return f"expected {wanted}" + (f", not {_KINDS.get(found[2], found[2])}" if found[2] else "")
