"""The limits of a table, as the configuration spells them and the game allows them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shoe_ctl.errors import InputRefused
from shoe_ctl.table.wagers.limits import TableLimits
from shoe_testing.ledger_requests import GAMES, STAFFED, rules_of
from shoe_testing.tables import wager_table


def test_a_table_without_limits_takes_anything_from_one_minor_unit() -> None:
    limits = TableLimits()
    assert limits.of("tie") == (1, None)
    assert (limits.differential, limits.payout_cap, limits.currency) == (None, None, None)


def test_a_wager_may_have_limits_of_its_own_and_keeps_the_tables_where_it_has_none() -> None:
    limits = msgspec.convert(
        {"minimum": 100, "maximum": 9000, "wagers": {"tie": {"minimum": 25}}}, TableLimits
    )
    assert limits.of("tie") == (25, 9000)
    assert limits.of("player") == (100, 9000)


def test_a_table_may_take_one_amount_only() -> None:
    assert TableLimits(minimum=100, maximum=100).of("tie") == (100, 100)


def test_equal_limits_are_one_key() -> None:
    own: dict[str, Any] = {"minimum": 100, "wagers": {"tie": {"minimum": 25}}}
    one, same = (msgspec.convert(own, TableLimits) for _ in range(2))
    assert {one: "kept"}[same] == "kept"
    assert TableLimits(minimum=100) != one


@pytest.mark.parametrize(
    "wrong",
    [
        {"minimum": 0},
        {"minimum": 200, "maximum": 100},
        {"maximum": 100, "wagers": {"tie": {"minimum": 101}}},
        {"maximum": 1.5},
        {"maxmum": 100},
        {"differential": 0},
        {"wagers_per_area": 0},
        {"payout_cap": 101, "currency": {"unit": 10, "rounding": "down"}},
        {"currency": {"unit": 10, "rounding": "nearest"}},
        {"wagers": {"tie": {"payout_cap": 5}}},
    ],
)
def test_wrong_limits_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, TableLimits)


@pytest.mark.parametrize(
    ("game", "layout", "limits", "why"),
    [
        ("tiger", "A", {"payout_cap": 100}, "payout_cap: tiger knows no highest payout"),
        ("dragon_bonus_royal", "A", {"differential": 9}, "differential: dragon_bonus_royal knows"),
        ("dragon_bonus_royal", "A", {"wagers_per_area": 1}, "wagers_per_area: nobody may lower"),
        ("tiger", "A", {"wagers_per_area": 3}, "must be lower than the game's 3"),
        ("tiger", "A", {"wagers": {"fortune_six": {}}}, "wagers.fortune_six: not offered"),
        (
            "immortal_dragon_tiger",
            "A",
            {"wagers": {"player_pair": {}}},
            "wagers.player_pair: not offered",
        ),
    ],
)
def test_limits_that_the_game_or_layout_has_no_place_for_are_refused(
    game: str, layout: str, limits: dict[str, Any], why: str
) -> None:
    with pytest.raises(InputRefused, match=why):
        rules_of(game, layout, **limits)


def test_a_payout_cap_is_a_setting_of_the_royal_table() -> None:
    assert rules_of("dragon_bonus_royal", payout_cap=500_000).limits.payout_cap == 500_000


@pytest.mark.parametrize("game", GAMES)
def test_every_game_has_one_main_wager_for_each_hand(game: str) -> None:
    assert dict(rules_of(game).mains) == {"player": "player", "banker": "banker"}


def test_without_a_layout_every_wager_and_seat_of_the_game_will_do() -> None:
    rules = rules_of("immortal_dragon_tiger")
    anywhere = type(rules)(rules.game, None, rules.limits)
    assert anywhere.offered == tuple(rules.game.wagers)
    assert anywhere.seats == (1, 2, 3, 4, 5, 6, 7, 8)


@pytest.mark.parametrize("game", STAFFED)
def test_a_higher_position_may_do_what_a_lower_one_may(game: str) -> None:
    rules = rules_of(game)
    assert rules.holds("pit_manager", "pit_manager")
    assert rules.holds("gaming_shift_manager", "pit_manager")
    assert not rules.holds("pit_supervisor", "pit_manager")
    assert not rules.holds("surveillance", "dealer")
    assert not rules_of("dragon_bonus_royal").holds("dealer", "dealer")


def test_a_table_with_fewer_playing_positions_takes_no_wager_beyond_them() -> None:
    rules = rules_of("tiger", "E")
    eight = type(rules)(rules.game, "E", rules.limits, positions=8)
    assert (len(rules.seats), eight.seats) == (16, tuple(range(1, 9)))
    table = wager_table(layout="E", seats=8)
    table.does("place_your_bets")
    wager: dict[str, Any] = {"player": "ann", "wager": "player", "amount": 500}
    assert table.asks("place_wager", seat=9, **wager).error == "the layout has no seat 9 (2.2)"
    assert table.asks("place_wager", seat=8, **wager).accepted
