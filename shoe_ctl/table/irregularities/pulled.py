"""What is so of cards drawn as one: who knows their order, what they touch, whether they can lie.

In: the table as it stands. Out: conditions, and objections: why a choice cannot be taken now.
Must not know: which cards they are, what is decided.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from shoe_ctl.table import ordering
from shoe_ctl.table.arguments import OfKey, checked
from shoe_ctl.table.slots import INITIAL_DEAL, pending_cards
from shoe_ctl.table.state import Dealt, Kept
from shoe_ctl.table.turn import Turn
from shoe_ctl.texts.message import Message, message

from .grounds import ALIGN_FIRST, CARDS_OUT, halt_of, own_kept
from .missed import DRAWN_AS_ONE, first_missed, numbers_in_place
from .procedure import Standing
from .withdrawal import has_window

KEY = "double_draw"
AS_DECLARED = "cards"
"""Noted where people declared it: so many came together, those drawn last."""

ORDER_KNOWN = "order_known"
"""Noted where the shoe told them as one: it has them in the order drawn."""

_DEALS = ("closed", "dealing")
_PLAYS = ("closed", *CARDS_OUT)


class OfTogether(OfKey, frozen=True, kw_only=True):
    """How many cards came together: those drawn last."""

    cards: Annotated[int, msgspec.Meta(ge=2, le=4)] = 2


def _back_to(at: Standing) -> str:
    assert at.now.halt is not None
    return at.now.halt.back_to


def _noted(at: Standing) -> dict[str, Any]:
    assert at.now.halt is not None
    return at.now.halt.top.noted


def _is_declared(at: Standing) -> bool:
    """The shoe told each by itself: whether its order holds is for people to say."""
    return AS_DECLARED in _noted(at)


def lying(at: Standing) -> tuple[Dealt | Kept, ...]:
    """The cards that were declared drawn together: they lie where the shoe's count put them."""
    return ordering.drawn_last(at.now, _noted(at)[AS_DECLARED]) if _is_declared(at) else ()


def shoe_knows(at: Standing) -> bool:
    """The shoe told them in the order in which they left it, one by one or as one."""
    return _noted(at).get(ORDER_KNOWN) is not False


def _nobody_told(at: Standing) -> bool:
    return _noted(at).get(ORDER_KNOWN) is not True


def _offers_window(at: Standing) -> bool:
    """Players may withdraw while nobody has seen the cards (5.8.1)."""
    unseen = not any(ordering.was_seen(card) for card in lying(at))
    return unseen and _back_to(at) in _PLAYS and has_window(at, KEY)


def given_order(at: Standing) -> dict[str, Any]:
    """What the pit manager said."""
    return {"first": _noted(at).get("first")}


def lie_in_place(at: Standing) -> bool:
    """Each has its place already: nothing came as one, but that people said so."""
    return not _some_are_kept(at)


def seen_with_window(at: Standing) -> bool:
    """The shoe does not settle their order, and Players may withdraw."""
    return _nobody_told(at) and _offers_window(at)


def seen_without_window(at: Standing) -> bool:
    """The same, and Players may not."""
    return _nobody_told(at) and not _offers_window(at)


def told_with_window(at: Standing) -> bool:
    """The shoe has them in an order, and Players may withdraw."""
    return shoe_knows(at) and _offers_window(at)


def told_without_window(at: Standing) -> bool:
    """The same, and Players may not."""
    return shoe_knows(at) and not _offers_window(at)


def _is_of_the_deal(at: Standing) -> bool:
    """One of them is one of the first four."""
    if _is_declared(at):
        return any(ordering.is_of_the_deal(card) for card in lying(at))
    return _back_to(at) in _DEALS


def touches_the_deal(at: Standing) -> bool:
    """In an unknown order, and one of them is one of the first four (5.8.2.1)."""
    return _nobody_told(at) and _is_of_the_deal(at)


def comes_after_the_deal(at: Standing) -> bool:
    """All are third cards, and whoever orders them cannot know one."""
    later = _back_to(at) in ("revealing", "drawing") and not _is_of_the_deal(at)
    return _nobody_told(at) and later and not any(map(ordering.was_seen, lying(at)))


def some_were_kept_before(at: Standing) -> bool:
    """Cards that came before them lie in no slot."""
    assert at.now.halt is not None
    return at.now.halt.top.kept_before > 0


def some_may_be_missing(at: Standing) -> bool:
    """The shoe passed over a draw, or may have told two cards as one."""
    missed = at.now.shoe is not None and bool(at.now.shoe.missed)
    return _back_to(at) in _PLAYS and (missed or _is_declared(at))


def why_not_declared(turn: Turn) -> Message | None:
    """Fewer cards of the round are out than came together."""
    count = checked(turn, OfTogether).cards
    out = len(ordering.drawn_last(turn.now, count))
    return None if out == count else message("refused_fewer_cards_out", cards=out)


def _lies(at: Standing) -> int:
    """How many cards lie there and in the round."""
    cards = () if at.now.round is None else at.now.round.cards
    dealt = len(cards or at.now.opening)
    assert at.now.halt is not None
    dealt += pending_cards(at.now)
    return dealt + len(at.now.kept) - at.now.halt.top.kept_before


def _some_are_kept(at: Standing) -> bool:
    assert at.now.halt is not None
    return len(at.now.kept) > at.now.halt.top.kept_before


def leads_to_deal(at: Standing) -> bool:
    """With them laid fewer than four cards are dealt."""
    return _some_are_kept(at) and _back_to(at) in _DEALS and _lies(at) < len(INITIAL_DEAL)


def leads_past_deal(at: Standing) -> bool:
    """With them laid the first four are dealt."""
    if not _some_are_kept(at):
        return False
    completes = _back_to(at) in _DEALS and _lies(at) >= len(INITIAL_DEAL)
    return completes or _back_to(at) in ("revealing", "drawing")


def leads_back(at: Standing) -> bool:
    """Nothing is laid, or there is no round for it."""
    return not leads_to_deal(at) and not leads_past_deal(at)


def why_not_laid(turn: Turn) -> Message | None:
    """What keeps them from being laid in order by rule, without anyone's ruling."""
    if turn.now.shoe is None:
        return message("refused_no_shoe_set_aside")
    if not turn.now.link.aligned:
        return ALIGN_FIRST
    if turn.now.loaded is not None:
        return message("refused_another_set")
    if halt_of(turn).top.kept_before:
        return message("refused_earlier_cards_first")
    numbers = [card.number for card in own_kept(turn) if card.number is not None]
    if not numbers or _back_to(turn) not in _PLAYS:
        return None
    if numbers_in_place(turn) & {*numbers}:
        return message("refused_cards_in_place")
    missed = first_missed(turn)
    if missed is not None and missed < max(numbers):
        return message("refused_enter_missed_first")
    return None


def of_no_order(at: Standing) -> frozenset[int]:
    """The draws of which the shoe does not know which is which."""
    return frozenset() if shoe_knows(at) else frozenset(_noted(at)[DRAWN_AS_ONE])
