"""A line with noise and frames on it: each byte is kept or counted, and each kept frame comes once.

In: frames and noise in any portions at any times, on a clock by hand. Out: what the owner of the
link stores, and what it is told was not kept.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from firmware_proto.angel_eye.frames import encode_event
from firmware_proto.cards import FRENCH52, card
from firmware_proto.events import CardDrawn, Discarded, Hello, Repeated
from firmware_proto.profiles import profile
from firmware_proto.reference.codec import Message, encode
from shoe_ctl.link.connection import Reception
from shoe_ctl.link.reconnect import Supervisor, Suspension
from shoe_ctl.link.transport import READ_SIZE, Loss, Transport, TransportLost
from shoe_testing.examples import examples
from shoe_testing.transports import HandClock

BURST = 40_000
"""Bytes that come at once, at most: four of them are over any budget."""


class Wire:
    """Bytes come at their times and wait; every connection reads the same wire."""

    def __init__(self, clock: HandClock, comes: list[tuple[float, bytes]]) -> None:
        self.clock = clock
        self.fed = sum(len(data) for _, data in comes)
        self._comes = [(clock.now + at, data) for at, data in comes]
        self._waiting = bytearray()
        self.wake: Callable[[], None] | None = None
        for at, _ in self._comes:
            clock.call_later(at - clock.now, self._arrive)

    def _arrive(self) -> None:
        while self._comes and self._comes[0][0] <= self.clock.now:
            self._waiting += self._comes.pop(0)[1]
        if self.wake is not None:
            self.wake()

    @property
    def waiting(self) -> int:
        return len(self._waiting) + sum(len(data) for _, data in self._comes)

    def take(self) -> bytes:
        self._arrive()
        data = bytes(self._waiting[:READ_SIZE])
        del self._waiting[:READ_SIZE]
        return data

    def has_any(self) -> bool:
        return bool(self._waiting)


class WireTransport:
    """One connection to the wire."""

    def __init__(self, wire: Wire) -> None:
        self.lost: Loss | None = None
        self.dropped = 0
        self._wire = wire

    def read(self) -> bytes:
        if self.lost is not None:
            raise TransportLost(self.lost)
        return self._wire.take()

    def when_readable(self, wake: Callable[[], None] | None) -> None:
        self._wire.wake = wake
        if wake is not None and (self._wire.has_any() or self.lost is not None):
            self._wire.clock.call_later(0.0, wake)

    def write(self, data: bytes) -> None:
        pass

    def close(self) -> None:
        self._wire.wake = None


class Link:
    """A supervisor on a wire, what its owner stored, and what was not kept."""

    def __init__(self, name: str, comes: list[tuple[float, bytes]]) -> None:
        self.clock = HandClock()
        self.wire = Wire(self.clock, comes)
        self.stored: list[Reception] = []
        self.unkept_before = 0
        self.takes_s = 0.0
        self.supervisor = Supervisor(
            name="bac-07",
            profile=profile(name),
            settings={},
            opener=self._open,
            clock=self.clock,
            resume=lambda: None,
            on_up=self._note,
            on_lost=self._note,
            on_reception=self._store,
            first_connection=1,
            on_suspended=self._note_suspended,
            on_resumed=self._note_resumed,
        )
        self.reported: Suspension | None = None

    async def plays(self, seconds: float) -> None:
        """Runs the link for so long, then cancels it."""
        running = asyncio.create_task(self.supervisor.run())
        end = self.clock.now + seconds
        self.clock.call_later(seconds, lambda: None)
        while self.clock.now < end:
            for _ in range(8):
                await asyncio.sleep(0)
            await self.clock.pass_next()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    @property
    def kept(self) -> int:
        return sum(len(r.chunk) for r in self.stored)

    @property
    def counted(self) -> int:
        """What was told was not kept, with what is to be told when the daemon stops."""
        last = self.supervisor.unreported or self.reported
        return self.unkept_before + (0 if last is None else last.unkept)

    def heard(self) -> list[Any]:
        events = [h.event for r in self.stored for h in r.heard]
        return [e for e in events if not isinstance(e, Discarded | Repeated)]

    async def _open(self) -> Transport:
        return WireTransport(self.wire)

    async def _store(self, reception: Reception) -> None:
        self.stored.append(reception)
        self.clock.advance(self.takes_s)

    async def _note(self, _: object) -> None:
        pass

    async def _note_suspended(self, found: Suspension) -> None:
        self.reported = found

    async def _note_resumed(self, unkept: int) -> None:
        self.unkept_before += unkept
        self.reported = None


NOISE: dict[str, Callable[[int], bytes]] = {
    "one byte": lambda size: b"\x06" * size,
    "starts": lambda size: b"\x05" * (size // 4),
    "delimiters": bytes,
    "random": random.Random(5).randbytes,
    "letters": lambda size: b"A" * size,
}

noise = st.builds(
    lambda kind, size: NOISE[kind](size), st.sampled_from(sorted(NOISE)), st.integers(1, BURST)
)
gaps_s = st.sampled_from([0.0, 0.001, 0.05, 0.3, 2.0, 7.0, 40.0])


@given(
    name=st.sampled_from(["angel_eye", "bee_tek", "reference"]),
    pieces=st.lists(st.tuples(gaps_s, noise), min_size=1, max_size=12),
    stops=st.sampled_from([3.0, 90.0, 200.0]),
)
@example(name="reference", pieces=[(0.3, NOISE["random"](BURST - 1))] * 8, stops=90.0)
@example(name="bee_tek", pieces=[(2.0, NOISE["letters"](BURST - 7))] * 8, stops=14.0)
@examples(30, deadline=None)
def test_each_byte_is_kept_or_counted_whatever_comes_and_whenever_the_daemon_stops(
    name: str, pieces: list[tuple[float, bytes]], stops: float
) -> None:
    at, comes = 0.0, []
    for gap_s, data in pieces:
        at += gap_s
        comes.append((at, data))

    async def play() -> Link:
        link = Link(name, comes)
        await link.plays(stops)
        return link

    link = asyncio.run(play())
    assert link.kept + link.counted + link.wire.waiting == link.wire.fed
    offsets: dict[int, int] = {}
    for reception in link.stored:
        assert reception.offset == offsets.get(reception.connection, 0)
        offsets[reception.connection] = reception.offset + len(reception.chunk)


CARDS = FRENCH52.cards
CARD = CardDrawn(card=card("8S"), hand="player", index=1)


def frames_of(name: str) -> list[bytes]:
    """Cards as a shoe of this profile sends them, so that noise before them costs only itself."""
    match name:
        case "angel_eye":
            drawn = [CardDrawn(card=one, hand="player", index=1) for one in CARDS]
            return [encode_event(e, str(n % 10)) for n, e in enumerate(drawn)]
        case "bee_tek":
            return [f"\r\n [Game]<Card:{one.code}> \r\n".encode() for one in CARDS]
    hello = Hello(device_id="SH-1", firmware="1", boot_id=1, deck="french52", drawn=0, oldest_seq=1)
    numbered = [CardDrawn(card=one, number=n, confidence=9) for n, one in enumerate(CARDS, 1)]
    return [encode(Message(content=hello, seq=1, boot_id=1, t_us=0))] + [
        encode(Message(content=e, seq=n, boot_id=1, t_us=n)) for n, e in enumerate(numbered, 1)
    ]


@pytest.mark.parametrize("name", ["angel_eye", "bee_tek", "reference"])
async def test_frames_in_the_middle_of_noise_come_once_and_in_order(name: str) -> None:
    drawn = random.Random(11)
    comes = []
    for number, frame in enumerate(frames_of(name)):
        noise_around = drawn.randbytes(500).translate(None, b"\x05\x02\x00\r\n")
        cut = drawn.randrange(len(frame))
        comes += [(number + 0.1, noise_around + frame[:cut]), (number + 0.1001, frame[cut:])]
    link = Link(name, comes)
    await link.plays(80)
    assert link.kept == link.wire.fed
    cards = [each.card for each in link.heard() if isinstance(each, CardDrawn)]
    assert cards == list(CARDS)


async def test_a_line_of_frames_leaves_two_thirds_of_the_time_to_other_tables() -> None:
    frames = b"".join(encode_event(CARD, str(n % 10)) for n in range(1000))
    link = Link("angel_eye", [(0.0, frames)])
    link.takes_s = 0.004
    await link.plays(2.0)
    assert link.kept == len(frames)
    assert len(link.heard()) == 1000
    sizes = [len(r.chunk) for r in link.stored]
    assert max(sizes) <= 256
    times_s = [r.t_us / 1e6 for r in link.stored]
    between = [later - earlier for earlier, later in pairwise(times_s)]
    assert min(between) >= 3 * link.takes_s - 1e-6
    assert max(between) < 4 * link.takes_s


async def test_a_line_that_brings_frames_without_end_soon_has_a_tenth_of_the_time() -> None:
    frames = b"".join(encode_event(CARD, str(n % 10)) for n in range(20_000))
    link = Link("angel_eye", [(0.0, frames)])
    link.takes_s = 0.02
    await link.plays(60.0)
    assert link.kept + link.wire.waiting >= link.wire.fed - READ_SIZE
    times_s = [r.t_us / 1e6 - 1000 for r in link.stored]
    late = [at for at in times_s if 30 < at < 60]
    assert len(late) * link.takes_s == pytest.approx(3.0, rel=0.1)
    assert len([at for at in times_s if at < 10]) * link.takes_s == pytest.approx(3.3, rel=0.1)
