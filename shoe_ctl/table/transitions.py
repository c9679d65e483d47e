"""The moves of a table in each of its states: the tables of the round and of the shoe's messages.

In: the state, and a trigger: an input's name, or its case (cases.py), or a name that the table
fires itself. Out: the next state and the actions to take. Must not know: how an action is done,
clocks, I/O.

``ROUND`` moves a table through its ten states. ``SHOE`` says what a message of the shoe does in
each situation, ``ALWAYS`` what does the same in all of them. Each cell says why, and by which rule.
Commands that move no table have their lines in commands.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import NamedTuple

from shoe_ctl.table import (
    answers,
    applied_outcomes,
    corrections,
    decisions,
    disk,
    door,
    undelivered,
)
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
    cutting_card,
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

TAKE_SET: tuple[Action, ...] = (answer_cards_replaced, admit_pending_set)
REFUSE_SET: tuple[Action, ...] = (answer_cards_replaced, refuse_set)
LOSE_SET: tuple[Action, ...] = (answer_cards_replaced, remove_shoe)
END_SET: tuple[Action, ...] = (answer_cards_replaced, announce_shoe_change, set_aside_opening_cards)
"""Another set is taken, or refused; the cards are taken out; no further round is dealt from them.
Each answers the question that a void round leaves: whether its cards are replaced."""


class Cell(NamedTuple):
    """The consequence of one trigger in one state or situation, and its reason."""

    to: str | Destination | None
    """The next state, or what finds it; None: the table stays in its state."""

    do: tuple[Action, ...]
    """The actions, in this order."""

    why: str
    """The reason, in plain sentences."""

    rule: str | None = None
    """The numbers of the rules that say so; None: no rule speaks of it."""


def does(*actions: Action, why: str, rule: str | None = None) -> Cell:
    """Do this; the table stays in its state."""
    return Cell(None, actions, why, rule)


def halts(*actions: Action | str, why: str, rule: str | None = None) -> Cell:
    """Do this; the table is suspended.

    A string is a key of ``HALTS``: it raises that irregularity. Where no string is given, an action
    finds out which irregularity it is.
    """
    do = tuple(halt(each) if isinstance(each, str) else each for each in actions)
    return Cell("suspended", do, why, rule)


def goes(to: str | Destination, *actions: Action, why: str, rule: str | None = None) -> Cell:
    """Go to this state, then do this."""
    return Cell(to, actions, why, rule)


# The rules are those of the game files: I is Immortal, N No Commission, F Fa Fa, T Tiger; a number
# without a letter is the same in all of them. *Reading*: the documents leave it open.
FIRST_FOUR = "I/F 3.12, N/T 3.13"
THIRD_CARD = "I 3.13, N/F 3.14, T 3.15"
CUTTING_CARD = "I 3.16, N/F 3.17, T 3.22"
POWER_RULE = "I 5.15, N/T/F 5.17"
DIFFERENTIAL_RULE = "I 5.16, N/T/F 5.18"
DUE_AFTER_ALL = "5.7, reading"
UNRULED = "6.1"
"""The rule for what no other rule covers: the Gaming Shift Manager decides."""
CARDS_STAND = "6.3"
"""The cards dealt stand, whatever was displayed or reported."""


# The round: how a table moves through its states. Read a line as: in this state, when this comes,
# the table goes to that state and does this. What may stand against a command is checked before.
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
# fmt: off
ROUND: Mapping[str, Mapping[str, Cell]] = {
    # No set of cards is known.
    "no_shoe": {
        "set.admitted": goes("idle", *TAKE_SET,
            why="The shoe holds cards that fit this table: a round may begin."),
        "set.refused": goes("no_shoe", *REFUSE_SET,
            why="The cards in the shoe are not of this game or number of decks.", rule="2.1"),
        "set.taken_out": goes("no_shoe", *LOSE_SET,
            why="The shoe was emptied: there is still no set."),
    },
    # A shoe is ready, no round is open.
    "idle": {
        "place_your_bets": goes("betting", answer_cards_kept, open_round,
            why="The dealer opens the round. After a void round its cards are kept.", rule="3.1"),
        "first_wager": goes("betting", answer_cards_kept, open_round, apply_wager,
            why="Announcements are implied: the first wager opens the round.", rule="3.1"),
        "card.in_turn": goes("dealing", answer_cards_kept, open_round, close_bets,
            deal_opening_cards, deal_card, reveal_face_up_cards,
            why="Announcements are implied: the first card opens the round and closes the bets.",
            rule="3.1, 3.2"),
        "pull.opens_round": goes("closed", answer_cards_kept, open_round, close_bets,
            raise_double_draw,
            why="Announcements are implied: the round opens. None of the cards has a slot yet.",
            rule="5.8"),
        "cards_placed": goes("dealing", detect_empty_shoe,
            why="A ruling or an entry gave the cards their slots: the initial deal has begun."),
        "change_shoe": goes("shoe_change", *END_SET,
            why="Staff call for other cards."),
        "change_due": goes("shoe_change", *END_SET,
            why="The rules allow no further round from these cards: the cutting card came, the"
                " shoe is empty, or the last round called for others.",
            rule="5.11.5, N/T/F 5.12.2"),
        "change_decided": goes("shoe_change", apply_choice,
            why="After a void round the cards may be replaced.", rule="I 6.1, N/T/F 5.13"),
        "set.admitted": goes("idle", *TAKE_SET,
            why="The shoe holds other cards, and no round needs the old ones."),
        "set.refused": goes("no_shoe", *REFUSE_SET,
            why="The cards in the shoe are not of this game or number of decks.", rule="2.1"),
        "set.taken_out": goes("no_shoe", *LOSE_SET,
            why="The shoe was emptied."),
    },
    # Wagers are taken.
    "betting": {
        "no_more_bets": goes("closed", close_bets, place_cards_drawn_before, measure_differential,
            begin_with_opening_cards,
            why="The dealer closes the bets. Cards drawn before a reset take their slots (5.9), the"
                " wagers are measured before the first card.", rule="3.2"),
        "card.in_turn": goes("dealing", close_bets, deal_opening_cards, deal_card,
            measure_differential_after_card, reveal_face_up_cards,
            why="Announcements are implied: the first card closes the bets.", rule="3.2"),
        "pull.opens_round": goes("closed", close_bets, raise_double_draw, measure_differential,
            why="Announcements are implied: bets close. None of the cards has a slot yet.",
            rule="5.8"),
        "cards_placed": goes("dealing",
            why="A ruling or an entry gave the cards their slots: the initial deal has begun."),
        "deal.ran_out": goes("idle", void_insufficient_cards,
            why="The shoe is empty before the initial deal is complete.", rule="5.3"),
    },
    # No more bets, and no card is out.
    "closed": {
        "card.in_turn": goes("dealing", *DEAL,
            why="Player's first card.", rule=FIRST_FOUR),
        "opening_due": goes("dealing", deal_opening_cards, reveal_face_up_cards,
            why="A card that was drawn early before is ruled to be the first.", rule=UNRULED),
        "cards_placed": goes(BY_CARDS,
            why="A ruling or an entry gave the cards their slots: how many lie there decides."),
        "deal.ran_out": goes("idle", void_insufficient_cards,
            why="The shoe is empty before the initial deal is complete.", rule="5.3"),
    },
    # The first four cards: Player, Banker, Player, Banker.
    "dealing": {
        "card.in_turn": goes("dealing", *DEAL,
            why="Player, Banker, Player, Banker: the next card is still one of these.",
            rule=FIRST_FOUR),
        "card.fourth": goes("revealing", *DEAL,
            why="The initial deal is complete: the hands can be exposed.", rule=FIRST_FOUR),
        "deal.ran_out": goes("idle", void_insufficient_cards,
            why="The shoe is empty before the initial deal is complete.", rule="5.3"),
        "cards_placed": goes(BY_CARDS, advance_round,
            why="A ruling or an entry gave the cards their slots: how many lie there decides."),
        "correct_card": goes("dealing", correct_card,
            why="An open card is another one than the shoe read.", rule=CARDS_STAND),
        "card_corrected": goes("dealing",
            why="Nothing follows from a card before the initial deal is complete."),
    },
    # Hands are exposed, totals announced.
    "revealing": {
        "third_card_due": goes("drawing", call_for_third_card,
            why="By the revealed cards alone a hand draws; only now may the shoe be armed for it.",
            rule=THIRD_CARD),
        "third_card.early": goes("revealing", call_for_third_card, place_due_card,
            reveal_face_up_cards, advance_round,
            why="The card that was drawn early was due after all: it is this hand's.",
            rule=DUE_AFTER_ALL),
        "third_card.aside": goes("revealing", deal_card_set_aside,
            why="The card was drawn ahead for a Player who left with cards.", rule="5.11.1"),
        "third_card.ran_out": goes("idle", void_insufficient_cards,
            why="A third card is due and the shoe is empty.", rule="5.3"),
        "outcome_due": goes("resolved", announce_outcome,
            why="All cards are revealed and none is due: the outcome stands."),
        "correct_card": goes("revealing", correct_card,
            why="An open card is another one than the shoe read.", rule=CARDS_STAND),
        "card_corrected": goes("revealing", advance_round,
            why="The corrected cards say what is next, once all are revealed.", rule=CARDS_STAND),
    },
    # A hand gets its third card.
    "drawing": {
        "card.in_turn": goes("revealing", *DEAL,
            why="The third card lies there, and is exposed next.", rule=THIRD_CARD),
        "cards_placed": goes("revealing", advance_round,
            why="A ruling or an entry gave the third card its slot."),
        "correct_card": goes("revealing", correct_card,
            why="An open card is another one than the shoe read: which card is due is found anew.",
            rule=CARDS_STAND),
    },
    # The outcome is announced, wagers are collected and paid.
    "resolved": {
        "settle": goes("idle", end_round,
            why="The dealer says that all wagers are collected and paid: the round is over."),
        "round_over": goes("idle", end_round,
            why="Announcements are implied: the round is over with its outcome."),
        "correct_card": goes("resolved", correct_card,
            why="An open card is another one than the shoe read.", rule=CARDS_STAND),
        "card_corrected": goes("resolved", corrections.revise_announced,
            why="No card is missing: the outcome is revised.", rule=CARDS_STAND),
        "card_corrected.card_due": goes("revealing", outcome.reopen_round, advance_round,
            why="By the corrected cards a card is missing: the round goes on.",
            rule=DUE_AFTER_ALL),
    },
    # Something must be decided first.
    "suspended": {
        "halt_ended": goes(RESUME, resume_play,
            why="Nothing is left to decide: play goes on where the last end says."),
        "round_voided": goes("idle", apply_choice,
            why="The round is ruled void: all wagers go back."),
        "round_entered": goes("resolved", enter_round,
            why="Staff finished the round by hand and entered its cards, which stand.",
            rule=CARDS_STAND),
        "round_over": goes("suspended",
            why="A card of the shoe is inspected before wagers are paid: the round may be void.",
            rule="5.1.1"),
        "correct_card": goes("suspended", correct_card,
            why="An open card is another one than the shoe read, whatever is decided.",
            rule=CARDS_STAND),
        "card_corrected": goes("suspended", corrections.derive_in_halt,
            why="Where play resumes follows from the corrected cards; the halt goes on.",
            rule=CARDS_STAND),
    },
    # No further round is dealt from these cards.
    "shoe_change": {
        "declare_new_shoe": goes("idle", answer_cards_replaced, admit_unnamed_set,
            why="This shoe cannot name its cards: staff say that a new set is in."),
        "set.admitted": goes("idle", *TAKE_SET,
            why="The shoe holds the cards that were called for."),
        "set.refused": goes("no_shoe", *REFUSE_SET,
            why="The cards in the shoe are not of this game or number of decks.", rule="2.1"),
        "set.taken_out": goes("no_shoe", *LOSE_SET,
            why="The old cards were taken out."),
    },
}


# The shoe: what each of its messages does, in each situation of the table (situations.py), and why.
# Read a block as: on this message, in these situations do this, otherwise that. A table that is
# halted has a situation of its own: halted_cards with cards out, halted_closed after *no more bets*
# before the first card, halted outside of that. There people decide already; what they look at
# anyway halts nothing again.
#   .unheard            the shoe does not send again what it says while the link is down
OTHERWISE = "otherwise"
SHOE: Mapping[str, Mapping[str, Cell]] = {
    # -- the link, the power and the clock -------------------------------------------------------
    "link_lost": {
        "cards": halts(link.disconnect, "link_lost", rule=CARDS_STAND,
            why="Cards are out, and nobody sees what is drawn until the same shoe is back."),
        "otherwise": does(link.disconnect,
            why="No card is out, or people decide already: this shoe sends again what is missed."),
    },
    "link_lost.unheard": {
        "cards, halted_cards": halts(link.disconnect, "link_lost", rule=CARDS_STAND,
            why="Cards are out, and one that is drawn now is never reported: people look for it."),
        "otherwise": does(link.disconnect,
            why="No card is out. The shoe must be aligned before the next one counts."),
    },
    "restarted": {
        "cards": halts(announce_start, link.note_restart, halt_causes.halt_for_restart,
            rule=CARDS_STAND,
            why="Cards are out, and nobody saw what was drawn while the controller was away."),
        "otherwise": does(announce_start, link.note_restart,
            why="No card is out, or people decide already: this shoe sends again what was missed."),
    },
    "restarted.unheard": {
        "cards, halted_cards": halts(announce_start, link.note_restart,
            halt_causes.halt_for_restart, rule=CARDS_STAND,
            why="Cards are out, and one that was drawn meanwhile is never reported."),
        "otherwise": does(announce_start, link.note_restart,
            why="No card is out. The shoe must be aligned before the next one counts."),
    },
    "restarted.power": {
        "closed, cards, halted_closed, halted_cards": halts(announce_start, link.note_restart,
            "host_power_lost", rule=POWER_RULE,
            why="The host lost its power between *no more bets* and the outcome. The rule holds"
                " whatever else is open."),
        "otherwise": does(announce_start, link.note_restart,
            why="Before *no more bets* and after the outcome no rule speaks of power."),
    },
    "tick": {
        "cards": does(reveal_face_up_cards, advance_round,
            why="The room has seen the cards that have lain face up for the set time."),
        "otherwise": does(
            why="Only cards of a round in play are revealed by time."),
    },
    # -- its set of cards ------------------------------------------------------------------------
    "hello": {
        "halted, halted_closed, halted_cards": does(note_device, keep_pending_set,
            why="It settles which other set waits for the end of the halt, if any."),
        "otherwise": does(note_device,
            why="It is the shoe that the table knows: who it is and what it counts is noted."),
    },
    "hello.another_set": {
        "no_shoe, between": does(note_device, receive_set,
            why="No round is open: the set is taken or refused at once."),
        "betting, closed, cards": halts(note_device, keep_pending_set, "another_set", rule=UNRULED,
            why="One round is dealt from one set of cards."),
        "resolved": does(note_device, keep_pending_set,
            why="The round needs no further card: the set waits until it is over."),
        "halted, halted_closed": does(note_device, keep_pending_set,
            why="People decide already: the set waits for the end of the halt."),
        "halted_cards": halts(note_device, keep_pending_set, "another_set", rule=UNRULED,
            why="Cards of the old set are out: whatever is decided, the round lacks the rest."),
    },
    "shoe_loaded": {
        "no_shoe, between": does(receive_set,
            why="No round is open: the set is taken or refused at once."),
        "betting, closed, cards": halts(keep_pending_set, "set_loaded", rule=UNRULED,
            why="One round is dealt from one set of cards."),
        "resolved": does(keep_pending_set,
            why="The round needs no further card: the set waits until it is over."),
        "halted, halted_closed": does(keep_pending_set,
            why="People decide already: the set waits for the end of the halt."),
        "halted_cards": halts(keep_pending_set, "set_loaded", rule=UNRULED,
            why="Cards of the old set are out: whatever is decided, the round lacks the rest."),
    },
    "started": {
        "closed, cards, halted_closed, halted_cards": halts(lose_alignment, "started_anew",
            rule=POWER_RULE,
            why="The shoe lost its power, and its place in the hand, between *no more bets* and the"
                " outcome."),
        "otherwise": does(
            why="Before *no more bets* and after the outcome it is only a diagnostic."),
    },
    "gap": {
        "no_shoe": does(
            why="No set of cards is known in which a card could be missing."),
        "otherwise": halts(gaps.halt_for_gap, rule=CARDS_STAND,
            why="Each lost event may have been a card, and nobody can send it again."),
    },
    # -- its cards -------------------------------------------------------------------------------
    "card_pushed_back": {
        "closed, cards, halted_closed, halted_cards": halts(draw_order.halt_for_pushed_back,
            rule="5.2",
            why="The order of the cards in the shoe is altered before the outcome."),
        "otherwise": does(draw_order.note_pushed_back,
            why="Before *no more bets* and after the outcome no round depends on that order."),
    },
    "card_outside_game": {
        "no_shoe": does(
            why="No set of cards is known in which it could be counted."),
        "between": does(card_ledger.count_outside_game, detect_empty_shoe,
            why="No round misses the card: it counts as set aside."),
        "betting, closed, cards, resolved": halts("outside_game", card_ledger.count_outside_game,
            rule=UNRULED,
            why="A round is open, and no rule gives this card a place."),
        "halted, halted_closed, halted_cards": does(card_ledger.count_outside_game,
            why="People decide already, and may use the card to finish the round by hand."),
    },
    "redesignated": {
        "betting, closed, cards, resolved": halts("card_moved", rule=UNRULED,
            why="A round is open, and the shoe gives a card another place than the table."),
        "otherwise": does(
            why="No round is open, or people decide already where its cards lie."),
    },
    "result": {
        "cards": does(outcome.record_result, advance_round,
            why="The round awaits it: it is compared with the cards."),
        "otherwise": does(link.emit_quarantined,
            why="No round awaits it. During a halt the cards may still be corrected."),
    },
    "error": {
        "closed, cards": halts(halt_causes.emit_shoe_fault, "shoe_fault", rule=UNRULED,
            why="A card is to come from a shoe that reports a fault."),
        "otherwise": does(halt_causes.emit_shoe_fault,
            why="The round needs no card now, or people decide already: it is only told."),
    },
    "error.at_a_card": {
        "betting": halts(halt_causes.emit_shoe_fault, "unreadable_message", rule=CARDS_STAND,
            why="A card may be out before bets are closed, and nobody can name it."),
        "closed, cards": halts(halt_causes.emit_shoe_fault, "shoe_fault", rule=UNRULED,
            why="The shoe stops at a card while one is due: people look at it first."),
        "halted_cards": halts(halt_causes.emit_shoe_fault, "unreadable_message", rule=CARDS_STAND,
            why="A card may be out besides those that people decide on."),
        "otherwise": does(halt_causes.emit_shoe_fault, lose_alignment,
            why="No round waits for the card, but the shoe's place in the next one is uncertain."),
    },
    "discarded.a_card": {
        "betting, closed, cards, halted_cards": halts(link.emit_discarded, "unreadable_message",
            rule=CARDS_STAND,
            why="It may have been a card of this round, and nobody would miss it."),
        "otherwise": does(link.emit_discarded, lose_alignment,
            why="No round waits for a card, but the shoe's place in the next one is uncertain."),
    },
    # -- its body --------------------------------------------------------------------------------
    "lid.opened": {
        "closed, cards": halts(halt_causes.note_shoe_event, "lid_opened", rule=UNRULED,
            why="Bets are closed, and somebody may have reached the cards that decide them."),
        "otherwise": does(halt_causes.note_shoe_event,
            why="No bet depends on the cards yet, or any more, or people look at them already."),
    },
    "tamper": {
        "closed, cards": halts(halt_causes.emit_fault, "tampered", rule=UNRULED,
            why="A card is to come from a shoe that was tampered with."),
        "otherwise": does(halt_causes.emit_fault,
            why="The round needs no card now, or people decide already: it is only told."),
    },
    "self_test.failed": {
        "closed, cards": halts(halt_causes.emit_fault, "self_test_failed", rule=UNRULED,
            why="A card is to come from a shoe of which a part failed."),
        "otherwise": does(halt_causes.emit_fault,
            why="The round needs no card now, or people decide already: it is only told."),
    },
    "reset_done": {
        "closed, cards": halts("shoe_reset", rule=UNRULED,
            why="A reset after *no more bets* concerns the wagers (5.9), and no step wants it."),
        "otherwise": does(
            why="Its cards and counts stay. Bets are open or decided, or people decide already."),
    },
    "not_genuine": {
        "cards": halts("not_authenticated", rule=UNRULED,
            why="Cards are out, and the device on the line is not proved to be this shoe."),
        "otherwise": does(
            why="The device is refused and not armed; no card is out, or people decide already."),
    },
    "firmware.refused": {
        "cards": halts(halt_causes.emit_unknown_firmware, "firmware_not_allowed", rule=UNRULED,
            why="Cards are out, and a shoe with this firmware is not armed for the next one."),
        "otherwise": does(halt_causes.emit_unknown_firmware,
            why="No card is out, or people decide already: it is only told."),
    },
    "unforeseen": {
        "between, betting, closed, cards, resolved": halts(halt_causes.halt_for_unexpected,
            rule=UNRULED,
            why="It may be about a card, and nothing is guessed."),
        "otherwise": does(halt_causes.emit_unexpected,
            why="No set of cards is known, or people look at the table already."),
    },
    # -- what the table finds --------------------------------------------------------------------
    "left_over": {
        "closed, cards, halted_closed, halted_cards": does(overdraw.raise_pending_unraised,
            rule=DUE_AFTER_ALL,
            why="The round may still need the cards: they wait face down."),
        "otherwise": halts(overdraw.halt_for_unraised, rule=UNRULED,
            why="No card is due to any hand: somebody must say what becomes of these."),
    },
}


# What does the same in every situation: messages that do not depend on it, and cases that arise in
# some situations only (the questions of cases.py see to that).
ALWAYS: Mapping[str, Cell] = {
    # -- the link, the power and the clock -------------------------------------------------------
    "link_up": does(link.connect,
        why="The port is open. Who is there, a hello says; a shoe that has none is connected."),
    "link_up.first_set": does(link.connect, card_set.receive_unnamed_set,
        why="This shoe never names its set, and none is known: the cards in it are taken as one."),
    "link_lost.shoe_sorted": does(link.disconnect, rule="5.11",
        why="Its cards lie sorted on the table: the round gets none of them."),
    "line_suspended": does(link.suspend_line,
        why="The line brings more garbage than is kept, and rests for a while."),
    "line_resumed": does(link.resume_line,
        why="The line is quiet again."),
    "hearing_lost": does(link.lose_hearing,
        why="Nothing sent to the shoe has an effect: it cannot be armed. Play waits for its wire."),
    "hearing_restored": does(link.restore_hearing,
        why="The shoe receives again what is sent to it."),
    "tick.result_overdue": halts("no_result", rule=CARDS_STAND,
        why="The shoe judges rounds, and did not judge this one in time."),
    "tick.cards_seen": does(power_failure.show_due_cards, rule=POWER_RULE,
        why="Cards that lie open are seen during a halt too, and may decide a wager."),
    "fault": halts(halt_causes.halt_for_fault, rule=UNRULED,
        why="A part of this program failed on an input that may have been a card."),
    "storage_restored": halts(decisions.halt_for_storage_fault,
        why="Nothing was stored for a while: a person looks at the table first."),
    "delivery_parked": does(undelivered.note_undelivered,
        why="A sink refused an event. The round does not depend on sinks."),
    "delivery_taken": does(undelivered.note_undelivered,
        why="A sink took an event that it had refused."),
    "delivery_lost": does(undelivered.note_lost,
        why="A sink lost events that the journal has. The round does not depend on sinks."),
    "delivery_refilled": does(undelivered.note_refilled,
        why="A sink has again what it had lost."),
    "commands_refused": does(answers.emit_unrecorded,
        why="They were too many to be recorded one by one: their number is."),
    "disk_checked": does(disk.emit_disk_use,
        why="A full disk halts every table. Staff are warned days before, and the round goes on."),
    "outcome_applied": does(applied_outcomes.note_applied,
        why="A table system applied an outcome. The round does not depend on table systems."),
    "shoe_stated": does(applied_outcomes.compare_shoe,
        why="A table system states a shoe's rounds and money: they are compared, no more."),
    "door_noted": does(door.emit_note,
        why="Somebody logged in, or tried to, at a program of the host: it is recorded, no more."),
    "notes_refused": does(door.emit_unrecorded_notes,
        why="They were too many to be recorded one by one: their number is."),
    "not_told": does(
        why="The order could not be sent. What waits for its answer acts on it, not the round."),
    # -- the shoe's set of cards -----------------------------------------------------------------
    "hello.answers_step": does(note_device, apply_shoe_event,
        why="The open step waits for this shoe to come back."),
    "hello.shoe_sorted": does(note_device, keep_pending_set, rule="5.11",
        why="The round gets no card from the shoe: any set in it waits until the round is over."),
    "hello.rebooted": halts(note_device, keep_pending_set, "rebooted", rule=POWER_RULE,
        why="The shoe lost its power or was exchanged after *no more bets*."),
    "hello.cards_missed": halts(gaps.halt_for_missed_cards, note_device, rule=CARDS_STAND,
        why="The shoe counts cards that it never reported and will not send again."),
    "hello.fewer_cards": halts(note_device, keep_pending_set, gaps.halt_for_counts,
        rule=CARDS_STAND,
        why="The shoe counts fewer cards than people entered: somebody counts them."),
    "shoe_loaded.known": does(card_set.restart_count,
        why="The shoe sends its loading and all its draws again: the count begins anew."),
    "shoe_loaded.shoe_sorted": does(keep_pending_set, rule="5.11",
        why="The round gets no card from the shoe: any set in it waits until the round is over."),
    "started.new_shoe": does(card_set.receive_unnamed_set,
        why="A change of the cards is due, and this shoe starts: they were changed."),
    "started.answers_step": does(lose_alignment, apply_shoe_event, rule="5.9",
        why="The open step waits for the shoe's reset, by which it loses its place in the hand."),
    "set.unlike": halts("another_set", rule=UNRULED,
        why="A halt ends with another set in the shoe than the open round was dealt from."),
    "cutting_card": does(card_set.note_cutting_card, cutting_card.note_declared, rule=CUTTING_CARD,
        why="It is taken out, and the round is completed."),
    "cutting_card.no_shoe": does(
        why="No set of cards is known that could come to its end."),
    "cutting_card.first": halts(cutting_card.offer_withdrawal, cutting_card.note_declared,
        rule="I 3.16.1, N/F 3.17.1, T 3.22.1",
        why="It came before Player's first card: Players may withdraw here."),
    # -- its cards -------------------------------------------------------------------------------
    "card.no_card": does(
        why="It says how many cards were burned; no card left the shoe."),
    "card.repeated": does(
        why="The same card in the same slot: one card, reported twice."),
    "card.disputed": halts(gaps.compare_with_entry, "entry_disputed", rule="6.1, 6.3",
        why="People entered this draw as another card."),
    "card.entered": does(gaps.compare_with_entry, rule=CARDS_STAND,
        why="People entered this draw: the record agrees, or names what they left open."),
    "card.answers_step": does(apply_shoe_event,
        why="The open step waits for this card."),
    "card.read_late": does(unread_cards.record_reading, rule=CARDS_STAND,
        why="The shoe has now read the card that lies unread in its slot."),
    "card.armed_before": does(power_failure.deal_reported_card, rule=POWER_RULE,
        why="It was drawn in its turn before power or link were lost. It may decide a wager."),
    "card.armed_until_now": does(pending_card.hold_pending_card, differential.rule_on_differential,
        why="It was drawn in its turn as the halt began: it takes its slot when play resumes."),
    "card.first_in_pause": does(overdraw.hold_first_card, rule="5.7",
        why="It can only be Player's first card: it takes its slot when play resumes."),
    "card.undecided_in_pause": does(overdraw.hold_until_decided, rule=DUE_AFTER_ALL,
        why="Cards that are still face down decide whether it was due: it waits."),
    "card.in_pause": halts(overdraw.halt_for_card_in_pause, rule=UNRULED,
        why="It was drawn during a pause and is due to no hand."),
    "card.in_halt": does(halt_causes.hold_another_card,
        why="It is held until what is open is decided. A card of another deck is looked at first."),
    "card.without_shoe": halts("no_shoe_known", halt_causes.hold_card, rule=UNRULED,
        why="No set of cards is known that it could be of."),
    "card.unarmed": does(record_unarmed_draw, take_turn, rule=DUE_AFTER_ALL,
        why="It came in its turn, although the shoe was not armed: it is that hand's card."),
    "card.burned": does(card_ledger.count_burned, detect_empty_shoe, rule="2.1",
        why="It was burned as the shoe was opened: it is counted and never played."),
    "card.of_missed_round": does(card_ledger.count_unplaced, detect_empty_shoe,
        why="Nobody knows where in a round the shoe is: no round begins with this card."),
    "card.set_aside": does(cards_ahead.set_aside_next, rule="5.11.1",
        why="It was drawn ahead for a Player who left with cards."),
    "card.early_undecided": does(overdraw.hold_until_decided, rule=DUE_AFTER_ALL,
        why="Cards that are still face down decide whether it was due: it waits."),
    "card.early": halts(overdraw.halt_for_overdraw, rule=UNRULED,
        why="It is due to no hand."),
    "card.misfit": halts(halt_causes.halt_for_card, rule="5.1, 5.7, 6.1",
        why="It is foreign, one too many, for another slot, or after a missing draw."),
    "pull": halts(double_draw.halt_for_double_draw, rule="5.8",
        why="Several cards left the shoe as one."),
    "pull.answers_step": does(apply_shoe_event,
        why="The open step waits for these cards."),
    "card_outside_game.objected": does(early_cards.record_overdrawn_reading,
        why="The shoe now reports the card to which it objected: something is open for it."),
    "card_outside_game.undecided": does(overdraw.hold_card_of_shoe_in_error, rule=DUE_AFTER_ALL,
        why="The shoe is about to object to it, and face-down cards decide whether it was due."),
    "redesignated.anew": halts(lose_alignment, "hand_dealt_anew", rule=UNRULED,
        why="The shoe counts the hand from its first card again, and the table does not."),
    "redesignated.early_card": does(early_cards.note_reported_slot,
        why="The card waits for a ruling, which may follow the place that the shoe gives it."),
    "redesignated.agrees": does(
        why="The card lies where the shoe says."),
    "result.forced": halts("result_forced", rule=CARDS_STAND,
        why="Somebody told the shoe to quit the round: it judged nothing."),
    "result.too_soon": halts(outcome.record_result, "result_too_early", rule=CARDS_STAND,
        why="The shoe judges a round that has a card due."),
    "error.known": does(halt_causes.emit_shoe_fault,
        why="People are asked about this card already: it is only told."),
    "error.overdraw_undecided": does(overdraw.hold_objected_card, rule=DUE_AFTER_ALL,
        why="The shoe objects to a card, and face-down cards decide whether it was due."),
    "error.overdraw": halts(overdraw.halt_for_objected_card, rule=UNRULED,
        why="The shoe objects to a card that is due to no hand."),
    "error.unread_card": halts(halt_causes.emit_shoe_fault, "card_unreadable", rule=CARDS_STAND,
        why="The shoe stops at the card that is due: people say where it lies."),
    "error.reverse_run": halts(halt_causes.emit_shoe_fault, "reverse_run", rule="5.2",
        why="A card ran back into the shoe: nobody knows which one comes next."),
    "error_cleared": does(halt_causes.emit_fault_cleared,
        why="The fault is over. What it had opened is decided as it was."),
    "discarded": does(link.emit_discarded,
        why="Bytes did not fit, and a card would be missed otherwise: they are only counted."),
    # -- its body, and what it answers -----------------------------------------------------------
    "status": does(arming.on_status, note_status,
        why="What it counts, and the draw that it is armed for, are noted."),
    "status.counts_differ": halts(arming.on_status, note_status, gaps.halt_for_counts,
        rule=CARDS_STAND,
        why="The shoe refuses the draw because it counts other cards: somebody counts them."),
    "status.arm_taken": does(arming.on_status, note_status, arming.emit_arm_taken,
        why="The shoe now takes the draw that it had refused."),
    "reply": does(
        why="The shoe accepts, or answers what the round does not wait for."),
    "reply.refused": does(arming.on_reply,
        why="The round waits until the shoe takes the draw: people are told why it does not."),
    "reset.answers_step": does(apply_shoe_event, rule="5.9",
        why="The open step waits for the shoe's reset."),
    "lid": does(halt_causes.note_shoe_event,
        why="It was closed."),
    "button": does(halt_causes.note_shoe_event,
        why="What a button means at the shoe is not the table's."),
    "shoe_empty": does(halt_causes.note_shoe_event,
        why="Whether a card is missing, the table's own count says."),
    "self_test": does(
        why="All parts passed."),
    "power_low": does(halt_causes.emit_fault,
        why="It still works: it is told in time to charge it."),
    "power_restored": does(halt_causes.emit_power_restored,
        why="The fault is over."),
    "unknown_firmware": does(halt_causes.emit_unknown_firmware,
        why="This table arms a shoe of unknown firmware all the same: it is only told."),
    "warning": does(halt_causes.emit_warning,
        why="It may say something of an unseen card: only the restricted stream has it."),
    "query_answered": does(why="It is an answer for the person who asked."),
    "key_rotated": does(why="The link acts on it, not the round."),
    "command_unanswered": does(why="What waits for the answer acts on it, not the round."),
    "challenged": does(why="The link acts on it: a proof is due."),
    "authenticated": does(why="The link acts on it: the proof was given."),
    "standby": does(why="It stands by between rounds: never a reason to align it."),
    "lock": does(why="Its key was turned: cards drawn by hand are reported as such."),
    "preset_changed": does(why="The presets of the shoe's own game are not this table's."),
    "repeated": does(why="The same bytes, received before."),
    # -- what people say -------------------------------------------------------------------------
    "paused": halts(decisions.pause,
        why="Staff or surveillance look before anything else is drawn or decided."),
    "irregularity_declared": halts(raise_declared,
        why="A person saw it: its own procedure decides."),
    "unread_exposed": halts(unread_cards.halt_for_exposed, rule=CARDS_STAND,
        why="One of the exposed cards was never read: two persons enter it."),
    # -- what the table finds --------------------------------------------------------------------
    "drawn_together": halts(double_draw.halt_for_double_draw, rule="5.8",
        why="The first cards of the round left the shoe as one."),
    "face_up_first": halts("first_card_face_up", rule="5.6, 6.1",
        why="It lay face up in the shoe. A later card plays then; no rule says so of the first."),
    "card_unread": does(unread_cards.raise_pending_entry, rule=CARDS_STAND,
        why="It lies face down: it holds its slot and is named once it is exposed."),
    "card_unread.shown": halts(unread_cards.halt_for_unread, rule=CARDS_STAND,
        why="It lies open: two persons enter it now, whatever else is open."),
    "one_too_many": halts(wrong_cards.halt_for_too_many, rule="5.1",
        why="By what was named, some card is not one of this shoe's."),
    "third_card.contested": halts(overdraw.halt_for_early_card, rule=UNRULED,
        why="A third card is due, and the shoe gives the card drawn early another place."),
    "third_card.judged": halts("result_too_early", rule=CARDS_STAND,
        why="A third card is due, and the shoe has judged the round without it."),
    "overdrawn": halts(overdraw.halt_for_early_card, rule=UNRULED,
        why="All cards are revealed: the one that was drawn early was not due."),
    "overdrawn.after_outcome": halts(overdraw.halt_for_each_early_card, rule=UNRULED,
        why="By a corrected card what was drawn was not due, and the outcome is announced."),
    "outcome.disputed": halts("result_disagrees", rule=CARDS_STAND,
        why="The shoe and the cards differ on the winner or on a pair."),
    "differential_due": halts(differential.halt_for_differential, rule=DIFFERENTIAL_RULE,
        why="After *no more bets* the main wagers are too far apart."),
    "count_disagrees": halts(wrong_cards.halt_for_count, rule="5.1, 5.1.2",
        why="What was counted in the shoe is not what the cards played leave."),
    "left_over.none": does(
        why="Something is open for every card without a slot."),
    "opening.none": does(
        why="No card was ruled to open the round, or it has begun."),
    "deal.goes_on": does(
        why="The initial deal is complete: only a third card could be missing."),
}
# fmt: on


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
    """The trigger that comes."""

    to: str | Destination
    """The next state, or what finds it."""

    do: tuple[Action, ...]
    """The actions, in this order."""

    when: tuple[Condition, ...] = ()
    """Conditions that must hold besides."""


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
    return [_line(state, *row) for state, rows in ROUND.items() for row in rows.items()]


def _shoe_lines() -> list[Line]:
    _assert_columns_cover_every_state()
    found = []
    for message in SHOE:
        for name, cell in cells_by_situation(message).items():
            when = (_is_in_situation(name),) if name in LEFT_FOR_A_HALT else ()
            found += [_line(state, message, cell, when) for state in SITUATIONS[name]]
    return found


def _always_lines() -> list[Line]:
    return [_line(state, *row) for row in ALWAYS.items() for state in STATES]


def _line(state: str, trigger: str, cell: Cell, when: tuple[Condition, ...] = ()) -> Line:
    return Line(state, trigger, state if cell.to is None else cell.to, cell.do, when)


def cells_by_situation(message: str) -> dict[str, Cell]:
    """Return the cell of each situation for this message of ``SHOE``."""
    row = SHOE[message]
    written = [name for names in row if names != OTHERWISE for name in names.split(", ")]
    assert len(written) == len(set(written)) and set(written) <= SITUATIONS.keys(), message
    assert (OTHERWISE in row) is (len(written) < len(SITUATIONS)), message
    cells = {name: cell for names, cell in row.items() for name in names.split(", ")}
    return {name: cells[name if name in cells else OTHERWISE] for name in SITUATIONS}


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
