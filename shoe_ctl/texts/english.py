"""The English catalogue.

Plain texts for people at the table: what is the case, then what to do. ``catalogue.py`` says how a
template is written. A text keeps what is typed as it is typed: commands, choices, arguments.
"""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, str] = {
    # Prompts: what an open step asks for.
    "prompt_after_void": "the cards may be replaced: replace them, or go on with the same",
    "prompt_altered_while_moved": (
        "put the cards back in order if it is known; else the round is void and the cards "
        "are replaced"
    ),
    "prompt_card_corrected": "the card is corrected: go on with the round",
    "prompt_card_taken_determine": (
        "count the sorted decks, the cards in play and the two laid aside, and say which "
        "cards are missing: the count decides"
    ),
    "prompt_card_taken_draw": (
        "draw the {card:nth} of two cards and lay it aside, face down; keep both in the order drawn"
    ),
    "prompt_card_taken_ordering": (
        "both cards came in one pull: leave them unseen; the pit manager says whether the "
        "upper or the lower comes first"
    ),
    "prompt_card_taken_replace": (
        "take cards of the same face from a complete deck and lay them in their place"
    ),
    "prompt_card_taken_not_due": (
        "no hand is due the card that is gone: count it as set aside, or play on if the "
        "Player is back"
    ),
    "prompt_card_taken_sort": (
        "sort the cards left in the shoe and the discards into decks, and show them to "
        "everyone and to surveillance"
    ),
    "prompt_card_taken_value": (
        "ask surveillance what was seen; then say whether the value is known, from the shoe "
        "or from surveillance"
    ),
    "prompt_cutting_card_allow": (
        "lay the cutting card aside; the dealer may let Players withdraw their wagers"
    ),
    "prompt_cutting_card_window": (
        "lay the cutting card aside; ask each Player whether to withdraw or stand; then "
        "close the window"
    ),
    "prompt_device_reset_cards": (
        "look at the cards that were drawn: they open the round, or are set aside"
    ),
    "prompt_device_reset_reset": (
        "reset the shoe, unless it is told to reset itself; say so when it is ready again"
    ),
    "prompt_device_reset_window": (
        "ask each Player whether to withdraw or stand; then close the window and reset the shoe"
    ),
    "prompt_differential_changing": (
        "the higher hand's Players decrease, or the other hand's increase; draw no card "
        "before the differential is met"
    ),
    "prompt_differential_removing": "the pit manager names the wagers that are removed",
    "prompt_differential_ruling": (
        "a card is out: leave the wagers as they lie, and call the person who decides"
    ),
    "prompt_double_draw_lay": (
        "lay the cards in the order that the pit manager gave; each is named when it lies open"
    ),
    "prompt_double_draw_name": (
        "name the card once it lies open, with a second person; never take it from a Player"
    ),
    "prompt_double_draw_order": (
        "leave the cards as they lie, unseen; find out in which order they left the shoe"
    ),
    "prompt_double_draw_ordering": (
        "the pit manager says whether the upper or the lower card comes first"
    ),
    "prompt_double_draw_reconstruct": (
        "put the cards in the order in which they were drawn, and let nobody see them"
    ),
    "prompt_double_draw_window": (
        "before the cards are put in order, ask each Player whether to withdraw or stand; "
        "then close the window"
    ),
    "prompt_face_up": (
        "a card that lay face up after the first card of a round plays as if it had lain face down"
    ),
    "prompt_face_up_first": (
        "it was the round's first card: leave it as it lies, and call the person who decides"
    ),
    "prompt_gap": (
        "compare the cards on the table with the status; enter the cards that were missed"
    ),
    "prompt_gap_counts": (
        "count the cards on the table: take back one that was never drawn; if all lie there, "
        "recount, for the shoe missed them"
    ),
    "prompt_holder_absent": (
        "the dealer exposes a hand whose holder is away; with cards to draw the shift manager rules"
    ),
    "prompt_inspection": (
        "inspect the cards; if one is foreign or one too many, the round is void and earlier "
        "rounds stand"
    ),
    "prompt_leave_cards_and_call": "leave the cards as they lie, and call the person who decides",
    "prompt_link_lost": (
        "connect the shoe again: if nothing was missed, the round goes on by itself; if it "
        "stays silent, shoectl doctor says why"
    ),
    "prompt_misread_enter": (
        "enter the card once it lies open, with a second person; never take it from a Player"
    ),
    "prompt_misread_where": (
        "see whether the card is out of the shoe; clear the shoe's error, and say where the card is"
    ),
    "prompt_missed_draw": (
        "leave the cards and the chips as they lie; the card that was due is drawn now"
    ),
    "prompt_missed_draw_correction": (
        "leave cards and chips; as read, no card is due: if an open card is another one, say "
        "correct_card, then draw"
    ),
    "prompt_missing_card": (
        "count the cards again; if one is missing, a round in progress is void and earlier "
        "rounds stand"
    ),
    "prompt_order_altered": (
        "leave the shoe as it is; if the order cannot be found again, the round is void"
    ),
    "prompt_entry_differs": (
        "what was entered is not what the shoe read: call the person who decides, who lets you "
        "enter it again"
    ),
    "prompt_other": "leave everything as it is, and call the person who decides",
    "prompt_outage": (
        "nothing could be stored for a while: look at the cards on the table, then resume"
    ),
    "prompt_overdraw_ruling": (
        "leave the card face down where it lies: it opens the next round if nobody saw it, "
        "else it is set aside"
    ),
    "prompt_overdraw_seen": "the card was seen: it is set aside",
    "prompt_overdraw_waiting": (
        "leave the card face down where it lies, until the cards that everyone has seen say "
        "whose it is"
    ),
    "prompt_power_failure_decided": (
        "a wager is decided, so nobody withdraws: when power and shoe are back, play the "
        "round to its end"
    ),
    "prompt_power_failure_offer": (
        "no wager is decided: leave the cards as they lie, and offer each Player to withdraw "
        "all wagers"
    ),
    "prompt_power_failure_play_on": "when power and shoe are back, play the round to its end",
    "prompt_power_failure_take_back": (
        "no wager is decided: take back every hand that a Player holds, face down and unseen"
    ),
    "prompt_power_failure_window": (
        "no wager is decided: ask each Player whether to withdraw all wagers or none; then "
        "close the window"
    ),
    "prompt_remaining_window": (
        "ask each Player whether to withdraw all that is not decided, or to play on; then "
        "close the window"
    ),
    "prompt_result_disagrees": "look at the cards on the table: they stand, not the shoe's result",
    "prompt_result_missing": (
        "look at the cards on the table: they stand without the shoe's own result"
    ),
    "prompt_review": "leave everything as it is: what happened is being reviewed",
    "prompt_seen_while_moved": (
        "a card that was seen while the shoe was moved plays as if it had lain face down"
    ),
    "prompt_unshuffled": (
        "inspect the cards; if they were not shuffled, a round in progress is void and "
        "earlier rounds stand"
    ),
    "prompt_wrong_order": (
        "put every card where the order of the draws wants it, and let nobody see them"
    ),
    "prompt_wrong_player_look": (
        "take back a hand that nobody opened and pass it on; if it was seen, or passed to "
        "nobody, the outcome stands"
    ),
    "prompt_wrong_player_pass_on": "pass the hand, face down, to the Player it belongs to",
    # What was seen: why an irregularity was raised.
    "seen_altered_while_moved_declared": (
        "it was declared that the order of the cards was altered while the shoe was moved"
    ),
    "seen_another_place_named": "the shoe named another place than the one that is due",
    "seen_another_set": "the shoe does not hold the set of cards that the round began with",
    "seen_by_person": "{words}",
    "seen_card_moved": "the shoe gave a card another place",
    "seen_card_not_read": "{hand:hand}'s card {index} could not be read",
    "seen_card_of_a_pull": "{hand:hand}'s card {index} is one of those that were drawn together",
    "seen_card_only_entered": (
        "{hand:hand}'s card {index} was entered, and the shoe never reported it"
    ),
    "seen_card_taken_declared": "it was declared that a Player left with cards",
    "seen_cards_missed": "{cards:count card cards} drawn that the shoe did not report",
    "seen_controller_failed": "a part of the controller failed",
    "seen_counts_differ": "cards drawn: {shoe} by the shoe's count, {table} by the table's",
    "seen_cutting_card_first": "the cutting card came before the first card",
    "seen_cutting_card_in_round": "the cutting card came in a round",
    "seen_device_reset_declared": "it was declared that the shoe must be reset",
    "seen_differential_declared": "it was declared that the table differential is exceeded",
    "seen_differential_exceeded": "the table differential is exceeded",
    "seen_double_draw_declared": "it was declared that cards were drawn together",
    "seen_draw_out_of_turn": "draw {draw} came where draw {next} was next",
    "seen_drawn_early": "a card was drawn early",
    "seen_drawn_not_due": "a card was drawn that is not due by the corrected cards",
    "seen_drawn_late": "a card was drawn that may belong to the round that ended before",
    "seen_drawn_not_aligned": "a card was drawn and the shoe is not aligned",
    "seen_drawn_outside": "a card was drawn outside the game in a round",
    "seen_drawn_together": "{cards} cards were drawn together",
    "seen_drawn_unarmed": "a card was drawn that the shoe was not armed for",
    "seen_drawn_without_leave": "a card was drawn by a Player without a wager and without leave",
    "seen_drawn_without_shoe": "a card was drawn and no shoe is known",
    "seen_entered_card_differs": "a card was entered that is not what the shoe read",
    "seen_entered_round_differs": "the round that was entered by hand is not what the shoe read",
    "seen_events_lost": "the shoe's events {first} to {last} are lost",
    "seen_extra_card": "a card was drawn beyond the number that the decks hold",
    "seen_face_up_declared": "it was declared that a card lies face up in the shoe",
    "seen_face_up_in_shoe": "a card lay face up in the shoe",
    "seen_fault": "{where} failed: {what}",
    "seen_firmware_not_allowed": "the shoe runs a firmware that is not allowed",
    "seen_foreign_card": "a card of another deck was drawn",
    "seen_foreign_cards_left": "cards of another deck are left in the shoe",
    "seen_foreign_counted": "a card of another deck was counted",
    "seen_hand_dealt_again": "the shoe deals a hand again after a card drawn early",
    "seen_holder_absent_declared": (
        "it was declared that a Player who handles the cards or the shoe is away"
    ),
    "seen_host_power_lost": "the host lost power in a round",
    "seen_illegible": "what the shoe sent could not be read: a card may be missing",
    "seen_late_wager": "a wager was placed after no more bets",
    "seen_late_wager_tried": "someone tried to place a wager after no more bets",
    "seen_late_withdrawal": "a wager was withdrawn after no more bets",
    "seen_late_withdrawal_tried": "someone tried to withdraw a wager after no more bets",
    "seen_link_lost": "the link to the shoe was lost in a round",
    "seen_missed_draw_declared": "it was declared that a card was due and not drawn",
    "seen_missing_card_declared": "it was declared that a card is missing",
    "seen_no_result": "the shoe's own result did not come",
    "seen_not_the_next_card": "a card came that is not the shoe's next one",
    "seen_order_altered_declared": "it was declared that the order of the cards was altered",
    "seen_other_declared": "something was declared that the rules do not cover",
    "seen_out_of_view": "the shoe was out of full view",
    "seen_outage": "nothing could be stored for a while",
    "seen_over_maximum": "a wager over the maximum was found",
    "seen_place_named_wrongly": (
        "the shoe named {hand:hand}'s card {index} where {due_hand:hand}'s card {due_index} was due"
    ),
    "seen_power_failure_declared": "a loss of power was declared",
    "seen_pushed_back": "a card was pushed back into the shoe in a round",
    "seen_ran_back": "a card ran back into the shoe",
    "seen_record_differs": "the shoe's record of a card contradicts what was entered",
    "seen_restarted_in_round": "the controller was restarted in a round",
    "seen_result_differs": "the shoe judged the round otherwise than its cards do",
    "seen_result_too_early": "the shoe judged the round while a card is due",
    "seen_review": "the table is paused for review",
    "seen_round_quit": "the shoe was told to quit the round",
    "seen_round_void": "the round was void",
    "seen_seen_while_moved_declared": (
        "it was declared that a card was seen while the shoe was moved"
    ),
    "seen_set_loaded": "a set of cards was loaded in a round",
    "seen_set_refused": (
        "the loaded cards are not the {decks} decks of {deck} that this table is set for"
    ),
    "seen_shoe_cannot_read": "the shoe could not read a card",
    "seen_shoe_empty": "the shoe is empty and a card is due",
    "seen_shoe_fault": "the shoe reports a fault",
    "seen_shoe_not_proved": "what is connected could not prove to be this table's shoe",
    "seen_shoe_opened": "the shoe was opened in a round",
    "seen_shoe_power_lost": "the shoe lost power in a round, or another took its place",
    "seen_shoe_reset": "the shoe was reset in a round",
    "seen_shoe_started_again": "the shoe started again in a round",
    "seen_shoe_tampered": "the shoe reports that someone tampered with it in a round",
    "seen_shoe_test_failed": "a part of the shoe failed its test in a round",
    "seen_storage_failed_in_round": (
        "the storage failed and the controller closed the link in a round"
    ),
    "seen_too_few_cards_left": "fewer cards are left than should be",
    "seen_too_many_cards_left": "more cards are left than the ledger allows",
    "seen_too_many_counted": "more cards of one face were counted than the decks hold",
    "seen_under_minimum": "a wager under the minimum was found",
    "seen_unforeseen": "the shoe sent something that no step is known for",
    "seen_unforeseen_event": "the shoe sent something that no step is known for: {event}",
    "seen_unshuffled_declared": "unshuffled cards were declared",
    "seen_wrong_order_declared": "it was declared that cards lie in a wrong order",
    "seen_wrong_player_declared": "it was declared that a hand was passed or exposed wrongly",
    # What the table waits for.
    "next_align": "say align, if the shoe stands between rounds and no card is missing",
    "next_align_in_round": (
        "{next}; before that see whether a card is missing, and if none is, align the shoe"
    ),
    "next_announce_outcome": "announce the outcome",
    "next_announce_totals": "announce both totals",
    "next_cards_being_seen": "the cards are being seen",
    "next_change_shoe": "load the next set of cards into the shoe; nothing is typed",
    "next_connect_shoe": "connect the shoe",
    "next_connect_this_tables_shoe": "connect this table's shoe",
    "next_declare_new_shoe": (
        "load the next set of cards into the shoe; if it does not report that itself, say "
        "declare_new_shoe"
    ),
    "next_draw": "draw {hand:hand}'s card {index}",
    "next_draw_third": "draw {hand:hand}'s third card",
    "next_expose": "expose {hand:hand}'s cards",
    "next_expose_third": "expose {hand:hand}'s third card",
    "next_holder_exposes": "{player} exposes {hand:hand}'s cards",
    "next_holder_exposes_third": "{player} exposes {hand:hand}'s third card",
    "next_holder_without_wager": (
        "the Player with the shoe has no wager: an assistant casino manager lets them draw, "
        "or the shoe goes back to the dealer"
    ),
    "next_name_card": (
        "enter {hand:hand}'s card {index} as it lies open, with a second person; never take it "
        "from a Player"
    ),
    "next_name_card_later": "name {hand:hand}'s card {index} when it lies open",
    "next_no_more_bets": "no more bets",
    "next_pass_cards": "pass {hand:hand}'s cards to {player}",
    "next_pass_cards_or_expose": (
        "pass {hand:hand}'s cards, face down, to {player}, or expose them"
    ),
    "next_pass_to_highest_wager": "pass {hand:hand}'s cards to the highest wager, or expose them",
    "next_pit_supervisor_names": (
        "the pit supervisor names who takes {hand:hand}'s cards, or the dealer exposes them"
    ),
    "next_place_your_bets": "place your bets",
    "next_push_shoe_in": "push a shoe in",
    "next_result": "wait for the shoe's own result",
    "next_resume_waits": "{next}; resume is not possible yet: {why}; if it stays so, declare other",
    "next_settle": "pay and collect, then settle",
    "next_storage_fault": (
        "deal no more, leave every card, call the box's operator; once it stores again, "
        "look at the cards, then resume (pit supervisor)"
    ),
    "next_the_shoe": "wait for the shoe",
    "next_wait_for_hello": (
        "wait for the shoe to say who it is; if it does not, shoectl doctor says why"
    ),
    "next_wait_for_link": "wait; {next}",
    "next_with_card_waiting": (
        "{next}; the card that was drawn waits face down, and takes its place when the table "
        "goes on"
    ),
    "next_not_applied": (
        "tell the pit: {count:count round rounds} not applied by the table system, first {round_id}"
    ),
    "next_with_trouble": "{next}; {trouble}",
    # What is wrong with the shoe or its line.
    "shoe_not_told": "the command was not sent to the shoe: {detail}",
    "shoe_line_suspended": (
        "too much garbage: the line is suspended until {until} UTC, then opened again; "
        "{then:clauses}"
    ),
    "shoe_does_not_hear": "the shoe sends but does not hear: {then:clauses}",
    "shoe_check_wire": "check its plugs and its cable, the wire to the shoe",
    "shoe_check_line": (
        "check the cable, the shoe's power, and profile, port and baud in [table.shoe]"
    ),
    "shoe_try_port": "then stop the daemon and run shoectl doctor",
    "shoe_no_hello": "no shoe has said who it is for {seconds} s: {then:clauses}",
    "shoe_refused_no_key": (
        "the shoe is refused, this table has no key for it: name a key_file with its key, or "
        "is it another shoe?"
    ),
    "shoe_refused_not_proved": (
        "the shoe is refused, it said who it is and did not prove it: is it this table's shoe?"
    ),
    "shoe_refused_unauthenticated": (
        "the shoe is refused, it proves nothing: an impostor or the wrong shoe; connect the shoe "
        "that has the key"
    ),
    "shoe_refused_wrong_key": (
        "the shoe is refused, its proof does not fit this table's key: is it this table's shoe?"
    ),
    "shoe_refuses_draw": "the shoe refuses draw {draw}: {why:arm_refusal}",
    # People at the table.
    "player_by_id": "Player {player}",
    "player_by_seat": "seat {seat}",
    "player_of_highest_wager": "the Player with the highest wager",
    "player_not_named": "the Player",
    # What came of a command.
    "done": "{happened:clauses}; next: {next}",
    "done_nothing": "next: {next}",
    "done_bets_closed": "bets are closed",
    "done_card_corrected": "{hand:hand}'s card is corrected",
    "done_card_moved": "the card goes to {hand:hand}",
    "done_card_not_due": "{hand:hand}'s third card was not due",
    "done_cards_exchanged": (
        "{one:place} and {other:place} have changed places (exchange {count})"
    ),
    "done_cards_passed": "{hand:hand}'s cards are with {player}",
    "done_cards_refused": "{player} does not take {hand:hand}'s cards",
    "done_cards_replaced": "the cards are replaced",
    "done_cards_retrieved": "{hand:hand}'s cards are taken back from {player}",
    "done_cards_revealed": "{hands}",
    "done_change_due": "no further round is dealt from these cards",
    "done_count_agrees": "{left:count card cards} left, as the table counts",
    "done_count_differs": "{left:count card cards} left, which is not what the table counts",
    "done_dealer_has_shoe": "the dealer has the shoe",
    "done_draw_allowed": "{player} may draw without a wager",
    "done_early_card_kept": (
        "the card drawn early is {place:place}: lay it there, face {face:face}"
    ),
    "done_first_hand": "{hand:hand}'s cards are turned first",
    "done_hand_shows": "{hand:hand} shows {cards:cards}",
    "done_irregularity_raised": "{key}: {seen}",
    "done_irregularity_resolved": "{key}: {how:how}",
    "done_method_breached": "it is recorded that the shoe was out of full view",
    "done_method_changed": "Method {method} is played from now on",
    "done_outcome": "{winner} wins, {total} to {against}",
    "done_outcome_revised": "the outcome is revised: {outcome}",
    "done_outcome_ruled": "revised by a ruling, against the Table of Play: {outcome}",
    "done_player_has_shoe": "{player} has the shoe",
    "done_round_opened": "round {round_id} is open",
    "done_retracted": "{key} is taken back",
    "done_wager_retracted": "seat {seat}: {amount} plays on {wager}, as before",
    "done_round_reopened": "the outcome does not stand: the round goes on",
    "done_round_settled": "the round is settled",
    "done_round_void": "the round is void, all wagers go back",
    "done_seats_stand": "seat {seats} lets the wagers stand",
    "done_seats_withdraw": "seat {seats} withdraws",
    "done_shoe_loaded": "the next cards are {shoe_id}",
    "done_shoe_recorded": "how the shoe was put in is recorded",
    "done_shoe_told": "the shoe is told: {command:how}",
    "done_table_halted": "the table is halted: {reason}",
    "done_table_resumed": "play goes on",
    "done_tie": "tie, {player} to {banker}",
    "done_total": "{hand:hand} {total}",
    "done_totals_announced": "{totals}",
    "done_wager_as_if_it_stood": "seat {seat}: {wager} is settled as if it stood",
    "done_wager_decreased": "seat {seat}: {change} less on {wager}, now {amount}",
    "done_wager_found_late": "seat {seat}: {change} on {wager} is late and is not honoured",
    "done_wager_gets_more": "seat {seat} gets {amount} more on {wager}",
    "done_wager_goes_back": "seat {seat}: {change} on {wager} goes back",
    "done_wager_increased": "seat {seat}: {change} more on {wager}, now {amount}",
    "done_wager_loses": "seat {seat}: {wager} loses, collect {collected}",
    "done_wager_owes": "seat {seat} owes {amount} on {wager}",
    "done_wager_placed": "seat {seat}: {change} on {wager}",
    "done_wager_recorded": "seat {seat}: {wager} is recorded, {amount} plays",
    "done_wager_revised": "seat {seat}: {wager} is settled again, no money changes hands",
    "done_wager_wins": "seat {seat}: {wager} wins, pay {pays}",
    "done_wagers_restricted": (
        "from the next round an area takes {number:count wager wagers} at most"
    ),
    "done_wagers_settled": "{pays} paid, {collected} collected, {returned} given back",
    "done_wagers_settled_with_commission": (
        "{pays} paid, commission {commission}, {collected} collected, {returned} given back"
    ),
    "done_wagers_unrestricted": "from the next round the number of wagers is not restricted",
    "done_window_closed": "the withdrawal window is closed",
    "done_window_opened": "a withdrawal window is open",
    # What would come of a command.
    "preview": "would happen: {happened:clauses}; then next: {next}",
    "preview_nothing": "then next: {next}",
    "preview_of_shoe": "what follows is for the shoe to say",
    "preview_reveals": "would be seen: {cards:place}; what follows depends on them",
    # A choice, and what comes of it.
    "choice_label": "{choice:choice_name}",
    "choice_either": "{one}; or {other}",
    "choice_step_stays": "the same question stays open",
    "choice_leads_to_step": "then: {prompt}",
    "choice_leads_to_earlier": "then what was open before it is decided",
    "choice_voids_round": "the round is void, and all wagers go back",
    "choice_answers": "the question is answered",
    "choice_resumes": "play goes on where it was left",
    "choice_resumes_in": "the table is then: {state:state}",
    # Why a command was not taken: the command, its arguments and who gave it.
    "refused_no_such_command": "no such command: {command}",
    "refused_command_misspelt": "no such command: {command} (is it {meant}?)",
    "refused_too_many_previews": "{most} previews in ten minutes are the most: wait a while",
    "refused_no_preview": "{command} cannot be previewed now",
    "refused_in_this_state": "{command} cannot be taken now (the table is {state:state})",
    "refused_not_now": "it cannot be taken now",
    "refused_each": "{reasons:clauses}",
    "refused_nothing_to_decide": "there is nothing to decide now",
    "refused_nothing_to_declare": "there is nothing to declare now",
    "refused_position_too_low": "{what} needs {position:a_position}",
    "refused_needs_higher": (
        "that needs {least:a_position} or a higher position, not {position:a_position}"
    ),
    "refused_nobody_may": "nobody may do that, {position:a_position} neither",
    "refused_against_reading": "to contradict what the shoe read takes {position:a_position}",
    "refused_needs_consent": "{what} needs the consent of another person",
    "refused_no_consent": "{what} needs the consent of another person: {why}",
    "refused_second_person_asks": "{name} is who asks",
    "refused_second_person_is_asker": "{name} is who asks; name {others:or}",
    "refused_second_person_is_asker_alone": (
        "{name} is who asks; add a [[socket.user]] for the second person: {user} is the only one"
    ),
    "refused_second_person_not_logged_in": "{name} did not log in for it: say so in consent_login",
    "refused_second_person_unknown": "{name} is no configured user; name {others:or}",
    "refused_second_person_unknown_alone": (
        "{name} is no configured user; add a [[socket.user]] for the second person: {user} "
        "is the only one"
    ),
    "refused_nobody_to_consent": (
        "{why}; add a [[socket.user]] for the second person: {user} is the only one"
    ),
    "refused_consent_too_low": (
        "{what} needs the consent of {position:a_position} or above: {name} acts up to {positions}"
    ),
    "refused_id_of_another_user": (
        "command_id {command_id} was used before, by another user: give each command its own id"
    ),
    "refused_id_of_another_command": (
        "command_id {command_id} was used before, for another command: give each command its own id"
    ),
    "refused_another_round_open": "round {round_id} is not the open round, {open} is",
    "refused_round_not_open": "round {round_id} is not open, and no other is",
    "refused_takes_no_arguments": "there is no {argument}=... here: it takes no arguments",
    "refused_command_takes_no_arguments": (
        "{command} takes no arguments: there is no {argument}=... here"
    ),
    "refused_argument_bounds": "{argument}: expected {wanted:json_type or} {bounds}",
    "refused_argument_length": "{argument}: expected a text of length {bounds}",
    "refused_no_such_argument": "there is no {argument}=... here: it takes {takes}",
    "refused_arguments_missing": "say {arguments}",
    "refused_argument_is_one_of": "{argument}: it is {values:or}",
    "refused_argument_kind": "{argument}: expected {wanted:json_type or}",
    "refused_argument_other_kind": (
        "{argument}: expected {wanted:json_type or}, not {given:json_type}"
    ),
    "refused_amount_kind": (
        "{argument}: expected a whole number of the smallest unit of money, for example 500 for "
        "5.00 where that is the cent"
    ),
    "refused_argument": "{argument}: {detail}",
    "refused_arguments": "{detail}",
    "refused_no_such_choice": "the choice is one of {choices}",
    "refused_no_such_key": "the key is one of {keys}",
    "refused_key_in_this_state": "{key} cannot be declared now (the table is {state:state})",
    "refused_key_of_halt": "{key} cannot be declared: the table was {state:state}",
    "refused_key_is_open": "{key} is open already",
    "refused_key_takes": "{key} takes {takes}, not {given}",
    "refused_only_in_its_round": "{key} is declared in its own round",
    "refused_say_earlier": (
        "no round is open; for a wager that an earlier round settled say earlier=true"
    ),
    "refused_bets_still_open": "bets are still open: refuse the wager, or change it",
    "refused_declared_without_reason": "a reason is missing: say what was seen",
    "refused_decided_without_reason": "a reason is missing: what is decided is recorded with it",
    "refused_entry_without_reason": "a reason is missing: what is entered is recorded with it",
    "refused_retraction_without_reason": "a reason is missing: it is recorded with the retraction",
    "refused_nothing_to_retract": "nothing was declared that can be taken back now",
    "refused_no_such_declaration": (
        "no such declaration; these were declared since the last round: {declarations}"
    ),
    "refused_declaration_ended": "{key} has ended: it cannot be taken back",
    "refused_declaration_acted_on": "{key} was acted on since: decide it",
    "refused_retract_first": "others were declared since: retract {declarations} first",
    "refused_decide_before": "{key} was raised since: decide it first",
    "refused_wager_changed_since": "seat {seat}: the wager on {wager} has changed since",
    "refused_correction_without_reason": ("a reason is missing: a correction is recorded with it"),
    "refused_revision_without_reason": "a reason is missing: what is revised is recorded with it",
    "refused_discretion_without_reason": (
        "this is at reasonable discretion: record it with a reason"
    ),
    # Why a command was not taken: the round and its cards.
    "refused_no_round": "no round is open",
    "refused_round_not_complete": "the round is not complete",
    "refused_result_not_come": "the shoe's own result has not come yet",
    "refused_not_every_card_seen": "not every card is seen",
    "refused_totals_announced": "the totals are announced",
    "refused_cards_being_seen": "the cards are being seen",
    "refused_cards_revealed": "cards are revealed already",
    "refused_no_card_face_down": "no card lies face down",
    "refused_card_not_face_down": "{hand:hand}'s card {index} does not lie face down",
    "refused_no_card_open": "no such card lies open",
    "refused_no_card_shown": "no card of the round lies open",
    "refused_card_not_open": "that card does not lie open; these can be corrected: {open}",
    "refused_open_card": "{hand:hand}'s card {index}",
    "refused_same_card": "it is {card} already",
    "refused_round_is_settled": ("round {round_id} is settled: revise_round corrects its outcome"),
    "refused_no_card_dealt": "no card is dealt",
    "refused_third_card_due": "{hand:hand}'s third card is due",
    "refused_hand_size": "a hand has two cards or three",
    "refused_hand_must_draw": "the round is not complete: {hand:hand} draws",
    "refused_needs_ruling": (
        "by the Table of Play {why}; to rule that these cards stand, add against_table=true"
    ),
    "refused_no_ruling_needed": (
        "the Table of Play gives these hands: no ruling is needed, leave out against_table"
    ),
    "refused_no_round_of_so_many": "no round has {player} cards for Player and {banker} for Banker",
    "refused_natural_ends_round": "a Natural ends the round: no third card is due",
    "refused_banker_before_player": "Banker has a third card before Player's third card was dealt",
    "refused_player_stands": "Player stands on {total}: no third card is due",
    "refused_banker_stands": "Banker stands on {total} against {against}: no third card is due",
    "refused_against_total": "Player's {total}",
    "refused_against_card": "Player's third card {card}",
    "refused_card_was_seen": (
        "{hand:hand}'s card {index} was seen to be {card}; if that is wrong, the gaming shift "
        "manager says so: correct_card, or against_reading=true"
    ),
    "refused_card_left_out": "{hand:hand} has a card {index} on the table",
    "refused_all_of_card_seen": "every {card} that the decks hold was seen already",
    "refused_not_a_card": "{card} is no card; name rank and suit, as in {example}",
    "refused_not_of_deck": "{card} is not a card of this deck",
    "refused_no_such_card": "there is no card {card}",
    "refused_same_cards": "those are the cards of the outcome as it stands",
    "refused_no_outcome_to_revise": "there is no outcome that can be revised",
    "refused_round_unknown": (
        "there is no round {round_id} at this table; shoectl rounds lists them"
    ),
    "refused_round_unreadable": "the records of round {round_id} cannot be read; see the log",
    "refused_round_taken_out": "the records of round {round_id} were removed: it cannot be revised",
    "refused_applied_not_kept": (
        "table {table} does not keep what was applied: set applied_within_s in its section"
    ),
    "refused_applied_forgotten": "round {round_id} is too old: the table keeps the last two shoes",
    "refused_applied_reopened": "round {round_id} goes on after its outcome: wait for how it ends",
    "refused_applied_void": "round {round_id} is void by now: apply that",
    "refused_applied_superseded": "round {round_id} was revised since: apply the newest revision",
    "refused_applied_twice": ("round {round_id}: user {user} applied this already, as {reference}"),
    "refused_shoe_kept_in_part": (
        "shoe {shoe_id} was under way when the table began to keep this: it cannot be compared"
    ),
    "refused_shoe_not_kept": "no rounds of shoe {shoe_id} are kept: only the last two shoes' are",
    "refused_shoe_round_open": "round {round_id} is open: state the shoe once it is over",
    "refused_shoe_agreed": "shoe {shoe_id} was compared already, and agreed",
    "refused_applied_no_right": "user {user} may not report what was applied: set applies = true",
    "refused_applied_unknown": "no outcome, revision or void has the id {event} in the journal",
    "refused_applied_other_source": (
        "event {event} is of another source than {source}: apply the one of {now}"
    ),
    "refused_round_not_settled": "round {round_id} was not settled: there is no outcome to revise",
    "refused_round_under_other_rules": (
        "round {round_id} was played under other rules or another version: it cannot be revised"
    ),
    "refused_round_of_older_shoe": (
        "round {round_id} is of an older shoe than the one before this: it cannot be revised"
    ),
    "refused_no_cards_were_dealt": "no cards were being dealt: the table was {state:state}",
    "refused_window_is_open": "a withdrawal window is open: close it first",
    # Why a command was not taken: the shoe.
    "refused_no_shoe": "no shoe is known",
    "refused_align_first": "a person must say first where the shoe stands: align",
    "refused_is_aligned": "the shoe is aligned already",
    "refused_not_aligned": "the shoe is not aligned: a pit supervisor says align",
    "refused_link_down": "the link to the shoe is down",
    "refused_another_set": "the shoe holds another set of cards than the round began with",
    "refused_cards_are_missing": "the shoe counts cards that it did not report",
    "refused_shoe_names_its_set": "the shoe says itself which cards it holds",
    "refused_cutting_card_is_out": "the cutting card is out already",
    "refused_shoe_is_recorded": "how these cards were put in is recorded already",
    "refused_unlike_backs": "cards with unlike backs are not played: load another set",
    "refused_other_decks": "the table counts {decks:count deck decks}: load another set",
    "refused_say_what_is_left": "say how many cards are left, or which: one of the two",
    "refused_shoe_not_met": "the shoe has not said yet who it is",
    "refused_shoe_not_answered": "the shoe was told so, and has not answered yet",
    "refused_shoe_cannot": "the {profile} shoe cannot {what:shoe_command}",
    "refused_link_without_key": (
        "the {profile} shoe cannot be given a new key: the link to it has none"
    ),
    "refused_commands_not_configured": (
        "no command is sent to this shoe: its configuration does not say commands = true"
    ),
    "refused_question_not_known": "the {profile} shoe can be asked {questions}",
    "refused_no_key_id": "say which key: key_id=...",
    "refused_declare_device_reset": (
        "bets are closed: declare device_reset first, its step resets the shoe"
    ),
    # Why a command was not taken: hands and the shoe with Players.
    "refused_say_to_whom": "say who it is passed to, by player or by seat",
    "refused_name_player": "name the Player, by player or by seat",
    "refused_name_player_by_id": (
        "name the Player by id: wagers are recorded, and decide how long the shoe stays"
    ),
    "refused_name_player_or_designee": "name the Player or the designee",
    "refused_say_player_or_seat": "say player=... or seat=...",
    "refused_hand_is_held": "{player} holds {hand:hand}'s cards",
    "refused_hand_goes_to": "{hand:hand}'s cards go to {player}",
    "refused_hand_given_to_nobody": "{hand:hand}'s cards were given to no Player",
    "refused_nobody_holds_hand": "no Player holds {hand:hand}'s cards",
    "refused_holder_exposes": "{player} holds {hand:hand}'s cards and exposes them",
    "refused_other_hand_first": "{hand:hand}'s cards are revealed first",
    "refused_pass_hand_first": (
        "pass {hand:hand}'s cards to {player} first, or say that they refuse them"
    ),
    "refused_pit_supervisor_names": (
        "no Player with a wager on {hand:hand} takes the cards: a pit supervisor names who does"
    ),
    "refused_hand_not_face_down": "{hand:hand} has no card face down",
    "refused_hand_not_dealt": "no card of {hand:hand} is dealt",
    "refused_hand_is_opened": (
        "{hand:hand}'s cards are opened: where no Player squeezes them the dealer exposes them"
    ),
    "refused_holder_is_away": (
        "the Player who had {hand:hand}'s cards is away: the dealer exposes them"
    ),
    "refused_all_face_up": "all cards are dealt face up here, and no Player handles them",
    "refused_say_which_hand": "{why}; if a hand's holder is away, say which hand",
    "refused_no_draw_say_hand": "no card is to be drawn now: say which hand the Player holds",
    "refused_no_handling_in_game": "in {game} no Player handles the cards",
    "refused_no_handling_in_method": "in Method {method} no Player handles the cards",
    "refused_dealer_passes_in_c": "in Method C the dealer passes cards on: pass_cards",
    "refused_no_order_in_c": "in Method C no order is set",
    "refused_no_shoe_in_game": "in {game} nobody is handed a shoe",
    "refused_no_shoe_in_method": "in Method {method} only the dealer has the shoe",
    "refused_shoe_is_held": "{player} has the shoe until they give it back or their wager loses",
    "refused_shoe_with_dealer": "no Player has the shoe: it is with the dealer",
    "refused_draws_without_wager": (
        "{player} has no wager, and draws only by an assistant casino manager's leave"
    ),
    "refused_nobody_has_wager": (
        "no Player has a wager, and one draws only by an assistant casino manager's leave"
    ),
    "refused_has_leave": "that Player has leave already",
    "refused_game_has_no_methods": "{game} has no methods to choose from",
    "refused_no_such_method": "{game} has no Method {method}, it has {methods}",
    "refused_method_in_force": "Method {method} is in force",
    "refused_method_not_here": (
        "Method {method} is for {areas:and}, and this table stands in {area}"
    ),
    # Why a command was not taken: open steps.
    "refused_paused_already": "the table is paused for review already",
    "refused_halted_otherwise": "the table is halted for another reason: decide",
    "refused_decide_first": "what came since is decided first",
    "refused_cards_without_place": "cards were drawn that have no place in the round",
    "refused_no_card_before_it": "no card of the round was dealt before it",
    "refused_nothing_to_set_aside": "no cards are there to be set aside",
    "refused_round_wants_cards": "the round may want the cards",
    "refused_name_two_cards": "name two different cards",
    "refused_no_two_cards": "no two cards that are known lie there unseen",
    "refused_no_card_there": "no card lies there: {place:place}",
    "refused_early_card_stays": "this shoe's early card stays where it is: the open cards decide",
    "refused_card_stays": "everyone has seen {place:place}: it stays where it is",
    "refused_exchanged_before": (
        "{one:place} and {other:place} were exchanged already: to exchange them again, say "
        "again=true"
    ),
    "refused_card_not_known": "it is not known what {place:place} is: name it when it lies open",
    "refused_no_card_inspected": "no card that was read is under inspection",
    "refused_card_inspected": "a card is under inspection",
    "refused_no_card_due": "no card is due",
    "refused_no_card_missed": "no card was missed",
    "refused_no_card_kept": "no card was kept",
    "refused_no_card_awaited": "no card of a round is awaited",
    "refused_place_kept_first": "a card that was kept was drawn before it: place that one first",
    "refused_enter_missed_first": "an earlier card was missed: enter that one first",
    "refused_earlier_cards_first": "cards that were drawn before them have no place yet",
    "refused_order_them_first": "it was drawn together with others: they are put in order first",
    "refused_card_in_place": "that card lies in its place already",
    "refused_cards_in_place": "by the shoe's count they lie in their places already",
    "refused_card_face_down": "it lies face down: name it when it is exposed",
    "refused_name_open_card": "it lies open: name the card",
    "refused_see_cards_first": "no card is due before those on the table are seen",
    "refused_card_drawn_after": "a card was drawn after it",
    "refused_totals_with_card": "the totals were announced with it",
    "refused_shoe_counts_fewer": (
        "the shoe counts fewer cards than were entered: take_back, or recount"
    ),
    "refused_fewer_cards_out": "{cards:count card cards} of the round out",
    "refused_no_shoe_set_aside": "no shoe is known: the cards can only be set aside",
    "refused_card_unknown": "it is not known which card it is",
    "refused_seen_card_opens": "a card that was seen never opens a round",
    "refused_opening_card_lies": "a card lies there already that opens the round",
    "refused_no_further_round": "no further round is dealt from this shoe",
    "refused_initial_deal_open": "the initial deal is not complete, and two cards might not do",
    "refused_no_such_card_gone": "no such card lies face down: what was seen is known",
    "refused_surveillance_first": "surveillance has not said yet what was seen: choose seen first",
    "refused_drawn_with_others": (
        "it was drawn with others, and the shoe does not know which of them it is"
    ),
    "refused_shoe_did_not_read": "the shoe could not read it",
    "refused_cards_named": "{named:count card cards} named, and {missing} missing",
    "refused_player_has_answered": "{player} has answered: the window is closed for them",
    "refused_seat_has_answered": "seat {seat} has answered: the window is closed for it",
    "refused_nothing_to_withdraw": "{player} has no wager that may be withdrawn",
    "refused_nothing_to_withdraw_at": "{player} has no wager that may be withdrawn at seat {seat}",
    "refused_nothing_at_seat": "there is no wager that may be withdrawn at seat {seat}",
    "refused_none_goes_alone": "no wager can be withdrawn alone",
    "refused_nothing_left_to_withdraw": "no wager is left that may be withdrawn",
    "refused_several_at_seat": "several Players have wagers at seat {seat}: say player=...",
    # Why a command was not taken: wagers.
    "refused_say_whose_wager": "say whose wager it is",
    "refused_no_such_seat": "the layout has no seat {seat}",
    "refused_no_such_wager": "{game} has no wager {wager} (have: {wagers})",
    "refused_wager_not_on_layout": "layout {layout} does not offer {wager}",
    "refused_amount": "an amount is from 1 to {most} minor units, not {amount}",
    "refused_nobody_acts_for_player": "nobody acts for a Player in {game}",
    "refused_late_wager": "after no more bets no wager may be placed",
    "refused_late_withdrawal": "after no more bets no wager may be withdrawn",
    "refused_too_many_players": "{game} takes {most:count Player Players} at once",
    "refused_area_is_full": "seat {seat} takes {most:count wager wagers} on {wager}",
    "refused_every_area_is_full": "every area has as many wagers as it takes",
    "refused_under_minimum": "{amount} on {wager} is under the minimum of {minimum}",
    "refused_over_maximum": "{amount} on {wager} is over the maximum of {maximum}",
    "refused_player_without_wager": "{player} has no wager on {wager} at seat {seat}",
    "refused_no_wager_at_seat": "there is no wager on {wager} at seat {seat}",
    "refused_several_with_wager": (
        "several Players have a wager on {wager} at seat {seat}: say player=..."
    ),
    "refused_no_clear_bets": "in {game} wagers are withdrawn one by one",
    "refused_no_wagers": "no wagers lie on the layout",
    "refused_no_restriction_in_game": "nobody may restrict the number of wagers in {game}",
    "refused_restriction_to_none": "an area takes at least one wager",
    "refused_restriction_too_high": "a restriction is to fewer than {most} wagers, not {number}",
    "refused_differential_not_exceeded": "the table differential is not exceeded",
    "refused_no_wager_to_change": "there is no wager to {change}",
    "refused_not_of_differential": "{wager} does not count for the differential",
    "refused_increase_widens": "to increase wagers on {hand} would widen it",
    "refused_decrease_widens": "to decrease wagers on {hand} would widen it",
    "refused_exceeds_other_hand": "the differential would be exceeded on {hand}",
    "refused_within_limit": "{amount} on {wager} is not {limit:limit}",
    "refused_within_limit_but_late": (
        "{amount} on {wager} without the {late} that came late is not {limit:limit}"
    ),
    "refused_ledger_holds_more": (
        "the ledger holds {amount} there; chips that are gone are a withdrawal"
    ),
    "refused_nothing_is_late": "bets are still open: nothing is late yet",
    "refused_wager_is_decided": "{wager} is decided: it stays",
    "refused_withdraw_all_or_none": (
        "{player} withdraws all wagers or none: decide choice=withdraw_all"
    ),
    "refused_withdraw_remaining": (
        "{player} withdraws all remaining wagers or none: decide choice=withdraw_all"
    ),
    "refused_has_that_wager": "{player} has that wager already: increase it",
    "refused_wager_is_less": "the wager is {amount}: it cannot be {less} less",
    "refused_none_can_be_more": "there is no wager that can be more",
    "refused_none_can_be_less": "there is no wager that can be less",
    "refused_nothing_left": "nothing would be left of the wager: withdraw it",
    # Why the link to the shoe was lost.
    "link_closed": "closed by the other end: {port}",
    "link_closed_here": "closed: {port}",
    "link_decoding_failed": "decoding failed",
    "link_events_lost": "events {first} to {last} of shoe {device_id} are lost",
    "link_failed": "{port}: {error}",
    "link_garbage": "too much garbage on the line",
    "link_no_answer": "no more answers: {port}",
    "link_silent": "nothing received for {seconds} s",
    "link_stalled": "endpoint stalled: {port}",
    "link_unplugged": "unplugged: {port}",
    "link_unsent": "{why}; {bytes} bytes to it were not sent",
    "link_write_queue_full": "write queue full: {port} reads nothing, {waiting} bytes are waiting",
    # Why events are not sent, or not any more.
    "events_at_the_socket": "events that come are sent at the local socket alone: name after",
    "events_connection_in_use": (
        "this connection sends events and takes no request: open another one"
    ),
    "events_id_invalid": (
        "after: expected an event's id such as {example}, or beginning; not {after}"
    ),
    "events_id_of_other_audience": (
        "after: {after} is not of the {audience} stream, whose ids are such as {example}"
    ),
    "events_id_of_other_table": "after: {after} is not an event of table {table}",
    "events_none": "there is no event {after}: the journal has no event of that table",
    "events_not_for_all_tables": (
        "what follows {after} is known for its own table only: name the table, or give an id "
        "that the journal has"
    ),
    "events_not_for_this_user": (
        "user {user} may see the public stream only: the user's audience in the configuration says "
        "so"
    ),
    "events_not_kept": (
        "what follows {after} is not in the journal any more: it has {first} to {last}"
    ),
    "events_removed": (
        'the next events were removed from the journal: ask again with after "beginning"'
    ),
    "events_source_alone": "source: it belongs to the id in after, which is missing",
    "events_source_invalid": "source: {source} is not the source of the event in after",
    "events_source_unknown": "the journal never had an event {after} of source {source}",
    "events_unknown": "there is no event {after}: the journal has {first} to {last}",
    # Why past rounds are not told.
    "rounds_removed": "{id} was removed from the journal: it is in an export",
    "rounds_unknown": "the journal has no {id} of table {table}",
    "rounds_without_table": "name a table, a shoe or a round (tables: {tables})",
    # Why events are not offered to a sink again.
    "sink_after_invalid": "after: expected an event's id such as {example}, not {after}",
    "sink_ended": "sink {sink} takes nothing any more: {why}",
    "sink_nothing_parked": "no event of a sink {sink} is parked",
    "sink_of_other_audience": (
        "sink {sink} gets the {audience} stream, whose ids are such as {example}, and not {after}"
    ),
    "sink_of_other_table": "sink {sink} gets the events of table {table} only",
    "sink_unknown": "there is no sink {sink} (there is: {sinks})",
    "sink_unknown_none": "there is no sink {sink}, and no other",
    "sink_upto_of_other_table": "upto: {upto} is not an event of the same table as {after}",
    "sink_resends_too_soon": "user {user} had many events sent again just now: ask again in "
    "{seconds} s",
    "sink_resends_too_many": "user {user} gets events at {most} places already: ask again later",
    # Why a request is not read, or not handled.
    "request_incomplete": "the last line has no end: nothing of it was done",
    "request_invalid": "{detail}",
    "request_too_long": "a request may hold {most} bytes",
    # What the daemon answers by itself.
    "daemon_rotate_key_refused": "{detail}",
    "daemon_starting": "the daemon is starting: ask again",
    "daemon_user_unknown": "user {user} has no position at this daemon's tables",
    "daemon_too_many_connections": "user {user} has {most} connections open already",
    "daemon_failed": "{detail}",
    "daemon_journal_failed": "{detail}",
    "daemon_failed_before": (
        "the storage failed while an earlier daemon served, which could not note why"
    ),
    "daemon_loss_not_ruled": "{detail}",
    "daemon_loss_ruled": "{lost:clauses}; {person} ({position}) ruled that it goes on: {reason}",
    "daemon_not_handled": "the command could not be handled; the table is halted",
    "daemon_disk_full_soon": (
        "the disk is full in {hours} h, and then every table halts: call the technician"
    ),
    "daemon_storage_fault": "storage fault, nothing is stored, acknowledged or published: {detail}",
    "daemon_sink_away": "sink {sink} is away since {since} and is tried again: {why}",
    "daemon_sink_ended": "sink {sink} ended at {since} and is not tried before a restart: {why}",
    "daemon_sink_refused": "the sink refused it: {detail}",
    "daemon_no_such_table": "no table {table} is served here: there is {tables}",
    "daemon_table_not_yours": "user {user} may not command table {table} over this broker: "
    "add it to the sender's tables",
    "daemon_command_retained": "a retained command is not done: send it without retain",
    "daemon_command_expired": "the command expired before its turn came: nothing of it was done",
    "daemon_response_topic": (
        "the response topic is not the user's own: use shoe/v1/TABLE/answers/USER, or one below it"
    ),
    "daemon_not_staff": "user {user} is {own:position}: only staff of a table see who is who there",
    "daemon_does_not_vouch": "user {user} vouches for nobody: leave out login and consent_login",
    "daemon_notes_no_right": "user {user} vouches for no logins: it has nothing to note",
    "daemon_login_missing": "user {user} vouches for logins: say in login who gives the command",
    "daemon_login_of_another_person": "{login} logged in, and the command names {person}",
    "daemon_login_not_in_position": "{person} acts up to {own}, not as {position}",
    "daemon_not_in_position": "user {user} acts up to {own}, not as {position}",
    "daemon_no_loss": "this journal shows no loss; there is nothing to rule on",
    "daemon_loss_without_reason": "a reason is missing: say why the lost part cannot be put back",
    "daemon_key_without_reason": "a reason is missing: say why another key signs the journal",
    "daemon_loss_takes_no_arguments": "accept_loss takes no {arguments}",
    "daemon_loss_takes_no_round": "accept_loss takes no round: it is not about one",
}

WORDS: Mapping[str, Mapping[str, str]] = {
    "hand": {"player": "Player", "banker": "Banker"},
    "state": {"no_shoe": "no shoe", "shoe_change": "shoe change"},
    "position": {
        "pit_supervisor": "pit supervisor",
        "pit_manager": "pit manager",
        "gaming_shift_manager": "gaming shift manager",
        "assistant_casino_manager": "assistant casino manager",
    },
    "head": {"rounds_per_hour": "rounds/h", "halts_per_hour": "halts/h"},
    "link": {
        "lost": "lost: the shoe cannot be heard",
        "unidentified": "unidentified: the port is open, and no shoe has said yet who it is",
        "does_not_hear": "up: the shoe sends, and does not hear",
        "refused": "refused: who speaks is not this table's shoe",
        "suspended": "suspended: the line brings too much garbage",
    },
    "scope": {
        "any": "any wager",
        "all": "all of their wagers or none",
        "remaining": "all of their wagers that are not decided, or none",
    },
    "answer": {"unknown": "the shoe cannot tell"},
    "money": {"pays": "pay", "collected": "collect", "returned": "give back"},
    "result": {
        "win": "wins",
        "lose": "loses",
        "push": "is a push",
        "returned": "is returned",
    },
    "a_position": {
        "dealer": "a dealer",
        "pit_supervisor": "a pit supervisor",
        "pit_manager": "a pit manager",
        "gaming_shift_manager": "a gaming shift manager",
        "assistant_casino_manager": "an assistant casino manager",
        "surveillance": "surveillance",
    },
    "choice_name": {
        "close_window": "close the window",
        "correct": "correct the card",
        "dealer_draws": "the dealer draws",
        "decrease": "decrease a wager",
        "decreased": "wagers were decreased",
        "determined": "the missing cards are determined",
        "device_is_reset": "the shoe is reset",
        "due": "it is the card that was due",
        "earlier_stand": "earlier rounds stand",
        "enter": "enter the card",
        "exchange": "exchange two cards",
        "expose": "expose the cards",
        "expose_later": "expose the cards later",
        "exposed": "a card was exposed",
        "first_card": "it opens the next round",
        "in_its_place": "it lies in its place",
        "increase": "increase a wager",
        "increased": "wagers were increased",
        "insufficient": "nobody changes a wager",
        "keep_cards": "keep the cards",
        "lower_first": "the lower card came first",
        "not_known": "the card is not known",
        "not_passed": "it was passed to no one",
        "offer_withdrawal": "offer withdrawals",
        "open_round": "they open the round",
        "order_from_shoe": "the shoe knows the order",
        "order_seen": "surveillance saw the order",
        "order_unknown": "nobody knows the order",
        "pass_on": "pass the hand on",
        "place": "put the card in its place",
        "play_face_down": "play it as if face down",
        "play_on": "play on",
        "read_again": "draw it again",
        "reconstruct": "reconstruct the order",
        "reconstructed": "the order is reconstructed",
        "recount": "count again",
        "rectified": "it is put right",
        "refer": "refer to the shift manager",
        "remove": "remove a wager",
        "removed": "wagers were removed",
        "replace_cards": "replace all cards",
        "replaced": "the cards are replaced",
        "retrieve": "take the hand back",
        "seen": "surveillance saw it",
        "set_aside": "set it aside",
        "shoe_is_empty": "the shoe is empty",
        "sorted": "the cards are sorted",
        "stand": "the wagers stand",
        "take_back": "take the entry back",
        "take_hands_back": "take hands back",
        "upper_first": "the upper card came first",
        "value_known": "the card is known",
        "void": "void the round",
        "withdraw_all": "withdraw all wagers",
    },
    "face": {"up": "up", "down": "down"},
    "nth": {"1": "first", "2": "second"},
    "place": {
        "player 1": "Player's card 1",
        "player 2": "Player's card 2",
        "player 3": "Player's third card",
        "banker 1": "Banker's card 1",
        "banker 2": "Banker's card 2",
        "banker 3": "Banker's third card",
        "drawn early": "the card drawn early",
    },
    "json_type": {
        "int": "a whole number",
        "str": "text",
        "bool": "true or false",
        "null": "null",
        "array": "a list",
        "object": "a group of values",
        "float": "a number with a fraction",
    },
    "how": {
        "key_endorsed": "endorsed by the old key",
        "key_lost": "the old key is lost, NOT ENDORSED",
        "key_change_not_recorded": "NO CHANGE RECORDED",
    },
    "limit": {"under_minimum": "under the minimum", "over_maximum": "over the maximum"},
    "shoe_command": {
        "reset": "be told to reset itself",
        "self_test": "be told to test itself",
        "query": "be asked anything",
        "clear_error": "be told to clear an error",
        "rotate_key": "be given a new key",
        "show": "be told to show anything",
    },
    "arm_refusal": {
        "locked_by_key": "it is locked by its key: unlock it",
        "empty": "it says that it is empty: count what is left, and declare missing_card_in_shoe",
        "memory_full": "its memory is full: if that does not pass by itself, declare other",
        "busy": "it is busy, or reports a fault: see to the shoe, else declare other",
        "already_drawn": "by its count that card is out: the table waits for its report",
        "not_the_next_draw": "by its count another draw is next: the table compares both counts",
        "other": "it does not say why: see to the shoe, else declare other",
    },
}
"""Names for the values of a kind; a value that is not here is written as it is."""

LISTS: Mapping[str, str] = {"": ", ", "or": " or ", "and": " and ", "clauses": "; ", "cards": " ",
         "facts": ", "}  # fmt: skip

CITED = "{text} ({rule})"

TYPED = "{code}"
