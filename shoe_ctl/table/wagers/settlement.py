"""Settlement: what each wager of a round is paid or loses, exactly, or its return after a void.

In: Wagers, the round's Settlement, WagerRules. Out: the wagers after it, a SettlementLine for each.
Must not know: cards, how the round went, who is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from shoe_ctl.games.wagers import Settlement, WagerResult
from shoe_ctl.table.wagers.limits import WagerRules
from shoe_ctl.table.wagers.money import json_amount, payout
from shoe_ctl.table.wagers.types import Wager, Wagers


class AppliedEnd(NamedTuple):
    """An end of an irregularity that changed how a wager was settled."""

    key: str
    """The key of the irregularity."""
    end: str
    """The name of the end."""
    rule: str | None
    """The number of its rule."""


class SettlementLine(msgspec.Struct, frozen=True, kw_only=True):
    """The settlement of one wager. Amounts are in minor units."""

    number: int
    """The number of the wager."""
    player: str
    """The Player's id."""
    seat: int
    """The seat."""
    wager: str
    """The name of the wager."""
    stake: int
    """All chips that lay there; always ``collected + returned``."""
    result: Literal["win", "lose", "push", "returned"]
    """The result of the wager."""
    odds: Fraction | None = None
    """The pay for each unit of a stake that won."""
    pays: Fraction = Fraction(0)
    """The amount that the house pays besides the stake."""
    commission: Fraction | None = None
    """The commission kept; None where the rules know none."""
    collected: int = 0
    """The part of the stake that the house collects."""
    returned: int = 0
    """The part of the stake that the Player gets back."""
    rule: str | None = None
    """The rule that decided the result."""
    applied: tuple[AppliedEnd, ...] = ()
    """Ends of irregularities that changed the settlement."""


class SettlementLines(NamedTuple):
    """The settlement of all wagers of a round."""

    wagers: Wagers
    """The wagers after the round."""
    lines: tuple[SettlementLine, ...]
    """A line for each wager that stood, seat by seat."""


def settle_all(wagers: Wagers, settlement: Settlement, rules: WagerRules) -> SettlementLines:
    """Collect, pay and return every wager (section 4; N/T/F 5.14-5.16, I 5.12-5.14).

    A Player's wagers under the minimum are settled, won or lost, in one round only, and returned in
    every round after it; a push does not count as that round. What is over the maximum does not
    play. The result does not depend on the order in which wagers were placed.
    """
    lines = tuple(
        _settle(held, settlement.wagers[held.wager], rules, once=held.player in wagers.settled_once)
        for held in order_lines(wagers.standing, rules)
    )
    once = {line.player for line in lines if any(a[:2] == _ONCE for a in line.applied)}
    settled_once = tuple(sorted(once.union(wagers.settled_once)))
    return SettlementLines(replace(after_round(wagers), settled_once=settled_once), lines)


def return_all_wagers(wagers: Wagers, rule: str | None, rules: WagerRules) -> SettlementLines:
    """Return every wager of a void round, decided ones too; ``rule`` made the round void."""
    lines = tuple(
        _make_line(held, "returned", rule) for held in order_lines(wagers.standing, rules)
    )
    return SettlementLines(after_round(wagers), lines)


def line_data(line: SettlementLine) -> dict[str, Any]:
    """Return the line for an event: amounts are whole minor units or exact fractions."""
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
"""The end by which a Player's wagers under the minimum are settled once."""


def after_round(wagers: Wagers) -> Wagers:
    """Return the wagers between rounds: none stands; the history stays until the next round."""
    return replace(wagers, betting="between", standing=())


def order_lines(standing: Sequence[Wager], rules: WagerRules) -> list[Wager]:
    """Return the wagers in order: seats counter-clockwise, the game's order, then Players."""
    seats, offered = rules.seats, rules.offered
    return sorted(
        standing, key=lambda held: (seats.index(held.seat), offered.index(held.wager), held.player)
    )


def _settle(held: Wager, done: WagerResult, rules: WagerRules, *, once: bool) -> SettlementLine:
    if held.amount == 0:
        late = _find_end("late_wager", rules.late_end, rules)
        return _make_line(held, "returned", late.rule, applied=(late,))
    under = held.amount < rules.minimum(held.wager)
    if under and once:
        again = _find_end("under_minimum", "returned", rules)
        applied = (again, *_late_changes(held, rules))
        return _make_line(held, "returned", again.rule, applied=applied)
    applied = _late_changes(held, rules)
    if done.result == "push":
        return _make_line(held, "push", done.rule, applied=applied)
    played = held.amount
    if under:
        applied = (_find_end(*_ONCE, rules), *applied)
    most = rules.maximum(held.wager)
    if most is not None and played > most:
        over = (_find_end("over_maximum", e, rules) for e in ("to_maximum", "excess_returned"))
        played, applied = most, (*over, *applied)
    if done.result == "lose":
        return _make_line(held, "lose", done.rule, collected=played, applied=applied)
    return _settle_win(held, done, rules, played, applied)


def _settle_win(
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
    line = _make_line(held, "win", done.rule, applied=applied)
    return replace(line, odds=done.odds, pays=paid.pays, commission=paid.commission)


def _late_changes(held: Wager, rules: WagerRules) -> tuple[AppliedEnd, ...]:
    """Return the ends for chips that came or went after *no more bets*."""
    late = (_find_end("late_wager", rules.late_end, rules),) if held.not_honoured else ()
    taken = (_find_end("late_withdrawal", "settled_as_placed", rules),) if held.taken_back else ()
    return (*late, *taken)


def _find_end(key: str, end: str, rules: WagerRules) -> AppliedEnd:
    return AppliedEnd(key, end, rules.game.rule(key, end))


def _make_line(
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
