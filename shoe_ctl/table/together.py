"""Cards that the shoe says were drawn as one (5.8): counted and kept, and the table asks.

In: the shoe's word of them. Out: the irregularity raised, and what else is wrong with them; the
round opened where they are its first. Must not know: how they are put in order.
"""

from __future__ import annotations

from firmware_proto.cards import Card
from firmware_proto.events import CardsDrawn
from shoe_ctl.texts.message import Message, message

from . import early, fitting, shoe_cards
from .cause import Cause
from .irregularities import stack, withdrawal
from .irregularities.grounds import INSPECTS, halt_of, note
from .irregularities.missed import DRAWN_AS_ONE
from .irregularities.pulled import KEY, ORDER_KNOWN
from .irregularities.stack import raise_irregularity
from .round import unplaced
from .turn import Turn

# What was seen.


def begins_a_round(turn: Turn) -> bool:
    """Announcements are implied, and these are the first cards of a round."""
    event = turn.shoe_event
    assert isinstance(event, CardsDrawn)
    is_next = turn.now.shoe is not None and event.number in (None, turn.shoe.drawn + 1)
    return turn.implied and is_next and not fitting.unaligned(turn)


# What is done.


def ask(turn: Turn) -> None:
    """Bets are closed by them: now the table asks."""
    turn.then("drawn_together")


def halt(turn: Turn) -> None:
    """Each is counted and kept, and lies in no slot."""
    event, halted = turn.shoe_event, turn.now.halt
    assert isinstance(event, CardsDrawn)
    awaited = None if turn.now.shoe is None else turn.shoe.drawn + 1
    seen = message("seen_drawn_together", cards=len(event.cards))
    if halted is not None and DRAWN_AS_ONE in halted.top.noted:
        _join(turn, event, seen)
    else:
        _raise(turn, event, seen)
    strange = [_keep(turn, place, card) for place, card in enumerate(event.cards)]
    if awaited is not None and event.number not in (None, awaited):
        passed = message("seen_draw_out_of_turn", draw=event.number, next=awaited)
        raise_irregularity(turn, Cause("gap", passed))
    for cause in strange:
        if cause is not None:
            raise_irregularity(turn, cause)


def _raise(turn: Turn, event: CardsDrawn, seen: Message) -> None:
    noted = {ORDER_KNOWN: event.order_known, DRAWN_AS_ONE: _numbers(turn, event)}
    raise_irregularity(turn, Cause(KEY, seen, subject=str(turn.now.inputs), noted=noted))


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


def _keep(turn: Turn, place: int, card: Card | None) -> Cause | None:
    """Count one of them, and keep it. Gives what is to be inspected."""
    event, before = turn.shoe_event, turn.now.shoe
    assert isinstance(event, CardsDrawn)
    strange = fitting.strange(turn, card)
    number = None if event.number is None else event.number + place
    shoe_cards.count_nowhere(turn, card, number)
    if number is None and turn.now.shoe is not None:
        number = turn.shoe.drawn
    counted = turn.now.shoe != before
    unplaced.add_card(turn, card, number, role="held", counted=counted)
    if strange is None or number is None:
        return None
    return strange._replace(subject=early.subject(number), noted={INSPECTS: number})
