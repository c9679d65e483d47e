"""Cards drawn ahead: drawn for the open round before they are due, and laid aside (5.11.1).

In: cards drawn to be laid aside. Out: cards of the role ``ahead``; the third card that is due is
taken from them.
Must not know: why cards are drawn ahead, which step asks for them.
"""

from __future__ import annotations

from firmware_proto.cards import Card
from firmware_proto.events import CardsDrawn
from shoe_ctl.table.round import card_check, deal, reveal, unordered_cards
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.shoe import unplaced
from shoe_ctl.table.state import ASIDE
from shoe_ctl.table.turn import Turn

MOST_CARDS_AHEAD = 2
"""A round has at most two cards after its initial deal."""


# Conditions.


def is_next_card(turn: Turn) -> bool:
    """True if the drawn card may be the next of this shoe; it may be unread."""
    drawn = turn.drawn
    if drawn.armed is False or not card_check.may_be_of_decks(turn):
        return False
    return drawn.number in (None, turn.shoe.drawn + 1)


def are_next_two(turn: Turn) -> bool:
    """True if one pull brought the next two cards of this shoe and none was laid aside before."""
    event = turn.event(CardsDrawn)
    if event.armed is False or len(event.cards) != MOST_CARDS_AHEAD or turn.now.ahead:
        return False
    foreign = any(card_check.foreign_cause(turn, card) is not None for card in event.cards)
    return not foreign and event.number in (None, turn.shoe.drawn + 1)


def are_next_two_in_order(turn: Turn) -> bool:
    """True if they are the next two, and the shoe knows the order in which they left it."""
    event = turn.event(CardsDrawn)
    return event.order_known and are_next_two(turn)


def has_card_ahead(turn: Turn) -> bool:
    """True if the third card that is due was drawn ahead."""
    return bool(turn.now.ahead)


# Actions.


def set_aside_next(turn: Turn) -> None:
    """Count the drawn card and lay it face down behind those laid aside before."""
    drawn = turn.drawn
    card_ledger.count_card(turn, drawn.card, drawn.number)
    _lay_aside(turn, drawn.card, turn.shoe.drawn)


def set_aside_two(turn: Turn) -> None:
    """Count both cards and lay them face down as they came.

    If the shoe does not know their order, nobody knows which is which.
    """
    event = turn.event(CardsDrawn)
    for offset, card in enumerate(event.cards):
        number = None if event.number is None else event.number + offset
        card_ledger.count_card(turn, card, number)
        _lay_aside(turn, card, turn.shoe.drawn)
    if not event.order_known:
        laid = turn.now.ahead
        unordered_cards.begin_pull(turn, laid)
        for one in laid:
            unplaced.change_card(turn, one, card=None)


def set_aside_pending(turn: Turn) -> None:
    """Lay the pending card aside, which was drawn for that while the table was halted."""
    card = turn.now.pending
    assert card is not None and card.number is not None
    unplaced.drop_roles(turn, "pending")
    _lay_aside(turn, card.card, card.number)


def _lay_aside(turn: Turn, card: Card | None, number: int) -> None:
    """Lay a counted card face down behind those laid aside before."""
    index = len(turn.now.ahead) + 1
    unplaced.add_card(turn, card, number, role="ahead", named_slot=(ASIDE, index))
    place = {"hand": ASIDE, "index": index}
    code = None if card is None else card.code
    turn.emit("round.card_dealt", {**place, "face": "down"})
    turn.emit_restricted("round.card_drawn", {**place, "card": code, "number": number})


def deal_card_set_aside(turn: Turn) -> None:
    """Put the first card drawn ahead into the slot of the third card that is due."""
    reveal.call_for_third_card(turn)
    first, hand = turn.now.ahead[0], turn.round.due
    assert hand is not None and first.number is not None
    unplaced.drop_cards(turn, (first,))
    deal.place_counted_card(turn, (hand, 3), first.card, first.number)
    deal.detect_unread(turn, (hand, 3))
