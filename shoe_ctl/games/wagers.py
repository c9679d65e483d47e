"""Wagers and their pay lines.

In: features of a finished round. Out: how each wager ended. Must not know: files, cards, stakes.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

import msgspec

from firmware_proto.cards import Card
from shoe_ctl.games.conditions import Condition, Features

Winner = Literal["player", "banker", "tie"]

Result = Literal["win", "lose", "push"]


# Pay lines


class PayLine(msgspec.Struct, frozen=True):
    """One line of a pay table: met when ``when`` holds and none of ``unless`` does.

    ``done`` is what the wager then comes to: a win at exact odds, or a push. ``commission`` is
    the part of one unit's even-money win that the house keeps (already taken off the odds).
    ``pays`` is how the file writes the odds, None for a push.
    """

    when: Condition
    unless: tuple[Condition, ...]
    done: WagerResult
    commission: Fraction | None = None
    pays: str | None = None

    def holds(self, seen: Features) -> bool:
        """Return True if a round with these features is on this line."""
        if not self.when.holds(seen):
            return False
        return not self.unless or not any(other.holds(seen) for other in self.unless)


class WagerResult(msgspec.Struct, frozen=True):
    """The end of one wager.

    ``odds`` are exact and *to 1* (``Fraction(19, 20)`` pays 0.95 for 1), None unless won.
    ``rule`` is the number to cite for it, None where the document gives none. ``commission`` is
    the part of one unit's even-money win that the house keeps (already taken off the odds), None
    where the rules speak of none.
    """

    result: Result
    odds: Fraction | None = None
    rule: str | None = None
    commission: Fraction | None = None


class Wager(msgspec.Struct, frozen=True):
    """A wager a Player can place. It loses where no line is met; of several the first counts.

    ``main`` is the hand whose main wager this is (it counts for the table differential and for
    who receives the cards), None for a side wager. ``rule`` is where the document defines it.
    """

    id: str
    title: str
    main: str | None
    lines: tuple[PayLine, ...]
    lost: WagerResult

    def conditions(self) -> tuple[Condition, ...]:
        """Return every condition of every pay line."""
        return tuple(c for line in self.lines for c in (line.when, *line.unless))

    def written(self, done: WagerResult) -> str | None:
        """Return the odds of a win that this wager came to, as its file has them."""
        return next((line.pays for line in self.lines if line.done == done), None)

    def judge(self, seen: Features) -> WagerResult:
        """Return how the wager ended in a round with these features."""
        for line in self.lines:
            if line.holds(seen):
                return line.done
        return self.lost


class OutcomeLine(msgspec.Struct, frozen=True):
    """The rule number that decided the outcome when ``when`` holds; None: nothing to cite."""

    when: Condition
    rule: str | None


# Settlements


class HandResult(msgspec.Struct, frozen=True):
    """One hand at the end of the round: cards in dealing order, total 0-9."""

    cards: tuple[Card, ...]
    total: int
    natural: bool


class Settlement(msgspec.Struct, frozen=True):
    """A finished round. ``wagers`` holds every wager asked for, by id, read-only.

    ``rules`` are the rule numbers that decided the outcome (empty where the document has none).
    """

    winner: Winner
    player: HandResult
    banker: HandResult
    wagers: Mapping[str, WagerResult]
    rules: tuple[str, ...]


def plain_wagers(wagers: Mapping[str, WagerResult]) -> dict[str, dict[str, str]]:
    """Return the wagers for JSON: ``{"banker": {"result": "win", "odds": "19/20"}}``."""
    return {
        wager: {"result": done.result}
        if done.odds is None
        else {"result": done.result, "odds": str(done.odds)}
        for wager, done in wagers.items()
    }
