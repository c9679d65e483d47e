"""Cases: what a message is to the table as it stands, before the tables say what follows.

In: a trigger (a message's name, or a name that the table fires itself), the table as it stands.
Out: its case, a trigger of transitions.py. Must not know: what follows from a case; nothing here
changes the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, get_args

from shoe_ctl.table import corrections
from shoe_ctl.table.decisions import step_accepts_event
from shoe_ctl.table.irregularities import (
    double_draw,
    draw_order,
    gaps,
    overdraw,
    pending_card,
    power_failure,
    unread_cards,
)
from shoe_ctl.table.irregularities import halts as halt_causes
from shoe_ctl.table.irregularities.cutting_card import allows_withdrawal
from shoe_ctl.table.round import card_check, cards_ahead, early_cards, outcome
from shoe_ctl.table.shoe import arming, card_set, link
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.situations import BEGUN, BETWEEN, CARDS_OUT, NO_ROUND, OPEN, STATES, situation
from shoe_ctl.table.state import INITIAL_DEAL
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
    "card.first_in_pause",
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
"""Every case of a drawn card."""


def classify_card(turn: Turn) -> CardCase:  # noqa: C901, PLR0911 - a question a line, in order
    """Return the case of the drawn card.

    The numbers are those of the rules; where the games differ, of No Commission and Tiger.
    """
    if card_ledger.is_burn_report(turn):
        return "card.no_card"  # a report of how many cards the shoe burned
    if card_check.is_repeat(turn):
        return "card.repeated"  # a second report of a card that lies in its slot
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
            return "card.burned"  # burned when the shoe was opened (2.1)
        if card_check.belongs_to_missed_round(turn) and card_check.may_be_of_decks(turn):
            return "card.of_missed_round"  # not aligned: no round begins with this card
    wrong = card_check.find_irregularity(turn)
    if wrong is None:  # it came in turn, for the slot that is due (3.13; third card N 3.14, T 3.15)
        return "card.unarmed" if turn.drawn.armed is False else _case_in_turn(turn)
    if turn.state == "revealing" and pending_card.is_armed_to_set_aside(turn):
        return "card.set_aside"  # drawn ahead for a Player who left with cards (5.11.1)
    if wrong.key == overdraw.OVERDRAW_KEY:  # drawn early (5.7, 6.1)
        undecided = turn.state == "revealing" and overdraw.is_undecided(turn)
        return "card.early_undecided" if undecided else "card.early"
    return "card.misfit"  # a foreign card, one too many, for another slot, after a gap (5.1, 5.7)


def _classify_in_halt(turn: Turn) -> CardCase:
    """Return the case of a card that is reported while the table is halted."""
    if step_accepts_event(turn):
        return "card.answers_step"
    if unread_cards.awaits_reading(turn):
        return "card.read_late"
    if card_check.is_late_report(turn):
        return "card.armed_before"  # drawn in turn before power or link were lost (5.17)
    if pending_card.is_pending_draw(turn):
        return "card.armed_until_now"  # drawn in turn as the halt began: no overdraw
    if overdraw.is_first_card_in_pause(turn):
        return "card.first_in_pause"  # it can only be Player's first card (5.7)
    if overdraw.is_undecided_card_in_pause(turn):
        return "card.undecided_in_pause"  # cards still face down decide whether it was due (5.7)
    if overdraw.is_next_card_in_pause(turn):
        return "card.in_pause"  # due to no hand by any rule (6.1)
    return "card.in_halt"


def _case_in_turn(turn: Turn) -> CardCase:
    played = turn.now.round
    dealt = 0 if played is None else len(played.cards)
    fourth = turn.state == "dealing" and dealt == len(INITIAL_DEAL) - 1
    return "card.fourth" if fourth else "card.in_turn"


def take_turn(turn: Turn) -> None:
    """Deal the card as one that is due, now that people were told what is odd about it."""
    turn.fire(_case_in_turn(turn))


def _was_entered(turn: Turn) -> bool:
    shoe = turn.now.shoe
    return shoe is not None and bool(shoe.entered_draws) and turn.drawn.number in shoe.entered_draws


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
"""Every case of an error message. ``error`` itself: no card is affected."""


def classify_error(turn: Turn) -> ErrorCase:
    """Return the case of the error that the shoe reports."""
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
        return "error.known"  # the shoe reported that card before, as unread
    if turn.state in ("closed", "dealing", "drawing") and unread_cards.is_reading_error(turn):
        return "error.unread_card"  # the shoe could not read the card that is due
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
"""Every case of a hello. ``hello`` itself: the shoe is as the table knows it."""

_AFTER_BETS = ("closed", "cards", "halted_closed", "halted_cards")


def classify_hello(turn: Turn) -> HelloCase:
    """Return the case of the hello."""
    where = situation(turn.state, turn.now.halt)
    halted = turn.state == "suspended"
    if halted and step_accepts_event(turn):
        return "hello.answers_step"
    if (halted or where == "cards") and turn.is_shoe_sorted():
        return "hello.shoe_sorted"  # its cards lie sorted: the round gets none of them (5.11)
    if where == "between" and card_set.holds_no_cards(turn):
        return "hello.another_set"  # the shoe was emptied
    if where != "halted_closed" and card_set.is_another_set(turn):
        return "hello.another_set"
    if where in _AFTER_BETS and power_failure.has_lost_power(turn):
        return "hello.rebooted"  # after *no more bets*: a power failure (I 5.15, 5.17)
    if where != "no_shoe" and gaps.has_missed_cards(turn):
        return "hello.cards_missed"  # it counts cards that it never reported and will not report
    if halted and gaps.counts_fewer_than_entered(turn):
        return "hello.fewer_cards"  # it counts fewer cards than people entered (6.3)
    return "hello"


# The cases of all other messages: the questions are asked from the top, and the first that is true
# gives the case. Where none is, the message's own name is its case.

Condition = Callable[[Turn], bool]


def within(states: tuple[str, ...], holds: Condition) -> Condition:
    """Return the condition limited to these states."""

    def holds_there(turn: Turn) -> bool:
        return turn.state in states and holds(turn)

    return holds_there


def outside(states: tuple[str, ...], holds: Condition) -> Condition:
    """Return the condition limited to all states but these."""
    return within(tuple(state for state in STATES if state not in states), holds)


def always(turn: Turn) -> bool:  # noqa: ARG001 - the signature of a condition
    """Return True."""
    return True


HALTED = ("suspended",)
_NO_DRAW = ("no_shoe", "shoe_change", "resolved")
CASES: Mapping[str, tuple[tuple[str, Condition], ...]] = {
    "link_up": (("link_up.first_set", within(("no_shoe",), link.has_unnamed_sets)),),
    "link_lost": (
        ("link_lost.shoe_sorted", Turn.is_shoe_sorted),
        ("link_lost.unheard", link.cannot_replay),
    ),
    "restarted": (
        ("restarted.power", power_failure.has_lost_power),
        ("restarted.unheard", link.cannot_replay),
    ),
    "tick": (
        ("tick.result_overdue", within(("revealing",), outcome.is_result_overdue)),
        ("tick.cards_seen", power_failure.is_face_up_card_seen),
    ),
    "shoe_loaded": (
        ("shoe_loaded.known", within(("idle",), card_set.repeats_known_set)),
        ("shoe_loaded.shoe_sorted", within((*CARDS_OUT, *HALTED), Turn.is_shoe_sorted)),
    ),
    "started": (
        ("started.new_shoe", within(BETWEEN, card_set.shows_new_shoe)),
        ("started.answers_step", within(HALTED, step_accepts_event)),
    ),
    "set_shown": (
        ("set.taken_out", within(NO_ROUND, card_set.has_no_pending_cards)),
        ("set.refused", within(NO_ROUND, card_set.is_pending_set_unsuitable)),
        ("set.admitted", within(NO_ROUND, always)),
        ("set.unlike", always),
    ),
    "cutting_card": (
        ("cutting_card.no_shoe", card_ledger.has_no_shoe),
        ("cutting_card.first", within(("closed", *HALTED), allows_withdrawal)),
    ),
    "cards_drawn": (
        ("pull.opens_round", within(("idle", "betting"), double_draw.begins_round)),
        ("pull.answers_step", within(HALTED, step_accepts_event)),
        ("pull", always),
    ),
    "card_outside_game": (
        ("card_outside_game.objected", within((*OPEN, *HALTED), early_cards.awaits_reported_card)),
        ("card_outside_game.undecided", within(("revealing",), overdraw.is_undecided_objection)),
    ),
    "redesignated": (
        ("redesignated.anew", within(OPEN, link.restarts_hand)),
        ("redesignated.early_card", early_cards.is_relocated),
        ("redesignated.agrees", within(OPEN, early_cards.is_placed_as_named)),
    ),
    "result": (
        ("result.forced", within(CARDS_OUT, outcome.is_result_forced)),
        ("result.too_soon", within(("dealing", "drawing"), always)),
    ),
    "discarded": (("discarded.a_card", link.may_hide_a_card),),
    "status": (
        ("status.counts_differ", outside(_NO_DRAW, arming.counts_differ)),
        ("status.arm_taken", arming.is_taken),
    ),
    "reply": (("reply.refused", arming.is_refused),),
    "lid": (("lid.opened", halt_causes.is_lid_opened),),
    "self_test": (("self_test.failed", halt_causes.has_failed_test),),
    "reset_done": (("reset.answers_step", within(HALTED, step_accepts_event)),),
    "authentication_failed": (("not_genuine", always),),
    "unknown_firmware": (("firmware.refused", halt_causes.is_firmware_refused),),
    "card_unread": (
        ("card_unread.shown", within((*CARDS_OUT, *HALTED), unread_cards.is_due_for_entry)),
    ),
    "third_card_due": (
        ("third_card.contested", early_cards.is_disputed),
        ("third_card.early", early_cards.has_overdrawn),
        ("third_card.aside", cards_ahead.has_card_ahead),
        ("third_card.judged", outcome.has_result),
        ("third_card.ran_out", card_ledger.is_shoe_empty),
    ),
    "overdrawn": (("overdrawn.after_outcome", within(("resolved", *HALTED), always)),),
    "outcome_due": (("outcome.disputed", outcome.result_disagrees),),
    "card_corrected": (
        ("card_corrected.card_due", within(("resolved",), corrections.is_card_due)),
    ),
    "left_over": (("left_over.none", overdraw.has_no_unraised_cards),),
    "opening_due": (
        ("opening.none", outside(("closed",), always)),
        ("opening.none", early_cards.has_no_opening_cards),
    ),
    "cards_ran_out": (
        ("deal.ran_out", within((*BEGUN, "dealing"), always)),
        ("deal.goes_on", always),
    ),
}
"""Message → its cases, each with the question that finds it."""

CHECKS: Mapping[str, tuple[Callable[[Turn], str], tuple[str, ...]]] = {
    "card_drawn": (classify_card, get_args(CardCase)),
    "hello": (classify_hello, get_args(HelloCase)),
    "error": (classify_error, get_args(ErrorCase)),
}
"""Message → the function that finds its case, and all its cases."""


def find_case(turn: Turn, trigger: str) -> str:
    """Return the case of this trigger, as the table stands."""
    check = CHECKS.get(trigger)
    if check is not None:
        return check[0](turn)
    for case, holds in CASES.get(trigger, ()):
        if holds(turn):
            return case
    return trigger


def list_cases(trigger: str) -> tuple[str, ...]:
    """Return every case that this trigger may have."""
    if trigger in CHECKS:
        return CHECKS[trigger][1]
    questions = CASES.get(trigger, ())
    cases = tuple(dict.fromkeys(case for case, _ in questions))
    if questions and questions[-1][1] is always:
        return cases
    return (*cases, trigger)
