"""Exact odds: how often each wager of a game ends how, for a full shoe.

In: a game, a number of decks. Out: WagerOdds, counted over every order of the shoe's first six
cards, none put back. Must not know: stakes, tables, files, what was dealt before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import msgspec

from firmware_proto.cards import Deck
from shoe_ctl.games.conditions import (
    CORE,
    MIXED,
    Condition,
    Initial,
    core_features,
    initial_features,
)
from shoe_ctl.games.game import Game
from shoe_ctl.games.table_of_play import End, possible_ends
from shoe_ctl.games.wagers import Wager


class WagerOdds(msgspec.Struct, frozen=True):
    """The ends of one wager in all ``rounds``, which are equally likely.

    ``rounds`` counts the orders of a full shoe's first six cards (of eight 52-card decks:
    4,998,398,275,503,360), those that a shorter round leaves in the shoe too. ``won`` counts
    wins by their odds *to 1*. A round that is neither won nor pushed is lost.
    """

    rounds: int
    won: Mapping[Fraction, int]
    pushed: int

    @property
    def wins(self) -> int:
        """Rounds won, at whatever odds."""
        return sum(self.won.values())

    @property
    def ev(self) -> Fraction:
        """Expected net win for a stake of 1; a push counts as 0."""
        gained = sum((odds * count for odds, count in self.won.items()), Fraction(0))
        return (gained - (self.rounds - self.wins - self.pushed)) / self.rounds

    @property
    def rtp(self) -> Fraction:
        """Return to player: what comes back of a stake of 1, on average."""
        return 1 + self.ev


def odds(game: Game, decks: int | None = None) -> dict[str, WagerOdds]:
    """Return the exact odds of every wager, by id in the game's order, for a full shoe.

    ``decks`` is how many decks are in the shoe, the game's default unless given.

    Raises:
        InputRefused: the game is not played with this number of decks.
    """
    if decks is not None:
        game.check_decks(decks)
    shoe = _Shoe(game.deck, game.decks.default if decks is None else decks)
    counted: dict[Sight, Mapping[_Seen, int]] = {}
    found: dict[str, WagerOdds] = {}
    for name, wager in game.wagers.items():
        sight = sight_of(wager.conditions())
        if sight not in counted:
            counted[sight] = shoe.count(sight)
        found[name] = _tally(wager, counted[sight], shoe.rounds)
    return found


def _tally(wager: Wager, counted: Mapping[_Seen, int], rounds: int) -> WagerOdds:
    won: Counter[Fraction] = Counter()
    pushed = 0
    for (end, player, banker), count in counted.items():
        if not count:  # a card is wanted that a small shoe has no more of
            continue
        seen = initial_features(player, banker)
        if end is not None:
            seen |= core_features(*end)
        done = wager.judge(seen)
        if done.odds is not None:
            won[done.odds] += count
        elif done.result == "push":
            pushed += count
    return WagerOdds(rounds, dict(sorted(won.items())), pushed)


# All orders of a full shoe, by what is seen of them

Hand = tuple[int, int]
"""The points of a hand's first two cards, lower first; both 0 where totals do not matter."""

_Seen = tuple[End | None, Initial, Initial]
"""All that a wager's conditions can see of a round; no end where they look at no totals."""


class _Shoe:
    """A full shoe: in how many orders of six cards the conditions see what."""

    def __init__(self, deck: Deck, decks: int) -> None:
        self._deck = deck
        self._decks = decks
        self._points = [decks * sum(c.points == points for c in deck.cards) for points in range(10)]
        size = decks * len(deck.cards)
        self._fifths, self._sixths = size - 4, size - 5
        self.rounds = size * (size - 1) * (size - 2) * (size - 3) * self._fifths * self._sixths

    def count(self, sight: Sight) -> dict[_Seen, int]:
        """Count what conditions of this sight see, over all ``rounds``."""
        found: Counter[_Seen] = Counter()
        ends: dict[tuple[Hand, Hand], dict[End | None, int]] = {}
        for four, ways in first_four(self._deck, self._decks, sight).items():
            hands = four.player_points, four.banker_points
            if hands not in ends:
                ends[hands] = self._ends(*hands) if sight.core else {None: self._last_two}
            for end, more in ends[hands].items():
                found[end, four.player, four.banker] += ways * more
        return found

    @property
    def _last_two(self) -> int:
        return self._fifths * self._sixths

    def _ends(self, player: Hand, banker: Hand) -> dict[End | None, int]:
        """Count the ways to draw a fifth and a sixth card, by how the round then ends."""
        left = self._points.copy()
        for points in (*player, *banker):
            left[points] -= 1
        found: dict[End | None, int] = {}
        for end, draws in possible_ends(sum(player) % 10, sum(banker) % 10).items():
            found[end] = sum(self._ways(left, points) for points in draws)
        return found

    def _ways(self, left: Sequence[int], points: tuple[int, ...]) -> int:
        """Count the ways to draw a fifth and a sixth card where the first have these points."""
        if not points:
            return self._last_two
        if len(points) == 1:
            return left[points[0]] * self._sixths
        fifth, sixth = points
        return left[fifth] * (left[sixth] - (fifth == sixth))


# The first four cards


class Sight(NamedTuple):
    """The parts of a round that a wager's conditions look at.

    ``core``: totals or card counts. ``ranks``, ``suits``: those named. ``any_rank``,
    ``any_suit``: whether two cards are of one rank (suit), whichever it is.
    """

    core: bool
    ranks: frozenset[object]
    any_rank: bool
    suits: frozenset[object]
    any_suit: bool


def sight_of(conditions: Iterable[Condition]) -> Sight:
    """Return what these conditions look at, together."""
    named: dict[str, set[object]] = {}
    core = False
    for condition in conditions:
        for feature, values in condition.terms:
            core = core or feature in CORE
            side = feature.removeprefix("player_").removeprefix("banker_")
            named.setdefault(side, set()).update(values)
    suits = named.get("suit", set())
    return Sight(
        core=core,
        ranks=frozenset(named.get("pair_rank", ())),
        any_rank="pair" in named or "pairs" in named,
        suits=frozenset(suits - {MIXED}),
        any_suit="suited" in named or MIXED in suits,
    )


class FirstFour(NamedTuple):
    """The facts of the first four cards that count: points of both hands, their pairs and suits."""

    player_points: Hand
    banker_points: Hand
    player: Initial
    banker: Initial


def first_four(deck: Deck, decks: int, sight: Sight) -> dict[FirstFour, int]:
    """Count the ways to draw the first four cards of a full shoe, by what is seen of them.

    Cards of one face are counted apart: the ways add up to n(n-1)(n-2)(n-3) for n cards.
    """
    by_rank = _draws(_rank_groups(deck, sight), apart=sight.any_rank)
    by_suit = _draws(_suit_groups(deck, sight), apart=sight.any_suit)
    suited = [(suits, ways, *_shared(suits, sight.any_suit)) for suits, ways in by_suit]
    found: Counter[FirstFour] = Counter()
    for ranks, rank_ways in by_rank:
        p1, b1, p2, b2 = (label.group.points for label in ranks)
        hands = (min(p1, p2), max(p1, p2)), (min(b1, b2), max(b1, b2))
        player_pair, banker_pair = _shared(ranks, sight.any_rank)
        for suits, suit_ways, player_suit, banker_suit in suited:
            ways = rank_ways * suit_ways * _copies(ranks, suits, decks)
            player, banker = Initial(player_pair, player_suit), Initial(banker_pair, banker_suit)
            found[FirstFour(*hands, player, banker)] += ways
    return found


class _Group(NamedTuple):
    """Ranks (or suits) that the conditions treat alike: ``many`` of them, ``name`` if it is one."""

    points: int
    name: str
    many: int


class _Label(NamedTuple):
    """A group, and which of its members by first appearance; ``width`` members count as one."""

    group: _Group
    nth: int
    width: int


_Labels = tuple[_Label, ...]


def _rank_groups(deck: Deck, sight: Sight) -> list[_Group]:
    points = {card.rank: card.points if sight.core else 0 for card in deck.cards}
    return _grouped(
        Counter((points[r], r.value if r.value in sight.ranks else "") for r in deck.ranks)
    )


def _suit_groups(deck: Deck, sight: Sight) -> list[_Group]:
    return _grouped(Counter((0, s.value if s.value in sight.suits else "") for s in deck.suits))


def _grouped(counted: Mapping[tuple[int, str], int]) -> list[_Group]:
    return [_Group(points, name, many) for (points, name), many in counted.items()]


def _draws(groups: list[_Group], *, apart: bool) -> list[tuple[_Labels, int]]:
    """Return every four labels in order, and how many choices of ranks (suits) they stand for."""
    found: list[tuple[_Labels, int]] = [((), 1)]
    for _ in range(4):
        found = [
            ((*labels, label), ways * more)
            for labels, ways in found
            for group in groups
            for label, more in _next(group, labels, apart=apart)
        ]
    return found


def _next(group: _Group, labels: _Labels, *, apart: bool) -> list[tuple[_Label, int]]:
    """Return a member of the group seen before, or a new one: any of those that are left."""
    if not apart:
        return [(_Label(group, 0, group.many), 1)]
    met = len({label for label in labels if label.group is group})
    again = [(_Label(group, nth, 1), 1) for nth in range(met)]
    if met < group.many:
        again.append((_Label(group, met, 1), group.many - met))
    return again


def _shared(labels: _Labels, apart: bool) -> tuple[str | None, str | None]:
    """Return the rank (or suit) that each hand's two cards share, where the conditions can tell."""
    p1, b1, p2, b2 = labels
    return _one(p1, p2, apart), _one(b1, b2, apart)


def _one(first: _Label, second: _Label, apart: bool) -> str | None:
    group = first.group
    if first != second or not (apart or group.name):
        return None
    return group.name or f"{group.points}.{first.nth}"


def _copies(ranks: _Labels, suits: _Labels, decks: int) -> int:
    """Count the ways to draw four cards with these labels in order, none put back."""
    drawn: dict[tuple[_Label, _Label], int] = {}
    ways = 1
    for rank, suit in zip(ranks, suits, strict=True):
        before = drawn.get((rank, suit), 0)
        ways *= rank.width * suit.width * decks - before
        drawn[rank, suit] = before + 1
    return ways
