"""What people say, and what it does: the rows of the commands.

In: a command in a state. Out: whether it is taken, what it does; the rows of ``ROUND`` in
transitions.py say where a command leads that moves the round. Must not know: clocks, I/O.
"""

from __future__ import annotations

from shoe_ctl.texts.message import message

from . import (
    by_hand,
    composition,
    cutting,
    fitting,
    halting,
    link_facts,
    method_change,
    outcome,
    passing,
    review,
    revising,
    shoe_cards,
    shoe_control,
    telling,
    unread,
)
from .causes import halt
from .dealing import is_implied
from .deciding import (
    calls_for_a_change,
    contradicts_reading,
    decide,
    declare,
    ends_the_round,
    halt_for_reading,
    is_asked,
    is_decided,
    is_declared,
    why_not_decided,
    why_not_declared,
)
from .irregularities import withdrawal
from .recording import is_of_wagers, is_recordable, record, why_not_recorded
from .revealing import (
    advance,
    announce_totals,
    can_expose,
    expose,
    is_misnamed,
    no_totals_now,
    totals_may_be_announced,
    why_misnamed,
)
from .rows import Refuse, Row, fire, spell, unless
from .situations import AFTER_BETS, BEGUN, BETWEEN, NO_ROUND, OPEN, STATES
from .wagering import (
    bets_are_closed,
    change_wager,
    clear_bets,
    is_taken,
    look_at_differential_again,
    refuse_by_ledger,
    restrict,
    why_not_clear,
    why_not_restrict,
    would_be_taken,
)

WAGER_COMMANDS = ("place_wager", "increase_wager", "decrease_wager", "withdraw_wager")

_ALIGN_FIRST = Refuse(message("refused_align_first"))

# The first row whose conditions hold is taken. A state that no row names refuses the command, and
# a command that moves the round has its row without conditions in ROUND.
# fmt: off
ROWS: tuple[Row, ...] = spell(
    # trigger             from               to             when                                     do
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
    # — what people say —
    ("place_your_bets",   "idle",            "=",           (link_facts.only_a_person_aligns,),                 (_ALIGN_FIRST,)),
    ("place_wager",       "idle",            "=",           (is_implied, link_facts.only_a_person_aligns),      (_ALIGN_FIRST,)),
    ("place_wager",       "idle",            "=",           (is_implied, would_be_taken),            (fire("first_wager"),)),
    *((command,           BETWEEN,           "=",           (),                                      (refuse_by_ledger,)) for command in WAGER_COMMANDS),
    *((command,           "betting",         "=",           (is_taken,),                             (change_wager,)) for command in WAGER_COMMANDS),
    *((command,           "betting",         "=",           (),                                      (refuse_by_ledger,)) for command in WAGER_COMMANDS),
    *((command,           AFTER_BETS,        "=",           (),                                      (refuse_by_ledger,)) for command in WAGER_COMMANDS),
    ("withdraw_wager",    "suspended",       "=",           (withdrawal.one_may_go,),                (withdrawal.withdraw_one,)),
    ("withdraw_wager",    "suspended",       "=",           (withdrawal.is_open,),                   (withdrawal.refuse_one,)),
    *((command,           "suspended",       "=",           (bets_are_closed,),                      (refuse_by_ledger,)) for command in WAGER_COMMANDS),
    *unless(why_not_clear,                   "clear_bets",          ("betting",),     clear_bets),
    *unless(why_not_restrict,                "restrict_wagers", (*BETWEEN, *OPEN), restrict),
    ("expose",            "revealing",       "=",           (is_misnamed,),                          (Refuse(why_misnamed),)),
    ("expose",            "revealing",       "=",           (can_expose, passing.is_out_of_place),   (Refuse(passing.why_not_expose),)),
    ("expose",            "revealing",       "suspended",   (can_expose, unread.exposes_unread),            (expose, unread.halt_for_exposed)),
    ("expose",            "revealing",       "=",           (can_expose,),                           (expose, advance)),
    ("expose",            "revealing",       "=",           (),                                      (Refuse(message("refused_no_card_face_down")),)),
    ("announce_totals",   "revealing",       "=",           (totals_may_be_announced,),              (announce_totals, advance)),
    ("announce_totals",   "revealing",       "=",           (),                                      (Refuse(no_totals_now),)),
    ("announce_outcome",  "revealing",       "suspended",   (outcome.outcome_is_wrong,),                     (halt("result_disagrees"),)),
    ("announce_outcome",  "revealing",       "=",           (outcome.outcome_is_known,),                     (fire("outcome_due"),)),
    ("announce_outcome",  "revealing",       "=",           (),                                      (Refuse(outcome.no_outcome_yet),)),
    *((command,           "drawing",         "=",           (),                                      (Refuse(outcome.card_is_due),)) for command in ("announce_outcome", "settle")),
    ("declare_cutting_card", "closed",       "suspended",   (cutting.is_declared_first,),            (cutting.offer_withdrawal,)),
    ("declare_cutting_card", "suspended",    "=",           (cutting.is_declared_first,),            (cutting.offer_withdrawal,)),
    *unless(shoe_cards.why_not_declare_cutting_card, "declare_cutting_card", (*BETWEEN, *OPEN, "suspended"), shoe_cards.note_cutting_card),
    ("declare_new_shoe",  "shoe_change",     "=",           (link_facts.says_itself_what_it_holds,),            (Refuse(message("refused_shoe_names_its_set")),)),
    ("align",             ("idle", *BEGUN, "suspended"), "=", (fitting.unaligned,),                  (halting.align,)),
    ("align",             ("idle", *BEGUN, "suspended"), "=", (),                                    (Refuse(message("refused_is_aligned")),)),
    ("pause",             (*BETWEEN, *OPEN, "suspended"), "suspended", (review.may_pause,),          (review.pause,)),
    ("pause",             "suspended",       "=",           (),                                      (Refuse(review.OPEN_ALREADY),)),
    ("resume",            "suspended",       "=",           (review.may_resume,),                    (review.resume,)),
    ("resume",            "suspended",       "=",           (),                                      (Refuse(review.why_not_resume),)),
    ("declare",           (*BETWEEN, *OPEN, "suspended"), "=", (is_recordable,),                     (record, look_at_differential_again)),
    ("declare",           (*BETWEEN, *OPEN, "suspended"), "=", (is_of_wagers,),                      (Refuse(why_not_recorded),)),
    ("declare",           (*BETWEEN, *OPEN, "suspended"), "suspended", (is_declared,),               (declare,)),
    ("declare",           (*BETWEEN, *OPEN, "suspended"), "=", (),                                   (Refuse(why_not_declared),)),
    ("enter_round",       "suspended",       "=",           (by_hand.contradicts_reading,),          (by_hand.halt_for_reading,)),
    ("enter_round",       "suspended",       "=",           (by_hand.is_entered,),                   (fire("round_entered"),)),
    ("enter_round",       "suspended",       "=",           (),                                      (Refuse(by_hand.why_not),)),
    *unless(revising.why_not,                "revise_round",        ("resolved", *BETWEEN, "betting"), revising.revise),
    ("decide",            "suspended",       "=",           (contradicts_reading,),                  (halt_for_reading,)),
    ("decide",            "suspended",       "=",           (is_decided, ends_the_round),            (fire("round_voided"),)),
    ("decide",            "suspended",       "=",           (is_decided,),                           (decide,)),
    ("decide",            "suspended",       "=",           (),                                      (Refuse(why_not_decided),)),
    ("decide",            "idle",            "=",           (is_asked, is_decided, calls_for_a_change), (fire("change_decided"),)),
    ("decide",            "idle",            "=",           (is_asked, is_decided),                  (decide,)),
    ("decide",            "idle",            "=",           (is_asked,),                             (Refuse(why_not_decided),)),
)
# fmt: on
