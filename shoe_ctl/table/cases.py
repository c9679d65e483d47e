"""What a drawn card is to the table: one case for each card, found by questions in a fixed order.

In: a card that the shoe reports, the table as it stands. Out: the card's case, a trigger of
transitions.py. Must not know: what follows from a case, and nothing here changes the table.
"""

from __future__ import annotations

from typing import Literal

from . import decisions
from .irregularities import draw_order, gaps, overdraw, pending_card, power_failure, unread_cards
from .irregularities import halts as halt_causes
from .round import card_check
from .shoe import card_set
from .shoe import ledger as card_ledger
from .situations import BETWEEN, CARDS_OUT, OPEN, situation
from .state import INITIAL_DEAL
from .turn import Turn

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
    if card_ledger.is_burn_report(turn):
        return "card.no_card"  # the shoe shows how many cards it burned
    if card_check.is_repeat(turn):
        return "card.repeated"  # the shoe reports a card again that lies in its slot
    if _was_entered(turn):  # people entered this draw (6.3)
        return "card.disputed" if gaps.contradicts_entry(turn) else "card.entered"
    if turn.state == "suspended":
        return _classify_in_halt(turn)
    if turn.state in CARDS_OUT and _has_unread_card(turn) and unread_cards.awaits_reading(turn):
        return "card.read_late"  # an unread card lies in the slot that the shoe names
    if turn.state == "no_shoe":
        return "card.without_shoe"
    if turn.state in BETWEEN:
        if card_ledger.is_burn(turn) and card_check.may_be_of_decks(turn):
            return "card.burned"  # by the opening procedure (2.1)
        if card_check.belongs_to_missed_round(turn) and card_check.may_be_of_decks(turn):
            return "card.of_missed_round"  # the shoe is not aligned, and no round begins with it
    wrong = card_check.find_irregularity(turn)
    if wrong is None:  # it is due, and for the slot that is due (3.12, 3.13)
        return "card.unarmed" if turn.drawn.armed is False else _case_in_turn(turn)
    if turn.state == "revealing" and pending_card.is_armed_to_set_aside(turn):
        return "card.set_aside"  # drawn ahead for a Player who left with cards (5.11.1)
    if wrong.key == overdraw.OVERDRAW_KEY:  # it came before its turn (5.7, 6.1)
        undecided = turn.state == "revealing" and overdraw.is_undecided(turn)
        return "card.early_undecided" if undecided else "card.early"
    return "card.misfit"  # foreign, one too many, for another slot, a draw passed over (5.1, 5.7)


def _classify_in_halt(turn: Turn) -> CardCase:
    """Return what a card is that is reported while the table is halted."""
    if decisions.step_accepts_event(turn):
        return "card.answers_step"
    if unread_cards.awaits_reading(turn):
        return "card.read_late"
    if card_check.is_late_report(turn):
        return "card.armed_before"  # drawn in its turn, before power or link were lost (5.17)
    if pending_card.is_pending_draw(turn):
        return "card.armed_until_now"  # drawn in its turn, as the halt began: no overdraw
    if overdraw.is_undecided_card_in_pause(turn):
        return "card.undecided_in_pause"  # cards not yet seen say whether it was due (5.7)
    if overdraw.is_next_card_in_pause(turn):
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


ErrorCase = Literal[
    "error",
    "error.known",
    "error.overdraw_undecided",
    "error.overdraw",
    "error.unread_card",
    "error.reverse_run",
    "error.at_a_card",
]
"""Every case of an error; ``error`` alone concerns no card."""


def classify_error(turn: Turn) -> ErrorCase:
    """Return what the fault is to the table."""
    where = situation(turn.state, turn.now.halt)
    halted = turn.state == "suspended"
    if overdraw.is_overdraw_error(turn):  # the shoe objects to a card before its turn (5.7, 6.1)
        if (halted or turn.state in OPEN) and overdraw.is_reported_twice(turn):
            return "error.known"
        if turn.state == "revealing" and overdraw.is_undecided(turn):
            return "error.overdraw_undecided"
        if turn.state == "idle" or turn.state in OPEN:
            return "error.overdraw"
    if (halted or where == "cards") and unread_cards.is_about_last_card(turn):
        return "error.known"  # the card was reported just before, as one that was not read
    if turn.state in ("closed", "dealing", "drawing") and unread_cards.is_reading_error(turn):
        return "error.unread_card"  # the card that is due
    if where in ("closed", "cards", "halted_cards") and draw_order.is_reverse_run(turn):
        return "error.reverse_run"  # a card ran back into the shoe (5.2)
    if halted and unread_cards.asks_for_card_place(turn):
        return "error.known"  # people are asked where that card is
    return "error.at_a_card" if halt_causes.may_hide_card(turn) else "error"


HelloCase = Literal[
    "hello",
    "hello.answers_step",
    "hello.shoe_sorted",
    "hello.another_set",
    "hello.rebooted",
    "hello.cards_missed",
    "hello.fewer_cards",
]
"""Every case of a hello; ``hello`` alone is the shoe that the table knows, as it knows it."""

_AFTER_BETS = ("closed", "cards", "halted_closed", "halted_cards")


def classify_hello(turn: Turn) -> HelloCase:
    """Return what the hello is to the table."""
    where = situation(turn.state, turn.now.halt)
    halted = turn.state == "suspended"
    if halted and decisions.step_accepts_event(turn):
        return "hello.answers_step"
    if (halted or where == "cards") and turn.is_shoe_sorted():
        return "hello.shoe_sorted"  # the round gets no further card from it (5.11)
    if where == "between" and card_set.holds_no_cards(turn):
        return "hello.another_set"  # its cards were taken out
    if where != "halted_closed" and card_set.is_another_set(turn):
        return "hello.another_set"
    if where in _AFTER_BETS and power_failure.has_lost_power(turn):
        return "hello.rebooted"  # after *no more bets* that is a power failure (I 5.15, 5.17)
    if where != "no_shoe" and gaps.has_missed_cards(turn):
        return "hello.cards_missed"  # it counts cards that were not reported and will not be
    if halted and gaps.counts_fewer_than_entered(turn):
        return "hello.fewer_cards"  # it counts fewer cards than people entered (6.3)
    return "hello"
