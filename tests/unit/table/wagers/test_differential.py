"""The table differential: measured, met by Players, or by the Pit Manager."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_ctl.table.wagers.differential import (
    assess,
    decrease_for_differential,
    increase_for_differential,
    remove_for_differential,
)
from shoe_ctl.table.wagers.ledger import declare_found_late, place
from shoe_ctl.table.wagers.types import Wagers
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.ledger_requests import (
    GAMES,
    NUMBERS,
    STAFFED,
    asked,
    done,
    refused,
    rules_of,
    staked,
    standing,
)

LIMITS: dict[str, Any] = {"minimum": 100, "maximum": 1000, "differential": 500}


def uneven(game: str) -> Wagers:
    """Player 1600 against Banker 300, where 500 is allowed; side wagers do not count."""
    return standing(
        rules_of(game, **LIMITS),
        staked("player", 1000, player="ann"),
        staked("player", 600, player="ben", seat=2),
        staked("banker", 300, player="cho", seat=3),
        staked("tie", 900, player="dan", seat=4),
        closed=True,
    )


@pytest.mark.parametrize("game", STAFFED)
def test_the_differential_is_between_all_main_wagers(game: str) -> None:
    now = assess(uneven(game), rules_of(game, **LIMITS))
    assert (now.player, now.banker, now.high, now.excess) == (1600, 300, "player", 800)
    assert now.exceeded
    assert [(room.player, room.most) for room in now.decrease] == [("ann", 900), ("ben", 500)]
    assert [(room.player, room.most) for room in now.increase] == [("cho", 700)]


@pytest.mark.parametrize("game", STAFFED)
def test_it_is_never_a_reason_to_refuse_a_placement(game: str) -> None:
    rules = rules_of(game, **LIMITS)
    now = standing(rules, staked("player", 1000))
    now = done(place(now, staked("player", 1000, player="ben"), rules))
    assert assess(now, rules).exceeded


def test_at_the_limit_it_is_met_and_above_it_exceeded() -> None:
    rules = rules_of("tiger", differential=500)
    assert not assess(standing(rules, staked("banker", 500)), rules).exceeded
    over = assess(standing(rules, staked("banker", 501)), rules)
    assert (over.exceeded, over.high, over.excess) == (True, "banker", 1)


def test_without_a_differential_nothing_exceeds_it() -> None:
    rules = rules_of("tiger")
    now = assess(standing(rules, staked("player", 10**9)), rules)
    assert (now.high, now.excess, now.decrease, now.increase) == ("player", 0, (), ())


def test_equal_totals_have_no_higher_hand() -> None:
    rules = rules_of("tiger", differential=1)
    now = assess(standing(rules, staked("player", 7), staked("banker", 7)), rules)
    assert (now.high, now.exceeded) == (None, False)


def test_what_is_not_honoured_does_not_count() -> None:
    rules = rules_of("tiger", differential=500)
    now = done(declare_found_late(standing(rules, closed=True), staked("player", 5000), rules))
    assert assess(now, rules).player == 0


def test_only_wagers_that_play_are_asked_to_change() -> None:
    rules = rules_of("tiger", differential=500)
    now = standing(rules, staked("player", 600), closed=True)
    now = done(declare_found_late(now, staked("banker", 50, player="ben"), rules))
    assert assess(now, rules).increase == ()
    assert "not exceeded" in english(
        refused(decrease_for_differential(Wagers(), staked("player", 5), rules)).why
    )


def test_an_increase_is_bounded_so_that_the_other_hand_does_not_exceed_it() -> None:
    rules = rules_of("tiger", differential=500)
    now = standing(rules, staked("player", 600), staked("banker", 5), closed=True)
    (room,) = assess(now, rules).increase
    assert room.most == 595 + 500
    refused(increase_for_differential(now, staked("banker", 1096), rules))
    met = done(increase_for_differential(now, staked("banker", 1095), rules))
    assert not assess(met, rules).exceeded


@pytest.mark.parametrize("game", STAFFED)
def test_players_of_the_higher_hand_decrease(game: str) -> None:
    """N/T/F 5.18.1, I 5.16.1."""
    rules = rules_of(game, **LIMITS)
    now = done(decrease_for_differential(uneven(game), staked("player", 800, player="ann"), rules))
    assert not assess(now, rules).exceeded
    assert now.history[-1].rule == NUMBERS[game]["decreased"]
    refused(decrease_for_differential(uneven(game), staked("player", 901, player="ann"), rules))
    wrong = refused(
        decrease_for_differential(uneven(game), staked("banker", 100, player="cho", seat=3), rules)
    )
    assert (wrong.rule, "widen" in english(wrong.why)) == (NUMBERS[game]["decreased"], True)


@pytest.mark.parametrize("game", STAFFED)
def test_players_of_the_lower_hand_may_increase(game: str) -> None:
    """N/T/F 5.18.2, I 5.16.2."""
    rules = rules_of(game, **LIMITS)
    now = done(
        increase_for_differential(uneven(game), staked("banker", 700, player="cho", seat=3), rules)
    )
    assert assess(now, rules).excess == 100
    assert now.history[-1].rule == NUMBERS[game]["increased"]
    over = refused(
        increase_for_differential(uneven(game), staked("banker", 701, player="cho", seat=3), rules)
    )
    assert over.rule == "3.5.1"
    wrong = refused(
        increase_for_differential(uneven(game), staked("player", 1, player="ben", seat=2), rules)
    )
    assert wrong.rule == NUMBERS[game]["increased"]


@pytest.mark.parametrize("game", STAFFED)
def test_the_pit_manager_determines_what_is_removed(game: str) -> None:
    """N/T/F 5.18.3, I 5.16.3."""
    rules = rules_of(game, **LIMITS)
    ann = asked("player", player="ann", position="pit_manager")
    now = done(remove_for_differential(uneven(game), ann, rules))
    assert not assess(now, rules).exceeded
    assert (now.history[-1].act, now.history[-1].change) == ("removed", -1000)
    assert now.history[-1].rule == NUMBERS[game]["removed"]
    low = refused(
        remove_for_differential(uneven(game), asked("player", position="pit_supervisor"), rules)
    )
    assert (low.rule, low.position) == (NUMBERS[game]["removed"], "pit_manager")
    cho = asked("banker", player="cho", seat=3, position="pit_manager")
    assert "widen" in english(refused(remove_for_differential(uneven(game), cho, rules)).why)
    gone = asked("player", player="eve", position="pit_manager")
    refused(remove_for_differential(uneven(game), gone, rules))


def test_side_wagers_are_left_alone() -> None:
    rules = rules_of("tiger", **LIMITS)
    tie = asked("tie", player="dan", seat=4, position="pit_manager")
    assert "does not count" in english(
        refused(remove_for_differential(uneven("tiger"), tie, rules)).why
    )


@pytest.mark.parametrize("game", GAMES)
def test_nothing_changes_on_its_account_while_it_is_not_exceeded(game: str) -> None:
    rules = rules_of(game)
    now = standing(rules, staked("player", 50), staked("banker", 10), closed=True)
    refused(decrease_for_differential(now, staked("player", 5), rules))
    refused(increase_for_differential(now, staked("banker", 5), rules))
    refused(remove_for_differential(now, asked("player", position="pit_manager"), rules))


def test_wagers_at_the_limits_cannot_be_asked_for_more() -> None:
    rules = rules_of("tiger", minimum=100, maximum=700, differential=500)
    now = standing(
        rules,
        staked("player", 700),
        staked("player", 100, player="ben"),
        staked("banker", 100, player="cho"),
        closed=True,
    )
    found = assess(now, rules)
    assert [(room.player, room.most) for room in found.decrease] == [("ann", 600)]
    assert [(room.player, room.most) for room in found.increase] == [("cho", 600)]


@pytest.mark.parametrize("amount", [0, -5])
def test_a_change_by_nothing_or_less_is_none(amount: int) -> None:
    rules = rules_of("tiger", **LIMITS)
    refused(decrease_for_differential(uneven("tiger"), staked("player", amount), rules))
    refused(
        increase_for_differential(
            uneven("tiger"), staked("banker", amount, player="cho", seat=3), rules
        )
    )
