"""What may follow in each state of a table: the tables of the round and of the shoe's messages.

In: the state, and a trigger: an input's name, or its case (cases.py), or a name that the table
fires itself. Out: the next state and the actions to take. Must not know: how an action is done,
clocks, I/O.

``ROUND`` moves a table through its ten states. ``SHOE`` says what a message of the shoe does in
each situation, ``ALWAYS`` what does the same in all of them. Commands that move no table have their
lines in commands.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from shoe_ctl.table import answers, corrections, decisions, undelivered
from shoe_ctl.table.cases import CASES, CHECKS, list_cases, take_turn
from shoe_ctl.table.commands import command_rows
from shoe_ctl.table.corrections import correct_card
from shoe_ctl.table.decisions import (
    apply_choice,
    apply_shoe_event,
    raise_declared,
    resume_play,
    void_insufficient_cards,
)
from shoe_ctl.table.entered_rounds import enter_round
from shoe_ctl.table.irregularities import (
    differential,
    double_draw,
    draw_order,
    gaps,
    overdraw,
    pending_card,
    power_failure,
    unread_cards,
    wrong_cards,
)
from shoe_ctl.table.irregularities import halts as halt_causes
from shoe_ctl.table.irregularities.cutting_card import offer_withdrawal
from shoe_ctl.table.irregularities.device_reset import place_cards_drawn_before
from shoe_ctl.table.irregularities.double_draw import raise_double_draw
from shoe_ctl.table.irregularities.halts import halt
from shoe_ctl.table.irregularities.overdraw import place_due_card, record_unarmed_draw
from shoe_ctl.table.irregularities.rulings import answer_cards_kept, answer_cards_replaced
from shoe_ctl.table.round import cards_ahead, early_cards, outcome
from shoe_ctl.table.round.cards_ahead import deal_card_set_aside
from shoe_ctl.table.round.deal import (
    close_bets,
    deal_card,
    measure_differential_after_card,
    open_round,
)
from shoe_ctl.table.round.early_cards import begin_with_opening_cards, deal_opening_cards
from shoe_ctl.table.round.outcome import announce_outcome, end_round
from shoe_ctl.table.round.reveal import advance_round, call_for_third_card, reveal_face_up_cards
from shoe_ctl.table.shoe import arming, card_set, link
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.shoe.card_set import (
    admit_pending_set,
    admit_unnamed_set,
    announce_shoe_change,
    keep_pending_set,
    note_device,
    receive_set,
    refuse_set,
    remove_shoe,
    set_aside_opening_cards,
)
from shoe_ctl.table.shoe.ledger import detect_empty_shoe, note_status
from shoe_ctl.table.shoe.link import lose_alignment
from shoe_ctl.table.situations import LEFT_FOR_A_HALT, SITUATIONS, STATES, situation
from shoe_ctl.table.start import announce_start
from shoe_ctl.table.state import phase
from shoe_ctl.table.turn import Turn
from shoe_ctl.table.wagers.betting import apply_wager, measure_differential

Action = Callable[[Turn], None]
Condition = Callable[[Turn], bool]
Destination = Callable[[Turn], str]


def _phase(turn: Turn) -> str:
    return phase(turn.now)


BY_CARDS: Destination = _phase
"""The state that follows from the cards on the table: closed, dealing, drawing or revealing."""

RESUME: Destination = attrgetter("resumes_in")
"""The state that the table left for the halt, or another one that the end of the halt names."""

DEAL: tuple[Action, ...] = (deal_card, reveal_face_up_cards, advance_round)
"""Deal the drawn card into the slot that is due. Where cards are dealt face up, reveal those that
the table has seen by now; once all cards of the round are seen, the round advances."""


# The round: how a table moves through its states. Read a line as: in this state, when this comes,
# go to that state and do this. What may stand against a command is checked before its line.
#
# What comes is a command, or one of these (cases.py and the functions that fire them say when):
#   card.in_turn        the card that is due was drawn; card.fourth, if it is the fourth
#   pull.opens_round    two or more cards were drawn at once, and no card of the round was out
#   cards_placed        cards got their slots outside the normal sequence: by a ruling or an entry;
#                       the round is open and bets are closed by then
#   opening_due         a card that was drawn before is ruled to be the first of this round
#   third_card_due      by the Table of Play; third_card.early or .aside, if the card lies on the
#                       table already: drawn early, or set aside for this (5.11.1)
#   *.ran_out           the shoe is empty and a card is due; in the initial deal it is noticed when
#                       the last card of the shoe was dealt, before it when a halt ends
#   set.*               the shoe holds other cards, unsuitable cards, or none
#   change_due, _decided   no further round is dealt from these cards, by the rules or a choice
#   outcome_due         the outcome is announced, by the dealer or inferred from the cards
#   card_corrected      people said which card really lies open; card_corrected.card_due, if the
#                       outcome was announced and a card is missing by it
#   first_wager, round_over   *place your bets* and *settle*, inferred if the table is set so
# The numbers are those of the rules; where the games differ, of No Commission and Tiger.
# fmt: off
ROUND: tuple[tuple[Any, ...], ...] = (
    # in state       when this comes       go to          do this, in this order             rule
    # -- no_shoe: no set of cards is known -------------------------------------------------------
    ("no_shoe",     "set.admitted",       "idle",        answer_cards_replaced, admit_pending_set),
    ("no_shoe",     "set.refused",        "no_shoe",     answer_cards_replaced, refuse_set),
    ("no_shoe",     "set.taken_out",      "no_shoe",     answer_cards_replaced, remove_shoe),
    # -- idle: a shoe is ready, no round is open -------------------------------------------------
    ("idle",        "place_your_bets",    "betting",     answer_cards_kept, open_round),    # 3.1
    ("idle",        "first_wager",        "betting",     answer_cards_kept, open_round,
                                                         apply_wager),
    ("idle",        "card.in_turn",       "dealing",     answer_cards_kept, open_round, close_bets,
                                                         deal_opening_cards, deal_card,
                                                         reveal_face_up_cards),
    ("idle",        "pull.opens_round",   "closed",      answer_cards_kept, open_round, close_bets,
                                                         raise_double_draw),                # 5.8
    ("idle",        "cards_placed",       "dealing",     detect_empty_shoe),
    ("idle",        "change_shoe",        "shoe_change", answer_cards_replaced,
                                                         announce_shoe_change,
                                                         set_aside_opening_cards),
    ("idle",        "change_due",         "shoe_change", answer_cards_replaced,
                                                         announce_shoe_change,
                                                         set_aside_opening_cards),
    ("idle",        "change_decided",     "shoe_change", apply_choice),                     # 5.13
    ("idle",        "set.admitted",       "idle",        answer_cards_replaced, admit_pending_set),
    ("idle",        "set.refused",        "no_shoe",     answer_cards_replaced, refuse_set),
    ("idle",        "set.taken_out",      "no_shoe",     answer_cards_replaced, remove_shoe),
    # -- betting: wagers are taken ---------------------------------------------------------------
    ("betting",     "no_more_bets",       "closed",      close_bets,
                                                         place_cards_drawn_before,          # 5.9
                                                         measure_differential,
                                                         begin_with_opening_cards),         # 3.2
    ("betting",     "card.in_turn",       "dealing",     close_bets, deal_opening_cards, deal_card,
                                                         measure_differential_after_card,
                                                         reveal_face_up_cards),
    ("betting",     "pull.opens_round",   "closed",      close_bets, raise_double_draw,
                                                         measure_differential),             # 5.8
    ("betting",     "cards_placed",       "dealing"),
    ("betting",     "deal.ran_out",       "idle",        void_insufficient_cards),          # 5.3
    # -- closed: no more bets, no card is out ----------------------------------------------------
    ("closed",      "card.in_turn",       "dealing",     *DEAL),                            # 3.13
    ("closed",      "opening_due",        "dealing",     deal_opening_cards,
                                                         reveal_face_up_cards),             # 6.1
    ("closed",      "cards_placed",       BY_CARDS),
    ("closed",      "deal.ran_out",       "idle",        void_insufficient_cards),          # 5.3
    # -- dealing: the first four cards, Player, Banker, Player, Banker ---------------------------
    ("dealing",     "card.in_turn",       "dealing",     *DEAL),                            # 3.13
    ("dealing",     "card.fourth",        "revealing",   *DEAL),
    ("dealing",     "deal.ran_out",       "idle",        void_insufficient_cards),          # 5.3
    ("dealing",     "cards_placed",       BY_CARDS,      advance_round),
    ("dealing",     "correct_card",       "dealing",     correct_card),                     # 6.3
    ("dealing",     "card_corrected",     "dealing"),
    # -- revealing: hands are exposed, totals announced ------------------------------------------
    ("revealing",   "third_card_due",     "drawing",     call_for_third_card),
    ("revealing",   "third_card.early",   "revealing",   call_for_third_card, place_due_card,
                                                         reveal_face_up_cards,
                                                         advance_round),                    # 5.7
    ("revealing",   "third_card.aside",   "revealing",   deal_card_set_aside),              # 5.11.1
    ("revealing",   "third_card.ran_out", "idle",        void_insufficient_cards),          # 5.3
    ("revealing",   "outcome_due",        "resolved",    announce_outcome),
    ("revealing",   "correct_card",       "revealing",   correct_card),                     # 6.3
    ("revealing",   "card_corrected",     "revealing",   advance_round),
    # -- drawing: a hand gets its third card -----------------------------------------------------
    ("drawing",     "card.in_turn",       "revealing",   *DEAL),
    ("drawing",     "cards_placed",       "revealing",   advance_round),
    ("drawing",     "correct_card",       "revealing",   correct_card),                     # 6.3
    # -- resolved: the outcome is announced, wagers are collected and paid -----------------------
    ("resolved",    "settle",             "idle",        end_round),
    ("resolved",    "round_over",         "idle",        end_round),
    ("resolved",    "correct_card",       "resolved",    correct_card),                     # 6.3
    ("resolved",    "card_corrected",     "resolved",    corrections.revise_announced),
    ("resolved",    "card_corrected.card_due", "revealing", outcome.reopen_round,
                                                         advance_round),                    # 5.7
    # -- suspended: something must be decided first ----------------------------------------------
    ("suspended",   "halt_ended",         RESUME,        resume_play),
    ("suspended",   "round_voided",       "idle",        apply_choice),
    ("suspended",   "round_entered",      "resolved",    enter_round),                      # 6.3
    ("suspended",   "correct_card",       "suspended",   correct_card),                     # 6.3
    ("suspended",   "card_corrected",     "suspended",   corrections.derive_in_halt),
    # -- shoe_change: no further round is dealt from these cards ---------------------------------
    ("shoe_change", "declare_new_shoe",   "idle",        answer_cards_replaced, admit_unnamed_set),
    ("shoe_change", "set.admitted",       "idle",        answer_cards_replaced, admit_pending_set),
    ("shoe_change", "set.refused",        "no_shoe",     answer_cards_replaced, refuse_set),
    ("shoe_change", "set.taken_out",      "no_shoe",     answer_cards_replaced, remove_shoe),
)
# fmt: on


class Cell(NamedTuple):
    """What a message does in one situation."""

    to: str | None
    """The state it moves the table to; None: the table stays in its state."""

    do: tuple[Action, ...]
    """What it does, in this order."""


def does(*actions: Action) -> Cell:
    """Do this; the table stays in its state."""
    return Cell(None, actions)


def halts(*actions: Action | str) -> Cell:
    """Do this; the table is suspended.

    A string is a key of ``HALTS``: it raises that irregularity. Where no string is given, an action
    finds out which irregularity it is.
    """
    return Cell("suspended", tuple(halt(a) if isinstance(a, str) else a for a in actions))


# The cells of SHOE by name. A name in capitals halts the table.
# fmt: off
skip   = does()
reveal = does(reveal_face_up_cards, advance_round)
# The link and the power.
drop   = does(link.disconnect)
DROP   = halts(link.disconnect, "link_lost")
start  = does(announce_start, link.note_restart)
START  = halts(announce_start, link.note_restart, halt_causes.halt_for_restart)
POWER  = halts(announce_start, link.note_restart, "host_power_lost")
# The set of cards.
greet  = does(note_device)
keep   = does(note_device, keep_pending_set)
show   = does(note_device, receive_set)
OTHER  = halts(note_device, keep_pending_set, "another_set")
load   = does(receive_set)
store  = does(keep_pending_set)
LOAD   = halts(keep_pending_set, "set_loaded")
ANEW   = halts(lose_alignment, "started_anew")
GAP    = halts(gaps.halt_for_gap)
# Its cards.
back   = does(draw_order.note_pushed_back)
BACK   = halts(draw_order.halt_for_pushed_back)
count  = does(card_ledger.count_outside_game, detect_empty_shoe)
COUNT  = halts("outside_game", card_ledger.count_outside_game)
MOVED  = halts("card_moved")
accept = does(outcome.record_result, advance_round)
reject = does(link.emit_quarantined)
fault  = does(halt_causes.emit_shoe_fault)
FAULT  = halts(halt_causes.emit_shoe_fault, "shoe_fault")
lose   = does(halt_causes.emit_shoe_fault, lose_alignment)
UNREAD = halts(halt_causes.emit_shoe_fault, "unreadable_message")
garble = does(link.emit_discarded, lose_alignment)
GARBLE = halts(link.emit_discarded, "unreadable_message")
# Its body and its identity.
note   = does(halt_causes.note_shoe_event)
LID    = halts("lid_opened")
warn   = does(halt_causes.emit_fault)
TAMPER = halts(halt_causes.emit_fault, "tampered")
TEST   = halts(halt_causes.emit_fault, "self_test_failed")
RESET  = halts("shoe_reset")
PROOF  = halts("not_authenticated")
firm   = does(halt_causes.emit_unknown_firmware)
FIRM   = halts(halt_causes.emit_unknown_firmware, "firmware_not_allowed")
odd    = does(halt_causes.emit_unexpected)
ODD    = halts(halt_causes.halt_for_unexpected)
# What the table finds.
later  = does(unread_cards.raise_pending_entry)
ENTER  = halts(unread_cards.halt_for_unread)
wait   = does(overdraw.raise_pending_unraised)
RULE   = halts(overdraw.halt_for_unraised)
# fmt: on


# The shoe: what each of its messages does, in each situation of the table (situations.py).
# The last three columns are a table that is halted: outside play, after *no more bets*, or with
# cards out. ``unheard``: the shoe will not send again what it says while the link is down.
# fmt: off
SHOE: tuple[tuple[Any, ...], ...] = (
    #                     no      be-     bet-                    re-             halted  halted
    # message             shoe    tween   ting    closed  cards   solved  halted  closed  cards
    # -- the link, the power and the clock -------------------------------------------------------
    ("link_lost",         drop,   drop,   drop,   drop,   DROP,   drop,   drop,   drop,   drop),
    ("link_lost.unheard", drop,   drop,   drop,   drop,   DROP,   drop,   drop,   drop,   DROP),
    ("restarted",         start,  start,  start,  start,  START,  start,  start,  start,  start),
    ("restarted.unheard", start,  start,  start,  start,  START,  start,  start,  start,  START),
    ("restarted.power",   start,  start,  start,  POWER,  POWER,  start,  start,  POWER,  POWER),
    ("tick",              skip,   skip,   skip,   skip,   reveal, skip,   skip,   skip,   skip),
    # -- its set of cards ------------------------------------------------------------------------
    ("hello",             greet,  greet,  greet,  greet,  greet,  greet,  keep,   keep,   keep),
    ("hello.another_set", show,   show,   OTHER,  OTHER,  OTHER,  keep,   keep,   keep,   OTHER),
    ("shoe_loaded",       load,   load,   LOAD,   LOAD,   LOAD,   store,  store,  store,  LOAD),
    ("started",           skip,   skip,   skip,   ANEW,   ANEW,   skip,   skip,   ANEW,   ANEW),
    ("gap",               skip,   GAP,    GAP,    GAP,    GAP,    GAP,    GAP,    GAP,    GAP),
    # -- its cards -------------------------------------------------------------------------------
    ("card_pushed_back",  back,   back,   back,   BACK,   BACK,   back,   back,   BACK,   BACK),
    ("card_outside_game", skip,   count,  COUNT,  COUNT,  COUNT,  COUNT,  count,  count,  count),
    ("redesignated",      skip,   skip,   MOVED,  MOVED,  MOVED,  MOVED,  skip,   skip,   skip),
    ("result",            reject, reject, reject, reject, accept, reject, reject, reject, reject),
    ("error",             fault,  fault,  fault,  FAULT,  FAULT,  fault,  fault,  fault,  fault),
    ("error.at_a_card",   lose,   lose,   UNREAD, FAULT,  FAULT,  lose,   lose,   lose,   UNREAD),
    ("discarded.a_card",  garble, garble, GARBLE, GARBLE, GARBLE, garble, garble, garble, GARBLE),
    # -- its body --------------------------------------------------------------------------------
    ("lid.opened",        note,   note,   note,   note,   LID,    note,   note,   note,   note),
    ("tamper",            warn,   warn,   warn,   warn,   TAMPER, warn,   warn,   warn,   warn),
    ("self_test.failed",  warn,   warn,   warn,   warn,   TEST,   warn,   warn,   warn,   warn),
    ("reset_done",        skip,   skip,   skip,   skip,   RESET,  skip,   skip,   skip,   skip),
    ("not_genuine",       skip,   skip,   skip,   skip,   PROOF,  skip,   skip,   skip,   skip),
    ("firmware.refused",  firm,   firm,   firm,   firm,   FIRM,   firm,   firm,   firm,   firm),
    ("unforeseen",        odd,    ODD,    ODD,    ODD,    ODD,    ODD,    odd,    odd,    odd),
    # -- what the table finds --------------------------------------------------------------------
    ("card_unread.shown", later,  later,  later,  later,  ENTER,  later,  ENTER,  ENTER,  ENTER),
    ("left_over",         skip,   RULE,   RULE,   wait,   wait,   RULE,   RULE,   wait,   wait),
)
# fmt: on


# What does the same in every situation: messages that do not depend on it, and cases that arise in
# some situations only (the questions of cases.py see to that).
ALWAYS: Mapping[str, Cell] = {
    # -- the link, the power and the clock --
    "link_up": does(link.connect),
    "link_up.first_set": does(link.connect, card_set.receive_unnamed_set),
    "link_lost.shoe_sorted": does(link.disconnect),
    "line_suspended": does(link.suspend_line),
    "line_resumed": does(link.resume_line),
    "tick.result_overdue": halts("no_result"),
    "tick.cards_seen": does(power_failure.show_due_cards),
    "fault": halts(halt_causes.halt_for_fault),
    "storage_restored": halts(decisions.halt_for_storage_fault),
    "delivery_parked": does(undelivered.note_undelivered),
    "delivery_taken": does(undelivered.note_undelivered),
    "commands_refused": does(answers.emit_unrecorded),
    "not_told": does(),
    # -- the shoe's set of cards --
    "hello.answers_step": does(note_device, apply_shoe_event),
    "hello.shoe_sorted": does(note_device, keep_pending_set),
    "hello.rebooted": halts(note_device, keep_pending_set, "rebooted"),
    "hello.cards_missed": halts(gaps.halt_for_missed_cards, note_device),
    "hello.fewer_cards": halts(note_device, keep_pending_set, gaps.halt_for_counts),
    "shoe_loaded.known": does(card_set.restart_count),
    "shoe_loaded.shoe_sorted": does(keep_pending_set),
    "started.new_shoe": does(card_set.receive_unnamed_set),
    "started.answers_step": does(lose_alignment, apply_shoe_event),
    "set.unlike": halts("another_set"),
    "cutting_card": does(card_set.note_cutting_card),
    "cutting_card.no_shoe": does(),
    "cutting_card.first": halts(offer_withdrawal),  # N/F 3.17.1, T 3.22.1, I 3.16.1
    # -- its cards --
    "card.no_card": does(),
    "card.repeated": does(),
    "card.disputed": halts(gaps.compare_with_entry, "entry_disputed"),
    "card.entered": does(gaps.compare_with_entry),
    "card.answers_step": does(apply_shoe_event),
    "card.read_late": does(unread_cards.record_reading),
    "card.armed_before": does(power_failure.deal_reported_card),
    "card.armed_until_now": does(pending_card.hold_pending_card, differential.rule_on_differential),
    "card.undecided_in_pause": does(overdraw.hold_until_decided),  # 5.7
    "card.in_pause": halts(overdraw.halt_for_card_in_pause),  # 6.1
    "card.in_halt": does(halt_causes.hold_another_card),
    "card.without_shoe": halts("no_shoe_known", halt_causes.hold_card),
    "card.unarmed": does(record_unarmed_draw, take_turn),  # 5.7
    "card.burned": does(card_ledger.count_burned, detect_empty_shoe),
    "card.of_missed_round": does(card_ledger.count_unplaced, detect_empty_shoe),
    "card.set_aside": does(cards_ahead.set_aside_next),  # 5.11.1
    "card.early_undecided": does(overdraw.hold_until_decided),  # 5.7
    "card.early": halts(overdraw.halt_for_overdraw),  # 6.1
    "card.misfit": halts(halt_causes.halt_for_card),
    "pull": halts(double_draw.halt_for_double_draw),  # 5.8
    "pull.answers_step": does(apply_shoe_event),
    "card_outside_game.objected": does(early_cards.record_overdrawn_reading),
    "card_outside_game.undecided": does(overdraw.hold_card_of_shoe_in_error),  # 5.7
    "redesignated.anew": halts(lose_alignment, "hand_dealt_anew"),
    "redesignated.early_card": does(early_cards.note_reported_slot),
    "redesignated.agrees": does(),
    "result.forced": halts("result_forced"),
    "result.too_soon": halts(outcome.record_result, "result_too_early"),
    "error.known": does(halt_causes.emit_shoe_fault),
    "error.overdraw_undecided": does(overdraw.hold_objected_card),  # 5.7
    "error.overdraw": halts(overdraw.halt_for_objected_card),  # 6.1
    "error.unread_card": halts(halt_causes.emit_shoe_fault, "card_unreadable"),
    "error.reverse_run": halts(halt_causes.emit_shoe_fault, "reverse_run"),  # 5.2
    "error_cleared": does(halt_causes.emit_fault_cleared),
    "discarded": does(link.emit_discarded),
    # -- its body, and what it answers --
    "status": does(arming.on_status, note_status),
    "status.counts_differ": halts(arming.on_status, note_status, gaps.halt_for_counts),
    "status.arm_taken": does(arming.on_status, note_status, arming.emit_arm_taken),
    "reply": does(),
    "reply.refused": does(arming.on_reply),
    "reset.answers_step": does(apply_shoe_event),
    "lid": does(halt_causes.note_shoe_event),
    "button": does(halt_causes.note_shoe_event),
    "shoe_empty": does(halt_causes.note_shoe_event),
    "self_test": does(),
    "power_low": does(halt_causes.emit_fault),
    "power_restored": does(halt_causes.emit_power_restored),
    "unknown_firmware": does(halt_causes.emit_unknown_firmware),
    "warning": does(halt_causes.emit_warning),
    **dict.fromkeys(
        (
            "query_answered", "key_rotated", "command_unanswered", "challenged", "authenticated",
            "standby", "lock", "preset_changed", "repeated",
        ),
        does(),
    ),
    # -- what people say --
    "paused": halts(decisions.pause),
    "irregularity_declared": halts(raise_declared),
    "unread_exposed": halts(unread_cards.halt_for_exposed),
    # -- what the table finds --
    "drawn_together": halts(double_draw.halt_for_double_draw),  # 5.8
    "face_up_first": halts("first_card_face_up"),  # 6.1
    "card_unread": does(unread_cards.raise_pending_entry),
    "one_too_many": halts(wrong_cards.halt_for_too_many),  # 5.1
    "one_too_many.round_ends": does(wrong_cards.raise_extra_card_after_round),
    "third_card.contested": halts(overdraw.halt_for_early_card),  # 6.1
    "third_card.judged": halts("result_too_early"),
    "overdrawn": halts(overdraw.halt_for_early_card),  # 6.1
    "overdrawn.after_outcome": halts(overdraw.halt_for_each_early_card),  # 6.1
    "outcome.disputed": halts("result_disagrees"),
    "differential_due": halts(differential.halt_for_differential),  # I 5.16, 5.18
    "count_disagrees": halts(wrong_cards.halt_for_count),  # 5.1.2
    "left_over.none": does(),
    "opening.none": does(),
    "deal.goes_on": does(),
}  # fmt: skip


OWN_TRIGGERS = frozenset({
    "card_unread", "face_up_first", "cards_placed", "one_too_many", "cards_ran_out",
    "third_card_due", "overdrawn", "drawn_together", "left_over", "opening_due", "outcome_due",
    "round_over", "change_due", "set_shown", "differential_due", "count_disagrees", "first_wager",
    "change_decided", "halt_ended", "round_voided", "round_entered", "paused",
    "irregularity_declared", "unread_exposed", "card_corrected",
})  # fmt: skip
"""Triggers that the table fires itself. Each is fired only in states that have a line for it."""

STEP_EVENTS = ("hello", "card_drawn", "cards_drawn", "started", "reset_done")
"""Messages of the shoe that may complete the open step of a procedure."""

UNFORESEEN = "unforeseen"
"""The trigger of a message of the shoe that no line names: the table halts where it matters."""


# The tables as lines: one for each state and trigger.


class Line(NamedTuple):
    """In a state, on a trigger: go to a state and act.

    A halted table has up to three lines for a trigger: which of them holds follows from the state
    that it left for the halt. All others have one.
    """

    state: str
    """The state in which the line holds."""

    trigger: str
    """What comes."""

    to: str | Destination
    """The next state, or what finds it."""

    do: tuple[Action, ...]
    """What to do, in this order."""

    when: tuple[Condition, ...] = ()
    """What must hold besides."""


@functools.cache
def lines() -> Mapping[tuple[str, str], tuple[Line, ...]]:
    """Return the lines of each pair of a state and a trigger; the first one that holds is taken."""
    found: dict[tuple[str, str], list[Line]] = {}
    for line in (*_command_lines(), *_round_lines(), *_shoe_lines(), *_always_lines()):
        found.setdefault((line.state, line.trigger), []).append(line)
    return {pair: tuple(each) for pair, each in found.items()}


def _command_lines() -> list[Line]:
    return [Line(row.state, row.name, row.state, (row.do,)) for row in command_rows()]


def _round_lines() -> list[Line]:
    return [Line(state, trigger, to, tuple(do)) for state, trigger, to, *do in ROUND]


def _shoe_lines() -> list[Line]:
    _assert_columns_cover_every_state()
    found = []
    for message, *cells in SHOE:
        for (name, states), cell in zip(SITUATIONS.items(), cells, strict=True):
            when = (_is_in_situation(name),) if name in LEFT_FOR_A_HALT else ()
            found += [Line(state, message, cell.to or state, cell.do, when) for state in states]
    return found


def _always_lines() -> list[Line]:
    return [
        Line(state, message, cell.to or state, cell.do)
        for message, cell in ALWAYS.items()
        for state in STATES
    ]


def _is_in_situation(name: str) -> Condition:
    def holds(turn: Turn) -> bool:
        return situation(turn.state, turn.now.halt) == name

    return holds


def _assert_columns_cover_every_state() -> None:
    """Assert that each state has its column, and each that a halt may have left one of its own."""
    plain = [
        s for name, states in SITUATIONS.items() if name not in LEFT_FOR_A_HALT for s in states
    ]
    left = [state for states in LEFT_FOR_A_HALT.values() for state in states]
    assert sorted([*plain, "suspended"]) == sorted(STATES)
    assert sorted(left) == sorted(plain)


@functools.cache
def triggers() -> frozenset[str]:
    """Return every trigger that the tables name, without the cases that it is divided into."""
    named = {trigger for _, trigger in lines()} | CASES.keys() | CHECKS.keys()
    parts = {case for each in (*CASES, *CHECKS) for case in list_cases(each) if case != each}
    return frozenset(named - parts)
