"""Cards drawn as one, laid in order: each where one is due, the rest as cards drawn early.

In: the cards in the order drawn, or in one that only people know. Out: cards in their slots.
Must not know: who knows the order, what Players withdrew.
"""

from __future__ import annotations

import msgspec

from firmware_proto.cards import Card

from . import belated, shoe_cards
from .state import Kept
from .turn import Turn

_LAYS = ("closed", "dealing", "revealing", "drawing")


def lay(turn: Turn, lying: tuple[Kept, ...], *, known: bool) -> None:
    """Lay them; where only people know the order no card is known until it lies open."""
    halt = turn.now.halt
    assert halt is not None
    deals = halt.back_to in _LAYS
    for card in lying:
        slot = belated.due_slot(turn) if deals else None
        if slot is None or card.number is None:
            _leave(turn, card, known=known)
        else:
            belated.lay_next(turn, _face(turn, card, known=known), card.number)
    if turn.now.early:
        turn.then("left_over")


def _face(turn: Turn, card: Kept, *, known: bool) -> Card | None:
    if known or card.card is None:
        return card.card
    shoe_cards.forget(turn, card.card)
    return None


def _leave(turn: Turn, card: Kept, *, known: bool) -> None:
    left = msgspec.structs.replace(card, card=_face(turn, card, known=known))
    turn.change(early=(*turn.now.early, left))
