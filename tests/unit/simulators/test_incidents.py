"""What can happen to a shoe, in every profile: what a real host hears of it, or why it cannot.

In: each incident by name. Out: the events that the profile's own host session gives, and refusals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from firmware_proto.commands import AnyCommand, Armed, ClearError, Query, Reset, SetTime
from firmware_proto.events import (
    CardDrawn,
    Discarded,
    Error,
    ErrorCleared,
    Hello,
    QueryAnswered,
    Redesignated,
    Reply,
    ShoeEvent,
    Standby,
    Started,
    Tamper,
    to_plain,
)
from firmware_proto.profiles import PROFILES, profile
from firmware_proto.session import ReceivedEvent
from shoe_testing.bench import play_in_process
from shoe_testing.for_each import for_each
from shoe_testing.memory_port import MemoryPort
from simulators.arguments import read_arguments
from simulators.incidents import INCIDENTS
from simulators.shoe.build import simulated_shoe
from simulators.shoe.lens import SURE, UNSURE
from simulators.shoe.model import CannotSay, CuttingCardOut, Refused
from simulators.table.fields import Fields
from simulators.table.scenario import find, parse, shipped
from simulators.table.scenario_player import LeftOut, shoe_for
from simulators.table.steps import ShoeDoes

BODY = {
    "lid", "tamper", "button", "power_low", "power_restored", "error", "error_cleared", "warning",
    "redesignated", "card_outside_game", "card_pushed_back", "started", "lock",
}  # fmt: skip
"""What a host hears of a shoe itself. A card and a boot have tests of their own below."""


class Bench:
    """A shoe of a profile in the middle of its cards, and a host that stores at once."""

    def __init__(self, name: str, settings: Mapping[str, object] | None = None) -> None:
        self.device = simulated_shoe(name, seed=2)
        self.heard: list[ShoeEvent] = []
        self.port = MemoryPort(self.device, heard=self._heard)
        self._settings = settings or {}
        self._name = name
        self.device.boot(0.0)
        self.connect()
        while name != "reference" and not self.device.truth.rounds:  # its burn, and a round
            self.device.draw(self.port.t)
        self.pump()

    def connect(self) -> None:
        self.port.plug(profile(self._name).host_session(resume=None, settings=self._settings))
        self.pump()

    def pump(self) -> None:
        self.port.advance(0.5)

    def happens(self, name: str, **given: Any) -> list[ShoeEvent]:
        """What the host hears of it."""
        fields = Fields(given, "")
        arguments = read_arguments(INCIDENTS[name].arguments, fields)
        fields.nothing_else()
        before = len(self.heard)
        INCIDENTS[name].happen(self.device, self.port.t, arguments)
        self.pump()
        return self.heard[before:]

    def told(self, *commands: AnyCommand) -> list[ShoeEvent]:
        before = len(self.heard)
        assert self.port.host is not None
        for command in commands:
            self.port.host.command(command)
        self.pump()
        return self.heard[before:]

    def _heard(self, heard: ReceivedEvent) -> None:
        self.heard.append(heard.event)
        if heard.seq is not None and self.port.host is not None:
            self.port.host.stored(heard.seq)


REPORTED: dict[str, dict[str, list[dict[str, object]]]] = {
    "lid_open": {"reference": [{"type": "lid", "open": True}]},
    "lid_close": {"reference": [{"type": "lid", "open": False}]},
    "tamper": {"reference": [{"type": "tamper", "what": "seal"}]},
    "button number=7": {"reference": [{"type": "button", "button": 7}]},
    "power_low percent=4": {"reference": [{"type": "power_low", "percent": 4}]},
    "power_low": {"reference": [{"type": "power_low"}]},
    "power_restored": {"reference": [{"type": "power_restored"}]},
    "error code=sensor": {
        "reference": [{"type": "error", "code": "sensor", "in_error_mode": False}]
    },
    "error code=bolt stops=true": {
        "reference": [{"type": "error", "code": "bolt", "in_error_mode": True}]
    },
    "error code=E3": {"bee_tek": [{"type": "error", "code": "E3", "in_error_mode": False}]},
    "error code=card_code_error stops=true": {
        "angel_eye": [{"type": "error", "code": "card_code_error", "in_error_mode": True}]
    },
    "error_cleared code=sensor": {"reference": [{"type": "error_cleared", "code": "sensor"}]},
    "error_cleared code=overdraw": {"angel_eye": [{"type": "error_cleared", "code": "overdraw"}]},
    "warning code=W0x1F": {"bee_tek": [{"type": "warning", "code": "W0x1F"}]},
    "jam": {
        "reference": [{"type": "error", "code": "jam", "in_error_mode": True}],
        "angel_eye": [{"type": "error", "code": "draw_time_out", "in_error_mode": True}],
        "bee_tek": [],
    },
    "reverse_run": {
        "reference": [{"type": "error", "code": "reverse_run", "in_error_mode": False}],
        "angel_eye": [{"type": "error", "code": "reverse_run_at_exit", "in_error_mode": False}],
    },
    "overdraw": {
        "angel_eye": [
            {"type": "error", "code": "overdraw", "in_error_mode": True},
            {"type": "card_outside_game", "card": "TS", "mode": "error", "code": 2},
        ]
    },
    "lock": {"reference": [], "angel_eye": [{"type": "lock", "locked": True}], "bee_tek": []},
    "unlock": {"reference": [], "angel_eye": [{"type": "lock", "locked": False}], "bee_tek": []},
    "misread": {"reference": [], "angel_eye": [], "bee_tek": []},
    "dirty_lens misread=0.5": {"reference": [], "angel_eye": [], "bee_tek": []},
    "dirty_lens unsure=0.5": {"reference": []},
    "clean_lens": {"reference": [], "angel_eye": [], "bee_tek": []},
    "clock_drift ppm=-200": {"reference": []},
    "reboot": {"reference": [], "angel_eye": [{"type": "started"}], "bee_tek": []},
    "power_on": {"reference": [], "angel_eye": [{"type": "started"}], "bee_tek": []},
    "power_off": {"reference": [], "angel_eye": [], "bee_tek": []},
    "firmware version=2.0": {"reference": []},
    f"key key={'5a' * 32}": {"reference": []},
}
"""Incident → profile → what its host hears of the shoe's body. Other profiles refuse it by name."""

IN_WORDS = {
    "lid_open": "that its lid was opened or closed",
    "lid_close": "that its lid was opened or closed",
    "tamper": "that it was tampered with",
    "button": "which button was pressed",
    "power_low": "that its power is low",
    "power_restored": "that its power is back",
    "warning": "a warning",
    "reverse_run": "that a card ran backwards",
    "overdraw": "a card drawn too many",
    "clock_drift": "a time",
    "dirty_lens": "how sure it is of a card",
    "firmware": "its firmware",
    "key": "a key of its own",
    "error": "an error",
    "error_cleared": "an error",
}


def spelled(line: str) -> tuple[str, dict[str, Any]]:
    """The name and the arguments of a line as a command line has it."""
    name, *pairs = line.split()
    known = INCIDENTS[name].arguments
    given = dict(pair.split("=") for pair in pairs)
    return name, {key: known[key].of_text(text) for key, text in given.items()}


@for_each(REPORTED, PROFILES)
def test_a_profile_s_host_hears_of_an_incident_or_it_is_refused_by_name(
    line: str, name: str
) -> None:
    incident, given = spelled(line)
    bench = Bench(name)
    if incident == "power_on":
        bench.happens("power_off")
    if name in REPORTED[line]:
        heard = [to_plain(event) for event in bench.happens(incident, **given)]
        assert [event for event in heard if event["type"] in BODY] == REPORTED[line][name]
        return
    with pytest.raises(CannotSay) as refused:
        bench.happens(incident, **given)
    words = IN_WORDS[incident]
    if (incident, name) == ("error_cleared", "bee_tek"):
        words = "that an error is over"
    assert str(refused.value).startswith(f"a shoe of profile {name} cannot report {words}")


def test_every_incident_is_played_in_a_shipped_scenario() -> None:
    played = {
        step.what
        for each in map(find, shipped())
        for step in each.steps
        if isinstance(step, ShoeDoes)
    }
    assert INCIDENTS.keys() - played == set()


async def test_a_scenario_is_left_out_for_a_profile_that_cannot_report_it() -> None:
    text = (
        'version = 1\ntitle = "One"\ntable = {game = "tiger", shoe = {profile = "angel_eye"}}\n'
        'shoe = {burn = "AC 9D"}\nsteps = [{shoe = "lid_open"}]\nexpect = ["shoe.fault"]\n'
    )
    _, stuck = await play_in_process(parse(text.encode(), "one.toml", name="one"))
    assert stuck == (
        "one: steps[0]: shoe: lid open: a shoe of profile angel_eye cannot report that its lid was "
        "opened or closed"
    )
    drifting = text.replace('"AC 9D"', '"AC 9D", clock_drift = {ppm = 5}')
    with pytest.raises(LeftOut, match="one: shoe: a shoe of profile angel_eye cannot report a tim"):
        shoe_for(parse(drifting.encode(), "one.toml", name="one"))


def test_without_power_a_shoe_notices_nothing_but_later_that_its_lid_was_opened() -> None:
    bench = Bench("reference")
    bench.happens("power_off")
    with pytest.raises(Refused, match="no power"):
        bench.happens("button")
    assert bench.happens("lid_open") == []
    assert Tamper(what="opened_without_power") in bench.happens("power_on")
    assert Tamper(what="opened_without_power") not in bench.happens("reboot")


def test_a_jammed_shoe_gives_no_card_until_it_is_freed_and_a_reset_does_not_free_it() -> None:
    bench = Bench("reference")
    bench.happens("jam")
    with pytest.raises(Refused, match="jammed already"):
        bench.happens("jam")
    with pytest.raises(Refused, match="jammed"):
        bench.device.draw(bench.port.t, force=True)
    said = bench.told(Reset(7))
    assert said.index(ErrorCleared(code="jam")) < said.index(Error(code="jam", in_error_mode=True))
    assert bench.happens("free")[0] == ErrorCleared(code="jam")
    bench.device.draw(bench.port.t, force=True)
    with pytest.raises(Refused, match="not jammed"):
        bench.happens("free")


@pytest.mark.parametrize(("name", "code"), [("reference", "jam"), ("angel_eye", "draw_time_out")])
def test_a_jam_that_comes_or_goes_without_power_is_reported_when_power_is_back(
    name: str, code: str
) -> None:
    bench = Bench(name)
    bench.happens("power_off")
    assert bench.happens("jam") == []
    assert Error(code=code, in_error_mode=True) in bench.happens("power_on")
    bench.happens("power_off")
    assert bench.happens("free") == []
    said = bench.happens("power_on")
    assert (ErrorCleared(code=code) in said) == (name == "reference")  # the other forgot it
    assert bench.device.lamp is None or name == "angel_eye"


def test_a_jam_is_not_cleared_by_a_command_to_a_shoe_that_takes_some() -> None:
    bench = Bench("angel_eye", {"commands": True})
    bench.happens("jam")
    refused = [event for event in bench.told(ClearError(7)) if isinstance(event, Reply)]
    assert (refused[0].accepted, refused[0].reason) == (False, "busy")


@pytest.mark.parametrize("kept", [True, False])
def test_a_brown_out_breaks_a_report_off_and_the_card_is_stored_or_never_noticed(
    kept: bool,
) -> None:
    bench = Bench("reference")
    with pytest.raises(Refused, match="no card may be drawn now"):
        bench.happens("brown_out")
    assert bench.port.host is not None
    bench.port.host.set_desired_state(Armed(1, "player", 1))
    bench.pump()
    front = bench.device.shoe.cards
    assert front is not None
    heard = bench.happens("brown_out", card="kept" if kept else "lost")
    drawn = [event for event in heard if isinstance(event, CardDrawn)]
    assert [event.card for event in drawn] == ([front.cards[0]] if kept else [])
    [hello] = [event for event in heard if isinstance(event, Hello)]
    assert (hello.drawn, hello.boot_id) == (int(kept), 2)
    assert sum(isinstance(event, Discarded) for event in heard) == kept
    assert bench.device.shoe.remaining == len(front.cards) - 1


@pytest.mark.parametrize("name", ["angel_eye", "bee_tek"])
def test_a_brown_out_of_a_shoe_that_stores_nothing_loses_the_card(name: str) -> None:
    bench = Bench(name)
    with pytest.raises(CannotSay, match="after a loss of power what happened before it"):
        bench.happens("brown_out", card="kept")
    drawn, before = bench.device.shoe.drawn, len(bench.heard)
    bench.happens("brown_out")
    assert bench.device.shoe.drawn == drawn + 1
    bench.port.advance(5.0)
    heard = [type(event) for event in bench.heard[before:]]
    assert heard == ([Discarded, Started, Standby] if name == "angel_eye" else [Discarded])


def test_an_overdrawn_card_is_designated_the_next_round_s_first_or_nothing() -> None:
    kept, discarded = Bench("angel_eye"), Bench("angel_eye")
    for bench in (kept, discarded):
        bench.happens("overdraw")
        with pytest.raises(Refused, match="has not just judged a round"):
            bench.happens("overdraw")
        assert bench.device.lamp is None
    card = kept.device.truth.cards[-1][1]
    cleared, moved = kept.happens("overdraw_kept")
    assert cleared == ErrorCleared(code="overdraw")
    assert isinstance(moved, Redesignated) and moved.card is not None
    assert (moved.card.code, moved.hand, moved.index) == (card, "player", 1)
    assert kept.device.lamp is not None and kept.device.lamp.hand == "banker"
    assert discarded.happens("overdraw_discarded") == [ErrorCleared(code="overdraw")]
    assert discarded.device.lamp is not None and discarded.device.lamp.hand == "player"
    for bench, rest in ((kept, 5), (discarded, 6)):
        rounds = len(bench.device.truth.rounds)
        for _ in range(rest):
            if len(bench.device.truth.rounds) == rounds:
                while isinstance(bench.device.draw(bench.port.t), CuttingCardOut):
                    pass
        assert len(bench.device.truth.rounds) == rounds + 1


@pytest.mark.parametrize(("fate", "index"), [("keep", 1), ("discard", 0)])
def test_a_host_that_may_decides_on_an_overdrawn_card_by_command(fate: str, index: int) -> None:
    bench = Bench("angel_eye", {"commands": True})
    bench.happens("overdraw")
    said = bench.told(ClearError(7, fate))
    assert Reply(accepted=True, command_id=7) in said
    assert ErrorCleared(code="overdraw") in said
    assert sum(isinstance(event, Redesignated) for event in said) == index


def test_a_drifting_clock_is_read_by_the_host_and_times_what_the_shoe_reports() -> None:
    bench = Bench("reference")
    bench.told(SetTime(1, 1_000_000_000))
    bench.happens("clock_drift", ppm=1_000_000)
    began = bench.port.t
    bench.port.advance(10.0)
    [clock] = [e for e in bench.told(Query(2, "clock")) if isinstance(e, QueryAnswered)]
    assert clock.value is not None
    passed = bench.port.t - began
    assert clock.value - 1_000_000_000 > (2 * passed - 2) * 1e6


def test_low_confidence_and_other_firmware_are_in_what_the_host_hears() -> None:
    bench = Bench("reference")
    bench.happens("dirty_lens", unsure=1.0, seed=9)
    bench.device.draw(bench.port.t, force=True)
    bench.pump()
    [drawn] = [event for event in bench.heard if isinstance(event, CardDrawn)]
    assert drawn.card is not None and drawn.confidence in UNSURE
    bench.happens("clean_lens")
    bench.device.draw(bench.port.t, force=True)
    bench.pump()
    assert [e.confidence for e in bench.heard if isinstance(e, CardDrawn)][1] == SURE
    digest = "AB" * 32
    heard = bench.happens("firmware", version="2.0", digest=digest)
    [hello] = [event for event in heard if isinstance(event, Hello)]
    assert (hello.firmware, hello.firmware_digest) == ("2.0", digest.lower())
