"""Card check: whether a drawn card fits, and which irregularity it is if it does not.

In: the drawn card, the slot that is due, the arming. Out: answers, Cause values.
Must not know: what is done with a card, how a halt ends.
"""

from __future__ import annotations

from firmware_proto.cards import Card
from firmware_proto.events import CardDrawn
from shoe_ctl.table.round.entitlement import may_draw
from shoe_ctl.table.shoe import arming, draw_time
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.state import DEALT_IN, INITIAL_DEAL, next_slot
from shoe_ctl.table.turn import Cause, Turn
from shoe_ctl.texts.message import message

# Which irregularity a card is.

DRAWN_EARLY = Cause("overdraw", message("seen_drawn_early"))
UNARMED = Cause("overdraw", message("seen_drawn_unarmed"))
NO_LEAVE = Cause("overdraw", message("seen_drawn_without_leave"))
LEFT_OVER = Cause("overdraw", message("seen_drawn_late"))
_FOREIGN = Cause("foreign_card", message("seen_foreign_card"))
_EXTRA = Cause("extra_card", message("seen_extra_card"))
_ASTRAY = Cause("other", message("seen_drawn_not_aligned"))


def find_irregularity(turn: Turn) -> Cause | None:
    """Return the irregularity that the drawn card is, or None if it fits.

    A foreign or extra card also notes whether it was drawn in its turn (``due``).
    """
    if (foreign := foreign_cause(turn, turn.drawn.card)) is not None:
        noted = {"due": _out_of_turn_cause(turn) is None}
        return foreign._replace(data=noted)
    return _out_of_turn_cause(turn)


def _out_of_turn_cause(turn: Turn) -> Cause | None:
    """Return the irregularity of this draw, whatever the face of the card."""
    drawn, slot, shoe = turn.drawn, next_slot(turn.now), turn.now.shoe
    assert shoe is not None
    if drawn.number is not None and drawn.number != shoe.drawn + 1:
        came = message("seen_draw_out_of_turn", draw=drawn.number, next=shoe.drawn + 1)
        return Cause("gap", came)
    if is_stale_arm(turn):
        return LEFT_OVER
    if slot is None or not turn.takes_card_in(turn.source):
        return DRAWN_EARLY
    if drawn.hand is not None and (drawn.hand, drawn.index) != slot:
        # The shoe names hands from cards that the room may not have seen.
        named = message(
            "seen_place_named_wrongly",
            hand=drawn.hand, index=drawn.index, due_hand=slot[0], due_index=slot[1],
        )  # fmt: skip
        return Cause("wrong_order", named, message("seen_another_place_named"))
    if drawn.armed is False and not may_draw(turn.now.control, turn.now.wagers):
        return NO_LEAVE
    return _ASTRAY if belongs_to_missed_round(turn) else None


def is_stale_arm(turn: Turn) -> bool:
    """True if this draw may be of a round that has ended, by its arm or by the shoe's own time.

    A card belongs to the round in which it left the shoe, however late it is reported.
    """
    drawn = turn.drawn
    if arming.is_stale(turn.now, drawn.number):
        return True
    return drawn.armed is False and draw_time.is_of_round_before(turn)


# Whether it is a card of the shoe's decks.


def foreign_cause(turn: Turn, card: Card | None) -> Cause | None:
    """Return why this card cannot be of this shoe: of another deck, or one too many.

    None if it can be, or if no shoe or no card is known.
    """
    if card is None or turn.now.shoe is None:
        return None
    if card not in turn.game.deck.faces:
        return _FOREIGN
    return _EXTRA if card_ledger.is_one_too_many(turn, card) else None


def may_be_of_decks(turn: Turn) -> bool:
    """True if the drawn card may be of this shoe. A card that was not read may be."""
    return foreign_cause(turn, turn.drawn.card) is None


# Where the shoe is in the round.


def is_unaligned(turn: Turn) -> bool:
    """True if the table does not know where in the round the shoe is."""
    return not turn.now.link.aligned


def can_align(turn: Turn) -> bool:
    """True if the shoe names Player card 1.

    That is the only card that shows where a shoe that cannot replay is in the round.
    """
    return (turn.drawn.hand, turn.drawn.index) == INITIAL_DEAL[0]


def belongs_to_missed_round(turn: Turn) -> bool:
    """True if the shoe is not aligned and this card begins no new round."""
    return not turn.now.link.aligned and not can_align(turn)


# Which slot it is for.


def named_slot(drawn: CardDrawn) -> tuple[str, int | None] | None:
    """Return the hand and index that the shoe names for this card, or None."""
    return None if drawn.hand is None else (drawn.hand, drawn.index)


def is_card_for(turn: Turn, slot: tuple[str, int] | None) -> bool:
    """True if the card was read, may be of this shoe, and is the next draw, for this slot."""
    drawn = turn.drawn
    if drawn.card is None or not may_be_of_decks(turn):
        return False
    return slot is not None and (drawn.hand, drawn.index) == slot and drawn.number is None


def is_repeat(turn: Turn) -> bool:
    """True if the shoe sends a card again that already lies in the slot it names."""
    drawn, played = turn.drawn, turn.now.round
    if played is None or drawn.hand is None or drawn.number is not None or is_unaligned(turn):
        return False
    named = (drawn.hand, drawn.index, drawn.card)
    return any((d.hand, d.index, d.card) == named for d in played.cards)


# Cards that are reported late.

LATE_CARD_KEYS = frozenset({"power_failure", "link_lost", "cutting_card"})
"""While one of these is open, the shoe may report a card that was drawn in its turn, before the
halt."""


def is_late_report(turn: Turn) -> bool:
    """True if this is the next draw, for the slot that is due, reported during a halt.

    It was armed and drawn before the power or the link was lost, and is not out of turn.
    """
    halt, now, drawn = turn.now.halt, turn.now, turn.drawn
    if halt is None or halt.resume_state not in DEALT_IN:
        return False
    if now.held or now.pending_set or now.pending:
        return False
    if not any(opened.key in LATE_CARD_KEYS for opened in halt.stack):
        return False
    next_one = now.shoe is not None and drawn.number == now.shoe.drawn + 1
    due = next_slot(now) is not None
    fits = may_be_of_decks(turn) and not is_stale_arm(turn)
    return drawn.armed is True and next_one and due and fits
