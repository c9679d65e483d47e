"""The Table of Play: who receives which card, and how a round can end.

The drawing rules stand here and nowhere else in the controller: ``is_natural_total``,
``player_draws`` and ``banker_draws``. ``next_hand`` applies them to cards on the table,
``possible_ends`` to what is known of a round in progress.

In: the cards of both hands, or their totals. Out: the hand that receives the next card; the ends
that a round can have. Must not know: wagers, games, shoes, who holds the cards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from firmware_proto.cards import Card
from shoe_ctl.errors import InputRefused
from shoe_ctl.texts.catalogue import text
from shoe_ctl.texts.message import Message, message

INITIAL_CARDS = 2
"""The number of cards that each hand receives before any third card."""

FEWEST_CARDS = 4
"""The least number of cards in a round."""

MOST_CARDS = 6
"""The highest number of cards in a round."""

_PLAYER_DRAWS_TO = 5
_BANKER_DRAWS_ALONE_TO = 5
_NATURAL_FROM = 8
_MOST_IN_HAND = 3

_BANKER_DRAWS: tuple[frozenset[int], ...] = (
    frozenset(range(10)),
    frozenset(range(10)),
    frozenset(range(10)),
    frozenset(range(10)) - {8},
    frozenset({2, 3, 4, 5, 6, 7}),
    frozenset({4, 5, 6, 7}),
    frozenset({6, 7}),
    frozenset(),
)
"""By Banker's two-card total 0-7: the points of Player's third card on which Banker draws."""


# The rules, by totals


def is_natural_total(points: int) -> bool:
    """Return True if two cards of this total, 0-9, are a Natural."""
    return points >= _NATURAL_FROM


def player_draws(player: int, banker: int) -> bool:
    """Return True if Player receives a third card, by both two-card totals, 0-9."""
    return player <= _PLAYER_DRAWS_TO and not is_natural_total(banker)


def banker_draws(player: int, banker: int, third: int | None) -> bool:
    """Return True if Banker receives a third card, by both two-card totals, 0-9.

    ``third`` is the points of Player's third card, None where Player stood.
    """
    if is_natural_total(player) or is_natural_total(banker):
        return False
    if third is None:
        return banker <= _BANKER_DRAWS_ALONE_TO
    return third in _BANKER_DRAWS[banker]


# Cards on the table


def total(cards: Sequence[Card]) -> int:
    """Return the hand's point total, 0-9: the units digit of the sum of its points (rule 3.4)."""
    points = 0
    for card in cards:
        points += card.points
    return points % 10


def natural(cards: Sequence[Card]) -> bool:
    """Return True if a hand is a Natural: exactly two cards that total 8 or 9."""
    return len(cards) == INITIAL_CARDS and is_natural_total(total(cards))


class ImpossibleRound(InputRefused):
    """No dealing by the Table of Play leads to these cards; ``why`` says where it differs."""

    def __init__(self, why: Message) -> None:
        super().__init__(text(why))
        self.why = why


def next_hand(player: Sequence[Card], banker: Sequence[Card]) -> str | None:
    """Return which hand receives the next card: "player", "banker", or None if none does.

    The first four go Player, Banker, Player, Banker; Player's third comes before Banker's.

    Raises:
        ImpossibleRound: no dealing by the Table of Play can lead to these two hands.
    """
    held = (len(player), len(banker))
    if held in {(0, 0), (1, 1)}:
        return "player"
    if held in {(1, 0), (2, 1)}:
        return "banker"
    if min(held) < INITIAL_CARDS or max(held) > _MOST_IN_HAND:
        raise ImpossibleRound(
            message("refused_no_round_of_so_many", player=held[0], banker=held[1])
        )
    players, bankers = total(player[:INITIAL_CARDS]), total(banker[:INITIAL_CARDS])
    if max(held) > INITIAL_CARDS and (is_natural_total(players) or is_natural_total(bankers)):
        raise ImpossibleRound(message("refused_natural_ends_round"))
    player_due = player_draws(players, bankers)
    if player_due and held[0] == INITIAL_CARDS:
        if held[1] != INITIAL_CARDS:
            raise ImpossibleRound(message("refused_banker_before_player"))
        return "player"
    if not player_due and held[0] != INITIAL_CARDS:
        raise ImpossibleRound(message("refused_player_stands", total=players))
    third = player[INITIAL_CARDS] if player_due else None
    banker_due = banker_draws(players, bankers, None if third is None else third.points)
    if banker_due and held[1] == INITIAL_CARDS:
        return "banker"
    if not banker_due and held[1] != INITIAL_CARDS:
        against = (
            message("refused_against_total", total=players)
            if third is None
            else message("refused_against_card", card=str(third))
        )
        raise ImpossibleRound(message("refused_banker_stands", total=bankers, against=against))
    return None


# How a round can end


End = tuple[int, int, int, int]
"""Player's final total and number of cards, Banker's final total and number of cards."""

Ends = Mapping[End, tuple[tuple[int, ...], ...]]
"""By end: the points of the third cards not shown that lead there, each way once."""


class ThirdCards(NamedTuple):
    """The cards after the first four, as shown: ``dealt`` of them, points where revealed."""

    dealt: int
    fifth: int | None
    sixth: int | None


NO_THIRD_CARDS = ThirdCards(0, None, None)
"""Nothing is dealt after the first four cards yet."""


def third_cards(shown: Sequence[Card | None]) -> ThirdCards:
    """Return what these cards in dealing order show of the fifth and the sixth."""
    points = [None if card is None else card.points for card in (*shown[4:], None, None)]
    return ThirdCards(max(0, len(shown) - FEWEST_CARDS), points[0], points[1])


def ends_of_totals(player: int, banker: int) -> Iterable[End]:
    """Return every end of a round with these two-card totals, without the ways to them."""
    return _possible_ends(player, banker, NO_THIRD_CARDS).keys()


@lru_cache(maxsize=4096)
def possible_ends(player: int, banker: int, seen: ThirdCards = NO_THIRD_CARDS) -> Ends:
    """Return every end of a round with these two-card totals; empty where none has the cards seen.

    The number of a way's points is the number of cards still to be shown: a fifth, a sixth.
    """
    return _possible_ends(player, banker, seen)


def _possible_ends(player: int, banker: int, seen: ThirdCards) -> Ends:
    found: dict[End, list[tuple[int, ...]]] = {}
    if player_draws(player, banker):
        for third, unseen in _points_of_card(seen.dealt > 0, seen.fifth):
            now = (player + third) % 10
            if banker_draws(player, banker, third):
                for last, more in _points_of_card(seen.dealt > 1, seen.sixth):
                    end = (now, 3, (banker + last) % 10, 3)
                    found.setdefault(end, []).append(unseen + more)
            elif seen.dealt < 2:
                found.setdefault((now, 3, banker, 2), []).append(unseen)
    elif banker_draws(player, banker, None):
        if seen.dealt < 2:
            for last, unseen in _points_of_card(seen.dealt > 0, seen.fifth):
                found.setdefault((player, 2, (banker + last) % 10, 3), []).append(unseen)
    elif not seen.dealt:
        found[player, 2, banker, 2] = [()]
    return {end: tuple(ways) for end, ways in found.items()}


def _points_of_card(dealt: bool, points: int | None) -> list[tuple[int, tuple[int, ...]]]:
    """Return the points a third card can have, each with those that are still to be shown."""
    if dealt and points is not None:
        return [(points, ())]
    return [(each, (each,)) for each in range(10)]
