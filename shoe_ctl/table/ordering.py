"""Cards drawn as one, laid in order: each where one is due, the rest as cards drawn early.

In: the cards in the order drawn, or in one that only people know. Out: cards in their slots.
Must not know: who knows the order, what Players withdrew.
"""

from __future__ import annotations

import itertools
from typing import TypeVar

import msgspec

from . import belated, early, pulls
from .round import unplaced
from .slots import INITIAL_DEAL
from .state import CardOnTable, DealtCard, TableState, UnplacedCard
from .turn import Turn

_Lying = TypeVar("_Lying", DealtCard, UnplacedCard)
_LAYS = ("closed", "dealing", "revealing", "drawing")

# What was seen.


def drawn_last(now: TableState, count: int) -> tuple[CardOnTable, ...]:
    """So many cards of the round, or drawn early in it: those drawn last, in the order drawn.

    One that a shoe only objected to so far is not out of it.
    """
    if now.round is None:
        return ()
    early = [kept for kept in now.early if kept.number is not None and kept.counted]
    lying: list[CardOnTable] = [*now.round.cards, *early]
    numbers = itertools.accumulate(map(unplaced.draw_of, lying[: len(now.round.cards)]), _behind)
    keys = [*numbers, *map(unplaced.draw_of, early)]
    in_order = sorted(zip(keys, lying, strict=True), key=lambda each: each[0])
    return tuple(card for _, card in in_order)[-count:]


def is_of_the_deal(card: CardOnTable) -> bool:
    """It is one of the first four."""
    return isinstance(card, DealtCard) and (card.hand, card.index) in INITIAL_DEAL


def _behind(before: int, number: int) -> int:
    """Where a card lies among the draws: one that the shoe did not count, behind the one before."""
    return number if number > 0 else before


# What is done.


def lay(turn: Turn, lying: tuple[UnplacedCard, ...], of_no_order: frozenset[int]) -> None:
    """Lay them in this order; those of draws that the shoe has in none are known to nobody."""
    halt, played = turn.now.halt, turn.now.round
    assert halt is not None
    deals = halt.back_to in _LAYS
    if deals and played is not None and not played.cards and turn.now.opening:
        early.deal_opening(turn)
    pulls.begin(turn, tuple(one for one in lying if one.number in of_no_order))
    ordered = tuple(_unknown(one) if one.number in of_no_order else one for one in lying)
    # Cards drawn early before them go first, and their turn has not come.
    left = belated.lay_all(turn, ordered) if deals and not turn.now.early else ordered
    unplaced.move_cards(turn, left, "early")
    if turn.now.early:
        turn.then("left_over")


def forget(turn: Turn, lying: tuple[CardOnTable, ...]) -> None:
    """Which of these is which nobody knows any more: each is entered when it lies open."""
    of = {card.number for card in lying}
    pulls.begin(turn, lying)
    cards = tuple(_unknown(d) if d.number in of else d for d in turn.round.cards)
    turn.set_round(cards=cards)
    for card in turn.now.early:
        if card.number in of:
            unplaced.change_card(turn, card, card=None)
    turn.then("card_unread")


def _unknown(lying: _Lying) -> _Lying:
    return msgspec.structs.replace(lying, card=None)
