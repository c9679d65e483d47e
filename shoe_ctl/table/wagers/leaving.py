"""Withdrawals after *no more bets*, where a rule opens a window for them.

In: Wagers, whose, what the window lets go. Out: Wagers with those gone, each with its entry.
Must not know: why a window is open, who else answered, cards.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

from shoe_ctl.texts.message import message

from . import checks
from .held import Entry, Wager, Wagers
from .ledger import taken_out
from .limits import WagerRules
from .request import Answered, Asked, By, Refused

Scope = Literal["any", "all", "remaining"]
"""What a Player may withdraw: any of their wagers, all or none, all the undecided ones or none."""


class Leave(NamedTuple):
    """The leave that a window gives: how much may go, under which rule, and what is decided."""

    scope: Scope
    rule: str | None
    decided: Collection[str] = ()


class Gone(NamedTuple):
    """The wagers without those that went, and an entry of the history for each of them."""

    wagers: Wagers
    entries: tuple[Entry, ...]


def may_go(wagers: Wagers, leave: Leave, player: str | None = None) -> tuple[Wager, ...]:
    """The wagers, of this Player or of all, that the window lets go."""
    return tuple(
        held
        for held in wagers.standing
        if held.wager not in leave.decided and player in (None, held.player)
    )


def withdraw_one(wagers: Wagers, asked: Asked, rules: WagerRules, leave: Leave) -> Answered:
    """One wager goes, if the window does not want all of the Player's or none."""
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        checks.unnamed(asked, rules)
        or checks.may_not_act(asked.by, rules)
        or checks.unknown(held, asked)
        or _decided(asked, leave)
        or _partial(wagers, asked, leave)
    )
    return refused or taken_out(wagers, asked, "withdrawn", leave.rule)


def withdraw_all(wagers: Wagers, player: str, by: By, leave: Leave) -> Gone:
    """All of the Player's wagers that the window lets go."""
    entries: list[Entry] = []
    for held in may_go(wagers, leave, player):
        asked = Asked(player=player, seat=held.seat, wager=held.wager, by=by)
        done = taken_out(wagers, asked, "withdrawn", leave.rule)
        wagers = done.wagers
        assert done.entry is not None, "only a restriction has none"
        entries.append(done.entry)
    return Gone(wagers, tuple(entries))


def _decided(asked: Asked, leave: Leave) -> Refused | None:
    """The wager is won or lost already, and stays."""
    if asked.wager not in leave.decided:
        return None
    return Refused(why=message("refused_wager_is_decided", wager=asked.wager), rule=leave.rule)


def _partial(wagers: Wagers, asked: Asked, leave: Leave) -> Refused | None:
    """Some of the Player's wagers would go and others stay, where all go or none."""
    if leave.scope == "any" or len(may_go(wagers, leave, asked.player)) == 1:
        return None
    why = (
        message("refused_withdraw_remaining", player=asked.player)
        if leave.scope == "remaining"
        else message("refused_withdraw_all_or_none", player=asked.player)
    )
    return Refused(why=why, rule=leave.rule)
