"""Simulated shoes in process against the real profiles' sessions, through clean and bad lines.

In: seeds. Out: rounds as heard against rounds as they were. Must not know: descriptors.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from firmware_proto.cards import DECKS
from firmware_proto.events import (
    CardDrawn,
    CuttingCard,
    Hello,
    Result,
    ShoeEvent,
    ShoeLoaded,
    Standby,
    Started,
)
from firmware_proto.profiles import profile
from firmware_proto.session import HostSession, ReceivedEvent, Resume
from shoe_testing.memory_port import MemoryPort
from shoe_testing.toy_table import Table
from simulators.errors import WrongUsage
from simulators.faults import Faults, FaultyLine
from simulators.shoe.build import simulated_shoe
from simulators.shoe.device import Device
from simulators.table.dealer import Supply, dealer_for


def reference_host(resume: Resume | None) -> HostSession:
    return profile("reference").host_session(resume=resume, settings={})


def dealt(device: Device, deck: str = "french52", *, left: int = 0) -> Table:
    table = Table(reference_host)
    table.on(device, dealer_for(device, Supply(DECKS[deck], 8, 1000, left), pace_s=0.0))
    table.connect()
    return table


def truth_of(device: Device) -> list[object]:
    return [r["cards"] for r in device.truth.rounds]


@pytest.mark.parametrize("deck", ["french52", "element65"])
@pytest.mark.parametrize("seed", range(5))
def test_the_reference_profile_carries_a_whole_shoe(deck: str, seed: int) -> None:
    device = simulated_shoe("reference", deck=deck, seed=seed)
    device.boot(0.0)
    table = dealt(device, deck)
    assert table.rounds == truth_of(device)
    assert device.shoe.cutting_card_out
    assert len(table.rounds) > 60
    assert table.repeats == 0


def test_a_second_set_follows_the_first() -> None:
    device = simulated_shoe("reference", seed=3)
    device.boot(0.0)
    table = dealt(device, left=1)
    assert table.port is not None
    table.port.advance(10.0)
    assert table.rounds == truth_of(device)
    assert len(table.rounds) > 120


def test_a_shoe_that_reboots_in_mid_round_on_an_open_line_goes_on() -> None:
    device = simulated_shoe("reference", seed=4, decks=1)
    device.boot(0.0)
    table = Table(reference_host)
    port = table.on(device, dealer_for(device, Supply(DECKS["french52"], 1, 9, 0), pace_s=0.1))
    table.connect()
    port.advance(0.55)
    device.power_off()
    port.advance(0.5)
    device.boot(port.t)
    port.advance(60.0)
    assert table.rounds == truth_of(device)
    assert device.shoe.cutting_card_out


@pytest.mark.parametrize("seed", range(4))
def test_a_bad_line_loses_and_doubles_nothing(seed: int) -> None:
    device = simulated_shoe("reference", seed=seed, decks=1)
    device.boot(0.0)
    faults = Faults(split=0.2, merge=0.1, drop=0.02, flip=0.02, repeat=0.05, delay=0.1, unplug=0.01)
    table = Table(reference_host)
    port = table.on(
        device,
        dealer_for(device, Supply(DECKS["french52"], 1, 9, 0), pace_s=0.01),
        to_host=FaultyLine(seed, faults),
        to_shoe=FaultyLine(seed + 1000, faults),
    )
    for _ in range(300):
        if port.host is None:
            table.connect()
        port.advance(1.0)
        over = device.shoe.cutting_card_out and not device.truth.round_open
        if over and table.rounds == truth_of(device):
            break
    assert table.rounds == truth_of(device)
    assert device.shoe.cutting_card_out
    assert len(table.rounds) > 5


def heard_from_angel_eye(
    settings: dict[str, object] | None = None, *, seed: int = 1, left: int = 0
) -> tuple[Device, list[ShoeEvent]]:
    device = simulated_shoe("angel_eye", seed=seed, settings=settings)
    heard: list[ShoeEvent] = []

    def keep(what: ReceivedEvent) -> None:
        if what.event.type != "repeated":
            heard.append(what.event)

    dealer = dealer_for(device, Supply(DECKS["french52"], 8, 1000, left), pace_s=0.01)
    port = MemoryPort(device, heard=keep, dealer=dealer)
    port.plug(profile("angel_eye").host_session(resume=None, settings={}))
    port.advance(60.0)
    return device, heard


@pytest.mark.parametrize("sends", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_angel_eye_carries_a_whole_shoe(sends: int, seed: int) -> None:
    device, heard = heard_from_angel_eye({"sends": sends}, seed=seed)
    assert isinstance(heard[0], Started)
    assert isinstance(heard[-1], Standby)
    assert sum(isinstance(e, CuttingCard) for e in heard) == 1
    rounds: list[tuple[str, str, bool, bool]] = []
    cards: list[str] = []
    drawn = 0
    for event in heard:
        if isinstance(event, CardDrawn) and event.card is not None:
            drawn += 1
            if event.hand in ("player", "banker"):
                cards.append(event.card.code)
        if isinstance(event, Result):
            rounds.append((" ".join(cards), event.winner, event.player_pair, event.banker_pair))
            cards = []
    assert len(rounds) > 60
    assert rounds == [
        (r["cards"], r["winner"], r["player_pair"], r["banker_pair"]) for r in device.truth.rounds
    ]
    assert drawn == len(device.truth.cards) == device.shoe.drawn


def test_angel_eye_is_locked_and_refuses_by_its_own_codes() -> None:
    device = simulated_shoe("angel_eye")
    device.host_opened()
    device.boot(0.0)
    device.outgoing()
    device.receive(b"\x02OPLK02\x031B", 0.1)
    assert device.outgoing().startswith(b"\x06\x05")
    assert device.shoe.locked_by_key
    device.receive(b"\x02OPGP00\x0309", 0.2)
    assert device.outgoing() == b"\x06"
    device.receive(b"\x02OPXX00\x031E", 0.3)
    assert device.outgoing() == b"\x15\x13"


def test_angel_eye_starts_again_with_a_new_set() -> None:
    _, heard = heard_from_angel_eye(left=1)
    assert sum(isinstance(e, Started) for e in heard) == 2
    assert sum(isinstance(e, CuttingCard) for e in heard) == 2


def test_the_hello_of_a_new_shoe_says_what_is_in_it() -> None:
    device = simulated_shoe("reference", seed=4, decks=6, device_id="SIM-6")
    device.boot(0.0)
    heard: list[ShoeEvent] = []
    port = MemoryPort(device, heard=lambda what: heard.append(what.event))
    port.plug(reference_host(None))
    port.pump()
    hello = heard[0]
    assert isinstance(hello, Hello)
    assert (hello.device_id, hello.decks, hello.deck, hello.drawn) == ("SIM-6", 6, "french52", 0)
    assert hello.set_id == "SIM-6-1"
    assert not any(isinstance(e, ShoeLoaded) for e in heard)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda: simulated_shoe("nobody"), "unknown profile"),
        (lambda: simulated_shoe("reference", deck="tarot"), "unknown deck"),
        (lambda: simulated_shoe("angel_eye", deck="element65"), "cannot name the cards"),
        (lambda: simulated_shoe("reference", decks=11), "1 to 10"),
        (lambda: simulated_shoe("reference", settings={"colour": "red"}), "colour"),
    ],
)
def test_a_shoe_that_cannot_be_is_refused_in_one_line(
    wrong: Callable[[], Device], why: str
) -> None:
    with pytest.raises(WrongUsage, match=why) as caught:
        wrong()
    assert "\n" not in str(caught.value)
