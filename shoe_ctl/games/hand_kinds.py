"""Two-card hands that a game's conditions cannot tell apart.

In: the conditions of a game. Out: a kind for any first two cards, small enough to look up.
Must not know: odds, third cards, the Table of Play.
"""

from __future__ import annotations

from collections.abc import Iterable

from firmware_proto.cards import Card
from shoe_ctl.games.conditions import MIXED, Condition, initial

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
        """The kind of a hand that begins with these two cards."""
        seen = initial(first, second)
        rank, suit = seen.pair_rank, seen.suit
        if self._any_rank is not None and rank is not None and rank not in self._ranks:
            rank = _OTHER if self._any_rank else None
        if suit is not None and suit not in self._suits:
            suit = _OTHER if self._any_suit else None
        return (first.points + second.points) % 10, rank, suit
