"""Who may take which command: the ladder of positions (6.2) and each command's lowest rung.

In: a command and the position of who gives it. Out: whether it is high enough.
Must not know: persons, PINs, how a command came in.
"""

from __future__ import annotations

from shoe_ctl.games.game import Game

LADDER = ("dealer", "pit_supervisor", "pit_manager", "gaming_shift_manager")
"""From low to high; a higher position may do what a lower one may (6.2)."""

COMMANDS: dict[str, str] = {
    "place_your_bets": "dealer",
    "no_more_bets": "dealer",
    "place_wager": "dealer",
    "increase_wager": "dealer",
    "decrease_wager": "dealer",
    "withdraw_wager": "dealer",
    "restrict_wagers": "pit_manager",
    "expose": "dealer",
    "announce_totals": "dealer",
    "announce_outcome": "dealer",
    "settle": "dealer",
    "change_shoe": "pit_supervisor",
    "align": "pit_supervisor",
    "rule": LADDER[-1],
}
"""Every command that the table takes, with the lowest position that may give it."""


def needed(command: str, game: Game) -> str:
    """The lowest position for this command; who rules is the game's to say, where it does (6.1)."""
    if command == "rule" and game.decides is not None:
        return game.decides
    return COMMANDS[command]


def may(position: str, lowest: str) -> bool:
    """Whether this position is the one needed, or above it on the ladder."""
    if position not in LADDER or lowest not in LADDER:
        return position == lowest
    return LADDER.index(position) >= LADDER.index(lowest)
