"""From the journal to a table system's database, over brokers that are killed: each event once."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.api.requests import Caller
from shoe_ctl.daemon import requests
from shoe_ctl.daemon.broker_desk import BrokerDesk
from shoe_ctl.records import Audience
from shoe_ctl.sinks import mqtt, mqtt_connection, nats_connection, pump
from shoe_ctl.sinks.mqtt import MqttSink
from shoe_ctl.sinks.mqtt_connection import Broker
from shoe_ctl.sinks.nats import NatsSink
from shoe_events import Consumer
from shoe_events import mqtt as kit_mqtt
from shoe_events import nats as kit_nats
from shoe_events.follow import Connect
from shoe_testing.brokers import Mosquitto
from shoe_testing.delivery_world import AUDIENCES, TABLES, USER, Figures, Handle, World, name_of
from shoe_testing.nats_server import (
    NatsCluster,
    NatsServer,
    nats_cluster,
    stream_leader,
    target_of,
)
from shoe_testing.ports import HOST

pytestmark = pytest.mark.slow

WORLDS = 20
KILLS = 10
"""In each of them."""


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is away is found soon, and tried again soon."""
    for module in (mqtt, pump):
        monkeypatch.setattr(module, "FIRST_RETRY_S", 0.01)
        monkeypatch.setattr(module, "LONGEST_RETRY_S", 0.05)
    monkeypatch.setattr(mqtt, "STATE_AT_MOST_EVERY_S", 0.01)
    monkeypatch.setattr(mqtt_connection, "ACKNOWLEDGED_WITHIN_S", 0.5)
    monkeypatch.setattr(mqtt_connection, "CONNECT_WITHIN_S", 0.5)
    monkeypatch.setattr(nats_connection, "ANSWERED_WITHIN_S", 0.5)
    monkeypatch.setattr(nats_connection, "CONNECTED_WITHIN_S", 0.5)
    monkeypatch.setattr(requests, "OFFERED_WITHIN_S", 0.2)
    monkeypatch.setattr(kit_mqtt, "ANSWER_S", 0.3)
    monkeypatch.setattr(kit_nats, "ANSWERED_WITHIN_S", 0.5)


class AtMosquitto:
    """mosquitto, which stores what it has after every few changes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._served = Mosquitto(
            folder,
            "allow_anonymous true",
            "max_queued_messages 0",
            "persistence true",
            "persistence_location {folder}/",
            "autosave_on_changes true",
            "autosave_interval 20",
        )

    async def aim(self) -> None:
        """There is one."""

    def kill(self) -> None:
        self._served.kill()

    def start(self, *, forgets: bool) -> None:
        if forgets:
            (self.folder / "mosquitto.db").unlink(missing_ok=True)
        self._served.start()

    def pause(self) -> None:
        self._served.pause()

    def resume(self) -> None:
        self._served.resume()

    @asynccontextmanager
    async def sinks(self, handle: Handle) -> AsyncIterator[dict[Audience, MqttSink]]:
        found = {}
        caller = Caller(user=USER, position="surveillance", sees=Audience.RESTRICTED)
        async with AsyncExitStack() as stack:
            for audience in AUDIENCES:
                is_public = audience is Audience.PUBLIC
                desk = BrokerDesk({USER: caller} if is_public else {}, {USER: TABLES})
                sink = found[audience] = MqttSink(
                    name_of(audience),
                    Broker(HOST, self._served.port),
                    audience,
                    TABLES,
                    desk,
                    takes_commands=is_public,
                    states=TABLES if is_public else (),
                )
                await stack.enter_async_context(sink.connected())
                await stack.enter_async_context(desk.open(handle))
            yield found

    def cut(self, sink: MqttSink) -> None:
        for link in sink._links.values():
            if link._connection is not None:
                client = link._connection._client  # type: ignore[attr-defined]
                cut(client.paho.socket())

    def connect(self, consumer: Consumer, audience: Audience) -> Connect:  # noqa: ARG002
        name = audience.name.lower()
        return kit_mqtt.mqtt(
            HOST,
            port=self._served.port,
            client_id=f"{USER}-{name}",
            user=USER,
            audience="public" if audience is Audience.PUBLIC else "restricted",
            sink=name_of(audience),
            keepalive_s=1,
            timeout_s=0.5,
        )

    def cut_off(self, connection: Any) -> None:
        cut(connection._client._client.socket())


def cut(sock: Any) -> None:
    if isinstance(sock, socket.socket):
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


def report(figures: Figures) -> None:
    """Print what happened: `pytest -s` shows it."""
    print(figures)  # noqa: T201


async def over_mqtt(folder: Path, seed: str, kills: int, half_open: int) -> Figures:
    at = AtMosquitto(folder)
    at.start(forgets=False)
    try:
        return await World(folder, at, seed).run(kills, half_open)
    finally:
        at.kill()


async def test_over_mqtt_a_broker_that_dies_costs_no_event_and_doubles_none(
    tmp_path: Path, seed: int
) -> None:
    figures = await over_mqtt(tmp_path, f"sample {seed}", 4, 1)
    report(figures)
    assert figures.gaps and figures.asked


@pytest.mark.exhaustive(cpu_s=2)
@pytest.mark.parametrize("number", range(WORLDS))
async def test_over_mqtt_a_broker_that_dies_at_200_moments_costs_no_event(
    tmp_path: Path, number: int
) -> None:
    report(await over_mqtt(tmp_path, f"world {number}", KILLS, 1))


class AtNats:
    """nats-server, which has on its disk whatever it acknowledged."""

    def __init__(self, folder: Path) -> None:
        self._served = NatsServer(folder)
        self._address = self._served.address
        self._replicas = 1

    async def aim(self) -> None:
        """There is one."""

    def kill(self) -> None:
        self._served.kill()

    def start(self, *, forgets: bool) -> None:  # noqa: ARG002 - a stream is what does not forget
        self._served.start()

    def pause(self) -> None:
        self._served.pause()

    def resume(self) -> None:
        self._served.resume()

    @asynccontextmanager
    async def sinks(self, handle: Handle) -> AsyncIterator[dict[Audience, NatsSink]]:  # noqa: ARG002
        found = {}
        async with AsyncExitStack() as stack:
            for audience in AUDIENCES:
                target = target_of(
                    self._address,
                    audience=audience,
                    stream=nats_connection.STREAMS[audience],
                    replicas=self._replicas,
                )
                sink = found[audience] = NatsSink(name_of(audience), target)
                stack.push_async_callback(sink.close)
            yield found

    def cut(self, sink: NatsSink) -> None:
        """Its connection is dropped with it."""

    def connect(self, consumer: Consumer, audience: Audience) -> Connect:
        return kit_nats.nats_stream(
            self._address.split(","),
            consumer,
            TABLES,
            audience="public" if audience is Audience.PUBLIC else "restricted",
            from_first=True,
            heartbeat_s=0.2,
            connect_timeout=1,
        )

    def cut_off(self, connection: Any) -> None:
        connection._client._transport._io_writer.transport.abort()


class AtCluster(AtNats):
    """Three servers; the one that leads a stream dies, and comes back."""

    def __init__(self, cluster: NatsCluster) -> None:
        self._cluster = cluster
        self._address = cluster.address
        self._replicas = 3

    async def aim(self) -> None:
        self._served = self._cluster.servers[await stream_leader(self._cluster)]


async def over_nats(folder: Path, seed: str, kills: int, half_open: int) -> Figures:
    at = AtNats(folder)
    at.start(forgets=False)
    try:
        return await World(folder, at, seed).run(kills, half_open)
    finally:
        at.kill()


async def test_over_nats_a_server_that_dies_costs_no_event_and_doubles_none(
    tmp_path: Path, seed: int
) -> None:
    report(await over_nats(tmp_path, f"sample {seed}", 4, 1))


@pytest.mark.exhaustive(cpu_s=2)
@pytest.mark.parametrize("number", range(WORLDS))
async def test_over_nats_a_server_that_dies_at_200_moments_costs_no_event(
    tmp_path: Path, number: int
) -> None:
    report(await over_nats(tmp_path, f"world {number}", KILLS, 1))


@pytest.mark.exhaustive(cpu_s=3)
async def test_over_three_nodes_the_death_of_the_leader_costs_no_event(
    tmp_path: Path, seed: int
) -> None:
    with nats_cluster(tmp_path) as cluster:
        report(await World(tmp_path, AtCluster(cluster), f"sample {seed}").run(1, 0))


@pytest.mark.exhaustive(cpu_s=6)
@pytest.mark.parametrize("number", range(4))
async def test_over_three_nodes_leaders_die_one_after_the_other(
    tmp_path: Path, number: int
) -> None:
    with nats_cluster(tmp_path) as cluster:
        report(await World(tmp_path, AtCluster(cluster), f"world {number}").run(5, 0))
