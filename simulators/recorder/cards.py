"""The cards of a recorded shoe in the order in which they came out, as a scenario lists them.

In: each card as it was drawn, read or not. Out: the keys of a ``shoe`` table.
Must not know: what was done at the table, files.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from firmware_proto.cards import CARDS, DECKS
from simulators.shoe.model import CARDS_BEHIND_CUT

BURNED = ("first_card", "burn", "burn_count")
"""The places of cards that open a shoe."""

USUAL_DECK, USUAL_DECKS = "french52", 8
"""The cards of a scenario's shoe where it names no others."""


class CardOrder:
    """One set of cards, filled card by card. ``drawn`` were out before the first of them."""

    def __init__(self, deck: str, decks: int, *, drawn: int = 0) -> None:
        self.deck = deck
        self.decks = decks
        self.drawn = drawn
        self.came_before = drawn
        self.cut_after: int | None = None
        self._codes: list[str | None] = []
        self._opening = 0
        self._unread: list[int] = []
        self._face_up: list[int] = []
        self._pushed_back = False

    def add(self, code: str | None, *, face_up: bool = False, opens: bool = False) -> int:
        """Take in the next card; None where it was not read. Return its place in the order."""
        self.drawn += 1
        if face_up:
            self._face_up.append(self.drawn)
        if code is None:
            self._unread.append(self.drawn)
        if self._pushed_back:  # it lies in front again by itself
            self._pushed_back = False
            return len(self._codes) - 1
        if opens:
            self._opening += 1
        self._codes.append(code)
        return len(self._codes) - 1

    def add_untold(self) -> None:
        """A card left the shoe and was read, and nobody was told which it was."""
        self.drawn += 1
        self._codes.append(None)

    def add_before_last(self, code: str) -> None:
        """The same, before the card that was drawn last; it is to be this one."""
        self.drawn += 1
        self._codes.insert(len(self._codes) - 1, code)

    def holds(self, code: str) -> bool:
        """Return whether the set has one more of this card than came out."""
        has = self.decks * sum(card.code == code for card in DECKS[self.deck].cards)
        return self._codes.count(code) < has

    def add_unseen(self) -> None:
        """A card left the shoe and nobody was told which: it takes a place, and no number."""
        self._codes.append(None)

    def name(self, place: int, code: str) -> None:
        """Say which card it was that was not read: staff did, or the shoe read it again."""
        if self._codes[place] is None:
            self._codes[place] = code

    def read_again(self, code: str | None) -> None:
        """Say which card the last one was."""
        if code is not None and self._codes:
            self._codes[-1] = code

    def push_back(self) -> None:
        """The card drawn last lies in front again."""
        self._pushed_back = True

    def cutting_card(self) -> None:
        """The cutting card came out now."""
        if self.cut_after is None:
            self.cut_after = self.drawn

    def plain(self) -> dict[str, Any]:
        """Return the set as the keys of a scenario's ``shoe``."""
        codes = self._named()
        holds = Counter({card.code: self.decks for card in DECKS[self.deck].cards})
        extra = Counter(codes) - holds
        size = self.decks * len(DECKS[self.deck].cards) + extra.total()
        given: dict[str, Any] = {
            "deck": None if self.deck == USUAL_DECK else self.deck,
            "decks": None if self.decks == USUAL_DECKS else self.decks,
            "already_drawn": self.came_before or None,
            "burn": " ".join(codes[: self._opening]) or None,
            "cards": " ".join(codes[self._opening :]) or None,
            "extra": " ".join(sorted(extra.elements())) or None,
            "cut_after": self._cut_after(size),
            "unreadable": self._unread or None,
            "face_up": self._face_up or None,
        }
        return {key: value for key, value in given.items() if value is not None}

    def _cut_after(self, size: int) -> int | None:
        """Return behind how many cards the cutting card lies; None where the usual place does."""
        if self.cut_after is None and self.drawn > size - CARDS_BEHIND_CUT:
            return size
        return self.cut_after

    def _named(self) -> list[str]:
        """Return all cards; one that nobody knows is one that the set still holds."""
        left = Counter({card.code: self.decks for card in DECKS[self.deck].cards})
        left.subtract(code for code in self._codes if code is not None)
        spare = (code for code in sorted(left) for _ in range(max(0, left[code])))
        return [code if code is not None else next(spare, _ANY) for code in self._codes]


_ANY = next(iter(CARDS))
