"""Servers and pumps that are killed at any byte: the stream holds each event once, in its order."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest

from shoe_ctl.sinks import nats_connection
from shoe_ctl.sinks import pump as pump_module
from shoe_ctl.sinks.nats import NatsSink
from shoe_ctl.sinks.pump import Pump
from shoe_testing.daemon import PATIENCE_S
from shoe_testing.nats_server import (
    NatsCluster,
    NatsServer,
    StoredMessage,
    nats_client,
    nats_cluster,
    nats_server,
    stored_messages,
    stream_leader,
    target_of,
)
from shoe_testing.sinks import Ledger
from shoe_testing.tasks import ended
from shoe_testing.tcp_proxy import TcpProxy

pytestmark = pytest.mark.slow

TABLES = ("bac-07", "bac-08")
FARTHEST_BYTE = 12_000
"""Of what a connection carries: its login, some publishes and their answers."""


EVENTS = 30
"""More than so many bytes."""


class Tables:
    """A feed of two tables, which a pump is restarted on."""

    def __init__(self, seed: str) -> None:
        self.feed = Ledger()
        self.random = random.Random(seed)
        self._counts = dict.fromkeys(TABLES, 0)

    def play(self, events: int) -> None:
        for _ in range(events):
            table = self.random.choice(TABLES)
            n = self._counts[table] = self._counts[table] + 1
            source = f"/journal/00000000/table/{table}"
            told = {
                "id": f"{table}/p{n}",
                "source": source,
                "pad": "x" * self.random.randrange(900),
            }
            self.feed.events.append(json.dumps(told).encode())

    def hold(self, stored: list[StoredMessage]) -> None:
        """The stream holds every event of each table once, in order."""
        assert sorted(stored, key=lambda message: message.seq) == stored
        for table, count in self._counts.items():
            found = [message for message in stored if message.id.startswith(table)]
            assert [message.id for message in found] == [
                f"{table}/p{n}" for n in range(1, count + 1)
            ]
            assert {message.subject for message in found} <= {f"shoe.v1.{table}.public"}


class RestartedPump:
    """A pump on the feed, as a daemon has one: it ends with it, and begins at the cursor."""

    def __init__(self, feed: Ledger, address: str, **more: object) -> None:
        self._feed = feed
        self._target = target_of(address, **more)

    async def start(self) -> None:
        self._sink = NatsSink("floor", self._target)
        self.pump = Pump("floor", self._feed, self._sink)
        self._task = asyncio.create_task(self.pump.run())

    async def abandon(self) -> None:
        """As a daemon that is killed: what is under way stays so."""
        await ended(self._task)
        await self._sink.close()

    async def drain(self) -> None:
        """All that there is is delivered."""
        async with asyncio.timeout(PATIENCE_S):
            while self._feed.cursor < len(self._feed.events):
                self.pump.wake()
                await self._feed.moves.get()
            self.pump.stop()
            await self._task
        await self._sink.close()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is back soon: retries need not be waited for, nor what nobody will answer."""
    monkeypatch.setattr(nats_connection, "ANSWERED_WITHIN_S", 2.0)
    monkeypatch.setattr(pump_module, "FIRST_RETRY_S", 0.01)
    monkeypatch.setattr(pump_module, "LONGEST_RETRY_S", 0.05)


async def kill_often(server: NatsServer, kills: int, seed: str) -> None:
    tables = Tables(seed)
    async with nats_client(server.address) as (_, js):  # its memory for ids is no help
        await js.add_stream(name="SHOE", subjects=["shoe.v1.*.public"], duplicate_window=0.1)
    async with TcpProxy(server.port) as proxy:
        pump = RestartedPump(tables.feed, proxy.address)
        await pump.start()
        for _ in range(kills):
            killed = asyncio.Event()

            def kill(killed: asyncio.Event = killed) -> None:
                server.kill()
                killed.set()

            proxy.break_after(tables.random.randrange(FARTHEST_BYTE), kill)
            tables.play(EVENTS)
            pump.pump.wake()
            async with asyncio.timeout(PATIENCE_S):
                await killed.wait()
            if tables.random.random() < 0.3:
                await pump.abandon()
                await pump.start()
            server.start()
        await pump.drain()
    tables.hold(await stored_messages(server.address))


SEEDS = 20
KILLS = 10


async def test_a_server_that_is_killed_at_any_byte_costs_no_event(
    tmp_path: Path, seed: int
) -> None:
    with nats_server(tmp_path) as server:
        await kill_often(server, 4, f"sample {seed}")


@pytest.mark.exhaustive(cpu_s=0.7)
@pytest.mark.parametrize("number", range(SEEDS))
async def test_a_server_that_is_killed_at_200_moments_costs_no_event(
    tmp_path: Path, number: int
) -> None:
    with nats_server(tmp_path) as server:
        await kill_often(server, KILLS, f"kills {number}")


async def kill_leaders(cluster: NatsCluster, kills: int, seed: str) -> None:
    tables = Tables(seed)
    pump = RestartedPump(tables.feed, cluster.address, replicas=3)
    tables.play(EVENTS)
    await pump.start()
    for _ in range(kills):
        before = tables.feed.cursor
        async with asyncio.timeout(PATIENCE_S):
            while tables.feed.cursor == before:
                await tables.feed.moves.get()
            leader = await stream_leader(cluster)
            tables.play(EVENTS)
            pump.pump.wake()
            for _ in range(tables.random.randrange(200)):
                await asyncio.sleep(0)  # somewhere in what is published now
        cluster.servers[leader].kill()
        tables.play(EVENTS)
        await pump.drain()  # by the two that are left
        cluster.servers[leader].start()
        await pump.start()
        tables.play(EVENTS)
        pump.pump.wake()
    await pump.drain()
    await stream_leader(cluster)  # it answers
    tables.hold(await stored_messages(cluster.address))


async def test_the_leader_of_three_nodes_is_killed_under_load_and_no_event_is_lost(
    tmp_path: Path, seed: int
) -> None:
    with nats_cluster(tmp_path) as cluster:
        await kill_leaders(cluster, 1, f"sample {seed}")


@pytest.mark.exhaustive(cpu_s=3)
@pytest.mark.parametrize("number", range(4))
async def test_leaders_of_three_nodes_are_killed_one_after_the_other(
    tmp_path: Path, number: int
) -> None:
    with nats_cluster(tmp_path) as cluster:
        await kill_leaders(cluster, 3, f"leaders {number}")
