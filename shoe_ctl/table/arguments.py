"""Arguments of commands about hands and Players, read from what was asked.

In: a command's arguments. Out: values, or a message that says what is wrong with them.
Must not know: what a command does.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec

from shoe_ctl.texts.message import Message, message

from .handling import Player
from .turn import Turn
from .wording import what_is_wrong

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class Args(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command's arguments: none, unless a kind of its own says more."""


class OfChoice(Args, frozen=True, kw_only=True):
    """Which choice of an open step; a choice that wants to know more has a kind of its own."""

    choice: str


class OfKey(Args, frozen=True, kw_only=True):
    """Which irregularity is declared; one that is to say more has a kind of its own."""

    key: str


class HandName(Args, frozen=True, kw_only=True):
    """Which hand."""

    hand: Literal["player", "banker"]


class NamedPlayer(Args, frozen=True, kw_only=True):
    """Which Player: by id (which may be given as a number), by seat, or both."""

    player: Name | int | None = None
    seat: int | None = None

    @property
    def is_named(self) -> bool:
        """A Player was named at all."""
        return self.player is not None or self.seat is not None


class HandToPlayer(NamedPlayer, frozen=True, kw_only=True):
    """Which hand, and to whom."""

    hand: Literal["player", "banker"]


class HandToAnyone(HandToPlayer, frozen=True, kw_only=True):
    """Which hand, and to whom; ``designee`` handles it in the Player's place."""

    designee: Name | None = None


_Args = TypeVar("_Args", bound=Args)

_KINDS: Mapping[Any, str] = {bool: "bool", int: "int", str: "str"}


class Argument(NamedTuple):
    """One argument of a command or a choice. ``values`` are all that it may be, where counted.

    ``kinds`` (``str``, ``int``) are what it is else; ``optional``: it may be left out.
    """

    name: str
    values: tuple[str, ...]
    kinds: tuple[str, ...]
    optional: bool


def arguments_of(kind: type[msgspec.Struct]) -> list[Argument]:
    """What this kind asks for, in its order."""
    return [
        Argument(field.name, *_said(field.type), not field.required)
        for field in msgspec.structs.fields(kind)
    ]


def _said(kind: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All values that there are, and the kinds that it may be."""
    parts = list(_parts(kind))
    values = tuple(v for part in parts if get_origin(part) is Literal for v in get_args(part))
    if not values and bool in parts:
        values = ("true", "false")
    kinds = tuple(_KINDS[part] for part in (str, int) if part in parts)
    return values, kinds or ("str",)


def _parts(kind: Any) -> Iterator[Any]:
    """The kinds that this one is made of."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        for one in get_args(kind):
            yield from _parts(one)
    elif origin is Annotated:
        yield from _parts(get_args(kind)[0])
    else:
        yield kind


def read(turn: Turn, kind: type[_Args]) -> _Args | Message:
    """Read the command's arguments as this kind and keep them with the turn (``turn.args``).

    Return what is wrong with them instead, in one line.
    """
    try:
        args = msgspec.convert(turn.command.args, kind)
    except msgspec.ValidationError as error:
        return what_is_wrong(str(error), kind, turn.command.args)
    seat = getattr(args, "seat", None)
    if seat is not None and (seats := turn.wager_rules.seats) and seat not in seats:
        return message("refused_no_such_seat", seat=seat)
    turn.args = args
    return args


def checked(turn: Turn, kind: type[_Args]) -> _Args:
    """Return the command's arguments, which were read before as this kind."""
    args = turn.args
    assert isinstance(args, kind), args
    return args


def player(turn: Turn, args: NamedPlayer, designee: str | None = None) -> Player:
    """The Player that is named; a seat that was not given is where the Player's wagers lie."""
    name = None if args.player is None else str(args.player)
    at = (held.seat for held in turn.now.wagers.standing if held.player == name)
    seat = args.seat if args.seat is not None else next(at, None)
    return Player(id=name, seat=seat, designee=designee)


def by_whom(turn: Turn) -> dict[str, str | None]:
    """Who gave the command, as restricted events carry it."""
    return turn.actor()


def lacks_reason(turn: Turn, rule: str | None) -> Message | None:
    """Where the game speaks of reasonable discretion: that it comes without its reason."""
    if turn.game.options.reason_for_discretion and not turn.command.reason:
        return message("refused_discretion_without_reason").citing(rule)
    return None
