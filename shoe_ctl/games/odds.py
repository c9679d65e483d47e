"""Exact odds: how often each wager of a game ends how, for a full shoe.

In: a game, a number of decks. Out: WagerOdds, counted over every order of the shoe's first six
cards, none put back. Must not know: stakes, tables, files, what was dealt before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

import msgspec

from firmware_proto.cards import Deck
from shoe_ctl.games.conditions import Initial, core_features, initial_features
from shoe_ctl.games.first_cards import Hand, Sight, first_four, sight_of
from shoe_ctl.games.game import Game
from shoe_ctl.games.pay import Wager
from shoe_ctl.games.table_of_play import banker_draws, player_draws

_End = tuple[int, int, int, int]
"""Player's final total and number of cards, Banker's final total and number of cards."""
_Seen = tuple[_End | None, Initial, Initial]
"""All that a wager's conditions can see of a round; no end where they look at no totals."""


class WagerOdds(msgspec.Struct, frozen=True):
    """How one wager ends in all ``rounds``, which are equally likely.

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
    """The exact odds of every wager, by id in the game's order, for a full shoe.

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
        """Of all ``rounds``, how many show what to conditions of this sight."""
        found: Counter[_Seen] = Counter()
        ends: dict[tuple[Hand, Hand], dict[_End | None, int]] = {}
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

    def _ends(self, player: Hand, banker: Hand) -> dict[_End | None, int]:
        """Ways to draw a fifth and a sixth card, by how the round then ends."""
        left = self._points.copy()
        for points in (*player, *banker):
            left[points] -= 1
        at, against = sum(player) % 10, sum(banker) % 10
        found: Counter[_End | None] = Counter()
        if player_draws(at, against):
            for third, ways in enumerate(left):
                left[third] -= 1
                now = (at + third) % 10
                if banker_draws(at, against, third):
                    for last, more in enumerate(left):
                        found[now, 3, (against + last) % 10, 3] += ways * more
                else:
                    found[now, 3, against, 2] += ways * self._sixths
                left[third] += 1
        elif banker_draws(at, against, None):
            for last, ways in enumerate(left):
                found[at, 2, (against + last) % 10, 3] += ways * self._sixths
        else:
            found[at, 2, against, 2] = self._last_two
        return found
