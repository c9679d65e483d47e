"""What people may answer at a table, with arguments that can be valid, from the form alone.

In: a table as it stands. Out: commands, one for each choice and each way to fill in what it takes.
Must not know: any particular irregularity, what a choice does.
"""

from __future__ import annotations

import itertools
import typing
from collections.abc import Iterator
from typing import Any

import msgspec

from shoe_ctl.games.game import Game
from shoe_ctl.table import positions
from shoe_ctl.table.arguments import NoArgs
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.settings import TableSettings
from shoe_ctl.table.state import TableState
from shoe_ctl.table.turn import TableView

PLAYERS = ("ann", "ben")
SEATS = (3, 5)
WAGER = ("player", "seat", "wager")
MOST_CARDS = 6
"""More cards are never named at once: two hands of three."""


class At(TableView):
    """A table for whoever only reads it, with every procedure."""

    def __init__(self, now: TableState, game: Game, settings: TableSettings) -> None:
        super().__init__(now, game, settings, PROCEDURES)


def decisions(at: At) -> Iterator[dict[str, Any]]:
    """Each choice that is offered now: its arguments, and the lowest position that takes it."""
    for choice in stack.offered_choices(at):
        position = stack.lowest_position(choice, at.game)
        for args in filled(at, choice.arguments):
            by = positions.who_decides(at.game) if args.get("against_reading") else position
            yield {"choice": choice.name, "position": by, **args}


def declarations(at: At) -> Iterator[dict[str, Any]]:
    """Each irregularity that is declared at all, in each way."""
    for key, procedure in PROCEDURES.items():
        if procedure.declared is not None:
            for args in filled(at, procedure.declared.takes):
                yield {"key": key, "position": procedure.declared.by, **args}


def found_on_the_layout(at: At) -> Iterator[dict[str, Any]]:
    """What may be declared of wagers that lie there: more than the maximum, or some of it late."""
    for held in at.now.wagers.standing:
        of = {"player": held.player, "seat": held.seat, "wager": held.wager}
        most = at.settings.limits.of(held.wager)[1]
        if most is not None:
            lies = max(most, held.chips) + 1
            yield {"key": "over_maximum", "position": "dealer", **of, "amount": lies}
        yield {"key": "late_wager", "position": "dealer", **of, "amount": 100}


def filled(at: At, kind: type[NoArgs]) -> Iterator[dict[str, Any]]:
    """Each way to fill in what is taken beside the choice or the key; what may be left out, is."""
    fields = [f for f in msgspec.structs.fields(kind) if f.name not in ("choice", "key")]
    names = [f.name for f in fields]
    if set(WAGER) <= set(names):
        yield from _of_wagers(at, names)
        return
    ways = [([None] if not f.required else []) + list(_values(at, f.name, f.type)) for f in fields]
    for values in itertools.product(*ways):
        given = zip(names, values, strict=True)
        yield {name: value for name, value in given if value is not None}


def _of_wagers(at: At, names: list[str]) -> Iterator[dict[str, Any]]:
    """Each wager that lies there, and a new one, by little or by much."""
    lying = [(w.player, w.seat, w.wager, w.amount) for w in at.now.wagers.standing]
    for player, seat, wager, amount in lying or [(PLAYERS[0], SEATS[0], "player", 0)]:
        of = dict(zip(WAGER, (player, seat, wager), strict=True))
        if "amount" not in names:
            yield of
            continue
        for some in sorted({1, 100, 400, amount // 2, amount} - {0}):
            yield {**of, "amount": some}


def _values(at: At, name: str, kind: Any) -> Iterator[Any]:
    literals = [typing.get_args(kind), *map(typing.get_args, typing.get_args(kind))]
    strings = [value for values in literals for value in values if isinstance(value, str)]
    match name:
        case "card":
            yield from spares(at)[:1]
        case "player":
            yield from dict.fromkeys((*(w.player for w in at.now.wagers.standing), PLAYERS[0]))
        case "seat":
            yield from dict.fromkeys((*(w.seat for w in at.now.wagers.standing), SEATS[0]))
        case "index":
            yield from (1, 2, 3)
        case _ if strings:
            yield from strings
        case _ if bool in (kind, *typing.get_args(kind)):
            yield True
        case _:  # as many cards as are asked for
            spare = spares(at)
            yield from (" ".join(spare[:n]) for n in range(1, MOST_CARDS + 1) if len(spare) >= n)


def spares(at: At) -> list[str]:
    """Cards that the shoe still holds, each of another face."""
    shoe, faces = at.now.shoe, [card.code for card in at.game.deck.cards]
    if shoe is None:
        return faces
    return [code for code in faces if shoe.counts.get(code, 0) < shoe.decks]
