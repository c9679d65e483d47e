"""A shoe that judges, in process: its burn, its rounds, its resets, and what it forgets.

In: power, draws, commands. Out: what it said. Must not know: the real profile's bytes.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from firmware_proto.cards import DECKS
from firmware_proto.events import (
    CardDrawn,
    CardOutsideGame,
    CuttingCard,
    Error,
    ErrorCleared,
    Lock,
    Reply,
    Result,
    ShoeEvent,
    Standby,
    Started,
)
from simulators.shoe.angel_eye import AngelEyeDevice
from simulators.shoe.judge import points
from simulators.shoe.model import Refused
from simulators.table.dealer import SETTLE_S, JudgeDealer, Supply

Shoes = Callable[..., AngelEyeDevice]
Said = Callable[[bytes], list[ShoeEvent]]


def due(dealer: JudgeDealer) -> float | None:
    return dealer.next_deadline


def dealt(device: AngelEyeDevice, *, seconds: float, sets_left: int = 0) -> JudgeDealer:
    """Deals at a card every 10 ms for that long, by hand of a dealer on a clock of the test's."""
    supply = Supply(DECKS["french52"], 1, 100, sets_left)
    dealer = JudgeDealer(device, supply, pace_s=0.01)
    end, t = seconds, 0.0
    dealer.tick(t)
    while dealer.next_deadline is not None and dealer.next_deadline <= end:
        t = max(t, dealer.next_deadline)
        dealer.tick(t)
    return dealer


def test_a_new_set_is_burned_by_its_first_card(angel_eye_shoe: Shoes, said: Said) -> None:
    for seed in range(20):
        device = angel_eye_shoe(seed=seed)
        device.host_opened()
        device.boot(0.0)
        while not device.between_rounds:
            device.draw(0.0)
        started, first, *burned, standby = said(device.outgoing())
        assert isinstance(started, Started)
        assert isinstance(first, CardDrawn)
        assert first.card is not None
        assert (first.hand, first.index) == ("first_card", 1)
        assert len(burned) == (points(first.card) or 10)
        assert all(isinstance(e, CardDrawn) and e.hand == "burn" for e in burned)
        assert isinstance(standby, Standby)


def test_cards_are_named_by_hand_and_a_result_ends_the_round(
    angel_eye_shoe: Shoes, said: Said
) -> None:
    device = angel_eye_shoe(decks=8)
    device.host_opened()
    dealt(device, seconds=60.0)
    rounds: list[list[ShoeEvent]] = [[]]
    for event in said(device.outgoing()):
        if isinstance(event, Standby):
            rounds.append([])
        else:
            rounds[-1].append(event)
    heard = []
    for events in rounds[1:-1]:
        *cards, result = (e for e in events if not isinstance(e, CuttingCard))
        assert isinstance(result, Result)
        drawn = [c for c in cards if isinstance(c, CardDrawn)]
        assert len(drawn) == len(cards)
        assert [(c.hand, c.index) for c in drawn[:4]] == [
            ("player", 1),
            ("banker", 1),
            ("player", 2),
            ("banker", 2),
        ]
        codes = " ".join(c.card.code for c in drawn if c.card is not None)
        heard.append((codes, result.winner, result.player_pair, result.banker_pair))
    assert len(heard) > 60
    assert heard == [
        (r["cards"], r["winner"], r["player_pair"], r["banker_pair"]) for r in device.truth.rounds
    ]


def test_the_cutting_card_s_round_is_the_last(angel_eye_shoe: Shoes, said: Said) -> None:
    device = angel_eye_shoe()
    device.host_opened()
    dealer = dealt(device, seconds=60.0)
    events = said(device.outgoing())
    at = next(i for i, e in enumerate(events) if isinstance(e, CuttingCard))
    assert sum(isinstance(e, Result) for e in events[at:]) == 1
    assert dealer.at_end
    assert isinstance(events[-1], Standby)


def test_another_set_starts_the_shoe_again(angel_eye_shoe: Shoes, said: Said) -> None:
    device = angel_eye_shoe()
    device.host_opened()
    dealer = dealt(device, seconds=60.0, sets_left=1)
    kinds = [type(e) for e in said(device.outgoing())]
    assert kinds.count(Started) == 2
    second = kinds.index(Started, 1)
    assert kinds[second - 2 : second] == [Result, Standby]
    assert dealer.at_end


def test_what_nobody_hears_is_lost(angel_eye_shoe: Shoes, said: Said) -> None:
    device = angel_eye_shoe()
    device.boot(0.0)
    while not device.between_rounds:
        device.draw(0.0)
    device.host_opened()
    assert device.outgoing() == b""
    device.draw(1.0)
    (card,) = said(device.outgoing())
    assert isinstance(card, CardDrawn)
    assert card.hand == "player"


def test_a_reset_forgets_the_round_and_the_next_card_is_the_player_s_first(
    angel_eye_shoe: Shoes, said: Said
) -> None:
    device = angel_eye_shoe()
    device.host_opened()
    device.boot(0.0)
    while not device.between_rounds:
        device.draw(0.0)
    device.draw(0.0)
    device.draw(0.0)
    device.outgoing()
    device.boot(1.0)
    device.draw(1.1)
    started, standby, card = said(device.outgoing())
    assert isinstance(started, Started)
    assert isinstance(standby, Standby)
    assert isinstance(card, CardDrawn)
    assert (card.hand, card.index) == ("player", 1)
    assert "broken_off" in device.truth.lines[-2]


def test_no_round_is_opened_while_no_host_listens_but_an_open_one_is_finished(
    angel_eye_shoe: Shoes,
) -> None:
    device = angel_eye_shoe()
    dealer = JudgeDealer(device, Supply(DECKS["french52"], 1, 9, 0), pace_s=1.0)
    dealer.tick(0.0)
    assert device.shoe.boot_id == 0
    assert due(dealer) is None
    device.host_opened()
    t = 1.0
    dealer.tick(t)
    assert due(dealer) == t + SETTLE_S
    while not device.truth.round_open:
        t += 1.0
        dealer.tick(t)
    device.host_closed()
    for _ in range(30):
        t += 1.0
        dealer.tick(t)
    assert len(device.truth.rounds) == 1
    assert due(dealer) is None
    device.host_opened()
    dealer.tick(t)
    assert due(dealer) == t + 1.0


def test_a_locked_shoe_names_its_cards_outside_the_game(angel_eye_shoe: Shoes, said: Said) -> None:
    device = angel_eye_shoe()
    device.host_opened()
    device.boot(0.0)
    device.receive(b"command OP LK 02\n", 0.1)
    device.draw(0.2)
    _, reply, lock, card = said(device.outgoing())
    assert reply == Reply(accepted=True)
    assert lock == Lock(locked=True)
    assert isinstance(card, CardOutsideGame)
    assert card.mode == "lock"
    assert device.truth.lines[-1]["place"] == "set_aside"
    device.receive(b"command OP LK 01\n", 0.3)
    assert said(device.outgoing())[1] == Lock(locked=False)


@pytest.mark.parametrize(
    "command",
    [b"command OP LK 09\n", b"command OP EC 00\n", b"command OP EC 01\n", b"command OP XX 00\n"],
)
def test_a_command_that_cannot_be_done_is_refused(
    angel_eye_shoe: Shoes, said: Said, command: bytes
) -> None:
    device = angel_eye_shoe()
    device.host_opened()
    device.boot(0.0)
    device.outgoing()
    device.receive(command, 0.1)
    (reply,) = said(device.outgoing())
    assert isinstance(reply, Reply)
    assert not reply.accepted


def test_an_unread_card_puts_the_shoe_into_error_mode_until_it_is_reset(
    angel_eye_shoe: Shoes, said: Said
) -> None:
    device = angel_eye_shoe(unreadable=frozenset({1}))
    device.host_opened()
    device.boot(0.0)
    device.draw(0.1)
    device.draw(0.2)
    _, error, outside = said(device.outgoing())
    assert isinstance(error, Error)
    assert error.in_error_mode
    assert isinstance(outside, CardOutsideGame)
    assert outside.mode == "error"
    device.boot(0.3)
    assert device.lamp is not None


def test_an_error_is_cleared_by_command_and_the_card_stays_unread(
    angel_eye_shoe: Shoes, said: Said
) -> None:
    device = angel_eye_shoe(unreadable=frozenset({1}))
    device.host_opened()
    device.boot(0.0)
    device.draw(0.1)
    device.outgoing()
    device.receive(b"command OP EC 00\n", 0.2)
    reply, cleared = said(device.outgoing())
    assert reply == Reply(accepted=True)
    assert cleared == ErrorCleared(code="cannot_read")
    assert device.lamp is not None
    with pytest.raises(Refused, match="could not be read"):
        device.read_again(0.3)


def test_elements_cannot_be_named(angel_eye_shoe: Shoes) -> None:
    with pytest.raises(ValueError, match="french52 only"):
        angel_eye_shoe().load(DECKS["element65"], 8, 1, 0.0)
