"""Every irregularity's key and its ends: what a game file must give a rule number for.

In: nothing. Out: ENDS. An end is how the irregularity closes, or a step on the way that the
documents give a number of its own. Must not know: any game's numbers, how a step is taken.
"""

from __future__ import annotations

from collections.abc import Mapping

ENDS: Mapping[str, tuple[str, ...]] = {
    # The cards themselves are wrong.
    "foreign_card": ("corrected", "void", "earlier_stand"),
    "extra_card": ("corrected", "void", "earlier_stand"),
    "unshuffled": ("cleared", "void", "earlier_stand"),
    "missing_card_in_shoe": ("void", "earlier_stand"),
    "insufficient_cards": ("void",),
    # A wager came or went after no more bets.
    "late_wager": ("refused", "returned"),
    "late_withdrawal": ("refused", "settled_as_placed"),
    # A card was found or laid wrongly.
    "face_up_in_shoe": ("played_as_face_down", "ruled"),
    "wrong_order": ("reconstructed", "void"),
    # Too many cards, too few, or in another order.
    "double_draw": (
        "withdrawal",
        "reconstructed",
        "void",
        "ordered",
        "remaining_withdrawal",
        "named",
    ),
    "overdraw": ("kept", "next_round", "set_aside"),
    "missed_draw": ("reconstructed", "ruled"),
    "order_altered": ("reconstructed", "void"),
    # A hand is with the wrong Player, or its Player is away.
    "wrong_player": ("retrieved", "stands"),
    "holder_absent": ("exposed", "ruled"),
    "card_taken": (
        "value_known",
        "two_set_aside",
        "sorted",
        "determined",
        "replaced",
        "finished",
        "shoe_replaced",
    ),
    # The dealing device moved about (Method C).
    "exposed_while_moving": ("played_as_face_down",),
    "order_altered_while_moving": ("rectified", "void", "shoe_replaced"),
    # Stakes.
    "under_minimum": ("refused", "once", "returned", "earlier_settled"),
    "over_maximum": ("refused", "to_maximum", "excess_returned", "earlier_settled"),
    # The shoe, its power and its link.
    "power_failure": ("withdrawal", "continued", "ruled"),
    "cutting_card": ("completed", "withdrawal"),
    "misread": ("entered",),
    "link_lost": ("resumed", "entered", "ruled"),
    "gap": ("resumed", "entered", "ruled"),
    "result_disagrees": ("cards_stand", "entered", "ruled"),
    "result_missing": ("cards_stand", "entered", "ruled"),
    # The main wagers of two hands lie too far apart.
    "table_differential": ("decreased", "increased", "removed", "ruled"),
    # Anything the rules do not cover, and what follows a void round.
    "other": ("ruled", "void"),
    "after_void": ("wagers_returned", "shoe_replaced"),
    # The dealer errs: betting anew.
    "device_reset": ("withdrawal", "reset", "next_round", "set_aside", "ruled"),
}
"""Key → ends. A game file gives each end a rule number, or ``none`` where its document is silent;
``ruled`` is a decision of whoever decides what the rules do not cover. The table lists its
procedures in this order."""
