"""What a finished round came to: the winner, both hands, every wager.

In: nothing. Out: Settlement, HandResult, WagerResult.
Must not know: stakes, Players, tables, how the round was dealt.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

import msgspec

from firmware_proto.cards import Card

Winner = Literal["player", "banker", "tie"]
Result = Literal["win", "lose", "push"]


class HandResult(msgspec.Struct, frozen=True):
    """One hand at the end of the round: cards in dealing order, total 0-9."""

    cards: tuple[Card, ...]
    total: int
    natural: bool


class WagerResult(msgspec.Struct, frozen=True):
    """How one wager ended.

    ``odds`` are exact and *to 1* (``Fraction(19, 20)`` pays 0.95 for 1), None unless won.
    ``rule`` is the number to cite for it, None where the document gives none. ``commission`` is
    the part of one unit's even-money win that the house keeps (already taken off the odds), None
    where the rules speak of none.
    """

    result: Result
    odds: Fraction | None = None
    rule: str | None = None
    commission: Fraction | None = None


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
    """The wagers as they stand in JSON: ``{"banker": {"result": "win", "odds": "19/20"}}``."""
    return {
        wager: {"result": done.result}
        if done.odds is None
        else {"result": done.result, "odds": str(done.odds)}
        for wager, done in wagers.items()
    }
