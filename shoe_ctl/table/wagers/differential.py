"""The table differential: how far apart the main wagers on both hands are (I 5.16, N/T/F 5.18).

In: Wagers, WagerRules. Out: who is asked to decrease, who may increase and how far; the wagers
after that. It never refuses a new wager. Must not know: cards, when in the round it is measured.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from shoe_ctl.table.wagers import limits
from shoe_ctl.table.wagers.ledger import (
    add_stake,
    amount_in_play,
    check_remaining,
    reduce_stake,
    remove_wager,
)
from shoe_ctl.table.wagers.limits import WagerRules
from shoe_ctl.table.wagers.types import (
    AmountRequest,
    LedgerAnswer,
    Refused,
    Wager,
    WagerRequest,
    Wagers,
)
from shoe_ctl.texts.message import message

Hand = Literal["player", "banker"]
"""A hand that main wagers are on."""


class WagerRoom(msgspec.Struct, frozen=True, kw_only=True):
    """The amount by which one wager may change."""

    number: int
    """The number of the wager."""
    player: str
    """The Player's id."""
    seat: int
    """The seat."""
    wager: str
    """The name of the wager."""
    most: int
    """The largest change, in minor units, at least 1."""


class Differential(msgspec.Struct, frozen=True, kw_only=True):
    """The table differential as the wagers stand. Amounts are in minor units."""

    player: int
    """All main wagers on Player."""
    banker: int
    """All main wagers on Banker."""
    limit: int | None
    """The table differential: how far apart they may be; None: no limit."""
    high: Hand | None
    """The hand with more on it; None if both have the same."""
    excess: int
    """The amount that decreases and increases must add up to."""
    decrease: tuple[WagerRoom, ...] = ()
    """If the limit is exceeded: the wagers on ``high`` that can be less without being under the
    minimum, and without the other hand exceeding the differential."""
    increase: tuple[WagerRoom, ...] = ()
    """If the limit is exceeded: the wagers on the other hand that can be more without being over
    the maximum, and without that hand exceeding the differential."""

    @property
    def exceeded(self) -> bool:
        """True if wagers must change before the first card."""
        return self.excess > 0


def assess(wagers: Wagers, rules: WagerRules) -> Differential:
    """Measure the table differential as the wagers stand, without chips not honoured."""
    mains = rules.mains
    total = {"player": 0, "banker": 0}
    for held in wagers.standing:
        if held.wager in mains:
            total[mains[held.wager]] += held.amount
    gap, limit = abs(total["player"] - total["banker"]), rules.limits.differential
    high: Hand | None = None
    if gap:
        high = "player" if total["player"] > total["banker"] else "banker"
    found = Differential(
        player=total["player"],
        banker=total["banker"],
        limit=limit,
        high=high,
        excess=0 if limit is None else max(0, gap - limit),
    )
    if not found.exceeded or limit is None:
        return found
    main_wagers = [held for held in wagers.standing if held.wager in mains and held.amount > 0]
    return msgspec.structs.replace(
        found,
        decrease=_rooms([h for h in main_wagers if mains[h.wager] == high], gap + limit, rules, -1),
        increase=_rooms([h for h in main_wagers if mains[h.wager] != high], gap + limit, rules, 1),
    )


def decrease_for_differential(
    wagers: Wagers, asked: AmountRequest, rules: WagerRules
) -> LedgerAnswer:
    """Decrease a wager of a Player who was asked to (I 5.16.1, N/T/F 5.18.1)."""
    rule = rules.game.rule("table_differential", "decreased")
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = _check_change(wagers, asked, rules, rule, adds=False) or check_remaining(
        held, asked, rules
    )
    return _refuse_if_reversed(refused or reduce_stake(wagers, asked, rule), wagers, rules, rule)


def increase_for_differential(
    wagers: Wagers, asked: AmountRequest, rules: WagerRules
) -> LedgerAnswer:
    """Increase a wager on the hand with less on it (I 5.16.2, N/T/F 5.18.2)."""
    rule = rules.game.rule("table_differential", "increased")
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        _check_change(wagers, asked, rules, rule, adds=True)
        or limits.check_exists(held, asked)
        or limits.check_limits(asked.wager, amount_in_play(held) + asked.amount, rules)
    )
    return _refuse_if_reversed(
        refused or add_stake(wagers, asked, "increased", rule), wagers, rules, rule
    )


def remove_for_differential(wagers: Wagers, asked: WagerRequest, rules: WagerRules) -> LedgerAnswer:
    """Remove a wager on the hand with more on it (I 5.16.3, N/T/F 5.18.3); a Pit Manager does."""
    rule = rules.game.rule("table_differential", "removed")
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        limits.check_position(asked.by, "pit_manager", rules, rule)
        or _check_change(wagers, asked, rules, rule, adds=False)
        or limits.check_exists(held, asked)
    )
    return refused or remove_wager(wagers, asked, "removed", rule)


def _rooms(
    wagers: list[Wager], widest: int, rules: WagerRules, direction: Literal[-1, 1]
) -> tuple[WagerRoom, ...]:
    """Return how much these wagers may each change by: ``direction`` -1 down, 1 up."""
    rooms = []
    for held in wagers:
        most = widest
        if direction < 0:
            most = min(most, held.amount - rules.minimum(held.wager))
        else:
            high = rules.maximum(held.wager)
            most = most if high is None else min(most, high - held.amount)
        if most > 0:
            rooms.append(
                WagerRoom(
                    number=held.number,
                    player=held.player,
                    seat=held.seat,
                    wager=held.wager,
                    most=most,
                )
            )
    return tuple(rooms)


def _check_change(
    wagers: Wagers, asked: WagerRequest, rules: WagerRules, rule: str | None, *, adds: bool
) -> Refused | None:
    """Refuse a change if the differential is not exceeded, or on the wrong hand."""
    found = assess(wagers, rules)
    wrong = None
    hand = rules.mains.get(asked.wager)
    if wagers.betting == "between" or not found.exceeded:
        wrong = Refused(why=message("refused_differential_not_exceeded"), rule=rule)
    elif hand is None:
        why = message("refused_not_of_differential", wager=asked.wager)
        wrong = Refused(why=why, rule=rule)
    elif (hand == found.high) is adds:
        why = (
            message("refused_increase_widens", hand=hand)
            if adds
            else message("refused_decrease_widens", hand=hand)
        )
        wrong = Refused(why=why, rule=rule)
    return (
        limits.check_named(asked, rules)
        or limits.check_amount(asked)
        or limits.check_may_act(asked.by, rules)
        or wrong
    )


def _refuse_if_reversed(
    answered: LedgerAnswer, before: Wagers, rules: WagerRules, rule: str | None
) -> LedgerAnswer:
    """Refuse a change so large that the other hand now exceeds the differential."""
    if isinstance(answered, Refused):
        return answered
    now = assess(answered.wagers, rules)
    if now.exceeded and now.high != assess(before, rules).high:
        return Refused(why=message("refused_exceeds_other_hand", hand=now.high), rule=rule)
    return answered
