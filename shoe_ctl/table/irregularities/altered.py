"""The order of the cards in the shoe was altered: found again, or the round is void (5.2).

In: nothing. Out: its procedure. Must not know: which card it was, what the round will want.
"""

from __future__ import annotations

from shoe_ctl.table import ordering, retaking
from shoe_ctl.table.slots import INITIAL_DEAL
from shoe_ctl.table.state import Dealt, Kept
from shoe_ctl.table.turn import Turn
from shoe_ctl.texts.message import Message, message

from .endings import CALL_VOID, GO_ON, LAY_ASIDE_UNPLAYED, align, aside, stands, void
from .grounds import (
    ALIGN_FIRST,
    CARDS_OUT,
    close_taken_back,
    drop_kept,
    halt_of,
    own_kept,
    shoe_cannot_go_on,
    something_is_missing,
    tell_moved,
)
from .procedure import BACK, Choice, Declared, End, Procedure, Standing, Step

KEY = "order_altered"
PUSHED_BACK = "pushed_back"
"""Noted where the shoe says that a card went back into it: the number of its draw."""

_END = (KEY, "reconstructed")

# What was seen.


def _is_told(at: Standing) -> bool:
    """The shoe said which card went back."""
    assert at.now.halt is not None
    return PUSHED_BACK in at.now.halt.top.noted


def _is_not_told(at: Standing) -> bool:
    return not _is_told(at)


def _card(at: Standing) -> Dealt | Kept | None:
    """The card that went back, where it has a place on the table."""
    assert at.now.halt is not None
    return retaking.find(at.now, at.now.halt.top.noted[PUSHED_BACK]) if _is_told(at) else None


def _is_the_next(at: Standing) -> bool:
    """It lies at the front of the shoe: nobody has seen it, and it was the last that was drawn."""
    card = _card(at)
    if card is None:
        return _is_told(at)
    last = ordering.drawn_last(at.now, 1)
    return last == (card,) and not ordering.was_seen(card) and not _is_decided_on(at, card)


def _is_decided_on(at: Standing, card: Dealt | Kept) -> bool:
    """Something else that is open, and halts the table, is about this card or its hand."""
    assert at.now.halt is not None
    subject = retaking.subject_of(card)
    under = at.now.halt.stack[:-1]
    return any(opened.subject == subject or "hand" in opened.noted for opened in under)


def _drawn_again(at: Standing) -> int:
    """How many cards came since."""
    assert at.now.halt is not None
    return len(at.now.kept) - at.now.halt.deciding[0].kept_before


def _leads(at: Standing) -> str:
    """The state that the table is in with the card in the shoe again, and those drawn since."""
    card = _card(at)
    if not isinstance(card, Dealt):
        return BACK
    since = _drawn_again(at)
    if (card.hand, card.index) not in INITIAL_DEAL:
        return "revealing" if since else "drawing"
    played = at.now.round
    assert played is not None
    lie = len(played.cards) - 1 + since
    if not lie:
        return "closed"
    return "dealing" if lie < len(INITIAL_DEAL) else "revealing"


def _why_not(turn: Turn) -> Message | None:
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
        tell_moved(turn, "taken_back", [_place(card)])
        if waits is not None:
            close_taken_back(turn, waits, turn.game.rule(*_END))
    elif len(halt_of(turn).stack) > 1:
        return  # what came since is for the one under it to put in its place
    again = own_kept(turn)
    drop_kept(turn, again)
    ordering.lay(turn, again, frozenset())


def _place(card: Dealt | Kept) -> str:
    return f"{card.hand} {card.index}" if isinstance(card, Dealt) else "drawn early"


def _leave(turn: Turn) -> None:
    retaking.leave_all(turn)


# Choices, and the procedure.


def _found(leads: str) -> tuple[Choice, End]:
    """It is found at the front of the shoe: drawn again it lies where it lay."""

    def leads_there(at: Standing) -> bool:
        return _is_the_next(at) and _leads(at) == leads

    name = f"found_{leads}"
    choice = Choice(
        "reconstructed", "pit_supervisor", name, (_take_out, align), _why_not, when=leads_there
    )
    return choice, End(name, "reconstructed", _END, leads)


_FOUND = tuple(map(_found, (BACK, "closed", "dealing", "drawing", "revealing")))

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
                *(choice for choice, _ in _FOUND),
                GO_ON._replace(do=(*GO_ON.do, _leave)),
                LAY_ASIDE_UNPLAYED,
                CALL_VOID,
            ),
        ),
    ),
    (
        End("reconstructed", "reconstructed", _END),
        *(end for _, end in _FOUND),
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
