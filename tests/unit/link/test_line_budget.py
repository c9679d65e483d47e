"""A line that brings garbage: left to gather, kept up to a budget, suspended, and opened again.

In: garbage of every kind, at any rate, on a clock by hand. Out: what is handed on, when it is read,
what the owner is told.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from firmware_proto.angel_eye.frames import encode_event
from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, Discarded, Lid, Started, Status
from firmware_proto.profiles import profile
from shoe_ctl.link.connection import PORTION, Connection, Reception
from shoe_ctl.link.line_budget import (
    FORGIVEN_A_SECOND,
    KEPT_A_MINUTE,
    NOISY,
    SHORTEST_S,
    LineBudget,
    Suspensions,
)
from shoe_ctl.link.reconnect import LinkState, Supervisor, Suspension
from shoe_ctl.link.transport import READ_SIZE, Loss, Transport, TransportLost, failed
from shoe_testing.examples import sampled
from shoe_testing.reference_protocol import host_frame, shoe_hello
from shoe_testing.transports import HandClock

LINE_RATE = 12_000
CARD = CardDrawn(card=card("8S"), hand="player", index=1)

GARBAGE: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "acknowledgements": ("angel_eye", lambda size: b"\x06" * size),
    "starts of frames": ("angel_eye", lambda size: b"\x05" * size),
    "zeros to an angel_eye": ("angel_eye", bytes),
    "random to an angel_eye": ("angel_eye", random.Random(1).randbytes),
    "a line without an end": ("bee_tek", lambda size: b"A" * size),
    "random to a bee_tek": ("bee_tek", random.Random(2).randbytes),
    "zeros to a reference": ("reference", bytes),
    "random to a reference": ("reference", random.Random(3).randbytes),
    "no delimiter": ("reference", lambda size: b"A" * size),
}


class NoisyTransport:
    """A line that brings ``first``, then ``rate`` bytes of garbage a second while it is noisy."""

    def __init__(
        self, clock: HandClock, garbage: Callable[[int], bytes], rate: float, first: bytes = b""
    ) -> None:
        self.lost: Loss | None = None
        self.dropped = 0
        self.closed = False
        self.given = 0
        self.rate = rate
        self._clock = clock
        self._garbage = garbage
        self._waiting = first
        self._since = clock.now

    def read(self) -> bytes:
        if self.lost is not None:
            raise TransportLost(self.lost)
        came = min(int((self._clock.now - self._since) * self.rate), 1 << 20)
        if came:
            self._waiting += self._garbage(came)
            self._since = self._clock.now
        data, self._waiting = self._waiting[:READ_SIZE], self._waiting[READ_SIZE:]
        self.given += len(data)
        return data

    def when_readable(self, wake: Callable[[], None] | None) -> None:
        if wake is not None and (self._waiting or self.rate or self.lost is not None):
            self._clock.call_later(0.0 if self._waiting else 0.001, wake)

    def write(self, data: bytes) -> None:
        pass

    def close(self) -> None:
        self.closed = True


async def passing(
    clock: HandClock, running: asyncio.Task[Any], until_so: Callable[[], bool]
) -> None:
    """Lets the clock go on to whatever is waited for next, until it is so."""
    async with asyncio.timeout(30):
        while not (until_so() or running.done()):
            if clock.waiting:
                await clock.pass_next()
            await asyncio.sleep(0)


def connection(
    name: str, line: NoisyTransport, clock: HandClock, taken: list[Reception]
) -> Connection:
    async def take(reception: Reception) -> None:
        taken.append(reception)

    return Connection(
        name="bac-07",
        number=1,
        transport=line,
        session=profile(name).host_session(resume=None, settings={}),
        clock=clock,
        on_reception=take,
    )


def test_a_full_budget_stays_full_while_frames_alone_come_and_is_full_again_after_garbage() -> None:
    budget = LineBudget()
    frames, garbage, repeated = (16, 0, 0), (0, 1, 0), (0, 0, 8)  # useful, pieces, repeated
    is_full = [budget.is_full]
    for hour, portion in enumerate((frames, garbage, frames, repeated, frames)):
        useful, pieces, again = portion
        assert budget.spend(8, useful, pieces, 0.0, 3600.0 * hour, repeated=again) == 0.0
        is_full.append(budget.is_full)
    assert is_full == [True, True, False, True, False, True]


@pytest.mark.parametrize(
    "charged",
    [
        {"received": 500, "useful": 0, "pieces": 1, "cost_s": 0.0},
        {"received": 500, "useful": 0, "pieces": 0, "cost_s": 0.0, "repeated": 500},
        {"received": 8, "useful": 0, "pieces": 0, "cost_s": 1.0},
    ],
    ids=["noise", "repeats", "processor time"],
)
def test_a_budget_is_not_full_before_all_is_forgiven(charged: dict[str, Any]) -> None:
    budget = LineBudget()
    budget.spend(now=0.0, **charged)
    budget.spend(received=8, useful=8, pieces=0, cost_s=0.0, now=5.0)
    assert not budget.is_full


@pytest.mark.parametrize("rest", [b"\x06", encode_event(CARD, "1"), b"\x05"])
async def test_whatever_is_no_fresh_frame_is_charged_beside_frames(rest: bytes) -> None:
    clock = HandClock()
    one = connection("angel_eye", NoisyTransport(clock, bytes, 0.0), clock, [])
    is_full = []
    for portion in (encode_event(CARD, "1"), encode_event(CARD, "2") + rest):
        await one._take(portion)
        is_full.append(one._budget.is_full)
    assert is_full == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "kind"),
    sampled(
        (pytest.param(rate, kind) for rate in (LINE_RATE, 100 * LINE_RATE) for kind in GARBAGE),
        one_in=5,
        cpu_s=0.6,
    ),
)
async def test_garbage_is_handed_on_in_large_portions_until_the_budget_is_spent(
    rate: float, kind: str
) -> None:
    name, garbage = GARBAGE[kind]
    clock, taken = HandClock(), list[Reception]()
    line = NoisyTransport(clock, garbage, rate)
    served = connection(name, line, clock, taken)
    running = asyncio.create_task(served.run())
    began = clock.now
    await passing(clock, running, lambda: clock.now > began + 120)
    assert (await running).reason == "garbage"
    assert served.over_budget
    minutes = (clock.now - began) / 60
    assert KEPT_A_MINUTE <= line.given <= KEPT_A_MINUTE * (1 + minutes) + READ_SIZE
    assert b"".join(r.chunk for r in taken) != b""
    assert sum(len(r.chunk) for r in taken) == line.given
    later = [r for r in taken if r.chunk and r.offset > 10 * PORTION]
    assert sum(len(r.chunk) for r in later) / len(later) > 1500
    assert not line.closed


async def test_what_came_before_the_garbage_is_handed_on_whole() -> None:
    frames = b"".join(encode_event(CARD, seq) for seq in "123456789")
    clock, taken = HandClock(), list[Reception]()
    line = NoisyTransport(clock, GARBAGE["acknowledgements"][1], LINE_RATE, first=frames)
    served = connection("angel_eye", line, clock, taken)
    running = asyncio.create_task(served.run())
    await passing(clock, running, lambda: False)
    await running
    assert [h.event for r in taken for h in r.heard if not isinstance(h.event, Discarded)] == [
        CARD
    ] * 9


async def test_a_shoe_that_replays_its_memory_is_read_in_seconds_and_is_never_suspended() -> None:
    frames = b"".join(encode_event(CARD, seq) for seq in "0123456789" * 400)
    clock, taken = HandClock(), list[Reception]()
    line = NoisyTransport(clock, bytes, 0, first=frames)
    served = connection("angel_eye", line, clock, taken)
    running = asyncio.create_task(served.run())
    began = clock.now
    await passing(clock, running, lambda: line.given == len(frames))
    await passing(clock, running, lambda: sum(len(r.heard) for r in taken) == 4000)
    assert 1.0 < clock.now - began < 10.0
    assert not running.done()
    assert max(len(r.chunk) for r in taken) == PORTION
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


def test_a_stray_byte_now_and_then_makes_no_line_noisy() -> None:
    allowance = LineBudget()
    for second in range(0, 3600, 2):
        assert allowance.spend(1, 0, 1, 0.0, float(second)) == 0.0
    assert not (allowance.is_noisy or allowance.is_spent)


def test_single_bytes_without_end_are_left_to_gather_for_seconds() -> None:
    allowance, now, portions = LineBudget(), 0.0, 0
    while now < 60:
        now += max(0.1, allowance.spend(1, 0, 1, 0.0, now))
        portions += 1
    assert portions < 60 * (1 + FORGIVEN_A_SECOND / 100) + NOISY / 100 + 10


def test_a_frame_that_comes_in_pieces_costs_nothing() -> None:
    allowance = LineBudget()
    for second in range(3600):
        for _ in range(9):
            assert allowance.spend(1, 0, 0, 0.0, float(second)) == 0.0
        assert allowance.spend(1, 10, 0, 0.0, float(second)) == 0.0
    assert not allowance.is_spent


def test_a_shoe_that_repeats_what_was_read_late_is_soon_read_at_once_again() -> None:
    allowance, now, pause_s = LineBudget(), 0.0, 20.0
    for _ in range(200):  # a frame of 45 bytes, every quarter of a second until it is read
        again = 45 * int(pause_s / 0.25)
        now += pause_s + 0.25
        pause_s = allowance.spend(45 + again, 45, 0, 0.001, now, repeated=again)
        assert pause_s <= SHORTEST_S
    assert pause_s == 0


def test_frames_that_are_repeated_without_end_are_gathered_and_go_over_the_budget() -> None:
    allowance, now, portions = LineBudget(), 0.0, 0
    while not allowance.is_spent:
        pause_s = allowance.spend(45, 0, 0, 0.0001, now, repeated=45)
        if allowance.is_noisy:
            assert pause_s == SHORTEST_S
            allowance.spend(1200 - 45, 0, 0, 0.0001, now, repeated=1200 - 45)
        now, portions = now + max(pause_s, 45 / LINE_RATE), portions + 1
    assert now < 15
    assert portions < 200


def test_the_next_connection_of_a_noisy_line_is_read_at_once() -> None:
    allowance = LineBudget()
    assert [allowance.spend(120, 0, 1, 0.0001, 0.0) for _ in range(20)][-1] > SHORTEST_S
    allowance.begin_connection()
    assert allowance.spend(164, 164, 0, 0.001, 0.0) == 0
    assert allowance.spend(1, 0, 1, 0.001, 0.0) > 0  # it was noisy a moment ago


def test_what_takes_long_to_decode_is_read_the_more_seldom() -> None:
    allowance = LineBudget()
    allowance.spend(4096, 0, 1, 0.0, 0.0)
    assert allowance.spend(4096, 0, 1, 0.5, 0.1) == pytest.approx(4.5)


def test_a_line_that_takes_more_than_its_share_of_the_time_is_over_its_budget() -> None:
    allowance = LineBudget()
    for second in range(60):
        allowance.spend(1, 0, 1, 0.1, float(second))
    assert not allowance.is_spent
    for second in range(60, 240):
        allowance.spend(1, 0, 1, 0.2, float(second))
    assert allowance.is_spent


def test_a_line_is_suspended_for_longer_each_time_and_at_first_again_after_a_quiet_minute() -> None:
    suspensions, now, waits = Suspensions(), 0.0, []
    for _ in range(6):
        waits.append(suspensions.next(now))
        now += waits[-1] + 1
    assert waits == [5, 10, 20, 40, 60, 60]
    assert suspensions.next(now + 61) == 5


class Owner:
    """A supervisor on a clock by hand, with a line to each connection, and what it was told."""

    def __init__(self, open_line: Callable[[HandClock], NoisyTransport]) -> None:
        self.clock = HandClock()
        self.lines: list[NoisyTransport] = []
        self.told: list[Any] = []
        self._open_line = open_line
        self.link = Supervisor(
            name="bac-07",
            profile=profile("angel_eye"),
            settings={},
            opener=self._open,
            clock=self.clock,
            resume=lambda: None,
            on_up=self._note_up,
            on_lost=self._note,
            on_reception=self._take,
            first_connection=1,
            on_suspended=self._note,
            on_resumed=self._note,
        )

    async def _open(self) -> Transport:
        self.lines.append(self._open_line(self.clock))
        return self.lines[-1]

    async def _note_up(self, up: Connection) -> None:
        self.told.append(f"up {up.number}")

    async def _note(self, what: object) -> None:
        self.told.append(what)

    async def _take(self, reception: Reception) -> None:
        pass


async def test_a_suspended_line_counts_what_it_does_not_keep_and_comes_back_when_it_is_quiet(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    owner = Owner(lambda clock: NoisyTransport(clock, GARBAGE["acknowledgements"][1], LINE_RATE))
    running = asyncio.create_task(owner.link.run())
    await passing(owner.clock, running, lambda: owner.link.state is LinkState.SUSPENDED)
    [line] = owner.lines
    kept, began = line.given, owner.clock.now
    await passing(owner.clock, running, lambda: len(owner.told) == 4)
    up, first, second, third = owner.told
    assert up == "up 1"
    assert isinstance(first, Suspension)
    assert (first.connection, first.wait_s, first.unkept, first.again) == (1, 5, 0, False)
    assert (second.wait_s, third.wait_s, second.again) == (10, 20, True)
    assert second.unkept == pytest.approx(5 * LINE_RATE, rel=0.02)
    assert owner.clock.now - began == pytest.approx(15)
    line.rate = 0
    await passing(owner.clock, running, lambda: len(owner.told) == 6)
    assert owner.told[4:] == [line.given - kept, "up 2"]
    assert line.closed
    assert len(owner.lines) == 2
    said = [r.getMessage() for r in caplog.records if "suspended" in r.getMessage()]
    assert len(said) == 3 and "Check cable, ground, baud rate" in said[0]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_line_that_is_hung_up_while_it_is_suspended_is_opened_when_its_time_comes() -> None:
    owner = Owner(lambda clock: NoisyTransport(clock, GARBAGE["acknowledgements"][1], LINE_RATE))
    running = asyncio.create_task(owner.link.run())
    await passing(owner.clock, running, lambda: owner.link.state is LinkState.SUSPENDED)
    owner.lines[0].lost, began = failed("line", "hung up"), owner.clock.now
    await passing(owner.clock, running, lambda: "up 2" in owner.told)
    assert owner.clock.now - began == pytest.approx(5, abs=0.3)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_shoe_that_speaks_and_is_gone_at_once_is_backed_off_from() -> None:
    class Dying(NoisyTransport):
        def read(self) -> bytes:
            if self.given and not self._waiting:
                self.lost = failed("line", "hung up")
            return super().read()

    start = encode_event(Started(), "1")
    owner = Owner(lambda clock: Dying(clock, bytes, 1e-9, first=start))
    running = asyncio.create_task(owner.link.run())
    began = owner.clock.now
    await passing(owner.clock, running, lambda: owner.clock.now > began + 30)
    assert 8 <= [str(one) for one in owner.told].count("line: hung up") <= len(owner.lines) <= 15
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


STATE = host_frame(Status(drawn=0, unacknowledged=0), 2)


def flooded(clock: HandClock, taken: list[Reception]) -> Connection:
    """A reference shoe that says hello, and then one state without end, as fast as it is read."""
    line = NoisyTransport(
        clock, lambda size: STATE * (size // len(STATE)), 1e5, first=shoe_hello(2)
    )
    return connection("reference", line, clock, taken)


async def test_a_state_without_end_is_read_slowly_and_its_line_is_never_suspended() -> None:
    clock, taken = HandClock(), list[Reception]()
    served = flooded(clock, taken)
    running = asyncio.create_task(served.run())
    began = clock.now
    while clock.now < began + 60:
        clock.advance(0.005)
        for _ in range(4):
            await asyncio.sleep(0)
    assert not running.done()
    octets = sum(len(one.chunk) for one in taken)
    assert 64 * 1024 < octets <= 2 * 64 * 1024
    first = [one for one in taken if one.t_us < (began + 1) * 1_000_000]
    assert sum(len(one.heard) for one in first) < 1000
    late = [one for one in taken if one.t_us > (began + 30) * 1_000_000]
    assert len(late) < 30 * 2
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


class NumberedEvents(NoisyTransport):
    """A reference shoe that says hello, and then opens and closes its lid without end."""

    def __init__(self, clock: HandClock) -> None:
        super().__init__(clock, bytes, 1.0, first=shoe_hello(1, oldest=1))
        self._seq = 1

    def read(self) -> bytes:
        while len(self._waiting) < READ_SIZE:
            self._waiting += host_frame(Lid(open=self._seq % 2 == 0), self._seq)
            self._seq += 1
        data, self._waiting = self._waiting[:READ_SIZE], self._waiting[READ_SIZE:]
        return data


async def test_events_that_are_no_card_are_read_slowly_in_the_long_run_and_none_is_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, taken = HandClock(), list[Reception]()
    line = NumberedEvents(clock)
    served = connection("reference", line, clock, taken)
    running = asyncio.create_task(served.run())
    counts = []
    for _ in range(4):
        until = clock.now + 300
        while clock.now < until:
            clock.advance(0.02)
            for _ in range(4):
                await asyncio.sleep(0)
        counts.append(sum(len(each.heard) for each in taken))
    assert not running.done()
    lids = [one.event for each in taken for one in each.heard if isinstance(one.event, Lid)]
    assert [lid.open for lid in lids[:6]] == [lid.open for lid in lids[2:8]]
    assert all(one.open != other.open for one, other in pairwise(lids))
    assert counts[0] >= 8192  # what a shoe kept while its host was away
    later = [after - before for before, after in pairwise(counts)]
    assert all(0 < each <= 5 * 2 * 60 for each in later), later
    assert [record.message for record in caplog.records if "slowed" in record.message] != []
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


def test_a_table_that_deals_fast_is_never_slowed_by_its_other_events() -> None:
    budget = LineBudget()
    for card_number in range(100_000):  # one each 30 ms, with four events that are no card
        assert budget.read_notices(4, 1, card_number * 0.03) == 0.0
    assert not budget.is_slowed


def test_a_line_that_was_slowed_is_read_at_full_speed_once_it_has_rested() -> None:
    budget = LineBudget()
    assert budget.read_notices(8192, 0, 0.0) == 0.0
    assert budget.read_notices(4, 0, 0.0) == 4.0
    assert budget.is_slowed
    assert budget.read_notices(1, 0, 10.0) == 0.0
    assert not budget.is_slowed


def test_the_states_of_a_table_that_deals_fast_cost_its_line_nothing() -> None:
    budget = LineBudget()
    for card_number in range(10_000):  # one each 30 ms, with three states of 34 bytes
        assert budget.read_frames(3 * 34, 1, card_number * 0.03) == 0.0
    assert not budget.is_throttled


def test_states_that_stop_leave_the_line_as_it_was_after_a_minute() -> None:
    budget = LineBudget()
    waits_s = [budget.read_frames(1536, 0, number * 0.01) for number in range(60)]
    assert waits_s[0] == 0.0 and waits_s[-1] > 1.0
    assert budget.is_throttled
    assert budget.read_frames(34, 0, 60.0) == 0.0
    assert not budget.is_throttled


def test_a_line_that_waits_for_other_tables_to_be_stored_is_not_busy_by_that() -> None:
    budget = LineBudget()
    assert [budget.share(2.0, 8, 8, now) for now in (2.0, 40.0, 80.0)] == [
        pytest.approx(2 * (0.002 + 8 * 0.0004))
    ] * 3


def test_more_events_than_any_memory_holds_are_read_like_any_flood() -> None:
    budget, now, pauses_s = LineBudget(), 0.0, []
    for _ in range(2000):
        pauses_s.append(budget.share(0.003, 8, 8, now))
        now += 0.003 + pauses_s[-1]
    cost_s = 0.002 + 8 * 0.0004
    assert pauses_s[0] == pytest.approx(2 * cost_s)
    assert pauses_s[-1] == pytest.approx(9 * cost_s)
