"""Cards that came to the wrong place, or not at all.

In: nothing. Out: their procedures. Must not know: which card it was, what the round will want.
"""

from __future__ import annotations

from shoe_ctl.table.slots import takes_cards
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import Message, message

from .endings import CALL_VOID, GO_ON, LAY_ASIDE_UNPLAYED, align, aside, stands, void
from .exchanging import exchange
from .grounds import CARDS_OUT, shoe_is_not_ready
from .missed import PLACE
from .procedure import Choice, Declared, End, Procedure, Step

_CARDS_DRAWN = (*CARDS_OUT, "suspended")


def _cards_are_out(at: TableView) -> bool:
    return at.now.halt is not None and at.now.halt.back_to in CARDS_OUT


def _awaits_cards(at: TableView) -> bool:
    """A card that came may be one of the round that is dealt, or that its first card opens."""
    return at.resume_state in (*CARDS_OUT, *takes_cards(implied=at.settings.implied))


def _may_be_void(at: TableView) -> bool:
    """The round whose card was missed is not over: later only a ruling is left (6.1).

    A round that began since is void only where it cannot go on with the cards in the shoe.
    """
    return at.now.loaded is not None or at.resume_state in (*CARDS_OUT, "resolved")


def _why_not_reconstructed(turn: Turn, _args: object = None) -> Message | None:
    """A card still lies nowhere, or the round could not go on."""
    return shoe_is_not_ready(turn)


_RECONSTRUCT = Choice(
    "reconstruct", "dealer", "reconstructed", (align,), _why_not_reconstructed, reason=False,
    when=_cards_are_out,
)  # fmt: skip

WRONG_ORDER = Procedure(
    "wrong_order",
    (
        Step(
            "ruling",
            message("prompt_wrong_order"),
            (_RECONSTRUCT, PLACE._replace(when=_awaits_cards), exchange("ruling"), GO_ON,
             LAY_ASIDE_UNPLAYED, CALL_VOID),
        ),
    ),
    (
        End("reconstructed", "reconstructed", ("wrong_order", "reconstructed")),
        stands(),
        aside(),
        void(("wrong_order", "void")),
    ),
    Declared("dealer", _CARDS_DRAWN, message("seen_wrong_order_declared")),
    of_cards=True,
)  # fmt: skip

MISSED_DRAW = Procedure(
    "missed_draw",
    (
        Step(
            "ruling",
            message("prompt_missed_draw"),
            (
                _RECONSTRUCT,
                GO_ON,
                LAY_ASIDE_UNPLAYED,
                CALL_VOID._replace(when=_may_be_void),
            ),
        ),
    ),
    (
        End("reconstructed", "reconstructed", ("missed_draw", "reconstructed")),
        stands(("missed_draw", "ruled")),
        aside(("missed_draw", "ruled")),
        void(("missed_draw", "ruled")),
    ),
    Declared(
        "dealer",
        ("idle", "betting", "closed", *CARDS_OUT, "resolved", "suspended"),
        message("seen_missed_draw_declared"),
    ),
    of_cards=True,
)
