"""Judging a finished round by a game's pay lines.

In: both finished hands, a game's wagers and outcome lines. Out: winner, wagers, rule numbers.
Must not know: the deck, how the cards came, what is remembered of earlier rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, cast

from firmware_proto.cards import Card
from shoe_ctl.games.conditions import CORE, Condition, features
from shoe_ctl.games.pay import OutcomeLine, Wager
from shoe_ctl.games.settlement import WagerResult, Winner
from shoe_ctl.games.table_of_play import total


class Judgement(NamedTuple):
    """What a round came to; ``wagers`` by id in the game's order."""

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
        """The round's judgement; ``kinds`` stands for all that conditions see of first cards."""
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
    """The features that these conditions look at."""
    return {feature for condition in conditions for feature, _ in condition.terms}
