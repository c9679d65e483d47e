"""Who is to have a hand's cards in Method A, from wagers and refusals alone."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_ctl.games.catalog import load
from shoe_ctl.table.round.entitlement import find_recipient
from shoe_ctl.table.state import Player
from shoe_ctl.table.wagers.ledger import decrease, increase, withdraw
from shoe_ctl.table.wagers.types import Wagers
from shoe_testing.ledger_requests import STAFFED, asked, done, rules_of, staked, standing

TIGER = rules_of("tiger", "A", minimum=1)
OF_EACH_GAME = {
    "immortal_dragon_tiger": "3.10",
    "dragon_tiger_no_commission": "3.10",
    "tiger": "3.10",
    "fa_fa_fabulous_4": "3.9",
}


def who(wagers: Wagers, *refused: str, hand: str = "player") -> tuple[str | None, str] | None:
    found = find_recipient(wagers, hand, [Player(id=name) for name in refused], TIGER)
    return None if found is None else (found.player.id, found.clause)


def test_the_highest_wager_on_the_hand_has_its_cards() -> None:
    now = standing(
        TIGER, staked("player", 50, "ann", 1), staked("player", 80, "bob", 2),
        staked("banker", 900, "cat", 3),
    )  # fmt: skip
    assert who(now) == ("bob", "highest_wager")
    assert who(now, hand="banker") == ("cat", "highest_wager")


def test_all_that_a_player_has_on_the_hand_counts_together() -> None:
    now = standing(
        TIGER, staked("player", 50, "ann", 1), staked("player", 80, "bob", 2),
        staked("player", 40, "ann", 3),
    )  # fmt: skip
    assert who(now) == ("ann", "highest_wager")


def test_side_wagers_give_nobody_cards() -> None:
    now = standing(TIGER, staked("tie", 500, "ann", 1), staked("tiger", 500, "ann", 1))
    assert who(now) is None


def test_of_equals_the_first_placed_comes_first_by_the_time_of_the_last_increase() -> None:
    now = standing(TIGER, staked("player", 50, "ann", 1), staked("player", 80, "bob", 2))
    now = done(increase(now, staked("player", 30, "ann", 1), TIGER))
    assert who(now) == ("bob", "equal_first_placed")


def test_after_a_refusal_the_next_equal_counter_clockwise_and_round_past_the_last_seat() -> None:
    now = standing(
        TIGER, *(staked("player", 80, n, s) for n, s in zip("abcd", (7, 2, 8, 5), strict=True))
    )
    assert who(now) == ("a", "equal_first_placed")
    assert who(now, "a") == ("c", "equal_counter_clockwise")
    assert who(now, "a", "c") == ("b", "equal_counter_clockwise")
    assert who(now, "a", "c", "b") == ("d", "equal_counter_clockwise")
    assert who(now, "a", "c", "b", "d") is None


def test_only_when_all_equals_refused_the_next_highest() -> None:
    now = standing(
        TIGER, staked("player", 80, "a", 1), staked("player", 70, "b", 2),
        staked("player", 80, "c", 6), staked("player", 70, "d", 4),
    )  # fmt: skip
    assert who(now, "a") == ("c", "equal_counter_clockwise")
    assert who(now, "a", "c") == ("b", "refused_next_highest")
    assert who(now, "a", "c", "b") == ("d", "equal_counter_clockwise")


def test_counter_clockwise_is_the_layouts_own_list_of_seats() -> None:
    rules = rules_of("fa_fa_fabulous_4", "E", minimum=1)
    seats = load("fa_fa_fabulous_4").layouts["E"].seats
    now = standing(rules, *(staked("player", 9, f"p{seat}", seat) for seat in sorted(seats)))
    order = [find_recipient(now, "player", [], rules)]
    while (last := order[-1]) is not None:
        gone = [one.player for one in order if one is not None]
        order.append(find_recipient(now, "player", gone, rules))
        assert last.player.seat is not None
    assert tuple(one.player.seat for one in order if one is not None) == seats


def test_what_was_decreased_or_withdrawn_by_then_does_not_count() -> None:
    now = standing(
        TIGER, staked("player", 90, "ann", 1), staked("player", 80, "bob", 2),
        staked("player", 70, "cat", 3),
    )  # fmt: skip
    now = done(decrease(now, staked("player", 85, "ann", 1), TIGER))
    assert who(now) == ("bob", "highest_wager")
    assert who(done(withdraw(now, asked("player", "bob", 2), TIGER))) == ("cat", "highest_wager")


@pytest.mark.parametrize("name", STAFFED)
def test_each_game_cites_its_own_numbers(name: str) -> None:
    rules = rules_of(name, "A", minimum=1)
    article = OF_EACH_GAME[name]
    equals = standing(
        rules, staked("player", 9, "a", 1), staked("player", 9, "b", 2),
        staked("player", 5, "c", 3), staked("banker", 5, "d", 4),
    )  # fmt: skip
    cited = []
    for hand, refused in (("banker", ""), ("player", ""), ("player", "a"), ("player", "ab")):
        found = find_recipient(equals, hand, [Player(id=one) for one in refused], rules)
        assert found is not None
        cited.append(found.rule)
    assert cited == [f"{article}.{n}" for n in (2, 4, 5, 3)]


class Bet(NamedTuple):
    player: str
    seat: int
    hand: str
    amount: int


bets = st.lists(
    st.builds(
        Bet,
        st.sampled_from("abcdefg"),
        st.integers(1, 8),
        st.sampled_from(["player", "banker"]),
        st.integers(1, 3),
    ),
    max_size=9,
    unique_by=lambda bet: (bet.player, bet.seat, bet.hand),
)


@given(bets, st.sampled_from(["player", "banker"]))
def test_one_after_another_refuses_in_the_order_of_the_rules(placed: list[Bet], hand: str) -> None:
    rules = rules_of("immortal_dragon_tiger", "A", minimum=1)
    now = standing(rules, *(staked(b.hand, b.amount, b.player, b.seat) for b in placed))
    on_it = [bet for bet in placed if bet.hand == hand]
    asked_in_turn: list[Player] = []
    while (found := find_recipient(now, hand, asked_in_turn, rules)) is not None:
        asked_in_turn.append(found.player)
    names = [str(player.id) for player in asked_in_turn]
    assert names == told_by_the_rules(on_it)
    assert sorted(names) == sorted({bet.player for bet in on_it})


def told_by_the_rules(on_it: list[Bet]) -> list[str]:
    """The order written out another way: groups of equals, each walked round the table."""
    players = {bet.player for bet in on_it}
    total = {p: sum(b.amount for b in on_it if b.player == p) for p in players}
    reached = {p: max(n for n, b in enumerate(on_it) if b.player == p) for p in players}
    seat = {p: next(b.seat for b in on_it if b.player == p) for p in players}
    order: list[str] = []
    for amount in sorted(set(total.values()), reverse=True):
        equals = {p for p in players if total[p] == amount}
        at = min(equals, key=reached.__getitem__)
        while True:
            order.append(at)
            equals.remove(at)
            if not equals:
                break
            walk = [(seat[at] - 1 + step) % 8 + 1 for step in range(8)]
            here = next(s for s in walk if any(seat[p] == s for p in equals))
            at = min((p for p in equals if seat[p] == here), key=reached.__getitem__)
    return order
