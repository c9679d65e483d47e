"""What is wrong with a command's arguments, in the words of those who typed them.

In: the arguments, the kind that they should be, what the decoder found. Out: one line.
Must not know: what a command does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

import msgspec

from shoe_ctl.texts.message import Message, message

_LONGEST = 64
"""How many characters of an unknown argument's name are said back."""

_AT = re.compile(r" - at `\$\.(\w+)[^`]*`$")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`$", re.DOTALL)
_EXPECTED = re.compile(r"Expected `([^`]*)`(?:, got `([^`]*)`)?")
_BOUNDS = re.compile(r"Expected `([^`]*)` (of length )?([<>]=? \d+)")


def what_is_wrong(error: str, kind: type[msgspec.Struct], given: Mapping[str, Any]) -> Message:
    """Which arguments are missing, which are not asked for, which is of a wrong kind."""
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    values = {name: _values(field) for name, field in fields.items()}
    missing = [name for name, field in fields.items() if field.required and name not in given]
    if error.startswith("Object missing required field"):
        typed = [f"{name}={'|'.join(values[name]) or '...'}" for name in missing]
        return message("refused_arguments_missing", arguments=" ".join(typed))
    if (unknown := _UNKNOWN.search(error)) is not None:
        named = in_line(unknown[1])
        if not fields:
            return message("refused_takes_no_arguments", argument=named)
        return message("refused_no_such_argument", argument=named, takes=list(fields))
    at = _AT.search(error)
    if at is None:
        return message("refused_arguments", detail=error)
    if one_of := values.get(at[1]):
        return message("refused_argument_is_one_of", argument=at[1], values=one_of)
    return _wrong_kind(at[1], error[: at.start()])


def in_line(name: str) -> str:
    """What somebody called an argument, short enough and fit for one line."""
    return name[:_LONGEST] if name.isprintable() else ascii(name[:_LONGEST])


def _values(field: msgspec.structs.FieldInfo) -> tuple[str, ...]:
    """The values that this argument may have, none where they cannot be counted."""
    kinds = (field.type, *get_args(field.type))
    return next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), ())


def _wrong_kind(argument: str, error: str) -> Message:
    """The argument has another kind than it should, or a value that is out of bounds."""
    found = _EXPECTED.fullmatch(error)
    if (out := _BOUNDS.fullmatch(error)) is not None:
        wanted, bounds = out[1].split(" | "), out[3]
        if out[2] is not None:
            return message("refused_argument_length", argument=argument, bounds=bounds)
        return message("refused_argument_bounds", argument=argument, wanted=wanted, bounds=bounds)
    if found is None:
        return message("refused_argument", argument=argument, detail=error)
    wanted = found[1].split(" | ")
    if found[2] is None:
        return message("refused_argument_kind", argument=argument, wanted=wanted)
    return message("refused_argument_other_kind", argument=argument, wanted=wanted, given=found[2])
