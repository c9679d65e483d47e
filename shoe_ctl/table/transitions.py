"""What may follow in each state of a table: the round, and what its shoe and the table itself find.

In: a trigger (an input's name, its case, or a name that the table gives itself) in a state.
Out: the next state and the actions to take. Must not know: how an action is done, clocks, I/O.

Read ``ROUND`` for the way of a round through its states, ``SHOE`` for what a message means in each
situation. ``CASES`` says which messages are told apart before, and by which questions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, get_args

from . import answers, decisions, undelivered
from .cases import (
    CardCase,
    ErrorCase,
    HelloCase,
    classify_card,
    classify_error,
    classify_hello,
    take_turn,
)
from .commands import command_rows
from .decisions import (
    apply_shoe_event,
    raise_declared,
    resume_play,
    step_accepts_event,
    take_choice,
    void_insufficient_cards,
)
from .entered_rounds import enter_round
from .irregularities import (
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
from .irregularities import halts as halt_causes
from .irregularities.cutting_card import allows_withdrawal, offer_withdrawal
from .irregularities.device_reset import place_cards_drawn_before
from .irregularities.double_draw import ask_for_double_draw
from .irregularities.halts import halt
from .irregularities.overdraw import emit_unarmed, place_due_card
from .irregularities.rulings import answer_cards_kept, answer_cards_replaced
from .round import cards_ahead, early_cards, outcome
from .round.cards_ahead import deal_card_set_aside
from .round.deal import (
    close_bets,
    deal_card,
    has_implied_announcements,
    measure_differential_after_card,
    open_round,
)
from .round.early_cards import begin_with_opening_cards, deal_opening_cards
from .round.outcome import announce_outcome, end_round
from .round.reveal import advance_round, call_for_third_card, reveal_face_up_cards
from .shoe import arming, card_set, link
from .shoe import ledger as card_ledger
from .shoe.card_set import (
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
from .shoe.ledger import note_status, void_if_shoe_is_empty
from .shoe.link import lose_alignment
from .situations import (
    BETWEEN,
    CARDS_OUT,
    LEFT_FOR_A_HALT,
    NO_ROUND,
    OPEN,
    SITUATIONS,
    STATES,
    situation,
)
from .state import phase
from .turn import Turn
from .wagers.commands import apply_wager, check_differential

Action = Callable[[Turn], None]
Condition = Callable[[Turn], bool]
Destination = Callable[[Turn], str]


def _phase(turn: Turn) -> str:
    return phase(turn.now)


def _resumes_in(turn: Turn) -> str:
    return turn.resumes_in


BY_CARDS: Destination = _phase
"""The state that the cards on the table stand for: dealing, drawing or revealing."""

RESUME: Destination = _resumes_in
"""The state that the table left for the halt, or the one that the end of the halt names."""


# The round: how a table moves through its states. Read a line as: in this state, when this comes,
# go to that state and do this. A command's own check is asked before its line; what halts the
# table, in SHOE and ALWAYS, leads to suspended.
#
# set       a set of cards that the shoe shows
# pull      cards that were drawn as one
# answer    answer_kept, answer_replaced: after a void round, whether its cards are replaced (5.13)
# opening   cards drawn before the round that were ruled to be its first (6.1)
# fmt: off
ROUND: tuple[tuple[Any, ...], ...] = (
    # in            when this comes        to             do this
    # -- no_shoe: no set of cards is known --------------------------------------------------------
    ("no_shoe",     "set.admitted",        "idle",        answer_cards_replaced, admit_pending_set),
    ("no_shoe",     "set.refused",         "no_shoe",     answer_cards_replaced, refuse_set),
    ("no_shoe",     "set.taken_out",       "no_shoe",     answer_cards_replaced, remove_shoe),
    # -- idle: a shoe is ready, no round is open --------------------------------------------------
    ("idle",        "set.admitted",        "idle",        answer_cards_replaced, admit_pending_set),
    ("idle",        "set.refused",         "no_shoe",     answer_cards_replaced, refuse_set),
    ("idle",        "set.taken_out",       "no_shoe",     answer_cards_replaced, remove_shoe),
    ("idle",        "place_your_bets",     "betting",     answer_cards_kept, open_round),      # 3.1
    ("idle",        "first_wager",         "betting",     answer_cards_kept, open_round,
                    apply_wager),
    ("idle",        "card.in_turn",        "dealing",     answer_cards_kept, open_round, close_bets,
                    deal_opening_cards, deal_card, measure_differential_after_card,
                    reveal_face_up_cards),
    ("idle",        "pull.opens_round",    "closed",      answer_cards_kept, open_round, close_bets,
                    ask_for_double_draw, check_differential),                                  # 5.8
    ("idle",        "cards_placed",        BY_CARDS,      reveal_face_up_cards, advance_round,
                    void_if_shoe_is_empty),
    ("idle",        "change_due",          "shoe_change", answer_cards_replaced,
                    announce_shoe_change, set_aside_opening_cards),
    ("idle",        "change_shoe",         "shoe_change", answer_cards_replaced,
                    announce_shoe_change, set_aside_opening_cards),
    ("idle",        "change_decided",      "shoe_change", take_choice),                       # 5.13
    # -- shoe_change: these cards deal no further round -------------------------------------------
    ("shoe_change", "set.admitted",        "idle",        answer_cards_replaced, admit_pending_set),
    ("shoe_change", "set.refused",         "no_shoe",     answer_cards_replaced, refuse_set),
    ("shoe_change", "set.taken_out",       "no_shoe",     answer_cards_replaced, remove_shoe),
    ("shoe_change", "declare_new_shoe",    "idle",        answer_cards_replaced, admit_unnamed_set),
    # -- betting: wagers are taken ----------------------------------------------------------------
    ("betting",     "no_more_bets",        "closed",      close_bets, place_cards_drawn_before,
                    check_differential, begin_with_opening_cards),                             # 3.2
    ("betting",     "card.in_turn",        "dealing",     close_bets, deal_opening_cards, deal_card,
                    measure_differential_after_card, reveal_face_up_cards),
    ("betting",     "pull.opens_round",    "closed",      close_bets, ask_for_double_draw,
                    check_differential),                                                       # 5.8
    ("betting",     "cards_placed",        BY_CARDS,      reveal_face_up_cards, advance_round,
                    void_if_shoe_is_empty),
    # -- closed: no more bets, no card is out -----------------------------------------------------
    ("closed",      "card.in_turn",        "dealing",     deal_card, reveal_face_up_cards),   # 3.12
    ("closed",      "opening_due",         "dealing",     deal_opening_cards,
                    reveal_face_up_cards),                                                     # 6.1
    ("closed",      "cards_placed",        BY_CARDS,      reveal_face_up_cards, advance_round,
                    void_if_shoe_is_empty),
    # -- dealing: the first four cards, Player, Banker, Player, Banker ----------------------------
    ("dealing",     "card.in_turn",        "dealing",     deal_card, reveal_face_up_cards),   # 3.12
    ("dealing",     "card.fourth",         "revealing",   deal_card, reveal_face_up_cards,
                    advance_round),
    ("dealing",     "deal.ran_out",        "idle",        void_insufficient_cards),            # 5.3
    ("dealing",     "cards_placed",        BY_CARDS,      reveal_face_up_cards, advance_round,
                    void_if_shoe_is_empty),
    # -- revealing: cards are seen, totals announced ----------------------------------------------
    ("revealing",   "third_card_due",      "drawing",     call_for_third_card),
    ("revealing",   "third_card.early",    "revealing",   call_for_third_card, place_due_card,
                    reveal_face_up_cards, advance_round),                                      # 5.7
    ("revealing",   "third_card.aside",    "revealing",   deal_card_set_aside),             # 5.11.1
    ("revealing",   "third_card.ran_out",  "idle",        void_insufficient_cards),            # 5.3
    ("revealing",   "outcome_due",         "resolved",    announce_outcome),
    # -- drawing: a third card is due -------------------------------------------------------------
    ("drawing",     "card.in_turn",        "revealing",   deal_card, reveal_face_up_cards,
                    advance_round),
    ("drawing",     "cards_placed",        BY_CARDS,      reveal_face_up_cards, advance_round,
                    void_if_shoe_is_empty),
    # -- resolved: the outcome is announced, wagers are collected and paid ------------------------
    ("resolved",    "settle",              "idle",        end_round),
    ("resolved",    "round_over",          "idle",        end_round),
    # -- suspended: something is open that is decided first ---------------------------------------
    ("suspended",   "halt_ended",          RESUME,        resume_play),
    ("suspended",   "round_voided",        "idle",        take_choice),
    ("suspended",   "round_entered",       "resolved",    enter_round),                        # 6.3
)
# fmt: on


class Cell(NamedTuple):
    """What a message does in a situation: ``to`` a state, where it moves the table at all."""

    to: str | None
    do: tuple[Action, ...]


def does(*actions: Action) -> Cell:
    """Do this; the table stays in its state."""
    return Cell(None, actions)


def halts(*actions: Action | str) -> Cell:
    """Do this; the table is suspended. A name is one of ``HALTS``, an action finds its cause."""
    return Cell("suspended", tuple(halt(a) if isinstance(a, str) else a for a in actions))


# What a message does in a situation, where situations differ. In capitals: the table halts.
look = does(reveal_face_up_cards, advance_round)
drop, LINK = does(link.disconnect), halts(link.disconnect, "link_lost")
start = does(link.note_restart)
AGAIN = halts(link.note_restart, halt_causes.halt_for_restart)
POWER = halts(link.note_restart, "host_power_lost")
meet, keep = does(note_device), does(note_device, keep_pending_set)
show = does(note_device, receive_set)
UNLIKE = halts(note_device, keep_pending_set, "another_set")
load, store, RELOAD = (
    does(receive_set),
    does(keep_pending_set),
    halts(keep_pending_set, "set_loaded"),
)
ANEW = halts(lose_alignment, "started_anew")
GAP = halts(gaps.halt_for_gap)
back, BACK = does(draw_order.note_pushed_back), halts(draw_order.halt_for_pushed_back)
note, LID = does(halt_causes.note_shoe_event), halts("lid_opened")
warn, TAMPER = does(halt_causes.emit_fault), halts(halt_causes.emit_fault, "tampered")
TEST = halts(halt_causes.emit_fault, "self_test_failed")
RESET = halts("shoe_reset")
PROOF = halts("not_authenticated")
firm = does(halt_causes.emit_unknown_firmware)
FIRM = halts(halt_causes.emit_unknown_firmware, "firmware_not_allowed")
fault, FAULT = does(halt_causes.emit_shoe_fault), halts(halt_causes.emit_shoe_fault, "shoe_fault")
lose = does(halt_causes.emit_shoe_fault, lose_alignment)
UNREAD = halts(halt_causes.emit_shoe_fault, "unreadable_message")
garble = does(link.emit_discarded, lose_alignment)
GARBLE = halts(link.emit_discarded, "unreadable_message")
odd, ODD = does(halt_causes.emit_unexpected), halts(halt_causes.halt_for_unexpected)
count = does(card_ledger.count_outside_game)
OUT = halts("outside_game", card_ledger.count_outside_game)
PLACE = halts("card_moved")
judge, apart = does(outcome.record_result, advance_round), does(link.emit_quarantined)
wait, ENTER = does(unread_cards.raise_pending_entry), halts(unread_cards.halt_for_unread)
lie, RULE = does(overdraw.raise_pending_unraised), halts(overdraw.halt_for_unraised)
skip = does()


# The shoe: what each of its messages means, in each situation of the table (situations.py).
# The last three columns are a table that is halted: between rounds, after *no more bets*, with
# cards out.
# fmt: off
SHOE: tuple[tuple[Any, ...], ...] = (
    #                     no      be-     bet-                    re-             halted  halted
    # message             shoe    tween   ting    closed  cards   solved  halted  closed  cards
    # -- the link, the power and the clock -------------------------------------------------------
    ("link_lost",         drop,   drop,   drop,   drop,   LINK,   drop,   drop,   drop,   drop),
    ("link_lost.unheard", drop,   drop,   drop,   drop,   LINK,   drop,   drop,   drop,   LINK),
    ("restarted",         start,  start,  start,  start,  AGAIN,  start,  start,  start,  start),
    ("restarted.unheard", start,  start,  start,  start,  AGAIN,  start,  start,  start,  AGAIN),
    ("restarted.power",   start,  start,  start,  POWER,  POWER,  start,  start,  POWER,  POWER),
    ("tick",              skip,   skip,   skip,   skip,   look,   skip,   skip,   skip,   skip),
    # -- its set of cards ------------------------------------------------------------------------
    ("hello",             meet,   meet,   meet,   meet,   meet,   meet,   keep,   keep,   keep),
    ("hello.another_set", show,   show,   UNLIKE, UNLIKE, UNLIKE, keep,   keep,   keep,   UNLIKE),
    ("shoe_loaded",       load,   load,   RELOAD, RELOAD, RELOAD, store,  store,  store,  RELOAD),
    ("started",           skip,   skip,   skip,   ANEW,   ANEW,   skip,   skip,   ANEW,   ANEW),
    ("gap",               skip,   GAP,    GAP,    GAP,    GAP,    GAP,    GAP,    GAP,    GAP),
    # -- its cards -------------------------------------------------------------------------------
    ("card_pushed_back",  back,   back,   back,   BACK,   BACK,   back,   back,   BACK,   BACK),
    ("card_outside_game", skip,   count,  OUT,    OUT,    OUT,    OUT,    count,  count,  count),
    ("redesignated",      skip,   skip,   PLACE,  PLACE,  PLACE,  PLACE,  skip,   skip,   skip),
    ("result",            apart,  apart,  apart,  apart,  judge,  apart,  apart,  apart,  apart),
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
    ("card_unread.shown", wait,   wait,   wait,   wait,   ENTER,  wait,   ENTER,  ENTER,  ENTER),
    ("left_over",         skip,   RULE,   RULE,   lie,    lie,    RULE,   RULE,   lie,    lie),
)
# fmt: on


# What is the same in every situation: messages that never depend on it, and cases that arise in
# some situations only (the questions below see to that).
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
    "commands_refused": does(answers.tell_unrecorded),
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
    "card.unarmed": does(emit_unarmed, take_turn),  # 5.7
    "card.burned": does(card_ledger.count_burned),
    "card.of_missed_round": does(card_ledger.count_unplaced),
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
    "outcome.disputed": halts("result_disagrees"),
    "differential_due": halts(differential.halt_for_differential),  # I 5.16, 5.18
    "count_disagrees": halts(wrong_cards.halt_for_count),  # 5.1.2
    "left_over.none": does(),
    "opening.none": does(),
    "deal.goes_on": does(),
}  # fmt: skip


# Which case a message is: asked from the top, the first that holds; none leaves the message itself.


def within(states: tuple[str, ...], holds: Condition) -> Condition:
    """The condition, asked in these states alone."""

    def holds_there(turn: Turn) -> bool:
        return turn.state in states and holds(turn)

    return holds_there


def outside(states: tuple[str, ...], holds: Condition) -> Condition:
    """The condition, asked in all states but these."""
    return within(tuple(state for state in STATES if state not in states), holds)


def always(turn: Turn) -> bool:  # noqa: ARG001 - the signature of a condition
    """Whatever there is to see."""
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
    "one_too_many": (
        ("one_too_many.round_ends", within(("resolved",), has_implied_announcements)),
    ),
    "third_card_due": (
        ("third_card.contested", early_cards.is_disputed),
        ("third_card.early", early_cards.has_overdrawn),
        ("third_card.aside", cards_ahead.has_card_ahead),
        ("third_card.judged", outcome.has_result),
        ("third_card.ran_out", card_ledger.is_shoe_empty),
    ),
    "outcome_due": (("outcome.disputed", outcome.result_disagrees),),
    "left_over": (("left_over.none", overdraw.has_no_unraised_cards),),
    "opening_due": (
        ("opening.none", outside(("closed",), always)),
        ("opening.none", early_cards.has_no_opening_cards),
    ),
    "cards_ran_out": (("deal.ran_out", within(("dealing",), always)), ("deal.goes_on", always)),
}
"""The questions by which a message's cases are told apart."""

CHECKS: Mapping[str, tuple[Callable[[Turn], str], tuple[str, ...]]] = {
    "card_drawn": (classify_card, get_args(CardCase)),
    "hello": (classify_hello, get_args(HelloCase)),
    "error": (classify_error, get_args(ErrorCase)),
}
"""The messages with so many cases that a function of their own asks, with all cases of each."""

OWN_TRIGGERS = frozenset({
    "card_unread", "face_up_first", "cards_placed", "one_too_many", "cards_ran_out",
    "third_card_due", "overdrawn", "drawn_together", "left_over", "opening_due", "outcome_due",
    "round_over", "change_due", "set_shown", "differential_due", "count_disagrees", "first_wager",
    "change_decided", "halt_ended", "round_voided", "round_entered", "paused",
    "irregularity_declared", "unread_exposed",
})  # fmt: skip
"""Triggers that the table gives itself, only in the states that they are meant for."""

HEARD = ("hello", "card_drawn", "cards_drawn", "started", "reset_done")
"""What the shoe says that an open step of a procedure may take."""

UNFORESEEN = "unforeseen"
"""The trigger of whatever a shoe says that no line names: in doubt the table halts."""


# The tables taken apart: a line for each state and trigger.


class Line(NamedTuple):
    """In ``state``, on ``trigger``, if every ``when`` holds: go ``to`` a state, then ``do``.

    A halted table has up to three lines for a trigger: which of them holds follows from the state
    that it left for the halt. All others have one.
    """

    state: str
    trigger: str
    to: str | Destination
    do: tuple[Action, ...]
    when: tuple[Condition, ...] = ()


@functools.cache
def lines() -> Mapping[tuple[str, str], tuple[Line, ...]]:
    """The lines of each pair of a state and a trigger: the first one that holds is taken."""
    found: dict[tuple[str, str], list[Line]] = {}
    for line in (*_of_commands(), *_of_the_round(), *_of_the_shoe(), *_of_every_situation()):
        found.setdefault((line.state, line.trigger), []).append(line)
    return {pair: tuple(each) for pair, each in found.items()}


def _of_commands() -> list[Line]:
    return [Line(row.state, row.name, row.state, (row.do,)) for row in command_rows()]


def _of_the_round() -> list[Line]:
    return [Line(state, trigger, to, tuple(do)) for state, trigger, to, *do in ROUND]


def _of_the_shoe() -> list[Line]:
    _assert_covers_every_state()
    found = []
    for message, *cells in SHOE:
        for (name, states), cell in zip(SITUATIONS.items(), cells, strict=True):
            when = (_is_halted(name),) if name in LEFT_FOR_A_HALT else ()
            found += [Line(state, message, cell.to or state, cell.do, when) for state in states]
    return found


def _is_halted(name: str) -> Condition:
    def holds(turn: Turn) -> bool:
        return situation(turn.state, turn.now.halt) == name

    return holds


def _assert_covers_every_state() -> None:
    """The columns stand for the ten states, and a halted table's for all that it may have left."""
    plain = [
        s for name, states in SITUATIONS.items() if name not in LEFT_FOR_A_HALT for s in states
    ]
    left = [state for states in LEFT_FOR_A_HALT.values() for state in states]
    assert sorted([*plain, "suspended"]) == sorted(STATES)
    assert sorted(left) == sorted(plain)


def _of_every_situation() -> list[Line]:
    return [
        Line(state, message, cell.to or state, cell.do)
        for message, cell in ALWAYS.items()
        for state in STATES
    ]


def cases(trigger: str) -> tuple[str, ...]:
    """All that this trigger may turn out to be."""
    if trigger in CHECKS:
        return CHECKS[trigger][1]
    named = tuple(dict.fromkeys(case for case, _ in CASES.get(trigger, ())))
    asks = CASES.get(trigger)
    return named if asks and asks[-1][1] is always else (*named, trigger)


@functools.cache
def triggers() -> frozenset[str]:
    """Every trigger that the tables name, before its cases are told apart."""
    named = {trigger for _, trigger in lines()} | CASES.keys() | CHECKS.keys()
    parts = {case for each in (*CASES, *CHECKS) for case in cases(each) if case != each}
    return frozenset(named - parts)
