"""Arguments of commands about hands and Players, read from what was asked.

In: a command's arguments. Out: values, or a message that says what is wrong with them.
Must not know: what a command does.
"""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec

from shoe_ctl.table.state import Player
from shoe_ctl.table.turn import Turn
from shoe_ctl.texts.message import Message, message

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]

Cards = Annotated[str, msgspec.Meta(extra={"kind": "cards"})]
"""Card codes with spaces between them."""


class NoArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """No arguments; the base of all other types of arguments."""


class ChoiceArgs(NoArgs, frozen=True, kw_only=True):
    """A choice of the open step. A choice that takes more has a type of its own."""

    choice: str


class DeclarationArgs(NoArgs, frozen=True, kw_only=True):
    """An irregularity that is declared. One that takes more has a type of its own."""

    key: str


class HandName(NoArgs, frozen=True, kw_only=True):
    """A hand, by its name."""

    hand: Literal["player", "banker"]


class NamedPlayer(NoArgs, frozen=True, kw_only=True):
    """A Player: by id (which may be given as a number), by seat, or both."""

    player: Name | int | None = None
    seat: int | None = None

    @property
    def is_named(self) -> bool:
        """True if a Player is named at all."""
        return self.player is not None or self.seat is not None


class HandToPlayer(NamedPlayer, frozen=True, kw_only=True):
    """A hand, and the Player to whom it goes."""

    hand: Literal["player", "banker"]


class HandToAnyone(HandToPlayer, frozen=True, kw_only=True):
    """A hand, and the Player to whom it goes. A ``designee`` handles it in the Player's place."""

    designee: Name | None = None


# Reading the arguments of a command.

_Args = TypeVar("_Args", bound=NoArgs)


def read_args(turn: Turn, kind: type[_Args]) -> _Args | Message:
    """Read the command's arguments as this type and keep them in ``turn.args``.

    Return one line that says what is wrong with them, if something is.
    """
    try:
        args = msgspec.convert(turn.command.args, kind)
    except msgspec.ValidationError as error:
        return explain_bad_args(str(error), kind, turn.command.args)
    seat = getattr(args, "seat", None)
    if seat is not None and (seats := turn.wager_rules.seats) and seat not in seats:
        return message("refused_no_such_seat", seat=seat)
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


def check_reason(turn: Turn, rule: str | None) -> Message | None:
    """Return the objection that the game requires a reason for discretion, if none is given."""
    if turn.game.options.reason_for_discretion and not turn.command.reason:
        return message("refused_discretion_without_reason").citing(rule)
    return None


# Explaining what is wrong with them.

AMOUNT = "amount"
"""The argument of each command that says how much money it is."""

_LONGEST = 64
"""A refusal repeats so many characters of an unknown argument's name."""

_AT = re.compile(r" - at `\$\.(\w+)[^`]*`$")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`$", re.DOTALL)
_EXPECTED = re.compile(r"Expected `([^`]*)`(?:, got `([^`]*)`)?")
_BOUNDS = re.compile(r"Expected `([^`]*)` (of length )?([<>]=? \d+)")


def explain_bad_args(error: str, kind: type[msgspec.Struct], given: Mapping[str, Any]) -> Message:
    """Return which arguments are missing, which are not asked for, which is of a wrong kind."""
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    values = {name: _values(field) for name, field in fields.items()}
    missing = [name for name, field in fields.items() if field.required and name not in given]
    if error.startswith("Object missing required field"):
        typed = [f"{name}={'|'.join(values[name]) or '...'}" for name in missing]
        return message("refused_arguments_missing", arguments=" ".join(typed))
    if (unknown := _UNKNOWN.search(error)) is not None:
        named = shorten(unknown[1])
        if not fields:
            return message("refused_takes_no_arguments", argument=named)
        return message("refused_no_such_argument", argument=named, takes=list(fields))
    at = _AT.search(error)
    if at is None:
        return message("refused_arguments", detail=error)
    if one_of := values.get(at[1]):
        return message("refused_argument_is_one_of", argument=at[1], values=one_of)
    return _wrong_kind(at[1], error[: at.start()])


def shorten(name: str) -> str:
    """Return the name that somebody gave an argument, short and printable."""
    return name[:_LONGEST] if name.isprintable() else ascii(name[:_LONGEST])


def _values(field: msgspec.structs.FieldInfo) -> tuple[str, ...]:
    """Return the values that this argument may have; empty if they cannot be listed."""
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
    if argument == AMOUNT:
        return message("refused_amount_kind", argument=argument)
    if found[2] is None:
        return message("refused_argument_kind", argument=argument, wanted=wanted)
    return message("refused_argument_other_kind", argument=argument, wanted=wanted, given=found[2])


# Listing what a type asks for.

_KINDS: Mapping[Any, str] = {bool: "bool", int: "int", str: "str"}

_KIND_OF_NAME = frozenset({"hand", "seat", "player", "wager", "amount", "card", "round"})
"""Arguments that are called what they are, in every command."""


class Bounds(NamedTuple):
    """The least and the most that a number may be; None where there is no bound."""

    least: int | None = None
    most: int | None = None


Possible = Mapping[str, Sequence[Any] | Bounds]
"""Name of an argument → all values that it may have as the table stands, or their bounds."""


class Argument(NamedTuple):
    """One argument of a command or a choice. ``values`` are all that it may be, where counted.

    ``kinds`` (``str``, ``int``) are what it is else; ``optional``: it may be left out. ``kind`` is
    what it means to people: its name where that says it, or ``cards``, ``flag``, ``number``,
    ``text``. ``bounds`` are those of its type.
    """

    name: str
    values: tuple[str, ...]
    kinds: tuple[str, ...]
    optional: bool
    kind: str = "text"
    bounds: Bounds = Bounds()


@functools.cache
def list_arguments(kind: type[msgspec.Struct]) -> tuple[Argument, ...]:
    """Return the arguments of this type, in its order."""
    return tuple(_describe(field) for field in msgspec.structs.fields(kind))


def _describe(field: msgspec.structs.FieldInfo) -> Argument:
    parts = list(_parts(field.type))
    values = tuple(v for part in parts if get_origin(part) is Literal for v in get_args(part))
    flag = not values and bool in parts
    if flag:
        values = ("true", "false")
    kinds = tuple(_KINDS[part] for part in (str, int) if part in parts)
    metas = list(_metas(field.type))
    named = next((meta.extra["kind"] for meta in metas if meta.extra), None)
    if named is None and field.name in _KIND_OF_NAME:
        named = field.name
    if named is None:
        named = "flag" if flag else "number" if "int" in kinds else "text"
    bounds = Bounds(
        next((meta.ge for meta in metas if isinstance(meta.ge, int)), None),
        next((_most(meta) for meta in metas if _most(meta) is not None), None),
    )
    return Argument(field.name, values, kinds or ("str",), not field.required, named, bounds)


def _most(meta: msgspec.Meta) -> int | None:
    """Return the largest whole number that these bounds of a type allow."""
    if isinstance(meta.le, int):
        return meta.le
    return meta.lt - 1 if isinstance(meta.lt, int) else None


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


def _metas(kind: Any) -> Iterator[msgspec.Meta]:
    """Yield what the types that this one is made of are annotated with."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        for one in get_args(kind):
            yield from _metas(one)
    elif origin is Annotated:
        yield from (one for one in get_args(kind)[1:] if isinstance(one, msgspec.Meta))
