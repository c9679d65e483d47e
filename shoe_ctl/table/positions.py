"""Positions: which may do what another may, and which the rules rank against no other (6.2).

In: a position, and the lowest one that is needed. Out: whether it is high enough.
Must not know: commands, persons, PINs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoe_ctl.games.game import Game


LADDER = ("dealer", "pit_supervisor", "pit_manager", "gaming_shift_manager")
"""From low to high. A higher position may do what a lower one may (6.2)."""

BESIDE = "assistant_casino_manager"
"""Stands above a pit manager. No document ranks it against a gaming shift manager: unless the
table's settings rank one of the two higher, neither may do what needs the other."""

APART = "surveillance"
"""Is not ranked at all: it may do what names it, and nothing that needs another position."""

POSITIONS = (*LADDER, BESIDE, APART)
"""Every position that somebody may act in."""


def who_decides(game: Game) -> str:
    """Return the position that decides what the rules do not cover (6.1)."""
    return LADDER[-1] if game.decides is None else game.decides


def is_sufficient(position: str, lowest: str, *, highest: str | None = None) -> bool:
    """Return True if ``position`` is ``lowest`` or ranks above it (6.2).

    ``highest`` is the one of the ladder's top and BESIDE that the table's settings rank above the
    other; None where neither is.
    """
    if position == lowest:
        return True
    return lowest in _positions_below(position, highest)


def _positions_below(position: str, highest: str | None) -> tuple[str, ...]:
    if position in LADDER:
        below = LADDER[: LADDER.index(position)]
    else:
        below = LADDER[:-1] if position == BESIDE else ()
    if position == highest:
        return (*below, LADDER[-1], BESIDE)
    return below
