"""How long exact odds and decided wagers take.

In: --runs, --json. Out: a table, or JSON: seconds for each game's odds (median of the runs), and
milliseconds for deciding the wagers of rounds with any cards revealed. *First* is
the first answer of a game just loaded. Exits 1 beyond what the project promises.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from statistics import median
from time import perf_counter

from bench._promises import median_of, most_of
from firmware_proto.cards import Card
from shoe_ctl.games import catalog
from shoe_ctl.games.decided import decide
from shoe_ctl.games.game import Game
from shoe_ctl.games.odds import odds
from shoe_ctl.games.table_of_play import next_hand, possible_ends

ODDS_WANTED_S = 10.0
"""The odds of all games together."""
DECIDED_WANTED_MS = 5.0
"""Deciding one round's wagers."""
ROUNDS = 400

Shown = list[Card | None]


def shown_of(game: Game, decks: int) -> list[Shown]:
    """Rounds between first card and last, any of their cards revealed, by a fixed seed."""
    rng = random.Random(1)
    found: list[Shown] = [[], [None] * 4, [None] * 5, [None] * 6]
    while len(found) < ROUNDS:
        shoe = rng.sample(game.deck.cards, 6, counts=[decks] * len(game.deck.cards))
        hands: dict[str, list[Card]] = {"player": [], "banker": []}
        many = 0
        while (due := next_hand(hands["player"], hands["banker"])) is not None:
            hands[due].append(shoe[many])
            many += 1
        revealed = rng.random()
        dealt = [card if rng.random() < revealed else None for card in shoe[:many]]
        found.append(dealt[: rng.randint(0, many)])
    return found


def timed_odds(name: str, runs: int) -> list[float]:
    """A few runs, in seconds."""
    game = catalog.load(name)
    times = []
    for _ in range(runs):
        start = perf_counter()
        odds(game)
        times.append(perf_counter() - start)
    return times


def timed_decided(name: str, runs: int) -> dict[str, float]:
    """Milliseconds: a game's first answer (median), then median and slowest of many rounds.

    Each round's time is the best of the runs, so that a machine that stalls does not count as ours.
    """
    first, slowest, middle = [], 0.0, []
    game = catalog.load(name)
    for decks in sorted({game.decks.min, game.decks.default}):
        for _ in range(runs):
            game = catalog.load(name)
            possible_ends.cache_clear()
            start = perf_counter()
            decide(game, [game.deck.cards[0], None, game.deck.cards[1], None], decks=decks)
            first.append(perf_counter() - start)
        rounds = shown_of(game, decks)
        best = [float("inf")] * len(rounds)
        for _ in range(runs):
            for place, shown in enumerate(rounds):
                start = perf_counter()
                decide(game, shown, decks=decks)
                best[place] = min(best[place], perf_counter() - start)
        slowest = max(slowest, *best)
        middle += best
    return {
        "first": 1000 * median(first),
        "median": 1000 * median(middle),
        "slowest": 1000 * slowest,
    }


def main() -> int:
    """Measure every shipped game."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    runs_s = {name: timed_odds(name, args.runs) for name in catalog.shipped()}
    odds_s = {name: median(times) for name, times in runs_s.items()}
    decided_ms = {name: timed_decided(name, args.runs) for name in catalog.shipped()}
    kept = [
        median_of(
            "odds of all games",
            [sum(run) for run in zip(*runs_s.values(), strict=True)],
            unit="s",
            most=ODDS_WANTED_S,
        ),
        most_of(
            "the slowest round decided, of each game",
            [times["slowest"] for times in decided_ms.values()],
            unit="ms",
            most=DECIDED_WANTED_MS,
        ),
    ]
    good = all(one.held for one in kept)
    if args.json:
        promises = [one.as_json() for one in kept]
        print(json.dumps({"odds_s": odds_s, "decided_ms": decided_ms, "promises": promises}))
        return 0 if good else 1
    heads = ("odds s", "decided ms:", "first", "median", "slowest")
    print(f"{'':<28}{heads[0]:>8}{heads[1]:>14}{heads[2]:>8}{heads[3]:>9}{heads[4]:>9}")
    for name, times in decided_ms.items():
        print(
            f"{name:<28}{odds_s[name]:>8.2f}{'':>14}{times['first']:>8.2f}"
            f"{times['median']:>9.2f}{times['slowest']:>9.2f}"
        )
    print(f"{'all':<28}{kept[0].measured:>8.2f}")
    print(
        f"wanted: odds of all in {ODDS_WANTED_S:g} s, each round decided in "
        f"{DECIDED_WANTED_MS:g} ms: {'yes' if good else 'NO'}"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
