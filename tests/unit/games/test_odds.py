"""Exact odds: against published counts, closed forms, every round of tiny shoes, and chance."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from functools import cache
from math import perm, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.cards import Card
from shoe_ctl.errors import InputRefused
from shoe_ctl.games import catalog
from shoe_ctl.games.game import Game
from shoe_ctl.games.odds import WagerOdds, odds
from shoe_ctl.games.table_of_play import next_hand
from shoe_ctl.games.wagers import Wager
from shoe_testing import rounds as expected_rounds
from shoe_testing.examples import examples, sampled

GAMES = {name: catalog.load(name) for name in catalog.shipped()}
FRENCH = [name for name, game in GAMES.items() if game.deck.name == "french52"]


@cache
def odds_of(name: str) -> dict[str, WagerOdds]:
    """A game's exact odds with its usual number of decks: half a second, once a process."""
    return odds(GAMES[name])


@pytest.mark.parametrize("name", FRENCH)
def test_the_published_counts_of_eight_decks_come_out_to_the_last_unit(name: str) -> None:
    found = odds_of(name)
    assert found["player"].wins == 2_230_518_282_592_256
    assert found["banker"].wins == 2_292_252_566_437_888
    assert found["tie"].wins == 475_627_426_473_216
    assert {wager.rounds for wager in found.values()} == {4_998_398_275_503_360}


def test_royal_returns_what_its_document_says_between_player_and_banker() -> None:
    found = odds_of("dragon_bonus_royal")
    mean = (found["player"].rtp + found["banker"].rtp) / 2
    assert f"{float(mean):.2%}" == "98.85%"


@pytest.mark.parametrize(
    ("game", "wager", "edge"),
    [
        ("tiger", "player", "1.235%"),
        ("tiger", "banker", "1.058%"),
        ("tiger", "tie", "14.360%"),
        ("immortal_dragon_tiger", "banker_pair", "10.361%"),
        ("dragon_tiger_no_commission", "banker", "1.458%"),
        ("dragon_bonus_royal", "player_dragon_bonus", "2.652%"),
        ("dragon_bonus_royal", "banker_dragon_bonus", "9.373%"),
    ],
)
def test_the_house_edges_known_of_old_come_out(game: str, wager: str, edge: str) -> None:
    assert f"{float(-odds_of(game)[wager].ev):.3%}" == edge


@pytest.mark.parametrize("decks", sampled([8, 4, 10], one_in=3, cpu_s=0.4))
def test_pairs_are_what_counting_by_hand_gives(decks: int) -> None:
    chance = Fraction(4 * decks - 1, 52 * decks - 1)
    found = odds(GAMES["immortal_dragon_tiger"], decks)
    assert found["player_pair"].ev == found["banker_pair"].ev == 12 * chance - 1
    four = 4 * decks
    twin = Fraction(13 * perm(four, 4), perm(52 * decks, 4))
    double = Fraction(13 * 12 * perm(four, 2) ** 2, perm(52 * decks, 4))
    single = 2 * (chance - twin - double)
    tiger = odds(GAMES["tiger"], decks)["tiger_pair"]
    assert tiger.ev == 5 * single + 21 * double + 101 * twin - 1


@pytest.mark.parametrize("decks", sampled([4, 8, 10], one_in=3, cpu_s=0.4))
def test_elements_are_counted_card_by_card(decks: int) -> None:
    def drawn(faces: int) -> int:
        return perm(faces * decks, 2)

    found = odds(GAMES["fa_fa_fabulous_4"], decks)
    pair, ways = found["player_precious_pair"], Fraction(drawn(65))
    gold_fours, fours = drawn(1) / ways, drawn(5) / ways
    golds, others = 12 * drawn(1) / ways, 12 * drawn(5) / ways
    back = 31 * gold_fours + 16 * (fours - gold_fours) + 13 * golds + 10 * (others - golds)
    assert pair.ev == found["banker_precious_pair"].ev == back - 1
    tie = found["tie"]
    assert Fraction(tie.won[Fraction(800)], tie.rounds) == Fraction(
        perm(5 * decks, 4), perm(65 * decks, 4)
    )


@pytest.mark.parametrize("name", GAMES)
def test_wagers_stand_in_the_games_order_and_no_round_counts_twice(name: str) -> None:
    assert tuple(odds_of(name)) == tuple(GAMES[name].wagers)
    for found in odds_of(name).values():
        assert 0 < found.wins < found.wins + found.pushed + 1 <= found.rounds
        assert -1 < found.ev < 0
        assert found.rtp == 1 + found.ev


@given(shoe=st.sampled_from(expected_rounds.TINY), wager=expected_rounds.tiny_wager())
@examples(100)
def test_any_wager_ends_as_often_as_dealing_every_round_of_a_tiny_shoe_says(
    shoe: tuple[str, str, int], wager: Wager
) -> None:
    ranks, suits, decks = shoe
    counted: Counter[object] = Counter()
    for seen, orders in expected_rounds.orders_by_sight(ranks, suits, decks):
        done = wager.judge(seen)
        counted[done.odds or done.result] += orders
    found = odds(
        expected_rounds.tiny_game(expected_rounds.tiny_deck(ranks, suits), {"any": wager}), decks
    )["any"]
    assert found.rounds == sum(counted.values())
    assert found.pushed == counted["push"]
    assert dict(found.won) == {end: n for end, n in counted.items() if isinstance(end, Fraction)}


@pytest.mark.parametrize("many", [5_000, pytest.param(20_000, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("name", GAMES)
def test_rounds_dealt_by_chance_win_about_as_often(name: str, many: int) -> None:
    game = GAMES[name]
    rng = random.Random(20)
    won: Counter[str] = Counter()
    pushed: Counter[str] = Counter()
    for _ in range(many):
        for wager, end in game.settle(by_chance(game, rng)).wagers.items():
            won[wager] += end.result == "win"
            pushed[wager] += end.result == "push"
    for wager, exact in odds_of(name).items():
        for seen, expected in ((won[wager], exact.wins), (pushed[wager], exact.pushed)):
            chance = expected / exact.rounds
            assert abs(seen - many * chance) <= 5 * sqrt(many * chance * (1 - chance)), wager


def by_chance(game: Game, rng: random.Random) -> list[Card]:
    shoe = rng.sample(game.deck.cards, 6, counts=[game.decks.default] * len(game.deck.cards))
    hands: dict[str, list[Card]] = {"player": [], "banker": []}
    dealt = 0
    while (due := next_hand(hands["player"], hands["banker"])) is not None:
        hands[due].append(shoe[dealt])
        dealt += 1
    return shoe[:dealt]


def test_fewer_decks_change_the_odds() -> None:
    few, many = odds(GAMES["tiger"], 4), odds(GAMES["tiger"], 10)
    assert few["player"].ev != many["player"].ev
    assert odds(GAMES["tiger"], 8) == odds_of("tiger")


def test_a_number_of_decks_the_game_is_not_played_with_is_refused() -> None:
    with pytest.raises(InputRefused, match="4 to 10 decks, not 3"):
        odds(GAMES["tiger"], 3)


def test_a_push_neither_wins_nor_loses() -> None:
    found = WagerOdds(rounds=10, won={Fraction(2): 3}, pushed=5)
    assert (found.wins, found.ev, found.rtp) == (3, Fraction(2, 5), Fraction(7, 5))
