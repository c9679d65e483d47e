"""Overdrawn cards: cards drawn before their turn lie in no slot until it is decided whose they are.

In: a card that came before its turn, what is decided about it. Out: cards of the roles ``early``
and ``opening``, cards placed.
Must not know: why it is decided so, which irregularity is open.
"""

from __future__ import annotations

from firmware_proto.events import CardDrawn, CardOutsideGame, Redesignated
from shoe_ctl.table.round import card_check, deal, reveal
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.shoe import unplaced
from shoe_ctl.table.state import TableState, UnplacedCard, next_slot
from shoe_ctl.table.turn import Turn

OBJECTED = "set_aside"
"""Stands in ``named_slot`` for the hand of a card to which the shoe objects: it gives it no place
in a hand."""

IN_ERROR = "error"
"""The mode of a shoe that has objected to a draw; the card it then reports is the one it means."""


# Conditions.


def has_overdrawn(turn: Turn) -> bool:
    """True if an overdrawn card lies on the table."""
    return bool(turn.now.early)


def find_overdrawn(now: TableState, named: str | None) -> UnplacedCard | None:
    """Return the overdrawn card that an irregularity with this subject is about."""
    return next(
        (card for card in now.early if card.number is not None and card.subject == named), None
    )


def is_disputed(turn: Turn) -> bool:
    """True if a third card is due and the shoe gives the first overdrawn card another place.

    That includes a card to which the shoe objected and gave no place.
    """
    if not turn.now.early:
        return False
    first, due = turn.now.early[0], reveal.due_hand(turn)
    return first.named_slot not in (None, (due, 3))


def awaits_reported_card(turn: Turn) -> bool:
    """True if the shoe objected to a draw before, and now reports its card."""
    event, early = turn.event(CardOutsideGame), turn.now.early
    return event.mode == IN_ERROR and bool(early) and early[-1].card is None


def was_objected_to(card: UnplacedCard) -> bool:
    """True if the shoe objected to the card and gave it no other place since."""
    return card.named_slot is not None and card.named_slot[0] == OBJECTED


def is_relocated(turn: Turn) -> bool:
    """True if the shoe gives another place to an overdrawn card or one ruled to open a round."""
    return _relocated_card(turn) is not None


def is_placed_as_named(turn: Turn) -> bool:
    """True if the shoe gives the card that was dealt last the slot in which it lies."""
    event, played = turn.event(Redesignated), turn.now.round
    if event.card is None or played is None or not played.cards or not turn.now.link.aligned:
        return False
    last = played.cards[-1]
    return (last.hand, last.index, last.card) == (event.hand, event.index, event.card)


def has_no_opening_cards(turn: Turn) -> bool:
    """True if no card was ruled to open the round."""
    return not turn.now.opening


# Actions: an overdrawn card comes.


def hold_overdrawn(turn: Turn) -> None:
    """Count the drawn card and hold it on the table as overdrawn."""
    drawn = turn.drawn
    number = draw_number(turn)
    if card_check.is_unaligned(turn) and card_check.can_align(turn):
        turn.set_link(aligned=True)
    card_ledger.count_unplaced(turn)
    deal.detect_held_face_up(turn)
    named = card_check.named_slot(drawn)
    unplaced.add_card(turn, drawn.card, number, role="early", named_slot=named, seen=drawn.face_up)


def hold_unreported(turn: Turn) -> None:
    """Hold a card as overdrawn that the shoe objects to and has not reported.

    The ledger counts it once the shoe reports it.
    """
    number = draw_number(turn)
    unplaced.add_card(turn, None, number, role="early", named_slot=(OBJECTED, None), counted=False)


def record_overdrawn_reading(turn: Turn) -> None:
    """Count and record the card to which the shoe had objected."""
    event = turn.event(CardOutsideGame)
    card_ledger.count_outside_game(turn)
    unplaced.change_card(turn, turn.now.early[-1], card=event.card, counted=True)


def note_reported_slot(turn: Turn) -> None:
    """Record the place that the shoe gives the card.

    The event goes to the restricted stream only: the place follows from what the shoe has read.
    """
    event, moved = turn.event(Redesignated), _relocated_card(turn)
    assert moved is not None
    unplaced.change_card(turn, moved, named_slot=(event.hand, event.index))
    about = ("overdraw", moved.subject)
    opened = turn.now.open_irregularities
    of = (each.instance for each in opened if (each.key, each.subject) == about)
    data = {"step": "placed_by_shoe", "hand": event.hand, "index": event.index}
    turn.emit_restricted("irregularity.step", {"key": "overdraw", **data}, instance=next(of, None))


def _relocated_card(turn: Turn) -> UnplacedCard | None:
    """Return the card to which this event of the shoe gives another place."""
    event = turn.event(Redesignated)
    if event.card is None:
        return None
    return next(
        (one for one in (*turn.now.early, *turn.now.opening) if one.card == event.card), None
    )


def draw_number(turn: Turn) -> int:
    """Return the number of the card of this input, or of the next draw."""
    event = getattr(turn.input, "event", None)
    number = event.number if isinstance(event, CardDrawn) else None
    return turn.shoe.drawn + 1 if number is None else number


# Actions: its place is decided.


def expose_overdrawn(turn: Turn, card: UnplacedCard) -> None:
    """Record that the room has seen the card: it may never open a round."""
    unplaced.change_card(turn, card, seen=True)


def place_overdrawn(turn: Turn, card: UnplacedCard) -> None:
    """Put the overdrawn card into the slot that is due."""
    remove_overdrawn(turn, card)
    if turn.round.due is None and turn.round.totals_announced:
        reveal.call_for_third_card(turn)
    _place(turn, card)


def keep_for_opening(turn: Turn, card: UnplacedCard) -> None:
    """Hold the card to open the next round, or the one that takes bets."""
    unplaced.move_cards(turn, (card,), "opening")


def remove_overdrawn(turn: Turn, card: UnplacedCard) -> None:
    """Take the card out of the overdrawn cards. The ledger still counts it."""
    unplaced.drop_cards(turn, (card,))


# Actions: it opens a round.


def begin_with_opening_cards(turn: Turn) -> None:
    """After *no more bets*: ask the table to deal a card that was ruled to open the round."""
    turn.fire("opening_due")


def deal_opening_cards(turn: Turn) -> None:
    """Deal the cards that were ruled to open the round, in the order drawn."""
    opening = turn.now.opening
    unplaced.drop_cards(turn, opening)
    for card in opening:
        _place(turn, card)


def _place(turn: Turn, card: UnplacedCard) -> None:
    """Put the card into the slot that is due.

    A pending card that was drawn before it takes its slot first.
    """
    assert card.number is not None
    if turn.now.pending is not None and (turn.now.pending.number or 0) < card.number:
        deal.place_pending_card(turn)
    slot = next_slot(turn.now)
    assert slot is not None
    if card.card is None:
        card_ledger.count_card(turn, None, card.number)
    deal.place_counted_card(turn, slot, card.card, card.number)
    deal.detect_unread(turn, slot)
