"""What is so of cards drawn as one: who knows their order, what they touch, whether they can lie.

In: the table as it stands. Out: conditions, and objections: why a choice cannot be taken now.
Must not know: which cards they are, what is decided.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from shoe_ctl.table import ordering
from shoe_ctl.table.arguments import OfKey
from shoe_ctl.table.round import unplaced
from shoe_ctl.table.state import CardOnTable
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import Message, message

from .grounds import ALIGN_FIRST, CARDS_OUT, own_kept
from .missed import DRAWN_AS_ONE, first_missed, numbers_in_place
from .withdrawal import has_window

KEY = "double_draw"
AS_DECLARED = "cards"
"""Noted where people declared it: so many came together, those drawn last."""

ORDER_KNOWN = "order_known"
"""Noted where the shoe told them as one: it has them in the order drawn."""

_DEALS = ("closed", "dealing")
_PLAYS = ("closed", *CARDS_OUT)


_FEWEST = 2
"""So many cards at least are drawn together."""


class OfTogether(OfKey, frozen=True, kw_only=True):
    """How many cards came together: those drawn last."""

    cards: Annotated[int, msgspec.Meta(ge=_FEWEST, le=4)] = _FEWEST


def _is_declared(at: TableView) -> bool:
    """The shoe told each by itself: whether its order holds is for people to say."""
    return AS_DECLARED in at.current.noted


def lying(at: TableView) -> tuple[CardOnTable, ...]:
    """The cards that were declared drawn together: they lie where the shoe's count put them."""
    return ordering.drawn_last(at.now, at.current.noted[AS_DECLARED]) if _is_declared(at) else ()


def shoe_knows(at: TableView) -> bool:
    """The shoe told them in the order in which they left it, one by one or as one."""
    return at.current.noted.get(ORDER_KNOWN) is not False


def _nobody_told(at: TableView) -> bool:
    return at.current.noted.get(ORDER_KNOWN) is not True


def _offers_window(at: TableView) -> bool:
    """Players may withdraw while nobody has seen the cards (5.8.1)."""
    unseen = not any(card.seen for card in lying(at))
    return unseen and at.resume_state in _PLAYS and has_window(at, KEY)


def given_order(at: TableView) -> dict[str, Any]:
    """What the pit manager said."""
    return {"first": at.current.noted.get("first")}


def lie_in_place(at: TableView) -> bool:
    """Each has its place already: nothing came as one, but that people said so."""
    return not unplaced.held_since(at.now, at.current)


def seen_with_window(at: TableView) -> bool:
    """The shoe does not settle their order, and Players may withdraw."""
    return _nobody_told(at) and _offers_window(at)


def seen_without_window(at: TableView) -> bool:
    """The same, and Players may not."""
    return _nobody_told(at) and not _offers_window(at)


def told_with_window(at: TableView) -> bool:
    """The shoe has them in an order, and Players may withdraw."""
    return shoe_knows(at) and _offers_window(at)


def told_without_window(at: TableView) -> bool:
    """The same, and Players may not."""
    return shoe_knows(at) and not _offers_window(at)


def _is_of_the_deal(at: TableView) -> bool:
    """One of them is one of the first four."""
    if _is_declared(at):
        return any(ordering.is_of_the_deal(card) for card in lying(at))
    return at.resume_state in _DEALS


def touches_the_deal(at: TableView) -> bool:
    """In an unknown order, and one of them is one of the first four (5.8.2.1)."""
    return _nobody_told(at) and _is_of_the_deal(at)


def comes_after_the_deal(at: TableView) -> bool:
    """All are third cards, and whoever orders them cannot know one."""
    later = at.resume_state in ("revealing", "drawing") and not _is_of_the_deal(at)
    return _nobody_told(at) and later and not any(card.seen for card in lying(at))


def some_were_kept_before(at: TableView) -> bool:
    """Cards that came before them lie in no slot."""
    return unplaced.held_before(at.now, at.current)


def some_may_be_missing(at: TableView) -> bool:
    """The shoe passed over a draw, or may have told two cards as one."""
    missed = at.now.shoe is not None and bool(at.now.shoe.missed)
    return at.resume_state in _PLAYS and (missed or _is_declared(at))


def check_together(turn: Turn, args: OfTogether | None) -> Message | None:
    """Fewer cards of the round are out than came together."""
    count = _FEWEST if args is None else args.cards
    out = len(ordering.drawn_last(turn.now, count))
    return None if out == count else message("refused_fewer_cards_out", cards=out)


def why_not_laid(turn: Turn, _args: object = None) -> Message | None:
    """What keeps them from being laid in order by rule, without anyone's ruling."""
    if turn.now.shoe is None:
        return message("refused_no_shoe_set_aside")
    if not turn.now.link.aligned:
        return ALIGN_FIRST
    if turn.now.loaded is not None:
        return message("refused_another_set")
    if unplaced.held_before(turn.now, turn.current):
        return message("refused_earlier_cards_first")
    numbers = [card.number for card in own_kept(turn) if card.number is not None]
    if not numbers or turn.resume_state not in _PLAYS:
        return None
    if numbers_in_place(turn) & {*numbers}:
        return message("refused_cards_in_place")
    missed = first_missed(turn)
    if missed is not None and missed < max(numbers):
        return message("refused_enter_missed_first")
    return None


def of_no_order(at: TableView) -> frozenset[int]:
    """The draws of which the shoe does not know which is which."""
    return frozenset() if shoe_knows(at) else frozenset(at.current.noted[DRAWN_AS_ONE])
