"""The table differential: how far main wagers on both hands are apart (I 5.16, N/T/F 5.18).

In: Wagers, WagerRules. Out: who is asked to decrease, who may increase and how far; the wagers
after it. It never refuses a placement. Must not know: cards, when in the round it is looked at.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from shoe_ctl.texts.message import message

from . import limits
from .ledger import add_stake, amount_in_play, check_remaining, reduce_stake, remove_wager
from .limits import WagerRules
from .types import AmountRequest, LedgerAnswer, Refused, Wager, WagerRequest, Wagers

Hand = Literal["player", "banker"]


class WagerRoom(msgspec.Struct, frozen=True, kw_only=True):
    """How much one wager may change by, at most (minor units, at least 1)."""

    number: int
    player: str
    seat: int
    wager: str
    most: int


class Differential(msgspec.Struct, frozen=True, kw_only=True):
    """Both totals (minor units) and, where ``limit`` is exceeded, what may be done about it.

    ``high`` is the hand with more on it, None when equal. ``excess`` is what decreases and
    increases must come to together. ``decrease`` are the wagers on ``high`` that can be less and
    not under the minimum, ``increase`` those on the other hand that can be more and not over the
    maximum; neither so far that the other hand exceeds the differential.
    """

    player: int
    banker: int
    limit: int | None
    high: Hand | None
    excess: int
    decrease: tuple[WagerRoom, ...] = ()
    increase: tuple[WagerRoom, ...] = ()

    @property
    def exceeded(self) -> bool:
        """Whether wagers must change before the first card."""
        return self.excess > 0


def assess(wagers: Wagers, rules: WagerRules) -> Differential:
    """The table differential as the wagers stand; what is not honoured does not count."""
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
    """A Player who was asked to takes some of a wager back (I 5.16.1, N/T/F 5.18.1)."""
    rule = rules.game.rule("table_differential", "decreased")
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = _unfit(wagers, asked, rules, rule, adds=False) or check_remaining(held, asked, rules)
    return _unless_tipped(refused or reduce_stake(wagers, asked, rule), wagers, rules, rule)


def increase_for_differential(
    wagers: Wagers, asked: AmountRequest, rules: WagerRules
) -> LedgerAnswer:
    """A Player on the hand with less on it adds to a wager (I 5.16.2, N/T/F 5.18.2)."""
    rule = rules.game.rule("table_differential", "increased")
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        _unfit(wagers, asked, rules, rule, adds=True)
        or limits.check_exists(held, asked)
        or limits.check_limits(asked.wager, amount_in_play(held) + asked.amount, rules)
    )
    return _unless_tipped(
        refused or add_stake(wagers, asked, "increased", rule), wagers, rules, rule
    )


def remove_for_differential(wagers: Wagers, asked: WagerRequest, rules: WagerRules) -> LedgerAnswer:
    """The Pit Manager removes a wager of the higher hand (I 5.16.3, N/T/F 5.18.3)."""
    rule = rules.game.rule("table_differential", "removed")
    held = wagers.find(asked.player, asked.seat, asked.wager)
    refused = (
        limits.check_position(asked.by, "pit_manager", rules, rule)
        or _unfit(wagers, asked, rules, rule, adds=False)
        or limits.check_exists(held, asked)
    )
    return refused or remove_wager(wagers, asked, "removed", rule)


def _rooms(
    wagers: list[Wager], widest: int, rules: WagerRules, direction: Literal[-1, 1]
) -> tuple[WagerRoom, ...]:
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


def _unfit(
    wagers: Wagers, asked: WagerRequest, rules: WagerRules, rule: str | None, *, adds: bool
) -> Refused | None:
    """The differential gives no leave for it: not exceeded, or the wrong hand."""
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


def _unless_tipped(
    answered: LedgerAnswer, before: Wagers, rules: WagerRules, rule: str | None
) -> LedgerAnswer:
    """Refuse a change so large that the other hand now exceeds the differential."""
    if isinstance(answered, Refused):
        return answered
    now = assess(answered.wagers, rules)
    if now.exceeded and now.high != assess(before, rules).high:
        return Refused(why=message("refused_exceeds_other_hand", hand=now.high), rule=rule)
    return answered
