"""The shoe in Players' hands, in Method C: who controls it, when that ends, leave to draw.

In: offers, leaves, what is given back, a lost wager. Out: shoe.holder_changed .draw_allowed,
method.breached. Must not know: cards, how a hand is exposed, which state takes a command.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from shoe_ctl.games.game import Settlement
from shoe_ctl.texts.message import Message, message

from . import methods
from .arguments import Args, NamedPlayer, by_whom, checked, player
from .turn import Turn


class ControlEnd(Args, frozen=True, kw_only=True):
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
    taker = player(turn, args)
    if methods.is_fed(wagers) and taker.id is None:
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
    if wagers.betting != "closed" or not methods.is_fed(wagers):
        return None
    if any(held.amount for held in wagers.standing) or any(one.id for one in control.leaves):
        return None
    why = message("refused_nobody_has_wager")
    return why.citing(_clause(turn, "without_wager"))


def check_leave(turn: Turn, args: NamedPlayer | None) -> Message | None:
    """What stands against the leave to draw without a wager: a leave that was given already."""
    if (why := check_named(turn, args)) is not None or args is None:
        return why
    if methods.has_leave(player(turn, args), turn.now.control):
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


def offer(turn: Turn) -> None:
    """A Player takes the shoe, and has it until they give it back or their wager loses."""
    taker = player(turn, checked(turn, NamedPlayer))
    turn.change(control=msgspec.structs.replace(turn.now.control, holder=taker))
    data = {"holder": "player", "seat": taker.seat, "rule": _clause(turn, "player_draws")}
    secret = {"player": taker.id, **by_whom(turn)}
    turn.tell("shoe.holder_changed", data, restricted={**data, **secret})


def relinquish(turn: Turn) -> None:
    """The shoe is back with the dealer: given up, or the wager lost where none is recorded."""
    ended = checked(turn, ControlEnd).because
    give_back(turn, _clause(turn, ended), because=ended, **by_whom(turn))


def allow(turn: Turn) -> None:
    """Leave to draw without a wager (N/T 3.12.2, F 3.11.2), as long as the control it is for."""
    allowed = player(turn, checked(turn, NamedPlayer))
    control = turn.now.control
    leaves = (*control.leaves, allowed)
    turn.change(control=msgspec.structs.replace(control, leaves=leaves))
    data = {"seat": allowed.seat, "rule": _clause(turn, "without_wager")}
    turn.tell("shoe.draw_allowed", data, restricted={**data, "player": allowed.id, **by_whom(turn)})


def declare_out_of_view(turn: Turn) -> None:
    """The shoe was out of the staff's full view (N/T 3.12.4, F 3.11.4): recorded, play goes on."""
    holder = turn.now.control.holder
    assert holder is not None
    data = {"seat": holder.seat, "rule": _clause(turn, "full_view")}
    seen = message("seen_out_of_view").as_data()
    more = {"player": holder.id, "seen": seen, **by_whom(turn)}
    turn.tell("method.breached", data, restricted={**data, **more})


def loses_shoe(turn: Turn, settlement: Settlement) -> bool:
    """The Player who has the shoe loses a Player or Banker wager of this round."""
    holder = turn.now.control.holder
    return holder is not None and methods.loses(
        holder, turn.now.wagers, settlement, turn.wager_rules
    )


def lose_shoe(turn: Turn) -> None:
    """The wager of the Player who had the shoe lost (N/T 3.12.8.2, F 3.11.8.2)."""
    give_back(turn, _clause(turn, "wager_lost"), because="wager_lost")


def end(turn: Turn, rule: str | None) -> None:
    """Method C is over: the shoe is the dealer's, and no leave holds."""
    if turn.now.control.holder is not None:
        give_back(turn, rule, because="method_changed")
    turn.change(control=msgspec.structs.replace(turn.now.control, leaves=()))


def give_back(turn: Turn, rule: str | None, **secret: str | None) -> None:
    """The shoe is the dealer's again; the leave that went with it is over."""
    control = turn.now.control
    former = control.holder
    assert former is not None
    leaves = tuple(one for one in control.leaves if not methods.is_same(one, former))
    turn.change(control=msgspec.structs.replace(control, holder=None, leaves=leaves))
    data = {"holder": "dealer", "seat": None, "rule": rule}
    turn.tell("shoe.holder_changed", data, restricted={**data, "from": former.id, **secret})
