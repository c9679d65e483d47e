"""A connection to a reference shoe of which one wire breaks, on a clock by hand.

In: frames as a shoe sends them. Out: when the owner is told, and what the shoe is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from firmware_proto.commands import Acknowledge, Armed, HelloRequest
from firmware_proto.events import Hello
from firmware_proto.reference.codec import Decoder, Message
from firmware_proto.reference.host import ReferenceHost
from shoe_ctl.link.connection import Connection, Reception
from shoe_testing.reference_protocol import host_frame, shoe_card, shoe_hello, shoe_status
from shoe_testing.transports import HandClock, ScriptedTransport

IN_TIME_S = 5.0


class Wire(ScriptedTransport):
    """A line on which nothing comes until it is put there."""

    def __init__(self) -> None:
        super().__init__([])
        self.hold = True
        self._wake: Callable[[], None] | None = None

    def when_readable(self, wake: Callable[[], None] | None) -> None:
        self._wake = wake
        super().when_readable(wake)

    def put(self, data: bytes) -> None:
        self.chunks.append(data)
        if self._wake is not None:
            self._wake()


class Table:
    """The owner of a connection: stores what comes, and acknowledges it."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.transport = Wire()
        self.told: list[tuple[float, bool]] = []
        self.link = Connection(
            name="bac-07",
            number=1,
            transport=self.transport,
            session=ReferenceHost(None),
            clock=self.clock,
            on_reception=self._take,
            on_hearing=self._hearing,
        )

    async def _take(self, reception: Reception) -> None:
        for heard in reception.heard:
            if heard.seq is not None:
                self.link.stored(heard.seq)

    async def _hearing(self, hears: bool) -> None:
        self.told.append((self.clock.now - 1000.0, hears))

    async def pass_to(self, at: float) -> None:
        """Let the time pass in tenths of a second, with all that falls due."""
        while self.clock.now < 1000.0 + at - 1e-9:
            self.clock.advance(min(0.1, 1000.0 + at - self.clock.now))
            await self._settle()

    async def _settle(self) -> None:
        for _ in range(8):
            await asyncio.sleep(0)

    async def send(self, at: float, data: bytes) -> None:
        """Let these bytes arrive from the shoe."""
        await self.pass_to(at)
        self.transport.put(data)
        await self._settle()

    def sent(self) -> list[object]:
        found = Decoder().feed(b"\0" + self.transport.written)
        self.transport.written = b""
        return [f.content.content for f in found if isinstance(f.content, Message)]


@asynccontextmanager
async def connected() -> AsyncIterator[Table]:
    table = Table()
    running = asyncio.create_task(table.link.run())
    try:
        await table.send(0.0, shoe_hello(1) + shoe_status(1, unheard=0))
        await table.pass_to(0.1)
        yield table
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_card_repeated_after_its_acknowledgement_shows_that_the_shoe_does_not_hear() -> (
    None
):
    async with connected() as table:
        await table.send(1.0, shoe_card(1))
        await table.pass_to(1.1)
        assert Acknowledge(1) in table.sent()
        for quarter in range(1, 20):
            await table.send(1.0 + quarter * 0.25, shoe_card(1))
        [(at, hears)] = table.told
        assert not hears
        assert at <= 1.0 + IN_TIME_S
        assert HelloRequest() in table.sent()


async def test_an_arm_that_no_status_shows_does_too_and_an_armed_status_ends_it() -> None:
    async with connected() as table:
        table.link.set_desired_state(Armed(1, "player", 1))
        for seconds in (2.0, 4.0):
            await table.send(seconds, shoe_status(1, unheard=0))
        await table.pass_to(5.0)
        [(at, hears)] = table.told
        assert not hears
        assert at <= 0.1 + IN_TIME_S
        await table.send(6.0, shoe_status(1, unheard=0, armed=1))
        await table.pass_to(6.1)
        assert table.told[1:] == [(6.0, True)]


async def test_a_shoe_that_takes_its_time_and_then_shows_the_arm_hears() -> None:
    async with connected() as table:
        table.link.set_desired_state(Armed(1, "player", 1))
        await table.send(2.0, shoe_status(1, unheard=0))
        await table.send(2.2, shoe_status(1, unheard=0, armed=1))
        await table.pass_to(20.0)
        assert table.told == []


async def test_a_shoe_that_sends_and_does_not_answer_for_its_hello_does_not_hear() -> None:
    table = Table()
    running = asyncio.create_task(table.link.run())
    for seconds in (1.0, 3.0, 5.0):
        await table.send(seconds, shoe_status(1, unheard=0))
    await table.pass_to(5.5)
    assert [hears for _, hears in table.told] == [False]
    hello = Hello(device_id="SH-1", firmware="1", boot_id=1, deck="french52")
    await table.send(6.0, host_frame(hello, 1))
    await table.pass_to(6.1)
    assert [hears for _, hears in table.told] == [False, True]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_repeats_that_come_with_the_next_cards_are_no_sign_of_a_deaf_shoe() -> None:
    async with connected() as table:
        for number in range(1, 60):
            at = 1.0 + number * 0.4
            await table.send(at, shoe_card(number))
            await table.send(at + 0.1, shoe_card(number))
            await table.send(at + 0.2, shoe_status(number + 1, unheard=0, drawn=number))
        assert table.told == []
