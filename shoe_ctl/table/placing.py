"""Cards into slots, read or not: counted and told.

In: a slot, a card or None, its number. Out: round.card_dealt, the card for the restricted.
Must not know: why a card belongs into a slot, who says so, what follows from it.
"""

from __future__ import annotations

import msgspec

from firmware_proto.cards import Card

from . import pulls, shoe_cards
from .round import unplaced
from .slots import is_drawn_ahead, next_slot
from .state import DealtCard
from .turn import Turn


def place(turn: Turn, slot: tuple[str, int], card: Card | None, number: int | None) -> None:
    """Put the shoe's next card into this slot, face down or up as the table deals; count it."""
    shoe_cards.count_card(turn, card, number)
    lay(turn, slot, card, turn.shoe.drawn)


def lay(turn: Turn, slot: tuple[str, int], card: Card | None, number: int) -> None:
    """Put a card that is counted under this number into this slot."""
    hand, index = slot
    dealt = DealtCard(hand=hand, index=index, card=card, number=number, drawn_us=turn.now.t_us)
    turn.set_round(cards=(*turn.round.cards, dealt), due=None)
    face = "up" if turn.faces == "face_up" else "down"
    turn.tell("round.card_dealt", {"hand": hand, "index": index, "face": face})
    code = None if card is None else card.code
    turn.tell_restricted(
        "round.card_drawn", {"hand": hand, "index": index, "card": code, "number": number}
    )


def lay_pending(turn: Turn) -> None:
    """Put the card that waits for its slot into the slot that is due."""
    card, slot = turn.now.pending, next_slot(turn.now)
    if card is None or slot is None or is_drawn_ahead(card):
        return
    assert card.number is not None
    unplaced.drop_roles(turn, "pending")
    lay(turn, slot, card.card, card.number)
    look_if_unread(turn, slot)
    if card.seen and len(turn.round.cards) == 1 and not shoe_cards.is_empty(turn):
        turn.then("face_up_first")


def look_if_unread(turn: Turn, slot: tuple[str, int]) -> None:
    """What could not be read is entered, sooner or later."""
    if find(turn, slot).card is None:
        turn.then("card_unread")


def find(turn: Turn, slot: tuple[str, int]) -> DealtCard:
    """The card in this slot.

    Raises:
        StopIteration: there is none.
    """
    return next(d for d in turn.round.cards if (d.hand, d.index) == slot)


def set_card(turn: Turn, slot: tuple[str, int], card: Card, *, entered: bool) -> None:
    """What lies in this slot is this card, as people ``entered`` it or as the shoe read it."""
    cards = tuple(
        msgspec.structs.replace(d, card=card, entered=entered) if (d.hand, d.index) == slot else d
        for d in turn.round.cards
    )
    turn.set_round(cards=cards)


def read_again(turn: Turn, slot: tuple[str, int], card: Card) -> None:
    """The shoe, or its record, names the card in this slot that could not be read before."""
    pulls.name(turn, find(turn, slot).number, card)
    set_card(turn, slot, card, entered=False)
    data = {"hand": slot[0], "index": slot[1], "card": card.code}
    number = find(turn, slot).number
    turn.tell_restricted("round.card_drawn", {**data, "number": number})
