"""The simulated shoe that says no more than its cards, and the dealer who speaks for it.

In: hands, time. Out: lines, what is told to a table. Must not know: the controller.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from firmware_proto.bee_tek.codec import Listener
from firmware_proto.cards import DECKS
from firmware_proto.events import CardDrawn, Error, ShoeEvent
from simulators.errors import WrongUsage
from simulators.shoe.bee_tek import BeeTekDevice
from simulators.shoe.build import simulated_shoe
from simulators.shoe.judge import points
from simulators.table.dealer import Supply, TellingDealer, dealer_for


def shoe(**given: object) -> BeeTekDevice:
    device = simulated_shoe("bee_tek", decks=1, **given)  # type: ignore[arg-type]
    assert isinstance(device, BeeTekDevice)
    device.host_opened()
    device.boot(0.0)
    return device


def said(device: BeeTekDevice) -> list[ShoeEvent]:
    return [heard.event for heard in Listener().feed(device.outgoing())]


def burned(device: BeeTekDevice) -> int:
    """Burns what the first card wants; how many cards that were, the first too."""
    while not device.between_rounds:
        device.draw(1.0)
    return device.shoe.drawn


def test_power_and_sets_leave_no_trace_and_the_burn_is_told_as_one() -> None:
    device = shoe()
    assert said(device) == []
    count = burned(device)
    told = said(device)
    assert all(isinstance(event, CardDrawn) and event.hand == "burn" for event in told)
    assert isinstance(told[0], CardDrawn) and told[0].card is not None
    assert len(told) == count == 1 + (points(told[0].card) or 10)


def test_a_round_is_cards_without_hands() -> None:
    device = shoe()
    burned(device)
    said(device)
    while not device.truth.rounds:
        device.draw(2.0)
    told = said(device)
    codes = " ".join(e.card.code for e in told if isinstance(e, CardDrawn) and e.card)
    assert codes == device.truth.rounds[0]["cards"]
    assert all(isinstance(e, CardDrawn) and e.hand is None for e in told)


def test_a_card_that_is_not_read_has_its_alarm_and_its_place() -> None:
    unread = burned(shoe()) + 2
    device = shoe(unreadable=frozenset({unread}))
    burned(device)
    said(device)
    device.draw(2.0)
    device.draw(2.1)
    assert said(device)[1:] == [CardDrawn(card=None), Error(code="E3", text="Card Not Read")]
    assert device.lamp is not None
    assert (device.lamp.hand, device.lamp.index) == ("player", 2)


def test_what_a_host_sends_is_refused_and_a_key_says_nothing() -> None:
    device = shoe()
    device.receive(b"hello", 1.0)
    device.turn_key(1.1, locked=True)
    assert device.refused == ["no_commands"]
    assert device.lamp is None
    assert said(device) == []


def test_the_cutting_card_is_not_said_and_a_round_survives_a_power_cut() -> None:
    device = shoe(behind_cut=52)
    burned(device)
    assert device.shoe.cutting_card_out
    device.draw(2.0)
    device.power_off()
    device.boot(3.0)
    assert device.lamp is not None
    assert (device.lamp.hand, device.lamp.index) == ("banker", 1)


class Listening:
    """A table that takes what it is told when it is let."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []
        self.taken: list[Callable[[], None]] = []
        self.device: BeeTekDevice | None = None

    def tell(self, command: str, taken: Callable[[], None]) -> None:
        assert self.device is not None
        self.told.append((command, self.device.shoe.drawn))
        self.taken.append(taken)


def test_the_dealer_tells_what_the_shoe_does_not_and_waits_until_it_is_taken() -> None:
    table, device = Listening(), simulated_shoe("bee_tek", decks=1)
    assert isinstance(device, BeeTekDevice)
    table.device = device
    dealer = dealer_for(device, Supply(DECKS["french52"], 1, 7, 1), pace_s=0.1, tell=table.tell)
    assert isinstance(dealer, TellingDealer)
    device.host_opened()
    dealer.open_table(0.0)
    t = 0.0
    while not (dealer.at_end and device.shoe.sets_loaded == 2) and t < 60:
        dealer.tick(t)
        if table.taken:
            drawn = device.shoe.drawn
            for waiting in range(20):
                dealer.tick(t + waiting)
            assert device.shoe.drawn == drawn
            table.taken.pop()()
        t += 0.05
    commands = [command for command, _ in table.told]
    cut, new = "declare_cutting_card", "declare_new_shoe"
    assert commands == ["align", cut, new, cut]
    assert [drawn for command, drawn in table.told if command != cut] == [0, 0]


def test_after_the_cable_was_off_the_dealer_aligns_before_the_next_round() -> None:
    table, device = Listening(), simulated_shoe("bee_tek", decks=1)
    assert isinstance(device, BeeTekDevice)
    table.device = device
    dealer = dealer_for(device, Supply(DECKS["french52"], 1, 7, 0), pace_s=0.1, tell=table.tell)
    device.host_opened()
    t = 0.0
    while not device.truth.round_open:
        dealer.tick(t := t + 0.05)
        while table.taken:
            table.taken.pop()()
    device.host_closed()
    dealer.tick(t)
    device.host_opened()
    while len(table.told) < 2:
        dealer.tick(t := t + 0.05)
    assert [command for command, _ in table.told] == ["align", "align"]
    assert not device.truth.round_open


@pytest.mark.parametrize(("given", "why"), [
    ({"deck": "element65"}, "cannot name the cards"), ({"settings": {"sends": 3}}, "not a setting"),
])  # fmt: skip
def test_what_such_a_shoe_cannot_be_is_refused(given: dict[str, object], why: str) -> None:
    with pytest.raises(WrongUsage, match=why):
        shoe(**given)
