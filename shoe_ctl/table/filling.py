"""Arguments that a command could have here and now: wagers that lie there, cards nobody has seen.

In: a table as it stands, a kind of arguments or a command. Out: ways to fill them in, likely first.
Must not know: what a command does, which of them is taken; any card that is not revealed.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

import msgspec

from . import (
    arguments,
    by_hand,
    composition,
    method_change,
    revealing,
    revising,
    shoe_control,
    telling,
    wagering,
)
from .arguments import Args
from .irregularities.procedure import Standing
from .wagers.limits import WagerRules

Filled = dict[str, Any]

MOST_CARDS = 6
"""No more cards are named at once: two hands of three."""

_SAID_ELSEWHERE = ("choice", "key")
_OF_A_WAGER = {"player", "seat", "wager"}

KINDS: Mapping[str, type[Args]] = {
    "change_method": method_change.WhichMethod,
    "pass_cards": arguments.HandToPlayer,
    "refuse_cards": arguments.OfHand,
    "name_holder": arguments.HandToPlayer,
    "allow_squeeze": arguments.HandToAnyone,
    "set_first_hand": arguments.OfHand,
    "offer_shoe": arguments.OfPlayer,
    "relinquish_shoe": shoe_control.Ended,
    "allow_without_wager": arguments.OfPlayer,
    "expose": revealing.OfCards,
    "record_shoe": composition.OfShoe,
    "count_remainder": composition.OfRemainder,
    "ask_shoe": telling.OfQuestion,
    "clear_error": telling.OfError,
    "rotate_key": telling.OfKeyId,
    "show_on_shoe": telling.OfText,
}
"""What the commands take that have arguments of their own; those of wagers are named one by one."""

ALL_KINDS: Mapping[str, type[msgspec.Struct]] = {
    **KINDS,
    **wagering.KINDS,
    "decide": arguments.OfChoice,
    "declare": arguments.OfKey,
    "enter_round": by_hand.ByHand,
    "revise_round": revising.Revision,
}
"""What every command takes that takes anything; a choice or a key may ask for more."""


def ways(at: Standing, command: str) -> Iterator[Filled]:
    """Ways to give this command; of one without arguments the only one."""
    match command:
        case "place_wager":
            yield from _new_wagers(at)
        case "increase_wager" | "decrease_wager":
            yield from _changes(at)
        case "withdraw_wager":
            yield from _lying(at)
        case "restrict_wagers":
            yield from ({"number": None}, {"number": 1})
        case _:
            yield from filled(at, KINDS.get(command, Args))


def filled(at: Standing, kind: type[Args]) -> Iterator[Filled]:
    """Ways to fill in this kind, beside the choice or the key: what may be left out first is."""
    fields = _fields(kind)
    names = [field.name for field in fields]
    if set(names) >= _OF_A_WAGER:
        yield from _changes(at) if "amount" in names else _lying(at)
        return
    each = [([] if f.required else [None]) + list(_values(at, f)) for f in fields]
    for values in itertools.product(*each):
        given = zip(names, values, strict=True)
        yield {name: value for name, value in given if value is not None}


@functools.cache
def _fields(kind: type[Args]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return tuple(f for f in msgspec.structs.fields(kind) if f.name not in _SAID_ELSEWHERE)


def _values(at: Standing, field: msgspec.structs.FieldInfo) -> Iterable[Any]:
    """What this argument may be, where it is asked for or decides whether all is taken."""
    if literals := _literals(field.type):
        return literals
    if field.name in _BY_NAME:
        return _BY_NAME[field.name](at)
    if not field.required:
        return ()
    return (True,) if field.type is bool else ("-",)


@functools.cache
def _literals(kind: Any) -> tuple[Any, ...]:
    kinds = (kind, *get_args(kind))
    return next((get_args(one) for one in kinds if get_origin(one) is Literal), ())


def _players(at: Standing) -> list[str]:
    """Whoever has a wager or leave to draw, and one who has neither."""
    with_wagers = [held.player for held in at.now.wagers.standing]
    with_leave = [one.id for one in at.now.control.leaves if one.id is not None]
    known = list(dict.fromkeys((*with_wagers, *with_leave)))
    return [*known, next(name for name in map(str, itertools.count(1)) if name not in known)]


def _unseen(at: Standing) -> list[str]:
    """Cards, each of another face, of which the room has not seen all that the decks hold."""
    shoe, faces = at.now.shoe, [card.code for card in at.game.deck.cards]
    if shoe is None:
        return faces
    return [code for code in faces if shoe.shown.get(code, 0) < shoe.decks]


def _hands_of(at: Standing) -> Iterator[str]:
    """So many cards by their codes, from one to as many as there can be."""
    codes = _unseen(at)
    return (" ".join(codes[:n]) for n in range(1, MOST_CARDS + 1))


def _lying(at: Standing) -> Iterator[Filled]:
    for held in at.now.wagers.standing:
        yield {"player": held.player, "seat": held.seat, "wager": held.wager}


def _changes(at: Standing) -> Iterator[Filled]:
    """Each wager that lies there, by as little as can be, and by as much."""
    rules = _rules(at)
    for held, of in zip(at.now.wagers.standing, _lying(at), strict=True):
        spare = held.amount - rules.minimum(held.wager)
        for amount in dict.fromkeys((1, spare, -spare, held.amount)):
            if amount > 0:
                yield {**of, "amount": amount}


def _new_wagers(at: Standing) -> Iterator[Filled]:
    rules = _rules(at)
    players = _players(at) if rules.game.limits.players is not None else _players(at)[-1:]
    for wager, seat, player in itertools.product(rules.offered, rules.seats, players):
        amount = rules.minimum(wager)
        yield {"player": player, "seat": seat, "wager": wager, "amount": amount}


def _rules(at: Standing) -> WagerRules:
    return WagerRules(at.game, at.settings.layout, at.settings.limits)


_BY_NAME: Mapping[str, Callable[[Standing], Iterable[Any]]] = {
    "player": _players,
    "seat": lambda at: _rules(at).seats[:1],
    "index": lambda _: (1, 2, 3),
    "card": lambda at: _unseen(at)[:1],
    "cards": _hands_of,
    "method": lambda at: at.game.methods,
    "what": lambda at: at.now.link.tells,
    "left": lambda _: (0,),
    "burn": lambda _: (0,),
    "key_id": lambda _: (1,),
}
"""By an argument's name: what it may be."""
