"""The link from end to end: a reference shoe on a real pty that comes and goes, the real clock."""

from __future__ import annotations

import asyncio
import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from firmware_proto.cards import card
from firmware_proto.commands import Acknowledge, HelloRequest
from firmware_proto.events import CardDrawn, Hello, ShoeEvent
from firmware_proto.profiles import profile
from firmware_proto.session import Resume
from shoe_ctl.clock import SystemClock
from shoe_ctl.link.address import SerialAddress
from shoe_ctl.link.connection import Connection, Reception
from shoe_ctl.link.reconnect import Supervisor
from shoe_ctl.link.serial import serial_opener
from shoe_ctl.link.transport import Loss
from shoe_testing.transports import ShoeEnd, until

HELLO = Hello(
    device_id="SH-0042", firmware="1.0", boot_id=3, deck="french52", set_id="set-1", decks=8
)
CODES = ["7D", "9C", "TS", "TH", "AC", "2H", "5S", "KD", "8D", "QS", "3C", "4H"]
CARDS = [
    CardDrawn(card=card(code), number=number, armed=True) for number, code in enumerate(CODES, 1)
]


class Shoe:
    """A shoe's memory and its end of the wire; it sends in pieces of any size."""

    def __init__(self, end: ShoeEnd, chance: random.Random) -> None:
        self.end = end
        self.chance = chance
        self.memory: list[tuple[int, ShoeEvent]] = []
        self.next = 1
        self.session = profile("reference").device_session(settings={})
        self.pending = b""

    def draw(self, event: ShoeEvent) -> None:
        self.memory.append((self.next, event))
        self.session.send(event, seq=self.next, t_us=self.next)
        self.next += 1

    async def serve(self) -> None:
        while True:
            self.step(asyncio.get_running_loop().time())
            await asyncio.sleep(0.001)

    def step(self, t: float) -> None:
        for said in self.session.receive(self.heard(), t):
            if isinstance(said, HelloRequest):
                self.session.send(HELLO, seq=self.next, t_us=0)
                for seq, event in self.memory:
                    self.session.send(event, seq=seq, t_us=seq)
            elif isinstance(said, Acknowledge):
                self.memory = [(s, e) for s, e in self.memory if s > said.through]
        self.session.tick(t)
        self.pending += self.session.outgoing()
        size = self.chance.randint(1, 40)
        self.end.say(self.pending[:size])
        self.pending = self.pending[size:]

    def heard(self) -> bytes:
        try:
            return os.read(self.end.fd, 4096)
        except OSError:  # nothing yet, or the host is not there
            return b""

    def unplug_and_return(self) -> None:
        """The line breaks in mid-frame; what the wire held is gone, what was kept is not."""
        self.end.say(self.pending[: len(self.pending) // 2])
        self.end.unplug()
        self.end.plug_in()
        self.pending = b""
        self.session = profile("reference").device_session(settings={})


async def test_every_card_arrives_once_and_in_order_over_a_line_that_comes_and_goes(
    tmp_path: Path, seed: int
) -> None:
    drawn: list[ShoeEvent] = []
    stored: list[Resume] = []
    connections: list[int] = []

    async def on_up(connection: Connection) -> None:
        connections.append(connection.number)

    async def on_lost(reason: Loss) -> None:
        assert reason.reason == "unplugged"

    async def on_reception(reception: Reception) -> None:
        for heard in reception.heard:
            if isinstance(heard.event, CardDrawn):
                drawn.append(heard.event)
            if heard.seq is not None:
                stored.append(Resume("SH-0042", int(heard.seq)))
                assert link.connection is not None
                link.connection.stored(heard.seq)

    with ThreadPoolExecutor(1) as executor:
        end = ShoeEnd(tmp_path / "SH-0042")
        reference = profile("reference")
        link = Supervisor(
            name="bac-07",
            profile=reference,
            settings={},
            opener=serial_opener(SerialAddress(str(end.link)), reference.SERIAL, executor),
            clock=SystemClock(),
            resume=lambda: stored[-1] if stored else None,
            on_up=on_up,
            on_lost=on_lost,
            on_reception=on_reception,
            first_connection=1,
        )
        shoe = Shoe(end, random.Random(seed))
        async with asyncio.timeout(20):
            tasks = [asyncio.create_task(link.run()), asyncio.create_task(shoe.serve())]
            await until(lambda: bool(stored))
            for number, event in enumerate(CARDS):
                shoe.draw(event)
                if number in (3, 7):
                    shoe.step(asyncio.get_running_loop().time())
                    shoe.unplug_and_return()
                    await until(lambda: len(connections) == 2 + (number > 3))  # noqa: B023
            await until(lambda: len(drawn) == len(CARDS) and not shoe.memory)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        end.unplug()
    assert drawn == CARDS
    assert connections == [1, 2, 3]
