"""Cards drawn early: laid face down in no slot, until it is known whose they are.

In: a card that came before its turn, what is decided of it. Out: the table's early and opening
cards, cards placed. Must not know: why it is decided so, which irregularity is open.
"""

from __future__ import annotations

import msgspec

from firmware_proto.events import CardDrawn, CardOutsideGame, Redesignated

from . import face_up, fitting, placing, revealing, shoe_cards
from .slots import INITIAL_DEAL, next_slot
from .state import Kept, TableState
from .turn import Turn

IN_ERROR = "error"
"""The mode of a shoe that draws in error: a card that it gives then is the one it objects to."""

# What was seen.


def subject(number: int) -> str:
    """What tells one card drawn early from another."""
    return f"draw {number}"


def next_number(turn: Turn) -> int:
    """The number of the card of this input, or of the next one."""
    event = getattr(turn.happened, "event", None)
    number = event.number if isinstance(event, CardDrawn) else None
    return turn.shoe.drawn + 1 if number is None else number


def find(now: TableState, named: str | None) -> Kept | None:
    """The card drawn early of this subject."""
    return next((k for k in now.early if k.number is not None and subject(k.number) == named), None)


def waits(turn: Turn) -> bool:
    """A card drawn early lies on the table, and its turn may have come."""
    return bool(turn.now.early)


def nothing_waits(turn: Turn) -> bool:
    """No card drawn early lies on the table."""
    return not turn.now.early


def is_contested(turn: Turn) -> bool:
    """The first card drawn early is due, and the shoe objected to it or has it elsewhere."""
    if not turn.now.early:
        return False
    first, due = turn.now.early[0], revealing.due_hand(turn)
    named = None if first.hand is None else (first.hand, first.index)
    return named not in (None, (due, len(INITIAL_DEAL) - 1))


def lacks_its_card(turn: Turn) -> bool:
    """The shoe objected to a draw, and this is the card of it."""
    event, early = turn.shoe_event, turn.now.early
    assert isinstance(event, CardOutsideGame)
    return event.mode == IN_ERROR and bool(early) and early[-1].card is None


def opens_a_round(turn: Turn) -> bool:
    """A card drawn before is to be the round's first."""
    return bool(turn.now.opening)


# What is done.


def lay_down(turn: Turn) -> None:
    """The card of this input is counted, and lies where nobody sees it."""
    drawn = turn.drawn
    number = next_number(turn)
    if fitting.unaligned(turn) and fitting.aligns(turn):
        turn.set_link(aligned=True)
    shoe_cards.count_unplaced(turn)
    face_up.look_at_kept(turn)
    _add(
        turn,
        Kept(
            card=drawn.card, number=number, hand=drawn.hand, index=drawn.index,
            exposed=drawn.face_up,
        ),
    )  # fmt: skip


def lay_down_unread(turn: Turn) -> None:
    """The shoe objects to a card before it says which; it has no place for it."""
    number = next_number(turn)
    _add(turn, Kept(card=None, number=number, hand="set_aside", index=None, counted=False))


def _add(turn: Turn, card: Kept) -> None:
    turn.change(early=(*turn.now.early, card))


def read(turn: Turn) -> None:
    """The shoe says which card it objected to."""
    event = turn.shoe_event
    assert isinstance(event, CardOutsideGame)
    shoe_cards.count_outside_game(turn)
    last = msgspec.structs.replace(turn.now.early[-1], card=event.card, counted=True)
    turn.change(early=(*turn.now.early[:-1], last))


def is_moved(turn: Turn) -> bool:
    """The shoe gives another place to a card drawn early, whose fate is open or just ruled."""
    return _moved(turn) is not None


def _moved(turn: Turn) -> Kept | None:
    event = turn.shoe_event
    assert isinstance(event, Redesignated)
    lying = (*turn.now.early, *turn.now.opening)
    return next((k for k in lying if event.card is not None and k.card == event.card), None)


def note_place(turn: Turn) -> None:
    """What place the shoe gives it: for those who may know what the shoe has read."""
    event, moved = turn.shoe_event, _moved(turn)
    assert isinstance(event, Redesignated) and moved is not None
    placed = msgspec.structs.replace(moved, hand=event.hand, index=event.index)
    turn.change(early=tuple(placed if k is moved else k for k in turn.now.early))
    place = {"hand": event.hand, "index": event.index}
    turn.tell_restricted(
        "irregularity.step", {"key": "overdraw", "step": "placed_by_shoe", **place}
    )


def expose(turn: Turn, card: Kept) -> None:
    """It was seen: it may never open a round."""
    seen = msgspec.structs.replace(card, exposed=True)
    turn.change(early=tuple(seen if k is card else k for k in turn.now.early))


def take(turn: Turn, card: Kept) -> None:
    """It is whose turn it is: it goes to the slot that is due."""
    drop(turn, card)
    if turn.round.due is None and turn.round.totals_announced:
        revealing.want_third_card(turn)
    _place(turn, card)


def open_next(turn: Turn, card: Kept) -> None:
    """It will be the first card of the next round, or of the one that takes bets."""
    drop(turn, card)
    turn.change(opening=(*turn.now.opening, card))


def drop(turn: Turn, card: Kept) -> None:
    """It is early no longer; the ledger has it."""
    turn.change(early=tuple(k for k in turn.now.early if k is not card))


def look_for_opening(turn: Turn) -> None:
    """Bets are closed: a card that was ruled to open the round does."""
    turn.then("opening_due")


def deal_opening(turn: Turn) -> None:
    """The cards that were ruled to open the round are its first, in the order drawn."""
    opening = turn.now.opening
    turn.change(opening=())
    for card in opening:
        _place(turn, card)


def _place(turn: Turn, card: Kept) -> None:
    """It lies in the slot that is due, behind one that waits for its own."""
    assert card.number is not None
    if turn.now.pending is not None and (turn.now.pending.number or 0) < card.number:
        placing.lay_pending(turn)
    slot = next_slot(turn.now)
    assert slot is not None
    if card.card is None:
        shoe_cards.count_card(turn, None, card.number)
    placing.lay(turn, slot, card.card, card.number)
    placing.look_if_unread(turn, slot)


def set_aside_opening(turn: Turn) -> None:
    """No further round is dealt from these cards: one that was to open it opens none."""
    if turn.now.opening:
        turn.change(opening=())
        data = {"step": "set_aside_no_further_round"}
        turn.emit_irregularity("irregularity.step", "overdraw", data)
