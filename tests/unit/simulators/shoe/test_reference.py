"""A shoe that can be armed, in process, against a toy table that arms what its judge wants.

In: orders, draws, unplugs, reboots. Out: what the host stored and the shoe's own list.
Must not know: any real profile.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from firmware_proto.cards import DECKS
from firmware_proto.events import CardDrawn, Gap, Hello, Reply, ShoeEvent, ShoeLoaded, Status
from firmware_proto.profiles import profile
from firmware_proto.session import HostSession, Resume
from shoe_testing.toy_table import Table
from simulators.faults import Faults, FaultyLine
from simulators.shoe.device import Lamp
from simulators.shoe.event_log import EventLog
from simulators.shoe.model import Refused
from simulators.shoe.reference import STATUS_EVERY_S, ReferenceDevice
from simulators.table.dealer import LampDealer, Supply

Shoes = Callable[..., ReferenceDevice]
Said = Callable[[bytes], list[ShoeEvent]]


@pytest.fixture
def table(text_host: Callable[[Resume | None], HostSession]) -> Table:
    return Table(text_host)


def lamp_of(device: ReferenceDevice) -> Lamp | None:
    return device.lamp


def dealer_of(device: ReferenceDevice, *, left: int = 0, pace_s: float = 0.0) -> LampDealer:
    supply = Supply(DECKS["french52"], 1, 100, left)
    return LampDealer(device, supply, pace_s=pace_s)


def truth_of(device: ReferenceDevice) -> list[object]:
    return [r["cards"] for r in device.truth.rounds]


def test_nothing_is_said_before_the_host_asks(reference_shoe: Shoes) -> None:
    device = reference_shoe()
    device.host_opened()
    device.tick(60.0)
    assert device.outgoing() == b""


def test_hello_is_followed_by_all_that_was_not_acknowledged(
    reference_shoe: Shoes, said: Said
) -> None:
    device = reference_shoe()
    device.draw(0.5, force=True)
    device.host_opened()
    device.receive(b"hello\n", 1.0)
    hello, loaded, card, status = said(device.outgoing())
    assert isinstance(hello, Hello)
    assert (hello.device_id, hello.boot_id, hello.drawn) == ("SIM-TEST", 1, 1)
    assert loaded == ShoeLoaded(set_id=hello.set_id, decks=1)
    assert isinstance(card, CardDrawn)
    assert (card.number, card.armed) == (1, False)
    assert status == Status(armed=None, drawn=1, unacknowledged=2)


def test_what_was_acknowledged_is_not_said_again(reference_shoe: Shoes, said: Said) -> None:
    device = reference_shoe()
    device.host_opened()
    device.receive(b"hello\nack 1\n", 1.0)
    device.outgoing()
    device.host_closed()
    device.host_opened()
    device.receive(b"hello\n", 2.0)
    assert [type(e) for e in said(device.outgoing())] == [Hello, Status]


def test_numbers_and_events_survive_a_reboot(reference_shoe: Shoes, said: Said) -> None:
    device = reference_shoe()
    device.draw(1.0, force=True)
    device.power_off()
    device.boot(5.0)
    device.draw(6.0, force=True)
    device.host_opened()
    device.receive(b"hello\n", 7.0)
    hello, _, first, second, _ = said(device.outgoing())
    assert isinstance(hello, Hello)
    assert hello.boot_id == 2
    assert isinstance(first, CardDrawn)
    assert isinstance(second, CardDrawn)
    assert (first.number, second.number) == (1, 2)


def test_a_shoe_without_power_hears_and_says_nothing(reference_shoe: Shoes) -> None:
    device = reference_shoe()
    device.host_opened()
    device.power_off()
    device.receive(b"hello\n", 1.0)
    assert device.outgoing() == b""
    assert lamp_of(device) is None


def test_a_shoe_that_comes_back_on_an_open_line_says_hello(
    reference_shoe: Shoes, said: Said
) -> None:
    device = reference_shoe()
    device.host_opened()
    device.power_off()
    device.boot(2.0)
    hello, loaded, status = said(device.outgoing())
    assert isinstance(hello, Hello)
    assert (hello.boot_id, hello.oldest_seq) == (2, 1)
    assert isinstance(loaded, ShoeLoaded)
    assert isinstance(status, Status)


def test_status_follows_each_change_and_an_interval(reference_shoe: Shoes, said: Said) -> None:
    device = reference_shoe()
    device.host_opened()
    device.receive(b"hello\n", 1.0)
    device.outgoing()
    device.receive(b"arm 1 player 1\n", 1.5)
    assert said(device.outgoing()) == [Status(armed=1, drawn=0, unacknowledged=1)]
    device.turn_key(1.6, locked=True)
    assert said(device.outgoing()) == [
        Status(armed=None, drawn=0, unacknowledged=1, locked_by_key=True)
    ]
    assert device.next_deadline == 1.6 + STATUS_EVERY_S
    device.tick(1.6 + STATUS_EVERY_S)
    assert len(said(device.outgoing())) == 1


def test_a_number_already_drawn_is_refused_by_reply(reference_shoe: Shoes, said: Said) -> None:
    device = reference_shoe()
    device.host_opened()
    device.receive(b"hello\narm 1 player 1\n", 1.0)
    device.draw(1.0)
    device.outgoing()
    device.receive(b"arm 1 player 1\n", 1.1)
    reply, status = said(device.outgoing())
    assert reply == Reply(accepted=False, reason="already_drawn", number=1)
    assert isinstance(status, Status)
    assert status.armed is None


def test_the_lamp_shows_what_is_armed_and_goes_dark_with_the_card(reference_shoe: Shoes) -> None:
    device = reference_shoe()
    assert lamp_of(device) is None
    device.host_opened()
    device.receive(b"arm 1 player 1\n", 1.0)
    assert device.lamp is not None
    assert (device.lamp.number, device.lamp.hand) == (1, "player")
    device.draw(1.1)
    assert lamp_of(device) is None
    with pytest.raises(Refused):
        device.draw(1.2)


def test_a_full_memory_locks_the_shoe_until_the_host_has_stored(reference_shoe: Shoes) -> None:
    device = reference_shoe(event_log=EventLog(capacity=4, reserve=2))
    device.host_opened()
    device.receive(b"hello\narm 1 player 1\n", 1.0)
    device.draw(1.0)
    device.receive(b"arm 2 banker 1\n", 1.1)
    assert lamp_of(device) is None
    assert device.refused == ["memory_full"]
    device.receive(b"ack 2\narm 2 banker 1\n", 1.2)
    assert device.lamp is not None


def test_what_a_full_memory_lost_is_said_as_a_gap_when_there_is_room(
    reference_shoe: Shoes, said: Said
) -> None:
    device = reference_shoe(event_log=EventLog(capacity=4, reserve=2))
    device.host_opened()
    device.receive(b"hello\n", 1.0)
    for _ in range(6):
        device.draw(1.0, force=True)
    device.outgoing()
    device.receive(b"ack 2\n", 1.1)
    assert said(device.outgoing()) == [Gap(first=5, last=7)]
    device.draw(1.2, force=True)
    device.host_closed()
    device.host_opened()
    device.receive(b"hello\n", 1.3)
    hello, *events, _ = said(device.outgoing())
    assert isinstance(hello, Hello)
    assert hello.oldest_seq == 3
    assert [type(e) for e in events] == [CardDrawn, CardDrawn, Gap, CardDrawn]


def test_a_host_that_lost_its_store_is_told_again_what_is_still_there(
    reference_shoe: Shoes,
) -> None:
    device = reference_shoe()
    for _ in range(3):
        device.draw(1.0, force=True)
    for stored in (4, 2):
        real = profile("reference").host_session(
            resume=Resume("SIM-TEST", 0 if stored == 4 else 2), settings={}
        )
        device._new_session = lambda: profile("reference").device_session(settings={})
        device.host_opened()
        heard = []
        for tenth in range(20):
            t = 2.0 + tenth / 10
            real.tick(t)
            device.receive(real.outgoing(), t)
            device.tick(t)
            for said in real.receive(device.outgoing(), t):
                heard.append(said)
                if said.seq is not None:
                    real.stored(said.seq)
        numbers = [h.seq for h in heard if isinstance(h.event, CardDrawn)]
        assert numbers == ([2, 3, 4] if stored == 4 else [3, 4])
        assert not [h for h in heard if isinstance(h.event, Gap)]


def test_a_card_that_was_not_read_is_said_without_a_card(reference_shoe: Shoes, said: Said) -> None:
    device = reference_shoe(unreadable=frozenset({1}))
    device.host_opened()
    device.receive(b"hello\n", 1.0)
    device.outgoing()
    device.draw(1.0, force=True)
    card = said(device.outgoing())[0]
    assert isinstance(card, CardDrawn)
    assert card.card is None
    assert len(device.truth.cards) == 1


def test_a_burn_that_the_host_armed_belongs_to_no_round(reference_shoe: Shoes) -> None:
    device = reference_shoe()
    device.host_opened()
    device.receive(b"arm 1 burn 1\n", 1.0)
    device.draw(1.0)
    assert device.truth.lines[-1]["place"] == "burn"
    assert not device.truth.round_open


def test_a_whole_shoe_is_dealt_as_the_truth_has_it(reference_shoe: Shoes, table: Table) -> None:
    device = reference_shoe(decks=8)
    port = table.on(device, dealer_of(device))
    table.connect()
    assert table.rounds == truth_of(device)
    assert len(table.rounds) > 60
    assert device.shoe.cutting_card_out
    assert device.event_log.unacknowledged == 0
    assert port.t == 0.0


def test_the_dealer_keeps_its_pace(reference_shoe: Shoes, table: Table) -> None:
    device = reference_shoe()
    port = table.on(device, dealer_of(device, pace_s=0.5))
    table.connect()
    port.advance(1.9)
    assert device.shoe.drawn == 3
    port.advance(0.2)
    assert device.shoe.drawn == 4


def test_the_dealer_draws_nothing_that_is_not_armed(reference_shoe: Shoes) -> None:
    device = reference_shoe()
    dealer = dealer_of(device)
    for t in range(10):
        dealer.tick(float(t))
    assert device.shoe.drawn == 0


def test_the_next_set_comes_when_the_shoe_stays_locked_after_its_last_round(
    reference_shoe: Shoes, table: Table
) -> None:
    device = reference_shoe()
    dealer = dealer_of(device, left=2)
    port = table.on(device, dealer)
    table.connect()
    first = len(table.rounds)
    port.advance(2.9)
    assert device.shoe.sets_loaded == 1
    port.advance(20.0)
    assert device.shoe.sets_loaded == 3
    assert dealer.at_end
    assert len(table.rounds) > 2 * first
    assert table.rounds == truth_of(device)
    set_ids = [e.set_id for e in table.events if isinstance(e, ShoeLoaded)]
    assert len(set(set_ids)) == 3


@pytest.mark.parametrize("drawn", [1, 2, 5, 30])
def test_unplugged_in_mid_round_nothing_is_lost_or_doubled(
    reference_shoe: Shoes, table: Table, drawn: int
) -> None:
    device = reference_shoe()
    port = table.on(device, dealer_of(device, pace_s=0.1))
    table.connect()
    port.advance(drawn * 0.1)
    port.unplug()
    port.advance(5.0)
    at_most = device.shoe.drawn
    assert at_most <= drawn + 1
    table.connect()
    port.advance(30.0)
    assert table.rounds == truth_of(device)
    assert device.shoe.cutting_card_out


def test_a_reboot_in_mid_round_loses_nothing(reference_shoe: Shoes, table: Table) -> None:
    device = reference_shoe()
    port = table.on(device, dealer_of(device, pace_s=0.1))
    table.connect()
    port.advance(0.35)
    device.power_off()
    port.advance(1.0)
    device.boot(port.t)
    table.connect()
    port.advance(30.0)
    assert table.rounds == truth_of(device)
    assert device.shoe.cutting_card_out


def test_cables_pulled_at_random_bytes_lose_and_double_nothing(
    reference_shoe: Shoes, text_host: Callable[[Resume | None], HostSession]
) -> None:
    device = reference_shoe(decks=2)
    table = Table(text_host)
    to_host = FaultyLine(3, Faults(unplug=0.05, split=0.3))
    to_shoe = FaultyLine(4, Faults(unplug=0.1))
    table.on(device, dealer_of(device), to_host=to_host, to_shoe=to_shoe)
    for _ in range(400):
        table.connect()
        if device.shoe.cutting_card_out and not device.truth.round_open:
            break
    table.connect()
    assert to_host.struck["unplug"] > 5
    assert to_shoe.struck["unplug"] > 3
    assert table.repeats > 0
    assert table.rounds == truth_of(device)
