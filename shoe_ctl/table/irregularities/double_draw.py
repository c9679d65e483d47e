"""Cards drawn from the shoe as one (5.8): withdrawn, put in order, or the round is void.

In: nothing. Out: its procedure. Must not know: which cards, who knows their order.
"""

from __future__ import annotations

from shoe_ctl.table import together
from shoe_ctl.table.slots import INITIAL_DEAL
from shoe_ctl.table.turn import Turn

from .endings import CALL_VOID, GO_ON, LAY_ASIDE, align, aside, stands, void
from .exchanging import exchange
from .grounds import CARDS_OUT, halt_of, lay_together, note
from .procedure import VOID, Choice, Declared, End, Procedure, Standing, Step
from .withdrawal import has_window, window_step

KEY = "double_draw"
ORDERED = "double_draw_ordered"
_DEALS = ("closed", "dealing")
_PLAYS = ("closed", *CARDS_OUT)

# What was seen.


def _back_to(at: Standing) -> str:
    assert at.now.halt is not None
    return at.now.halt.back_to


def _shoe_knows(at: Standing) -> bool:
    """The shoe told them in the order in which they left it, one by one or as one."""
    assert at.now.halt is not None
    return at.now.halt.top.noted.get("order_known") is not False


def _nobody_told(at: Standing) -> bool:
    return not _shoe_knows(at)


def _offers_window(at: Standing) -> bool:
    return _back_to(at) in _PLAYS and has_window(at, KEY)


def _offers_none(at: Standing) -> bool:
    return not _offers_window(at)


def _seen_with_window(at: Standing) -> bool:
    return _nobody_told(at) and _offers_window(at)


def _seen_without(at: Standing) -> bool:
    return _nobody_told(at) and not _offers_window(at)


def _told_with_window(at: Standing) -> bool:
    return _shoe_knows(at) and _offers_window(at)


def _told_without(at: Standing) -> bool:
    return _shoe_knows(at) and not _offers_window(at)


def _touches_the_deal(at: Standing) -> bool:
    return _nobody_told(at) and _back_to(at) in _DEALS


def _comes_after_it(at: Standing) -> bool:
    return _nobody_told(at) and _back_to(at) in ("revealing", "drawing")


def _lies(at: Standing) -> int:
    """How many cards lie there and in the round."""
    dealt = 0 if at.now.round is None else len(at.now.round.cards)
    assert at.now.halt is not None
    return dealt + len(at.now.kept) - at.now.halt.top.kept_before


def _some_are_kept(at: Standing) -> bool:
    assert at.now.halt is not None
    return len(at.now.kept) > at.now.halt.top.kept_before


def _leads_to_deal(at: Standing) -> bool:
    return _some_are_kept(at) and _back_to(at) in _DEALS and _lies(at) < len(INITIAL_DEAL)


def _leads_past_it(at: Standing) -> bool:
    if not _some_are_kept(at):
        return False
    completes = _back_to(at) in _DEALS and _lies(at) >= len(INITIAL_DEAL)
    return completes or _back_to(at) in ("revealing", "drawing")


def _leads_back(at: Standing) -> bool:
    return not _leads_to_deal(at) and not _leads_past_it(at)


def _why_not_laid(turn: Turn) -> str | None:
    if turn.now.shoe is None:
        return "no shoe is known: the cards can only be set aside"
    if not turn.now.link.aligned:
        return "the shoe is not aligned: a pit supervisor says align"
    if turn.now.loaded is not None:
        return "the shoe holds another set of cards than the round began with"
    if halt_of(turn).top.kept_before:
        return "cards that were drawn before them have no place yet"
    return None


# What is done.


def _lay(turn: Turn) -> None:
    """Each card to the place that is due in the order drawn; the rest came early."""
    known = halt_of(turn).top.noted.get("order_known") is not False
    together.lay(turn, lay_together(turn), known=known)
    align(turn)


def _upper_first(turn: Turn) -> None:
    note(turn, first="upper")


def _lower_first(turn: Turn) -> None:
    note(turn, first="lower")


# Choices.


def _laid(then: str) -> tuple[Choice, ...]:
    lay = Choice(
        "reconstruct", "dealer", then, (_lay,), _why_not_laid, reason=False, when=_leads_back
    )
    return (
        lay._replace(then=f"{then}_in_deal", when=_leads_to_deal),
        lay._replace(then=f"{then}_past_deal", when=_leads_past_it),
        lay,
    )


_SHOE = Choice("order_from_shoe", "pit_supervisor", "window", when=_told_with_window)
_SEEN = Choice("order_seen", "surveillance", "window", when=_seen_with_window)
_UNKNOWN = Choice(
    "order_unknown", "pit_manager", "unordered", in_round=True, when=_touches_the_deal
)
_UPPER = Choice("upper_first", "pit_manager", "remaining", (_upper_first,))
_LOWER = Choice("lower_first", "pit_manager", "remaining", (_lower_first,))

DOUBLE_DRAW = Procedure(
    KEY,
    (
        Step(
            "order",
            "leave the cards as they lie, unseen: ask in which order they left the shoe",
            (
                _SHOE,
                _SHOE._replace(then="reconstruct", when=_told_without),
                _SEEN,
                _SEEN._replace(then="reconstruct", when=_seen_without),
                _UNKNOWN,
                _UNKNOWN._replace(then="ordering", when=_comes_after_it),
                GO_ON,
                LAY_ASIDE,
                CALL_VOID,
            ),
        ),
        window_step(
            "window",
            "before the cards are put in order ask each Player: withdraw or stand; then close the "
            "window",
            KEY,
            "reconstruct",
            CALL_VOID,
        ),
        Step(
            "reconstruct",
            "put the cards in the order in which they were drawn, and let none be seen",
            (*_laid("reconstructed"), exchange("reconstruct"), LAY_ASIDE, CALL_VOID),
        ),
        Step(
            "ordering",
            "the pit manager says which card comes first, the upper or the lower",
            (_UPPER, _LOWER, CALL_VOID),
            cites=(KEY, "ordered"),
        ),
        window_step(
            "remaining",
            "ask each Player: withdraw all that is not decided, or play on; then close the window",
            ORDERED,
            "lay",
            CALL_VOID,
        ),
        Step(
            "lay",
            "put the cards in the order that the pit manager gave; each is named when it lies open",
            (*_laid("ordered"), LAY_ASIDE, CALL_VOID),
        ),
    ),
    (
        End("reconstructed", "reconstructed", (KEY, "reconstructed")),
        End("reconstructed_in_deal", "reconstructed", (KEY, "reconstructed"), "dealing"),
        End("reconstructed_past_deal", "reconstructed", (KEY, "reconstructed"), "revealing"),
        End("ordered", "ordered", (KEY, "ordered")),
        End("ordered_in_deal", "ordered", (KEY, "ordered"), "dealing"),
        End("ordered_past_deal", "ordered", (KEY, "ordered"), "revealing"),
        End("unordered", "order_unknown", (KEY, "void"), VOID),
        stands(),
        aside(),
        void(),
    ),
    Declared("dealer", (*CARDS_OUT, "suspended"), "it is declared that cards were drawn together"),
    of_cards=True,
)
