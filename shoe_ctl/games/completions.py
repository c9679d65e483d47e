"""How rounds can still go on, by totals and points alone.

In: both two-card totals, what is shown of third cards. Out: every end that the Table of Play
allows, with the points of the third cards not shown. Must not know: ranks, suits, wagers, decks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from firmware_proto.cards import Card
from shoe_ctl.games.table_of_play import banker_draws, player_draws

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
