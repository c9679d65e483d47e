"""Who may take which command: the ladder of positions (6.2) and each command's lowest rung.

In: a command and the position of who gives it. Out: whether it is high enough.
Must not know: persons, PINs, how a command came in.
"""

from __future__ import annotations

LADDER = ("dealer", "pit_supervisor", "pit_manager", "gaming_shift_manager")
"""From low to high; a higher position may do what a lower one may (6.2)."""

COMMANDS: dict[str, str] = {
    "place_your_bets": "dealer",
    "no_more_bets": "dealer",
    "expose": "dealer",
    "announce_totals": "dealer",
    "announce_outcome": "dealer",
    "settle": "dealer",
    "change_shoe": "pit_supervisor",
    "align": "pit_supervisor",
    "rule": "gaming_shift_manager",
}
"""Every command that the table takes, with the lowest position that may give it."""


def may(position: str, command: str) -> bool:
    """Whether this position is high enough for the command."""
    if position not in LADDER:
        return False
    return LADDER.index(position) >= LADDER.index(COMMANDS[command])
