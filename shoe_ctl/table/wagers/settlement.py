"""Settlement of every wager of a round to exact money, or its return after a void.

In: Wagers, the round's Settlement, WagerRules. Out: Wagers between rounds, a Line per wager.
Must not know: cards, how the round went, who is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import msgspec

from shoe_ctl.games.settlement import Settlement, WagerResult

from .limits import WagerRules
from .money import json_amount, payout
from .types import Wager, Wagers


class AppliedEnd(NamedTuple):
    """An end of an irregularity that changed how a wager was settled, and its rule number."""

    key: str
    end: str
    rule: str | None


class SettlementLine(msgspec.Struct, frozen=True, kw_only=True):
    """How one wager was settled, in minor units.

    ``stake`` is all that lay there, and always ``collected + returned``; ``pays`` comes from the
    house besides. ``commission`` is None where the rules speak of none. ``rule`` decided the
    result; ``applied`` is what else the rules made of it.
    """

    number: int
    player: str
    seat: int
    wager: str
    stake: int
    result: Literal["win", "lose", "push", "returned"]
    odds: Fraction | None = None
    pays: Fraction = Fraction(0)
    commission: Fraction | None = None
    collected: int = 0
    returned: int = 0
    rule: str | None = None
    applied: tuple[AppliedEnd, ...] = ()


class SettlementLines(NamedTuple):
    """The wagers after the round, and a line for each that stood, seat by seat."""

    wagers: Wagers
    lines: tuple[SettlementLine, ...]


def settle_all(wagers: Wagers, settlement: Settlement, rules: WagerRules) -> SettlementLines:
    """Collect, pay and return every wager (section 4; N/T/F 5.14-5.16, I 5.12-5.14).

    A Player's wagers under the minimum are settled in one round only, won and lost ones alike, and
    returned ever after; a push leaves that one round to come. What is over the maximum is not
    played. The result does not depend on the order in which wagers were placed.
    """
    if not wagers.standing:
        return SettlementLines(_over(wagers, wagers.settled_once), ())
    lines = tuple(
        _line(held, settlement.wagers[held.wager], rules, once=held.player in wagers.settled_once)
        for held in order_lines(wagers.standing, rules)
    )
    once = {line.player for line in lines if any(a[:2] == _ONCE for a in line.applied)}
    settled_once = tuple(sorted(once.union(wagers.settled_once)))
    return SettlementLines(_over(wagers, settled_once), lines)


def return_all_wagers(wagers: Wagers, rule: str | None, rules: WagerRules) -> SettlementLines:
    """Return every wager of a void round, decided ones too; ``rule`` made the round void."""
    lines = tuple(_line_of(held, "returned", rule) for held in order_lines(wagers.standing, rules))
    return SettlementLines(_over(wagers, wagers.settled_once), lines)


def line_data(line: SettlementLine) -> dict[str, Any]:
    """The line as events carry it: whole minor units as numbers, else as exact fractions."""
    data: dict[str, Any] = {
        "number": line.number,
        "player": line.player,
        "seat": line.seat,
        "wager": line.wager,
        "stake": line.stake,
        "result": line.result,
        "pays": json_amount(line.pays),
        "collected": line.collected,
        "returned": line.returned,
        "rule": line.rule,
        "applied": [applied._asdict() for applied in line.applied],
    }
    if line.odds is not None:
        data["odds"] = str(line.odds)
    if line.commission is not None:
        data["commission"] = json_amount(line.commission)
    return data


_ONCE = ("under_minimum", "once")


def _over(wagers: Wagers, settled_once: tuple[str, ...]) -> Wagers:
    """The wagers between rounds: nothing stands; the history stays until the next begins."""
    return msgspec.structs.replace(
        wagers, betting="between", standing=(), settled_once=settled_once
    )


def order_lines(standing: Sequence[Wager], rules: WagerRules) -> list[Wager]:
    """Seats counter-clockwise, each one's wagers in the game's order, then Players by name."""
    seats, offered = rules.seats, rules.offered
    return sorted(
        standing,
        key=lambda held: (seats.index(held.seat), offered.index(held.wager), held.player),
    )


def _line(held: Wager, done: WagerResult, rules: WagerRules, *, once: bool) -> SettlementLine:
    if held.amount == 0:
        late = _late(rules)
        return _line_of(held, "returned", late.rule, applied=(late,))
    under = held.amount < rules.minimum(held.wager)
    if under and once:
        again = _end("under_minimum", "returned", rules)
        applied = (again, *_remarks(held, rules))
        return _line_of(held, "returned", again.rule, applied=applied)
    applied = _remarks(held, rules)
    if done.result == "push":
        return _line_of(held, "push", done.rule, applied=applied)
    played = held.amount
    if under:
        applied = (_end(*_ONCE, rules), *applied)
    most = rules.maximum(held.wager)
    if most is not None and played > most:
        over = (_end("over_maximum", e, rules) for e in ("to_maximum", "excess_returned"))
        played, applied = most, (*over, *applied)
    if done.result == "lose":
        return _line_of(held, "lose", done.rule, collected=played, applied=applied)
    return _won(held, done, rules, played, applied)


def _won(
    held: Wager, done: WagerResult, rules: WagerRules, played: int, applied: tuple[AppliedEnd, ...]
) -> SettlementLine:
    assert done.odds is not None, "a win has odds"
    limits = rules.limits
    paid = payout(
        played,
        done.odds,
        commission=done.commission,
        currency=limits.currency,
        cap=limits.payout_cap,
    )
    if paid.capped:
        applied = (*applied, AppliedEnd("payout_cap", "capped", None))
    line = _line_of(held, "win", done.rule, applied=applied)
    return msgspec.structs.replace(line, odds=done.odds, pays=paid.pays, commission=paid.commission)


def _remarks(held: Wager, rules: WagerRules) -> tuple[AppliedEnd, ...]:
    """What came or went after *no more bets*."""
    late = (_late(rules),) if held.not_honoured else ()
    taken = (_end("late_withdrawal", "settled_as_placed", rules),) if held.taken_back else ()
    return (*late, *taken)


def _late(rules: WagerRules) -> AppliedEnd:
    """Not honoured, so returned (T/F 5.4); where the rules only refuse it, their refusal."""
    end = _end("late_wager", "returned", rules)
    return end if end.rule is not None else _end("late_wager", "refused", rules)


def _end(key: str, end: str, rules: WagerRules) -> AppliedEnd:
    return AppliedEnd(key, end, rules.game.rule(key, end))


def _line_of(
    held: Wager,
    result: Literal["win", "lose", "push", "returned"],
    rule: str | None,
    *,
    collected: int = 0,
    applied: tuple[AppliedEnd, ...] = (),
) -> SettlementLine:
    return SettlementLine(
        number=held.number,
        player=held.player,
        seat=held.seat,
        wager=held.wager,
        stake=held.chips,
        result=result,
        collected=collected,
        returned=held.chips - collected,
        rule=rule,
        applied=applied,
    )
