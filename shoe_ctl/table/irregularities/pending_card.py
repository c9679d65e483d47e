"""A card drawn on an arm that stood while a halt, a pause or a lock was already under way.

In: such a card, the end of what was open. Out: the card counted and kept face down; then dealt into
the slot that it was drawn for. Must not know: what halted the table, how that is decided.
"""

from __future__ import annotations

from ..round import card_check, reconstruct
from ..round import deal as dealing
from ..shoe import arming, unplaced
from ..shoe import ledger as card_ledger
from ..state import is_drawn_ahead, next_slot
from ..turn import Turn
from . import rulings

# What was seen.


def is_pending_draw(turn: Turn) -> bool:
    """The table took the arm back as the card left on it: it is the shoe's next, and no overdraw.

    The place that it was drawn for still waits for it.
    """
    return is_for_armed_slot(turn) and card_check.may_be_of_decks(turn)


def is_for_armed_slot(turn: Turn) -> bool:
    """The same, whether or not its face is one of the shoe's."""
    now, drawn, arm = turn.now, turn.drawn, arming.last_withdrawn(turn.now)
    if drawn.armed is not True or arm is None or now.shoe is None:
        return False
    if now.held or now.pending is not None or now.loaded is not None:
        return False
    if any(not card.counted for card in now.early):
        return False  # the shoe objects to a card that it did not give yet: this is that one
    is_next = drawn.number == arm.number == now.shoe.drawn + 1
    return (
        is_next and not card_check.is_stale_arm(turn) and _still_waits(turn, (arm.hand, arm.index))
    )


def _still_waits(turn: Turn, place: tuple[str, int]) -> bool:
    """The round wants a card there, or a step that is open under what came since does."""
    halt, played = turn.now.halt, turn.now.round
    if halt is None:
        return False
    if place[0] == reconstruct.HAND:
        return played is not None and len(turn.now.ahead) + 1 == place[1]
    return turn.takes_card_in(halt.back_to) and next_slot(turn.now) == place


def is_armed_to_set_aside(turn: Turn) -> bool:
    """The step that wanted it laid aside is over, and the round goes on (5.11.1)."""
    drawn, arm = turn.drawn, arming.last_withdrawn(turn.now)
    if drawn.armed is not True or arm is None or arm.hand != reconstruct.HAND:
        return False
    return arm.number == drawn.number and reconstruct.is_next_card(turn)


# What is done.


def hold_pending_card(turn: Turn) -> None:
    """It is counted, and lies face down until the table goes on."""
    arm = arming.last_withdrawn(turn.now)
    assert arm is not None
    card_ledger.count_unplaced(turn)
    dealing.check_held_face_up(turn)
    drawn, number = turn.drawn, turn.shoe.drawn
    unplaced.add_card(
        turn,
        drawn.card,
        number,
        role="pending",
        named_slot=(arm.hand, arm.index),
        seen=drawn.face_up,
    )


def deal_pending_card(turn: Turn) -> None:
    """The table goes on: the card takes its slot; where none is due any more, it is asked for."""
    card = turn.now.pending
    if card is None:
        return
    if is_drawn_ahead(card):
        reconstruct.set_aside_pending(turn)
    elif reconstruct.is_pending_card_next(turn):
        _deal(turn)
    else:
        unplaced.move_cards(turn, (card,), "early")
        unplaced.change_card(turn, turn.now.early[-1], named_slot=None)
        turn.then("left_over")


def _deal(turn: Turn) -> None:
    opens = turn.now.round is None
    closes_bets = opens or turn.now.wagers.betting == "open"
    if opens:
        rulings.answer_cards_kept(turn)
    reconstruct.deal_pending(turn)
    if closes_bets:
        dealing.measure_differential_after_card(turn)


def lay_down_pending_card(turn: Turn) -> None:
    """It is in no hand; the ledger has it."""
    unplaced.drop_roles(turn, "pending")
