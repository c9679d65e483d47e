"""A card that went back into the shoe, as the shoe says it: the table halts, or counts it only.

In: such an event. Out: the irregularity raised; a card that lay in no place leaves the ledger.
Must not know: who decides, what becomes of a card that lay in one.
"""

from __future__ import annotations

from firmware_proto.events import CardPushedBack
from shoe_ctl.texts.message import message

from . import early, pending, retaking, shoe_cards
from .cause import Cause
from .irregularities import grounds, stack
from .irregularities.altered import KEY, PUSHED_BACK
from .round import unplaced
from .turn import Turn

# What was seen.


def is_of_a_round(turn: Turn) -> bool:
    """Bets are closed, or cards of a round are out: their order is in question."""
    halt = turn.now.halt
    state = turn.source if halt is None else halt.back_to
    return state in ("closed", *grounds.CARDS_OUT)


# What is done.


def halt(turn: Turn) -> None:
    """The order of the cards is altered until it is found again."""
    number = _number(turn)
    note(turn)
    noted = {} if number is None else {PUSHED_BACK: number}
    subject = None if number is None else early.subject(number)
    seen = message("seen_pushed_back")
    stack.raise_irregularity(turn, Cause(KEY, seen, subject=subject, noted=noted))


def note(turn: Turn) -> None:
    """A card that lay in no place is in the shoe again; of one that lies in one people decide."""
    number = _number(turn)
    if number is None or turn.now.shoe is None:
        return
    if retaking.find(turn.now, number) is not None:
        told = turn.shoe.pushed_back
        turn.set_shoe(pushed_back=(*(n for n in told if n != number), number))
        return
    kept = tuple(one for one in turn.now.held if one.number == number and one.counted)
    opening = tuple(one for one in turn.now.opening if one.number == number)
    for one in (*kept, *opening):
        shoe_cards.take_back(turn, one.card)
    waiting = turn.now.pending
    if waiting is not None and waiting.number == number:
        shoe_cards.take_back(turn, waiting.card)
        pending.set_down(turn)
    unplaced.drop_cards(turn, (*kept, *opening))


def _number(turn: Turn) -> int | None:
    event = turn.shoe_event
    assert isinstance(event, CardPushedBack)
    return event.number
