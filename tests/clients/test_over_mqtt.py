"""The kit at a real broker, with a real daemon: what the broker loses is seen and fetched."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import aiomqtt
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from shoe_ctl.cli.recording import SHIPPED
from shoe_events.mqtt import mqtt
from shoe_testing.brokers import HOST, Mosquitto, broker
from shoe_testing.cli import run_shoectl_async
from shoe_testing.config import TABLE, make_config, table_section, this_user
from shoe_testing.daemon import SocketTable, ToldEvents, serving, shoe_on_a_pty
from shoe_testing.paths import ROOT
from shoe_testing.socket_client import calling
from shoe_testing.table_system import TableSystem
from shoe_testing.typescript import built_package, program

pytestmark = pytest.mark.slow

USER = "results"
SINK = "floor"
LOST = 300


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Mosquitto]:
    """A broker that keeps nothing on a disk, and queues what it must."""
    with broker(tmp_path, "allow_anonymous true", "max_queued_messages 0") as served:
        yield served


def table_system(port: int, sink: str | None = None) -> TableSystem:
    return TableSystem(
        lambda _: mqtt(HOST, port=port, client_id=USER, user=USER, sink=sink), begin="first"
    )


def configuration(folder: Path, at: Mosquitto) -> Path:
    path = folder / "table.toml"
    sender = {"user": USER, "position": "dealer"}
    sink = {"kind": "mqtt", "address": at.address, "name": SINK, "sender": [sender]}
    table = table_section(port=str(folder / "shoe"), announcements="explicit")
    user = this_user("gaming_shift_manager")
    path.write_text(make_config(table, sink=[sink], socket={"user": [user]}))
    return path


async def waiting_messages(port: int) -> int:
    """How many messages the broker has for the program that is away; they are taken from it."""
    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    properties.SessionExpiryInterval = 3600
    client = aiomqtt.Client(
        HOST, port, identifier=USER, username=USER, protocol=aiomqtt.ProtocolVersion.V5,
        clean_start=False, properties=properties,
    )  # fmt: skip
    async with client:
        await client.subscribe("shoe/end")
        await client.publish("shoe/end", qos=1)
        count = 0
        async for message in client.messages:
            if message.topic.value == "shoe/end":
                return count
            count += message.topic.value.endswith("/public")
    raise AssertionError


async def test_a_broker_that_lost_300_acknowledged_messages_is_noticed_and_they_are_fetched(
    tmp_path: Path, at: Mosquitto
) -> None:
    told, system = ToldEvents(), table_system(at.port, SINK)
    with shoe_on_a_pty(tmp_path, seed=7) as rig:
        async with (
            serving(configuration(tmp_path, at), told) as daemon,
            calling(tmp_path / "shoectl.sock") as caller,
        ):
            table = SocketTable(daemon, rig, told, caller)
            async with system.running():
                await table.rounds(1)
                await system.until(len(told.events))
            before = len(system.applied)
            rounds = 1
            while len(told.events) < before + LOST:
                rounds += 1
                await table.rounds(rounds)
            assert (await caller.asks(request="status"))["sinks"][0]["state"] == "at_work"
            at.restart()
            assert await waiting_messages(at.port) == 0
            async with system.running():
                await table.rounds(rounds + 1)
                await system.until(len(told.events))
    assert system.applied == [(event["source"], event["id"]) for event in told.events]
    assert len(system.applied) > before + LOST
    assert system.applied[-1][1].startswith(f"{TABLE}/p")


@pytest.mark.usefixtures("commands")
async def test_a_recording_that_is_published_is_applied_once_however_often_it_comes(
    tmp_path: Path, at: Mosquitto
) -> None:
    lines = (SHIPPED / "irregular_shoe.jsonl").read_bytes().splitlines()
    public = [event for event in map(json.loads, lines) if "/p" in event["id"]]
    system = table_system(at.port)
    words = ("publish", "--from", "irregular_shoe", "--pace-ms", "0", "--to", at.address)
    async with system.running():
        for more in (("--leave-out", "t1/p9"), (), ()):
            done = await run_shoectl_async(*words, *more)
            assert done.code == 0, done.err
        await system.until(len(public))
    assert system.applied == [(event["source"], event["id"]) for event in public]


EXAMPLES: dict[str, Callable[[Mosquitto], list[str]]] = {
    "python": lambda at: [
        sys.executable, str(ROOT / "clients/python/examples/from_mqtt.py"),
        HOST, str(at.port), SINK,
    ],
    "typescript": lambda at: [
        program("node"), str(built_package() / "examples/from_mqtt.js"), at.address, SINK,
    ],
}  # fmt: skip


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("language", EXAMPLES)
async def test_the_guides_example_prints_how_rounds_stand(
    language: str, tmp_path: Path, at: Mosquitto
) -> None:
    expected = (
        "t1-s1-r1 outcome player",
        "t1-s1-r2 outcome player", "t1-s1-r2 outcome tie",
        "t1-s1-r3 void",
        "t1-s1-r4 outcome", "t1-s1-r4 void",
        "t1-s1-r5 outcome player",
        "t1-s1-r6 outcome player",
    )  # fmt: skip
    words = ("publish", "--from", "irregular_shoe", "--pace-ms", "0", "--to", at.address)
    path = os.environ | {"PYTHONPATH": str(ROOT / "clients/python")}
    child = await asyncio.create_subprocess_exec(
        *EXAMPLES[language](at), cwd=tmp_path, env=path, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    shown: list[str] = []
    reading = asyncio.create_task(read_lines(child.stdout, shown, len(expected)))
    try:
        while not reading.done():  # it may connect in the middle of a recording
            assert (await run_shoectl_async(*words)).code == 0
            await asyncio.wait({reading}, timeout=0.5)
    finally:
        child.kill()
        await child.wait()
        await reading
    assert all(line.startswith(start) for line, start in zip(shown, expected, strict=True)), shown


async def read_lines(stream: asyncio.StreamReader, lines: list[str], count: int) -> None:
    while len(lines) < count and (line := await stream.readline()):
        lines.append(line.decode().strip())
