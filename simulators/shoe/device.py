"""A shoe with its electronics: what every profile's simulated device has in common.

In: bytes of a host, what hands do to the shoe, the time. Out: bytes to the host, the truth.
Must not know: ports, clocks (time is an argument), the controller, who deals.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from firmware_proto.cards import Deck
from firmware_proto.commands import HostMessage
from firmware_proto.events import (
    Button,
    Error,
    ErrorCleared,
    Lid,
    PowerLow,
    PowerRestored,
    ShoeEvent,
    Tamper,
    Warned,
)
from firmware_proto.session import DeviceSession
from simulators.shoe.clock import Clock
from simulators.shoe.ground_truth import GroundTruth
from simulators.shoe.lens import Lens
from simulators.shoe.model import (
    AS_SHUFFLED,
    CARDS_BEHIND_CUT,
    CannotSay,
    CardOut,
    CuttingCardOut,
    Refused,
    Shoe,
    Stacked,
)

FIRMWARE = "sim-1.0"
"""The version of the simulated shoe's firmware."""

SENT_IN_BROWN_OUT = 5
"""Bytes that still leave the shoe when its power dips: less than any profile's report of a card."""

_IN_WORDS: dict[type[ShoeEvent], str] = {
    Lid: "that its lid was opened or closed",
    Tamper: "that it was tampered with",
    Button: "which button was pressed",
    PowerLow: "that its power is low",
    PowerRestored: "that its power is back",
    Warned: "a warning",
    ErrorCleared: "that an error is over",
}
"""Happenings for which a profile may have no message."""


OPENING = ("first_card", "burn")
"""Hands of the cards that a shoe that opens itself asks for before any round."""


@dataclass(frozen=True, slots=True)
class Lamp:
    """The lamp that the hand at the shoe sees: which draw is free, and where its card belongs."""

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
        self.clock = Clock()
        self.refused: list[str] = []
        self._said: list[ShoeEvent] | None = None
        self._cut_short = b""
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
        self._booted_at = self.clock.read(t)
        self.shoe.boot()
        self._session = self._new_session() if self.line_open else None
        self._on_boot(t)
        self._check_jam(t)

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
        self._cut_short = b""

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
        sent = b"" if self._session is None else self._session.outgoing()
        if not self._cut_short:
            return sent
        before, self._cut_short = self._cut_short, b""
        return before + sent

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

    def brown_out(self, t: float, *, kept: bool) -> None:
        """Power dips in the middle of a draw: the card is out, and the shoe starts again.

        ``kept``: it had counted the card and stored it before its power went; else it never
        noticed the card. What it was sending breaks off in the middle.

        Raises:
            simulators.shoe.model.Refused: no card may be drawn now, or a shoe that stores nothing
                is to keep the card.
        """
        if not self.powered:
            raise Refused("the shoe has no power")
        if self.lamp is None:
            raise Refused("no card may be drawn now")
        before = self.outgoing()
        try:
            self._draw_in_brown_out(t, kept=kept)
        except Refused:
            self._cut_short = before
            raise
        sent = self.outgoing()
        self.boot(t)
        self._cut_short = before + sent[:SENT_IN_BROWN_OUT]

    def _draw_in_brown_out(self, t: float, *, kept: bool) -> None:
        if kept:
            raise CannotSay(self.profile, "after a loss of power what happened before it")
        self.draw(t)

    # --- its body -------------------------------------------------------------------------

    def happen(self, event: ShoeEvent, t: float) -> None:
        """Something happens to the shoe that it notices: its lid, a button, its power, an error.

        Raises:
            simulators.shoe.model.CannotSay: shoes of this profile have no message for it.
            simulators.shoe.model.Refused: it has no power and notices nothing.
        """
        self._check_reportable(event)
        if not self.powered:
            raise Refused("the shoe has no power: it notices nothing")
        self._on_happening(event, t)

    def jam(self, t: float) -> None:
        """A card gets stuck: nothing comes out until it is freed.

        Raises:
            simulators.shoe.model.Refused: the shoe is jammed already.
        """
        if self.shoe.jammed:
            raise Refused("the shoe is jammed already")
        self.shoe.jammed = True
        self._check_jam(t)

    def free(self, t: float) -> None:
        """The card that is stuck is freed; it is still in the shoe.

        Raises:
            simulators.shoe.model.Refused: the shoe is not jammed.
        """
        if not self.shoe.jammed:
            raise Refused("the shoe is not jammed")
        self.shoe.jammed = False
        self._check_jam(t)

    def push_back(self, t: float) -> None:  # noqa: ARG002
        """Let a hand push the card drawn last back in.

        Raises:
            simulators.shoe.model.Refused: no card of this set is out.
            simulators.shoe.model.CannotSay: shoes of this profile do not report it.
        """
        raise CannotSay(self.profile, "that a card was pushed back")

    def reverse_run(self, t: float) -> None:
        """The sensor sees a card run backwards.

        Raises:
            simulators.shoe.model.CannotSay: shoes of this profile do not report it.
        """
        if self._reverse_run_code is None:
            raise CannotSay(self.profile, "that a card ran backwards")
        self.happen(Error(code=self._reverse_run_code), t)

    def change_lens(self, lens: Lens) -> None:
        """The lens is another: dirty, or clean again.

        Raises:
            simulators.shoe.model.CannotSay: it would make the sensor unsure of cards, which shoes
                of this profile do not report.
        """
        if lens.unsure and not self._reports_confidence:
            raise CannotSay(self.profile, "how sure it is of a card")
        self.shoe.lens = lens

    def drift(self, ppm: int, t: float) -> None:
        """From now on the shoe's clock is this much too fast, or too slow if negative.

        Raises:
            simulators.shoe.model.CannotSay: shoes of this profile report no times.
        """
        if not self._reports_times:
            raise CannotSay(self.profile, "a time")
        self.clock.drift(ppm, t)

    @contextmanager
    def listened_to(self) -> Iterator[list[ShoeEvent]]:
        """Yield a list of what the shoe reports meanwhile, whether or not a host hears it."""
        self._said, said = [], self._said
        try:
            yield self._said
        finally:
            self._said = said

    # --- what a profile fills in ----------------------------------------------------------

    profile: ClassVar[str]
    _reports: ClassVar[tuple[type[ShoeEvent], ...]] = (Error, ErrorCleared)
    """The events of its body for which it has a message."""

    _reports_confidence: ClassVar[bool] = False
    _reports_times: ClassVar[bool] = False
    _jam_code: ClassVar[str | None] = None
    _reverse_run_code: ClassVar[str | None] = None
    """Its own names of these errors, None where it has none."""

    @property
    def _knows_of_jam(self) -> bool:
        return False

    def _check_jam(self, t: float) -> None:
        """Report a jam that the shoe does not know of yet, or that one is over."""
        code = self._jam_code
        if code is None or not self.powered or self.shoe.jammed == self._knows_of_jam:
            return
        jammed = self.shoe.jammed
        self.happen(Error(code=code, in_error_mode=True) if jammed else ErrorCleared(code=code), t)

    def _check_reportable(self, event: ShoeEvent) -> None:
        if not isinstance(event, self._reports):
            raise CannotSay(self.profile, _IN_WORDS[type(event)])
        if isinstance(event, Error | ErrorCleared) and not self._has_error(event.code):
            raise CannotSay(self.profile, f"an error {event.code!r} (has: {self._errors_in_words})")

    @property
    @abstractmethod
    def _errors_in_words(self) -> str: ...

    @abstractmethod
    def _has_error(self, code: str) -> bool: ...

    @abstractmethod
    def _on_happening(self, event: ShoeEvent, t: float) -> None: ...

    def _note_said(self, event: ShoeEvent) -> None:
        """Tell who listens what the shoe reports."""
        if self._said is not None:
            self._said.append(event)

    _bolted = True
    """True if a bolt holds what is not armed."""

    def _place(self) -> str | None:
        """Where the next card will be laid; None where only the rules can say."""
        lamp = self.lamp
        return None if lamp is None else lamp.hand

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
        if self._booted_at is None:
            return 0
        return round((self.clock.read(t) - self._booted_at) * 1_000_000)

    def _send(self, event: ShoeEvent, seq: int, t_us: int, boot_id: int | None = None) -> None:
        if self._session is not None:
            self._session.send(event, seq=seq, t_us=t_us, boot_id=boot_id)
