"""The shoe in Players' hands, in Method C: who controls it, when that ends, leave to draw.

In: offers, leaves, what is given back, a lost wager. Out: shoe.holder_changed .draw_allowed,
method.breached. Must not know: cards, how a hand is exposed, which state takes a command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from shoe_ctl.games.game import Game, Settlement
from shoe_ctl.texts.message import Message, message

from .. import positions
from ..arguments import NamedPlayer, NoArgs, find_player, require_args
from ..turn import Turn
from . import methods


class ControlEnd(NoArgs, frozen=True, kw_only=True):
    """Why the Player's control of the shoe ends."""

    because: Literal["relinquished", "wager_lost"] = "relinquished"


# What was seen. Each check is asked with the arguments, or with none: of whatever is given.


def check_offer(turn: Turn, args: NamedPlayer | None) -> Message | None:
    """What stands against this Player's taking the shoe."""
    if (why := check_named(turn, args)) is not None:
        return why
    control, wagers = turn.now.control, turn.now.wagers
    if control.holder is not None:
        why = message("refused_shoe_is_held", player=control.holder.named)
        return why.citing(_clause(turn, "relinquished"))
    if args is None:
        return _check_anyone_may_draw(turn)
    taker = find_player(turn, args)
    if methods.has_wager_feed(wagers) and taker.id is None:
        return message("refused_name_player_by_id")
    if wagers.betting != "closed" or methods.has_wager(taker, wagers):
        return None
    if methods.has_leave(taker, control):
        return None
    why = message("refused_draws_without_wager", player=taker.named)
    return why.citing(_clause(turn, "without_wager"))


def _check_anyone_may_draw(turn: Turn) -> Message | None:
    """After *no more bets* that no Player has a wager or leave; where wagers are recorded."""
    control, wagers = turn.now.control, turn.now.wagers
    if wagers.betting != "closed" or not methods.has_wager_feed(wagers):
        return None
    if any(held.amount for held in wagers.standing) or any(one.id for one in control.leaves):
        return None
    why = message("refused_nobody_has_wager")
    return why.citing(_clause(turn, "without_wager"))


def check_leave(turn: Turn, args: NamedPlayer | None) -> Message | None:
    """What stands against the leave to draw without a wager: a leave that was given already."""
    if (why := check_named(turn, args)) is not None or args is None:
        return why
    if methods.has_leave(find_player(turn, args), turn.now.control):
        return message("refused_has_leave")
    return None


def check_holder(turn: Turn, _args: object = None) -> Message | None:
    """That no Player has the shoe."""
    out = check_method(turn)
    if out is None and turn.now.control.holder is None:
        return message("refused_shoe_with_dealer")
    return out


def check_named(turn: Turn, args: NamedPlayer | None) -> Message | None:
    """What stands against any Player, or that none is named."""
    out = check_method(turn)
    if out is None and args is not None and not args.is_named:
        return message("refused_name_player")
    return out


def check_method(turn: Turn, _args: object = None) -> Message | None:
    """Only in Method C does a Player have the shoe; in the others the dealer keeps it."""
    if turn.method == "C":
        return None
    if turn.method is None or not turn.game.methods:
        return message("refused_no_shoe_in_game", game=turn.game.id)
    why = message("refused_no_shoe_in_method", method=turn.method)
    return why.citing(turn.game.clause("device_control"))


def _clause(turn: Turn, name: str) -> str | None:
    return turn.game.methods["C"].clauses[name]


# What is done.


def offer_shoe(turn: Turn) -> None:
    """A Player takes the shoe, and has it until they give it back or their wager loses."""
    taker = find_player(turn, require_args(turn, NamedPlayer))
    turn.change(control=msgspec.structs.replace(turn.now.control, holder=taker))
    data = {"holder": "player", "seat": taker.seat, "rule": _clause(turn, "player_draws")}
    secret = {"player": taker.id, **turn.actor()}
    turn.tell("shoe.holder_changed", data, restricted={**data, **secret})


def relinquish_shoe(turn: Turn) -> None:
    """The shoe is back with the dealer: given up, or the wager lost where none is recorded."""
    ended = require_args(turn, ControlEnd).because
    return_to_dealer(turn, _clause(turn, ended), because=ended, **turn.actor())


def allow_without_wager(turn: Turn) -> None:
    """Leave to draw without a wager (N/T 3.12.2, F 3.11.2), as long as the control it is for."""
    allowed = find_player(turn, require_args(turn, NamedPlayer))
    control = turn.now.control
    leaves = (*control.leaves, allowed)
    turn.change(control=msgspec.structs.replace(control, leaves=leaves))
    data = {"seat": allowed.seat, "rule": _clause(turn, "without_wager")}
    turn.tell("shoe.draw_allowed", data, restricted={**data, "player": allowed.id, **turn.actor()})


def declare_out_of_view(turn: Turn) -> None:
    """The shoe was out of the staff's full view (N/T 3.12.4, F 3.11.4): recorded, play goes on."""
    holder = turn.now.control.holder
    assert holder is not None
    data = {"seat": holder.seat, "rule": _clause(turn, "full_view")}
    seen = message("seen_out_of_view").as_data()
    more = {"player": holder.id, "seen": seen, **turn.actor()}
    turn.tell("method.breached", data, restricted={**data, **more})


def loses_control(turn: Turn, settlement: Settlement) -> bool:
    """The Player who has the shoe loses a Player or Banker wager of this round."""
    holder = turn.now.control.holder
    return holder is not None and methods.loses_wager(
        holder, turn.now.wagers, settlement, turn.wager_rules
    )


def lose_control(turn: Turn) -> None:
    """The wager of the Player who had the shoe lost (N/T 3.12.8.2, F 3.11.8.2)."""
    return_to_dealer(turn, _clause(turn, "wager_lost"), because="wager_lost")


def end_method_c(turn: Turn, rule: str | None) -> None:
    """Method C is over: the shoe is the dealer's, and no leave holds."""
    if turn.now.control.holder is not None:
        return_to_dealer(turn, rule, because="method_changed")
    turn.change(control=msgspec.structs.replace(turn.now.control, leaves=()))


def return_to_dealer(turn: Turn, rule: str | None, **secret: str | None) -> None:
    """The shoe is the dealer's again; the leave that went with it is over."""
    control = turn.now.control
    former = control.holder
    assert former is not None
    leaves = tuple(one for one in control.leaves if not methods.is_same_player(one, former))
    turn.change(control=msgspec.structs.replace(control, holder=None, leaves=leaves))
    data = {"holder": "dealer", "seat": None, "rule": rule}
    turn.tell("shoe.holder_changed", data, restricted={**data, "from": former.id, **secret})


class ChosenMethod(NoArgs, frozen=True, kw_only=True):
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
    method = require_args(turn, ChosenMethod).method
    former, rule = turn.method, turn.game.methods[method].chosen_under
    data = {"from": former, "to": method, "rule": rule}
    end_method_c(turn, turn.game.clause("device_control"))
    turn.change(method=method)
    turn.tell("method.changed", data, restricted={**data, **turn.actor()})
