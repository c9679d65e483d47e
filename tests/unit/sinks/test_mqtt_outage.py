"""An hour without the broker, on a simulated clock."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from shoe_ctl.records import Audience
from shoe_ctl.sinks.brokers import Asked, Reply
from shoe_ctl.sinks.mqtt import MqttSink
from shoe_ctl.sinks.mqtt_connection import (
    TAKEN,
    Answer,
    Broker,
    Connection,
    ConnectionLost,
    Incoming,
    Outgoing,
    Will,
)
from shoe_ctl.sinks.pump import Pump
from shoe_testing.simulated_time import VirtualLoop
from shoe_testing.sinks import Ledger, sink_events

HOUR_S = 3600.0


class FarBroker:
    """A broker that can be away; it keeps what it acknowledged, with the time."""

    def __init__(self) -> None:
        self.is_there = True
        self.taken: list[tuple[float, str, bytes]] = []
        self.tried: list[float] = []
        self.commands: list[Incoming] = []
        self._links: list[_Link] = []

    async def connect(self, broker: Broker, client_id: str, will: Will | None) -> Connection:  # noqa: ARG002
        self.tried.append(asyncio.get_running_loop().time())
        if not self.is_there:
            raise ConnectionLost(f"{broker.address}: nobody is there")
        self._links.append(_Link(self))
        return self._links[-1]

    def goes(self) -> None:
        self.is_there = False
        while self._links:
            self._links.pop().lost.set()


class _Link:
    largest: int | None = None
    certificate_ends = None

    def __init__(self, far: FarBroker) -> None:
        self.lost = asyncio.Event()
        self._far = far

    async def publish(self, messages: Sequence[Outgoing]) -> list[Answer]:
        if self.lost.is_set():
            raise ConnectionLost("the connection broke")
        now = asyncio.get_running_loop().time()
        self._far.taken += [(now, message.topic, message.payload) for message in messages]
        return [TAKEN] * len(messages)

    async def subscribe(self, topic: str) -> str | None:
        assert topic == "shoe/v1/t/commands/+"
        return None

    async def receive(self) -> Incoming:
        if self._far.commands:
            return self._far.commands.pop()
        await self.lost.wait()
        raise ConnectionLost("the connection broke")

    def acknowledge(self, message: Incoming) -> None:
        pass

    async def close(self) -> None:
        self.lost.set()


def why(sink: MqttSink) -> str | None:
    return None if sink.trouble is None else sink.trouble.why


def now_us() -> int:
    return int(asyncio.get_running_loop().time() * 1e6)


class Desk:
    async def answer(self, asked: Asked) -> bytes:
        raise AssertionError(asked)

    async def state(self, table: str) -> Mapping[str, Any]:
        return {"table": table}


def test_after_an_hour_everything_goes_out_in_order_and_each_reason_was_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="shoe_ctl.sinks")
    far, feed = FarBroker(), Ledger()

    async def evening() -> None:
        sink = MqttSink(
            "floor",
            Broker("far", 1883),
            Audience.PUBLIC,
            ["t"],
            Desk(),
            states=["t"],
            link=far.connect,
            now_us=now_us,
        )
        async with sink.connected():
            pump = Pump("floor", feed, sink, now_us)
            running = asyncio.create_task(pump.run())

            async def happens(number: int) -> None:
                feed.events += sink_events(number, start=len(feed.events) + 1)
                pump.wake()
                await asyncio.sleep(1.0)

            await happens(3)
            assert feed.cursor == 3
            assert why(sink) is None
            far.goes()
            for _ in range(int(HOUR_S)):
                await happens(1)
            assert feed.cursor == 3
            assert sink.trouble is not None
            assert pump.trouble is not None
            assert why(sink) == "mqtt://far:1883: nobody is there"
            assert pump.trouble.since_us - sink.trouble.since_us <= 1_000_000
            far.is_there = True
            back = asyncio.get_running_loop().time()
            while feed.cursor < len(feed.events):
                await feed.moves.get()
            assert asyncio.get_running_loop().time() - back <= 5.0
            assert why(sink) is None
            pump.stop()
            await running

    loop = VirtualLoop()
    try:
        loop.run_until_complete(evening())
    finally:
        loop.close()
    assert [body for _, topic, body in far.taken if topic.endswith("/public")] == feed.events
    assert len(far.tried) < HOUR_S / 5 + 20
    states = [body for _, topic, body in far.taken if topic.endswith("/state")]
    assert states[-1] == b""
    mine = [record for record in caplog.records if record.name.startswith("shoe_ctl")]
    logged = [record.message for record in mine if record.levelno >= logging.WARNING]
    assert logged == [
        'sink floor: away: reason="the connection broke". Retrying.',
        'sink floor: away: reason="mqtt://far:1883: nobody is there". Retrying.',
    ]


class AnsweringDesk(Desk):
    """Answers at once; keeps the place where the events that are asked for go."""

    def __init__(self) -> None:
        self.replies: asyncio.Queue[Reply] = asyncio.Queue()

    async def answer(self, asked: Asked) -> bytes:
        assert asked.reply is not None
        self.replies.put_nowait(asked.reply)
        return b"{}"


def test_events_sent_to_one_reader_go_out_over_the_next_connection() -> None:
    far, desk = FarBroker(), AnsweringDesk()
    far.commands = [Incoming("shoe/v1/t/commands/till", b"{}", False, None, None, None)]

    async def evening() -> None:
        sink = MqttSink(
            "floor",
            Broker("far", 1883),
            Audience.PUBLIC,
            ["t"],
            desk,
            takes_commands=True,
            link=far.connect,
            now_us=now_us,
        )
        async with sink.connected():
            reply = await desk.replies.get()
            far.goes()
            sending = asyncio.create_task(reply.send([b"1", b"2"]))
            await asyncio.sleep(60.0)
            assert not sending.done()
            far.is_there = True
            await sending

    loop = VirtualLoop()
    try:
        loop.run_until_complete(evening())
    finally:
        loop.close()
    sent = [body for _, topic, body in far.taken if topic == "shoe/v1/t/answers/till"]
    assert sent[-2:] == [b"1", b"2"]
