"""Two cards drawn ahead and laid aside in order, for hands that may still want them (5.11.1).

In: cards of an open step, a third card that is due. Out: the cards laid aside, placed in the
order drawn. Must not know: why they were laid aside, which card they are.
"""

from __future__ import annotations

from firmware_proto.cards import Card
from firmware_proto.events import CardsDrawn

from . import fitting, placing, pulls, revealing, shoe_cards
from .round import unplaced
from .slots import ASIDE
from .turn import Turn

HAND = ASIDE
MOST = 2
"""A round has no more than two cards after its initial deal."""

# What was seen.


def is_for_it(turn: Turn) -> bool:
    """A card of this shoe, the next of it; it may be one that could not be read."""
    drawn = turn.drawn
    if drawn.armed is False or fitting.not_the_shoes(turn) is not None:
        return False
    return drawn.number in (None, turn.shoe.drawn + 1)


def are_the_two(turn: Turn) -> bool:
    """Both came in one pull: the next two cards of this shoe, and none was laid aside before."""
    event = turn.shoe_event
    assert isinstance(event, CardsDrawn)
    if event.armed is False or len(event.cards) != MOST or turn.now.ahead:
        return False
    strange = any(fitting.strange(turn, card) is not None for card in event.cards)
    return not strange and event.number in (None, turn.shoe.drawn + 1)


def are_the_two_in_order(turn: Turn) -> bool:
    """The same, and the shoe has them in the order in which they left it."""
    event = turn.shoe_event
    assert isinstance(event, CardsDrawn)
    return event.order_known and are_the_two(turn)


def has_the_next(turn: Turn) -> bool:
    """The card that is due was drawn ahead."""
    return bool(turn.now.ahead)


# What is done.


def lay(turn: Turn) -> None:
    """The card drawn now is counted, and lies face down behind those before it."""
    drawn = turn.drawn
    shoe_cards.count_card(turn, drawn.card, drawn.number)
    _lay(turn, drawn.card, turn.shoe.drawn)


def lay_two(turn: Turn) -> None:
    """Both are counted, and lie face down as they came: in an unknown order neither is known."""
    event = turn.shoe_event
    assert isinstance(event, CardsDrawn)
    for place, card in enumerate(event.cards):
        number = None if event.number is None else event.number + place
        shoe_cards.count_card(turn, card, number)
        _lay(turn, card, turn.shoe.drawn)
    if not event.order_known:
        laid = turn.now.ahead
        pulls.begin(turn, laid)
        for one in laid:
            unplaced.change_card(turn, one, card=None)


def lay_pending(turn: Turn) -> None:
    """The card was drawn for it while something else was decided, and is counted."""
    card = turn.now.pending
    assert card is not None and card.number is not None
    unplaced.drop_roles(turn, "pending")
    _lay(turn, card.card, card.number)


def _lay(turn: Turn, card: Card | None, number: int) -> None:
    index = len(turn.now.ahead) + 1
    unplaced.add_card(turn, card, number, role="ahead", named_slot=(HAND, index))
    place = {"hand": HAND, "index": index}
    code = None if card is None else card.code
    turn.tell("round.card_dealt", {**place, "face": "down"})
    turn.tell_restricted("round.card_drawn", {**place, "card": code, "number": number})


def deal_next(turn: Turn) -> None:
    """The first of them is the third card that is due: it goes to that hand, face down or up."""
    revealing.want_third_card(turn)
    first, hand = turn.now.ahead[0], turn.round.due
    assert hand is not None and first.number is not None
    unplaced.drop_cards(turn, (first,))
    placing.lay(turn, (hand, 3), first.card, first.number)
    placing.look_if_unread(turn, (hand, 3))
