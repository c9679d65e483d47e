"""The method of the round, changed before a round begins (N/T/I 3.9.2, F 3.8.2).

In: change_method. Out: method.changed, and the shoe back with the dealer where it was a Player's.
Must not know: how a method is played.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoe_ctl.games.game import Game
from shoe_ctl.texts.message import Message, message

from . import positions, shoe_control
from .arguments import Args, by_whom, checked
from .turn import Turn


class ChosenMethod(Args, frozen=True, kw_only=True):
    """The method to change to."""

    method: str


def check_change(turn: Turn, args: ChosenMethod | None) -> Message | None:
    """What stands against the change: no such method, in force already, not in this area."""
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


def _check_method(turn: Turn, method: str) -> Message | None:
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
    """The position that chooses the method that is named; None where the game has no such one."""
    chosen = game.methods.get(str(args.get("method")))
    return None if chosen is None else chosen.chosen_by


def lowest_that_chooses(turn: Turn) -> str:
    """The lowest position that chooses a method that the table can change to now."""
    game = turn.game
    ways = [game.methods[name].chosen_by for name in game.methods if not _check_method(turn, name)]
    return min(ways, key=positions.POSITIONS.index)


def rule_of_choice(turn: Turn, args: ChosenMethod) -> str | None:
    """The rule that leaves the choice of this method to somebody's discretion."""
    return turn.game.methods[args.method].chosen_under


def change_method(turn: Turn) -> None:
    """From the next round on; the shoe goes back to the dealer, leaves to draw are over."""
    method = checked(turn, ChosenMethod).method
    former, rule = turn.method, turn.game.methods[method].chosen_under
    data = {"from": former, "to": method, "rule": rule}
    shoe_control.end(turn, turn.game.clause("device_control"))
    turn.change(method=method)
    turn.tell("method.changed", data, restricted={**data, **by_whom(turn)})
