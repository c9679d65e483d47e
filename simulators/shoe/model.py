"""The physical shoe: a seeded shuffled set of cards, its cutting card, its lock and its lamp.

In: what hands and the host's orders do to it. Out: what physically came out, and refusals.
Must not know: bytes, events, hands' rules, clocks, threads.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from hashlib import sha256

from firmware_proto.cards import Card, Deck
from simulators.shoe.lens import CLEAN, SURE

CARDS_BEHIND_CUT = 14
"""Cards left behind the cutting card: two whole rounds at six cards each, and two to spare."""


class Refused(Exception):
    """The shoe does not do it; ``str(refusal)`` is the reason in a word or two."""


class CannotSay(Refused):
    """A shoe of this profile has no way to report it."""

    def __init__(self, profile: str, what: str) -> None:
        super().__init__(f"a shoe of profile {profile} cannot report {what}")


def shuffled(deck: Deck, decks: int, seed: int) -> tuple[Card, ...]:
    """Return the cards of ``decks`` decks in the order of this seed, which never changes.

    The decks lie one behind the other in the order of ``deck.cards``; then a Fisher-Yates
    shuffle from the back takes ``int(r * (i + 1))`` with ``r`` from ``random.Random(seed)``.
    Only ``random()`` is used, the one method whose sequence Python promises never to change.

    Raises:
        ValueError: fewer than one deck.
    """
    if decks < 1:
        raise ValueError(f"a set has one deck or more, not {decks}")
    cards = list(deck.cards) * decks
    draw = random.Random(seed).random
    for i in range(len(cards) - 1, 0, -1):
        j = int(draw() * (i + 1))
        cards[i], cards[j] = cards[j], cards[i]
    return tuple(cards)


@dataclass(frozen=True, slots=True)
class Stacked:
    """A wanted order: after ``after`` others come the ``front`` cards, then the rest as shuffled.

    ``extra`` are cards in the set beyond its decks.
    """

    front: tuple[Card, ...] = ()
    extra: tuple[Card, ...] = ()
    after: int = 0

    def arrange(self, cards: tuple[Card, ...]) -> tuple[Card, ...]:
        """Return the shuffled cards and the extra ones, in this order.

        Raises:
            ValueError: a card in front that the set does not hold so often.
        """
        rest: list[Card] = []
        wanted = Counter(self.front)
        for card in (*self.extra, *cards):
            if wanted[card]:
                wanted[card] -= 1
            else:
                rest.append(card)
        if missing := +wanted:
            raise ValueError(f"the set holds too few of {', '.join(c.code for c in missing)}")
        return (*rest[: self.after], *self.front, *rest[self.after :])


AS_SHUFFLED = Stacked()


@dataclass(frozen=True, slots=True)
class CardSet:
    """One set of cards, front first. ``cut_at`` cards come out before the cutting card does."""

    set_id: str
    deck: Deck
    decks: int
    seed: int
    cards: tuple[Card, ...]
    cut_at: int

    @classmethod
    def prepared(  # noqa: PLR0913 - a set of cards, each choice by name
        cls,
        deck: Deck,
        decks: int,
        seed: int,
        *,
        set_id: str,
        behind_cut: int = CARDS_BEHIND_CUT,
        stacked: Stacked = AS_SHUFFLED,
    ) -> CardSet:
        """Return a set shuffled by ``seed``, with the cutting card before the last ``behind_cut``.

        Raises:
            ValueError: fewer than one deck, more cards behind the cut than there are, or an order
                that the set cannot have.
        """
        cards = stacked.arrange(shuffled(deck, decks, seed))
        if not 0 <= behind_cut <= len(cards):
            raise ValueError(f"{behind_cut} cards behind the cut of {len(cards)}")
        return cls(set_id, deck, decks, seed, cards, len(cards) - behind_cut)

    @property
    def digest(self) -> str:
        """SHA-256 over the card codes in order: what an auditor compares."""
        return sha256(" ".join(c.code for c in self.cards).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class CardOut:
    """A card left the shoe. ``seen`` is what the sensor read of it: None when it could not.

    ``face_up``: it lay so in the shoe, for all to see. ``confidence``: of the reading, in percent.
    """

    card: Card
    seen: Card | None
    number: int
    armed: bool
    face_up: bool = False
    confidence: int = SURE


@dataclass(frozen=True, slots=True)
class CuttingCardOut:
    """The cutting card left the shoe; ``drawn`` cards came out before it."""

    drawn: int


class Shoe:
    """The cards and the mechanism. Battery-backed: a power cut changes only the lock.

    ``unreadable`` are draw numbers (from 1 in each set) whose card the sensor cannot read;
    ``face_up`` those whose card lies face up. While ``jammed`` nothing comes out.
    """

    def __init__(self, device_id: str, *, unreadable: frozenset[int] = frozenset()) -> None:
        self.device_id = device_id
        self.unreadable = unreadable
        self.face_up: frozenset[int] = frozenset()
        self.lens = CLEAN
        self.jammed = False
        self.cards: CardSet | None = None
        self.drawn = 0
        self.cutting_card_out = False
        self.armed: int | None = None
        self.locked_by_key = False
        self.boot_id = 0
        self.sets_loaded = 0

    @property
    def remaining(self) -> int:
        """Cards still in the shoe."""
        return 0 if self.cards is None else len(self.cards.cards) - self.drawn

    def boot(self) -> None:
        """Power comes on: a new boot id, and the bolt falls."""
        self.boot_id += 1
        self.armed = None

    def push_in(
        self,
        deck: Deck,
        decks: int,
        seed: int,
        *,
        behind_cut: int = CARDS_BEHIND_CUT,
        stacked: Stacked = AS_SHUFFLED,
    ) -> CardSet:
        """Take out what is left and push in a new set; draws count from 1 again.

        The cards that a stacked set has in it before its front were drawn from it elsewhere.

        Raises:
            ValueError: as ``CardSet.prepared``.
        """
        set_id = f"{self.device_id}-{self.sets_loaded + 1}"
        cards = CardSet.prepared(
            deck, decks, seed, set_id=set_id, behind_cut=behind_cut, stacked=stacked
        )
        self.cards = cards
        self.sets_loaded += 1
        self.drawn = stacked.after
        self.cutting_card_out = False
        self.armed = None
        return cards

    def arm(self, number: int) -> None:
        """Free the bolt for exactly draw ``number``; the same order twice changes nothing.

        Raises:
            Refused: it was drawn already, is not the next draw, the shoe is empty or locked
                by its key.
        """
        if self.locked_by_key:
            raise Refused("locked_by_key")
        if number <= self.drawn:
            raise Refused("already_drawn")
        if number > self.drawn + 1:
            raise Refused("not_the_next_draw")
        if not self.remaining:
            raise Refused("empty")
        self.armed = number

    def lock(self) -> None:
        """The bolt falls: no card may be drawn."""
        self.armed = None

    def turn_key(self, *, locked: bool) -> None:
        """Someone turns the key at the shoe."""
        self.locked_by_key = locked
        if locked:
            self.armed = None

    def push_back(self) -> Card:
        """Push the card drawn last in at the front; drawn again, it has a new number.

        Raises:
            Refused: no card of this set is out.
        """
        if self.cards is None or not self.drawn:
            raise Refused("nothing was drawn")
        card = self.cards.cards[self.drawn - 1]
        cards = (*self.cards.cards[: self.drawn], card, *self.cards.cards[self.drawn :])
        behind = self.cards.cut_at >= self.drawn and not self.cutting_card_out
        self.cards = replace(self.cards, cards=cards, cut_at=self.cards.cut_at + behind)
        self.armed = None
        return card

    def draw(self, *, bolted: bool = True) -> CardOut | CuttingCardOut:
        """Let a hand pull what lies at the front. Nothing else lets a card out.

        With ``bolted`` the bolt holds every card that is not armed; without, it is forced (or
        the shoe has none). The cutting card passes the bolt and leaves the arm as it is.

        Raises:
            Refused: the shoe is jammed or empty, or the bolt holds.
        """
        if self.jammed:
            raise Refused("the shoe is jammed")
        if self.cards is None or (not self.remaining and self.cutting_card_out):
            raise Refused("empty")
        armed = self.armed == self.drawn + 1
        if bolted and not armed:
            raise Refused("locked")
        if self.drawn == self.cards.cut_at and not self.cutting_card_out:
            self.cutting_card_out = True
            return CuttingCardOut(self.drawn)
        card = self.cards.cards[self.drawn]
        self.drawn += 1
        self.armed = None
        seen, confidence = self._read(card)
        face_up = self.drawn in self.face_up
        return CardOut(card, seen, self.drawn, armed, face_up=face_up, confidence=confidence)

    def slip(self) -> Card:
        """Let the card at the front out while the electronics sleep: nothing counts it.

        Raises:
            Refused: no card lies at the front, or the shoe is jammed.
        """
        if self.jammed:
            raise Refused("the shoe is jammed")
        if self.cards is None or not self.remaining:
            raise Refused("empty")
        at, cards, cut_at = self.drawn, self.cards.cards, self.cards.cut_at
        if at == cut_at and not self.cutting_card_out:
            raise Refused("the cutting card lies at the front")
        self.cards = replace(
            self.cards, cards=(*cards[:at], *cards[at + 1 :]), cut_at=cut_at - (at < cut_at)
        )
        self.armed = None
        return cards[at]

    def _read(self, card: Card) -> tuple[Card | None, int]:
        """Return what the sensor reads of the card drawn last, and how sure it is in percent."""
        if self.drawn in self.unreadable:
            return None, 0
        return self.lens.look(card, card_set=self.sets_loaded, draw=self.drawn)
