"""Conditions over a finished round, as the key ``when`` of a game file has them; who won, and how.

In: two finished hands, or what can be known of them. Out: named features, and whether they meet a
Condition. Two families: CORE follows from totals and card counts, INITIAL from the first two cards
of a hand. Must not know: odds, wagers, games, files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import product

import msgspec

from firmware_proto.cards import Card, Deck
from shoe_ctl.games.table_of_play import (
    INITIAL_CARDS,
    End,
    ends_of_totals,
    is_natural_total,
    total,
)

Value = str | int | bool

Features = Mapping[str, Value | None]
"""A feature is None where the hand has no such thing (the rank of a pair where there is none)."""

_TOTALS: tuple[Value, ...] = tuple(range(10))

_YES_NO: tuple[Value, ...] = (True, False)

CORE: Mapping[str, tuple[Value, ...]] = {
    "winner": ("player", "banker", "tie"),
    "player_total": _TOTALS,
    "banker_total": _TOTALS,
    "margin": _TOTALS,
    "player_cards": (2, 3),
    "banker_cards": (2, 3),
    "cards": (4, 5, 6),
    "player_natural": _YES_NO,
    "banker_natural": _YES_NO,
}
"""Features of the finished hands, each with its values. ``margin`` is the difference of totals."""

PAIRS = ("none", "single", "double", "twin")
"""``pairs``: how many hands pair; ``twin`` is two pairs of one rank."""

MIXED = "mixed"
"""``player_suit``, ``banker_suit``: the first two cards are not of one suit."""


# Features


def initial_values(deck: Deck) -> dict[str, tuple[Value, ...]]:
    """Return the features of each hand's first two cards, with their values in this deck.

    A pair is two cards of the same rank; ``*_pair_rank`` is that rank's letter. ``*_suit`` is the
    letter of the suit (or element) that the two cards share, or ``mixed``.
    """
    ranks: tuple[Value, ...] = tuple(rank.value for rank in deck.ranks)
    suits: tuple[Value, ...] = (*(suit.value for suit in deck.suits), MIXED)
    return {
        "pairs": PAIRS,
        "player_pair": _YES_NO,
        "banker_pair": _YES_NO,
        "player_pair_rank": ranks,
        "banker_pair_rank": ranks,
        "player_suited": _YES_NO,
        "banker_suited": _YES_NO,
        "player_suit": suits,
        "banker_suit": suits,
    }


class Initial(msgspec.Struct, frozen=True):
    """A hand's first two cards as the conditions see them: pair's rank, shared suit, or None."""

    pair_rank: str | None
    suit: str | None


def initial(first: Card, second: Card) -> Initial:
    """Return what the conditions see of these two cards."""
    return Initial(
        first.rank.value if first.rank is second.rank else None,
        first.suit.value if first.suit is second.suit else None,
    )


def core_features(
    player_total: int, player_cards: int, banker_total: int, banker_cards: int
) -> dict[str, Value | None]:
    """Return the CORE features of a round finished with these totals and card counts."""
    margin = player_total - banker_total
    return {
        "winner": "player" if margin > 0 else "banker" if margin < 0 else "tie",
        "player_total": player_total,
        "banker_total": banker_total,
        "margin": abs(margin),
        "player_cards": player_cards,
        "banker_cards": banker_cards,
        "cards": player_cards + banker_cards,
        "player_natural": player_cards == INITIAL_CARDS and is_natural_total(player_total),
        "banker_natural": banker_cards == INITIAL_CARDS and is_natural_total(banker_total),
    }


def initial_features(player: Initial, banker: Initial) -> dict[str, Value | None]:
    """Return the features of both hands' first two cards."""
    found = (player.pair_rank is not None) + (banker.pair_rank is not None)
    twin = found > 1 and player.pair_rank == banker.pair_rank
    return {
        "pairs": "twin" if twin else PAIRS[found],
        "player_pair": player.pair_rank is not None,
        "banker_pair": banker.pair_rank is not None,
        "player_pair_rank": player.pair_rank,
        "banker_pair_rank": banker.pair_rank,
        "player_suited": player.suit is not None,
        "banker_suited": banker.suit is not None,
        "player_suit": player.suit or MIXED,
        "banker_suit": banker.suit or MIXED,
    }


def features(player: Sequence[Card], banker: Sequence[Card]) -> dict[str, Value | None]:
    """Return every feature of a round that the Table of Play has finished."""
    return core_features(total(player), len(player), total(banker), len(banker)) | initial_features(
        initial(player[0], player[1]), initial(banker[0], banker[1])
    )


# Conditions


class Condition(msgspec.Struct, frozen=True):
    """Features that must each take one of the values named. No terms at all: always met."""

    terms: tuple[tuple[str, frozenset[Value]], ...]

    def holds(self, seen: Features) -> bool:
        """Return True if these features meet every term."""
        for feature, values in self.terms:  # noqa: SIM110 -- all() costs twice as much
            if seen[feature] not in values:
                return False
        return True


# Coverage: what can be met at all

Combination = dict[str, Value | None]


def reachable(features: Collection[str], deck: Deck, decks: int) -> list[Combination]:
    """Return every combination of these features' values that some finished round has.

    ``decks`` is the most decks the game is played with (1 rules out two cards of one face).
    """
    core = tuple(name for name in CORE if name in features)
    early = tuple(name for name in features if name not in CORE)
    if not early:
        finals = frozenset[End]().union(*_ends_by_totals().values())
        return [dict(zip(core, seen, strict=True)) for seen in _project(finals, core)]
    hands = _initials(deck, decks)
    kinds = {
        totals: _project_initial(hands[totals[0]], hands[totals[1]], early)
        for totals in _ends_by_totals()
    }
    found = {
        seen + kind
        for totals, finals in _ends_by_totals().items()
        for seen in (_project(finals, core) if core else {()})
        for kind in kinds[totals]
    }
    return [dict(zip(core + early, seen, strict=True)) for seen in found]


@cache
def _ends_by_totals() -> dict[tuple[int, int], tuple[End, ...]]:
    """Return every end that a round can have, by both two-card totals; each end is kept once."""
    kept: dict[End, End] = {}
    return {
        (player, banker): tuple(kept.setdefault(end, end) for end in ends_of_totals(player, banker))
        for player, banker in product(range(10), repeat=2)
    }


def _initials(deck: Deck, decks: int) -> dict[int, frozenset[Initial]]:
    """Return what the first two cards of a hand can be, by their total."""
    points = {card.rank.value: card.points for card in deck.cards}
    suits = [suit.value for suit in deck.suits]
    found: dict[int, set[Initial]] = {points: set() for points in range(10)}
    for first, second in product(points, repeat=2):
        pair = first if first == second else None
        shared = [None] if pair and decks == 1 else [None, *suits]
        found[(points[first] + points[second]) % 10] |= {Initial(pair, suit) for suit in shared}
    return {points: frozenset(seen) for points, seen in found.items()}


def _seen_of(hands: Collection[Initial], side: str, names: Collection[str]) -> set[Initial]:
    """Return one side's hands without what none of the features looks at."""
    rank = not {"pairs", f"{side}_pair", f"{side}_pair_rank"}.isdisjoint(names)
    suit = not {f"{side}_suit", f"{side}_suited"}.isdisjoint(names)
    return {
        Initial(hand.pair_rank if rank else None, hand.suit if suit else None) for hand in hands
    }


@cache
def _core_of(final: End) -> Mapping[str, Value | None]:
    """Return the CORE features of this end, not to be changed: each wager of a game asks for it."""
    return core_features(*final)


def _project(finals: Collection[End], names: tuple[str, ...]) -> set[tuple[Value | None, ...]]:
    seen = [_core_of(final) for final in finals]
    return {tuple([one[name] for name in names]) for one in seen}


def _project_initial(
    player: Collection[Initial], banker: Collection[Initial], names: tuple[str, ...]
) -> set[tuple[Value | None, ...]]:
    players, bankers = _seen_of(player, "player", names), _seen_of(banker, "banker", names)
    seen = (initial_features(*pair) for pair in product(players, bankers))
    return {tuple(one[name] for name in names) for one in seen}


# Kinds of first two cards

Kind = tuple[int, str | None, str | None]
"""Points total of the two cards, the pair's rank and the shared suit, as far as it matters."""

_OTHER = "other"


class HandKinds:
    """Sorts first two cards into kinds that every given condition treats alike."""

    __slots__ = ("_any_rank", "_any_suit", "_ranks", "_suits")

    def __init__(self, conditions: Iterable[Condition]) -> None:
        named: dict[str, set[object]] = {}
        for condition in conditions:
            for feature, values in condition.terms:
                named.setdefault(feature.removeprefix("player_").removeprefix("banker_"), set())
                named[feature.removeprefix("player_").removeprefix("banker_")] |= values
        self._ranks = named.get("pair_rank", set())
        self._suits = named.get("suit", set()) - {MIXED}
        self._any_rank = None if "pairs" in named else bool({"pair", "pair_rank"} & named.keys())
        self._any_suit = bool({"suit", "suited"} & named.keys())

    def kind(self, first: Card, second: Card) -> Kind:
        """Return the kind of a hand that begins with these two cards."""
        seen = initial(first, second)
        rank, suit = seen.pair_rank, seen.suit
        if self._any_rank is not None and rank is not None and rank not in self._ranks:
            rank = _OTHER if self._any_rank else None
        if suit is not None and suit not in self._suits:
            suit = _OTHER if self._any_suit else None
        return (first.points + second.points) % 10, rank, suit
