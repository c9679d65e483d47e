"""A real broker is away for an hour while the tables play on: each event is applied once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.api.requests import Caller
from shoe_ctl.daemon.broker_desk import BrokerDesk
from shoe_ctl.journal.reader import Reader
from shoe_ctl.records import Audience
from shoe_ctl.sinks.mqtt import MqttSink
from shoe_ctl.sinks.mqtt_connection import Broker
from shoe_ctl.sinks.nats import NatsSink
from shoe_ctl.sinks.nats_connection import STREAMS
from shoe_events import Consumer
from shoe_events.follow import Connect
from shoe_events.mqtt import mqtt
from shoe_events.nats import nats_stream
from shoe_testing.brokers import OPEN, Mosquitto
from shoe_testing.delivery_world import AUDIENCES, TABLES, USER, Handle, World, name_of
from shoe_testing.nats_server import NatsServer, nats_client, target_of
from shoe_testing.ports import HOST
from shoe_testing.simulated_time import SkippingLoop

pytestmark = pytest.mark.slow

HOUR_S = 3600.0
LEAP_S = 10.0
EACH_MINUTE = 6
"""Leaps in a minute."""

LONGEST_RETRY_S = 30.0
"""Sinks and consumers try again at least so often."""


TURN_S = 1.0
"""A broker that is there answers within this time."""


MOST_TURNS = 60


class AtBroker:
    """What a world needs of a broker where nobody else dies."""

    def __init__(self, served: Mosquitto | NatsServer) -> None:
        self.served = served

    async def aim(self) -> None:
        """There is one."""

    def kill(self) -> None:
        self.served.kill()

    def start(self, *, forgets: bool) -> None:  # noqa: ARG002 - it keeps what it keeps
        self.served.start()

    def pause(self) -> None:
        raise AssertionError

    def resume(self) -> None:
        raise AssertionError

    def cut(self, sink: Any) -> None:
        raise AssertionError(sink)

    def cut_off(self, connection: Any) -> None:
        raise AssertionError(connection)


class AtMosquitto(AtBroker):
    """mosquitto that has nothing on a disk: it forgets subscriptions, and what it acknowledged."""

    def __init__(self, folder: Path) -> None:
        self._at = Mosquitto(folder, *OPEN, "max_queued_messages 0")
        super().__init__(self._at)

    @asynccontextmanager
    async def sinks(self, handle: Handle) -> AsyncIterator[dict[Audience, MqttSink]]:
        found = {}
        caller = Caller(user=USER, position="surveillance", sees=Audience.RESTRICTED)
        async with AsyncExitStack() as stack:
            for audience in AUDIENCES:
                is_public = audience is Audience.PUBLIC
                desk = BrokerDesk({USER: caller}, {USER: TABLES})
                sink = found[audience] = MqttSink(
                    name_of(audience),
                    Broker(HOST, self._at.port),
                    audience,
                    TABLES,
                    desk,
                    takes_commands=is_public,
                    states=TABLES if is_public else (),
                )
                await stack.enter_async_context(sink.connected())
                await stack.enter_async_context(desk.open(handle))
            yield found

    def connect(self, consumer: Consumer, audience: Audience) -> Connect:  # noqa: ARG002
        name = audience.name.lower()
        return mqtt(
            HOST,
            port=self._at.port,
            client_id=f"{USER}-{name}",
            user=USER,
            audience="public" if audience is Audience.PUBLIC else "restricted",
            sink=name_of(audience),
        )


class AtNats(AtBroker):
    """nats-server, which has on its disk whatever it acknowledged."""

    def __init__(self, folder: Path) -> None:
        self._at = NatsServer(folder)
        super().__init__(self._at)

    @asynccontextmanager
    async def sinks(self, handle: Handle) -> AsyncIterator[dict[Audience, NatsSink]]:  # noqa: ARG002
        found = {}
        async with AsyncExitStack() as stack:
            for audience in AUDIENCES:
                stream = STREAMS[audience]
                target = target_of(self._at.address, audience=audience, stream=stream, replicas=1)
                sink = found[audience] = NatsSink(name_of(audience), target)
                stack.push_async_callback(sink.close)
            yield found

    def connect(self, consumer: Consumer, audience: Audience) -> Connect:
        return nats_stream(
            self._at.address,
            consumer,
            TABLES,
            audience="public" if audience is Audience.PUBLIC else "restricted",
            from_first=True,
        )

    async def forget_duplicates(self) -> None:
        """Let the server know ids again for no longer than it must, as after two minutes."""
        async with nats_client(self._at.address) as (_, context):
            for name in STREAMS.values():
                config = (await context.stream_info(name)).config
                await context.update_stream(config.evolve(duplicate_window=0.1))


def has_published_all(world: World) -> bool:
    """The sink of the public stream has delivered every event."""
    with Reader.open(world.path) as reader:
        cursor = reader.cursor(name_of(Audience.PUBLIC))
        return all(
            reader.event_numbers(table, Audience.PUBLIC, upto=cursor)
            == reader.event_numbers(table, Audience.PUBLIC)
            for table in TABLES
        )


async def come_back(loop: SkippingLoop, world: World) -> None:
    """Let time pass until the sinks publish again and the table system that is there is connected.

    One that was just trying in vain waits for its next turn.
    """

    def are_back() -> bool:
        is_published = not any(world.daemon.is_cut_off(audience) for audience in AUDIENCES)
        return is_published and world.systems[1].is_connected

    for _ in range(MOST_TURNS):
        if are_back():
            return
        await loop.skip(LONGEST_RETRY_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(TURN_S):
                await world._until_so(are_back)
    raise AssertionError("they do not come back")


async def evening(loop: SkippingLoop, world: World) -> None:
    """Play; the broker dies in the middle of it and is away for an hour; play to the end.

    The table system of the public stream is stopped meanwhile, and comes back when all is published
    that it missed; the other one goes on trying.
    """
    await world.daemon.start()
    public, restricted = world.systems
    systems = [asyncio.create_task(system.run()) for system in (public, restricted)]
    try:
        await world.play(60)
        for system in world.systems:
            await world._until(system, systems)
        if isinstance(world.broker, AtNats):
            await world.broker.forget_duplicates()
        world.moments.after(5, world.broker.kill)
        await world.play(20)
        await world.moments.done()
        began, played = loop.time(), 0
        while loop.time() < began + HOUR_S:
            played += await world.play(1)
            for _ in range(EACH_MINUTE):
                await loop.skip(LEAP_S)
        assert played > 100
        assert all(world.daemon.is_cut_off(audience) for audience in AUDIENCES)
        assert not any(system.is_connected for system in world.systems)
        systems[0].cancel()
        await asyncio.wait({systems[0]})
        world.broker.start(forgets=False)
        await come_back(loop, world)
        await world.play()
        await world._until(restricted, systems[1:])
        await world._until_so(lambda: has_published_all(world))
        systems[0] = asyncio.create_task(public.run())
        await world._until(public, systems)
    finally:
        await world.daemon.stop()
        for task in systems:
            task.cancel()
        await asyncio.wait(systems)
    world._hold()


def spend_an_hour(folder: Path, at: AtMosquitto | AtNats, seed: int) -> World:
    at.start(forgets=False)
    loop = SkippingLoop()
    try:
        world = World(folder, at, f"an hour {seed}")
        loop.run_until_complete(evening(loop, world))
    finally:
        loop.close()
        at.served.kill()
    return world


def test_after_an_hour_without_mosquitto_each_event_is_applied_once_and_in_order(
    tmp_path: Path, seed: int
) -> None:
    figures = spend_an_hour(tmp_path, AtMosquitto(tmp_path), seed).figures
    assert (figures.lost, figures.doubled) == (0, 0)
    assert figures.asked


def test_after_an_hour_without_nats_server_each_event_is_applied_once_and_in_order(
    tmp_path: Path, seed: int
) -> None:
    figures = spend_an_hour(tmp_path, AtNats(tmp_path), seed).figures
    assert (figures.lost, figures.doubled) == (0, 0)
