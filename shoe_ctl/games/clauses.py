"""The clauses of a rule document that the round cites, by what they are about.

In: nothing. Out: the names a game file must give a rule number (or ``none``) for.
Must not know: any game's numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

CLAUSES: tuple[str, ...] = (
    "round_of_play",
    "hlga",
    "decks",
    "layouts",
    "place_your_bets",
    "no_more_bets",
    "points",
    "totals",
    "wagers",
    "limits",
    "side_wagers_alone",
    "wagers_per_area",
    "wagers_per_area_lowered",
    "on_behalf",
    "methods",
    "device_control",
    "method_choice",
    "dealing_order",
    "table_of_play",
    "squeeze_allowed",
    "uncovered",
    "higher_position",
    "displays",
)
"""Clauses that any round may cite, whatever the method."""

METHOD_CLAUSES: Mapping[str, tuple[str, ...]] = {
    "A": (
        "announcements",
        "highest_wager",
        "refused_next_highest",
        "equal_first_placed",
        "pit_supervisor_names",
        "equal_counter_clockwise",
        "reveal_order",
        "further_cards",
    ),
    "B": ("announcements", "dealer_keeps_cards"),
    "C": (
        "player_draws",
        "without_wager",
        "through_dealer",
        "full_view",
        "placed",
        "further_cards",
        "relinquished",
        "wager_lost",
    ),
}
"""The methods there are, and the clauses that each cites."""
