"""Placing wagers: what each document allows, and the rule number of each refusal."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shoe_ctl.table.wagers.ledger import (
    check_placing,
    close_bets,
    open_bets,
    place,
    restrict,
    withdraw,
)
from shoe_ctl.table.wagers.settlement import return_all_wagers
from shoe_ctl.table.wagers.types import Accepted, Restriction, Wagers
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.ledger_requests import (
    GAMES,
    NUMBERS,
    STAFFED,
    asked,
    by,
    done,
    refused,
    rules_of,
    staked,
    standing,
)


@pytest.mark.parametrize("game", GAMES)
def test_every_wager_of_every_layout_can_be_placed_on_every_seat(game: str) -> None:
    for layout in GAMES[game].layouts:
        rules = rules_of(game, layout, minimum=10, maximum=1000)
        for seat in rules.seats:
            now = standing(rules, *(staked(wager, 10, seat=seat) for wager in rules.offered))
            assert {held.wager for held in now.standing} == set(rules.offered)


def test_nobody_is_offered_a_wager_once_every_area_is_full() -> None:
    """The electronic game has one player, who has one wager on each area."""
    rules = rules_of("dragon_bonus_royal")
    every = [staked(wager, 10, seat=1) for wager in rules.offered]
    full = check_placing(standing(rules, *every), rules)
    assert full is not None
    assert english(full.why) == "every area has as many wagers as it takes"
    assert check_placing(standing(rules, *every[1:]), rules) is None


def test_where_others_may_still_come_full_areas_are_full_for_them_too() -> None:
    rules = rules_of("tiger", wagers_per_area=1)
    every = [staked(wager, 10, seat=seat) for seat in rules.seats for wager in rules.offered]
    assert check_placing(standing(rules, *every), rules) is not None
    assert check_placing(standing(rules, *every[1:]), rules) is None


@pytest.mark.parametrize("game", STAFFED)
def test_a_side_wager_needs_no_main_wager(game: str) -> None:
    """N, T, I 3.6; Fa Fa is silent and read alike."""
    assert len(standing(rules_of(game), staked("tie", 5)).standing) == 1


def test_an_accepted_wager_says_who_placed_it_when_and_for_whom() -> None:
    rules = rules_of("tiger")
    answer = place(
        open_bets(Wagers()),
        staked("tiger", 500, seat=7, position="pit_supervisor", t_us=99, on_behalf=True),
        rules,
    )
    assert isinstance(answer, Accepted) and answer.entry is not None
    entry = answer.entry
    assert (entry.act, entry.player, entry.seat, entry.wager) == ("placed", "ann", 7, "tiger")
    assert (entry.change, entry.amount, entry.t_us) == (500, 500, 99)
    assert (entry.person, entry.position, entry.on_behalf) == ("d-17", "pit_supervisor", True)
    assert answer.wagers.history == (entry,)
    (held,) = answer.wagers.standing
    assert (held.number, held.placed_us, held.raised_us, held.raised) == (1, 99, 99, 1)


@pytest.mark.parametrize("game", STAFFED)
def test_a_wager_of_another_game_is_not_available(game: str) -> None:
    answer = refused(place(open_bets(Wagers()), staked("fortune_six", 5), rules_of(game)))
    assert answer.rule == "3.5"


@pytest.mark.parametrize(
    ("layout", "wager", "rule"),
    [
        ("A", "player_pair", "4.5"),
        ("A", "banker_pair", "4.5"),
        ("C", "banker_pair", "4.5"),
        ("A", "immortal_dragon", "4.6"),
        ("B", "immortal_dragon", "4.6"),
    ],
)
def test_immortal_offers_pairs_and_immortal_dragon_on_some_layouts_only(
    layout: str, wager: str, rule: str
) -> None:
    rules = rules_of("immortal_dragon_tiger", layout)
    answer = refused(place(open_bets(Wagers()), staked(wager, 5), rules))
    assert answer.rule == rule
    assert f"layout {layout} does not offer {wager}" in english(answer.why)


@pytest.mark.parametrize(
    ("game", "layout", "seat", "rule"),
    [
        ("immortal_dragon_tiger", "A", 9, "2.2"),
        ("dragon_tiger_no_commission", "A", 9, "2.2"),
        ("dragon_tiger_no_commission", "D", 10, "2.2"),
        ("tiger", "A", 0, "2.2"),
        ("tiger", "E", 17, "2.2"),
        ("fa_fa_fabulous_4", "A", 6, "2.2"),
        ("fa_fa_fabulous_4", "D", 2, "2.2"),
        ("dragon_bonus_royal", "A", 2, None),
    ],
)
def test_a_seat_that_the_layout_has_not_takes_no_wager(
    game: str, layout: str, seat: int, rule: str | None
) -> None:
    rules = rules_of(game, layout)
    answer = refused(place(open_bets(Wagers()), staked("tie", 5, seat=seat), rules))
    assert answer.rule == rule
    assert f"no seat {seat}" in english(answer.why)


@pytest.mark.parametrize("game", GAMES)
def test_limits_hold_at_placement(game: str) -> None:
    """3.5.1 in the four; the royal game's bet limit has no number."""
    rules = rules_of(game, minimum=100, maximum=1000)
    now = open_bets(Wagers())
    rule = None if game == "dragon_bonus_royal" else "3.5.1"
    for amount, why in ((99, "under the minimum of 100"), (1001, "over the maximum of 1000")):
        answer = refused(place(now, staked("player", amount), rules))
        assert (answer.rule, why in english(answer.why)) == (rule, True)
    for amount in (100, 1000):
        done(place(now, staked("player", amount), rules))


def test_a_wager_with_limits_of_its_own_is_held_to_them() -> None:
    own: dict[str, Any] = {"minimum": 5, "maximum": 50}
    rules = rules_of("tiger", minimum=100, maximum=1000, wagers={"tie": own})
    now = open_bets(Wagers())
    done(place(now, staked("tie", 5), rules))
    refused(place(now, staked("tie", 51), rules))
    refused(place(now, staked("tiger", 5), rules))


@pytest.mark.parametrize("amount", [0, -1, -100, 10**15 + 1])
def test_an_amount_that_is_not_above_zero_or_beyond_reason_is_refused(amount: int) -> None:
    refused(place(open_bets(Wagers()), staked("tie", amount), rules_of("tiger")))
    done(place(open_bets(Wagers()), staked("tie", 10**15), rules_of("tiger")))


def test_a_wager_without_a_player_is_refused() -> None:
    refused(place(open_bets(Wagers()), staked("tie", 5, player=""), rules_of("tiger")))


def test_a_wager_placed_twice_is_to_be_increased() -> None:
    rules = rules_of("tiger")
    now = standing(rules, staked("tie", 5))
    assert "increase it" in english(refused(place(now, staked("tie", 5), rules)).why)
    done(place(now, staked("tie", 5, seat=2), rules))


# How many wagers an area takes.


@pytest.mark.parametrize("game", [g for g in STAFFED if g != "immortal_dragon_tiger"])
def test_a_playing_area_takes_three_wagers(game: str) -> None:
    """N/T 3.7, F 3.6."""
    rules = rules_of(game)
    now = standing(rules, *(staked("tie", 5, player=p) for p in "abc"))
    answer = refused(place(now, staked("tie", 5, player="d"), rules))
    assert answer.rule == NUMBERS[game]["per_area"]
    done(place(now, staked("tie", 5, player="d", seat=2), rules))
    done(place(now, staked("player", 5, player="d"), rules))


def test_a_place_that_was_withdrawn_from_is_free_again() -> None:
    rules = rules_of("tiger")
    now = standing(rules, *(staked("tie", 5, player=p) for p in "abc"))
    now = done(withdraw(now, asked("tie", player="b"), rules))
    done(place(now, staked("tie", 5, player="d"), rules))


def test_immortal_has_no_number_of_wagers_but_a_pit_managers() -> None:
    """I 3.7."""
    rules = rules_of("immortal_dragon_tiger")
    many = tuple(staked("tie", 5, player=f"p{n}") for n in range(20))
    assert len(standing(rules, *many).standing) == 20
    less = Restriction(number=2, by=by("pit_manager", reason="crowded"))
    now = open_bets(done(restrict(Wagers(), less, rules)))
    for wager in many[:2]:
        now = done(place(now, wager, rules))
    assert refused(place(now, many[2], rules)).rule == "3.7"


@pytest.mark.parametrize("game", STAFFED)
def test_a_restriction_holds_from_the_next_round(game: str) -> None:
    rules = rules_of(game)
    now = standing(rules, staked("tie", 5, player="a"))
    less = Restriction(number=1, by=by("pit_manager", reason="crowded"))
    now = done(restrict(now, less, rules))
    now = done(place(now, staked("tie", 5, player="b"), rules))
    now = open_bets(return_all_wagers(close_bets(now), None, rules).wagers)
    now = done(place(now, staked("tie", 5, player="a"), rules))
    answer = refused(place(now, staked("tie", 5, player="b"), rules))
    assert answer.rule == NUMBERS[game]["lowered"]
    lifted = Restriction(number=None, by=by("pit_manager", reason="room again"))
    now = open_bets(return_all_wagers(done(restrict(now, lifted, rules)), None, rules).wagers)
    now = done(place(now, staked("tie", 5, player="a"), rules))
    done(place(now, staked("tie", 5, player="b"), rules))


@pytest.mark.parametrize("game", STAFFED)
def test_only_a_pit_manager_or_higher_may_restrict(game: str) -> None:
    rules = rules_of(game)
    for position in ("dealer", "pit_supervisor", "surveillance"):
        less = Restriction(number=1, by=by(position, reason="crowded"))
        answer = refused(restrict(Wagers(), less, rules))
        assert (answer.rule, answer.position) == (NUMBERS[game]["lowered"], "pit_manager")
    for position in ("pit_manager", "gaming_shift_manager"):
        done(restrict(Wagers(), Restriction(number=1, by=by(position, reason="x")), rules))


@pytest.mark.parametrize("game", [g for g in STAFFED if g != "immortal_dragon_tiger"])
@pytest.mark.parametrize("number", [3, 4, 0, -1])
def test_a_restriction_is_to_at_least_one_and_fewer_than_the_games_number(
    game: str, number: int
) -> None:
    less = Restriction(number=number, by=by("pit_manager"))
    answer = refused(restrict(Wagers(), less, rules_of(game)))
    assert answer.rule == NUMBERS[game]["lowered"]


def test_reasonable_discretion_states_a_reason() -> None:
    """Immortal speaks of *reasonable* discretion; the others do not."""
    without = Restriction(number=1, by=by("pit_manager"))
    assert refused(restrict(Wagers(), without, rules_of("immortal_dragon_tiger"))).rule == "3.7"
    done(restrict(Wagers(), without, rules_of("tiger")))


def test_nobody_restricts_the_royal_game() -> None:
    less = Restriction(number=1, by=by("pit_manager", reason="x"))
    refused(restrict(Wagers(), less, rules_of("dragon_bonus_royal")))


def test_a_table_may_begin_with_a_lower_number() -> None:
    rules = rules_of("tiger", wagers_per_area=1)
    now = standing(rules, staked("tie", 5, player="a"))
    assert refused(place(now, staked("tie", 5, player="b"), rules)).rule == "3.7.1"


def test_one_player_plays_the_royal_game() -> None:
    rules = rules_of("dragon_bonus_royal")
    now = standing(rules, staked("player", 5), staked("tie", 5))
    answer = refused(place(now, staked("banker", 5, player="ben"), rules))
    assert "1 Player at once" in english(answer.why)


# On behalf of a Player.


@pytest.mark.parametrize("game", STAFFED)
@pytest.mark.parametrize(
    "position", ["dealer", "pit_supervisor", "pit_manager", "gaming_shift_manager"]
)
def test_staff_place_wagers_at_a_players_request(game: str, position: str) -> None:
    wager = staked("tie", 5, position=position, on_behalf=True)
    (held,) = done(place(open_bets(Wagers()), wager, rules_of(game))).standing
    assert held.player == "ann"


@pytest.mark.parametrize("game", STAFFED)
def test_who_is_not_of_the_table_places_for_nobody(game: str) -> None:
    """N/T/I 3.8, F 3.7."""
    wager = staked("tie", 5, position="surveillance", on_behalf=True)
    answer = refused(place(open_bets(Wagers()), wager, rules_of(game)))
    assert (answer.rule, answer.position) == (NUMBERS[game]["on_behalf"], "dealer")


def test_nobody_places_for_the_player_of_the_royal_game() -> None:
    wager = staked("tie", 5, on_behalf=True)
    refused(place(open_bets(Wagers()), wager, rules_of("dragon_bonus_royal")))


def test_the_ledger_is_one_value_that_can_be_written_and_read() -> None:
    rules = rules_of("tiger")
    now = standing(rules, staked("tie", 5), staked("player", 70, player="ben", seat=3))
    body = msgspec.json.encode(now)
    assert msgspec.json.decode(body, type=Wagers) == now
