"""The Table of Play: which hand receives the next card.

In: the cards of both hands, all known. Out: "player", "banker", or None when the round is complete.
Must not know: wagers, games, shoes, who holds the cards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from firmware_proto.cards import Card
from shoe_ctl.errors import InputRefused
from shoe_ctl.texts.catalogue import text
from shoe_ctl.texts.message import Message, message

_PLAYER_DRAWS_TO = 5
_BANKER_DRAWS_ALONE_TO = 5
_NATURAL_FROM = 8
_INITIAL = 2
_MOST = 3

BANKER_DRAWS: tuple[frozenset[int], ...] = (
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


def total(cards: Sequence[Card]) -> int:
    """The hand's point total, 0-9: the units digit of the sum of its points (rule 3.4)."""
    points = 0
    for card in cards:
        points += card.points
    return points % 10


def natural(two_cards: Sequence[Card]) -> bool:
    """Whether a hand is a Natural: exactly two cards that total 8 or 9."""
    return len(two_cards) == _INITIAL and total(two_cards) >= _NATURAL_FROM


class ImpossibleRound(InputRefused):
    """No dealing by the Table of Play leads to these cards; ``why`` says where it differs."""

    def __init__(self, why: Message) -> None:
        super().__init__(text(why))
        self.why = why


def next_hand(player: Sequence[Card], banker: Sequence[Card]) -> str | None:
    """Which hand receives the next card, given every card dealt so far.

    The first four go Player, Banker, Player, Banker; Player's third comes before Banker's.

    Raises:
        ImpossibleRound: no dealing by the Table of Play can lead to these two hands.
    """
    held = (len(player), len(banker))
    if held in {(0, 0), (1, 1)}:
        return "player"
    if held in {(1, 0), (2, 1)}:
        return "banker"
    if min(held) < _INITIAL or max(held) > _MOST:
        raise ImpossibleRound(
            message("refused_no_round_of_so_many", player=held[0], banker=held[1])
        )
    players, bankers = total(player[:_INITIAL]), total(banker[:_INITIAL])
    if max(players, bankers) >= _NATURAL_FROM:
        if max(held) > _INITIAL:
            raise ImpossibleRound(message("refused_natural_ends_round"))
        return None
    player_due = players <= _PLAYER_DRAWS_TO
    if player_due and held[0] == _INITIAL:
        if held[1] != _INITIAL:
            raise ImpossibleRound(message("refused_banker_before_player"))
        return "player"
    if not player_due and held[0] != _INITIAL:
        raise ImpossibleRound(message("refused_player_stands", total=players))
    return _bankers_turn(player, banker, bankers)


def player_draws(player: int, banker: int) -> bool:
    """Whether Player receives a third card, by both two-card totals, 0-9."""
    return player <= _PLAYER_DRAWS_TO and banker < _NATURAL_FROM


def banker_draws(player: int, banker: int, third: int | None) -> bool:
    """Whether Banker receives a third card, by both two-card totals, 0-9.

    ``third`` is the points of Player's third card, None where Player stood.
    """
    if player >= _NATURAL_FROM or banker >= _NATURAL_FROM:
        return False
    if third is None:
        return banker <= _BANKER_DRAWS_ALONE_TO
    return third in BANKER_DRAWS[banker]


def _bankers_turn(player: Sequence[Card], banker: Sequence[Card], points: int) -> str | None:
    """As ``next_hand``, once Player has drawn or stood; ``points`` is Banker's two-card total."""
    player_stood = len(player) == _INITIAL
    if player_stood:
        due = points <= _BANKER_DRAWS_ALONE_TO
    else:
        due = player[_INITIAL].points in BANKER_DRAWS[points]
    if due and len(banker) == _INITIAL:
        return "banker"
    if not due and len(banker) != _INITIAL:
        against = (
            message("refused_against_total", total=total(player))
            if player_stood
            else message("refused_against_card", card=str(player[_INITIAL]))
        )
        raise ImpossibleRound(message("refused_banker_stands", total=points, against=against))
    return None


End = tuple[int, int, int, int]
"""Player's final total and number of cards, Banker's final total and number of cards."""
Ends = Mapping[End, tuple[tuple[int, ...], ...]]
"""By end: the points of the third cards not shown that lead there, each way once."""

_ANY = tuple(range(10))


class Thirds(NamedTuple):
    """What is shown of the cards after the first four: ``dealt`` of them, points where revealed."""

    dealt: int
    fifth: int | None
    sixth: int | None


def thirds(shown: Sequence[Card | None]) -> Thirds:
    """What these cards in dealing order show of the fifth and the sixth."""
    points = [None if card is None else card.points for card in (*shown[4:], None, None)]
    return Thirds(max(0, len(shown) - 4), points[0], points[1])


@lru_cache(maxsize=4096)
def ends(player: int, banker: int, seen: Thirds) -> Ends:
    """Every end of a round with these two-card totals; empty where none has the cards seen."""
    found: dict[End, list[tuple[int, ...]]] = {}
    if player_draws(player, banker):
        for third, unseen in _thirds(seen.dealt > 0, seen.fifth):
            now = (player + third) % 10
            if banker_draws(player, banker, third):
                for last, more in _thirds(seen.dealt > 1, seen.sixth):
                    end = (now, 3, (banker + last) % 10, 3)
                    found.setdefault(end, []).append(unseen + more)
            elif seen.dealt < 2:
                found.setdefault((now, 3, banker, 2), []).append(unseen)
    elif banker_draws(player, banker, None):
        if seen.dealt < 2:
            for last, unseen in _thirds(seen.dealt > 0, seen.fifth):
                found.setdefault((player, 2, (banker + last) % 10, 3), []).append(unseen)
    elif not seen.dealt:
        found[player, 2, banker, 2] = [()]
    return {end: tuple(ways) for end, ways in found.items()}


def _thirds(dealt: bool, points: int | None) -> list[tuple[int, tuple[int, ...]]]:
    """What a third card's points can be, each with the points that are still to be shown."""
    if dealt and points is not None:
        return [(points, ())]
    return [(each, (each,)) for each in _ANY]
