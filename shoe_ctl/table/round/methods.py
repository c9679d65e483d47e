"""The method of dealing (A, B or C): who chooses it, and the change to another.

In: the method that is asked for. Out: method.changed; the shoe back with the dealer.
Must not know: how hands or the shoe pass to Players, which state takes the command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoe_ctl.games.game import Game
from shoe_ctl.table import positions
from shoe_ctl.table.arguments import NoArgs, Possible, require_args
from shoe_ctl.table.round import shoe_holder
from shoe_ctl.table.turn import Turn
from shoe_ctl.texts.message import Message, message


class ChosenMethod(NoArgs, frozen=True, kw_only=True):
    """The method to change to."""

    method: str
    """Its letter."""


# Conditions.


def check_change(turn: Turn, args: ChosenMethod | None) -> Message | None:
    """Return why the method cannot be changed: none such, in force already, or not for this area.

    Without arguments: why it cannot be changed to any method.
    """
    game = turn.game
    if not game.methods:
        return message("refused_game_has_no_methods", game=game.id)
    if args is None:
        found = {name: _check_method(turn, name) for name in game.methods}
        if None in found.values():
            return None
        return message("refused_each", reasons=list(found.values()))
    if args.method not in game.methods:
        why = message(
            "refused_no_such_method", game=game.id, method=args.method, methods=list(game.methods)
        )
        return why.citing(game.clause("methods"))
    return _check_method(turn, args.method)


def methods_to_change_to(turn: Turn) -> Possible:
    """Return the methods that the table can change to now."""
    return {"method": [name for name in turn.game.methods if _check_method(turn, name) is None]}


def _check_method(turn: Turn, method: str) -> Message | None:
    """Return why the table cannot change to this method of the game."""
    if method == turn.method:
        return message("refused_method_in_force", method=method)
    chosen = turn.game.methods[method]
    if chosen.areas and turn.settings.area not in chosen.areas:
        why = message(
            "refused_method_not_here",
            method=method, areas=list(chosen.areas), area=turn.settings.area,
        )  # fmt: skip
        return why.citing(chosen.chosen_under)
    return None


def chosen_by(game: Game, args: Mapping[str, Any]) -> str | None:
    """Return the position that chooses the named method, or None if the game does not have it."""
    chosen = game.methods.get(str(args.get("method")))
    return None if chosen is None else chosen.chosen_by


def lowest_that_chooses(turn: Turn) -> str:
    """Return the lowest position that chooses a method the table can change to now."""
    game = turn.game
    ways = [game.methods[name].chosen_by for name in game.methods if not _check_method(turn, name)]
    return min(ways, key=positions.POSITIONS.index)


def rule_of_choice(turn: Turn, args: ChosenMethod) -> str | None:
    """Return the rule that leaves the choice of this method to a person's discretion."""
    return turn.game.methods[args.method].chosen_under


# Actions.


def change_method(turn: Turn) -> None:
    """Change the method from the next round on. The shoe goes back to the dealer."""
    method = require_args(turn, ChosenMethod).method
    former, rule = turn.method, turn.game.methods[method].chosen_under
    data = {"from": former, "to": method, "rule": rule}
    shoe_holder.end_method_c(turn, turn.game.clause("device_control"))
    turn.change(method=method)
    turn.emit("method.changed", data)
