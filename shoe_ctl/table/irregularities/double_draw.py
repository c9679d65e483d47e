"""Cards drawn from the shoe as one (5.8): withdrawn, put in order, or the round is void.

In: nothing. Out: its procedure. Must not know: which cards, who knows their order.
"""

from __future__ import annotations

from shoe_ctl.table import ordering
from shoe_ctl.table.round import unplaced
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import message

from . import pulled
from .endings import CALL_VOID, GO_ON, LAY_ASIDE_UNPLAYED, align, aside, stands, void
from .exchanging import exchange
from .grounds import CARDS_OUT, note, own_kept
from .misread import NAME_CARD
from .misread import enter as name_card
from .missed import ENTER, PLACE
from .procedure import VOID, Choice, Declared, End, Procedure, Step
from .withdrawal import has_window, window_step

KEY = "double_draw"
ORDERED = "double_draw_ordered"
NAME = "name"
"""The step for a card in its slot: nobody knows which of the pull it is, until it lies open."""

# What is done.


def _lay(turn: Turn) -> None:
    """Each card to the place that is due in the order drawn; the rest came early."""
    lying = own_kept(turn)
    unplaced.drop_cards(turn, lying)
    ordering.lay(turn, lying, pulled.of_no_order(turn))
    align(turn)


def _forget(turn: Turn) -> None:
    """Where the shoe counted each, its order is not the one that was given."""
    ordering.forget(turn, pulled.lying(turn))


def _asks_players(at: TableView) -> bool:
    """Each Player may withdraw what is not decided, or play on (5.8.2.2)."""
    return has_window(at, ORDERED)


def _asks_nobody(at: TableView) -> bool:
    return not _asks_players(at)


def _upper_first(turn: Turn) -> None:
    note(turn, first="upper")


def _lower_first(turn: Turn) -> None:
    note(turn, first="lower")


# Choices.


_LAY = Choice("reconstruct", "dealer", "reconstructed", (_lay,), pulled.why_not_laid, reason=False)
_SHOE = Choice("order_from_shoe", "pit_supervisor", "window", when=pulled.told_with_window)
_SEEN = Choice("order_seen", "surveillance", "window", when=pulled.seen_with_window)
_UNKNOWN = Choice(
    "order_unknown", "pit_manager", "unordered", in_round=True, when=pulled.touches_the_deal
)
_UPPER = Choice("upper_first", "pit_manager", "remaining", (_upper_first,), when=_asks_players)
_LOWER = Choice("lower_first", "pit_manager", "remaining", (_lower_first,), when=_asks_players)
_ENTER = ENTER._replace(when=pulled.some_may_be_missing)
_PLACE = PLACE._replace(when=pulled.some_were_kept_before)

DOUBLE_DRAW = Procedure(
    KEY,
    (
        Step(
            "order",
            message("prompt_double_draw_order"),
            (
                _SHOE,
                _SHOE._replace(then="reconstruct", when=pulled.told_without_window),
                _SEEN,
                _SEEN._replace(then="reconstruct", when=pulled.seen_without_window),
                _UNKNOWN,
                _UNKNOWN._replace(then="ordering", when=pulled.comes_after_the_deal),
                _ENTER._replace(then="order"),
                GO_ON._replace(when=pulled.lie_in_place),
                LAY_ASIDE_UNPLAYED,
                CALL_VOID,
            ),
        ),
        window_step(
            "window",
            message("prompt_double_draw_window"),
            KEY,
            "reconstruct",
            CALL_VOID,
        ),
        Step(
            "reconstruct",
            message("prompt_double_draw_reconstruct"),
            (
                _LAY,
                exchange("reconstruct"),
                _ENTER._replace(then="reconstruct"),
                _PLACE._replace(then="reconstruct"),
                LAY_ASIDE_UNPLAYED,
                CALL_VOID,
            ),
        ),
        Step(
            "ordering",
            message("prompt_double_draw_ordering"),
            (
                _UPPER,
                _LOWER,
                _UPPER._replace(then="lay", when=_asks_nobody),
                _LOWER._replace(then="lay", when=_asks_nobody),
                CALL_VOID,
            ),
            cites=(KEY, "ordered"),
        ),
        window_step(
            "remaining",
            message("prompt_remaining_window"),
            ORDERED,
            "lay",
            CALL_VOID,
        ),
        Step(
            NAME,
            message("prompt_double_draw_name"),
            (NAME_CARD._replace(then="named"), CALL_VOID),
        ),
        Step(
            "lay",
            message("prompt_double_draw_lay"),
            (
                _LAY._replace(then="ordered", do=(_forget, _lay)),
                _ENTER._replace(then="lay"),
                _PLACE._replace(then="lay"),
                CALL_VOID,
            ),
            facts=pulled.given_order,
        ),
    ),
    (
        End("reconstructed", "reconstructed", (KEY, "reconstructed")),
        End("ordered", "ordered", (KEY, "ordered")),
        End("named", "named", (KEY, "named"), do=(name_card,)),
        End("unordered", "order_unknown", (KEY, "void"), VOID),
        stands(),
        aside(),
        void(),
    ),
    Declared(
        "dealer",
        (*CARDS_OUT, "suspended"),
        message("seen_double_draw_declared"),
        pulled.OfTogether,
        pulled.check_together,
    ),
    begins=(NAME,),
    of_cards=True,
)
