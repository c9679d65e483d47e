"""How many rounds a second a game settles, side by side with evaluating its pay lines one by one.

In: --rounds, --runs, --json. Out: a table, or JSON: rounds a second, medians over the runs. Every
game settles the same rounds both ways, from shoes shuffled by a fixed seed; *cold* is
the first pass over them with a game just loaded. Exits 1 below what the project promises.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
from collections.abc import Callable
from statistics import median
from time import process_time

from bench._promises import Promise, median_of
from firmware_proto.cards import Card
from shoe_ctl.games import catalog
from shoe_ctl.games.game import Game
from shoe_ctl.games.settle import judge
from shoe_ctl.games.table_of_play import natural, next_hand, total
from shoe_ctl.games.wagers import HandResult, Settlement

WANTED = 1_200_000
"""Rounds a second of plain ``settle``, typed, with all wagers of the game."""

Settle = Callable[[list[Card]], Settlement]


def rounds_of(game: Game, count: int) -> list[list[Card]]:
    """Whole rounds as a table deals them, shoe after shoe."""
    rng = random.Random(1)
    shoe: list[Card] = []
    dealt: list[list[Card]] = []
    while len(dealt) < count:
        if len(shoe) < 6:
            shoe = list(game.deck.cards) * game.decks.default
            rng.shuffle(shoe)
        cards: list[Card] = []
        hands: dict[str, list[Card]] = {"player": [], "banker": []}
        while (due := next_hand(hands["player"], hands["banker"])) is not None:
            cards.append(shoe.pop())
            hands[due].append(cards[-1])
        dealt.append(cards)
    return dealt


def line_by_line(game: Game) -> Settle:
    """The straightforward way: deal by the Table of Play, then try each pay line in turn."""

    def settle(cards: list[Card]) -> Settlement:
        hands: dict[str, tuple[Card, ...]] = {"player": (), "banker": ()}
        for card in cards:
            due = next_hand(hands["player"], hands["banker"])
            assert due is not None
            hands[due] += (card,)
        player, banker = hands["player"], hands["banker"]
        done = judge(player, banker, game.wagers, game.outcome)
        return Settlement(
            done.winner,
            HandResult(player, total(player), natural(player)),
            HandResult(banker, total(banker), natural(banker)),
            done.wagers,
            done.rules,
        )

    return settle


def rate(settle: Settle, rounds: list[list[Card]]) -> float:
    """Rounds a second over these rounds."""
    gc.collect()
    start = process_time()
    for cards in rounds:
        settle(cards)
    return len(rounds) / (process_time() - start)


def measure(name: str, count: int, runs: int) -> tuple[dict[str, float], Promise]:
    """Both ways in turn, so that a machine that slows down slows both; and what is promised."""
    game = catalog.load(name)
    rounds = rounds_of(game, count)
    plain = line_by_line(game)
    some = rounds[: max(1, count // 10)]
    cold = rate(game.settle, rounds)
    assert all(game.settle(cards) == plain(cards) for cards in some[:1000])
    pairs = [(rate(plain, some), rate(game.settle, rounds)) for _ in range(runs)]
    kept = median_of(f"{name}: rounds a second", [fast for _, fast in pairs], least=WANTED)
    return {
        "line_by_line": median(slow for slow, _ in pairs),
        "cold": cold,
        "settle": kept.measured,
        "ratio": median(fast / slow for slow, fast in pairs),
    }, kept


def main() -> int:
    """Measure every shipped game."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    measured = {name: measure(name, args.rounds, args.runs) for name in catalog.shipped()}
    found = {name: rates for name, (rates, _) in measured.items()}
    kept = [promise for _, promise in measured.values()]
    good = all(one.held for one in kept)
    if args.json:
        promises = [one.as_json() for one in kept]
        print(json.dumps({"rounds_per_s": found, "promises": promises}))
        return 0 if good else 1
    print(f"{'rounds a second':<28}{'line by line':>14}{'cold':>12}{'settle':>12}{'ratio':>8}")
    for name, rates in found.items():
        print(
            f"{name:<28}{rates['line_by_line']:>14,.0f}{rates['cold']:>12,.0f}"
            f"{rates['settle']:>12,.0f}{rates['ratio']:>7.0f}x"
        )
    print(f"wanted: {WANTED:,} of settle in every game: {'yes' if good else 'NO'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
