"""A round that is bet on again after the dealing device was reset: its cards, its bets.

In: the table as it stands. Out: hands cleared or kept, betting open, *no more bets* said anew.
Must not know: who decides what becomes of the cards, under which rule.
"""

from __future__ import annotations

from firmware_proto.events import Hello

from . import conduct, passing, shoe_sets, wagering
from .handling import Hands
from .round import unplaced
from .settings import TableSettings
from .state import TableState
from .turn import Turn

# What was seen.


def always(turn: Turn) -> bool:  # noqa: ARG001 - the signature of a condition
    """Whatever the shoe says with it."""
    return True


def is_the_same_set(turn: Turn) -> bool:
    """The shoe holds the set of cards that the round began with."""
    return isinstance(turn.shoe_event, Hello) and not shoe_sets.another_set(turn)


def some_are_exposed(now: TableState, settings: TableSettings) -> bool:
    """A card of the round was seen, or lies face up."""
    cards = () if now.round is None else now.round.cards
    face_up = conduct.faces(now, settings) == "face_up"
    pending = now.pending
    if pending is not None and (pending.seen or face_up):
        return True
    return any(dealt.revealed or face_up for dealt in cards)


# What is done.


def clear_hands(turn: Turn) -> None:
    """The cards of the round are set aside: they stay counted, and are in no hand."""
    unplaced.drop_roles(turn, "held", "pending")
    turn.set_round(
        cards=(), due=None, totals_announced=False, result=None, complete_us=None, hands=Hands()
    )


def bet_again(turn: Turn) -> None:
    """Players may wager again; what was not withdrawn stands (5.9).

    Hands that Players hold are taken back: they go by the wagers as they stand after that.
    """
    for hand in ("player", "banker"):
        passing.take_back(turn, hand, turn.game.rule("device_reset", "reset"))
    wagering.open_bets(turn)


def place_cards_drawn_before(turn: Turn) -> None:
    """Where *no more bets* is said anew, the cards that lie there are the round's first."""
    if turn.round.cards:
        turn.then("cards_placed")
