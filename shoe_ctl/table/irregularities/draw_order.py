"""The order of the cards: altered in the shoe, laid to the wrong places, or a draw missed.

Rules: if the order of the cards in the shoe was altered and cannot be found again, the round is
void (5.2). Cards laid to the wrong hands or drawn out of turn are put in order, and play goes on
(5.7). A draw that was missed is made before payment *(5.7, reading)*; later it is ruled on (6.1).

In: cards that run back into the shoe, what people declare. Out: ``ORDER_ALTERED``, ``WRONG_ORDER``,
``MISSED_DRAW``; cards returned to the shoe, or exchanged.
Must not know: which card it was, what the round will want.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from firmware_proto.events import CardPushedBack, Error
from shoe_ctl.table.arguments import ChoiceArgs, require_args
from shoe_ctl.table.irregularities import pending_card
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.procedures.card_choices import PLACE
from shoe_ctl.table.procedures.procedure import Choice, Declared, End, Procedure, Step, is_not
from shoe_ctl.table.procedures.shared import (
    ALIGN_FIRST,
    CALL_VOID,
    GO_ON,
    LAY_ASIDE_UNPLAYED,
    align,
    check_can_resume,
    check_shoe_can_continue,
    check_shoe_ready,
    current_held_cards,
    emit_cards_moved,
    end_play_on,
    end_set_aside,
    end_void,
    is_halted_with_cards_out,
    update_data,
)
from shoe_ctl.table.procedures.stack import resolve_returned_card
from shoe_ctl.table.round import reconstruct
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.shoe import unplaced
from shoe_ctl.table.situations import CARDS_OUT
from shoe_ctl.table.state import CardOnTable, DealtCard, OpenIrregularity, subject_of_draw
from shoe_ctl.table.turn import Cause, TableView, Turn
from shoe_ctl.texts.message import Message, message

ORDER_ALTERED_KEY = "order_altered"

MISSED_DRAW_KEY = "missed_draw"

RULING = "ruling"
"""The step at which it is decided what becomes of the cards."""

_CORRECTION = "correction"
"""The step at which a missed draw begins once the outcome is announced."""

PUSHED_BACK = "pushed_back"
"""Key of stored data, where the shoe reports that a card went back into it: its draw number."""

REVERSE_RUN_CODES = ("reverse_run", "reverse_run_at_exit", "reverse_run_midway")
"""The shoes' own codes for a card that ran backwards."""

_CITES_RECONSTRUCTED = (ORDER_ALTERED_KEY, "reconstructed")


# Order altered: detection


def is_reverse_run(turn: Turn) -> bool:
    """Return True if a card ran back into the shoe: nobody knows which card comes next."""
    return turn.event(Error).code in REVERSE_RUN_CODES


def _pushed_number(turn: Turn) -> int | None:
    return turn.event(CardPushedBack).number


def halt_for_pushed_back(turn: Turn) -> None:
    """Halt: a card was pushed back, so the order of the cards is altered."""
    number = _pushed_number(turn)
    note_pushed_back(turn)
    noted = {} if number is None else {PUSHED_BACK: number}
    subject = None if number is None else subject_of_draw(number)
    seen = message("seen_pushed_back")
    stack.raise_irregularity(turn, Cause(ORDER_ALTERED_KEY, seen, subject=subject, data=noted))


def note_pushed_back(turn: Turn) -> None:
    """Take a card that had no slot back into the shoe. Of a card in a slot people decide."""
    number = _pushed_number(turn)
    if number is None or turn.now.shoe is None:
        return
    if reconstruct.find_drawn_card(turn.now, number) is not None:
        reported = turn.shoe.pushed_back
        turn.set_shoe(pushed_back=(*(n for n in reported if n != number), number))
        return
    held = tuple(one for one in turn.now.held if one.number == number and one.counted)
    opening = tuple(one for one in turn.now.opening if one.number == number)
    for one in (*held, *opening):
        card_ledger.return_card(turn, one.card)
    pending = turn.now.pending
    if pending is not None and pending.number == number:
        card_ledger.return_card(turn, pending.card)
        pending_card.drop_pending_card(turn)
    unplaced.drop_cards(turn, (*held, *opening))


# Conditions


def _is_card_known(view: TableView) -> bool:
    """Return True if the shoe reported which card went back."""
    return PUSHED_BACK in view.current.data


def _pushed_card(view: TableView) -> CardOnTable | None:
    """Return the card that went back, where it has a place on the table."""
    if not _is_card_known(view):
        return None
    return reconstruct.find_drawn_card(view.now, view.current.data[PUSHED_BACK])


def _is_at_front_of_shoe(view: TableView) -> bool:
    """Return True if the card is the first of the shoe again: it was the last drawn, and unseen."""
    card = _pushed_card(view)
    if card is None:
        return _is_card_known(view)
    last = reconstruct.last_drawn(view.now, 1)
    return last == (card,) and not card.seen and not _is_of_another_irregularity(view, card)


def _is_of_another_irregularity(view: TableView, card: CardOnTable) -> bool:
    """Return True if something else that halts the table is about this card or its hand."""
    under = view.halt.stack[:-1]
    return any(opened.subject == card.subject or "hand" in opened.data for opened in under)


def _check_reconstruct_order(turn: Turn, _args: object = None) -> Message | None:
    """Return why the order cannot be taken as found again."""
    if not turn.now.link.aligned:
        return ALIGN_FIRST
    return check_shoe_can_continue(turn)


# Actions


def _return_to_shoe(turn: Turn) -> None:
    """Return the card to the shoe. Cards drawn since are placed in the order drawn."""
    card = _pushed_card(turn)
    if card is not None:
        pending = reconstruct.pending_irregularity(turn.now, card)
        reconstruct.return_to_shoe(turn, card)
        emit_cards_moved(turn, "taken_back", [card.place])
        if pending is not None:
            resolve_returned_card(turn, pending, turn.game.rule(*_CITES_RECONSTRUCTED))
    elif len(turn.halt.stack) > 1:
        return  # the irregularity below places the cards that came since
    drawn_since = current_held_cards(turn)
    unplaced.drop_cards(turn, drawn_since)
    reconstruct.place_in_order(turn, drawn_since, frozenset())
    if isinstance(card, DealtCard):
        reconstruct.set_phase(turn)


# Procedure

ORDER_ALTERED = Procedure(
    ORDER_ALTERED_KEY,
    (
        Step(
            "ruling",
            message("prompt_order_altered"),
            (
                Choice(
                    "reconstructed", "pit_supervisor", "reconstructed", (align,),
                    check_can_resume, offered_if=is_not(_is_card_known),
                ),
                # The card is the first of the shoe again: drawn again, it gets the same slot.
                Choice(
                    "reconstructed", "pit_supervisor", "reconstructed", (_return_to_shoe, align),
                    _check_reconstruct_order, offered_if=_is_at_front_of_shoe,
                ),
                GO_ON._replace(actions=(*GO_ON.actions, reconstruct.confirm_positions)),
                LAY_ASIDE_UNPLAYED,
                CALL_VOID,
            ),
        ),
    ),
    (
        End("reconstructed", "reconstructed", _CITES_RECONSTRUCTED),
        end_play_on(),
        end_set_aside(),
        end_void((ORDER_ALTERED_KEY, "void")),
    ),
    Declared(
        "dealer",
        ("betting", "closed", *CARDS_OUT, "suspended"),
        message("seen_order_altered_declared"),
    ),
)  # fmt: skip
"""The order of the cards in the shoe was altered."""


# Two cards in each other's place, which several procedures exchange: conditions

Place = Literal[
    "player 1", "player 2", "player 3", "banker 1", "banker 2", "banker 3", "drawn early"
]

_EARLY_PLACE = "drawn early"
"""The place of the first card that was drawn early."""


EXCHANGED = "exchanged"
"""Key of stored data: the places of the cards that were exchanged here, pair by pair."""


class TwoPlaces(ChoiceArgs, frozen=True, kw_only=True):
    """The places of both cards: hand and index. ``again``: they were exchanged before."""

    one: Place
    other: Place
    again: bool = False


def _cards_by_place(view: TableView) -> dict[str, CardOnTable]:
    """Return the cards on the table that may be exchanged, by place.

    A shoe that judges reports a card drawn early, or objects to it, by what it has read: that card
    stays, or a refusal would tell which of them it did.
    """
    assert view.now.round is not None
    cards: dict[str, CardOnTable] = {dealt.place: dealt for dealt in view.now.round.cards}
    if view.now.early and not view.now.link.judges:
        cards[_EARLY_PLACE] = view.now.early[0]
    return cards


def _has_two_unseen_cards(view: TableView) -> bool:
    """Return True if there are two cards that nobody has seen."""
    return (
        view.now.round is not None
        and sum(not one.seen for one in _cards_by_place(view).values()) > 1
    )


def exchanged_places(view: TableView) -> dict[str, Any]:
    """Return which cards were exchanged here. All at the table can see that."""
    done = view.current.data.get(EXCHANGED)
    return {} if done is None else {EXCHANGED: done}


def _exchangeable_places(view: TableView) -> dict[str, Any]:
    """Return the places that can be named: a card lies there, and nobody has seen it.

    Not those of cards that people name once they lie open: which they are is not known.
    """
    unnamed = {opened.subject for opened in view.now.open_irregularities if "hand" in opened.data}
    places = [
        place
        for place, one in _cards_by_place(view).items()
        if not one.seen and one.subject not in unnamed
    ]
    return {"one": places, "other": places}


def _check_exchange(turn: Turn, args: TwoPlaces | None) -> Message | None:
    """Return why these two cards cannot be exchanged."""
    if args is None:  # by the places alone: the room knows no more
        places = _exchangeable_places(turn)["one"]
        return None if len(places) > 1 else message("refused_no_two_cards")
    if args.one == args.other:
        return message("refused_name_two_cards")
    cards = _cards_by_place(turn)
    for place in (args.one, args.other):
        if place == _EARLY_PLACE and turn.now.early and turn.now.link.judges:
            return message("refused_early_card_stays")
        if place not in cards:
            return message("refused_no_card_there", place=place)
        if cards[place].seen:
            return message("refused_card_stays", place=place)
        if cards[place].card is None:
            return message("refused_card_not_known", place=place)
    done = turn.current.data.get(EXCHANGED, [])
    if not args.again and any({*pair} == {args.one, args.other} for pair in done):
        return message("refused_exchanged_before", one=args.one, other=args.other)
    return None


# Actions


def _exchange(turn: Turn) -> None:
    """Exchange two cards that were recorded in each other's place."""
    args, cards = require_args(turn, TwoPlaces), _cards_by_place(turn)
    exchanged: dict[str, CardOnTable] = {args.one: cards[args.other], args.other: cards[args.one]}
    dealt = tuple(_with_card_of(one, exchanged.get(one.place)) for one in turn.round.cards)
    turn.set_round(cards=dealt)
    if _EARLY_PLACE in exchanged:
        first, other = turn.now.early[0], exchanged[_EARLY_PLACE]
        subjects = first.subject, subject_of_draw(unplaced.draw_of(other))
        turn.change(
            pending_irregularities=tuple(
                _with_subject(one, *subjects) for one in turn.now.pending_irregularities
            )
        )
        unplaced.change_card(turn, first, card=other.card, number=other.number)
    emit_cards_moved(turn, EXCHANGED, [args.one, args.other])
    done = turn.current.data.get(EXCHANGED, [])
    update_data(turn, **{EXCHANGED: [*done, [args.one, args.other]]})


def _with_card_of(here: DealtCard, there: CardOnTable | None) -> DealtCard:
    """Return this slot with the other card in it."""
    if there is None:
        return here
    return msgspec.structs.replace(here, card=there.card, number=unplaced.draw_of(there))


def _with_subject(opened: OpenIrregularity, old: str, new: str) -> OpenIrregularity:
    """Return the irregularity with the new subject: an early card is known by its draw number."""
    return msgspec.structs.replace(opened, subject=new) if opened.subject == old else opened


# Choice


def exchange_cards(then: str) -> Choice:
    """Return the choice that exchanges two unseen cards. What was seen decides, not a guess."""
    return Choice(
        "exchange", "pit_supervisor", then, (_exchange,), _check_exchange, in_round=True,
        needs_consent=True, arguments=TwoPlaces, offered_if=_has_two_unseen_cards,
        possible=_exchangeable_places,
    )  # fmt: skip


# Wrong order, missed draw: conditions


def _awaits_cards(view: TableView) -> bool:
    """Return True if a card that came may belong to the round, or to one that it opens."""
    return view.resume_state in CARDS_OUT or view.takes_card_in(view.resume_state)


def _can_be_void(view: TableView) -> bool:
    """Return True if the round whose card was missed is not over.

    Later only a ruling is left (6.1). A round that began since is void only where it cannot go on
    with the cards in the shoe.
    """
    return view.now.pending_set is not None or view.resume_state in (*CARDS_OUT, "resolved")


def _is_announced(view: TableView) -> bool:
    """Return True if the outcome is announced: by the cards as they are known none is due."""
    left = view.now.state if view.now.halt is None else view.resume_state
    return left == "resolved"


def is_draw_missed(turn: Turn) -> bool:
    """Return True if a draw was declared missed, and a corrected card has made a card due since."""
    top = turn.current
    waits = (top.key, top.step) == (MISSED_DRAW_KEY, _CORRECTION)
    return waits and turn.resume_state in CARDS_OUT


# Procedures

_RECONSTRUCT = Choice(
    "reconstruct", "dealer", "reconstructed", (align,), check_shoe_ready, reason=False,
    offered_if=is_halted_with_cards_out,
)  # fmt: skip

WRONG_ORDER = Procedure(
    "wrong_order",
    (
        Step(
            "ruling",
            message("prompt_wrong_order"),
            (
                _RECONSTRUCT,
                PLACE._replace(offered_if=_awaits_cards),
                exchange_cards("ruling"),
                GO_ON,
                LAY_ASIDE_UNPLAYED,
                CALL_VOID,
            ),
            facts=exchanged_places,
        ),
    ),
    (
        End("reconstructed", "reconstructed", ("wrong_order", "reconstructed")),
        end_play_on(),
        end_set_aside(),
        end_void(("wrong_order", "void")),
    ),
    Declared("dealer", (*CARDS_OUT, "suspended"), message("seen_wrong_order_declared")),
    of_cards=True,
)  # fmt: skip
"""Cards lie in the wrong places, or were drawn out of turn."""

_RULED = (GO_ON, LAY_ASIDE_UNPLAYED, CALL_VOID._replace(offered_if=_can_be_void))

MISSED_DRAW = Procedure(
    MISSED_DRAW_KEY,
    (
        Step(RULING, message("prompt_missed_draw"), (_RECONSTRUCT, *_RULED)),
        # By the cards as they were read no card is due: one of them is to be corrected first.
        Step(_CORRECTION, message("prompt_missed_draw_correction"), _RULED, automatic=(RULING,)),
    ),
    (
        End("reconstructed", "reconstructed", ("missed_draw", "reconstructed")),
        end_play_on(("missed_draw", "ruled")),
        end_set_aside(("missed_draw", "ruled")),
        end_void(("missed_draw", "ruled")),
    ),
    Declared(
        "dealer",
        ("idle", "betting", "closed", *CARDS_OUT, "resolved", "suspended"),
        message("seen_missed_draw_declared"),
        begins=(_is_announced, _CORRECTION),
    ),
    of_cards=True,
    begins=(_CORRECTION,),
)
"""A card was due and not drawn."""
