"""The order of the cards in the shoe was altered: found again, or the round is void (5.2).

In: nothing. Out: its procedure. Must not know: which card it was, what the round will want.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from firmware_proto.events import CardPushedBack
from shoe_ctl.texts.message import Message, message

from ..arguments import ChoiceArgs, require_args
from ..procedures import shared, stack
from ..procedures.procedure import Choice, Declared, End, Procedure, Step
from ..procedures.shared import (
    ALIGN_FIRST,
    CALL_VOID,
    CARDS_OUT,
    GO_ON,
    LAY_ASIDE_UNPLAYED,
    align,
    aside,
    close_taken_back,
    own_kept,
    shoe_cannot_go_on,
    shoe_is_not_ready,
    something_is_missing,
    stands,
    tell_moved,
    void,
)
from ..round import early_cards, reconstruct
from ..shoe import ledger as card_ledger
from ..shoe import unplaced
from ..state import CardOnTable, DealtCard, OpenIrregularity, subject_of_draw, takes_cards
from ..turn import Cause, TableView, Turn
from . import pending_card
from .gaps import PLACE

ORDER_ALTERED_KEY = "order_altered"
PUSHED_BACK = "pushed_back"
"""Noted where the shoe says that a card went back into it: the number of its draw."""

_END = (ORDER_ALTERED_KEY, "reconstructed")

# What was seen.


def _is_told(at: TableView) -> bool:
    """The shoe said which card went back."""
    return PUSHED_BACK in at.current.noted


def _is_not_told(at: TableView) -> bool:
    return not _is_told(at)


def _card(at: TableView) -> CardOnTable | None:
    """The card that went back, where it has a place on the table."""
    return (
        reconstruct.find_drawn_card(at.now, at.current.noted[PUSHED_BACK]) if _is_told(at) else None
    )


def _is_the_next(at: TableView) -> bool:
    """It lies at the front of the shoe: nobody has seen it, and it was the last that was drawn."""
    card = _card(at)
    if card is None:
        return _is_told(at)
    last = reconstruct.last_drawn(at.now, 1)
    return last == (card,) and not card.seen and not _is_decided_on(at, card)


def _is_decided_on(at: TableView, card: CardOnTable) -> bool:
    """Something else that is open, and halts the table, is about this card or its hand."""
    under = at.halt.stack[:-1]
    return any(opened.subject == card.subject or "hand" in opened.noted for opened in under)


def _why_not_altered(turn: Turn, _args: object = None) -> Message | None:
    if not turn.now.link.aligned:
        return ALIGN_FIRST
    return shoe_cannot_go_on(turn)


# What is done.


def _take_out(turn: Turn) -> None:
    """It lies in the shoe, and not where it lay; what was drawn since lies in order."""
    card = _card(turn)
    if card is not None:
        waits = reconstruct.pending_irregularity(turn.now, card)
        reconstruct.return_to_shoe(turn, card)
        tell_moved(turn, "taken_back", [card.place])
        if waits is not None:
            close_taken_back(turn, waits, turn.game.rule(*_END))
    elif len(turn.halt.stack) > 1:
        return  # what came since is for the one under it to put in its place
    again = own_kept(turn)
    unplaced.drop_cards(turn, again)
    reconstruct.lay_in_order(turn, again, frozenset())
    if isinstance(card, DealtCard):
        reconstruct.set_phase(turn)


def _leave(turn: Turn) -> None:
    reconstruct.confirm_positions(turn)


# The procedure.

ORDER_ALTERED = Procedure(
    ORDER_ALTERED_KEY,
    (
        Step(
            "ruling",
            message("prompt_order_altered"),
            (
                Choice(
                    "reconstructed", "pit_supervisor", "reconstructed", (align,),
                    something_is_missing, when=_is_not_told,
                ),
                # Found at the front of the shoe: drawn again it lies where it lay.
                Choice(
                    "reconstructed", "pit_supervisor", "reconstructed", (_take_out, align),
                    _why_not_altered, when=_is_the_next,
                ),
                GO_ON._replace(do=(*GO_ON.do, _leave)),
                LAY_ASIDE_UNPLAYED,
                CALL_VOID,
            ),
        ),
    ),
    (
        End("reconstructed", "reconstructed", _END),
        stands(),
        aside(),
        void((ORDER_ALTERED_KEY, "void")),
    ),
    Declared(
        "dealer",
        ("betting", "closed", *CARDS_OUT, "suspended"),
        message("seen_order_altered_declared"),
    ),
)  # fmt: skip

Place = Literal[
    "player 1", "player 2", "player 3", "banker 1", "banker 2", "banker 3", "drawn early"
]
_EARLY = "drawn early"
"""Where the card lies that was drawn early, the first of them."""


class TwoPlaces(ChoiceArgs, frozen=True, kw_only=True):
    """The places of both cards: hand and index."""

    one: Place
    other: Place


def exchange_cards(then: str) -> Choice:
    """Two cards were recorded in each other's place: what was seen decides, not a guess."""
    return Choice(
        "exchange", "pit_supervisor", then, (_exchange,), _check_exchange, in_round=True,
        second=True, takes=TwoPlaces, when=_two_lie_face_down,
    )  # fmt: skip


def _two_lie_face_down(at: TableView) -> bool:
    return at.now.round is not None and sum(not one.seen for one in _lying(at).values()) > 1


def _lying(at: TableView) -> dict[str, CardOnTable]:
    """What lies in each place."""
    assert at.now.round is not None
    lying: dict[str, CardOnTable] = {dealt.place: dealt for dealt in at.now.round.cards}
    if at.now.early:
        lying[_EARLY] = at.now.early[0]
    return lying


def _check_exchange(turn: Turn, args: TwoPlaces | None) -> Message | None:
    if args is None:
        known = [one for one in _lying(turn).values() if one.card and not one.seen]
        return None if len(known) > 1 else message("refused_no_two_cards")
    if args.one == args.other:
        return message("refused_name_two_cards")
    lying = _lying(turn)
    for place in (args.one, args.other):
        if place not in lying:
            return message("refused_no_card_there", place=place)
        if lying[place].seen:
            return message("refused_card_stays", place=place)
        if lying[place].card is None:
            return message("refused_card_not_known", place=place)
    return None


def _exchange(turn: Turn) -> None:
    args, lying = require_args(turn, TwoPlaces), _lying(turn)
    instead: dict[str, CardOnTable] = {args.one: lying[args.other], args.other: lying[args.one]}
    cards = tuple(_with_card_of(dealt, instead.get(dealt.place)) for dealt in turn.round.cards)
    turn.set_round(cards=cards)
    if _EARLY in instead:
        first, other = turn.now.early[0], instead[_EARLY]
        named = first.subject, subject_of_draw(unplaced.draw_of(other))
        waiting = tuple(_renamed(opened, *named) for opened in turn.now.waiting)
        turn.change(waiting=waiting)
        unplaced.change_card(turn, first, card=other.card, number=other.number)
    tell_moved(turn, "exchanged", [args.one, args.other])


def _with_card_of(here: DealtCard, there: CardOnTable | None) -> DealtCard:
    """What lies in this slot once the other card is put there."""
    if there is None:
        return here
    return msgspec.structs.replace(here, card=there.card, number=unplaced.draw_of(there))


def _renamed(opened: OpenIrregularity, old: str, new: str) -> OpenIrregularity:
    """What waits for a card drawn early is known by the number of its draw."""
    return msgspec.structs.replace(opened, subject=new) if opened.subject == old else opened


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
            (_RECONSTRUCT, PLACE._replace(when=_awaits_cards), exchange_cards("ruling"), GO_ON,
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

# What was seen.


def concerns_round(turn: Turn) -> bool:
    """Bets are closed, or cards of a round are out: their order is in question."""
    halt = turn.now.halt
    state = turn.source if halt is None else halt.back_to
    return state in ("closed", *shared.CARDS_OUT)


# What is done.


def halt_for_pushed_back(turn: Turn) -> None:
    """The order of the cards is altered until it is found again."""
    number = _pushed_number(turn)
    note_pushed_back(turn)
    noted = {} if number is None else {PUSHED_BACK: number}
    subject = None if number is None else early_cards.overdraw_subject(number)
    seen = message("seen_pushed_back")
    stack.raise_irregularity(turn, Cause(ORDER_ALTERED_KEY, seen, subject=subject, noted=noted))


def note_pushed_back(turn: Turn) -> None:
    """A card that lay in no place is in the shoe again; of one that lies in one people decide."""
    number = _pushed_number(turn)
    if number is None or turn.now.shoe is None:
        return
    if reconstruct.find_drawn_card(turn.now, number) is not None:
        told = turn.shoe.pushed_back
        turn.set_shoe(pushed_back=(*(n for n in told if n != number), number))
        return
    kept = tuple(one for one in turn.now.held if one.number == number and one.counted)
    opening = tuple(one for one in turn.now.opening if one.number == number)
    for one in (*kept, *opening):
        card_ledger.return_card(turn, one.card)
    waiting = turn.now.pending
    if waiting is not None and waiting.number == number:
        card_ledger.return_card(turn, waiting.card)
        pending_card.lay_down_pending_card(turn)
    unplaced.drop_cards(turn, (*kept, *opening))


def _pushed_number(turn: Turn) -> int | None:
    event = turn.shoe_event
    assert isinstance(event, CardPushedBack)
    return event.number
