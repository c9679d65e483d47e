"""Draws that people entered, when the shoe's own record of them comes after all.

In: cards with numbers that were entered, what the shoe counts. Out: what was not named is known
now; a contradiction halts. Must not know: why it was not heard in time.
"""

from __future__ import annotations

from firmware_proto.events import Hello, Status
from shoe_ctl.texts.message import message

from . import placing, shoe_cards, shoe_sets, unread
from .cause import Cause
from .counts import COUNTS
from .irregularities.stack import raise_irregularity
from .turn import Turn

# What was seen.


def was_entered(turn: Turn) -> bool:
    """People entered the draw of this number."""
    number, shoe = turn.drawn.number, turn.now.shoe
    return number is not None and shoe is not None and number in shoe.entered


def contradicts(turn: Turn) -> bool:
    """They entered it as another card."""
    if not was_entered(turn):
        return False
    entered, drawn = turn.shoe.entered[_number(turn)], turn.drawn.card
    return entered is not None and drawn is not None and entered != drawn.code


def _number(turn: Turn) -> int:
    number = turn.drawn.number
    assert number is not None
    return number


def lacks_entered(turn: Turn) -> bool:
    """The shoe that is back counts fewer cards out than people entered."""
    event, shoe = turn.shoe_event, turn.now.shoe
    assert isinstance(event, Hello)
    if shoe is None or shoe_sets.another_set(turn):
        return False
    return any(number > event.drawn for number in shoe.entered)


# What is done.


def halt_for_counts(turn: Turn) -> None:
    """The shoe shows that it counts other cards out than the table: people count them."""
    event = turn.shoe_event
    assert isinstance(event, Hello | Status)
    seen = message("seen_counts_differ", shoe=event.drawn, table=turn.shoe.drawn)
    raise_irregularity(turn, Cause("gap", seen, subject=COUNTS, step=COUNTS))


def compare(turn: Turn) -> None:
    """The record bears the entry out, or names a card that lay face down: counted once."""
    number, drawn = _number(turn), turn.drawn.card
    entered = turn.shoe.entered[number]
    left = {n: code for n, code in turn.shoe.entered.items() if n != number}
    turn.set_shoe(entered=left)
    data = {"number": number, "entered": entered, "card": None if drawn is None else drawn.code}
    turn.tell_restricted("round.entry_compared", data)
    if drawn is not None and entered not in (None, drawn.code) and drawn in turn.game.deck:
        shoe_cards.note_reading(turn, drawn)
    if entered is not None or drawn is None:
        return
    if drawn not in turn.game.deck:  # it is inspected, and its place stays to be entered
        turn.then("one_too_many")
        return
    played = turn.now.round
    here = next((d for d in (played.cards if played else ()) if d.number == number), None)
    if here is None:
        shoe_cards.name_unseen(turn, drawn)
    elif here.card is None:
        slot = (here.hand, here.index)
        placing.read_again(turn, slot, drawn)
        unread.close_read(turn, slot)
