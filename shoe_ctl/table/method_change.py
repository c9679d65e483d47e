"""The method of the round, changed before a round begins (N/T/I 3.9.2, F 3.8.2).

In: change_method. Out: method.changed, and the shoe back with the dealer where it was a Player's.
Must not know: how a method is played.
"""

from __future__ import annotations

from . import shoe_control
from .arguments import Args, by_whom, checked, cite, lacks_reason, read
from .turn import Turn


class WhichMethod(Args, frozen=True, kw_only=True):
    """The method to change to."""

    method: str


def why_not_change(turn: Turn) -> str | None:
    """What stands against the change: no such method, in force already, not in this area."""
    game, args = turn.game, read(turn, WhichMethod)
    if isinstance(args, str):
        return args
    if not game.methods:
        return f"{game.id} has no methods to choose from"
    chosen = game.methods.get(args.method)
    if chosen is None:
        have = ", ".join(game.methods)
        return cite(f"{game.id} has no Method {args.method}, it has {have}", game.clause("methods"))
    if args.method == turn.method:
        return f"Method {args.method} is in force"
    if chosen.areas and turn.settings.area not in chosen.areas:
        where = " and ".join(chosen.areas)
        why = f"Method {args.method} is for {where}, and this table stands in {turn.settings.area}"
        return cite(why, chosen.chosen_under)
    return lacks_reason(turn, chosen.chosen_under)


def change_method(turn: Turn) -> None:
    """From the next round on; the shoe goes back to the dealer, leaves to draw are over."""
    method = checked(turn, WhichMethod).method
    former, rule = turn.method, turn.game.methods[method].chosen_under
    data = {"from": former, "to": method, "rule": rule}
    shoe_control.end(turn, turn.game.clause("device_control"))
    turn.change(method=method)
    turn.tell("method.changed", data, restricted={**data, **by_whom(turn)})
