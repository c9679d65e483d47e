"""What holds whatever is asked: nothing lost, nothing twice, no refusal that changes anything."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_ctl.table.wagers import differential, ledger
from shoe_ctl.table.wagers import ledger as wager_ledger
from shoe_ctl.table.wagers.limits import WagerRules
from shoe_ctl.table.wagers.settlement import SettlementLine, return_all_wagers, settle_all
from shoe_ctl.table.wagers.types import (
    Accepted,
    AmountRequest,
    LedgerAnswer,
    Restriction,
    WagerRequest,
    Wagers,
)
from shoe_testing.examples import examples
from shoe_testing.ledger_requests import GAMES, asked, by, cards, done, rules_of, staked
from shoe_testing.rounds import PAID

PLAYERS = ("ann", "ben", "cho", "dan")
POSITIONS = ("dealer", "pit_supervisor", "pit_manager", "surveillance")
STAKED: tuple[Act, ...] = (
    ledger.place,
    ledger.increase,
    ledger.decrease,
    wager_ledger.declare_found,
    wager_ledger.declare_found_late,
    differential.decrease_for_differential,
    differential.increase_for_differential,
)
NAMED: tuple[Act, ...] = (
    ledger.withdraw,
    wager_ledger.declare_taken_back,
    differential.remove_for_differential,
)

Act = Callable[[Wagers, Any, WagerRules], LedgerAnswer]
Step = tuple[Act, WagerRequest] | None


def tables() -> list[WagerRules]:
    """Every game on its first layout, with limits tight enough to be met."""
    made = []
    for name, game in GAMES.items():
        own: dict[str, Any] = (
            {"differential": 300} if game.options.staffed else {"payout_cap": 5000}
        )
        made.append(rules_of(name, minimum=10, maximum=500, **own))
    return made


TABLES = tables()


@st.composite
def requests(draw: st.DrawFn, rules: WagerRules) -> tuple[Act, WagerRequest]:
    """Any request, sensible or not."""
    who: dict[str, Any] = {
        "position": draw(st.sampled_from(POSITIONS)),
        "on_behalf": draw(st.booleans()),
    }
    wager = draw(st.sampled_from((*rules.offered[:4], "fortune_six")))
    where: dict[str, Any] = {
        "player": draw(st.sampled_from(PLAYERS)),
        "seat": draw(st.sampled_from((1, 2, 99))),
    }
    if draw(st.booleans()):
        amount = draw(st.integers(-5, 700))
        return draw(st.sampled_from(STAKED)), staked(wager, amount, **where, **who)
    return draw(st.sampled_from(NAMED)), asked(wager, **where, **who)


@st.composite
def rounds(draw: st.DrawFn) -> tuple[WagerRules, list[Step], str]:
    """A table, what is asked of it (None: *no more bets*), and the cards of the round."""
    rules = draw(st.sampled_from(TABLES))
    steps = draw(st.lists(requests(rules) | st.none(), max_size=25))
    return rules, steps, draw(st.sampled_from(PAID[rules.game.id]))[0]


def ask(now: Wagers, step: Step, rules: WagerRules) -> LedgerAnswer | Wagers:
    if step is None:
        return ledger.close_bets(now)
    act, request = step
    return act(now, request, rules)


@given(rounds())
@examples(300)
def test_every_minor_unit_placed_goes_back_or_to_the_house_exactly_once(
    case: tuple[WagerRules, list[Step], str],
) -> None:
    rules, steps, codes = case
    now = ledger.open_bets(Wagers())
    for step in steps:
        before = msgspec.json.encode(now)
        answer = ask(now, step, rules)
        assert msgspec.json.encode(now) == before
        if isinstance(answer, Wagers):
            now = answer
        elif isinstance(answer, Accepted):
            now = answer.wagers
            assert answer.entry == now.history[-1]
    assert [entry.number for entry in now.history] == list(range(1, len(now.history) + 1))
    on_the_felt = sum(held.chips for held in now.standing)
    assert sum(entry.change for entry in now.history) == on_the_felt
    assert all(held.amount >= 0 and held.chips > 0 for held in now.standing)
    for lines in (
        settle_all(now, cards(rules, codes), rules).lines,
        return_all_wagers(now, None, rules).lines,
    ):
        assert len(lines) == len(now.standing)
        assert sum(line.stake for line in lines) == on_the_felt
        assert all(line.collected + line.returned == line.stake for line in lines)
        assert all(line.collected >= 0 and line.returned >= 0 for line in lines)
        assert all((line.pays > 0) == (line.result == "win") for line in lines)
        assert all(line.collected == 0 or line.result == "lose" for line in lines)
    assert msgspec.json.decode(msgspec.json.encode(now), type=Wagers) == now


@given(st.data())
@examples(100)
def test_what_a_round_comes_to_does_not_depend_on_the_order_of_placement(
    data: st.DataObject,
) -> None:
    rules = data.draw(st.sampled_from(TABLES[1:]))  # several Players
    wagers = [
        staked(wager, data.draw(st.integers(1, 700)), player=player, seat=seat)
        for wager in rules.offered[:3]
        for player, seat in (("ann", 1), ("ben", 1), ("ann", 2))
    ]
    codes = data.draw(st.sampled_from(PAID[rules.game.id]))[0]
    before = Wagers(settled_once=data.draw(st.sampled_from(((), ("ann",)))))

    def came_to(order: list[AmountRequest]) -> list[SettlementLine]:
        now = ledger.open_bets(before)
        for wager in order:
            now = done(wager_ledger.declare_found(now, wager, rules))
        lines = settle_all(ledger.close_bets(now), cards(rules, codes), rules).lines
        return [msgspec.structs.replace(line, number=0) for line in lines]

    assert came_to(wagers) == came_to(data.draw(st.permutations(wagers)))


@given(st.integers(1, 10**9), st.sampled_from(TABLES), st.data())
@examples(100)
def test_a_win_pays_the_stake_times_the_odds_of_the_game(
    stake: int, rules: WagerRules, data: st.DataObject
) -> None:
    codes, _ = data.draw(st.sampled_from(PAID[rules.game.id]))
    free = rules_of(rules.game.id)
    now = ledger.open_bets(Wagers())
    for wager in free.offered:
        now = done(ledger.place(now, staked(wager, stake), free))
    settlement = cards(free, codes)
    for line in settle_all(now, settlement, free).lines:
        expected = settlement.wagers[line.wager]
        assert line.result == expected.result
        assert line.pays == (expected.odds or Fraction(0)) * stake


@pytest.mark.parametrize("rules", TABLES, ids=lambda rules: rules.game.id)
@given(number=st.none() | st.integers(-2, 6), position=st.sampled_from(POSITIONS))
@examples(50)
def test_a_restriction_touches_no_wager(
    rules: WagerRules, number: int | None, position: str
) -> None:
    now = done(ledger.place(ledger.open_bets(Wagers()), staked("tie", 50), rules))
    asked_for = Restriction(number=number, by=by(position, reason="room"))
    answer = ledger.restrict(now, asked_for, rules)
    if isinstance(answer, Accepted):
        assert answer.wagers == msgspec.structs.replace(now, restriction_next=number)
