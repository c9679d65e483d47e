"""A card drawn on an arm that stood while a halt, a pause or a lock was already under way.

In: such a card, the end of what was open. Out: the card counted and kept face down; then dealt into
the slot that it was drawn for. Must not know: what halted the table, how that is decided.
"""

from __future__ import annotations

import msgspec

from . import belated, dealing, face_up, fitting, replacing, set_aside, shoe_cards
from .slots import next_slot, takes_cards
from .state import Kept
from .turn import Turn

# What was seen.


def was_armed_for(turn: Turn) -> bool:
    """The table took the arm back as the card left on it: it is the shoe's next, and no overdraw.

    The place that it was drawn for still waits for it.
    """
    return is_for_its_place(turn) and fitting.fits_the_decks(turn)


def is_for_its_place(turn: Turn) -> bool:
    """The same, whether or not its face is one of the shoe's."""
    now, drawn = turn.now, turn.drawn
    if drawn.armed is not True or now.disarmed is None or now.shoe is None:
        return False
    if now.kept or now.pending is not None or now.loaded is not None:
        return False
    if any(not card.counted for card in now.early):
        return False  # the shoe objects to a card that it did not give yet: this is that one
    is_next = drawn.number == now.disarmed[0] == now.shoe.drawn + 1
    return is_next and not fitting.is_left_over(turn) and _still_waits(turn, now.disarmed[1:])


def _still_waits(turn: Turn, place: tuple[str, int]) -> bool:
    """The round wants a card there, or a step that is open under what came since does."""
    halt, played = turn.now.halt, turn.now.round
    if halt is None:
        return False
    if place[0] == set_aside.HAND:
        return played is not None and len(played.set_aside) + 1 == place[1]
    return halt.back_to in takes_cards(implied=turn.implied) and next_slot(turn.now) == place


def was_armed_to_set_aside(turn: Turn) -> bool:
    """The step that wanted it laid aside is over, and the round goes on (5.11.1)."""
    now, drawn = turn.now, turn.drawn
    if drawn.armed is not True or now.disarmed is None or now.disarmed[1] != set_aside.HAND:
        return False
    return now.disarmed[0] == drawn.number and set_aside.is_for_it(turn)


# What is done.


def note_disarmed(turn: Turn, armed: tuple[int, str, int] | None) -> None:
    """The shoe is to be ``armed`` now: remember the arm that it takes back, until its card came."""
    now = turn.now
    last = now.disarmed if now.armed is None else now.armed
    over = last is None or now.shoe is None or now.shoe.drawn >= last[0]
    disarmed = None if over or armed is not None else last
    if disarmed != now.disarmed:
        turn.change(disarmed=disarmed)


def keep(turn: Turn) -> None:
    """It is counted, and lies face down until the table goes on."""
    assert turn.now.disarmed is not None
    _, hand, index = turn.now.disarmed
    shoe_cards.count_unplaced(turn)
    face_up.look_at_kept(turn)
    drawn, number = turn.drawn, turn.shoe.drawn
    card = Kept(card=drawn.card, number=number, hand=hand, index=index, exposed=drawn.face_up)
    turn.change(pending=card)


def deal(turn: Turn) -> None:
    """The table goes on: the card takes its slot; where none is due any more, it is asked for."""
    card = turn.now.pending
    if card is None:
        return
    if card.hand == set_aside.HAND:
        set_aside.lay_pending(turn)
    elif belated.deals_pending_next(turn):
        _deal(turn)
    else:
        loose = msgspec.structs.replace(card, hand=None, index=None)
        turn.change(pending=None, early=(*turn.now.early, loose))
        turn.then("left_over")


def _deal(turn: Turn) -> None:
    opens = turn.now.round is None
    closes_bets = opens or turn.now.wagers.betting == "open"
    if opens:
        replacing.kept(turn)
    belated.deal_pending(turn)
    if closes_bets:
        dealing.look_at_differential(turn)


def set_down(turn: Turn) -> None:
    """It is in no hand; the ledger has it."""
    turn.change(pending=None)
