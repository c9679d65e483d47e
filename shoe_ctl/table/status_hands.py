"""What the status says of methods: who holds a hand or the shoe, what is next with a hand.

In: the table's state, its game, its settings. Out: plain values, the public part only: seats,
never who sits there. Must not know: who asks, how it is shown.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from shoe_ctl.games.game import Game
from shoe_ctl.texts.message import Message, message

from . import conduct, methods
from .handling import Player
from .settings import TableSettings
from .state import Round, TableState
from .wagers.limits import WagerRules


class Step(NamedTuple):
    """The command that a hand waits for, and what to do in words."""

    command: str
    says: Message


def held_by(played: Round) -> dict[str, Any]:
    """By hand: the seat that holds it, None while the dealer has it."""
    return {hand: _seat(played.hands.of(hand).holder) for hand in ("player", "banker")}


def shoe_with(now: TableState) -> dict[str, Any] | None:
    """The seat that has the shoe in Method C, None while the dealer has it."""
    return _seat(now.control.holder)


def _seat(holder: Player | None) -> dict[str, Any] | None:
    return None if holder is None else {"seat": holder.seat}


def in_order(played: Round) -> tuple[str, str]:
    """Both hands, the one to be revealed first before the other."""
    return ("banker", "player") if played.hands.first == "banker" else ("player", "banker")


def step_with(hand: str, now: TableState, game: Game, settings: TableSettings) -> Step:
    """What is next with a hand that has cards lying face down."""
    assert now.round is not None
    handling = now.round.hands.of(hand)
    if handling.holder is not None:
        shown = message("next_holder_exposes", player=called(handling.holder), hand=hand)
        return Step("expose", shown)
    opened = any(dealt.revealed for dealt in now.round.cards if dealt.hand == hand)
    if conduct.method(now, settings) != "A" or opened or handling.with_dealer:
        return Step("expose", message("next_expose", hand=hand))
    if not methods.is_fed(now.wagers):
        return Step("expose", message("next_pass_to_highest_wager", hand=hand))
    rules = WagerRules(game, settings.layout, settings.limits)
    due = methods.recipient(now.wagers, hand, handling.refused, rules)
    if due is None:
        return Step("expose", message("next_pit_supervisor_names", hand=hand))
    given = message("next_pass_cards", hand=hand, player=called(due.player))
    return Step("pass_cards", given)


def called(player: Player) -> Message:
    """The Player as everyone at the table may know: by seat, never by id."""
    if player.seat is None:
        return message("player_not_named")
    return message("player_by_seat", seat=player.seat)


def waits_for_a_wager(now: TableState) -> bool:
    """The shoe gives no card: the Player who has it has neither a wager nor leave."""
    return now.state == "closed" and not methods.may_draw(now.control, now.wagers)
