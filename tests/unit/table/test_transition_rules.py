"""The rule that each line of the tables cites: written from the documents, not from the tables.

``shoectl explain`` shows it. Numbers with letters differ from game to game: I is Immortal, N No
Commission, T Tiger, F Fa Fa. What no rule speaks of cites none.
"""

from __future__ import annotations

from shoe_ctl.table.transitions import ALWAYS, ROUND, SHOE, cells_by_situation

CARDS_STAND = "6.3"
REFERRED = "6.1"
POWER = "I 5.15, N/T/F 5.17"
ORDER = "5.7, reading"
FIRST_FOUR = "I/F 3.12, N/T 3.13"
THIRD_CARD = "I 3.13, N/F 3.14, T 3.15"
NOT_ENOUGH = "5.3"

AFTER_BETS = "closed cards halted_closed halted_cards"
ROUND_OPEN = "betting closed cards resolved"

BY_SITUATION = {
    # Cards that were dealt stand, whatever the reader, the link or a display reports of them.
    CARDS_STAND: {
        "link_lost": "cards",
        "link_lost.unheard": "cards halted_cards",
        "restarted": "cards",
        "restarted.unheard": "cards halted_cards",
        "gap": f"between {ROUND_OPEN} halted halted_closed halted_cards",
        "error.at_a_card": "betting halted_cards",
        "discarded.a_card": "betting closed cards halted_cards",
    },
    # A power failure matters from *no more bets* to the outcome, whatever else is open.
    POWER: {"restarted.power": AFTER_BETS, "started": AFTER_BETS},
    "5.2": {"card_pushed_back": AFTER_BETS},
    ORDER: {"left_over": AFTER_BETS},
    # No rule covers it.
    REFERRED: {
        "hello.another_set": "betting closed cards halted_cards",
        "shoe_loaded": "betting closed cards halted_cards",
        "card_outside_game": ROUND_OPEN,
        "redesignated": ROUND_OPEN,
        "error": "closed cards",
        "error.at_a_card": "closed cards",
        "lid.opened": "closed cards",
        "tamper": "closed cards",
        "self_test.failed": "closed cards",
        "reset_done": "closed cards",
        "not_genuine": "cards",
        "firmware.refused": "cards",
        "unforeseen": f"between {ROUND_OPEN}",
        "left_over": "no_shoe between betting resolved halted",
    },
}
"""Rule → message → the situations in which it is cited."""

ANYWHERE = {
    CARDS_STAND: "tick.result_overdue hello.cards_missed hello.fewer_cards card.entered"
    " card.read_late result.forced result.too_soon error.unread_card status.counts_differ"
    " unread_exposed card_unread card_unread.shown third_card.judged outcome.disputed",
    POWER: "tick.cards_seen hello.rebooted card.armed_before",
    ORDER: "card.undecided_in_pause card.unarmed card.early_undecided card_outside_game.undecided"
    " error.overdraw_undecided",
    REFERRED: "fault set.unlike card.in_pause card.without_shoe card.early redesignated.anew"
    " error.overdraw third_card.contested overdrawn overdrawn.after_outcome",
    "2.1": "card.burned",
    "I 3.16, N/F 3.17, T 3.22": "cutting_card",
    "I 3.16.1, N/F 3.17.1, T 3.22.1": "cutting_card.first",
    "5.1": "one_too_many",
    "5.1, 5.1.2": "count_disagrees",
    "5.1, 5.7, 6.1": "card.misfit",
    "5.2": "error.reverse_run",
    "5.6, 6.1": "face_up_first",
    "5.7": "card.first_in_pause",
    "5.8": "pull drawn_together",
    "5.9": "started.answers_step reset.answers_step",
    "5.11": "link_lost.shoe_sorted hello.shoe_sorted shoe_loaded.shoe_sorted",
    "5.11.1": "card.set_aside",
    "6.1, 6.3": "card.disputed",
    "I 5.16, N/T/F 5.18": "differential_due",
}
"""Rule → the messages and findings that cite it in every situation."""

IN_THE_ROUND = {
    "2.1": {"set.refused": "no_shoe idle shoe_change"},
    "3.1": {"place_your_bets": "idle", "first_wager": "idle"},
    "3.1, 3.2": {"card.in_turn": "idle"},
    "3.2": {"no_more_bets": "betting", "card.in_turn": "betting"},
    FIRST_FOUR: {"card.in_turn": "closed dealing", "card.fourth": "dealing"},
    THIRD_CARD: {"third_card_due": "revealing", "card.in_turn": "drawing"},
    "5.1.1": {"round_over": "suspended"},
    NOT_ENOUGH: {"deal.ran_out": "betting closed dealing", "third_card.ran_out": "revealing"},
    ORDER: {"third_card.early": "revealing", "card_corrected.card_due": "resolved"},
    "5.8": {"pull.opens_round": "idle betting"},
    "5.11.1": {"third_card.aside": "revealing"},
    # 5.11.5 after a Player took cards; 5.12.2 after the order was altered, in Method C.
    "5.11.5, N/T/F 5.12.2": {"change_due": "idle"},
    "I 6.1, N/T/F 5.13": {"change_decided": "idle"},
    REFERRED: {"opening_due": "closed"},
    CARDS_STAND: {
        "correct_card": "dealing revealing drawing resolved suspended",
        "card_corrected": "revealing resolved suspended",
        "round_entered": "suspended",
    },
}
"""Rule → what comes → the states in which it is cited."""


def pairs(stated: dict[str, dict[str, str]]) -> dict[tuple[str, str], str]:
    """What comes, and where → the rule."""
    return {
        (comes, where): rule
        for rule, rows in stated.items()
        for comes, places in rows.items()
        for where in places.split()
    }


def test_a_message_cites_its_rule_where_the_rule_speaks_of_it() -> None:
    cited = {
        (message, where): cell.rule
        for message in SHOE
        for where, cell in cells_by_situation(message).items()
        if cell.rule is not None
    }
    assert cited == pairs(BY_SITUATION)


def test_what_means_the_same_everywhere_cites_its_rule() -> None:
    cited = {message: cell.rule for message, cell in ALWAYS.items() if cell.rule is not None}
    assert cited == {name: rule for rule, names in ANYWHERE.items() for name in names.split()}


def test_the_moves_of_a_round_cite_their_rules() -> None:
    cited = {
        (comes, state): cell.rule
        for state, row in ROUND.items()
        for comes, cell in row.items()
        if cell.rule is not None
    }
    assert cited == pairs(IN_THE_ROUND)
