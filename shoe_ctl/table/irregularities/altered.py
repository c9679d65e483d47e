"""The order of the cards in the shoe was altered: found again, or the round is void (5.2).

In: nothing. Out: its procedure. Must not know: which card it was, what the round will want.
"""

from __future__ import annotations

from shoe_ctl.table import belated, ordering, retaking
from shoe_ctl.table.round import unplaced
from shoe_ctl.table.state import CardOnTable, DealtCard
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import Message, message

from .endings import CALL_VOID, GO_ON, LAY_ASIDE_UNPLAYED, align, aside, stands, void
from .grounds import (
    ALIGN_FIRST,
    CARDS_OUT,
    close_taken_back,
    own_kept,
    shoe_cannot_go_on,
    something_is_missing,
    tell_moved,
)
from .procedure import Choice, Declared, End, Procedure, Step

KEY = "order_altered"
PUSHED_BACK = "pushed_back"
"""Noted where the shoe says that a card went back into it: the number of its draw."""

_END = (KEY, "reconstructed")

# What was seen.


def _is_told(at: TableView) -> bool:
    """The shoe said which card went back."""
    return PUSHED_BACK in at.current.noted


def _is_not_told(at: TableView) -> bool:
    return not _is_told(at)


def _card(at: TableView) -> CardOnTable | None:
    """The card that went back, where it has a place on the table."""
    return retaking.find(at.now, at.current.noted[PUSHED_BACK]) if _is_told(at) else None


def _is_the_next(at: TableView) -> bool:
    """It lies at the front of the shoe: nobody has seen it, and it was the last that was drawn."""
    card = _card(at)
    if card is None:
        return _is_told(at)
    last = ordering.drawn_last(at.now, 1)
    return last == (card,) and not card.seen and not _is_decided_on(at, card)


def _is_decided_on(at: TableView, card: CardOnTable) -> bool:
    """Something else that is open, and halts the table, is about this card or its hand."""
    under = at.halt.stack[:-1]
    return any(opened.subject == card.subject or "hand" in opened.noted for opened in under)


def _why_not(turn: Turn, _args: object = None) -> Message | None:
    if not turn.now.link.aligned:
        return ALIGN_FIRST
    return shoe_cannot_go_on(turn)


# What is done.


def _take_out(turn: Turn) -> None:
    """It lies in the shoe, and not where it lay; what was drawn since lies in order."""
    card = _card(turn)
    if card is not None:
        waits = retaking.waits_for(turn.now, card)
        retaking.take_out(turn, card)
        tell_moved(turn, "taken_back", [card.place])
        if waits is not None:
            close_taken_back(turn, waits, turn.game.rule(*_END))
    elif len(turn.halt.stack) > 1:
        return  # what came since is for the one under it to put in its place
    again = own_kept(turn)
    unplaced.drop_cards(turn, again)
    ordering.lay(turn, again, frozenset())
    if isinstance(card, DealtCard):
        belated.stand(turn)


def _leave(turn: Turn) -> None:
    retaking.leave_all(turn)


# The procedure.

ORDER_ALTERED = Procedure(
    KEY,
    (
        Step(
            "ruling",
            message("prompt_order_altered"),
            (
                Choice(
                    "reconstructed", "pit_supervisor", "reconstructed", (align,),
                    something_is_missing, when=_is_not_told,
                ),
                # Found at the front of the shoe: drawn again it lies where it lay.
                Choice(
                    "reconstructed", "pit_supervisor", "reconstructed", (_take_out, align),
                    _why_not, when=_is_the_next,
                ),
                GO_ON._replace(do=(*GO_ON.do, _leave)),
                LAY_ASIDE_UNPLAYED,
                CALL_VOID,
            ),
        ),
    ),
    (
        End("reconstructed", "reconstructed", _END),
        stands(),
        aside(),
        void((KEY, "void")),
    ),
    Declared(
        "dealer",
        ("betting", "closed", *CARDS_OUT, "suspended"),
        message("seen_order_altered_declared"),
    ),
)  # fmt: skip
