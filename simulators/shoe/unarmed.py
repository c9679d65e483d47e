"""A shoe that nobody arms: its cards are drawn as the round wants them, whatever the host does.

In: as ``Device``. Out: where the next card belongs by the simulator's own judge.
Must not know: what such a shoe says of it, who deals, bytes, ports.
"""

from __future__ import annotations

from firmware_proto.cards import FRENCH52, Card, Deck
from simulators.shoe.device import Device, Lamp
from simulators.shoe.judge import Judge, points
from simulators.shoe.model import AS_SHUFFLED, CARDS_BEHIND_CUT, Stacked

TEN = 10
"""The value of a ten or a court card that says how many cards are burned."""


class UnarmedDevice(Device):
    """With a new set the first card is drawn, then as many burned as it counts; then rounds."""

    _bolted = False
    _judge: Judge | None = None
    _to_burn: int | None = None
    _burned = 0

    @property
    def lamp(self) -> Lamp | None:
        """Where the next card belongs by its own judging; None when it is not to be drawn."""
        if not self._deals or not self.shoe.remaining:
            return None
        number = self.shoe.drawn + 1
        if self._to_burn is None:
            return Lamp(number, "first_card", 1)
        if self._burned < self._to_burn:
            return Lamp(number, "burn", self._burned + 1)
        place = None if self._judge is None else self._judge.next_place()
        return None if place is None else Lamp(number, *place)

    @property
    def between_rounds(self) -> bool:
        """True when cards were burned and no round is open."""
        return self.powered and self._judge is not None and not self._judge.begun

    @property
    def next_deadline(self) -> float | None:
        """The time that the session waits for (none, unless it sends events more than once)."""
        return None if self._session is None else self._session.next_deadline

    def tick(self, t: float) -> None:
        if self._session is not None:
            self._session.tick(t)

    def load(  # noqa: PLR0913 - as ``Device.load``
        self,
        deck: Deck,
        decks: int,
        seed: int,
        t: float,
        *,
        behind_cut: int = CARDS_BEHIND_CUT,
        stacked: Stacked = AS_SHUFFLED,
    ) -> None:
        if deck is not FRENCH52:
            raise ValueError(f"such a shoe names the cards of french52 only, not of {deck.name}")
        super().load(deck, decks, seed, t, behind_cut=behind_cut, stacked=stacked)

    @property
    def _deals(self) -> bool:
        """True if a card drawn now belongs to the game."""
        return self._booted_at is not None and not self.shoe.locked_by_key

    def _place(self) -> str:
        """Return where the next card is laid: one that is not to be drawn is set aside."""
        lamp = self.lamp
        return "set_aside" if lamp is None else lamp.hand

    def _await_first_card(self) -> None:
        self._judge, self._to_burn, self._burned = None, None, 0

    def _await_round(self) -> None:
        self._judge = Judge()
        self._to_burn = self._burned = 0

    def _burns_for(self, first: Card) -> None:
        """Set how many cards are burned: the first card says it."""
        self._to_burn = points(first) or TEN
