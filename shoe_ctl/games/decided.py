"""Decided wagers: what is won or lost already, whatever the cards not revealed turn out to be.

In: a game, cards in dealing order, revealed or not. Out: "win", "lose" or "open" by wager.
Every completion by the Table of Play with full decks less the revealed cards is considered.
Must not know: who holds a card, which wagers were placed, what was dealt in earlier rounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement, product

from firmware_proto.cards import Card, Deck
from shoe_ctl.errors import InputRefused
from shoe_ctl.games.conditions import (
    CORE,
    HandKinds,
    Initial,
    Kind,
    core_features,
    initial_features,
)
from shoe_ctl.games.game import Game
from shoe_ctl.games.settle import named
from shoe_ctl.games.table_of_play import (
    FEWEST_CARDS,
    INITIAL_CARDS,
    MOST_CARDS,
    End,
    ThirdCards,
    possible_ends,
    third_cards,
)
from shoe_ctl.games.wagers import Wager

_CODES = {"win": 1, "lose": 2, "push": 3}
_TOLD = {1: "win", 2: "lose", 3: "open"}
"""Results as bits, so that a set of results is their union: push alone is as open as both."""

_TwoCards = tuple[Card | None, Card | None]
_Kinds = Mapping[Kind, Sequence[tuple[Card, Card]]]
"""The possible first two cards of a hand, by kind: for each the pairs of cards that are it."""


def decide(
    game: Game, shown: Sequence[Card | None], *, decks: int | None = None, layout: str | None = None
) -> dict[str, str]:
    """Return whether each wager is won or lost already: ``win``, ``lose`` or ``open``, by id.

    ``win``: every completion wins, at whatever odds. ``lose``: every completion loses. ``open``:
    neither, a certain push too.

    Args:
        game: whose wagers and Table of Play.
        shown: the cards dealt so far, in dealing order: P B P B, the fifth, the sixth; None is a
            card not revealed. A shorter list: the others are not dealt yet, and whether they will
            be the Table of Play says. The fifth is Player's third card in completions where
            Player draws, else Banker's third; the sixth is Banker's third.
        decks: how many decks are in the shoe, from 1, whether the game is played with so many or
            not; the game's default unless given.
        layout: only the wagers which that layout offers; every wager unless given.

    Raises:
        InputRefused: a card of another deck, more copies of a card than the decks hold, cards
            that no round can have, an unknown layout, no deck at all.
    """
    if decks is not None and decks < 1:
        raise InputRefused(f"a shoe holds at least one deck, not {decks}")
    offered = game.offered(layout)
    held = game.decks.default if decks is None else decks
    _check(game.deck, shown, held)
    seen = _Shown(game.deck, shown, held)
    found: dict[str, str] = {}
    for part in _parts(game):
        if not part.wagers.keys().isdisjoint(offered):
            found |= part.decide(seen)
    return {name: found[name] for name in offered}


def _check(deck: Deck, shown: Sequence[Card | None], decks: int) -> None:
    copies = Counter(card for card in shown if card is not None)
    for card, count in copies.items():
        if card not in deck:
            raise InputRefused(f"{card} is not a card of {deck.name}")
        if count > decks:
            raise InputRefused(f"{count} copies of {card}: {decks} decks hold {decks}")
    if len(shown) > MOST_CARDS:
        raise InputRefused(f"{len(shown)} cards are too many: a round has {MOST_CARDS} at most")
    players, bankers = _totals(shown[0:4:2]), _totals(shown[1:4:2])
    for many in range(len(shown), FEWEST_CARDS - 1, -1):
        seen = third_cards(shown[:many])
        if any(possible_ends(player, banker, seen) for player, banker in product(players, bankers)):
            if many < len(shown):
                raise InputRefused(
                    f"{len(shown)} cards are too many: the round is complete after {many}"
                )
            return


def _totals(two_cards: Sequence[Card | None]) -> Sequence[int]:
    if len(two_cards) == INITIAL_CARDS and None not in two_cards:
        return (sum(card.points for card in two_cards if card is not None) % 10,)
    return range(10)


class _Shown:
    """The cards of a round in progress, and how many copies are left for the rest."""

    __slots__ = ("_deck", "_decks", "_third_faces", "ample", "banker", "player", "third_cards")

    def __init__(self, deck: Deck, shown: Sequence[Card | None], decks: int) -> None:
        first = (*shown[:4], None, None, None, None)
        self._deck = deck
        self._decks = decks
        self._third_faces = [card for card in shown[4:] if card is not None]
        self.player: _TwoCards = (first[0], first[2])
        self.banker: _TwoCards = (first[1], first[3])
        self.third_cards: ThirdCards = third_cards(shown)
        revealed = [card for card in shown if card is not None]
        most = max(Counter(revealed).values(), default=0)
        self.ample = (
            most + MOST_CARDS - len(revealed) <= decks
            and len({card.points for card in deck.cards}) == 10
        )
        """No completion can run out of a card, whichever it takes."""

    def fits(
        self,
        players: Iterable[tuple[Card, Card]],
        bankers: Iterable[tuple[Card, Card]],
        unseen: Iterable[tuple[int, ...]],
    ) -> bool:
        """Return True if the decks hold one hand for each side and third cards of these points.

        All at once, and beside the third cards that are known.
        """
        for player, banker in product(players, bankers):
            used = Counter((*player, *banker, *self._third_faces))
            if max(used.values()) <= self._decks and any(self._hold(used, p) for p in unseen):
                return True
        return False

    def _hold(self, used: Mapping[Card, int], wanted: tuple[int, ...]) -> bool:
        for points, count in Counter(wanted).items():
            faces = sum(card.points == points for card in self._deck.cards)
            taken = sum(many for card, many in used.items() if card.points == points)
            if faces * self._decks - taken < count:
                return False
        return True


class _Part:
    """Wagers decided together: first cards are told apart as finely as these need."""

    __slots__ = ("_all_open", "_core", "_deck", "_faces", "_hands", "_judged", "_sort", "wagers")

    def __init__(self, wagers: Mapping[str, Wager], deck: Deck) -> None:
        conditions = [c for wager in wagers.values() for c in wager.conditions()]
        self.wagers = wagers
        looks_at = named(conditions)
        self._core = not looks_at.isdisjoint(CORE)
        self._faces = _faces(deck, looks_at)
        self._deck = deck
        self._sort = HandKinds(conditions)
        self._hands: dict[tuple[_TwoCards, bool], _Kinds] = {}
        self._judged: dict[object, int] = {}
        self._all_open = (1 << 2 * len(wagers)) - 1

    def decide(self, shown: _Shown) -> dict[str, str]:
        """Return every wager's state: the union of its results over all completions."""
        met = 0
        players, bankers = self._kinds(shown.player), self._kinds(shown.banker)
        for player, banker in product(players, bankers):
            if not self._core and met | self._results(player, banker, None) == met:
                continue
            for end, unseen in possible_ends(player[0], banker[0], shown.third_cards).items():
                new = met | self._results(player, banker, end if self._core else None)
                if new != met and self._can_come(shown, player, banker, unseen):
                    met = new
            if met == self._all_open:
                break
        if not met:
            raise InputRefused("the decks hold no cards to complete this round")
        return {name: _TOLD[met >> 2 * place & 3] for place, name in enumerate(self.wagers)}

    def _results(self, player: Kind, banker: Kind, end: End | None) -> int:
        """Return the result of each wager as two bits, side by side."""
        key = (player[1:], banker[1:], end)
        packed = self._judged.get(key)
        if packed is None:
            seen = initial_features(Initial(*player[1:]), Initial(*banker[1:]))
            if end is not None:
                seen |= core_features(*end)
            packed = 0
            for place, wager in enumerate(self.wagers.values()):
                packed |= _CODES[wager.judge(seen).result] << 2 * place
            self._judged[key] = packed
        return packed

    def _can_come(
        self, shown: _Shown, player: Kind, banker: Kind, unseen: Iterable[tuple[int, ...]]
    ) -> bool:
        """Return True if the decks hold cards for it: first as few as stand for all, then all."""
        return shown.ample or any(
            shown.fits(
                self._kinds(shown.player, full=full)[player],
                self._kinds(shown.banker, full=full)[banker],
                unseen,
            )
            for full in (False, True)
        )

    def _kinds(self, cards: _TwoCards, *, full: bool = False) -> _Kinds:
        """Return what a hand of these first cards can be, by kind: by a few cards, or in full."""
        key = cards, full
        kinds = self._hands.get(key)
        if kinds is None:
            found: dict[Kind, list[tuple[Card, Card]]] = {}
            for pair in _pairs(cards, self._deck.cards if full else self._faces):
                found.setdefault(self._sort.kind(*pair), []).append(pair)
            kinds = self._hands[key] = found
        return kinds


def _pairs(cards: _TwoCards, faces: Sequence[Card]) -> Iterable[tuple[Card, Card]]:
    """Return every two cards that these can be, in whichever order."""
    known = [card for card in cards if card is not None]
    if not known:
        return combinations_with_replacement(faces, 2)
    if len(known) == 1:
        return ((known[0], other) for other in faces)
    return [(known[0], known[1])]


def _faces(deck: Deck, looks_at: set[str]) -> tuple[Card, ...]:
    """Return one card for all those that conditions on these features cannot tell apart.

    Suits are told apart where they matter at all; ranks of no other use go by their points.
    """
    ranks = any("pair" in feature for feature in looks_at)
    suits = any("suit" in feature for feature in looks_at)
    found: dict[object, Card] = {}
    for card in deck.cards:
        found.setdefault((card.rank if ranks else card.points, card.suit if suits else None), card)
    return tuple(found.values())


@lru_cache(maxsize=16)
def _parts(game: Game) -> tuple[_Part, ...]:
    """Return the game's wagers, together where they look at totals and card counts only."""
    core: dict[str, Wager] = {}
    others: list[dict[str, Wager]] = []
    for name, wager in game.wagers.items():
        if named(wager.conditions()) <= CORE.keys():
            core[name] = wager
        else:
            others.append({name: wager})
    return tuple(_Part(wagers, game.deck) for wagers in (core, *others) if wagers)
