"""Arguments of commands: their types, reading them, and explaining what is wrong with them.

In: a command's arguments. Out: values, or one line that says what is wrong with them.
Must not know: what a command does.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec

from .state import Player
from .turn import Turn

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class NoArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """No arguments; the base of all other types of arguments."""


class ChoiceArgs(NoArgs, frozen=True, kw_only=True):
    """Which choice of the open step. A choice that takes more has a type of its own."""

    choice: str


class DeclarationArgs(NoArgs, frozen=True, kw_only=True):
    """Which irregularity is declared. One that takes more has a type of its own."""

    key: str


class HandName(NoArgs, frozen=True, kw_only=True):
    """Which hand."""

    hand: Literal["player", "banker"]


class NamedPlayer(NoArgs, frozen=True, kw_only=True):
    """Which Player: by id (which may be given as a number), by seat, or both."""

    player: Name | int | None = None
    seat: int | None = None

    @property
    def is_named(self) -> bool:
        """True if a Player is named at all."""
        return self.player is not None or self.seat is not None


class HandToPlayer(NamedPlayer, frozen=True, kw_only=True):
    """Which hand, and to whom."""

    hand: Literal["player", "banker"]


class HandToAnyone(HandToPlayer, frozen=True, kw_only=True):
    """Which hand, and to whom. A ``designee`` handles it in the Player's place."""

    designee: Name | None = None


# Reading the arguments of a command.

_Args = TypeVar("_Args", bound=NoArgs)


def read_args(turn: Turn, kind: type[_Args]) -> _Args | str:
    """Read the command's arguments as this type and keep them in ``turn.args``.

    Return one line that says what is wrong with them, if something is.
    """
    try:
        args = msgspec.convert(turn.command.args, kind)
    except msgspec.ValidationError as error:
        return explain_bad_args(str(error), kind, turn.command.args)
    seat = getattr(args, "seat", None)
    if seat is not None and (seats := turn.wager_rules.seats) and seat not in seats:
        return f"the layout has no seat {seat}"
    turn.args = args
    return args


def require_args(turn: Turn, kind: type[_Args]) -> _Args:
    """Return the command's arguments, which were read before as this type."""
    args = turn.args
    assert isinstance(args, kind), args
    return args


def find_player(turn: Turn, args: NamedPlayer, designee: str | None = None) -> Player:
    """Return the Player that is named; a seat that was not given is where their wagers lie."""
    name = None if args.player is None else str(args.player)
    at = (held.seat for held in turn.now.wagers.standing if held.player == name)
    seat = args.seat if args.seat is not None else next(at, None)
    return Player(id=name, seat=seat, designee=designee)


def with_rule(why: str, rule: str | None) -> str:
    """Return the reason with its rule in brackets, if there is one."""
    return why if rule is None else f"{why} ({rule})"


def check_reason(turn: Turn, rule: str | None) -> str | None:
    """Return the objection that the game requires a reason for discretion, if none is given."""
    if turn.game.options.reason_for_discretion and not turn.command.reason:
        return with_rule("this is at reasonable discretion: record it with a reason", rule)
    return None


# Explaining what is wrong with them.

_KIND_NAMES = {
    "int": "a whole number",
    "str": "text",
    "bool": "true or false",
    "null": "null",
    "array": "a list",
    "object": "a group of values",
    "float": "a number with a fraction",
}
"""The decoder's name of a type → what people call it."""

_LONGEST = 64
"""How many characters of an unknown argument's name a refusal repeats."""

_AT = re.compile(r" - at `\$\.(\w+)[^`]*`$")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`$", re.DOTALL)
_EXPECTED = re.compile(r"Expected `([^`]*)`(?:, got `([^`]*)`)?")


def explain_bad_args(error: str, kind: type[msgspec.Struct], given: Mapping[str, Any]) -> str:
    """Return one line: which arguments are missing or unknown, or which one is of a wrong type.

    ``error`` is the decoder's message, ``given`` what it was given.
    """
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    values = {name: _values(field) for name, field in fields.items()}
    missing = [name for name, field in fields.items() if field.required and name not in given]
    if error.startswith("Object missing required field"):
        return " ".join(["say", *(f"{name}={'|'.join(values[name]) or '...'}" for name in missing)])
    if (unknown := _UNKNOWN.search(error)) is not None:
        takes = ", ".join(fields) or "no arguments"
        return f"there is no {shorten(unknown[1])}=... here: it takes {takes}"
    at = _AT.search(error)
    if at is None:
        return error
    if one_of := values.get(at[1]):
        return f"{at[1]}: it is {' or '.join(one_of)}"
    return f"{at[1]}: {_EXPECTED.sub(_expected, error[: at.start()])}"


def shorten(name: str) -> str:
    """Return the name that somebody gave an argument, short and printable."""
    return name[:_LONGEST] if name.isprintable() else ascii(name[:_LONGEST])


def _values(field: msgspec.structs.FieldInfo) -> tuple[str, ...]:
    """Return the values that this argument may have; empty if they cannot be listed."""
    kinds = (field.type, *get_args(field.type))
    return next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), ())


def _expected(found: re.Match[str]) -> str:
    wanted = " or ".join(_KIND_NAMES.get(kind, kind) for kind in found[1].split(" | "))
    return f"expected {wanted}" + (
        f", not {_KIND_NAMES.get(found[2], found[2])}" if found[2] else ""
    )


# Listing what a type asks for.

_KINDS = {bool: "true or false", int: "a whole number", str: "text"}


class Argument(NamedTuple):
    """One argument of a command or a choice."""

    name: str
    """Its name."""
    values: tuple[str, ...]
    """All values that it may have; empty if they cannot be listed."""
    kind: str
    """Its type in words, where the values cannot be listed."""
    optional: bool
    """True if it may be left out."""


def list_arguments(kind: type[msgspec.Struct]) -> list[Argument]:
    """Return the arguments of this type, in its order."""
    return [
        Argument(field.name, *_describe(field.type), not field.required)
        for field in msgspec.structs.fields(kind)
    ]


def _describe(kind: Any) -> tuple[tuple[str, ...], str]:
    """Return all values of this type if they can be listed, and the type in words."""
    parts = list(_parts(kind))
    values = tuple(v for part in parts if get_origin(part) is Literal for v in get_args(part))
    if not values and bool in parts:
        values = ("true", "false")
    words = [_KINDS[part] for part in (str, int) if part in parts]
    return values, " or ".join(words) or "text"


def _parts(kind: Any) -> Iterator[Any]:
    """Yield the types that this one is made of."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        for one in get_args(kind):
            yield from _parts(one)
    elif origin is Annotated:
        yield from _parts(get_args(kind)[0])
    else:
        yield kind
