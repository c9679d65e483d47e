"""The ladder of positions (6.2): who may do what is another's.

In: a position, and the one that is needed. Out: whether it is high enough.
Must not know: commands, persons, PINs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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


def who_decides(game: Game) -> str:
    """Who decides what the rules do not cover (6.1): the game says, else the highest."""
    return LADDER[-1] if game.decides is None else game.decides


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
