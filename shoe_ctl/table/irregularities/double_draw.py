"""Cards drawn from the shoe as one (5.8): withdrawn, put in order, or the round is void.

In: nothing. Out: its procedure. Must not know: which cards, who knows their order.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from firmware_proto.cards import Card
from firmware_proto.events import CardsDrawn
from shoe_ctl.texts.message import Message, message

from ..arguments import DeclarationArgs
from ..procedures import stack, withdrawal
from ..procedures.procedure import VOID, Choice, Declared, End, Procedure, Step
from ..procedures.shared import (
    ALIGN_FIRST,
    CALL_VOID,
    CARDS_OUT,
    DOUBLE_DRAW_KEY,
    GO_ON,
    INSPECTS,
    LAY_ASIDE_UNPLAYED,
    NAMING_STEP,
    align,
    aside,
    halt_of,
    note,
    own_kept,
    stands,
    void,
)
from ..procedures.stack import raise_irregularity
from ..procedures.withdrawal import has_window, window_step
from ..round import card_check, early_cards, reconstruct
from ..shoe import ledger as card_ledger
from ..shoe import unplaced
from ..state import CardOnTable
from ..turn import Cause, TableView, Turn
from .draw_order import exchange_cards
from .gaps import DRAWN_AS_ONE, ENTER, PLACE, first_missed, numbers_in_place
from .unread_cards import NAME_CARD, enter_seen_card

AS_DECLARED = "cards"
"""Noted where people declared it: so many came together, those drawn last."""

ORDER_KNOWN = "order_known"
"""Noted where the shoe told them as one: it has them in the order drawn."""

_DEALS = ("closed", "dealing")
_PLAYS = ("closed", *CARDS_OUT)


_FEWEST = 2
"""So many cards at least are drawn together."""


class TogetherCards(DeclarationArgs, frozen=True, kw_only=True):
    """How many cards came together: those drawn last."""

    cards: Annotated[int, msgspec.Meta(ge=_FEWEST, le=4)] = _FEWEST


def _is_declared(at: TableView) -> bool:
    """The shoe told each by itself: whether its order holds is for people to say."""
    return AS_DECLARED in at.current.noted


def declared_cards(at: TableView) -> tuple[CardOnTable, ...]:
    """The cards that were declared drawn together: they lie where the shoe's count put them."""
    return reconstruct.last_drawn(at.now, at.current.noted[AS_DECLARED]) if _is_declared(at) else ()


def is_order_known(at: TableView) -> bool:
    """The shoe told them in the order in which they left it, one by one or as one."""
    return at.current.noted.get(ORDER_KNOWN) is not False


def _nobody_told(at: TableView) -> bool:
    return at.current.noted.get(ORDER_KNOWN) is not True


def _offers_window(at: TableView) -> bool:
    """Players may withdraw while nobody has seen the cards (5.8.1)."""
    unseen = not any(card.seen for card in declared_cards(at))
    return unseen and at.resume_state in _PLAYS and has_window(at, DOUBLE_DRAW_KEY)


def entered_order(at: TableView) -> dict[str, Any]:
    """What the pit manager said."""
    return {"first": at.current.noted.get("first")}


def are_in_place(at: TableView) -> bool:
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
    return is_order_known(at) and _offers_window(at)


def told_without_window(at: TableView) -> bool:
    """The same, and Players may not."""
    return is_order_known(at) and not _offers_window(at)


def _is_of_the_deal(at: TableView) -> bool:
    """One of them is one of the first four."""
    if _is_declared(at):
        return any(reconstruct.is_initial_card(card) for card in declared_cards(at))
    return at.resume_state in _DEALS


def touches_initial_deal(at: TableView) -> bool:
    """In an unknown order, and one of them is one of the first four (5.8.2.1)."""
    return _nobody_told(at) and _is_of_the_deal(at)


def follows_initial_deal(at: TableView) -> bool:
    """All are third cards, and whoever orders them cannot know one."""
    later = at.resume_state in ("revealing", "drawing") and not _is_of_the_deal(at)
    return _nobody_told(at) and later and not any(card.seen for card in declared_cards(at))


def has_earlier_held_cards(at: TableView) -> bool:
    """Cards that came before them lie in no slot."""
    return unplaced.held_before(at.now, at.current)


def may_miss_cards(at: TableView) -> bool:
    """The shoe passed over a draw, or may have told two cards as one."""
    missed = at.now.shoe is not None and bool(at.now.shoe.missed)
    return at.resume_state in _PLAYS and (missed or _is_declared(at))


def check_together(turn: Turn, args: TogetherCards | None) -> Message | None:
    """Fewer cards of the round are out than came together."""
    count = _FEWEST if args is None else args.cards
    out = len(reconstruct.last_drawn(turn.now, count))
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


def unordered_draws(at: TableView) -> frozenset[int]:
    """The draws of which the shoe does not know which is which."""
    return frozenset() if is_order_known(at) else frozenset(at.current.noted[DRAWN_AS_ONE])


ORDERED = "double_draw_ordered"

# What is done.


def _lay(turn: Turn) -> None:
    """Each card to the place that is due in the order drawn; the rest came early."""
    lying = own_kept(turn)
    unplaced.drop_cards(turn, lying)
    reconstruct.lay_in_order(turn, lying, unordered_draws(turn))
    align(turn)


def _forget(turn: Turn) -> None:
    """Where the shoe counted each, its order is not the one that was given."""
    reconstruct.forget_identity(turn, declared_cards(turn))


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


_LAY = Choice("reconstruct", "dealer", "reconstructed", (_lay,), why_not_laid, reason=False)
_SHOE = Choice("order_from_shoe", "pit_supervisor", "window", when=told_with_window)
_SEEN = Choice("order_seen", "surveillance", "window", when=seen_with_window)
_UNKNOWN = Choice(
    "order_unknown", "pit_manager", "unordered", in_round=True, when=touches_initial_deal
)
_UPPER = Choice("upper_first", "pit_manager", "remaining", (_upper_first,), when=_asks_players)
_LOWER = Choice("lower_first", "pit_manager", "remaining", (_lower_first,), when=_asks_players)
_ENTER = ENTER._replace(when=may_miss_cards)
_PLACE = PLACE._replace(when=has_earlier_held_cards)

DOUBLE_DRAW = Procedure(
    DOUBLE_DRAW_KEY,
    (
        Step(
            "order",
            message("prompt_double_draw_order"),
            (
                _SHOE,
                _SHOE._replace(then="reconstruct", when=told_without_window),
                _SEEN,
                _SEEN._replace(then="reconstruct", when=seen_without_window),
                _UNKNOWN,
                _UNKNOWN._replace(then="ordering", when=follows_initial_deal),
                _ENTER._replace(then="order"),
                GO_ON._replace(when=are_in_place),
                LAY_ASIDE_UNPLAYED,
                CALL_VOID,
            ),
        ),
        window_step(
            "window",
            message("prompt_double_draw_window"),
            DOUBLE_DRAW_KEY,
            "reconstruct",
            CALL_VOID,
        ),
        Step(
            "reconstruct",
            message("prompt_double_draw_reconstruct"),
            (
                _LAY,
                exchange_cards("reconstruct"),
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
            cites=(DOUBLE_DRAW_KEY, "ordered"),
        ),
        window_step(
            "remaining",
            message("prompt_remaining_window"),
            ORDERED,
            "lay",
            CALL_VOID,
        ),
        Step(
            NAMING_STEP,
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
            facts=entered_order,
        ),
    ),
    (
        End("reconstructed", "reconstructed", (DOUBLE_DRAW_KEY, "reconstructed")),
        End("ordered", "ordered", (DOUBLE_DRAW_KEY, "ordered")),
        End("named", "named", (DOUBLE_DRAW_KEY, "named"), do=(enter_seen_card,)),
        End("unordered", "order_unknown", (DOUBLE_DRAW_KEY, "void"), VOID),
        stands(),
        aside(),
        void(),
    ),
    Declared(
        "dealer",
        (*CARDS_OUT, "suspended"),
        message("seen_double_draw_declared"),
        TogetherCards,
        check_together,
    ),
    begins=(NAMING_STEP,),
    of_cards=True,
)

# What was seen.


def begins_round(turn: Turn) -> bool:
    """Announcements are implied, and these are the first cards of a round."""
    event = turn.shoe_event
    assert isinstance(event, CardsDrawn)
    is_next = turn.now.shoe is not None and event.number in (None, turn.shoe.drawn + 1)
    return turn.implied and is_next and not card_check.is_unaligned(turn)


# What is done.


def raise_double_draw(turn: Turn) -> None:
    """Bets are closed by them: now the table asks."""
    turn.then("drawn_together")


def halt_for_double_draw(turn: Turn) -> None:
    """Each is counted and kept, and lies in no slot."""
    event, halted = turn.shoe_event, turn.now.halt
    assert isinstance(event, CardsDrawn)
    awaited = None if turn.now.shoe is None else turn.shoe.drawn + 1
    seen = message("seen_drawn_together", cards=len(event.cards))
    if halted is not None and DRAWN_AS_ONE in halted.top.noted:
        _join(turn, event, seen)
    else:
        _raise(turn, event, seen)
    strange = [_hold(turn, place, card) for place, card in enumerate(event.cards)]
    if awaited is not None and event.number not in (None, awaited):
        passed = message("seen_draw_out_of_turn", draw=event.number, next=awaited)
        raise_irregularity(turn, Cause("gap", passed))
    for cause in strange:
        if cause is not None:
            raise_irregularity(turn, cause)


def _raise(turn: Turn, event: CardsDrawn, seen: Message) -> None:
    noted = {ORDER_KNOWN: event.order_known, DRAWN_AS_ONE: _numbers(turn, event)}
    raise_irregularity(
        turn, Cause(DOUBLE_DRAW_KEY, seen, subject=str(turn.now.inputs), noted=noted)
    )


def _join(turn: Turn, event: CardsDrawn, seen: Message) -> None:
    """More came before the order of the first was settled: all are put in order as one."""
    top = halt_of(turn).top
    known = event.order_known and top.noted[ORDER_KNOWN]
    draws = [*top.noted[DRAWN_AS_ONE], *_numbers(turn, event)]
    withdrawal.tell_ended(turn, top, "stands")
    note(turn, **{ORDER_KNOWN: known, DRAWN_AS_ONE: draws})
    stack.go_to(turn, "order", more=seen.as_data())


def _numbers(turn: Turn, event: CardsDrawn) -> list[int]:
    """The numbers of their draws, where a shoe is known."""
    if turn.now.shoe is None:
        return []
    first = turn.shoe.drawn + 1 if event.number is None else event.number
    return [first + place for place in range(len(event.cards))]


def _hold(turn: Turn, place: int, card: Card | None) -> Cause | None:
    """Count one of them, and keep it. Gives what is to be inspected."""
    event, before = turn.shoe_event, turn.now.shoe
    assert isinstance(event, CardsDrawn)
    strange = card_check.foreign_kind(turn, card)
    number = None if event.number is None else event.number + place
    card_ledger.count_without_slot(turn, card, number)
    if number is None and turn.now.shoe is not None:
        number = turn.shoe.drawn
    counted = turn.now.shoe != before
    unplaced.add_card(turn, card, number, role="held", counted=counted)
    if strange is None or number is None:
        return None
    return strange._replace(subject=early_cards.overdraw_subject(number), noted={INSPECTS: number})
