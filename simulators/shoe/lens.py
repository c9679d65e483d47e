"""The lens of the shoe's sensor: clean, or dirty, so that it spoils readings at a rate.

In: a card, the number of its set and of its draw. Out: what is read of it, and how surely.
Must not know: what a profile says of a reading, clocks.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from firmware_proto.cards import Card

SURE = 100
"""The sensor's certainty of a card behind a clean lens, in percent."""

UNSURE = range(30, 70)
"""The sensor's certainty of a card that it could just make out, in percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lens:
    """The parts of cards, 0 to 1, that are not read (``misread``) or read unsurely (``unsure``).

    The same seed, set and draw give the same reading, whatever was drawn before it.
    """

    misread: float = 0.0
    unsure: float = 0.0
    seed: int = 0

    def look(self, card: Card, *, card_set: int, draw: int) -> tuple[Card | None, int]:
        """Return what is read of the card, None for nothing, and the confidence in percent."""
        if not (self.misread or self.unsure):
            return card, SURE
        chance = random.Random(f"{self.seed}:{card_set}:{draw}").random
        if chance() < self.misread:
            return None, 0
        if chance() < self.unsure:
            return card, UNSURE[int(chance() * len(UNSURE))]
        return card, SURE


CLEAN = Lens()
