"""The round as one literal table: everything that decides which state follows which is here.

In: a trigger (an input's name, or one the table gives itself) in a state. Out: the next state and
the actions it takes. Must not know: how an action is done, clocks, I/O.
"""

from __future__ import annotations

import functools

from . import (
    by_hand,
    causes,
    composition,
    cutting,
    dealing,
    early,
    fitting,
    halting,
    heard_later,
    link_facts,
    method_change,
    outcome,
    overdrawn,
    passing,
    pushed_back,
    replayed,
    reset,
    review,
    revising,
    rows,
    set_aside,
    shoe_body,
    shoe_cards,
    shoe_control,
    shoe_sets,
    telling,
    together,
    unread,
)
from .dealing import close_bets, deal, open_round
from .deciding import (
    decide,
    declare,
    ends_the_halt,
    ends_the_round,
    hear,
    hears_the_last,
    is_asked,
    is_decided,
    is_declared,
    is_heard,
    returns_here,
    void_for_want_of_cards,
    why_not_decided,
    why_not_declared,
)
from .irregularities import withdrawal
from .irregularities.grounds import CARDS_OUT, cards_were_out
from .recording import is_of_wagers, is_recordable, record, why_not_recorded
from .replacing import kept, replaced
from .revealing import (
    advance,
    announce_totals,
    can_expose,
    expose,
    no_totals_now,
    reveal_due,
    shows_cards_at_once,
    totals_may_be_announced,
    want_third_card,
)
from .rows import Refuse, Row, refuse, spell, unless
from .turn import Turn
from .wagering import (
    bets_are_closed,
    change_wager,
    clear_bets,
    look_at_differential,
    refuse_by_ledger,
    restrict,
    why_not_clear,
    would_be_taken,
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
WAGER_COMMANDS = ("place_wager", "increase_wager", "decrease_wager", "withdraw_wager")
METHOD_COMMANDS = (
    "change_method", "pass_cards", "refuse_cards", "name_holder", "allow_squeeze", "set_first_hand",
    "offer_shoe", "relinquish_shoe", "allow_without_wager", "declare_out_of_view",
)  # fmt: skip
NO_ROUND = ("no_shoe", *BETWEEN)
RESUMABLE = tuple(s for s in STATES if s != "suspended")


def is_implied(turn: Turn) -> bool:
    """Announcements follow the cards."""
    return turn.implied


_ALIGN_FIRST = Refuse("a person has to say first where the shoe stands: align")

# The first row whose conditions hold is taken. Every pair of a state and a trigger from outside
# ends in a row without conditions.
# fmt: off
ROWS: tuple[Row, ...] = spell(
    # trigger             from               to             when                                     do
    # — the link and the power —
    ("link_up",           "no_shoe",         "idle",        (link_facts.cannot_name_its_set,),                  (link_facts.connect, replaced, shoe_sets.admit_unnamed_set)),
    ("link_up",           STATES,            "=",           (),                                      (link_facts.connect,)),
    ("link_lost",         (*CARDS_OUT, "suspended"), "=",   (set_aside.shoe_is_sorted,),             (link_facts.disconnect,)),
    ("link_lost",         CARDS_OUT,         "suspended",   (),                                      (link_facts.disconnect, causes.LINK_LOST)),
    ("link_lost",         "suspended",       "=",           (cards_were_out, link_facts.cannot_replay),         (link_facts.disconnect, causes.LINK_LOST)),
    ("link_lost",         STATES,            "=",           (),                                      (link_facts.disconnect,)),
    ("restarted",         CARDS_OUT,         "suspended",   (halting.power_was_lost,),                       (link_facts.restart, causes.HOST_POWER)),
    ("restarted",         CARDS_OUT,         "suspended",   (),                                      (link_facts.restart, causes.RESTARTED)),
    ("restarted",         "suspended",       "=",           (cards_were_out, halting.power_was_lost),        (link_facts.restart, causes.HOST_POWER)),
    ("restarted",         "suspended",       "=",           (cards_were_out, link_facts.cannot_replay),         (link_facts.restart, causes.RESTARTED)),
    ("restarted",         STATES,            "=",           (),                                      (link_facts.restart,)),
    ("fault",             STATES,            "suspended",   (),                                      (halting.halt_for_fault,)),
    ("storage_restored",  STATES,            "suspended",   (),                                      (review.halt_for_outage,)),
    ("tick",              "dealing",         "=",           (),                                      (reveal_due,)),
    ("tick",              "revealing",       "suspended",   (outcome.result_is_overdue,),                    (causes.NO_RESULT,)),
    ("tick",              "revealing",       "=",           (),                                      (reveal_due, advance)),
    ("tick",              STATES,            "=",           (),                                      ()),
    # — the shoe and its set of cards —
    ("hello",             BETWEEN,           "no_shoe",     (shoe_sets.is_empty_handed,),                      (shoe_sets.note_device, replaced, shoe_sets.take_out)),
    ("hello",             NO_ROUND,          "no_shoe",     (shoe_sets.another_set, shoe_sets.unsuitable),               (shoe_sets.note_device, replaced, shoe_sets.refuse_set)),
    ("hello",             NO_ROUND,          "idle",        (shoe_sets.another_set,),                          (shoe_sets.note_device, replaced, shoe_sets.admit_set)),
    ("hello",             CARDS_OUT,         "=",           (set_aside.shoe_is_sorted,),             (shoe_sets.note_device, shoe_sets.keep_set)),
    ("hello",             (*BEGUN, *CARDS_OUT), "suspended", (shoe_sets.another_set,),                         (shoe_sets.note_device, shoe_sets.keep_set, causes.UNLIKE)),
    ("hello",             "resolved",        "=",           (shoe_sets.another_set,),                          (shoe_sets.note_device, shoe_sets.keep_set)),
    ("hello",             CARDS_OUT,         "suspended",   (halting.power_was_lost,),                       (shoe_sets.note_device, causes.REBOOTED)),
    *(("hello",           "suspended",       state,         (hears_the_last, returns_here),          (shoe_sets.note_device, hear)) for state in RESUMABLE),
    ("hello",             "suspended",       "=",           (is_heard,),                             (shoe_sets.note_device, hear)),
    ("hello",             "suspended",       "=",           (set_aside.shoe_is_sorted,),             (shoe_sets.note_device, shoe_sets.keep_set)),
    ("hello",             "suspended",       "=",           (cards_were_out, shoe_sets.another_set),           (shoe_sets.note_device, shoe_sets.keep_set, causes.UNLIKE)),
    ("hello",             "suspended",       "=",           (cards_were_out, halting.power_was_lost),        (shoe_sets.note_device, shoe_sets.keep_set, causes.REBOOTED)),
    ("hello",             (*BETWEEN, *OPEN, "suspended"), "suspended", (halting.cards_were_missed,),         (halting.halt_for_missed_cards, shoe_sets.note_device)),
    ("hello",             "suspended",       "=",           (),                                      (shoe_sets.note_device, shoe_sets.keep_set)),
    ("hello",             STATES,            "=",           (),                                      (shoe_sets.note_device,)),
    ("shoe_loaded",       NO_ROUND,          "no_shoe",     (shoe_sets.unsuitable,),                           (replaced, shoe_sets.refuse_set)),
    ("shoe_loaded",       "idle",            "=",           (shoe_sets.loads_what_is_known,),                  (shoe_sets.count_from_its_loading,)),
    ("shoe_loaded",       NO_ROUND,          "idle",        (),                                      (replaced, shoe_sets.admit_set)),
    ("shoe_loaded",       (*CARDS_OUT, "suspended"), "=",   (set_aside.shoe_is_sorted,),             (shoe_sets.keep_set,)),
    ("shoe_loaded",       (*BEGUN, *CARDS_OUT), "suspended", (),                                     (shoe_sets.keep_set, causes.RELOADED)),
    ("shoe_loaded",       "resolved",        "=",           (),                                      (shoe_sets.keep_set,)),
    ("shoe_loaded",       "suspended",       "=",           (cards_were_out,),                       (shoe_sets.keep_set, causes.RELOADED)),
    ("shoe_loaded",       "suspended",       "=",           (),                                      (shoe_sets.keep_set,)),
    ("set_shown",         NO_ROUND,          "no_shoe",     (shoe_sets.no_cards_wait,),                        (replaced, shoe_sets.take_out)),
    ("set_shown",         NO_ROUND,          "no_shoe",     (shoe_sets.kept_set_is_unsuitable,),               (replaced, shoe_sets.refuse_set)),
    ("set_shown",         NO_ROUND,          "idle",        (),                                      (replaced, shoe_sets.admit_kept_set)),
    ("started",           BETWEEN,           "idle",        (shoe_sets.new_shoe_shown,),                       (replaced, shoe_sets.admit_unnamed_set)),
    ("started",           CARDS_OUT,         "suspended",   (),                                      (link_facts.lose_alignment, causes.STARTED_ANEW)),
    ("started",           "suspended",       "=",           (is_heard,),                             (link_facts.lose_alignment, hear)),
    ("started",           "suspended",       "=",           (cards_were_out,),                       (link_facts.lose_alignment, causes.STARTED_ANEW)),
    ("started",           STATES,            "=",           (),                                      ()),
    ("gap",               "no_shoe",         "=",           (),                                      ()),
    ("gap",               STATES,            "suspended",   (),                                      (halting.halt_for_gap,)),
    ("cards_drawn",       "idle",            "closed",      (together.begins_a_round,),              (kept, open_round, close_bets, together.ask, look_at_differential)),
    ("cards_drawn",       "betting",         "closed",      (together.begins_a_round,),              (close_bets, together.ask, look_at_differential)),
    ("cards_drawn",       STATES,            "suspended",   (),                                      (together.halt,)),
    ("drawn_together",    "closed",          "suspended",   (),                                      (together.halt,)),
    ("card_pushed_back",  ("closed", *CARDS_OUT, "suspended"), "suspended", (pushed_back.is_of_a_round,), (pushed_back.halt,)),
    ("card_pushed_back",  STATES,            "=",           (),                                      (pushed_back.note,)),
    ("lid",               CARDS_OUT,         "suspended",   (shoe_body.is_opened,),                            (shoe_body.halt_for_lid,)),
    ("tamper",            CARDS_OUT,         "suspended",   (),                                      (shoe_body.tell_fault, shoe_body.halt_for_tampering)),
    ("tamper",            STATES,            "=",           (),                                      (shoe_body.tell_fault,)),
    ("self_test",         CARDS_OUT,         "suspended",   (shoe_body.has_failed,),                           (shoe_body.tell_fault, shoe_body.halt_for_failed_test)),
    ("self_test",         STATES,            "=",           (shoe_body.has_failed,),                            (shoe_body.tell_fault,)),
    ("power_low",         STATES,            "=",           (),                                      (shoe_body.tell_fault,)),
    ("power_restored",    STATES,            "=",           (),                                      (shoe_body.tell_power,)),
    ("reset_done",        CARDS_OUT,         "suspended",   (),                                      (shoe_body.halt_for_reset,)),
    ("authentication_failed", CARDS_OUT,     "suspended",   (),                                      (shoe_body.tell_stranger, shoe_body.halt_for_stranger)),
    ("authentication_failed", STATES,        "=",           (),                                      (shoe_body.tell_stranger,)),
    ("unknown_firmware",  CARDS_OUT,         "suspended",   (shoe_body.is_refused,),                           (shoe_body.tell_firmware, shoe_body.halt_for_firmware)),
    ("unknown_firmware",  STATES,            "=",           (),                                      (shoe_body.tell_firmware,)),
    ("reset_done",        "suspended",       "betting",     (hears_the_last, returns_here),          (hear,)),
    ("reset_done",        "suspended",       "=",           (is_heard,),                             (hear,)),
    *((told,              STATES,            "=",           (),                                      (shoe_body.note,)) for told in ("lid", "button", "shoe_empty")),
    *((told,              STATES,            "=",           (),                                      ()) for told in ("self_test", "reset_done", "query_answered", "key_rotated", "command_unanswered", "not_told", "challenged", "authenticated")),
    ("cutting_card",      STATES,            "=",           (shoe_cards.no_shoe_is_known,),                     ()),
    ("cutting_card",      "closed",          "suspended",   (cutting.gives_leave,),                  (cutting.offer_withdrawal,)),
    ("cutting_card",      "suspended",       "=",           (cutting.gives_leave,),                  (cutting.offer_withdrawal,)),
    ("cutting_card",      STATES,            "=",           (),                                      (shoe_cards.note_cutting_card,)),
    ("error",             (*OPEN, "suspended"), "=",       (halting.shoe_saw_overdraw, overdrawn.is_known_already), (halting.tell_shoe_fault,)),
    ("error",             "revealing",      "=",           (halting.shoe_saw_overdraw, overdrawn.is_undecided), (overdrawn.wait_unread,)),
    ("error",             ("idle", *OPEN),  "suspended",   (halting.shoe_saw_overdraw,),            (overdrawn.halt_unread,)),
    ("error",             CARDS_OUT,         "=",           (halting.is_of_the_last_card,),          (halting.tell_shoe_fault,)),
    ("error",             ("closed", "dealing", "drawing"), "suspended", (halting.shoe_could_not_read,),     (halting.halt_for_unread_card,)),
    ("error",             ("closed", *CARDS_OUT), "suspended", (halting.order_was_altered,),         (halting.halt_for_reverse_run,)),
    ("error",             "suspended",       "=",           (halting.order_was_altered, cards_were_out), (halting.halt_for_reverse_run,)),
    ("error",             ("closed", *CARDS_OUT), "suspended", (),                                   (halting.halt_for_shoe_fault,)),
    ("error",             STATES,            "=",           (),                                      (halting.tell_shoe_fault,)),
    ("error_cleared",     STATES,            "=",           (),                                      (halting.tell_fault_cleared,)),
    ("discarded",         (*BEGUN, *CARDS_OUT), "suspended", (link_facts.may_have_been_a_card,),                (link_facts.tell_discarded, causes.ILLEGIBLE)),
    ("discarded",         "suspended",       "=",           (cards_were_out, link_facts.may_have_been_a_card),  (link_facts.tell_discarded, causes.ILLEGIBLE)),
    ("discarded",         STATES,            "=",           (link_facts.may_have_been_a_card,),                 (link_facts.tell_discarded, link_facts.lose_alignment)),
    ("discarded",         STATES,            "=",           (),                                      (link_facts.tell_discarded,)),
    ("warning",           STATES,            "=",           (),                                      (halting.tell_warning,)),
    ("status",            STATES,            "=",           (),                                      (shoe_cards.note_status,)),
    ("standby",           STATES,            "=",           (),                                      ()),
    ("lock",              STATES,            "=",           (),                                      ()),
    ("preset_changed",    STATES,            "=",           (),                                      ()),
    ("reply",             STATES,            "=",           (),                                      ()),
    ("repeated",          STATES,            "=",           (),                                      ()),
    ("unforeseen",        ("no_shoe", "suspended"), "=",    (),                                      (halting.tell_unforeseen,)),
    ("unforeseen",        STATES,            "suspended",   (),                                      (halting.halt_for_unforeseen,)),
    # — cards —
    ("card_drawn",        STATES,            "=",           (shoe_cards.not_a_card_of_play,),                   ()),
    ("card_drawn",        STATES,            "=",           (fitting.repeats_a_slot,),                       ()),
    ("card_drawn",        STATES,            "suspended",   (heard_later.contradicts,),              (heard_later.compare, causes.DISPUTED)),
    ("card_drawn",        STATES,            "=",           (heard_later.was_entered,),              (heard_later.compare,)),
    *(("card_drawn",      "suspended",       state,         (unread.waits_for_a_reading, hears_the_last, returns_here), (hear,)) for state in CARDS_OUT),
    ("card_drawn",        "suspended",       "=",           (unread.waits_for_a_reading, is_heard),         (hear,)),
    ("card_drawn",        (*CARDS_OUT, "suspended"), "=",   (unread.waits_for_a_reading,),                  (unread.take_reading,)),
    ("card_drawn",        "no_shoe",         "suspended",   (),                                      (causes.NO_SHOE, halting.keep)),
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
    ("card_drawn",        "suspended",       "=",           (overdrawn.comes_undecided_in_review,),  (overdrawn.wait,)),
    ("card_drawn",        "suspended",       "=",           (overdrawn.comes_in_review,),            (overdrawn.halt_in_review,)),
    ("card_drawn",        "suspended",       "=",           (),                                      (halting.keep_another,)),
    ("card_drawn",        "revealing",       "=",           (overdrawn.is_early, overdrawn.is_undecided), (overdrawn.wait,)),
    ("card_drawn",        STATES,            "suspended",   (overdrawn.is_early,),                   (overdrawn.halt,)),
    ("card_drawn",        STATES,            "suspended",   (),                                      (halting.halt_for_card,)),
    ("card_outside_game", "no_shoe",         "=",           (),                                      ()),
    ("card_outside_game", (*OPEN, "suspended"), "=",        (early.lacks_its_card,),                 (early.read,)),
    ("card_outside_game", "revealing",       "=",           (overdrawn.is_objected_to, overdrawn.is_undecided), (overdrawn.wait_objected,)),
    ("card_outside_game", (*BETWEEN, "suspended"), "=",     (),                                      (shoe_cards.count_outside_game,)),
    ("card_outside_game", OPEN,              "suspended",   (),                                      (causes.OUTSIDE, shoe_cards.count_outside_game)),
    ("redesignated",      OPEN,              "suspended",   (link_facts.deals_anew,),                (link_facts.lose_alignment, causes.DEALT_ANEW)),
    ("redesignated",      STATES,            "=",           (early.is_moved,),                       (early.note_place,)),
    ("redesignated",      OPEN,              "suspended",   (),                                      (causes.MOVED,)),
    ("redesignated",      STATES,            "=",           (),                                      ()),
    ("face_up_first",     (*CARDS_OUT, "suspended"), "suspended",   (),                                             (halting.halt_for_face_up,)),
    ("card_unread",       CARDS_OUT,         "suspended",   (shows_cards_at_once,),                  (unread.halt_for_unread,)),
    ("card_unread",       "suspended",       "=",           (shows_cards_at_once,),                  (unread.halt_for_unread,)),
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
    ("third_card_due",    "revealing",       "suspended",   (outcome.result_came, early.nothing_waits),                          (causes.JUDGED_EARLY,)),
    ("third_card_due",    "revealing",       "idle",        (shoe_cards.is_empty,),                             (void_for_want_of_cards,)),
    ("third_card_due",    "revealing",       "drawing",     (),                                      (want_third_card,)),
    ("overdrawn",         "revealing",       "suspended",   (),                                      (overdrawn.bring_up,)),
    ("left_over",         ("idle", "betting", "resolved", "shoe_change"), "suspended", (early.waits,), (overdrawn.halt_left_over,)),
    ("left_over",         "suspended",       "=",           (overdrawn.has_no_round_for_it,),        (overdrawn.halt_left_over,)),
    ("left_over",         ("closed", *CARDS_OUT, "suspended"), "=", (early.waits,),                  (overdrawn.wait_left_over,)),
    ("left_over",         STATES,            "=",           (),                                      ()),
    ("opening_due",       "closed",          "dealing",     (early.opens_a_round,),                  (early.deal_opening, reveal_due)),
    ("opening_due",       ("closed", "suspended"), "=",     (),                                      ()),
    # — the outcome —
    ("result",            CARDS_OUT,         "suspended",   (outcome.result_is_forced,),                     (causes.FORCED,)),
    ("result",            ("dealing", "drawing"), "suspended", (),                                   (outcome.note_result, causes.JUDGED_EARLY)),
    ("result",            "revealing",       "=",           (),                                      (outcome.note_result, advance)),
    ("result",            STATES,            "=",           (),                                      (link_facts.tell_quarantined,)),
    ("outcome_due",       "revealing",       "suspended",   (outcome.result_disagrees,),                     (causes.DISAGREES,)),
    ("outcome_due",       "revealing",       "resolved",    (),                                      (outcome.announce_outcome,)),
    ("round_over",        "resolved",        "idle",        (),                                      (outcome.end_round,)),
    ("change_due",        "idle",            "shoe_change", (),                                      (replaced, shoe_cards.announce_change, early.set_aside_opening)),
    # — the methods —
    *unless(method_change.why_not_change,    "change_method",       BETWEEN,          method_change.change_method),
    *unless(passing.why_not_pass,            "pass_cards",          ("revealing",),   passing.pass_cards),
    *unless(passing.why_not_refuse,          "refuse_cards",        ("revealing",),   passing.refuse_cards),
    *unless(passing.why_not_name,            "name_holder",         ("revealing",),   passing.name_holder),
    *unless(passing.why_not_allow,           "allow_squeeze",       ("revealing",),   passing.allow_squeeze),
    *unless(passing.why_not_first,           "set_first_hand",      ("revealing",),   passing.set_first_hand),
    *unless(shoe_control.why_not_offer,      "offer_shoe",          ("idle", *OPEN),  shoe_control.offer),
    *unless(shoe_control.why_not_relinquish, "relinquish_shoe",     (*BETWEEN, *OPEN, "suspended"), shoe_control.relinquish),
    *unless(shoe_control.why_not_allow,      "allow_without_wager", ("idle", *OPEN),  shoe_control.allow),
    *unless(shoe_control.why_not_declare,    "declare_out_of_view", (*AFTER_BETS, "suspended"), shoe_control.declare_out_of_view),
    *unless(composition.why_not_record,      "record_shoe",         ("idle",),        composition.record),
    *unless(composition.why_not_count,       "count_remainder",     BETWEEN,          composition.count),
    # — what the shoe is told —
    *unless(telling.why_not_reset,           "reset_shoe",          (*NO_ROUND, "betting", "resolved", "suspended"), telling.reset),
    *unless(telling.why_not_test,            "test_shoe",           (*NO_ROUND, "betting", "resolved", "suspended"), telling.test),
    *unless(telling.why_not_ask,             "ask_shoe",            STATES,           telling.ask),
    *unless(telling.why_not_clear,           "clear_error",         STATES,           telling.clear),
    *unless(telling.why_not_show,            "show_on_shoe",        STATES,           telling.show),
    *unless(telling.why_not_rotate,          "rotate_key",          NO_ROUND,         telling.rotate),
    *((command,           STATES,            "=",           (),                                      (refuse,)) for command in (*METHOD_COMMANDS, "record_shoe", "count_remainder", "reset_shoe", "test_shoe", "rotate_key")),
    ("count_disagrees",   BETWEEN,           "suspended",   (),                                      (halting.halt_for_count,)),
    # — what people say —
    ("place_your_bets",   "idle",            "=",           (link_facts.only_a_person_aligns,),                 (_ALIGN_FIRST,)),
    ("place_your_bets",   "idle",            "betting",     (),                                      (kept, open_round)),
    ("place_your_bets",   STATES,            "=",           (),                                      (refuse,)),
    ("no_more_bets",      "betting",         "closed",      (reset.cards_open_the_round,),           (reset.close_bets_on_cards,)),
    ("no_more_bets",      "betting",         "closed",      (),                                      (close_bets, look_at_differential, early.look_for_opening)),
    ("no_more_bets",      STATES,            "=",           (),                                      (refuse,)),
    ("differential_due",  ("closed", "dealing", "suspended"), "suspended", (),                                    (halting.halt_for_differential,)),
    ("place_wager",       "idle",            "=",           (is_implied, link_facts.only_a_person_aligns),      (_ALIGN_FIRST,)),
    ("place_wager",       "idle",            "betting",     (is_implied, would_be_taken),            (kept, open_round, change_wager)),
    *((command,           BETWEEN,           "=",           (),                                      (refuse_by_ledger,)) for command in WAGER_COMMANDS),
    *((command,           "betting",         "=",           (),                                      (change_wager,)) for command in WAGER_COMMANDS),
    *((command,           AFTER_BETS,        "=",           (),                                      (refuse_by_ledger,)) for command in WAGER_COMMANDS),
    ("withdraw_wager",    "suspended",       "=",           (withdrawal.is_open,),                   (withdrawal.withdraw_one,)),
    *((command,           "suspended",       "=",           (bets_are_closed,),                      (refuse_by_ledger,)) for command in WAGER_COMMANDS),
    *((command,           STATES,            "=",           (),                                      (refuse,)) for command in WAGER_COMMANDS),
    *unless(why_not_clear,                   "clear_bets",          ("betting",),     clear_bets),
    ("clear_bets",        STATES,            "=",           (),                                      (refuse,)),
    ("restrict_wagers",   (*BETWEEN, *OPEN), "=",           (),                                      (restrict,)),
    ("restrict_wagers",   STATES,            "=",           (),                                      (refuse,)),
    ("expose",            "revealing",       "=",           (can_expose, passing.is_out_of_place),   (Refuse(passing.why_not_expose),)),
    ("expose",            "revealing",       "suspended",   (can_expose, unread.exposes_unread),            (expose, unread.halt_for_exposed)),
    ("expose",            "revealing",       "=",           (can_expose,),                           (expose, advance)),
    ("expose",            "revealing",       "=",           (),                                      (Refuse("no such card of the round lies face down"),)),
    ("expose",            STATES,            "=",           (),                                      (refuse,)),
    ("announce_totals",   "revealing",       "=",           (totals_may_be_announced,),              (announce_totals, advance)),
    ("announce_totals",   "revealing",       "=",           (),                                      (Refuse(no_totals_now),)),
    ("announce_totals",   STATES,            "=",           (),                                      (refuse,)),
    ("announce_outcome",  "revealing",       "suspended",   (outcome.outcome_is_wrong,),                     (causes.DISAGREES,)),
    ("announce_outcome",  "revealing",       "resolved",    (outcome.outcome_is_known,),                     (outcome.announce_outcome,)),
    ("announce_outcome",  "revealing",       "=",           (),                                      (Refuse(outcome.no_outcome_yet),)),
    *((command,           "drawing",         "=",           (),                                      (Refuse(outcome.card_is_due),)) for command in ("announce_outcome", "settle")),
    ("announce_outcome",  STATES,            "=",           (),                                      (refuse,)),
    ("settle",            "resolved",        "idle",        (),                                      (outcome.end_round,)),
    ("settle",            STATES,            "=",           (),                                      (refuse,)),
    ("change_shoe",       "idle",            "shoe_change", (),                                      (replaced, shoe_cards.announce_change, early.set_aside_opening)),
    ("change_shoe",       STATES,            "=",           (),                                      (refuse,)),
    ("declare_cutting_card", "closed",       "suspended",   (cutting.is_declared_first,),            (cutting.offer_withdrawal,)),
    ("declare_cutting_card", "suspended",    "=",           (cutting.is_declared_first,),            (cutting.offer_withdrawal,)),
    *unless(shoe_cards.why_not_declare_cutting_card, "declare_cutting_card", (*BETWEEN, *OPEN, "suspended"), shoe_cards.note_cutting_card),
    ("declare_cutting_card", STATES,         "=",           (),                                      (refuse,)),
    ("declare_new_shoe",  "shoe_change",     "=",           (link_facts.says_itself_what_it_holds,),            (Refuse("the shoe says itself which cards it holds"),)),
    ("declare_new_shoe",  "shoe_change",     "idle",        (),                                      (replaced, shoe_sets.admit_unnamed_set)),
    ("declare_new_shoe",  STATES,            "=",           (),                                      (refuse,)),
    ("align",             ("idle", *BEGUN, "suspended"), "=", (fitting.unaligned,),                  (halting.align,)),
    ("align",             ("idle", *BEGUN, "suspended"), "=", (),                                    (Refuse("the shoe is aligned"),)),
    ("align",             STATES,            "=",           (),                                      (refuse,)),
    ("pause",             (*BETWEEN, *OPEN, "suspended"), "suspended", (review.may_pause,),          (review.pause,)),
    ("pause",             "suspended",       "=",           (),                                      (Refuse(review.OPEN_ALREADY),)),
    ("pause",             STATES,            "=",           (),                                      (refuse,)),
    *(("resume",          "suspended",       state,         (review.resumes_the_round, returns_here), (review.resume,)) for state in RESUMABLE),
    ("resume",            "suspended",       "=",           (review.may_resume,),                    (review.resume,)),
    ("resume",            "suspended",       "=",           (),                                      (Refuse(review.why_not_resume),)),
    ("resume",            STATES,            "=",           (),                                      (refuse,)),
    ("declare",           (*BETWEEN, *OPEN, "suspended"), "=", (is_recordable,),                     (record,)),
    ("declare",           (*BETWEEN, *OPEN, "suspended"), "=", (is_of_wagers,),                      (Refuse(why_not_recorded),)),
    ("declare",           (*BETWEEN, *OPEN, "suspended"), "suspended", (is_declared,),               (declare,)),
    ("declare",           (*BETWEEN, *OPEN, "suspended"), "=", (),                                   (Refuse(why_not_declared),)),
    ("declare",           STATES,            "=",           (),                                      (refuse,)),
    ("enter_round",       "suspended",       "=",           (by_hand.contradicts_reading,),          (by_hand.halt_for_reading,)),
    ("enter_round",       "suspended",       "resolved",    (by_hand.is_entered,),                   (by_hand.enter_round,)),
    ("enter_round",       "suspended",       "=",           (),                                      (Refuse(by_hand.why_not),)),
    ("enter_round",       STATES,            "=",           (),                                      (refuse,)),
    *unless(revising.why_not,                "revise_round",        ("resolved", *BETWEEN, "betting"), revising.revise),
    ("revise_round",      STATES,            "=",           (),                                      (refuse,)),
    ("decide",            "suspended",       "idle",        (is_decided, ends_the_round),            (decide,)),
    *(("decide",          "suspended",       state,         (is_decided, ends_the_halt, returns_here), (decide,)) for state in RESUMABLE),
    ("decide",            "suspended",       "=",           (is_decided,),                           (decide,)),
    ("decide",            "suspended",       "=",           (),                                      (Refuse(why_not_decided),)),
    ("decide",            "idle",            "shoe_change", (is_asked, is_decided, returns_here),    (decide,)),
    ("decide",            "idle",            "=",           (is_asked, is_decided),                  (decide,)),
    ("decide",            "idle",            "=",           (is_asked,),                             (Refuse(why_not_decided),)),
    ("decide",            STATES,            "=",           (),                                      (refuse,)),
)
# fmt: on

OWN_TRIGGERS = frozenset({
    "card_unread", "face_up_first", "cards_placed", "one_too_many", "cards_ran_out",
    "third_card_due", "overdrawn", "drawn_together", "left_over", "opening_due", "outcome_due",
    "round_over", "change_due", "set_shown", "differential_due", "count_disagrees",
})  # fmt: skip
"""Triggers that the table gives itself, only in the states that they are meant for."""

TRIGGERS = tuple(dict.fromkeys(r.trigger for r in ROWS))

HEARD = ("hello", "card_drawn", "started", "reset_done")
"""What the shoe says that an open step of a procedure may take."""

UNFORESEEN = "unforeseen"
"""The trigger of whatever a shoe says that no row names: in doubt the table halts."""


@functools.cache
def states_that_take(command: str) -> tuple[str, ...]:
    """The states in which this command may do something."""
    return rows.states_that_take(command, ROWS)
