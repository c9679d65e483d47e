"""The pending card: drawn on an arm that stood as a halt, a pause or a lock was already under way.

It is no overdraw and no irregularity. It is counted and held face down; when play resumes it takes
the slot that it was drawn for. Where that slot is no longer due, it counts as drawn early.

In: such a card, the end of the halt. Out: the card held, then placed.
Must not know: what halted the table, how that is decided.
"""

from __future__ import annotations

from shoe_ctl.table.irregularities import rulings
from shoe_ctl.table.round import card_check, cards_ahead, reconstruct
from shoe_ctl.table.round import deal as dealing
from shoe_ctl.table.shoe import arming, unplaced
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.state import ASIDE, is_drawn_ahead, next_slot
from shoe_ctl.table.turn import Turn

# Detection


def is_pending_draw(turn: Turn) -> bool:
    """Return True if the card left the shoe as the table withdrew the arm order.

    It is the shoe's next card, one of its decks, and its slot is still free.
    """
    return is_for_armed_slot(turn) and card_check.may_be_of_decks(turn)


def is_for_armed_slot(turn: Turn) -> bool:
    """Return True if the card is the next one, for the slot of the withdrawn arm order.

    Its face may be one that is not of the shoe's decks.
    """
    now, drawn, arm = turn.now, turn.drawn, arming.last_withdrawn(turn.now)
    if drawn.armed is not True or arm is None or now.shoe is None:
        return False
    if now.held or now.pending is not None or now.pending_set is not None:
        return False
    if any(not card.counted for card in now.early):
        return False  # the shoe objects to a card that it did not give yet: this is that one
    is_next = drawn.number == arm.number == now.shoe.drawn + 1
    return (
        is_next
        and not card_check.is_stale_arm(turn)
        and _is_still_wanted(turn, (arm.hand, arm.index))
    )


def _is_still_wanted(turn: Turn, place: tuple[str, int]) -> bool:
    """Return True if the round, or a step that is open below, still wants a card there."""
    halt, played = turn.now.halt, turn.now.round
    if halt is None:
        return False
    if place[0] == ASIDE:
        return played is not None and len(turn.now.ahead) + 1 == place[1]
    return turn.takes_card_in(halt.resume_state) and next_slot(turn.now) == place


def is_armed_to_set_aside(turn: Turn) -> bool:
    """Return True if the card was drawn to be set aside (5.11.1).

    The step that wanted it is over.
    """
    drawn, arm = turn.drawn, arming.last_withdrawn(turn.now)
    if drawn.armed is not True or arm is None or arm.hand != ASIDE:
        return False
    return arm.number == drawn.number and cards_ahead.is_next_card(turn)


# Actions


def hold_pending_card(turn: Turn) -> None:
    """Count the card and hold it face down until the table goes on."""
    arm = arming.last_withdrawn(turn.now)
    assert arm is not None
    hold_for_slot(turn, (arm.hand, arm.index))


def hold_for_slot(turn: Turn, slot: tuple[str, int]) -> None:
    """Count the drawn card and hold it face down; it takes this slot when play resumes."""
    card_ledger.count_unplaced(turn)
    dealing.detect_held_face_up(turn)
    drawn, number = turn.drawn, turn.shoe.drawn
    unplaced.add_card(
        turn,
        drawn.card,
        number,
        role="pending",
        named_slot=slot,
        seen=drawn.face_up,
    )


def deal_pending_card(turn: Turn) -> None:
    """Place the pending card as the table goes on.

    Where its slot is no longer due, it counts as drawn early.
    """
    card = turn.now.pending
    if card is None:
        return
    if is_drawn_ahead(card):
        cards_ahead.set_aside_pending(turn)
    elif reconstruct.is_pending_card_next(turn):
        _place_next_card(turn)
    else:
        unplaced.move_cards(turn, (card,), "early")
        unplaced.change_card(turn, turn.now.early[-1], named_slot=None)
        turn.fire("left_over")


def _place_next_card(turn: Turn) -> None:
    """Place the card in its slot. It may open a round, or close the bets."""
    opens = turn.now.round is None
    closes_bets = opens or turn.now.wagers.betting == "open"
    if opens:
        rulings.answer_cards_kept(turn)
    reconstruct.deal_pending(turn)
    if closes_bets:
        dealing.measure_differential_after_card(turn)


def drop_pending_card(turn: Turn) -> None:
    """Drop the pending card: it is in no hand. The ledger still counts it."""
    unplaced.drop_roles(turn, "pending")
