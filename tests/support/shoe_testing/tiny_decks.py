"""Tiny decks whose every round can be dealt, and wagers of any condition: proof for what is exact.

In: a few ranks and suits, a number of decks. Out: every finished round with its number of orders.
Deals card by card and asks only ``next_hand`` who receives it and ``features`` what is seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from hypothesis import strategies as st

from firmware_proto.cards import FRENCH52, Card, Deck, card
from shoe_ctl.games import catalog
from shoe_ctl.games.conditions import CORE, Condition, Features, Value, features, initial_values
from shoe_ctl.games.game import DeckRange, Game
from shoe_ctl.games.table_of_play import next_hand
from shoe_ctl.games.wagers import PayLine, Wager, WagerResult

TINY = [("A3T", "SH", 2), ("4TJ", "SH", 2), ("27T", "SH", 1), ("2368TJ", "S", 1), ("4J", "SHD", 2)]
"""Ranks, suits, decks."""


class Round(NamedTuple):
    """A finished round: its cards in dealing order, what is seen of it, its number of orders."""

    cards: tuple[Card, ...]
    seen: Features
    orders: int


def deck(ranks: str, suits: str) -> Deck:
    cards = tuple(card(rank + suit) for suit in suits for rank in ranks)
    return Deck(
        FRENCH52.name,
        tuple(r for r in FRENCH52.ranks if r.value in ranks),
        tuple(s for s in FRENCH52.cards[0].suit.__class__ if s.value in suits),  # type: ignore[arg-type]
        cards,
    )


def game(tiny: Deck, wagers: Mapping[str, Wager]) -> Game:
    """Any shipped game, with another deck and other wagers."""
    return replace(
        catalog.load("tiger"),
        deck=tiny,
        decks=DeckRange(1, 10, 8),
        wagers=wagers,
    )


@cache
def every_round(ranks: str, suits: str, decks: int) -> tuple[Round, ...]:
    """Every round of a full shoe; ``orders`` count its first six cards, dealt or not.

    Rounds in which the same is seen share one ``seen``.
    """
    left = dict.fromkeys(deck(ranks, suits).cards, decks)
    same: dict[object, Features] = {}
    return tuple(
        dealt._replace(seen=same.setdefault(tuple(dealt.seen.values()), dealt.seen))
        for dealt in _deal((), (), (), left, 1)
    )


@cache
def orders_by_sight(ranks: str, suits: str, decks: int) -> list[tuple[Features, int]]:
    """All that can be seen of a round, with its number of orders."""
    rounds = every_round(ranks, suits, decks)
    orders: Counter[int] = Counter()
    for dealt in rounds:
        orders[id(dealt.seen)] += dealt.orders
    seen = {id(dealt.seen): dealt.seen for dealt in rounds}
    return [(sight, orders[key]) for key, sight in seen.items()]


def _deal(
    dealt: tuple[Card, ...],
    player: tuple[Card, ...],
    banker: tuple[Card, ...],
    left: dict[Card, int],
    orders: int,
) -> Iterator[Round]:
    due = next_hand(player, banker)
    if due is None:
        for undealt in range(len(dealt), 6):
            orders *= sum(left.values()) + len(dealt) - undealt
        yield Round(dealt, features(player, banker), orders)
        return
    for one, copies in left.items():
        if copies:
            hands = ((*player, one), banker) if due == "player" else (player, (*banker, one))
            yield from _deal((*dealt, one), *hands, {**left, one: copies - 1}, orders * copies)


@st.composite
def wager(draw: st.DrawFn) -> Wager:
    """A wager of up to three pay lines over any features, named twice or thrice or not at all."""
    rows = draw(st.lists(st.tuples(condition(), st.none() | condition(), result()), max_size=3))
    lines = tuple(
        PayLine(when, () if unless is None else (unless,), done) for when, unless, done in rows
    )
    return Wager("any", "Any", None, lines, WagerResult("lose"))


@st.composite
def condition(draw: st.DrawFn) -> Condition:
    known: dict[str, tuple[Value, ...]] = {**CORE, **initial_values(FRENCH52)}
    names = draw(st.lists(st.sampled_from(sorted(known)), max_size=3, unique=True))
    return Condition(
        tuple(
            (name, draw(st.frozensets(st.sampled_from(known[name]), min_size=1))) for name in names
        )
    )


def result() -> st.SearchStrategy[WagerResult]:
    paid = [WagerResult("win", Fraction(*odds)) for odds in ((1, 1), (19, 20), (35, 1))]
    return st.sampled_from([*paid, WagerResult("push")])
