"""A simulated shoe's body, told over the real wire: commands done once, odd things said.

In: commands and happenings. Out: what a real host's session gives. Must not know: the wire.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from firmware_proto.cards import DECKS
from firmware_proto.commands import Query, Reset, SetTime, ShoeCommand, Show, TestSelf
from firmware_proto.events import (
    Button,
    CardPushedBack,
    CardsDrawn,
    Error,
    ErrorCleared,
    Hello,
    Lid,
    PowerLow,
    PowerRestored,
    QueryAnswered,
    Reply,
    ResetDone,
    SelfTested,
    ShoeEmpty,
    ShoeEvent,
    Status,
    Tamper,
)
from firmware_proto.reference.device import ReferenceDevice as Wire
from firmware_proto.reference.host import ReferenceHost
from simulators.shoe.ground_truth import GroundTruth
from simulators.shoe.model import Refused, Shoe
from simulators.shoe.reference import ReferenceDevice


class Bench:
    """A shoe and a host that stores at once; ``turn`` lets bytes go both ways."""

    def __init__(self, wire: Callable[[], Wire], host: ReferenceHost, decks: int = 1) -> None:
        self.device = ReferenceDevice(Shoe("SIM-TEST"), GroundTruth(), session=wire)
        self.device.load(DECKS["french52"], decks, 1, 0.0)
        self.device.boot(0.0)
        self.device.host_opened()
        self.host = host
        self.t = 1.0
        self.heard: list[ShoeEvent] = []
        self.turn()
        self.heard.clear()

    def turn(self, seconds: float = 0.2) -> list[ShoeEvent]:
        """Everything but statuses that the host hears in this time."""
        before = len(self.heard)
        for _ in range(round(seconds / 0.05)):
            self.t += 0.05
            self.host.tick(self.t)
            self.device.receive(self.host.outgoing(), self.t)
            self.device.tick(self.t)
            for heard in self.host.receive(self.device.outgoing(), self.t):
                if heard.seq is not None:
                    self.host.stored(heard.seq)
                if not isinstance(heard.event, Status):
                    self.heard.append(heard.event)
        return self.heard[before:]

    def told(self, *commands: ShoeCommand) -> list[ShoeEvent]:
        for command in commands:
            self.host.command(command)
        return self.turn()


@pytest.fixture
def bench() -> Bench:
    return Bench(Wire, ReferenceHost(None))


def test_each_command_is_done_once_and_answered(bench: Bench) -> None:
    done = Reply(accepted=True, command_id=1)
    assert bench.told(Show(1, "NEW SHOE")) == [done]
    assert bench.device.hardware.display == "NEW SHOE"
    bench.device.hardware.display = "as left"
    assert bench.told(Show(1, "NEW SHOE")) == [done]
    assert bench.device.hardware.display == "as left"
    assert bench.turn(3.0) == []


def test_a_command_whose_answer_is_lost_is_sent_again_and_a_time_never(bench: Bench) -> None:
    bench.host.command(TestSelf(2))
    bench.host.command(SetTime(3, 5_000_000))
    bench.host.outgoing()  # lost
    said = bench.turn(1.0)
    assert said == [Reply(accepted=True, command_id=2), SelfTested(command_id=2)]


def test_a_reset_locks_clears_and_says_so_and_takes_no_card(bench: Bench) -> None:
    bench.device.shoe.arm(1)
    bench.device.happen(Error(code="jam", in_error_mode=True), bench.t)
    assert bench.told(Reset(4)) == [
        Error(code="jam", in_error_mode=True),
        Reply(accepted=True, command_id=4),
        ErrorCleared(code="jam"),
        ResetDone(command_id=4),
    ]
    assert bench.device.shoe.armed is None
    assert bench.device.shoe.remaining == 52


def test_queries_are_answered_or_said_to_be_unknown(bench: Bench) -> None:
    bench.device.draw(bench.t, force=True)
    bench.turn()
    answers = bench.told(
        Query(5, "clock"), Query(6, "battery"), Query(7, "lifetime_draws"), Query(8, "temperature")
    )
    assert answers == [
        QueryAnswered(command_id=5, what="clock", value=None),
        QueryAnswered(command_id=6, what="battery", value=100),
        QueryAnswered(command_id=7, what="lifetime_draws", value=1),
        QueryAnswered(command_id=8, what="temperature", value=None),
    ]
    bench.told(SetTime(9, 1_000_000_000))
    bench.turn(2.0)
    [clock] = bench.told(Query(10, "clock"))
    assert isinstance(clock, QueryAnswered)
    assert clock.value is not None and 1_001_500_000 < clock.value < 1_003_000_000


def test_what_happens_to_the_body_is_said_and_kept_until_it_is_heard(bench: Bench) -> None:
    happenings = [
        Lid(open=True),
        Tamper(what="seal"),
        Lid(open=False),
        Button(button=2),
        PowerLow(percent=5),
        PowerRestored(),
        Error(code="sensor"),
        ErrorCleared(code="sensor"),
    ]
    bench.device.host_closed()
    for event in happenings:
        bench.device.happen(event, bench.t)
    bench.device.host_opened()
    bench.turn(8.0)
    assert [e for e in bench.heard if e in happenings] == happenings


def test_a_shoe_in_error_mode_cannot_be_armed(bench: Bench) -> None:
    bench.device.happen(Error(code="jam", in_error_mode=True), bench.t)
    from firmware_proto.commands import Armed

    bench.host.set_desired_state(Armed(1, "player", 1))
    assert Reply(accepted=False, reason="busy", number=1) in bench.turn()
    bench.device.happen(ErrorCleared(code="jam"), bench.t)
    bench.turn(1.0)
    assert bench.device.shoe.armed == 1


@pytest.mark.parametrize("order_known", [True, False])
def test_cards_pulled_together_are_said_together(bench: Bench, order_known: bool) -> None:
    outs = bench.device.pull_together(bench.t, 3, order_known=order_known)
    assert bench.turn() == [
        CardsDrawn(
            cards=tuple(out.card for out in outs), number=1, order_known=order_known, armed=False
        )
    ]


def test_a_card_pushed_back_comes_again_under_a_new_number(bench: Bench) -> None:
    out = bench.device.draw(bench.t, force=True)
    bench.device.push_back(bench.t)
    again = bench.device.draw(bench.t, force=True)
    drawn, back, redrawn = bench.turn()
    card = bench.device.truth.cards[0][1]
    assert back == CardPushedBack(card=drawn.card, number=1)  # type: ignore[attr-defined]
    assert (out.card.code, again.card.code) == (card, card)  # type: ignore[union-attr]
    assert redrawn.number == 2  # type: ignore[attr-defined]


def counted(bench: Bench) -> int | None:
    """How many cards are drawn, as the shoe says to a host that comes anew."""
    bench.device.host_opened()
    bench.host = ReferenceHost(None)
    [hello] = [event for event in bench.turn() if isinstance(event, Hello)]
    return hello.drawn


def test_a_card_pushed_back_stays_counted_as_drawn(bench: Bench) -> None:
    for _ in range(3):
        bench.device.draw(bench.t, force=True)
    assert counted(bench) == 3
    bench.device.push_back(bench.t)
    assert counted(bench) == 3
    bench.device.draw(bench.t, force=True)
    assert counted(bench) == 4


def test_the_last_card_is_followed_by_word_that_the_shoe_is_empty(bench: Bench) -> None:
    for _ in range(53):
        bench.device.draw(bench.t, force=True)
    bench.turn(2.0)
    assert ShoeEmpty(drawn=52) in bench.heard
    with pytest.raises(Refused):
        bench.device.pull_together(bench.t, order_known=True)
