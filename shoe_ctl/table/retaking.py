"""A card that is in the shoe again: it leaves the place where it lay, and the ledger.

In: the number of its draw. Out: where it lies; the place free, the card counted as not drawn.
Must not know: why it went back, who decides so.
"""

from __future__ import annotations

from . import pulls, shoe_cards
from .round import unplaced
from .slots import INITIAL_DEAL
from .state import CardOnTable, Opened, TableState, UnplacedCard
from .turn import Turn


def find(now: TableState, number: int) -> CardOnTable | None:
    """The card of this draw, where it lies in the round or as one drawn early."""
    dealt = () if now.round is None else now.round.cards
    lying: list[CardOnTable] = [*dealt, *now.early]
    return next((card for card in lying if card.number == number), None)


def waits_for(now: TableState, card: CardOnTable) -> Opened | None:
    """What waits beside the round because of this card."""
    return next((opened for opened in now.waiting if opened.subject == card.subject), None)


def take_out(turn: Turn, card: CardOnTable) -> None:
    """Its place is free; a third card is due again."""
    _forget(turn, card)
    if isinstance(card, UnplacedCard):
        unplaced.drop_cards(turn, (card,))
        return
    due = None if (card.hand, card.index) in INITIAL_DEAL else card.hand
    cards = tuple(dealt for dealt in turn.round.cards if dealt is not card)
    turn.set_round(cards=cards, due=due)


def take_out_all(turn: Turn) -> None:
    """The round is void: those of its cards that are in the shoe again leave the ledger."""
    for number in turn.shoe.pushed_back:
        if (card := find(turn.now, number)) is not None:
            _forget(turn, card)


def leave_all(turn: Turn) -> None:
    """It is ruled that they lie where they lie."""
    turn.set_shoe(pushed_back=())


def _forget(turn: Turn, card: CardOnTable) -> None:
    shoe = turn.shoe
    turn.set_shoe(pushed_back=tuple(number for number in shoe.pushed_back if number != card.number))
    if card.number is not None and card.number <= shoe.drawn:
        pulls.give_up(turn, card.number)
        shoe_cards.take_back(turn, card.card)
