"""Settling a round by looking it up.

In: a game's wagers and outcome lines, and cards. Out: Settlements. A round is judged line by line
the first time its key is met and remembered; the key holds all that the game's conditions can see.
Must not know: files, layouts, stakes, how the cards came out of the shoe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, cast

from firmware_proto.cards import Card, Deck
from shoe_ctl.errors import InputRefused
from shoe_ctl.games.conditions import CORE, Condition, HandKinds, features
from shoe_ctl.games.table_of_play import (
    FEWEST_CARDS,
    MOST_CARDS,
    natural,
    next_hand,
    total,
)
from shoe_ctl.games.wagers import HandResult, OutcomeLine, Settlement, Wager, WagerResult, Winner


class Judgement(NamedTuple):
    """The result of a round; ``wagers`` by id in the game's order."""

    winner: Winner
    wagers: Mapping[str, WagerResult]
    rules: tuple[str, ...]


def judge(
    player: Sequence[Card],
    banker: Sequence[Card],
    wagers: Mapping[str, Wager],
    outcome: Iterable[OutcomeLine],
) -> Judgement:
    """Evaluate every pay line, one by one: the plain meaning of a game file."""
    seen = features(player, banker)
    winner = cast("Winner", seen["winner"])
    line = next(line for line in outcome if line.when.holds(seen))
    rules = () if line.rule is None else (line.rule,)
    return Judgement(winner, {name: wager.judge(seen) for name, wager in wagers.items()}, rules)


class PartedJudge:
    """Judges as ``judge`` does, and judges no part of a round twice.

    Most wagers look only at totals and card counts, or only at the first two cards of each hand:
    both parts come again and again in rounds that differ otherwise.
    """

    __slots__ = ("_core", "_ends", "_initial", "_kept_initial", "_mixed", "_order", "_outcome")

    def __init__(self, wagers: Mapping[str, Wager], outcome: Sequence[OutcomeLine]) -> None:
        self._order = dict.fromkeys(wagers, WagerResult("lose"))
        self._core: dict[str, Wager] = {}
        self._initial: dict[str, Wager] = {}
        self._mixed: dict[str, Wager] = {}
        for name, wager in wagers.items():
            looks = {feature in CORE for feature in named(wager.conditions())}
            part = self._mixed if len(looks) > 1 else self._core if True in looks else self._initial
            part[name] = wager
        self._outcome = outcome
        self._ends: dict[tuple[int, ...], Judgement] = {}
        self._kept_initial: dict[object, dict[str, WagerResult]] = {}

    def judge(self, player: Sequence[Card], banker: Sequence[Card], kinds: object) -> Judgement:
        """Judge a round; ``kinds`` stands for all that conditions see of the first cards."""
        end = (total(player), len(player), total(banker), len(banker))
        core = self._ends.get(end)
        if core is None:
            core = self._ends[end] = judge(player, banker, self._core, self._outcome)
        early = self._kept_initial.get(kinds)
        if early is None:
            early = self._kept_initial[kinds] = self._judge(self._initial, player, banker)
        mixed = self._judge(self._mixed, player, banker) if self._mixed else {}
        return Judgement(core.winner, {**self._order, **core.wagers, **early, **mixed}, core.rules)

    @staticmethod
    def _judge(
        wagers: Mapping[str, Wager], player: Sequence[Card], banker: Sequence[Card]
    ) -> dict[str, WagerResult]:
        seen = features(player, banker)
        return {name: wager.judge(seen) for name, wager in wagers.items()}


def named(conditions: Iterable[Condition]) -> set[str]:
    """Return the features that these conditions look at."""
    return {feature for condition in conditions for feature, _ in condition.terms}


_Judged = tuple[Winner, int, bool, int, bool, Mapping[str, WagerResult], tuple[str, ...], bool]
"""Winner; Player's total, Natural; Banker's; wagers; rules; whether a fifth card is Player's."""


def _with_shared_rows(
    rows: Iterable[tuple[Card, dict[Card, int]]],
) -> dict[Card, dict[Card, int]]:
    """Return these rows; those that say the same are kept once: most suits make no difference."""
    kept: dict[tuple[int, ...], dict[Card, int]] = {}
    return {card: kept.setdefault(tuple(row.values()), row) for card, row in rows}


class SettleTable:
    """All that is known of a game's rounds so far, by key. Filled as rounds are met."""

    __slots__ = (
        "_banker",
        "_deck",
        "_decks",
        "_five",
        "_four",
        "_judging",
        "_outcome",
        "_player",
        "_same",
        "_six",
        "_third",
        "_third_of_player",
        "_wagers",
    )

    def __init__(
        self,
        deck: Deck,
        decks: int,
        wagers: Mapping[str, Wager],
        outcome: Sequence[OutcomeLine],
    ) -> None:
        self._deck = deck
        self._decks = decks
        self._wagers = wagers
        self._outcome = tuple(outcome)
        self._judging = PartedJudge(wagers, self._outcome)
        self._player: dict[Card, dict[Card, int]] = {}
        self._banker: dict[Card, dict[Card, int]] = {}
        self._third: dict[Card, int] = {}
        self._third_of_player: dict[Card, int] = {}
        self._four: dict[int, _Judged] = {}
        self._five: dict[int, _Judged] = {}
        self._six: dict[int, _Judged] = {}
        self._same: dict[object, _Judged] = {}

    def settle(self, cards: Sequence[Card], decks: int | None) -> Settlement:
        """Settle the cards in dealing order: P B P B, then Player's and Banker's third.

        ``decks`` bounds the copies of a face; None means the game's default.

        Raises:
            InputRefused: too few or too many cards, a card of another deck, too many copies.
        """
        many = len(cards)
        try:
            if many == FEWEST_CARDS:
                p1, b1, p2, b2 = cards
                winner, p, p_nat, b, b_nat, wagers, rules, _ = self._four[
                    self._player[p1][p2] + self._banker[b1][b2]
                ]
                player = HandResult((p1, p2), p, p_nat)
                banker = HandResult((b1, b2), b, b_nat)
            elif many == MOST_CARDS:
                p1, b1, p2, b2, p3, b3 = cards
                winner, p, p_nat, b, b_nat, wagers, rules, _ = self._six[
                    self._player[p1][p2]
                    + self._banker[b1][b2]
                    + self._third_of_player[p3]
                    + self._third[b3]
                ]
                player = HandResult((p1, p2, p3), p, False)
                banker = HandResult((b1, b2, b3), b, False)
            else:
                p1, b1, p2, b2, third = cards
                winner, p, p_nat, b, b_nat, wagers, rules, to_player = self._five[
                    self._player[p1][p2] + self._banker[b1][b2] + self._third[third]
                ]
                player = HandResult((p1, p2, third) if to_player else (p1, p2), p, False)
                banker = HandResult((b1, b2) if to_player else (b1, b2, third), b, False)
        except (KeyError, ValueError):
            return self._meet(cards, decks)
        if (self._decks if decks is None else decks) < many:
            self._count(cards, decks)
        return Settlement(winner, player, banker, wagers, rules)

    def settle_as_ruled(self, player: tuple[Card, ...], banker: tuple[Card, ...]) -> Settlement:
        """Settle hands of two or three cards each that the Table of Play need not give."""
        winner, wagers, rules = judge(player, banker, self._wagers, self._outcome)
        players = HandResult(player, total(player), natural(player))
        bankers = HandResult(banker, total(banker), natural(banker))
        return Settlement(winner, players, bankers, MappingProxyType(dict(wagers)), rules)

    def _meet(self, cards: Sequence[Card], decks: int | None) -> Settlement:
        """Judge a round whose key was not met before (or refuse it), and remember it."""
        player, banker = self._dealt(cards)
        self._count(cards, decks)
        if not self._player:
            self._learn_kinds()
        key = self._player[player[0]][player[1]] + self._banker[banker[0]][banker[1]]
        judged = self._judge(player, banker, key)
        if len(cards) == FEWEST_CARDS:
            self._four[key] = judged
        elif len(cards) < MOST_CARDS:
            self._five[key + self._third[cards[4]]] = judged
        else:
            self._six[key + self._third_of_player[cards[4]] + self._third[cards[5]]] = judged
        winner, p, p_nat, b, b_nat, wagers, rules, _ = judged
        return Settlement(
            winner, HandResult(player, p, p_nat), HandResult(banker, b, b_nat), wagers, rules
        )

    def _judge(self, player: tuple[Card, ...], banker: tuple[Card, ...], kinds: int) -> _Judged:
        """Return the round judged; rounds that come to the same share one value."""
        winner, wagers, rules = self._judging.judge(player, banker, kinds)
        hands = (total(player), natural(player), total(banker), natural(banker))
        to_player = len(player) > len(banker)
        judged = (winner, *hands, MappingProxyType(wagers), rules, to_player)
        return self._same.setdefault((hands, tuple(wagers.values()), rules, to_player), judged)

    def _learn_kinds(self) -> None:
        conditions = [line.when for line in self._outcome]
        for wager in self._wagers.values():
            conditions += wager.conditions()
        sort = HandKinds(conditions)
        faces = self._deck.cards
        numbers: dict[object, int] = {}
        kinds = {
            first: {
                second: numbers.setdefault(sort.kind(first, second), len(numbers))
                for second in faces
            }
            for first in faces
        }
        # One key holds four digits: Player's kind, Banker's kind, and two third cards' points.
        self._third = {face: face.points for face in faces}
        self._third_of_player = {face: face.points * 10 for face in faces}
        of_banker = [kind * 100 for kind in range(len(numbers))]
        of_player = [kind * 100 * len(numbers) for kind in range(len(numbers))]
        self._banker = _with_shared_rows(
            (first, {second: of_banker[kind] for second, kind in row.items()})
            for first, row in kinds.items()
        )
        self._player = _with_shared_rows(
            (first, {second: of_player[kind] for second, kind in row.items()})
            for first, row in kinds.items()
        )

    def _dealt(self, cards: Sequence[Card]) -> tuple[tuple[Card, ...], tuple[Card, ...]]:
        """Return both hands of a complete round; refuses anything that is not one."""
        for dealt in cards:
            if dealt not in self._deck:
                raise InputRefused(f"{dealt} is not a card of {self._deck.name}")
        player, banker = tuple(cards[:FEWEST_CARDS:2]), tuple(cards[1:FEWEST_CARDS:2])
        for place, dealt in enumerate(cards[FEWEST_CARDS:], FEWEST_CARDS):
            hand = next_hand(player, banker)
            if hand is None:
                raise InputRefused(
                    f"{len(cards)} cards are too many: the round is complete after {place}"
                )
            if hand == "player":
                player += (dealt,)
            else:
                banker += (dealt,)
        due = next_hand(player, banker)
        if due is not None:
            count = "1 card is" if len(cards) == 1 else f"{len(cards)} cards are"
            raise InputRefused(f"{count} too few: the next card is {due.title()}'s")
        return player, banker

    def _count(self, cards: Sequence[Card], decks: int | None) -> None:
        held = self._decks if decks is None else decks
        if len(set(cards)) == len(cards):
            return
        for face, copies in Counter(cards).items():
            if copies > held:
                raise InputRefused(f"{copies} copies of {face}: {held} decks hold {held}")
