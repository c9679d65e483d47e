"""The test oracle: points, Table of Play, winner and pairs, written without the controller.

In: cards in the order they were drawn. Out: the place of the next card, and the verdict.
Must not know: how the controller judges. Tests compare the controller with this module: a rule
imported from there would hide its own bug.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from firmware_proto.cards import Card

PLAYER = "player"
BANKER = "banker"
TIE = "tie"

_POINTS = {"A": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6, "7": 7, "8": 8, "9": 9}
"""Rule 3.3 (royal and fa fa alike); tens and every court card are nothing."""

_INITIAL = ((PLAYER, 1), (BANKER, 1), (PLAYER, 2), (BANKER, 2))

# Table of Play, rule 3.15: a row a Banker total, a column what Player's third card counts
# (0 to 9), the last one Player standing. "x" is draws, "." is stands.
_BANKER_ROWS = (
    # 0123456789-
    "xxxxxxxxxxx",  # 0
    "xxxxxxxxxxx",  # 1
    "xxxxxxxxxxx",  # 2
    "xxxxxxxx.xx",  # 3
    "..xxxxxx..x",  # 4
    "....xxxx..x",  # 5
    "......xx...",  # 6
    "...........",  # 7
)
_STOOD = 10
_NATURAL = 8
_PLAYER_STANDS = 6


@cache
def points(card: Card) -> int:
    """Return what the card counts, 0 to 9."""
    return _POINTS.get(card.rank.value, 0)


def total(cards: list[Card]) -> int:
    """Return the hand's total: the right digit of the sum (rule 3.4)."""
    return sum(map(points, cards)) % 10


@dataclass(frozen=True, slots=True)
class Verdict:
    """A finished round as the rules have it."""

    winner: str
    player_total: int
    banker_total: int
    player_pair: bool
    banker_pair: bool


@dataclass(slots=True)
class Judge:
    """One round, card by card."""

    drawn: list[Card] = field(default_factory=list)
    player: list[Card] = field(default_factory=list)
    banker: list[Card] = field(default_factory=list)
    _due: tuple[str, int] | None = field(init=False)

    def __post_init__(self) -> None:
        self._due = self._find_due()

    @property
    def begun(self) -> bool:
        """True once a card lies on the table."""
        return bool(self.drawn)

    @property
    def complete(self) -> bool:
        """True when no card is due any more."""
        return self._due is None

    def next_place(self) -> tuple[str, int] | None:
        """Hand and index (from 1) of the card that is due, None when the round is complete."""
        return self._due

    def _find_due(self) -> tuple[str, int] | None:
        dealt = len(self.drawn)
        if dealt < len(_INITIAL):
            return _INITIAL[dealt]
        if len(self.banker) > 2 or self._natural():
            return None
        if len(self.player) == 2:
            if total(self.player) < _PLAYER_STANDS:
                return PLAYER, 3
            column = _STOOD
        else:
            column = points(self.player[2])
        return (BANKER, 3) if _BANKER_ROWS[total(self.banker)][column] == "x" else None

    def place(self, card: Card) -> tuple[str, int]:
        """Lay the card where it is due, and return where.

        Raises:
            ValueError: no card is due.
        """
        place = self._due
        if place is None:
            raise ValueError(f"{card} drawn with no card due")
        self.drawn.append(card)
        (self.player if place[0] == PLAYER else self.banker).append(card)
        self._due = self._find_due()
        return place

    def verdict(self) -> Verdict:
        """Winner, totals and pairs (pairs are by rank, over the first two cards).

        Raises:
            ValueError: the round is not complete.
        """
        if not self.complete:
            raise ValueError("the round is not complete")
        ours, theirs = total(self.player), total(self.banker)
        winner = TIE if ours == theirs else PLAYER if ours > theirs else BANKER
        return Verdict(winner, ours, theirs, _paired(self.player), _paired(self.banker))

    def _natural(self) -> bool:
        return max(total(self.player[:2]), total(self.banker[:2])) >= _NATURAL


def _paired(hand: list[Card]) -> bool:
    return hand[0].rank is hand[1].rank
