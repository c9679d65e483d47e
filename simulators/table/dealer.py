"""The hand that draws: by the shoe's lamp where there is one, else by the shoe's own judging.

In: a device, a supply of sets, the time. Out: draws, new sets, and when to look again.
Must not know: ports, bytes, clocks (time is an argument), what the table under test thinks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from firmware_proto.cards import Deck
from simulators.shoe.bee_tek import BeeTekDevice
from simulators.shoe.device import Device
from simulators.shoe.unarmed import UnarmedDevice

CHANGE_AFTER_S = 3.0
"""A shoe that stays locked this long after its last round is changed. Longer than a table takes
from a round's last card to freeing the next one, should it allow rounds after the cutting card."""

SETTLE_S = 0.5
"""From a host's open to the first card: a host opens, sets up and flushes its port first."""


TELL_AFTER_S = 0.1
"""Staff see what the shoe did, and speak: what it said before has reached the table by then."""

Tell = Callable[[str, Callable[[], None]], None]
"""Gives the table this command; calls back once it was taken, at once or later."""


@dataclass(slots=True)
class Supply:
    """Sets that are still to be dealt; each is shuffled with the next seed."""

    deck: Deck
    decks: int
    next_seed: int
    left: int

    def push_into(self, device: Device, t: float) -> None:
        """Take the next set and push it in."""
        device.load(self.deck, self.decks, self.next_seed, t)
        self.next_seed += 1
        self.left -= 1


class _Act(NamedTuple):
    """One thing to do and what it is done to: the same act twice is not begun anew.

    ``after_s``: how long after it was first wanted.
    """

    what: Callable[[float], object]
    subject: tuple[object, ...]
    after_s: float


class Dealer(ABC):
    """Call ``tick`` after anything happened and at ``next_deadline``. Does one thing a tick.

    ``pace_s`` is how long the hand takes from seeing that a card may be drawn to drawing it.
    """

    def __init__(self, device: Device, supply: Supply, *, pace_s: float) -> None:
        self.device = device
        self.supply = supply
        self.pace_s = pace_s
        self.next_deadline: float | None = None
        self._intent: _Act | None = None

    @property
    def at_end(self) -> bool:
        """True when the last set's last round is over."""
        return self.supply.left == 0 and self._set_is_over()

    def open_table(self, t: float) -> None:
        """Switch the shoe on."""
        self.device.boot(t)

    def tick(self, t: float) -> None:
        """Look, act if it is time, and look again."""
        self._look(t)
        due = self.next_deadline
        if due is None or t < due or self._intent is None:
            return
        act, self._intent, self.next_deadline = self._intent, None, None
        act.what(t)
        self._look(t)

    def _look(self, t: float) -> None:
        wanted = None if self.device.shoe.jammed else self._wanted()
        if wanted is None:
            self._intent = self.next_deadline = None
        elif self._intent is None or wanted.subject != self._intent.subject:
            self._intent, self.next_deadline = wanted, t + wanted.after_s

    def _draw(self) -> _Act:
        shoe = self.device.shoe
        subject = ("draw", shoe.sets_loaded, shoe.drawn, shoe.cutting_card_out)
        return _Act(self.device.draw, subject, self.pace_s)

    def _change(self, after_s: float) -> _Act | None:
        if not self.supply.left:
            return None
        subject = ("change", self.device.shoe.sets_loaded)
        return _Act(lambda t: self.supply.push_into(self.device, t), subject, after_s)

    def _set_is_over(self) -> bool:
        """Return whether the cutting card's round is finished, or the shoe is empty."""
        shoe = self.device.shoe
        out = shoe.cutting_card_out or not shoe.remaining
        return out and self.device.lamp is None and not self.device.truth.round_open

    @abstractmethod
    def _wanted(self) -> _Act | None:
        """Return what to do next, None for nothing."""


class LampDealer(Dealer):
    """Draws when, and only when, the lamp shows a draw armed by the host."""

    def __init__(
        self,
        device: Device,
        supply: Supply,
        *,
        pace_s: float,
        change_after_s: float = CHANGE_AFTER_S,
    ) -> None:
        super().__init__(device, supply, pace_s=pace_s)
        self._change_after_s = change_after_s

    def _wanted(self) -> _Act | None:
        if self.device.lamp is not None:
            return self._draw()
        return self._change(self._change_after_s) if self._set_is_over() else None


class JudgeDealer(Dealer):
    """Draws what the shoe names next; opens no round, and no shoe, while no host listens.

    A round or a burn once begun is finished, whoever listens. After the cutting card's round
    the set is changed, if there is another; a cutting card that comes before a round's first
    card counts as that card, so that round is still dealt.
    """

    device: UnarmedDevice

    def __init__(
        self, device: UnarmedDevice, supply: Supply, *, pace_s: float, settle_s: float = SETTLE_S
    ) -> None:
        super().__init__(device, supply, pace_s=pace_s)
        self._settle_s = settle_s
        self._settled_at: float | None = None

    def open_table(self, t: float) -> None:
        """Wait for a host: what the shoe says when it starts would be lost without one."""

    def _look(self, t: float) -> None:
        if not self.device.line_open:
            self._settled_at = None
        elif self._settled_at is None:
            self._settled_at = t + self._settle_s
        super()._look(t)
        if self.next_deadline is not None and self._settled_at is not None:
            self.next_deadline = max(self.next_deadline, self._settled_at)

    def _wanted(self) -> _Act | None:
        device = self.device
        if not device.powered:
            subject = ("power", device.shoe.boot_id)
            return _Act(device.boot, subject, 0.0) if device.line_open else None
        if self._set_is_over():
            return self._change(self.pace_s) if device.line_open else None
        if device.lamp is None or (device.between_rounds and not device.line_open):
            return None
        return self._draw()

    def _set_is_over(self) -> bool:
        shoe = self.device.shoe
        dealt_on = shoe.cards is not None and shoe.drawn > shoe.cards.cut_at
        finished = shoe.cutting_card_out and dealt_on and self.device.between_rounds
        return finished or not shoe.remaining


class TellingDealer(JudgeDealer):
    """Deals a shoe that says no more than its cards: what staff see, they tell the table.

    That is where the shoe stands after each connect, before the next round; the cutting card; a
    new set, once it is in and before it is burned. Nothing is drawn until the table has taken it.
    With ``tell`` None nobody is told: whoever runs the table has to.
    """

    device: BeeTekDevice

    def __init__(
        self,
        device: BeeTekDevice,
        supply: Supply,
        *,
        pace_s: float,
        settle_s: float = SETTLE_S,
        tell: Tell | None = None,
    ) -> None:
        super().__init__(device, supply, pace_s=pace_s, settle_s=settle_s)
        self._tell = tell
        self._aligned = False
        self._cutting_card_told = False
        self._set_told = device.shoe.sets_loaded
        self._waiting = False

    def _look(self, t: float) -> None:
        self._aligned = self._aligned and self.device.line_open
        super()._look(t)

    def _wanted(self) -> _Act | None:
        wanted = super()._wanted()
        if self._tell is None or not self.device.powered:
            return wanted
        if self._waiting:
            return None
        untold = self._untold()
        return wanted if untold is None else self._telling(untold)

    def _untold(self) -> str | None:
        """Return the command for what the table does not know yet, if it is to be told now."""
        shoe = self.device.shoe
        if shoe.cutting_card_out and not self._cutting_card_told:
            return "declare_cutting_card"
        if self.device.truth.round_open or not self.device.line_open:
            return None
        if self._set_told != shoe.sets_loaded:
            return "declare_new_shoe"
        return None if self._aligned else "align"

    def _telling(self, command: str) -> _Act:
        def act(_: float) -> None:
            assert self._tell is not None
            self._waiting = True
            self._tell(command, lambda: self._taken(command))

        return _Act(act, ("tell", command, self.device.shoe.sets_loaded), TELL_AFTER_S)

    def _taken(self, command: str) -> None:
        self._waiting = False
        match command:
            case "align":
                self._aligned = True
            case "declare_cutting_card":
                self._cutting_card_told = True
            case _:
                self._set_told, self._cutting_card_told = self.device.shoe.sets_loaded, False


def dealer_for(
    device: Device, supply: Supply, *, pace_s: float, tell: Tell | None = None
) -> Dealer:
    """Return the dealer for this shoe; ``tell`` is for one that cannot speak for itself."""
    if isinstance(device, BeeTekDevice):
        return TellingDealer(device, supply, pace_s=pace_s, tell=tell)
    if isinstance(device, UnarmedDevice):
        return JudgeDealer(device, supply, pace_s=pace_s)
    return LampDealer(device, supply, pace_s=pace_s)
