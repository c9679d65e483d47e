"""The cards that a scenario puts into the shoe: listed in drawing order, the rest by a seed.

In: a ``shoe`` table of a file. Out: a ShoeSetup whose composition is right but where it says so.
Must not know: files, devices, what the table is set for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firmware_proto.cards import CARDS, DECKS, Card, Deck
from simulators.arguments import read_arguments
from simulators.incidents import INCIDENTS
from simulators.shoe.lens import CLEAN, Lens
from simulators.shoe.model import CARDS_BEHIND_CUT, Stacked
from simulators.table.fields import Fields, Wrong

MOST_DECKS = 10
LARGEST_MEMORY = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ShoeSetup:
    """A set of cards. ``cards`` come out first, after ``already_drawn`` that came out elsewhere.

    ``burn`` are the first card and those burned, for shoes that ask for them. ``extra`` are cards
    that are in the set beyond its decks. ``cut_after`` cards come out before the cutting card.
    ``unreadable`` and ``face_up`` are draw numbers, ``memory`` how many events the shoe can keep.
    ``lens``, ``clock_ppm`` and ``firmware`` are the shoe's own, as incidents change them.
    """

    deck: Deck = DECKS["french52"]
    decks: int = 8
    seed: int = 1
    burn: tuple[Card, ...] = ()
    cards: tuple[Card, ...] = ()
    extra: tuple[Card, ...] = ()
    already_drawn: int = 0
    cut_after: int | None = None
    unreadable: frozenset[int] = frozenset()
    face_up: frozenset[int] = frozenset()
    memory: int | None = None
    lens: Lens = CLEAN
    clock_ppm: int = 0
    firmware: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, fields: Fields) -> ShoeSetup:
        """Read the setup that these keys describe, and take all of them.

        Raises:
            Wrong: says key and what was expected.
        """
        deck = DECKS[fields.choice("deck", tuple(DECKS), "french52")]
        decks = fields.optional_whole("decks", at_least=1, at_most=MOST_DECKS)
        decks = 8 if decks is None else decks
        size = decks * len(deck.cards)
        seed = fields.optional_whole("seed", at_least=0)
        setup = cls(
            deck=deck,
            decks=decks,
            seed=1 if seed is None else seed,
            burn=_cards(fields, "burn"),
            cards=_cards(fields, "cards"),
            extra=_cards(fields, "extra"),
            already_drawn=fields.optional_whole("already_drawn", at_least=0, at_most=size) or 0,
            cut_after=fields.optional_whole("cut_after", at_least=0, at_most=size),
            unreadable=_numbers(fields, "unreadable"),
            face_up=_numbers(fields, "face_up"),
            memory=fields.optional_whole("memory", at_least=2, at_most=LARGEST_MEMORY),
            lens=_lens(fields),
            clock_ppm=_own(fields, "clock_drift").get("ppm", 0),
            firmware=_own(fields, "firmware") or None,
        )
        fields.nothing_else()
        _check(setup, fields)
        return setup

    @property
    def stacked(self) -> Stacked:
        """The order of the set, for the model."""
        front = (*self.burn, *self.cards)
        return Stacked(front=front, extra=self.extra, after=self.already_drawn)

    @property
    def behind_cut(self) -> int:
        """The number of cards behind the cutting card."""
        if self.cut_after is None:
            return CARDS_BEHIND_CUT
        return self.decks * len(self.deck.cards) + len(self.extra) - self.cut_after


OF_THE_SHOE = ("memory", "dirty_lens", "clock_drift", "firmware")
"""Keys of the shoe itself, which stays when another set of cards is pushed in."""


def _own(fields: Fields, key: str) -> dict[str, Any]:
    """Return the arguments of an incident that the shoe begins with; none where it does not."""
    if (given := fields.take(key)) is None:
        return {}

    def read() -> dict[str, Any]:
        table = Fields(given, fields.at(key), gathers=True)
        arguments = read_arguments(INCIDENTS[key].arguments, table)
        table.nothing_else()
        return arguments

    return fields.part(read, {})


def _lens(fields: Fields) -> Lens:
    given = _own(fields, "dirty_lens")
    return Lens(**given) if given else CLEAN


def _cards(fields: Fields, key: str) -> tuple[Card, ...]:
    codes = (fields.optional_text(key) or "").split()
    for code in codes:
        if code not in CARDS:
            fields.refuse(f"{fields.at(key)}: expected cards such as 7D TS 4g, not {code!r}", None)
    return tuple(CARDS[code] for code in codes if code in CARDS)


def _numbers(fields: Fields, key: str) -> frozenset[int]:
    given = fields.array(key)
    for number in given:
        if type(number) is not int or number < 1:
            fields.refuse(f"{fields.at(key)}: expected draw numbers from 1, not {number!r}", None)
    return frozenset(number for number in given if type(number) is int)


def _check(setup: ShoeSetup, fields: Fields) -> None:
    """Raises Wrong where more of a card is asked for than the set holds."""
    front = Counter((*setup.burn, *setup.cards))
    extra = Counter(setup.extra)
    for face, count in front.items():
        holds = (setup.decks if face in setup.deck else 0) + extra[face]
        if count > holds:
            raise Wrong(
                f"{fields.at('cards')}: {face.code} is there {count} times, expected at most "
                f"{holds} in {setup.decks} decks of {setup.deck.name} (more are put in by `extra`)"
            )
    size = setup.decks * len(setup.deck.cards) + len(setup.extra)
    if setup.already_drawn + front.total() > size:
        raise Wrong(f"{fields.at('cards')}: expected no more than the set's {size} cards")
