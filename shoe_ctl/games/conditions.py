"""The language of ``when``: conditions over a finished round.

In: two finished hands, or what can be known of them. Out: named features, and whether they meet a
Condition. Two families: CORE follows from totals and card counts, INITIAL from the first two cards
of a hand. Must not know: odds, wagers, games, files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from firmware_proto.cards import Card, Deck
from shoe_ctl.games.table_of_play import total

Value = str | int | bool
Features = Mapping[str, Value | None]
"""A feature is None where the hand has no such thing (the rank of a pair where there is none)."""

_TOTALS: tuple[Value, ...] = tuple(range(10))
_YES_NO: tuple[Value, ...] = (True, False)
_NATURAL_FROM = 8
_INITIAL = 2

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


def initial_values(deck: Deck) -> dict[str, tuple[Value, ...]]:
    """Features of each hand's first two cards, each with the values it takes with this deck.

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
    """What the conditions see of these two cards."""
    return Initial(
        first.rank.value if first.rank is second.rank else None,
        first.suit.value if first.suit is second.suit else None,
    )


def core_features(
    player_total: int, player_cards: int, banker_total: int, banker_cards: int
) -> dict[str, Value | None]:
    """The CORE features of a round finished with these totals and card counts."""
    margin = player_total - banker_total
    return {
        "winner": "player" if margin > 0 else "banker" if margin < 0 else "tie",
        "player_total": player_total,
        "banker_total": banker_total,
        "margin": abs(margin),
        "player_cards": player_cards,
        "banker_cards": banker_cards,
        "cards": player_cards + banker_cards,
        "player_natural": player_cards == _INITIAL and player_total >= _NATURAL_FROM,
        "banker_natural": banker_cards == _INITIAL and banker_total >= _NATURAL_FROM,
    }


def initial_features(player: Initial, banker: Initial) -> dict[str, Value | None]:
    """The features of both hands' first two cards."""
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
    """Every feature of a round that the Table of Play has finished."""
    return core_features(total(player), len(player), total(banker), len(banker)) | initial_features(
        initial(player[0], player[1]), initial(banker[0], banker[1])
    )


class Condition(msgspec.Struct, frozen=True):
    """Features that must each take one of the values named. No terms at all: always met."""

    terms: tuple[tuple[str, frozenset[Value]], ...]

    def holds(self, seen: Features) -> bool:
        """Whether these features meet every term."""
        for feature, values in self.terms:  # noqa: SIM110 -- all() costs twice as much
            if seen[feature] not in values:
                return False
        return True
