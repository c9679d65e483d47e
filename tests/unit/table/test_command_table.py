"""Who may give each command, in which states and with what: written from the documents.

A higher position may do what a lower one may (6.2). ``*``: a reason must be given; ``+``: a second
person must consent; ``apart``: surveillance may give it too.
"""

from __future__ import annotations

from shoe_ctl.table.commands import COMMANDS

EVERYWHERE = "no_shoe idle betting closed dealing revealing drawing resolved suspended shoe_change"
CARDS_OUT = "dealing revealing drawing"
OPEN = f"betting closed {CARDS_OUT} resolved"
SHOE_KNOWN = f"idle shoe_change {OPEN} suspended"
NO_CARD_DUE = "no_shoe idle shoe_change betting resolved suspended"

WHO = {
    # 3.1, 3.2, 3.15 (N 3.14, T 3.15): the Dealer announces. 3.8, F 3.7: the Dealer places wagers
    # on behalf of a Player. 3.10.2, 3.10.6: the Dealer passes the cards, and says which hand first.
    "dealer": """
        place_your_bets no_more_bets announce_totals announce_outcome settle expose
        place_wager increase_wager decrease_wager withdraw_wager clear_bets
        pass_cards refuse_cards set_first_hand offer_shoe relinquish_shoe declare_out_of_view
        record_shoe declare_cutting_card declare retract decide
        reset_shoe ask_shoe show_on_shoe""",
    # 3.10.4.1, F 3.9.4.1: the Pit Supervisor names who handles the cards.
    "pit_supervisor": """
        name_holder change_shoe count_remainder declare_new_shoe align pause resume enter_round
        test_shoe clear_error""",
    # 3.7, 3.7.1, F 3.6.1; 3.9.2, F 3.8.2; I 3.15, N/F 3.16, T 3.21.
    "pit_manager": "restrict_wagers change_method allow_squeeze",
    # 3.12.2, F 3.11.2.
    "assistant_casino_manager": "allow_without_wager",
    # 6.1, 6.3.
    "gaming_shift_manager": "correct_card revise_round rotate_key",
}

WHEN = {
    "place_your_bets": "idle",
    "no_more_bets": "betting",
    "place_wager": "idle betting",  # the first one may open the round
    "increase_wager": "betting",
    "decrease_wager": "betting",
    "withdraw_wager": "betting suspended",  # in a window
    "clear_bets": "betting",
    "restrict_wagers": f"idle shoe_change {OPEN}",
    "change_method": "idle shoe_change",  # before the commencement of the round (3.9.2)
    "pass_cards": "revealing",
    "refuse_cards": "revealing",
    "name_holder": "revealing",
    "allow_squeeze": "revealing",
    "set_first_hand": "revealing",
    "offer_shoe": f"idle {OPEN}",
    "relinquish_shoe": SHOE_KNOWN,  # at any time (3.12.8.1)
    "allow_without_wager": f"idle {OPEN}",
    "declare_out_of_view": f"closed {CARDS_OUT} resolved suspended",
    "expose": "revealing",
    "announce_totals": "revealing",
    "announce_outcome": "revealing",
    "settle": "resolved",
    "change_shoe": "idle",
    "record_shoe": "idle",
    "count_remainder": "idle shoe_change",
    "declare_cutting_card": f"idle shoe_change {OPEN} suspended",
    "declare_new_shoe": "shoe_change",
    "align": "idle betting closed suspended",
    "pause": SHOE_KNOWN,
    "resume": "suspended",
    "declare": SHOE_KNOWN,
    "retract": SHOE_KNOWN,
    "decide": "suspended idle",  # after a void round its cards are decided on
    "correct_card": f"{CARDS_OUT} resolved suspended",
    "enter_round": "suspended",
    "revise_round": "resolved idle shoe_change betting",
    "reset_shoe": NO_CARD_DUE,
    "test_shoe": NO_CARD_DUE,
    "ask_shoe": EVERYWHERE,
    "clear_error": EVERYWHERE,
    "rotate_key": "no_shoe idle shoe_change",
    "show_on_shoe": EVERYWHERE,
}
"""Command → the states that take it, in the order of a round: so they are listed for people."""

WITH_A_SECOND_PERSON = {"retract", "correct_card", "enter_round", "revise_round"}
WITH_A_REASON = WITH_A_SECOND_PERSON | {"declare"}
AT_DISCRETION = {"restrict_wagers", "change_method", "name_holder", "allow_squeeze"}
BY_WHAT_THEY_NAME = {
    "place_wager", "increase_wager", "decrease_wager", "withdraw_wager", "declare", "decide",
}  # fmt: skip
BY_SURVEILLANCE_TOO = {"pause", "resume", "decide"}


def test_each_command_is_for_the_position_that_the_documents_name() -> None:
    found = {name: command.position for name, command in COMMANDS.items()}
    assert found == {name: position for position, names in WHO.items() for name in names.split()}


def test_each_command_is_taken_in_the_states_in_which_it_has_a_meaning() -> None:
    found = {name: {*command.states} for name, command in COMMANDS.items()}
    assert found == {name: {*states.split()} for name, states in WHEN.items()}
    assert [*found] == [*WHEN]


def test_what_contradicts_what_was_said_or_read_needs_a_reason_and_a_second_person() -> None:
    assert {name for name, each in COMMANDS.items() if each.consent} == WITH_A_SECOND_PERSON
    assert {name for name, each in COMMANDS.items() if each.reason} == WITH_A_REASON


def test_discretion_is_the_documents_and_surveillance_pauses_and_confirms() -> None:
    assert {name for name, each in COMMANDS.items() if each.discretion} == AT_DISCRETION
    assert {name for name, each in COMMANDS.items() if each.apart} == BY_SURVEILLANCE_TOO


def test_the_arguments_of_a_wager_a_choice_and_a_declaration_depend_on_what_they_name() -> None:
    assert {name for name, each in COMMANDS.items() if each.reads_itself} == BY_WHAT_THEY_NAME
