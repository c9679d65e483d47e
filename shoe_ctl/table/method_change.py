"""The method of the round, changed before a round begins (N/T/I 3.9.2, F 3.8.2).

In: change_method. Out: method.changed, and the shoe back with the dealer where it was a Player's.
Must not know: how a method is played.
"""

from __future__ import annotations

from shoe_ctl.texts.message import Message, message

from . import shoe_control
from .arguments import Args, by_whom, checked, lacks_reason, read
from .turn import Turn


class WhichMethod(Args, frozen=True, kw_only=True):
    """The method to change to."""

    method: str


def why_not_change(turn: Turn) -> Message | None:
    """What stands against the change: no such method, in force already, not in this area."""
    game, args = turn.game, read(turn, WhichMethod)
    if isinstance(args, Message):
        return args
    if not game.methods:
        return message("refused_game_has_no_methods", game=game.id)
    chosen = game.methods.get(args.method)
    if chosen is None:
        why = message(
            "refused_no_such_method", game=game.id, method=args.method, methods=list(game.methods)
        )
        return why.citing(game.clause("methods"))
    if args.method == turn.method:
        return message("refused_method_in_force", method=args.method)
    if chosen.areas and turn.settings.area not in chosen.areas:
        why = message(
            "refused_method_not_here",
            method=args.method, areas=list(chosen.areas), area=turn.settings.area,
        )  # fmt: skip
        return why.citing(chosen.chosen_under)
    return lacks_reason(turn, chosen.chosen_under)


def change_method(turn: Turn) -> None:
    """From the next round on; the shoe goes back to the dealer, leaves to draw are over."""
    method = checked(turn, WhichMethod).method
    former, rule = turn.method, turn.game.methods[method].chosen_under
    data = {"from": former, "to": method, "rule": rule}
    shoe_control.end(turn, turn.game.clause("device_control"))
    turn.change(method=method)
    turn.tell("method.changed", data, restricted={**data, **by_whom(turn)})
