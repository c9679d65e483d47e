"""Changes to a shoe that is served: incidents, its cable, its line, its dealer, waits.

In: a name, arguments, the shoe on its port. Out: the change, made, and what came of it.
Must not know: sockets, the command line.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from firmware_proto.events import ShoeEvent
from simulators.arguments import Arguments, Number, WholeNumber, Word
from simulators.faults import Faults, FaultyLine
from simulators.incidents import INCIDENTS, Incident
from simulators.rig import Rig
from simulators.shoe.device import OPENING
from simulators.shoe.model import CannotSay, CardOut, Refused
from simulators.shoe.reference import ReferenceDevice
from simulators.table.dealer import Supply
from simulators.table.steps import CUT

LONGEST_WAIT_S = 600.0


class NotInTime(Refused):
    """The state that a change waits for did not come in its time."""


@dataclass
class ShoeBench:
    """A shoe on its port, as changes find it. ``lines`` are the two directions of its cable.

    ``supply`` has the sets that are still to be dealt; None where a scenario has the cards.
    """

    rig: Rig
    lines: tuple[FaultyLine, FaultyLine]
    supply: Supply | None = None
    resting: bool = False

    def __post_init__(self) -> None:
        self._dealer = self.rig.dealer

    def rest(self) -> None:
        """Let the dealer draw nothing.

        Raises:
            Refused: there is none.
        """
        self._check_dealer()
        self.rig.dealer, self.resting = None, True

    def deal(self) -> None:
        """Let the dealer draw again; raises like ``rest``."""
        self._check_dealer()
        self.rig.dealer, self.resting = self._dealer, False
        self.rig.turn()

    def set_pace(self, pace_s: float) -> None:
        """Let the dealer take this long for each card from the next one on; raises like ``rest``.

        A card for which the hand is under way is drawn in its old time.
        """
        self._check_dealer()
        assert self._dealer is not None
        self._dealer.pace_s = pace_s

    def _check_dealer(self) -> None:
        if self._dealer is None:
            raise Refused("the hands of the scenario draw, and nobody else")

    def open_set(self) -> list[str]:
        """Draw the first card and those that are burned; return them, none where none is asked for.

        Raises:
            Refused: the shoe is jammed, or locked by its key.
        """
        device, cards = self.rig.device, []
        while (lamp := device.lamp) is not None and lamp.hand in OPENING:
            out = device.draw(self.rig.now)
            if isinstance(out, CardOut):
                cards.append(out.card.code)
            self.rig.turn()
        return cards

    async def until(self, so: Callable[[], bool], within_s: float) -> bool:
        """Return whether it became so in this time; looked at whenever something happened."""
        happened = asyncio.Event()
        self.rig.watchers.add(happened.set)
        try:
            async with asyncio.timeout(within_s):
                while not so():
                    happened.clear()
                    await happened.wait()
        except TimeoutError:
            return so()
        finally:
            self.rig.watchers.discard(happened.set)
        return True

    def state(self) -> dict[str, Any]:
        """Return how the shoe stands, as JSON has it."""
        rig, device, shoe = self.rig, self.rig.device, self.rig.device.shoe
        state: dict[str, Any] = {
            "device_id": shoe.device_id,
            "profile": device.profile,
            "plugged": rig.plugged,
            "powered": device.powered,
            "frozen": rig.frozen,
            "cut": sorted(rig.cut_wires),
            "host": device.line_open,
            "connections": rig.connections,
            "drawn": shoe.drawn,
            "remaining": shoe.remaining,
            "may_be_drawn": device.lamp is not None and not shoe.jammed,
            "locked_by_key": shoe.locked_by_key,
            "jammed": shoe.jammed,
            "resting": self.resting,
            "clock_ppm": device.clock.ppm,
            "dirty_lens": {
                "misread": shoe.lens.misread,
                "unsure": shoe.lens.unsure,
                "seed": shoe.lens.seed,
            },
            "fault": self.faults(),
            "seed": self.lines[0].seed,
            "struck": dict(+sum((line.struck for line in self.lines), Counter())),
        }
        if isinstance(device, ReferenceDevice):
            state["unacknowledged"] = device.event_log.unacknowledged
        return state

    def faults(self) -> dict[str, float]:
        """Return the rates at which faults strike the line, those that do."""
        rates = {each.name: getattr(self.lines[0].faults, each.name) for each in fields(Faults)}
        return {name: rate for name, rate in rates.items() if rate and name != "delay_s"}


Cards = Sequence[str]


@dataclass(frozen=True, slots=True)
class Waited:
    """The result of a change that takes its time: cards that left the shoe, what it reported."""

    cards: Cards = ()
    reported: Sequence[ShoeEvent] = ()


Make = Callable[[ShoeBench, Mapping[str, Any]], "Cards | Awaitable[Waited] | None"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """``about`` is a sentence on it; ``make`` returns the cards that left the shoe, if any did.

    One that takes its time returns what to wait for.
    ``make`` raises ``simulators.shoe.model.Refused``, or a ``simulators.errors.SimulatorError``.
    """

    about: str
    make: Make
    arguments: Arguments = field(default_factory=dict)
    example: str = ""
    needs_one: bool = False
    """At least one argument has to be given."""


def _of_incident(incident: Incident) -> Make:
    def make(bench: ShoeBench, given: Mapping[str, Any]) -> Cards:
        truth = bench.rig.device.truth
        drawn, slipped = len(truth.cards), len(truth.slips)
        incident.happen(bench.rig.device, bench.rig.now, given)
        return [*(code for _, code in truth.cards[drawn:]), *truth.slips[slipped:]]

    return make


def _unplug(bench: ShoeBench, _: Mapping[str, Any]) -> None:
    if not bench.rig.plugged:
        raise Refused("the shoe is unplugged already")
    bench.rig.unplug()


def _replug(bench: ShoeBench, _: Mapping[str, Any]) -> None:
    if bench.rig.plugged:
        raise Refused("the shoe is plugged in already")
    bench.rig.replug()


def _cut(bench: ShoeBench, given: Mapping[str, Any]) -> None:
    direction: str = given["direction"]
    if direction in bench.rig.cut_wires:
        raise Refused("that wire is cut already")
    bench.rig.cut(direction)


def _mend(bench: ShoeBench, _: Mapping[str, Any]) -> None:
    if not bench.rig.cut_wires:
        raise Refused("no wire is cut")
    bench.rig.mend()


def _freeze(bench: ShoeBench, _: Mapping[str, Any]) -> None:
    if bench.rig.frozen:
        raise Refused("the shoe is frozen already")
    bench.rig.freeze()


def _thaw(bench: ShoeBench, _: Mapping[str, Any]) -> None:
    if not bench.rig.frozen:
        raise Refused("the shoe is not frozen")
    bench.rig.thaw()


def _pull(bench: ShoeBench, given: Mapping[str, Any]) -> Cards:
    """Let a hand pull cards out, bolt or not, wanted or not."""
    device, now = bench.rig.device, bench.rig.now
    count: int = given["cards"]
    if device.shoe.remaining < count:
        raise Refused(f"{device.shoe.remaining} cards are left")
    if isinstance(device, ReferenceDevice) and not device.powered:
        return _slip(device, count)
    if given["how"] != "one_by_one":
        if not isinstance(device, ReferenceDevice):
            raise CannotSay(device.profile, "several cards of one pull")
        outs = device.pull_together(now, count, order_known=given["how"] == "as_one")
        return [out.card.code for out in outs]
    cards: list[str] = []
    while len(cards) < count:
        out = device.draw(now, force=True)
        if isinstance(out, CardOut):
            cards.append(out.card.code)
    return cards


def _slip(device: ReferenceDevice, count: int) -> Cards:
    """Let this many cards out of a shoe without power, or none."""
    shoe = device.shoe
    if shoe.cards is not None and not shoe.cutting_card_out:
        before = shoe.cards.cut_at - shoe.drawn
        if 0 < before < count:
            raise Refused(f"the cutting card lies behind {before} of them")
    return [device.slip().code for _ in range(count)]


async def _draw(bench: ShoeBench, given: Mapping[str, Any]) -> Waited:
    """Draw cards as a dealer would, each once it may be drawn; a cutting card is laid aside."""
    rig, device, within_s = bench.rig, bench.rig.device, given["within_s"]
    if rig.dealer is not None:
        raise Refused("the dealer draws: let it rest first")
    cards: list[str] = []
    reported: list[ShoeEvent] = []
    while len(cards) < given["cards"]:
        if not await bench.until(lambda: device.lamp is not None and not rig.frozen, within_s):
            raise NotInTime(f"no card was freed in {within_s:g} s, {len(cards)} were drawn")
        try:
            with device.listened_to() as said:
                out = device.draw(rig.now)
        except Refused as refusal:
            raise Refused(f"{refusal}, {len(cards)} were drawn") from None
        reported += said
        rig.turn()
        if isinstance(out, CardOut):
            cards.append(out.card.code)
    return Waited(cards, reported)


def _fault(bench: ShoeBench, given: Mapping[str, Any]) -> None:
    rates = {name: value for name, value in given.items() if value is not None}
    for line in bench.lines:
        line.faults = Faults(**rates)


def _clean_line(bench: ShoeBench, _: Mapping[str, Any]) -> None:
    for line in bench.lines:
        line.faults = Faults()


def _rest(bench: ShoeBench, _: Mapping[str, Any]) -> None:
    bench.rest()


def _deal(bench: ShoeBench, _: Mapping[str, Any]) -> None:
    bench.deal()


def _pace(bench: ShoeBench, given: Mapping[str, Any]) -> None:
    bench.set_pace(given["ms"] / 1000)


def _new_shoe(bench: ShoeBench, given: Mapping[str, Any]) -> Cards:
    supply, seed = bench.supply, given["seed"]
    if supply is None:
        raise Refused("the scenario has the cards")
    device = bench.rig.device
    device.shoe.unreadable = device.shoe.face_up = frozenset()
    device.load(
        supply.deck, supply.decks, supply.next_seed if seed is None else seed, bench.rig.now
    )
    supply.next_seed += seed is None
    bench.rig.turn()
    return bench.open_set() if bench.resting else ()


def _status(_bench: ShoeBench, _: Mapping[str, Any]) -> None:
    """Nothing is changed; how the shoe stands is in every answer."""


_WAITS: Mapping[str, tuple[str, Callable[[ShoeBench, int], bool]]] = {
    "host": ("no host opened the port", lambda bench, _: bench.rig.device.line_open),
    "no_host": ("the host did not leave", lambda bench, _: not bench.rig.device.line_open),
    "plugged": ("the shoe was not plugged in", lambda bench, _: bench.rig.plugged),
    "connections": (
        "the host did not come so often",
        lambda bench, count: bench.rig.connections >= count,
    ),
    "drawn": ("so many cards were not drawn", lambda bench, n: bench.rig.device.shoe.drawn >= n),
    "may_be_drawn": ("no card was freed", lambda bench, _: bench.rig.device.lamp is not None),
    "acknowledged": (
        "the host did not acknowledge everything",
        lambda bench, _: _all_acknowledged(bench),
    ),
}


_COUNTED: Mapping[str, Callable[[ShoeBench], int]] = {
    "connections": lambda bench: bench.rig.connections,
    "drawn": lambda bench: bench.rig.device.shoe.drawn,
}
"""The count of each thing that is waited for by its number."""


def _all_acknowledged(bench: ShoeBench) -> bool:
    device = bench.rig.device
    return isinstance(device, ReferenceDevice) and not device.event_log.unacknowledged


async def _wait(bench: ShoeBench, given: Mapping[str, Any]) -> Waited:
    what, count, within_s = given["until"], given["count"], given["within_s"]
    failure, so = _WAITS[what]
    device = bench.rig.device
    if what == "acknowledged" and not isinstance(device, ReferenceDevice):
        raise Refused(f"a shoe of profile {device.profile} gets no acknowledgements")
    if not await bench.until(lambda: so(bench, count), within_s):
        came = _COUNTED[what](bench) if what in _COUNTED else None
        counted = "" if came is None else f": {came} of {count}"
        raise NotInTime(f"{failure} in {within_s:g} s{counted}")
    return Waited()


_RATES: Arguments = {
    "split": Number(about="a chunk arrives as two"),
    "merge": Number(about="a chunk waits for the next one"),
    "drop": Number(about="a chunk loses some bytes"),
    "flip": Number(about="one bit of a chunk is turned"),
    "repeat": Number(about="a chunk arrives twice"),
    "delay": Number(about="a chunk, and all behind it, is held back"),
    "unplug": Number(about="the cable comes off in a chunk, for a moment"),
    "delay_s": Number(about="the longest delay in seconds", at_most=60.0),
}

CHANGES: Mapping[str, Change] = {
    "unplug": Change(
        about="Take the cable off. The shoe keeps its power, its cards and its memory.",
        make=_unplug,
    ),
    "replug": Change(about="Plug the cable in again, under the same name.", make=_replug),
    "pull": Change(
        about="Pull cards out of the shoe, bolt or not, wanted or not.",
        make=_pull,
        arguments={
            "cards": WholeNumber(about="how many", default=1, at_least=1, at_most=4),
            "how": Word(
                about="the shoe counts each, or it reports one pull, in order or in none",
                default="one_by_one",
                words=("one_by_one", "as_one", "unordered"),
            ),
        },
        example="cards=2",
    ),
    "draw": Change(
        about="Draw cards, each as soon as the shoe frees it. The dealer must rest.",
        make=_draw,
        arguments={
            "cards": WholeNumber(about="how many", default=1, at_least=1, at_most=52),
            "within_s": Number(
                about="the longest wait for each in seconds", default=30.0, at_most=LONGEST_WAIT_S
            ),
        },
        example="cards=4",
    ),
    "fault": Change(
        about="Spoil the line from now on, both ways: each rate is the part of chunks hit.",
        make=_fault,
        arguments=_RATES,
        example="drop=0.1 flip=0.01",
        needs_one=True,
    ),
    "clean_line": Change(about="Clear the line of its faults.", make=_clean_line),
    "cut": Change(
        about="Cut one wire of the cable: bytes to the shoe, or from it, are lost.",
        make=_cut,
        arguments=CUT,
        example="direction=to_shoe",
    ),
    "mend": Change(about="Make both wires whole again.", make=_mend),
    "freeze": Change(
        about="Let the shoe hang: it hears nothing, says nothing and lets nobody draw. A USB "
        "device answers nothing that its host asks.",
        make=_freeze,
    ),
    "thaw": Change(about="Let it go on, with what the host said meanwhile.", make=_thaw),
    "rest": Change(about="Let the dealer draw nothing until told to deal.", make=_rest),
    "deal": Change(about="Let the dealer draw again.", make=_deal),
    "pace": Change(
        about="Let the dealer take this long for each card.",
        make=_pace,
        arguments={
            "ms": WholeNumber(about="milliseconds", required=True, at_least=0, at_most=3_600_000)
        },
        example="ms=50",
    ),
    "new_shoe": Change(
        about="Take the cards out, and push another set in. The cards that the shoe asks for "
        "before a round are drawn too, by the dealer if it does not rest.",
        make=_new_shoe,
        arguments={
            "seed": WholeNumber(
                about="shuffles it; without it the next seed", at_least=0, at_most=2**63
            )
        },
        example="seed=7",
    ),
    "status": Change(about="Change nothing: the answer says how the shoe stands.", make=_status),
    "wait": Change(
        about="Wait until it is so. The answer comes at that moment, or says that it did not.",
        make=_wait,
        arguments={
            "until": Word(about="what is waited for", required=True, words=tuple(_WAITS)),
            "count": WholeNumber(
                about="how many connections or cards", default=1, at_least=0, at_most=10**9
            ),
            "within_s": Number(
                about="the longest wait in seconds", default=30.0, at_most=LONGEST_WAIT_S
            ),
        },
        example="until=drawn count=4",
    ),
    **{
        name: Change(
            about=incident.about, make=_of_incident(incident), arguments=incident.arguments,
            example=incident.example,
        )
        for name, incident in INCIDENTS.items()
    },
}  # fmt: skip
"""Name → what is changed. ``status`` changes nothing, and neither does ``wait``."""
