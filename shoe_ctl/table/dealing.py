"""The round opened, bets closed, each card that fits dealt where it is due.

In: announcements, cards that fit. Out: round.opened .bets_closed, the card placed.
Must not know: what does not fit, how a card is revealed, what a round pays.
"""

from __future__ import annotations

from . import face_up, placing, shoe_cards, wagering
from .slots import next_slot
from .state import Round
from .turn import Turn


def is_implied(turn: Turn) -> bool:
    """Announcements follow the cards."""
    return turn.implied


def open_round(turn: Turn) -> None:
    """*Place your bets* (3.1): the round begins and gets its id."""
    number = turn.now.rounds + 1
    opened = Round(
        id=f"{turn.shoe.id}-r{number}", first_input=turn.now.inputs, drawn_before=turn.shoe.drawn
    )
    turn.change(rounds=number, round=opened)
    data = {"round_id": opened.id, "shoe_id": turn.shoe.id}
    turn.announce("round.opened", data, by="place_your_bets")
    wagering.open_bets(turn)


def close_bets(turn: Turn) -> None:
    """*No more bets* (3.2)."""
    turn.announce("round.bets_closed", {"round_id": turn.round.id}, by="no_more_bets")
    wagering.close_bets(turn)


def look_at_differential(turn: Turn) -> None:
    """What exceeds the table differential is found after the first card."""
    if not shoe_cards.is_empty(turn):
        wagering.look_at_differential(turn)


def deal(turn: Turn) -> None:
    """Put the card into the slot that was due, face down or up as the table deals."""
    slot, drawn = next_slot(turn.now), turn.drawn
    assert slot is not None
    if not turn.now.link.aligned:
        turn.set_link(aligned=True)
    placing.place(turn, slot, drawn.card, drawn.number)
    if drawn.card is None:
        placing.look_if_unread(turn, slot)
    face_up.look(turn)
    shoe_cards.look_if_empty(turn)
