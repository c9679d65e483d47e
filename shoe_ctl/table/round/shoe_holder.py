"""The holder of the shoe in Method C: offered to a Player, given back or lost; leave to draw.

In: offers, leaves, the shoe given back, a lost wager. Out: shoe.holder_changed .draw_allowed,
method.breached.
Must not know: cards, how a hand is exposed, which state takes a command.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from shoe_ctl.games.wagers import Settlement
from shoe_ctl.table.arguments import NamedPlayer, NoArgs, find_player, require_args
from shoe_ctl.table.round import entitlement
from shoe_ctl.table.state import Declaration
from shoe_ctl.table.turn import Turn
from shoe_ctl.texts.message import Message, message


class ControlEnd(NoArgs, frozen=True, kw_only=True):
    """Why a Player's control of the shoe ends."""

    because: Literal["relinquished", "wager_lost"] = "relinquished"
    """``wager_lost`` is said by staff where wagers are not recorded."""


# Conditions. Each check takes the arguments, or None: then it answers for any arguments.


def check_offer(turn: Turn, args: NamedPlayer | None) -> Message | None:
    """Return why this Player cannot take the shoe."""
    if (why := check_player_named(turn, args)) is not None:
        return why
    control, wagers = turn.now.control, turn.now.wagers
    if control.holder is not None:
        why = message("refused_shoe_is_held", player=control.holder.named)
        return why.citing(_clause(turn, "relinquished"))
    if args is None:
        return _check_anyone_may_draw(turn)
    taker = find_player(turn, args)
    if entitlement.has_wager_feed(wagers) and taker.id is None:
        return message("refused_name_player_by_id")
    if wagers.betting != "closed" or entitlement.has_wager(taker, wagers):
        return None
    if entitlement.has_leave(taker, control):
        return None
    why = message("refused_draws_without_wager", player=taker.named)
    return why.citing(_clause(turn, "without_wager"))


def _check_anyone_may_draw(turn: Turn) -> Message | None:
    """Return, after *no more bets*, that no recorded Player has a wager or leave."""
    control, wagers = turn.now.control, turn.now.wagers
    if wagers.betting != "closed" or not entitlement.has_wager_feed(wagers):
        return None
    if any(held.amount for held in wagers.standing) or any(one.id for one in control.leaves):
        return None
    why = message("refused_nobody_has_wager")
    return why.citing(_clause(turn, "without_wager"))


def check_leave(turn: Turn, args: NamedPlayer | None) -> Message | None:
    """Return why this Player cannot get leave to draw without a wager."""
    if (why := check_player_named(turn, args)) is not None or args is None:
        return why
    if entitlement.has_leave(find_player(turn, args), turn.now.control):
        return message("refused_has_leave")
    return None


def check_holder(turn: Turn, _args: object = None) -> Message | None:
    """Return that no Player has the shoe."""
    why = check_method(turn)
    if why is None and turn.now.control.holder is None:
        return message("refused_shoe_with_dealer")
    return why


def check_player_named(turn: Turn, args: NamedPlayer | None) -> Message | None:
    """Return that no Player can be given the shoe, or that the command names none."""
    why = check_method(turn)
    if why is None and args is not None and not args.is_named:
        return message("refused_name_player")
    return why


def check_method(turn: Turn, _args: object = None) -> Message | None:
    """Return that in the method in force no Player is given the shoe, with the rule."""
    if turn.method == "C":
        return None
    if turn.method is None or not turn.game.methods:
        return message("refused_no_shoe_in_game", game=turn.game.id)
    why = message("refused_no_shoe_in_method", method=turn.method)
    return why.citing(turn.game.clause("device_control"))


def loses_control(turn: Turn, settlement: Settlement) -> bool:
    """True if the Player who has the shoe loses a Player or Banker wager of this round."""
    holder = turn.now.control.holder
    return holder is not None and entitlement.loses_wager(
        holder, turn.now.wagers, settlement, turn.wager_rules
    )


def _clause(turn: Turn, name: str) -> str | None:
    """Return the rule number of a clause of Method C."""
    return turn.game.methods["C"].clauses[name]


# Actions.


def offer_shoe(turn: Turn) -> None:
    """Give the shoe to a Player, until they give it back or their wager loses."""
    taker = find_player(turn, require_args(turn, NamedPlayer))
    turn.change(control=msgspec.structs.replace(turn.now.control, holder=taker))
    data = {"holder": "player", "seat": taker.seat, "rule": _clause(turn, "player_draws")}
    secret = {"player": taker.id}
    turn.emit("shoe.holder_changed", data, restricted={**data, **secret})


def relinquish_shoe(turn: Turn) -> None:
    """Return the shoe to the dealer as staff say: given back, or a wager lost."""
    ended = require_args(turn, ControlEnd).because
    return_to_dealer(turn, _clause(turn, ended), because=ended)


def lose_control(turn: Turn) -> None:
    """Return the shoe to the dealer: the wager of its holder lost (N/T 3.12.8.2, F 3.11.8.2)."""
    return_to_dealer(turn, _clause(turn, "wager_lost"), because="wager_lost")


def return_to_dealer(turn: Turn, rule: str | None, **secret: str | None) -> None:
    """Return the shoe to the dealer, and end the leave of the Player who had it."""
    control = turn.now.control
    former = control.holder
    assert former is not None
    leaves = tuple(one for one in control.leaves if not entitlement.is_same_player(one, former))
    turn.change(control=msgspec.structs.replace(control, holder=None, leaves=leaves))
    data = {"holder": "dealer", "seat": None, "rule": rule}
    turn.emit("shoe.holder_changed", data, restricted={**data, "from": former.id, **secret})


def allow_without_wager(turn: Turn) -> None:
    """Give a Player leave to draw without a wager (N/T 3.12.2, F 3.11.2).

    It ends with the control of the shoe that it is for.
    """
    allowed = find_player(turn, require_args(turn, NamedPlayer))
    control = turn.now.control
    leaves = (*control.leaves, allowed)
    turn.change(control=msgspec.structs.replace(control, leaves=leaves))
    data = {"seat": allowed.seat, "rule": _clause(turn, "without_wager")}
    turn.emit("shoe.draw_allowed", data, restricted={**data, "player": allowed.id})


def declare_out_of_view(turn: Turn) -> None:
    """Record that the shoe was out of full view (N/T 3.12.4, F 3.11.4). Play goes on."""
    holder = turn.now.control.holder
    assert holder is not None
    data = {"seat": holder.seat, "rule": _clause(turn, "full_view")}
    seen = message("seen_out_of_view").as_data()
    more = {"player": holder.id, "seen": seen}
    instance = turn.open_instance()
    turn.emit("method.breached", data, restricted={**data, **more}, instance=instance)
    assert instance.public is not None, "the room is told of it"
    noted = Declaration(number=instance.public, key="out_of_view", by="dealer")
    turn.change(declarations=(*turn.now.declarations, noted))


def end_method_c(turn: Turn, rule: str | None) -> None:
    """Return the shoe to the dealer and end all leaves, as Method C ends."""
    if turn.now.control.holder is not None:
        return_to_dealer(turn, rule, because="method_changed")
    turn.change(control=msgspec.structs.replace(turn.now.control, leaves=()))
