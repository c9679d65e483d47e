"""The round as one literal table: everything that decides which state follows which is here.

In: a trigger (an input's name, or one the table gives itself) in a state. Out: the next state and
the actions it takes. Must not know: how an action is done, clocks, I/O.
"""

from __future__ import annotations

from . import (
    arming,
    by_hand,
    cutting,
    dealing,
    early,
    fitting,
    freed,
    halting,
    heard_later,
    known_commands,
    link_facts,
    outcome,
    overdrawn,
    parked,
    pending,
    pushed_back,
    replayed,
    reset,
    review,
    set_aside,
    shoe_body,
    shoe_cards,
    shoe_sets,
    together,
    unread,
)
from .causes import halt
from .commands import command_rows
from .dealing import close_bets, deal, is_implied, open_round
from .deciding import (
    hear,
    hears_the_last,
    is_heard,
    raise_declared,
    returns_here,
    take_choice,
    void_for_want_of_cards,
)
from .irregularities.grounds import CARDS_OUT, TO_THE_OUTCOME, bets_were_closed, cards_were_out
from .replacing import kept, replaced
from .revealing import (
    advance,
    reveal_due,
    want_third_card,
)
from .rows import Row, spell
from .wagering import (
    change_wager,
    look_at_differential,
)

STATES = (
    "no_shoe", "idle", "betting", "closed", "dealing", "revealing", "drawing", "resolved",
    "suspended", "shoe_change",
)  # fmt: skip
"""The ten states of a table."""

BEGUN = ("betting", "closed")
OPEN = (*BEGUN, *CARDS_OUT, "resolved")
BETWEEN = ("idle", "shoe_change")
AFTER_BETS = ("closed", *CARDS_OUT, "resolved")
NO_ROUND = ("no_shoe", *BETWEEN)
RESUMABLE = tuple(s for s in STATES if s != "suspended")


# The first row whose conditions hold is taken. Every pair of a state and a trigger from outside
# ends in a row without conditions.
# fmt: off
ROWS: tuple[Row, ...] = spell(
    # trigger             from               to             when                                     do
    # — the link and the power —
    ("link_up",           "no_shoe",         "idle",        (link_facts.cannot_name_its_set,),                  (link_facts.connect, replaced, shoe_sets.admit_unnamed_set)),
    ("link_up",           STATES,            "=",           (),                                      (link_facts.connect,)),
    ("link_lost",         (*CARDS_OUT, "suspended"), "=",   (set_aside.shoe_is_sorted,),             (link_facts.disconnect,)),
    ("link_lost",         CARDS_OUT,         "suspended",   (),                                      (link_facts.disconnect, halt("link_lost"))),
    ("link_lost",         "suspended",       "=",           (cards_were_out, link_facts.cannot_replay),         (link_facts.disconnect, halt("link_lost"))),
    ("link_lost",         STATES,            "=",           (),                                      (link_facts.disconnect,)),
    ("line_suspended",    STATES,            "=",           (),                                      (link_facts.suspend,)),
    ("line_resumed",      STATES,            "=",           (),                                      (link_facts.resume_line,)),
    ("restarted",         TO_THE_OUTCOME,    "suspended",   (halting.power_was_lost,),                       (link_facts.restart, halt("host_power_lost"))),
    ("restarted",         CARDS_OUT,         "suspended",   (),                                      (link_facts.restart, halting.halt_for_restart)),
    ("restarted",         "suspended",       "=",           (bets_were_closed, halting.power_was_lost),      (link_facts.restart, halt("host_power_lost"))),
    ("restarted",         "suspended",       "=",           (cards_were_out, link_facts.cannot_replay),         (link_facts.restart, halting.halt_for_restart)),
    ("restarted",         STATES,            "=",           (),                                      (link_facts.restart,)),
    ("fault",             STATES,            "suspended",   (),                                      (halting.halt_for_fault,)),
    ("storage_restored",  STATES,            "suspended",   (),                                      (review.halt_for_outage,)),
    *((told,              STATES,            "=",           (),                                      (parked.note,)) for told in ("delivery_parked", "delivery_taken")),
    ("commands_refused",  STATES,            "=",           (),                                      (known_commands.tell_unrecorded,)),
    ("tick",              "dealing",         "=",           (),                                      (reveal_due,)),
    ("tick",              "revealing",       "suspended",   (outcome.result_is_overdue,),                    (halt("no_result"),)),
    ("tick",              "revealing",       "=",           (),                                      (reveal_due, advance)),
    ("tick",              "suspended",       "=",           (replayed.shows_in_time,),               (replayed.show_due,)),
    ("tick",              STATES,            "=",           (),                                      ()),
    # — the shoe and its set of cards —
    ("hello",             BETWEEN,           "no_shoe",     (shoe_sets.is_empty_handed,),                      (shoe_sets.note_device, replaced, shoe_sets.take_out)),
    ("hello",             NO_ROUND,          "no_shoe",     (shoe_sets.another_set, shoe_sets.unsuitable),               (shoe_sets.note_device, replaced, shoe_sets.refuse_set)),
    ("hello",             NO_ROUND,          "idle",        (shoe_sets.another_set,),                          (shoe_sets.note_device, replaced, shoe_sets.admit_set)),
    ("hello",             CARDS_OUT,         "=",           (set_aside.shoe_is_sorted,),             (shoe_sets.note_device, shoe_sets.keep_set)),
    ("hello",             (*BEGUN, *CARDS_OUT), "suspended", (shoe_sets.another_set,),                         (shoe_sets.note_device, shoe_sets.keep_set, halt("another_set"))),
    ("hello",             "resolved",        "=",           (shoe_sets.another_set,),                          (shoe_sets.note_device, shoe_sets.keep_set)),
    ("hello",             TO_THE_OUTCOME,    "suspended",   (halting.power_was_lost,),                       (shoe_sets.note_device, halt("rebooted"))),
    *(("hello",           "suspended",       state,         (hears_the_last, returns_here),          (shoe_sets.note_device, hear)) for state in RESUMABLE),
    ("hello",             "suspended",       "=",           (is_heard,),                             (shoe_sets.note_device, hear)),
    ("hello",             "suspended",       "=",           (set_aside.shoe_is_sorted,),             (shoe_sets.note_device, shoe_sets.keep_set)),
    ("hello",             "suspended",       "=",           (cards_were_out, shoe_sets.another_set),           (shoe_sets.note_device, shoe_sets.keep_set, halt("another_set"))),
    ("hello",             "suspended",       "=",           (bets_were_closed, halting.power_was_lost),      (shoe_sets.note_device, shoe_sets.keep_set, halt("rebooted"))),
    ("hello",             (*BETWEEN, *OPEN, "suspended"), "suspended", (halting.cards_were_missed,),         (halting.halt_for_missed_cards, shoe_sets.note_device)),
    ("hello",             "suspended",       "=",           (heard_later.lacks_entered,),            (shoe_sets.note_device, shoe_sets.keep_set, heard_later.halt_for_counts)),
    ("hello",             "suspended",       "=",           (),                                      (shoe_sets.note_device, shoe_sets.keep_set)),
    ("hello",             STATES,            "=",           (),                                      (shoe_sets.note_device,)),
    ("shoe_loaded",       NO_ROUND,          "no_shoe",     (shoe_sets.unsuitable,),                           (replaced, shoe_sets.refuse_set)),
    ("shoe_loaded",       "idle",            "=",           (shoe_sets.loads_what_is_known,),                  (shoe_sets.count_from_its_loading,)),
    ("shoe_loaded",       NO_ROUND,          "idle",        (),                                      (replaced, shoe_sets.admit_set)),
    ("shoe_loaded",       (*CARDS_OUT, "suspended"), "=",   (set_aside.shoe_is_sorted,),             (shoe_sets.keep_set,)),
    ("shoe_loaded",       (*BEGUN, *CARDS_OUT), "suspended", (),                                     (shoe_sets.keep_set, halt("set_loaded"))),
    ("shoe_loaded",       "resolved",        "=",           (),                                      (shoe_sets.keep_set,)),
    ("shoe_loaded",       "suspended",       "=",           (cards_were_out,),                       (shoe_sets.keep_set, halt("set_loaded"))),
    ("shoe_loaded",       "suspended",       "=",           (),                                      (shoe_sets.keep_set,)),
    ("set_shown",         NO_ROUND,          "no_shoe",     (shoe_sets.no_cards_wait,),                        (replaced, shoe_sets.take_out)),
    ("set_shown",         NO_ROUND,          "no_shoe",     (shoe_sets.kept_set_is_unsuitable,),               (replaced, shoe_sets.refuse_set)),
    ("set_shown",         NO_ROUND,          "idle",        (),                                      (replaced, shoe_sets.admit_kept_set)),
    ("set_shown",         (*BEGUN, *CARDS_OUT), "suspended", (),                                     (halt("another_set"),)),
    ("started",           BETWEEN,           "idle",        (shoe_sets.new_shoe_shown,),                       (replaced, shoe_sets.admit_unnamed_set)),
    ("started",           TO_THE_OUTCOME,    "suspended",   (),                                      (link_facts.lose_alignment, halt("started_anew"))),
    ("started",           "suspended",       "=",           (is_heard,),                             (link_facts.lose_alignment, hear)),
    ("started",           "suspended",       "=",           (bets_were_closed,),                     (link_facts.lose_alignment, halt("started_anew"))),
    ("started",           STATES,            "=",           (),                                      ()),
    ("gap",               "no_shoe",         "=",           (),                                      ()),
    ("gap",               STATES,            "suspended",   (),                                      (halting.halt_for_gap,)),
    ("cards_drawn",       "idle",            "closed",      (together.begins_a_round,),              (kept, open_round, close_bets, together.ask, look_at_differential)),
    ("cards_drawn",       "betting",         "closed",      (together.begins_a_round,),              (close_bets, together.ask, look_at_differential)),
    ("cards_drawn",       "suspended",       "=",           (is_heard,),                             (hear,)),
    ("cards_drawn",       STATES,            "suspended",   (),                                      (together.halt,)),
    ("drawn_together",    "closed",          "suspended",   (),                                      (together.halt,)),
    ("card_pushed_back",  ("closed", *CARDS_OUT, "suspended"), "suspended", (pushed_back.is_of_a_round,), (pushed_back.halt,)),
    ("card_pushed_back",  STATES,            "=",           (),                                      (pushed_back.note,)),
    ("lid",               CARDS_OUT,         "suspended",   (shoe_body.is_opened,),                            (halt("lid_opened"),)),
    ("tamper",            CARDS_OUT,         "suspended",   (),                                      (shoe_body.tell_fault, halt("tampered"))),
    ("self_test",         CARDS_OUT,         "suspended",   (shoe_body.has_failed,),                           (shoe_body.tell_fault, halt("self_test_failed"))),
    *((told,              STATES,            "=",           (shoe_body.is_wrong,),                             (shoe_body.tell_fault,)) for told in ("tamper", "self_test", "power_low")),
    ("power_restored",    STATES,            "=",           (),                                      (shoe_body.tell_power,)),
    ("reset_done",        CARDS_OUT,         "suspended",   (),                                      (halt("shoe_reset"),)),
    ("authentication_failed", CARDS_OUT,     "suspended",   (),                                      (halt("not_authenticated"),)),
    ("authentication_failed", STATES,        "=",           (),                                      ()),
    ("unknown_firmware",  CARDS_OUT,         "suspended",   (shoe_body.is_refused,),                           (shoe_body.tell_firmware, halt("firmware_not_allowed"))),
    ("unknown_firmware",  STATES,            "=",           (),                                      (shoe_body.tell_firmware,)),
    ("reset_done",        "suspended",       "betting",     (hears_the_last, returns_here),          (hear,)),
    ("reset_done",        "suspended",       "=",           (is_heard,),                             (hear,)),
    *((told,              STATES,            "=",           (),                                      (shoe_body.note,)) for told in ("lid", "button", "shoe_empty")),
    *((told,              STATES,            "=",           (),                                      ()) for told in ("tamper", "self_test", "power_low", "reset_done", "query_answered", "key_rotated", "command_unanswered", "not_told", "challenged", "authenticated")),
    ("cutting_card",      STATES,            "=",           (shoe_cards.no_shoe_is_known,),                     ()),
    ("cutting_card",      "closed",          "suspended",   (cutting.gives_leave,),                  (cutting.offer_withdrawal,)),
    ("cutting_card",      "suspended",       "=",           (cutting.gives_leave,),                  (cutting.offer_withdrawal,)),
    ("cutting_card",      STATES,            "=",           (),                                      (shoe_cards.note_cutting_card,)),
    ("error",             (*OPEN, "suspended"), "=",       (halting.shoe_saw_overdraw, overdrawn.is_known_already), (halting.tell_shoe_fault,)),
    ("error",             "revealing",      "=",           (halting.shoe_saw_overdraw, overdrawn.is_undecided), (overdrawn.wait_unread,)),
    ("error",             ("idle", *OPEN),  "suspended",   (halting.shoe_saw_overdraw,),            (overdrawn.halt_unread,)),
    ("error",             CARDS_OUT,         "=",           (halting.is_of_the_last_card,),          (halting.tell_shoe_fault,)),
    ("error",             ("closed", "dealing", "drawing"), "suspended", (halting.shoe_could_not_read,),     (halting.tell_shoe_fault, halt("card_unreadable"))),
    ("error",             ("closed", *CARDS_OUT), "suspended", (halting.order_was_altered,),         (halting.tell_shoe_fault, halt("reverse_run"))),
    ("error",             "suspended",       "=",           (halting.order_was_altered, cards_were_out), (halting.tell_shoe_fault, halt("reverse_run"))),
    ("error",             "betting",         "suspended",   (halting.stands_for_a_card,),            (halting.tell_shoe_fault, halt("unreadable_message"))),
    ("error",             "suspended",       "=",           (halting.stands_for_a_card, halting.is_of_the_last_card), (halting.tell_shoe_fault,)),
    ("error",             "suspended",       "=",           (halting.stands_for_a_card, halting.asks_where_the_card_is), (halting.tell_shoe_fault,)),
    ("error",             "suspended",       "=",           (halting.stands_for_a_card, cards_were_out), (halting.tell_shoe_fault, halt("unreadable_message"))),
    ("error",             ("closed", *CARDS_OUT), "suspended", (),                                   (halting.tell_shoe_fault, halt("shoe_fault"))),
    ("error",             STATES,            "=",           (halting.stands_for_a_card,),            (halting.tell_shoe_fault, link_facts.lose_alignment)),
    ("error",             STATES,            "=",           (),                                      (halting.tell_shoe_fault,)),
    ("error_cleared",     STATES,            "=",           (),                                      (halting.tell_fault_cleared,)),
    ("discarded",         (*BEGUN, *CARDS_OUT), "suspended", (link_facts.may_have_been_a_card,),                (link_facts.tell_discarded, halt("unreadable_message"))),
    ("discarded",         "suspended",       "=",           (cards_were_out, link_facts.may_have_been_a_card),  (link_facts.tell_discarded, halt("unreadable_message"))),
    ("discarded",         STATES,            "=",           (link_facts.may_have_been_a_card,),                 (link_facts.tell_discarded, link_facts.lose_alignment)),
    ("discarded",         STATES,            "=",           (),                                      (link_facts.tell_discarded,)),
    *((told,              STATES,            "=",           (),                                      ()) for told in ("standby", "lock", "preset_changed", "repeated")),
    ("warning",           STATES,            "=",           (),                                      (halting.tell_warning,)),
    ("status",            ("idle", *BEGUN, *CARDS_OUT, "suspended"), "suspended", (arming.counts_differ,), (freed.note, shoe_cards.note_status, heard_later.halt_for_counts)),
    ("status",            STATES,            "=",           (arming.is_taken,),                      (freed.note, shoe_cards.note_status, arming.tell_taken)),
    ("status",            STATES,            "=",           (),                                      (freed.note, shoe_cards.note_status)),
    ("reply",             STATES,            "=",           (arming.is_refused,),                    (arming.note,)),
    ("reply",             STATES,            "=",           (),                                      ()),
    ("unforeseen",        ("no_shoe", "suspended"), "=",    (),                                      (halting.tell_unforeseen,)),
    ("unforeseen",        STATES,            "suspended",   (),                                      (halting.halt_for_unforeseen,)),
    # — cards —
    ("card_drawn",        STATES,            "=",           (shoe_cards.not_a_card_of_play,),                   ()),
    ("card_drawn",        STATES,            "=",           (fitting.repeats_a_slot,),                       ()),
    ("card_drawn",        STATES,            "suspended",   (heard_later.contradicts,),              (heard_later.compare, halt("entry_disputed"))),
    ("card_drawn",        STATES,            "=",           (heard_later.was_entered,),              (heard_later.compare,)),
    *(("card_drawn",      "suspended",       state,         (unread.waits_for_a_reading, hears_the_last, returns_here), (hear,)) for state in CARDS_OUT),
    ("card_drawn",        "suspended",       "=",           (unread.waits_for_a_reading, is_heard),         (hear,)),
    ("card_drawn",        (*CARDS_OUT, "suspended"), "=",   (unread.waits_for_a_reading,),                  (unread.take_reading,)),
    ("card_drawn",        "no_shoe",         "suspended",   (),                                      (halt("no_shoe_known"), halting.keep)),
    ("card_drawn",        BETWEEN,           "=",           (shoe_cards.burned, fitting.fits_the_decks),                (shoe_cards.burn,)),
    ("card_drawn",        BETWEEN,           "=",           (fitting.ends_a_missed_round, fitting.fits_the_decks),   (shoe_cards.count_unplaced,)),
    ("card_drawn",        "idle",            "dealing",     (is_implied, fitting.in_sequence),               (kept, overdrawn.tell_unarmed, open_round, close_bets, early.deal_opening, deal, dealing.look_at_differential, reveal_due)),
    ("card_drawn",        "betting",         "dealing",     (is_implied, fitting.in_sequence),               (overdrawn.tell_unarmed, close_bets, early.deal_opening, deal, dealing.look_at_differential, reveal_due)),
    ("card_drawn",        "closed",          "dealing",     (fitting.in_sequence,),                          (overdrawn.tell_unarmed, deal, reveal_due)),
    ("card_drawn",        "dealing",         "revealing",   (fitting.completes_initial_deal,),               (overdrawn.tell_unarmed, deal, reveal_due, advance)),
    ("card_drawn",        "dealing",         "=",           (fitting.in_sequence,),                          (overdrawn.tell_unarmed, deal, reveal_due)),
    ("card_drawn",        "drawing",         "revealing",   (fitting.in_sequence,),                          (overdrawn.tell_unarmed, deal, reveal_due, advance)),
    *(("card_drawn",      "suspended",       state,         (hears_the_last, returns_here),          (hear,)) for state in RESUMABLE),
    ("card_drawn",        "suspended",       "=",           (is_heard,),                             (hear,)),
    ("card_drawn",        "suspended",       "=",           (replayed.was_armed_for,),               (replayed.take_slot,)),
    ("card_drawn",        "suspended",       "=",           (pending.was_armed_for,),                (pending.keep, halting.rule_on_differential)),
    ("card_drawn",        "suspended",       "=",           (overdrawn.comes_undecided_in_review,),  (overdrawn.wait,)),
    ("card_drawn",        "suspended",       "=",           (overdrawn.comes_in_review,),            (overdrawn.halt_in_review,)),
    ("card_drawn",        "suspended",       "=",           (),                                      (halting.keep_another,)),
    ("card_drawn",        "revealing",       "=",           (pending.was_armed_to_set_aside,),       (set_aside.lay,)),
    ("card_drawn",        "revealing",       "=",           (overdrawn.is_early, overdrawn.is_undecided), (overdrawn.wait,)),
    ("card_drawn",        STATES,            "suspended",   (overdrawn.is_early,),                   (overdrawn.halt,)),
    ("card_drawn",        STATES,            "suspended",   (),                                      (halting.halt_for_card,)),
    ("card_outside_game", "no_shoe",         "=",           (),                                      ()),
    ("card_outside_game", (*OPEN, "suspended"), "=",        (early.lacks_its_card,),                 (early.read,)),
    ("card_outside_game", "revealing",       "=",           (overdrawn.is_objected_to, overdrawn.is_undecided), (overdrawn.wait_objected,)),
    ("card_outside_game", (*BETWEEN, "suspended"), "=",     (),                                      (shoe_cards.count_outside_game,)),
    ("card_outside_game", OPEN,              "suspended",   (),                                      (halt("outside_game"), shoe_cards.count_outside_game)),
    ("redesignated",      OPEN,              "suspended",   (link_facts.deals_anew,),                (link_facts.lose_alignment, halt("hand_dealt_anew"))),
    ("redesignated",      STATES,            "=",           (early.is_moved,),                       (early.note_place,)),
    ("redesignated",      OPEN,              "suspended",   (),                                      (halt("card_moved"),)),
    ("redesignated",      STATES,            "=",           (),                                      ()),
    ("face_up_first",     (*CARDS_OUT, "suspended"), "suspended",   (),                                             (halt("first_card_face_up"),)),
    ("card_unread",       CARDS_OUT,         "suspended",   (unread.is_due_for_entry,),              (unread.halt_for_unread,)),
    ("card_unread",       "suspended",       "=",           (unread.is_due_for_entry,),              (unread.halt_for_unread,)),
    ("card_unread",       (*BEGUN, *CARDS_OUT, "suspended"), "=", (),                                (unread.wait_face_down,)),
    ("cards_placed",      (*BETWEEN, *BEGUN, *CARDS_OUT), "dealing", (fitting.initial_deal_is_open,),        (reveal_due, shoe_cards.look_if_empty)),
    ("cards_placed",      (*BETWEEN, *BEGUN, *CARDS_OUT), "revealing", (),                           (reveal_due, advance)),
    ("one_too_many",      "resolved",        "=",           (is_implied,),                           (halting.look_after_the_round,)),
    ("one_too_many",      STATES,            "suspended",   (),                                      (halting.halt_for_too_many,)),
    ("cards_ran_out",     "dealing",         "idle",        (),                                      (void_for_want_of_cards,)),
    ("cards_ran_out",     STATES,            "=",           (),                                      ()),
    ("third_card_due",    "revealing",       "suspended",   (early.is_contested,),                   (overdrawn.bring_up,)),
    ("third_card_due",    "revealing",       "=",           (early.waits,),                          (want_third_card, overdrawn.take, reveal_due, advance)),
    ("third_card_due",    "revealing",       "=",           (set_aside.has_the_next,),               (set_aside.deal_next,)),
    ("third_card_due",    "revealing",       "suspended",   (outcome.result_came, early.nothing_waits),                          (halt("result_too_early"),)),
    ("third_card_due",    "revealing",       "idle",        (shoe_cards.is_empty,),                             (void_for_want_of_cards,)),
    ("third_card_due",    "revealing",       "drawing",     (),                                      (want_third_card,)),
    ("overdrawn",         "revealing",       "suspended",   (),                                      (overdrawn.bring_up,)),
    ("left_over",         ("idle", "betting", "resolved", "shoe_change"), "suspended", (overdrawn.is_left_over,), (overdrawn.halt_left_over,)),
    ("left_over",         "suspended",       "=",           (overdrawn.has_no_round_for_it,),        (overdrawn.halt_left_over,)),
    ("left_over",         ("closed", *CARDS_OUT, "suspended"), "=", (early.waits,),                  (overdrawn.wait_left_over,)),
    ("left_over",         STATES,            "=",           (),                                      ()),
    ("opening_due",       "closed",          "dealing",     (early.opens_a_round,),                  (early.deal_opening, reveal_due)),
    ("opening_due",       ("closed", "suspended"), "=",     (),                                      ()),
    # — the outcome —
    ("result",            CARDS_OUT,         "suspended",   (outcome.result_is_forced,),                     (halt("result_forced"),)),
    ("result",            ("dealing", "drawing"), "suspended", (),                                   (outcome.note_result, halt("result_too_early"))),
    ("result",            "revealing",       "=",           (),                                      (outcome.note_result, advance)),
    ("result",            STATES,            "=",           (),                                      (link_facts.tell_quarantined,)),
    ("outcome_due",       "revealing",       "suspended",   (outcome.result_disagrees,),                     (halt("result_disagrees"),)),
    ("outcome_due",       "revealing",       "resolved",    (),                                      (outcome.announce_outcome,)),
    ("round_over",        "resolved",        "idle",        (),                                      (outcome.end_round,)),
    ("change_due",        "idle",            "shoe_change", (),                                      (replaced, shoe_cards.announce_change, early.set_aside_opening)),
    ("count_disagrees",   BETWEEN,           "suspended",   (),                                      (halting.halt_for_count,)),
    # — what people say: a command that moves the table, or what it comes to —
    ("place_your_bets",   "idle",            "betting",     (),                                      (kept, open_round)),
    ("first_wager",       "idle",            "betting",     (),                                      (kept, open_round, change_wager)),
    ("no_more_bets",      "betting",         "closed",      (reset.cards_open_the_round,),           (reset.close_bets_on_cards, look_at_differential)),
    ("no_more_bets",      "betting",         "closed",      (),                                      (close_bets, look_at_differential, early.look_for_opening)),
    ("differential_due",  (*AFTER_BETS, "suspended"), "suspended", (),                                     (halting.halt_for_differential,)),
    ("unread_exposed",    "revealing",       "suspended",   (),                                      (unread.halt_for_exposed,)),
    ("settle",            "resolved",        "idle",        (),                                      (outcome.end_round,)),
    ("change_shoe",       "idle",            "shoe_change", (),                                      (replaced, shoe_cards.announce_change, early.set_aside_opening)),
    ("cutting_card_first", ("closed", "suspended"), "suspended", (),                                 (cutting.offer_withdrawal,)),
    ("declare_new_shoe",  "shoe_change",     "idle",        (),                                      (replaced, shoe_sets.admit_unnamed_set)),
    ("pause",             (*BETWEEN, *OPEN, "suspended"), "suspended", (),                           (review.pause,)),
    *(("pause_ended",     "suspended",       state,         (returns_here,),                         (review.lift_pause,)) for state in RESUMABLE),
    ("irregularity_declared", (*BETWEEN, *OPEN, "suspended"), "suspended", (),                       (raise_declared,)),
    ("round_entered",     "suspended",       "resolved",    (),                                      (by_hand.enter_round,)),
    ("round_voided",      "suspended",       "idle",        (),                                      (take_choice,)),
    *(("halt_ended",      "suspended",       state,         (returns_here,),                         (take_choice,)) for state in RESUMABLE),
    ("change_decided",    "idle",            "shoe_change", (),                                      (take_choice,)),
) + command_rows()
# fmt: on

OWN_TRIGGERS = frozenset({
    "card_unread", "face_up_first", "cards_placed", "one_too_many", "cards_ran_out",
    "third_card_due", "overdrawn", "drawn_together", "left_over", "opening_due", "outcome_due",
    "round_over", "change_due", "set_shown", "differential_due", "count_disagrees", "first_wager",
    "unread_exposed", "cutting_card_first", "pause_ended", "irregularity_declared",
    "round_entered", "round_voided", "halt_ended", "change_decided",
})  # fmt: skip
"""Triggers that the table gives itself, only in the states that they are meant for."""

TRIGGERS = tuple(dict.fromkeys(r.trigger for r in ROWS))

HEARD = ("hello", "card_drawn", "cards_drawn", "started", "reset_done")
"""What the shoe says that an open step of a procedure may take."""

UNFORESEEN = "unforeseen"
"""The trigger of whatever a shoe says that no row names: in doubt the table halts."""
