"""A shoe with its electronics: what every profile's simulated device has in common.

In: bytes of a host, what hands do to the shoe, the time. Out: bytes to the host, the truth.
Must not know: ports, clocks (time is an argument), the controller, who deals.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from firmware_proto.cards import Deck
from firmware_proto.commands import HostMessage
from firmware_proto.events import ShoeEvent
from firmware_proto.session import DeviceSession
from simulators.shoe.ground_truth import GroundTruth
from simulators.shoe.model import (
    AS_SHUFFLED,
    CARDS_BEHIND_CUT,
    CardOut,
    CuttingCardOut,
    Shoe,
    Stacked,
)

FIRMWARE = "sim-1.0"
"""What the simulated shoe says of its firmware."""


@dataclass(frozen=True, slots=True)
class Lamp:
    """What the hand at the shoe can see: which draw is free, and where its card belongs."""

    number: int
    hand: str
    index: int


class Device(ABC):
    """One shoe. Times ``t`` are seconds on any one scale that never runs backwards.

    ``session`` makes the shoe's end of each new connection: each is used once. All that a
    device says goes through one connection at a time; without one, it is lost or remembered
    as the profile has it.
    """

    def __init__(
        self, shoe: Shoe, truth: GroundTruth, *, session: Callable[[], DeviceSession]
    ) -> None:
        self.shoe = shoe
        self.truth = truth
        self.refused: list[str] = []
        self._new_session = session
        self._session: DeviceSession | None = None
        self.line_open = False
        self._booted_at: float | None = None

    @property
    def powered(self) -> bool:
        """True between ``boot`` and ``power_off``."""
        return self._booted_at is not None

    @property
    def connected(self) -> bool:
        """True while a host has the port open and the shoe has power."""
        return self._session is not None

    @property
    @abstractmethod
    def lamp(self) -> Lamp | None:
        """The next card that may be drawn, None when none may."""

    @property
    @abstractmethod
    def next_deadline(self) -> float | None:
        """When ``tick`` wants to be called next, or None."""

    # --- power and port -----------------------------------------------------------------

    def boot(self, t: float) -> None:
        """Power comes on, or goes and comes back: a new boot id, an open port stays open."""
        self._booted_at = t
        self.shoe.boot()
        self._session = self._new_session() if self.line_open else None
        self._on_boot(t)

    def power_off(self) -> None:
        """Power goes. The host sees a silent line."""
        self._booted_at = None
        self._session = None
        self.shoe.lock()

    def host_opened(self) -> None:
        """A host opened the port: a new connection."""
        self.line_open = True
        self._session = self._new_session() if self.powered else None

    def host_closed(self) -> None:
        """The host closed the port, or the cable came off."""
        self.line_open = False
        self._session = None

    def receive(self, data: bytes, t: float) -> None:
        """Bytes of the host; with no power or no connection they are lost."""
        if self._session is None:
            return
        for said in self._session.receive(data, t):
            self._on_host(said, t)

    @abstractmethod
    def tick(self, t: float) -> None:
        """Time passed."""

    def outgoing(self) -> bytes:
        """Take the bytes to be sent now."""
        return b"" if self._session is None else self._session.outgoing()

    # --- hands --------------------------------------------------------------------------

    def load(  # noqa: PLR0913 - a set of cards, each choice by name
        self,
        deck: Deck,
        decks: int,
        seed: int,
        t: float,
        *,
        behind_cut: int = CARDS_BEHIND_CUT,
        stacked: Stacked = AS_SHUFFLED,
    ) -> None:
        """A new set is pushed in, with or without power.

        Raises:
            ValueError: as ``CardSet.prepared``, or a deck whose cards the profile cannot name.
        """
        cards = self.shoe.push_in(deck, decks, seed, behind_cut=behind_cut, stacked=stacked)
        self.truth.loaded(cards)
        self._on_loaded(t)

    def draw(self, t: float, *, force: bool = False) -> CardOut | CuttingCardOut:
        """Let a hand pull at the front of the shoe; ``force`` overcomes the bolt.

        Raises:
            simulators.shoe.model.Refused: the bolt holds or the shoe is empty.
        """
        place = self._place()
        out = self.shoe.draw(bolted=self._bolted and not force)
        if isinstance(out, CuttingCardOut):
            self.truth.cutting_card(out)
            self._on_cutting_card(t)
            return out
        self.truth.card(out, place=place)
        self._on_card(out, t)
        return out

    def turn_key(self, t: float, *, locked: bool) -> None:
        """Someone turns the key at the shoe."""
        self.shoe.turn_key(locked=locked)
        self._on_key(t)

    # --- what a profile fills in ----------------------------------------------------------

    _bolted = True
    """Whether a bolt holds what is not armed."""

    def _place(self) -> str | None:
        """Where the next card will be laid; None where only the rules can say."""
        return None if self.lamp is None else self.lamp.hand

    @abstractmethod
    def _on_boot(self, t: float) -> None: ...

    @abstractmethod
    def _on_host(self, said: HostMessage, t: float) -> None: ...

    @abstractmethod
    def _on_loaded(self, t: float) -> None: ...

    @abstractmethod
    def _on_card(self, out: CardOut, t: float) -> None: ...

    @abstractmethod
    def _on_cutting_card(self, t: float) -> None: ...

    @abstractmethod
    def _on_key(self, t: float) -> None: ...

    def _t_us(self, t: float) -> int:
        """Return the shoe's own time: µs since boot, 0 without power (its clock stands)."""
        return 0 if self._booted_at is None else round((t - self._booted_at) * 1_000_000)

    def _send(self, event: ShoeEvent, seq: int, t_us: int, boot_id: int | None = None) -> None:
        if self._session is not None:
            self._session.send(event, seq=seq, t_us=t_us, boot_id=boot_id)
