"""What a drawn card is to the table: one case for each card, found by questions in a fixed order.

In: a card that the shoe reports, the table as it stands. Out: the card's case, a trigger of
transitions.py. Must not know: what follows from a case, and nothing here changes the table.
"""

from __future__ import annotations

from typing import Literal

from shoe_ctl.table import (
    deciding,
    fitting,
    heard_later,
    overdrawn,
    pending,
    replayed,
    shoe_cards,
    unread,
)
from shoe_ctl.table.situations import BETWEEN, CARDS_OUT
from shoe_ctl.table.slots import INITIAL_DEAL
from shoe_ctl.table.turn import Turn

CardCase = Literal[
    "card.no_card",
    "card.repeated",
    "card.disputed",
    "card.entered",
    "card.answers_step",
    "card.read_late",
    "card.armed_before",
    "card.armed_until_now",
    "card.undecided_in_pause",
    "card.in_pause",
    "card.in_halt",
    "card.without_shoe",
    "card.burned",
    "card.of_missed_round",
    "card.unarmed",
    "card.in_turn",
    "card.fourth",
    "card.set_aside",
    "card.early_undecided",
    "card.early",
    "card.misfit",
]
"""Every case of a card."""


def classify_card(turn: Turn) -> CardCase:  # noqa: C901, PLR0911 - a question a line, in order
    """Return what the drawn card is to the table.

    The numbers are those of the rules; where the games differ, of No Commission and Tiger.
    """
    if shoe_cards.not_a_card_of_play(turn):
        return "card.no_card"  # the shoe shows how many cards it burned
    if fitting.repeats_a_slot(turn):
        return "card.repeated"  # the shoe reports a card again that lies in its slot
    if _was_entered(turn):  # people entered this draw (6.3)
        return "card.disputed" if heard_later.contradicts(turn) else "card.entered"
    if turn.state == "suspended":
        return _classify_in_halt(turn)
    if turn.state in CARDS_OUT and _has_unread_card(turn) and unread.waits_for_a_reading(turn):
        return "card.read_late"  # an unread card lies in the slot that the shoe names
    if turn.state == "no_shoe":
        return "card.without_shoe"
    if turn.state in BETWEEN:
        if shoe_cards.burned(turn) and fitting.fits_the_decks(turn):
            return "card.burned"  # by the opening procedure (2.1)
        if fitting.ends_a_missed_round(turn) and fitting.fits_the_decks(turn):
            return "card.of_missed_round"  # the shoe is not aligned, and no round begins with it
    wrong = fitting.what_is_wrong(turn)
    if wrong is None:  # it is due, and for the slot that is due (3.12, 3.13)
        return "card.unarmed" if turn.drawn.armed is False else _case_in_turn(turn)
    if turn.state == "revealing" and pending.was_armed_to_set_aside(turn):
        return "card.set_aside"  # drawn ahead for a Player who left with cards (5.11.1)
    if wrong.key == overdrawn.KEY:  # it came before its turn (5.7, 6.1)
        undecided = turn.state == "revealing" and overdrawn.is_undecided(turn)
        return "card.early_undecided" if undecided else "card.early"
    return "card.misfit"  # foreign, one too many, for another slot, a draw passed over (5.1, 5.7)


def _classify_in_halt(turn: Turn) -> CardCase:
    """Return what a card is that is reported while the table is halted."""
    if deciding.is_heard(turn):
        return "card.answers_step"
    if unread.waits_for_a_reading(turn):
        return "card.read_late"
    if replayed.was_armed_for(turn):
        return "card.armed_before"  # drawn in its turn, before power or link were lost (5.17)
    if pending.was_armed_for(turn):
        return "card.armed_until_now"  # drawn in its turn, as the halt began: no overdraw
    if overdrawn.comes_undecided_in_review(turn):
        return "card.undecided_in_pause"  # cards not yet seen say whether it was due (5.7)
    if overdrawn.comes_in_review(turn):
        return "card.in_pause"  # no rule gives it a hand (6.1)
    return "card.in_halt"


def _case_in_turn(turn: Turn) -> CardCase:
    played = turn.now.round
    dealt = 0 if played is None else len(played.cards)
    fourth = turn.state == "dealing" and dealt == len(INITIAL_DEAL) - 1
    return "card.fourth" if fourth else "card.in_turn"


def take_turn(turn: Turn) -> None:
    """Deal the card as one that is due, now that people were told what is odd about it."""
    turn.then(_case_in_turn(turn))


def _was_entered(turn: Turn) -> bool:
    shoe = turn.now.shoe
    return shoe is not None and bool(shoe.entered) and turn.drawn.number in shoe.entered


def _has_unread_card(turn: Turn) -> bool:
    played = turn.now.round
    return played is not None and None in [dealt.card for dealt in played.cards]
