"""Increasing, decreasing and withdrawing; what is too late; what staff find on the layout."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_ctl.table.wagers.ledger import (
    close_bets,
    declare_found,
    declare_found_late,
    declare_taken_back,
    decrease,
    increase,
    open_bets,
    place,
    withdraw,
)
from shoe_ctl.table.wagers.types import Wagers
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.ledger_requests import (
    GAMES,
    STAFFED,
    asked,
    done,
    refused,
    rules_of,
    staked,
    standing,
)

LIMITS: dict[str, Any] = {"minimum": 100, "maximum": 1000}


def test_an_increase_adds_and_is_remembered_as_the_time_of_the_amount() -> None:
    rules = rules_of("tiger", **LIMITS)
    now = standing(rules, staked("tie", 100, t_us=1), staked("player", 100, t_us=2))
    now = done(increase(now, staked("tie", 50, t_us=3), rules))
    held = now.find("ann", 1, "tie")
    assert held is not None
    assert (held.amount, held.placed_us, held.raised_us, held.raised) == (150, 1, 3, 3)


def test_a_decrease_leaves_the_time_of_the_amount_alone() -> None:
    rules = rules_of("tiger", **LIMITS)
    now = standing(rules, staked("tie", 300, t_us=1))
    now = done(decrease(now, staked("tie", 100, t_us=5), rules))
    held = now.find("ann", 1, "tie")
    assert held is not None and (held.amount, held.raised_us) == (200, 1)


@pytest.mark.parametrize("game", STAFFED)
def test_an_increase_beyond_the_maximum_is_refused(game: str) -> None:
    rules = rules_of(game, **LIMITS)
    now = standing(rules, staked("tie", 600))
    assert refused(increase(now, staked("tie", 401), rules)).rule == "3.5.1"
    done(increase(now, staked("tie", 400), rules))


@pytest.mark.parametrize("game", STAFFED)
def test_a_decrease_below_the_minimum_is_refused(game: str) -> None:
    rules = rules_of(game, **LIMITS)
    now = standing(rules, staked("tie", 300))
    assert refused(decrease(now, staked("tie", 201), rules)).rule == "3.5.1"
    done(decrease(now, staked("tie", 200), rules))


def test_a_decrease_to_nothing_is_a_withdrawal_and_below_nothing_is_none() -> None:
    rules = rules_of("tiger", **LIMITS)
    now = standing(rules, staked("tie", 300))
    assert "withdraw it" in english(refused(decrease(now, staked("tie", 300), rules)).why)
    assert "the wager is 300" in english(refused(decrease(now, staked("tie", 301), rules)).why)


@pytest.mark.parametrize("amount", [0, -5])
def test_a_change_by_nothing_or_less_is_refused(amount: int) -> None:
    rules = rules_of("tiger")
    now = standing(rules, staked("tie", 300))
    refused(increase(now, staked("tie", amount), rules))
    refused(decrease(now, staked("tie", amount), rules))


def test_a_wager_that_is_not_there_cannot_be_changed() -> None:
    rules = rules_of("tiger")
    now = standing(rules, staked("tie", 300))
    for wager, player, seat in (("tie", "ben", 1), ("tie", "ann", 2), ("player", "ann", 1)):
        refused(increase(now, staked(wager, 5, player=player, seat=seat), rules))
        refused(decrease(now, staked(wager, 5, player=player, seat=seat), rules))
        refused(withdraw(now, asked(wager, player=player, seat=seat), rules))


def test_a_withdrawal_takes_the_wager_out_and_keeps_the_account() -> None:
    rules = rules_of("tiger")
    now = standing(rules, staked("tie", 300), staked("player", 10))
    now = done(withdraw(now, asked("tie", t_us=9), rules))
    assert [held.wager for held in now.standing] == ["player"]
    assert [(entry.act, entry.change) for entry in now.history] == [
        ("placed", 300),
        ("placed", 10),
        ("withdrawn", -300),
    ]


# Too late, or too early.


@pytest.mark.parametrize("game", STAFFED)
def test_after_no_more_bets_nothing_is_placed_or_increased(game: str) -> None:
    """5.4."""
    rules = rules_of(game)
    now = standing(rules, staked("tie", 300), closed=True)
    assert refused(place(now, staked("player", 5), rules)).rule == "5.4"
    assert refused(increase(now, staked("tie", 5), rules)).rule == "5.4"


@pytest.mark.parametrize("game", STAFFED)
def test_after_no_more_bets_nothing_is_withdrawn_or_decreased(game: str) -> None:
    """5.5."""
    rules = rules_of(game)
    now = standing(rules, staked("tie", 300), closed=True)
    assert refused(withdraw(now, asked("tie"), rules)).rule == "5.5"
    assert refused(decrease(now, staked("tie", 5), rules)).rule == "5.5"


def test_the_royal_deal_button_closes_bets_without_a_rule_number() -> None:
    rules = rules_of("dragon_bonus_royal")
    now = standing(rules, staked("tie", 300), closed=True)
    assert refused(place(now, staked("player", 5), rules)).rule is None
    assert refused(withdraw(now, asked("tie"), rules)).rule is None


@pytest.mark.parametrize("game", STAFFED)
def test_between_rounds_nothing_is_placed(game: str) -> None:
    """3.1."""
    assert refused(place(Wagers(), staked("tie", 5), rules_of(game))).rule == "3.1"


def test_bets_opened_again_go_on_with_the_wagers_that_stand() -> None:
    """5.9."""
    rules = rules_of("tiger")
    now = open_bets(standing(rules, staked("tie", 300), closed=True))
    now = done(place(now, staked("player", 5), rules))
    assert [held.number for held in now.standing] == [1, 2]


def test_a_new_round_begins_with_no_wagers_and_no_history() -> None:
    rules = rules_of("tiger")
    now = standing(rules, staked("tie", 300))
    assert open_bets(Wagers(settled_once=("ann",))) == Wagers(betting="open", settled_once=("ann",))
    assert now.history


# What lies there, and what is gone.


@pytest.mark.parametrize("game", STAFFED)
def test_chips_found_play_whatever_the_limits_are(game: str) -> None:
    rules = rules_of(game, **LIMITS)
    now = standing(rules, staked("tie", 300), closed=True)
    now = done(declare_found(now, staked("tie", 5000), rules))
    now = done(declare_found(now, staked("player", 1), rules))
    assert [(held.wager, held.amount) for held in now.standing] == [("tie", 5300), ("player", 1)]


@pytest.mark.parametrize("game", STAFFED)
def test_chips_found_late_do_not_play(game: str) -> None:
    rules = rules_of(game)
    now = standing(rules, staked("tie", 300), closed=True)
    now = done(declare_found_late(now, staked("tie", 50), rules))
    now = done(declare_found_late(now, staked("player", 70), rules))
    assert [(held.amount, held.not_honoured) for held in now.standing] == [(300, 50), (0, 70)]
    assert now.history[-1].rule == "5.4"


def test_a_late_wager_may_be_placed_or_taken_when_bets_are_open_again() -> None:
    rules = rules_of("tiger")
    late = done(declare_found_late(standing(rules, closed=True), staked("tie", 70), rules))
    again = open_bets(late)
    assert [h.amount for h in done(place(again, staked("tie", 20), rules)).standing] == [20]
    assert done(withdraw(again, asked("tie"), rules)).standing == ()


def test_chips_found_late_take_no_room_on_their_area() -> None:
    rules = rules_of("tiger", wagers_per_area=1)
    late = done(declare_found_late(standing(rules, closed=True), staked("tie", 70), rules))
    done(place(open_bets(late), staked("tie", 20, player="ben"), rules))


def test_only_staff_say_what_lies_there_and_only_of_an_open_round() -> None:
    rules = rules_of("tiger")
    now = standing(rules, staked("tie", 300), closed=True)
    refused(declare_found(now, staked("tie", 5, position="surveillance"), rules))
    refused(declare_found_late(now, staked("tie", 5, position="surveillance"), rules))
    refused(declare_taken_back(now, asked("tie", position="surveillance"), rules))
    refused(declare_taken_back(now, asked("player"), rules))
    refused(declare_found(Wagers(), staked("tie", 5), rules))
    for request in (declare_found, declare_found_late):
        refused(request(now, staked("fortune_six", 5), rules))
        refused(request(now, staked("tie", -5), rules))


def test_nothing_is_late_while_bets_are_open() -> None:
    rules = rules_of("tiger")
    now = standing(rules, staked("tie", 300))
    refused(declare_found_late(now, staked("tie", 5), rules))
    refused(declare_taken_back(now, asked("tie"), rules))


@pytest.mark.parametrize("game", GAMES)
def test_closing_bets_changes_no_wager(game: str) -> None:
    now = standing(rules_of(game), staked("tie", 300))
    assert close_bets(now).standing == now.standing
