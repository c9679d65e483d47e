"""The shoe moved about in Method C: cards seen on the way, or their order altered (5.12).

In: nothing. Out: their procedures. Must not know: which cards, who has the shoe.
"""

from __future__ import annotations

from shoe_ctl.table import shoe_cards, shoe_control
from shoe_ctl.table.turn import Turn
from shoe_ctl.texts.message import Message, message

from .endings import CALL_VOID, GO_ON, LAY_ASIDE, align, aside, stands, void
from .grounds import shoe_is_not_ready, something_is_missing
from .procedure import DECIDES, Choice, Declared, End, Procedure, Step

_ALTERED = "order_altered_while_moving"
_MOVES = ("idle", "betting", "closed", "dealing", "revealing", "drawing", "suspended")


def _not_ready(turn: Turn, _args: object = None) -> Message | None:
    return something_is_missing(turn) if turn.now.round is None else shoe_is_not_ready(turn)


def _must_be_replaced(turn: Turn) -> None:
    """The cards shall be replaced (5.12.2)."""
    shoe_cards.replace_before_next(turn, turn.game.rule(_ALTERED, "shoe_replaced"))


EXPOSED_WHILE_MOVING = Procedure(
    "exposed_while_moving",
    (
        Step(
            "ruling",
            message("prompt_seen_while_moved"),
            (
                Choice(
                    "play_face_down", "dealer", "face_down", unless=_not_ready, reason=False
                ),
                GO_ON,
                LAY_ASIDE,
                CALL_VOID,
            ),
        ),
    ),
    (
        End("face_down", "play_face_down", ("exposed_while_moving", "played_as_face_down")),
        stands(),
        aside(),
        void(),
    ),
    Declared(
        "dealer",
        _MOVES,
        message("seen_seen_while_moved_declared"),
        unless=shoe_control.check_method,
    ),
)  # fmt: skip

ORDER_ALTERED_WHILE_MOVING = Procedure(
    _ALTERED,
    (
        Step(
            "ruling",
            message("prompt_altered_while_moved"),
            (
                Choice("rectified", DECIDES, "rectified", (align,), something_is_missing),
                Choice("replace_cards", "pit_supervisor", "replaced", in_round=False),
                LAY_ASIDE,
                CALL_VOID,
            ),
        ),
    ),
    (
        End("rectified", "rectified", (_ALTERED, "rectified")),
        End(
            "replaced", "cards_replaced", (_ALTERED, "shoe_replaced"), "shoe_change",
            (_must_be_replaced, shoe_cards.announce_change),
        ),
        aside(),
        void((_ALTERED, "void"))._replace(do=(_must_be_replaced,)),
    ),
    Declared(
        "dealer",
        _MOVES,
        message("seen_altered_while_moved_declared"),
        unless=shoe_control.check_method,
    ),
)  # fmt: skip
