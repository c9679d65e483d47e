"""Whether a card fits where it was drawn, and which irregularity it is where it does not.

In: a card drawn, the slot that is due. Out: conditions, Cause values.
Must not know: what is done with a card, how a halt ends.
"""

from __future__ import annotations

from firmware_proto.cards import Card
from firmware_proto.events import CardDrawn
from shoe_ctl.texts.message import message

from ..shoe import arming
from ..shoe import ledger as card_ledger
from ..state import INITIAL_DEAL, next_slot
from ..turn import Cause, Turn
from .methods import may_draw

DRAWN_EARLY = Cause("overdraw", message("seen_drawn_early"))
_FOREIGN = Cause("foreign_card", message("seen_foreign_card"))
_EXTRA = Cause("extra_card", message("seen_extra_card"))
UNARMED = Cause("overdraw", message("seen_drawn_unarmed"))
NO_LEAVE = Cause("overdraw", message("seen_drawn_without_leave"))
LEFT_OVER = Cause("overdraw", message("seen_drawn_late"))
_ASTRAY = Cause("other", message("seen_drawn_not_aligned"))


def find_irregularity(turn: Turn) -> Cause | None:
    """The irregularity that this card is, or None where it fits."""
    if (strange := is_foreign(turn)) is not None:
        noted = {"due": _is_out_of_turn(turn) is None}
        return strange._replace(noted=noted)
    return _is_out_of_turn(turn)


def _is_out_of_turn(turn: Turn) -> Cause | None:
    """The irregularity that this card is wherever it comes, whatever its face."""
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
    """The shoe was left armed for this draw by a round that has ended."""
    return arming.is_stale(turn.now, turn.drawn.number)


def is_foreign(turn: Turn) -> Cause | None:
    """A card that is of no deck of this shoe; None also where no shoe or no card is known."""
    return foreign_kind(turn, turn.drawn.card)


def foreign_kind(turn: Turn, card: Card | None) -> Cause | None:
    """What this card is, if it is of no deck of this shoe."""
    if card is None or turn.now.shoe is None:
        return None
    if card not in turn.game.deck:
        return _FOREIGN
    return _EXTRA if card_ledger.is_one_too_many(turn, card) else None


def is_card_for(turn: Turn, slot: tuple[str, int] | None) -> bool:
    """A card that was read and is one of the shoe's, the next of it, and named for this slot."""
    drawn = turn.drawn
    if drawn.card is None or is_foreign(turn) is not None:
        return False
    return slot is not None and (drawn.hand, drawn.index) == slot and drawn.number is None


def named_slot(drawn: CardDrawn) -> tuple[str, int | None] | None:
    """The hand and index that the shoe names for this card, None where it names none."""
    return None if drawn.hand is None else (drawn.hand, drawn.index)


def may_be_of_decks(turn: Turn) -> bool:
    """The card may be one of the shoe's; one not read cannot be told from them."""
    return is_foreign(turn) is None


def can_align(turn: Turn) -> bool:
    """A fresh Player card 1: the only card that aligns a shoe that cannot replay."""
    return (turn.drawn.hand, turn.drawn.index) == INITIAL_DEAL[0]


def is_unaligned(turn: Turn) -> bool:
    """The host does not know where in the round the shoe is."""
    return not turn.now.link.aligned


def belongs_to_missed_round(turn: Turn) -> bool:
    """Not aligned, and no new round begins with this card: it belongs to one that was missed."""
    return not turn.now.link.aligned and not can_align(turn)


def is_repeat(turn: Turn) -> bool:
    """The shoe names a slot that holds this very card already: it is sent again."""
    drawn, played = turn.drawn, turn.now.round
    if played is None or drawn.hand is None or drawn.number is not None or is_unaligned(turn):
        return False
    named = (drawn.hand, drawn.index, drawn.card)
    return any((d.hand, d.index, d.card) == named for d in played.cards)


HEARD_LATE = frozenset({"power_failure", "link_lost", "cutting_card"})
"""While one of these is open, a card may come that was drawn as it should be, before the halt."""

DRAWS = ("closed", "dealing", "drawing")


def is_late_report(turn: Turn) -> bool:
    """The next card of the shoe, drawn for the slot that is due: it was only heard of late."""
    halt, now, drawn = turn.now.halt, turn.now, turn.drawn
    if halt is None or halt.back_to not in DRAWS or now.held or now.loaded or now.pending:
        return False
    if not any(opened.key in HEARD_LATE for opened in halt.stack):
        return False
    next_one = now.shoe is not None and drawn.number == now.shoe.drawn + 1
    due = next_slot(now) is not None
    fits = may_be_of_decks(turn) and not is_stale_arm(turn)
    return drawn.armed is True and next_one and due and fits
