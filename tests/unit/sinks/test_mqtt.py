"""Events to a real broker: acknowledged, bounded, in order, and found again after its end."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiomqtt
import pytest

from shoe_ctl.records import Audience
from shoe_ctl.sinks import mqtt, mqtt_connection
from shoe_ctl.sinks.brokers import Asked
from shoe_ctl.sinks.mqtt import MqttSink
from shoe_ctl.sinks.mqtt_connection import Broker
from shoe_ctl.sinks.pump import Pump, Resend, SinkAway
from shoe_testing.brokers import Consumer, Mosquitto, broker, subscribed
from shoe_testing.ports import HOST
from shoe_testing.sinks import Ledger, sink_events
from shoe_testing.tasks import ended

EVENTS = "shoe/v1/t/public"


class Desk:
    """Repeats what it is asked; the table stands as it is told."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.stands: dict[str, Any] | None = {"table": "t"}

    async def answer(self, asked: Asked) -> bytes:
        self.asked.append(asked)
        return b'{"heard":%s}' % asked.body

    async def state(self, table: str) -> Mapping[str, Any] | None:  # noqa: ARG002 - there is one
        return self.stands


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing need be waited for long."""
    monkeypatch.setattr(mqtt, "FIRST_RETRY_S", 0.01)
    monkeypatch.setattr(mqtt, "STATE_AT_MOST_EVERY_S", 0.0)
    monkeypatch.setattr(mqtt_connection, "ACKNOWLEDGED_WITHIN_S", 0.3)


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    """A broker for all tests of this module, where whoever comes may do anything."""
    with broker(tmp_path_factory.mktemp("broker"), "allow_anonymous true") as served:
        yield served


@asynccontextmanager
async def sinking(
    port: int, desk: Desk | None = None, where: Broker | None = None, **more: Any
) -> AsyncIterator[MqttSink]:
    sink = MqttSink(
        "floor",
        Broker(HOST, port) if where is None else where,
        Audience.PUBLIC,
        ["t"],
        Desk() if desk is None else desk,
        **more,
    )
    async with sink.connected():
        yield sink


def why(sink: MqttSink) -> str | None:
    return None if sink.trouble is None else sink.trouble.why


async def until(so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not so():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_a_batch_is_acknowledged_whole_and_comes_in_order(at: Mosquitto) -> None:
    events = sink_events(256)
    async with subscribed(at.port, EVENTS) as subscriber, sinking(at.port) as sink:
        await sink.deliver(events)
        await subscriber.until(lambda: len(subscriber.got) >= len(events))
    assert subscriber.payloads(EVENTS) == events
    assert subscriber.got[0].properties == {"ContentType": "application/cloudevents+json"}
    assert not subscriber.got[0].retain


async def test_events_of_several_tables_go_to_their_own_topics(at: Mosquitto) -> None:
    names = (b"t1", b"t2", b"gone")
    events = [b'{"id":"%s/p%d"}' % (name, n) for n in range(1, 9) for name in names]
    sink = MqttSink("floor", Broker(HOST, at.port), Audience.PUBLIC, ["t1", "t2"], Desk())
    async with subscribed(at.port, "shoe/v1/+/public") as subscriber, sink.connected():
        await sink.deliver(events)
        await subscriber.until(lambda: len(subscriber.got) >= 24)
    for name in names:
        mine = [event for event in events if event.startswith(b'{"id":"%s/' % name)]
        assert subscriber.payloads(f"shoe/v1/{name.decode()}/public") == mine


async def test_a_table_does_not_get_its_events_again_because_another_ones_link_is_down(
    at: Mosquitto,
) -> None:
    events = [b'{"id":"t1/p1"}', b'{"id":"t2/p1"}', b'{"id":"t1/p2"}']
    is_there = asyncio.Event()

    async def far(where: Broker, name: str, will: mqtt_connection.Will | None) -> Any:
        if "t2" in name and not is_there.is_set():
            raise mqtt_connection.ConnectionLost("nobody is there")
        return await mqtt_connection.connect(where, name, will)

    where = Broker(HOST, at.port)
    sink = MqttSink("floor", where, Audience.PUBLIC, ["t1", "t2"], Desk(), link=far)
    async with subscribed(at.port, "shoe/v1/+/public") as subscriber, sink.connected():
        for _ in range(3):
            with pytest.raises(SinkAway, match="nobody is there"):
                await sink.deliver(events)
        is_there.set()
        await until(lambda: why(sink) is None)
        await sink.deliver(events)
        await sink.deliver(events[:1])  # asked for again, it goes out again
        await subscriber.until(lambda: len(subscriber.got) >= 4)
    assert subscriber.payloads("shoe/v1/t1/public") == [events[0], events[2], events[0]]
    assert subscriber.payloads("shoe/v1/t2/public") == [events[1]]


async def test_the_state_is_there_for_who_comes_later_until_the_sink_stops(at: Mosquitto) -> None:
    desk, state = Desk(), "shoe/v1/t/state"
    async with sinking(at.port, desk, states=["t"]) as sink:
        await sink.deliver(sink_events(3))
        async with subscribed(at.port, state) as subscriber:
            wanted = {"table": "t", "last_event": "t/p3"}
            await subscriber.until(
                lambda: [json.loads(body) for body in subscriber.payloads(state)][-1:] == [wanted]
            )
            first = subscriber.got[0]
            assert first.retain
            assert first.properties["MessageExpiryInterval"] <= mqtt.STATE_EXPIRES_S  # type: ignore[operator]
    async with subscribed(at.port, state) as later:
        await later.publish(state, b"-")  # an end to wait for
        await later.until(lambda: bool(later.got))
        assert later.payloads(state) == [b"-"]


async def test_the_last_will_clears_the_state_of_a_daemon_that_is_gone(at: Mosquitto) -> None:
    state = "shoe/v1/t/state"
    async with subscribed(at.port, state) as subscriber, sinking(at.port, states=["t"]) as sink:
        await subscriber.until(lambda: bool(subscriber.payloads(state)))
        cut_off(sink)
        await subscriber.until(lambda: subscriber.payloads(state)[-1] != b"")
        # it came again, and the old connection's will did not clear it
        await subscriber.until(lambda: len(subscriber.got) >= 3)
        said = [bool(body) for body in subscriber.payloads(state)]
        assert said[:3] == [True, False, True]


def cut_off(sink: MqttSink) -> None:
    """Ends a sink's connection as the end of its process does."""
    (link,) = sink._links.values()
    if link._connection is not None:
        client = link._connection._client.paho  # type: ignore[attr-defined]
        if (sock := client.socket()) is not None:
            sock.shutdown(socket.SHUT_RDWR)


async def test_a_broker_that_stops_answering_is_away_soon_and_gets_it_all_later(
    at: Mosquitto, caplog: pytest.LogCaptureFixture
) -> None:
    events = sink_events(3)
    async with subscribed(at.port, EVENTS) as subscriber, sinking(at.port) as sink:
        await sink.deliver(events[:1])
        at.pause()
        try:
            with pytest.raises(SinkAway) as away:
                await sink.deliver(events[1:])
            said = (
                f"{at.address}: nothing acknowledged for 0.3 s: the connection is cut and opened "
            )
            assert why(sink) == str(away.value) == f"{said}again"
        finally:
            at.resume()
        assert away.value.back is not None
        await away.value.back.wait()
        await sink.deliver(events[1:])
        await subscriber.until(lambda: events[2] in subscriber.payloads(EVENTS))
    assert why(sink) is None
    warned = [r for r in caplog.records if r.name == mqtt.__name__ and r.levelno > logging.INFO]
    assert len(warned) == 1


async def test_a_link_that_is_half_open_is_found_without_any_event(
    at: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt_connection, "KEEPALIVE_S", 1)
    async with sinking(at.port) as sink:
        await sink.deliver(sink_events(1))
        at.pause()
        try:
            await until(lambda: why(sink) is not None)
            assert str(why(sink)).startswith(f"{at.address}: no sign of life for 1 s")
        finally:
            at.resume()
        await until(lambda: why(sink) is None)


class Daemon:
    """A sink and its pump, which may be started again behind the same cursor."""

    def __init__(self, feed: Ledger, port: int) -> None:
        self._feed = feed
        self._port = port
        self._open = AsyncExitStack()

    async def start(self) -> None:
        self._sink = await self._open.enter_async_context(sinking(self._port, states=["t"]))
        self.pump = Pump("floor", self._feed, self._sink)
        self._running = asyncio.create_task(self.pump.run())

    async def kill(self) -> None:
        """It ends in the middle of whatever it does."""
        await ended(self._running)
        cut_off(self._sink)
        await self._open.aclose()

    async def stop(self) -> None:
        self.pump.stop()
        await self._running
        await self._open.aclose()

    def ask(self, after: str) -> None:
        """Offers what follows this id again, as *resend* does."""
        behind, upto = int(after.rpartition("/p")[2]), self._feed.cursor
        if upto > behind:
            self.pump.resend(Resend("t", after=behind, upto=upto, events=upto - behind))


async def killed_at(seed: int, at: Mosquitto) -> None:
    """Bursts of events; somewhere in each the broker is killed, and who else chance wants."""
    chance, feed = random.Random(seed), Ledger()
    daemon = Daemon(feed, at.port)
    await daemon.start()
    consumer = Consumer(at.port, "t", daemon.ask)
    reading = asyncio.create_task(consumer.run())

    async def happens(most: int) -> None:
        feed.events += sink_events(chance.randint(1, most), start=len(feed.events) + 1)
        daemon.pump.wake()
        for _ in range(chance.randint(0, 120)):
            await asyncio.sleep(0)

    try:
        for _ in range(2):
            await happens(60)
            at.restart()
            others = chance.sample(["daemon", "consumer"], chance.randint(0, 2))
            if "daemon" in others:
                await happens(20)
                await daemon.kill()
                await daemon.start()
            if "consumer" in others:
                await happens(20)
                await ended(reading)
                reading = asyncio.create_task(consumer.run())
        await happens(1)
        await consumer.until(len(feed.events))
        await daemon.stop()
    finally:
        await ended(reading)
    assert consumer.applied == list(range(1, len(feed.events) + 1))


@pytest.mark.parametrize(
    "seed",
    [pytest.param(n, marks=[pytest.mark.exhaustive(cpu_s=0.1)] * (n >= 4)) for n in range(100)],
)
async def test_a_broker_killed_at_any_moment_loses_nothing_and_nothing_is_applied_twice(
    tmp_path: Path, seed: int
) -> None:
    """Two kills of the broker a seed; daemon and consumer are killed in between."""
    with broker(tmp_path) as killed:
        await killed_at(seed, killed)


async def test_a_subscriber_that_was_away_sees_the_gap_and_gets_what_the_broker_had_acknowledged(
    tmp_path: Path,
) -> None:
    feed = Ledger()
    with broker(tmp_path) as dies:
        async with sinking(dies.port) as sink:
            pump = Pump("floor", feed, sink)
            running = asyncio.create_task(pump.run())

            async def publish(number: int) -> None:
                feed.events += sink_events(number, start=len(feed.events) + 1)
                pump.wake()
                while feed.cursor < len(feed.events):
                    await feed.moves.get()

            # The broker keeps the session of one that is away, acknowledges, and dies.
            async with subscribed(dies.port, EVENTS, name="away", session_s=3600):
                pass
            await publish(300)
            dies.restart()
            async with subscribed(dies.port, EVENTS, name="away", session_s=3600) as back:
                await publish(1)
                await back.until(lambda: bool(back.got))
                assert [json.loads(body)["id"] for body in back.payloads(EVENTS)] == ["t/p301"]
                again = pump.resend(Resend("t", after=0, upto=feed.cursor, events=301))
                assert await again.done is None
                await back.until(lambda: len(back.got) >= 302)
                assert back.payloads(EVENTS)[1:] == feed.events
            pump.stop()
            await running


async def test_a_second_daemon_under_the_same_name_is_named_as_the_reason(at: Mosquitto) -> None:
    async with sinking(at.port) as first:
        await first.deliver(sink_events(1))
        async with sinking(at.port) as second:
            await second.deliver(sink_events(1))
            await until(lambda: "another client" in str(why(first)))
            assert why(first) == (
                f"{at.address}: the connection broke: it is opened again. That goes on: is another "
                "client connected as shoectl-t-public?"
            )


async def test_a_command_is_handled_to_its_end_though_the_connection_is_lost_meanwhile(
    at: Mosquitto,
) -> None:
    begun, free, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    class Slow(Desk):
        async def answer(self, asked: Asked) -> bytes:
            begun.set()
            await free.wait()
            done.set()
            return await super().answer(asked)

    async with (
        subscribed(at.port, "shoe/v1/t/answers/#") as ann,
        sinking(at.port, Slow(), takes_commands=True) as sink,
    ):
        await until(lambda: sink._links["t"].hears)
        await ann.publish("shoe/v1/t/commands/ann", b"1")
        await begun.wait()
        cut_off(sink)
        await until(lambda: why(sink) is not None)
        await until(lambda: sink._links["t"].hears)
        free.set()
        await done.wait()
        await ann.publish("shoe/v1/t/commands/ann", b"2")
        await ann.until(lambda: bool(ann.got))
        assert [got.payload for got in ann.got] == [b'{"heard":2}']


async def test_it_stops_though_the_client_loses_the_cancellation_of_a_subscription(
    at: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As aiomqtt does in Python 3.11 where the broker answers at that very moment."""
    is_asked = asyncio.Event()

    async def subscribe(*_: object, **__: object) -> list[Any]:
        is_asked.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return []

    monkeypatch.setattr(aiomqtt.Client, "subscribe", subscribe)
    async with asyncio.timeout(30), sinking(at.port, takes_commands=True):
        await is_asked.wait()


async def test_commands_are_answered_where_the_user_may_read(at: Mosquitto) -> None:
    desk = Desk()
    commands, answers = "shoe/v1/t/commands/ann", "shoe/v1/t/answers/ann"
    async with (
        subscribed(at.port, "shoe/v1/t/answers/#", EVENTS) as ann,
        sinking(at.port, desk, takes_commands=True) as sink,
    ):
        await sink.deliver(sink_events(1))
        await until(lambda: sink._links["t"].hears)
        await ann.publish(commands, b"1", CorrelationData=b"one")
        await ann.publish(
            commands, b"2", ResponseTopic=f"{answers}/desk/3", MessageExpiryInterval=9
        )
        await ann.publish(commands, b"3", retain=True)
        for elsewhere in (EVENTS, "shoe/v1/t/answers/bob", f"{answers}x", f"{answers}/+", "x"):
            await ann.publish(commands, b"4", ResponseTopic=elsewhere)
        await ann.until(lambda: len(ann.got) >= 9)
        await ann.publish(commands, b"", retain=True)  # the retained one is taken away
        await ann.until(lambda: len(ann.got) >= 10)
    said = [(got.topic, got.payload, got.properties.get("CorrelationData")) for got in ann.got[1:]]
    assert sorted(said[:8]) == sorted(
        [
            (answers, b'{"heard":1}', b"one".hex()),
            (f"{answers}/desk/3", b'{"heard":2}', None),
            (answers, b'{"heard":3}', None),
            *[(answers, b'{"heard":4}', None)] * 5,
        ]
    )
    refused = [(asked.body, asked.user, asked.refused) for asked in desk.asked]
    assert refused == [
        (b"1", "ann", None),
        (b"2", "ann", None),
        (b"3", "ann", "retained"),
        *[(b"4", "ann", "response_topic")] * 5,
        (b"", "ann", "retained"),
    ]
    expires = [asked.expires_at is not None for asked in desk.asked]
    assert expires == [False, True, *[False] * 7]
