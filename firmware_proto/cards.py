"""Cards and the two decks they come from.

In: card codes ("TS", "4g"). Out: interned Card values, Deck values.
Must not know: bytes, games, point values of a hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import final


class Rank(Enum):
    """A card's rank; the value is the letter used in card codes."""

    ACE = "A"
    TWO = "2"
    THREE = "3"
    FOUR = "4"
    FIVE = "5"
    SIX = "6"
    SEVEN = "7"
    EIGHT = "8"
    NINE = "9"
    TEN = "T"
    JACK = "J"
    QUEEN = "Q"
    KING = "K"
    SHOU = "S"
    LU = "L"
    FU = "F"


class Suit(Enum):
    """A suit of the 52-card deck."""

    SPADES = "S"
    HEARTS = "H"
    DIAMONDS = "D"
    CLUBS = "C"


class Element(Enum):
    """An element: the suit of the 65-card deck. Water is ``a`` because wood is ``w``."""

    FIRE = "f"
    GOLD = "g"
    EARTH = "e"
    WOOD = "w"
    WATER = "a"


@final
class Card:
    """One face. Interned: two equal cards are the same object, so ``is`` and ``==`` agree.

    ``code`` is rank then suit ("TS"); ``points`` is 0-9 as the rules count it (rule 3.3).
    """

    __slots__ = ("code", "points", "rank", "suit")

    code: str
    points: int
    rank: Rank
    suit: Suit | Element

    def __init__(self, rank: Rank, suit: Suit | Element, code: str, points: int) -> None:
        for name, value in (("rank", rank), ("suit", suit), ("code", code), ("points", points)):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a card cannot be changed: {name}")

    def __repr__(self) -> str:
        return self.code

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return card, (self.code,)

    def __copy__(self) -> Card:
        return self

    def __deepcopy__(self, memo: object) -> Card:
        return self


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Deck:
    """One complete deck: its name and every face once, rank by rank within each suit."""

    name: str
    ranks: tuple[Rank, ...]
    suits: tuple[Suit, ...] | tuple[Element, ...]
    cards: tuple[Card, ...]
    faces: frozenset[Card] = field(init=False)
    """The cards, for a quick look whether one belongs to the deck."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "faces", frozenset(self.cards))

    def __repr__(self) -> str:
        return f"Deck({self.name})"

    def __contains__(self, face: object) -> bool:
        return face in self.faces


_FACES = "A23456789T"
_ZERO_POINTS = frozenset("TJQKSLF")


def _deck(name: str, ranks: str, suits: type[Suit] | type[Element]) -> Deck:
    members: tuple[Suit, ...] | tuple[Element, ...] = tuple(suits)  # type: ignore[assignment]
    cards = tuple(
        Card(Rank(r), s, r + s.value, 0 if r in _ZERO_POINTS else _FACES.index(r) + 1)
        for s in members
        for r in ranks
    )
    return Deck(name, tuple(Rank(r) for r in ranks), members, cards)


FRENCH52 = _deck("french52", "A23456789TJQK", Suit)
ELEMENT65 = _deck("element65", "A23456789TSLF", Element)

DECKS: dict[str, Deck] = {d.name: d for d in (FRENCH52, ELEMENT65)}
"""Every deck by name."""

CARDS: dict[str, Card] = {c.code: c for d in DECKS.values() for c in d.cards}
"""Every face of every deck by code; codes never clash (elements are lower case)."""


def card(code: str) -> Card:
    """The card with this code.

    Raises:
        ValueError: no deck has such a card.
    """
    try:
        return CARDS[code]
    except KeyError:
        raise ValueError(f"no such card: {code!r} (rank then suit, such as TS or 4g)") from None
