"""What can happen at all: the feature values that finished rounds reach.

In: names of features. Out: every reachable combination of their values, by the Table of Play.
Used to find pay lines that can never match and lines that overlap. Must not know: wagers, odds.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from itertools import product

from firmware_proto.cards import Deck
from shoe_ctl.games.conditions import (
    CORE,
    Initial,
    Value,
    core_features,
    initial_features,
)
from shoe_ctl.games.table_of_play import BANKER_DRAWS

Combination = dict[str, Value | None]

_Final = tuple[int, int, int, int]
_NATURAL_FROM = 8
_STANDS_FROM = 6


@cache
def _finals() -> dict[tuple[int, int], frozenset[_Final]]:
    """By both two-card totals: Player's total and cards, Banker's total and cards at the end."""
    return {
        (player, banker): frozenset(_endings(player, banker))
        for player, banker in product(range(10), repeat=2)
    }


def _endings(player: int, banker: int) -> list[_Final]:
    if player >= _NATURAL_FROM or banker >= _NATURAL_FROM:
        return [(player, 2, banker, 2)]
    if player >= _STANDS_FROM:
        if banker >= _STANDS_FROM:
            return [(player, 2, banker, 2)]
        return [(player, 2, (banker + points) % 10, 3) for points in range(10)]
    ends: list[_Final] = []
    for third in range(10):
        at = (player + third) % 10
        if third in BANKER_DRAWS[banker]:
            ends += [(at, 3, (banker + points) % 10, 3) for points in range(10)]
        else:
            ends.append((at, 3, banker, 2))
    return ends


def _initials(deck: Deck, decks: int) -> dict[int, frozenset[Initial]]:
    """By two-card total: what the first two cards of a hand can be."""
    points = {card.rank.value: card.points for card in deck.cards}
    suits = [suit.value for suit in deck.suits]
    found: dict[int, set[Initial]] = {points: set() for points in range(10)}
    for first, second in product(points, repeat=2):
        pair = first if first == second else None
        shared = [None] if pair and decks == 1 else [None, *suits]
        found[(points[first] + points[second]) % 10] |= {Initial(pair, suit) for suit in shared}
    return {points: frozenset(seen) for points, seen in found.items()}


def _seen_of(hands: Collection[Initial], side: str, names: Collection[str]) -> set[Initial]:
    """One side's hands with what none of the features looks at left out."""
    rank = not {"pairs", f"{side}_pair", f"{side}_pair_rank"}.isdisjoint(names)
    suit = not {f"{side}_suit", f"{side}_suited"}.isdisjoint(names)
    return {
        Initial(hand.pair_rank if rank else None, hand.suit if suit else None) for hand in hands
    }


def reachable(features: Collection[str], deck: Deck, decks: int) -> list[Combination]:
    """Every combination of values of these features that some finished round has.

    ``decks`` is the most decks the game is played with (1 rules out two cards of one face).
    """
    core = tuple(name for name in CORE if name in features)
    early = tuple(name for name in features if name not in CORE)
    if not early:
        finals = frozenset[_Final]().union(*_finals().values())
        return [dict(zip(core, seen, strict=True)) for seen in _project(finals, core)]
    hands = _initials(deck, decks)
    kinds = {
        totals: _project_initial(hands[totals[0]], hands[totals[1]], early) for totals in _finals()
    }
    found = {
        seen + kind
        for totals, finals in _finals().items()
        for seen in (_project(finals, core) if core else {()})
        for kind in kinds[totals]
    }
    return [dict(zip(core + early, seen, strict=True)) for seen in found]


def _project(finals: Collection[_Final], names: tuple[str, ...]) -> set[tuple[Value | None, ...]]:
    seen = (core_features(*final) for final in finals)
    return {tuple(one[name] for name in names) for one in seen}


def _project_initial(
    player: Collection[Initial], banker: Collection[Initial], names: tuple[str, ...]
) -> set[tuple[Value | None, ...]]:
    players, bankers = _seen_of(player, "player", names), _seen_of(banker, "banker", names)
    seen = (initial_features(*pair) for pair in product(players, bankers))
    return {tuple(one[name] for name in names) for one in seen}
