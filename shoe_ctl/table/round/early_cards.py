"""Cards drawn early: laid face down in no slot, until it is known whose they are.

In: a card that came before its turn, what is decided of it. Out: the table's early and opening
cards, cards placed. Must not know: why it is decided so, which irregularity is open.
"""

from __future__ import annotations

from firmware_proto.events import CardDrawn, CardOutsideGame, Redesignated

from ..shoe import ledger as card_ledger
from ..shoe import unplaced
from ..state import INITIAL_DEAL, TableState, UnplacedCard, next_slot, subject_of_draw
from ..turn import Turn
from . import card_check, reveal
from . import deal as dealing

OBJECTED = "set_aside"
"""The place that is noted of a card to which the shoe objects: it has none in a hand."""

IN_ERROR = "error"
"""The mode of a shoe that draws in error: a card that it gives then is the one it objects to."""

# What was seen.


def overdraw_subject(number: int) -> str:
    """What tells one card drawn early from another."""
    return subject_of_draw(number)


def next_number(turn: Turn) -> int:
    """The number of the card of this input, or of the next one."""
    event = getattr(turn.happened, "event", None)
    number = event.number if isinstance(event, CardDrawn) else None
    return turn.shoe.drawn + 1 if number is None else number


def find_overdrawn(now: TableState, named: str | None) -> UnplacedCard | None:
    """The card drawn early of this subject."""
    return next((k for k in now.early if k.number is not None and k.subject == named), None)


def has_overdrawn(turn: Turn) -> bool:
    """A card drawn early lies on the table, and its turn may have come."""
    return bool(turn.now.early)


def has_no_overdrawn(turn: Turn) -> bool:
    """No card drawn early lies on the table."""
    return not turn.now.early


def is_disputed(turn: Turn) -> bool:
    """The first card drawn early is due, and the shoe objected to it or has it elsewhere."""
    if not turn.now.early:
        return False
    first, due = turn.now.early[0], reveal.due_hand(turn)
    return first.named_slot not in (None, (due, len(INITIAL_DEAL) - 1))


def awaits_reported_card(turn: Turn) -> bool:
    """The shoe objected to a draw, and this is the card of it."""
    event, early = turn.shoe_event, turn.now.early
    assert isinstance(event, CardOutsideGame)
    return event.mode == IN_ERROR and bool(early) and early[-1].card is None


def opens_no_round(turn: Turn) -> bool:
    """No card drawn before is to be the round's first."""
    return not turn.now.opening


# What is done.


def hold_overdrawn(turn: Turn) -> None:
    """The card of this input is counted, and lies where nobody sees it."""
    drawn = turn.drawn
    number = next_number(turn)
    if card_check.is_unaligned(turn) and card_check.can_align(turn):
        turn.set_link(aligned=True)
    card_ledger.count_unplaced(turn)
    dealing.check_held_face_up(turn)
    named = card_check.named_slot(drawn)
    unplaced.add_card(turn, drawn.card, number, role="early", named_slot=named, seen=drawn.face_up)


def hold_unreported(turn: Turn) -> None:
    """The shoe objects to a card before it says which; it has no place for it."""
    number = next_number(turn)
    unplaced.add_card(turn, None, number, role="early", named_slot=(OBJECTED, None), counted=False)


def was_objected_to(card: UnplacedCard) -> bool:
    """The shoe objected to the card when it came, and gave it no other place since."""
    return card.named_slot is not None and card.named_slot[0] == OBJECTED


def record_overdrawn_reading(turn: Turn) -> None:
    """The shoe says which card it objected to."""
    event = turn.shoe_event
    assert isinstance(event, CardOutsideGame)
    card_ledger.count_outside_game(turn)
    unplaced.change_card(turn, turn.now.early[-1], card=event.card, counted=True)


def is_relocated(turn: Turn) -> bool:
    """The shoe gives another place to a card drawn early, whose fate is open or just ruled."""
    return _moved(turn) is not None


def _moved(turn: Turn) -> UnplacedCard | None:
    event = turn.shoe_event
    assert isinstance(event, Redesignated)
    lying = (*turn.now.early, *turn.now.opening)
    return next((k for k in lying if event.card is not None and k.card == event.card), None)


def note_reported_slot(turn: Turn) -> None:
    """What place the shoe gives it: for those who may know what the shoe has read."""
    event, moved = turn.shoe_event, _moved(turn)
    assert isinstance(event, Redesignated) and moved is not None
    unplaced.change_card(turn, moved, named_slot=(event.hand, event.index))
    place = {"hand": event.hand, "index": event.index}
    turn.tell_restricted(
        "irregularity.step", {"key": "overdraw", "step": "placed_by_shoe", **place}
    )


def expose_overdrawn(turn: Turn, card: UnplacedCard) -> None:
    """It was seen: it may never open a round."""
    unplaced.change_card(turn, card, seen=True)


def place_overdrawn(turn: Turn, card: UnplacedCard) -> None:
    """It is whose turn it is: it goes to the slot that is due."""
    remove_overdrawn(turn, card)
    if turn.round.due is None and turn.round.totals_announced:
        reveal.call_for_third_card(turn)
    _place(turn, card)


def keep_for_opening(turn: Turn, card: UnplacedCard) -> None:
    """It will be the first card of the next round, or of the one that takes bets."""
    unplaced.move_cards(turn, (card,), "opening")


def remove_overdrawn(turn: Turn, card: UnplacedCard) -> None:
    """It is early no longer; the ledger has it."""
    unplaced.drop_cards(turn, (card,))


def begin_with_opening_cards(turn: Turn) -> None:
    """Bets are closed: a card that was ruled to open the round does."""
    turn.then("opening_due")


def deal_opening_cards(turn: Turn) -> None:
    """The cards that were ruled to open the round are its first, in the order drawn."""
    opening = turn.now.opening
    unplaced.drop_cards(turn, opening)
    for card in opening:
        _place(turn, card)


def _place(turn: Turn, card: UnplacedCard) -> None:
    """It lies in the slot that is due, behind one that waits for its own."""
    assert card.number is not None
    if turn.now.pending is not None and (turn.now.pending.number or 0) < card.number:
        dealing.place_pending_card(turn)
    slot = next_slot(turn.now)
    assert slot is not None
    if card.card is None:
        card_ledger.count_card(turn, None, card.number)
    dealing.place_counted_card(turn, slot, card.card, card.number)
    dealing.check_unread(turn, slot)
