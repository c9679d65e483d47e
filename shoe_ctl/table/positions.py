"""Who may take which command: the ladder of positions (6.2) and each command's lowest rung.

In: a command and the position of who gives it. Out: whether it is high enough.
Must not know: persons, PINs, how a command came in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the command line reads this table for its help, and starts quickly
    from shoe_ctl.games.game import Game

LADDER = ("dealer", "pit_supervisor", "pit_manager", "gaming_shift_manager")
"""From low to high; a higher position may do what a lower one may (6.2)."""

BESIDE = "assistant_casino_manager"
"""Stands above a pit manager. No document ranks it against a gaming shift manager: neither may do
what is the other's, until a table is set otherwise."""

APART = "surveillance"
"""Stands on no ladder: it may do what is named for it and nothing that is another's."""

POSITIONS = (*LADDER, BESIDE, APART)
"""Every position that somebody may act in."""

COMMANDS: dict[str, str] = {
    "place_your_bets": "dealer",
    "no_more_bets": "dealer",
    "place_wager": "dealer",
    "increase_wager": "dealer",
    "decrease_wager": "dealer",
    "withdraw_wager": "dealer",
    "clear_bets": "dealer",
    "restrict_wagers": "pit_manager",
    "change_method": "pit_manager",
    "pass_cards": "dealer",
    "refuse_cards": "dealer",
    "name_holder": "pit_supervisor",
    "allow_squeeze": "pit_manager",
    "set_first_hand": "dealer",
    "offer_shoe": "dealer",
    "relinquish_shoe": "dealer",
    "allow_without_wager": BESIDE,
    "declare_out_of_view": "dealer",
    "expose": "dealer",
    "announce_totals": "dealer",
    "announce_outcome": "dealer",
    "settle": "dealer",
    "change_shoe": "pit_supervisor",
    "record_shoe": "dealer",
    "count_remainder": "pit_supervisor",
    "declare_cutting_card": "dealer",
    "declare_new_shoe": "pit_supervisor",
    "align": "pit_supervisor",
    "pause": "pit_supervisor",
    "resume": "pit_supervisor",
    "declare": "dealer",
    "decide": "dealer",
    "enter_round": "pit_supervisor",
    "revise_round": "gaming_shift_manager",
    "reset_shoe": "dealer",
    "test_shoe": "pit_supervisor",
    "ask_shoe": "dealer",
    "clear_error": "pit_supervisor",
    "rotate_key": "gaming_shift_manager",
    "show_on_shoe": "dealer",
}
"""Every command that the table takes, with the lowest position that may give it."""

BARE = frozenset({
    "place_your_bets", "no_more_bets", "announce_totals", "announce_outcome", "settle",
    "change_shoe", "declare_cutting_card", "declare_new_shoe", "align", "pause", "resume",
})  # fmt: skip
"""Commands that say all by their name: one with an argument was meant to be another."""

GIVEN_APART = frozenset({"decide", "pause", "resume"})
"""Commands that are the position apart's too; of what is decided each choice says its own."""


def needed(command: str, game: Game, args: Mapping[str, Any] | None = None) -> str:
    """The lowest position for this command with these arguments.

    The game says who chooses each method; a choice or a key may want a higher position.
    """
    if command == "change_method" and args is not None:
        chosen = game.methods.get(str(args.get("method")))
        if chosen is not None:
            return chosen.chosen_by
    return COMMANDS[command]


def who_decides(game: Game) -> str:
    """Who decides what the rules do not cover (6.1): the game says, else the highest."""
    return LADDER[-1] if game.decides is None else game.decides


def may_give(position: str, command: str, lowest: str, *, highest: str | None = None) -> bool:
    """Whether a command may come from this position at all; a choice asks again for its own."""
    if position == APART and command in GIVEN_APART:
        return True
    return may(position, lowest, highest=highest)


def may(position: str, lowest: str, *, highest: str | None = None) -> bool:
    """Whether this position is the one needed, or above it (6.2).

    ``highest`` is the one of the ladder's top and the position beside it that a table is set to
    rank above the other; None where neither is.
    """
    if position == lowest:
        return True
    return lowest in _below(position, highest)


def _below(position: str, highest: str | None) -> tuple[str, ...]:
    """The positions below this one."""
    if position in LADDER:
        below = LADDER[: LADDER.index(position)]
    else:
        below = LADDER[:-1] if position == BESIDE else ()
    if position == highest:
        return (*below, LADDER[-1], BESIDE)
    return below
