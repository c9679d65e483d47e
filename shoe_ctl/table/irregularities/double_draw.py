"""Cards drawn from the shoe together, as one pull (``double_draw``, 5.8).

Rule: if the shoe or surveillance knows the order, Players may withdraw (5.8.1); then the cards are
dealt in that order. If nobody knows it and one of the first four cards is among them, the round is
void (5.8.2.1). If nobody knows it later, the Pit Manager orders them; each Player may withdraw what
is not decided yet, or play on (5.8.2.2). Such a card is named when it lies open.

In: several cards in one event of the shoe, or what people declare. Out: ``DOUBLE_DRAW``; the cards
held, then dealt in order. Must not know: which cards they are.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from firmware_proto.cards import Card
from firmware_proto.events import CardsDrawn
from shoe_ctl.table.arguments import DeclarationArgs
from shoe_ctl.table.irregularities.draw_order import exchange_cards, exchanged_places
from shoe_ctl.table.procedures import stack, withdrawal
from shoe_ctl.table.procedures.card_choices import (
    ENTER,
    NAME_CARD,
    PLACE,
    PULLED_DRAWS,
    enter_seen_card,
    first_missing_draw,
    placed_draws,
)
from shoe_ctl.table.procedures.procedure import (
    VOID,
    Choice,
    Declared,
    End,
    Procedure,
    Step,
    both,
    is_not,
)
from shoe_ctl.table.procedures.shared import (
    ALIGN_FIRST,
    CALL_VOID,
    GO_ON,
    INSPECTS,
    LAY_ASIDE_UNPLAYED,
    align,
    current_held_cards,
    end_play_on,
    end_set_aside,
    end_void,
    is_halted_with_cards_out,
    update_data,
)
from shoe_ctl.table.procedures.stack import raise_irregularity
from shoe_ctl.table.procedures.withdrawal import has_window, window_step
from shoe_ctl.table.round import card_check, reconstruct
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.shoe import unplaced
from shoe_ctl.table.situations import CARDS_OUT
from shoe_ctl.table.state import CardOnTable, subject_of_draw
from shoe_ctl.table.turn import Cause, TableView, Turn
from shoe_ctl.texts.message import Message, message

DOUBLE_DRAW_KEY = "double_draw"

NAMING_STEP = "name"
"""The step that names a card of the pull in its slot, once it lies open."""

ORDERED = "double_draw_ordered"
"""The key of the withdrawal window after the Pit Manager has ordered the cards (5.8.2.2)."""

DECLARED_COUNT = "cards"
"""Key of stored data, where people declared it: how many came together, the last ones drawn."""

ORDER_KNOWN = "order_known"
"""Key of stored data, where the shoe reported a pull: True if it has the cards in the order
drawn."""

_DEALS = ("closed", "dealing")
"""The states in which the next card is one of the first four."""

_PLAYS = ("closed", *CARDS_OUT)
"""The states from *no more bets* to the outcome."""

_FEWEST_CARDS = 2
"""At least so many cards are drawn together."""


class PulledCards(DeclarationArgs, frozen=True, kw_only=True):
    """The number of cards drawn together: the last ones drawn."""

    cards: Annotated[int, msgspec.Meta(ge=_FEWEST_CARDS, le=4)] = _FEWEST_CARDS


# Detection


def begins_round(turn: Turn) -> bool:
    """Return True if announcements are implied and these are the first cards of a round."""
    event = turn.event(CardsDrawn)
    is_next = turn.now.shoe is not None and event.number in (None, turn.shoe.drawn + 1)
    return turn.implied and is_next and not card_check.is_unaligned(turn)


def raise_double_draw(turn: Turn) -> None:
    """Fire the halt for the cards that were drawn together, after they have closed the bets."""
    turn.fire("drawn_together")


def halt_for_double_draw(turn: Turn) -> None:
    """Halt: hold each card without a slot, and inspect what is not one of the shoe's."""
    event, halted = turn.event(CardsDrawn), turn.now.halt
    awaited = None if turn.now.shoe is None else turn.shoe.drawn + 1
    seen = message("seen_drawn_together", cards=len(event.cards))
    if halted is not None and PULLED_DRAWS in halted.current.data:
        _join_open_double_draw(turn, event, seen)
    else:
        _open_double_draw(turn, event, seen)
    inspections = [_hold_card(turn, place, card) for place, card in enumerate(event.cards)]
    if awaited is not None and event.number not in (None, awaited):
        passed = message("seen_draw_out_of_turn", draw=event.number, next=awaited)
        raise_irregularity(turn, Cause("gap", passed))
    for cause in inspections:
        if cause is not None:
            raise_irregularity(turn, cause)


def _open_double_draw(turn: Turn, event: CardsDrawn, seen: Message) -> None:
    noted = {ORDER_KNOWN: event.order_known, PULLED_DRAWS: _draw_numbers(turn, event)}
    raise_irregularity(turn, Cause(DOUBLE_DRAW_KEY, seen, subject=str(turn.now.inputs), data=noted))


def _join_open_double_draw(turn: Turn, event: CardsDrawn, seen: Message) -> None:
    """Add cards to an open double draw whose order is not settled: all are ordered as one pull."""
    top = turn.halt.current
    known = event.order_known and top.data[ORDER_KNOWN]
    draws = [*top.data[PULLED_DRAWS], *_draw_numbers(turn, event)]
    withdrawal.emit_window_closed(turn, top, "stands")
    update_data(turn, **{ORDER_KNOWN: known, PULLED_DRAWS: draws})
    stack.go_to(turn, "order", more=seen.as_data())


def _draw_numbers(turn: Turn, event: CardsDrawn) -> list[int]:
    """Return the numbers of the draws. Empty where no shoe is known."""
    if turn.now.shoe is None:
        return []
    first = turn.shoe.drawn + 1 if event.number is None else event.number
    return [first + place for place in range(len(event.cards))]


def _hold_card(turn: Turn, place: int, card: Card | None) -> Cause | None:
    """Count and hold one of the cards. Return the cause of an inspection, where it needs one."""
    event, before = turn.event(CardsDrawn), turn.now.shoe
    cause = card_check.foreign_cause(turn, card)
    number = None if event.number is None else event.number + place
    card_ledger.count_without_slot(turn, card, number)
    if number is None and turn.now.shoe is not None:
        number = turn.shoe.drawn
    counted = turn.now.shoe != before
    unplaced.add_card(turn, card, number, role="held", counted=counted)
    if cause is None or number is None:
        return None
    return cause._replace(subject=subject_of_draw(number), data={INSPECTS: number})


def check_declared_count(turn: Turn, args: PulledCards | None) -> Message | None:
    """Return an objection if fewer cards of the round are out than are declared."""
    count = _FEWEST_CARDS if args is None else args.cards
    out = len(reconstruct.last_drawn(turn.now, count))
    return None if out == count else message("refused_fewer_cards_out", cards=out)


# Conditions


def _is_declared(view: TableView) -> bool:
    """Return True if people declared it. The shoe reported each card alone then."""
    return DECLARED_COUNT in view.current.data


def _declared_cards(view: TableView) -> tuple[CardOnTable, ...]:
    """Return the cards that were declared drawn together: they lie where the shoe's count put them.

    There are none where the shoe reported them.
    """
    count = view.current.data.get(DECLARED_COUNT)
    return () if count is None else reconstruct.last_drawn(view.now, count)


def _is_order_known(view: TableView) -> bool:
    """Return True if the shoe reported the cards in the order in which they left it."""
    return view.current.data.get(ORDER_KNOWN) is not False


def _is_order_uncertain(view: TableView) -> bool:
    return view.current.data.get(ORDER_KNOWN) is not True


def _unordered_draws(view: TableView) -> frozenset[int]:
    """Return the draws of which the shoe does not know which is which."""
    return frozenset() if _is_order_known(view) else frozenset(view.current.data[PULLED_DRAWS])


def _offers_window(view: TableView) -> bool:
    """Return True if Players may withdraw (5.8.1).

    Nobody has seen the cards, and the game has the window.
    """
    unseen = not any(card.seen for card in _declared_cards(view))
    return unseen and view.resume_state in _PLAYS and has_window(view, DOUBLE_DRAW_KEY)


def _is_of_initial_deal(view: TableView) -> bool:
    """Return True if one of the cards is one of the first four."""
    if _is_declared(view):
        return any(reconstruct.is_initial_card(card) for card in _declared_cards(view))
    return view.resume_state in _DEALS


def _follows_initial_deal(view: TableView) -> bool:
    """Return True if all are unseen third cards in an uncertain order (5.8.2.2)."""
    later = view.resume_state in ("revealing", "drawing") and not _is_of_initial_deal(view)
    return (
        _is_order_uncertain(view) and later and not any(card.seen for card in _declared_cards(view))
    )


def _are_in_place(view: TableView) -> bool:
    """Return True if every card has its slot already: people declared it, the shoe did not."""
    return not unplaced.held_since(view.now, view.current)


def _is_nothing_left_to_lay(view: TableView) -> bool:
    """Return True if no round is in play, and inspections have set all of the cards aside.

    Then only a ruling can end it: there is no round to void, and no card to set aside.
    """
    return _are_in_place(view) and not is_halted_with_cards_out(view)


def _has_earlier_held_cards(view: TableView) -> bool:
    """Return True if cards that came before them have no slot yet."""
    return unplaced.has_held_before(view.now, view.current)


def _may_miss_cards(view: TableView) -> bool:
    """Return True if the shoe passed over a draw, or may have reported two cards as one."""
    missed = view.now.shoe is not None and bool(view.now.shoe.unreported_draws)
    return view.resume_state in _PLAYS and (missed or _is_declared(view))


def _asks_players(view: TableView) -> bool:
    """Return True if each Player may withdraw what is not decided, or play on (5.8.2.2)."""
    return has_window(view, ORDERED)


def _order_facts(view: TableView) -> dict[str, Any]:
    """Return which card comes first, as the Pit Manager said."""
    return {"first": view.current.data.get("first")}


def check_order(turn: Turn, _args: object = None) -> Message | None:
    """Return why the cards cannot be dealt in order by rule, without anyone's ruling."""
    if turn.now.shoe is None:
        return message("refused_no_shoe_set_aside")
    if not turn.now.link.aligned:
        return ALIGN_FIRST
    if turn.now.pending_set is not None:
        return message("refused_another_set")
    if unplaced.has_held_before(turn.now, turn.current):
        return message("refused_earlier_cards_first")
    numbers = [card.number for card in current_held_cards(turn) if card.number is not None]
    if not numbers or turn.resume_state not in _PLAYS:
        return None
    if placed_draws(turn) & {*numbers}:
        return message("refused_cards_in_place")
    missed = first_missing_draw(turn)
    if missed is not None and missed < max(numbers):
        return message("refused_enter_missed_first")
    return None


# Actions


def _place_in_order(turn: Turn) -> None:
    """Place each card in the slot that is due, in the order drawn.

    Those left over were drawn early.
    """
    held = current_held_cards(turn)
    unplaced.drop_cards(turn, held)
    reconstruct.place_in_order(turn, held, _unordered_draws(turn))
    align(turn)


def _forget_identity(turn: Turn) -> None:
    """Forget which declared card is which: the shoe's order is not the one that was given."""
    reconstruct.forget_identity(turn, _declared_cards(turn))


# Procedure

_LAY = Choice(
    "reconstruct", "dealer", "reconstructed", (_place_in_order,), check_order, reason=False
)
_SHOE = Choice(
    "order_from_shoe", "pit_supervisor", "window", offered_if=both(_is_order_known, _offers_window)
)
_SEEN = Choice(
    "order_seen", "surveillance", "window", offered_if=both(_is_order_uncertain, _offers_window)
)
_HAS_NO_WINDOW = is_not(_offers_window)

_UNKNOWN = Choice(
    "order_unknown", "pit_manager", "unordered", in_round=True,
    offered_if=both(_is_order_uncertain, _is_of_initial_deal),
)  # fmt: skip
"""One of the first four cards is affected: the round is void (5.8.2.1)."""


def choices_of_first_card(which: str, then: str) -> tuple[Choice, Choice]:
    """Return the Pit Manager's choice of the card that comes first, the upper or the lower.

    It leads to the window ``remaining``, where the game has that, else straight to ``then``.
    """

    def store_choice(turn: Turn) -> None:
        update_data(turn, first=which)

    ask = Choice(
        f"{which}_first", "pit_manager", "remaining", (store_choice,), offered_if=_asks_players
    )
    return ask, ask._replace(leads_to=then, offered_if=is_not(_asks_players))


_ENTER = ENTER._replace(offered_if=_may_miss_cards)
_PLACE = PLACE._replace(offered_if=_has_earlier_held_cards)

DOUBLE_DRAW = Procedure(
    DOUBLE_DRAW_KEY,
    (
        Step(
            "order",
            message("prompt_double_draw_order"),
            (
                _SHOE,
                _SHOE._replace(
                    leads_to="reconstruct", offered_if=both(_is_order_known, _HAS_NO_WINDOW)
                ),
                _SEEN,
                _SEEN._replace(
                    leads_to="reconstruct", offered_if=both(_is_order_uncertain, _HAS_NO_WINDOW)
                ),
                _UNKNOWN,
                _UNKNOWN._replace(leads_to="ordering", offered_if=_follows_initial_deal),
                _ENTER._replace(leads_to="order"),
                GO_ON._replace(offered_if=_are_in_place),
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
                _ENTER._replace(leads_to="reconstruct"),
                _PLACE._replace(leads_to="reconstruct"),
                GO_ON._replace(offered_if=_is_nothing_left_to_lay),
                LAY_ASIDE_UNPLAYED,
                CALL_VOID,
            ),
            facts=exchanged_places,
        ),
        Step(
            "ordering",
            message("prompt_double_draw_ordering"),
            (
                *choices_of_first_card("upper", "lay"),
                *choices_of_first_card("lower", "lay"),
                CALL_VOID,
            ),
            cites=(DOUBLE_DRAW_KEY, "ordered"),
        ),
        window_step("remaining", message("prompt_remaining_window"), ORDERED, "lay", CALL_VOID),
        Step(
            NAMING_STEP,
            message("prompt_double_draw_name"),
            (NAME_CARD._replace(leads_to="named"), CALL_VOID),
        ),
        Step(
            "lay",
            message("prompt_double_draw_lay"),
            (
                _LAY._replace(leads_to="ordered", actions=(_forget_identity, _place_in_order)),
                _ENTER._replace(leads_to="lay"),
                _PLACE._replace(leads_to="lay"),
                CALL_VOID,
            ),
            facts=_order_facts,
        ),
    ),
    (
        End("reconstructed", "reconstructed", (DOUBLE_DRAW_KEY, "reconstructed")),
        End("ordered", "ordered", (DOUBLE_DRAW_KEY, "ordered")),
        End("named", "named", (DOUBLE_DRAW_KEY, "named"), actions=(enter_seen_card,)),
        End("unordered", "order_unknown", (DOUBLE_DRAW_KEY, "void"), VOID),
        end_play_on(),
        end_set_aside(),
        end_void(),
    ),
    Declared(
        "dealer",
        (*CARDS_OUT, "suspended"),
        message("seen_double_draw_declared"),
        PulledCards,
        check_declared_count,
    ),
    begins=(NAMING_STEP,),
    of_cards=True,
)
"""Cards were drawn together."""
