"""The kit at a real broker, with a real daemon: what the broker loses is seen and fetched."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiomqtt
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from shoe_ctl.cli.recording import SHIPPED
from shoe_events.mqtt import mqtt
from shoe_testing.brokers import Authority, Mosquitto, broker, passwords, subscribed
from shoe_testing.cli import on_terminal, run_shoectl_async
from shoe_testing.config import TABLE, make_config, table_section, this_user
from shoe_testing.daemon import SocketTable, ToldEvents, serving, shoe_on_a_pty
from shoe_testing.guide_programs import LANGUAGES, SHOWN, are_as_shown, guide_program, lines_of
from shoe_testing.ports import HOST
from shoe_testing.socket_client import calling
from shoe_testing.table_system import PATIENCE_S, TableSystem
from shoe_testing.tasks import ended

pytestmark = pytest.mark.slow

USER = "results"
SINK = "floor"
PUBLIC = f"shoe/v1/{TABLE}/public"
LOST = 300
PUBLISH = ("publish", "--from", "irregular_shoe", "--pace-ms", "0")


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


async def test_300_acknowledged_events_that_the_broker_lost_are_noticed_and_fetched(
    tmp_path: Path, at: Mosquitto
) -> None:
    told, system = ToldEvents(), table_system(at.port, SINK)
    with shoe_on_a_pty(tmp_path, seed=7) as rig:
        async with (
            serving(configuration(tmp_path, at), told) as daemon,
            calling(tmp_path / "shoectl.sock", held=True) as caller,
        ):
            table = SocketTable(daemon, rig, told, caller)
            async with system.running():
                await table.rounds(1)
                await system.until(len(told.events))
            before = len(system.applied)
            rounds = 1
            async with subscribed(at.port, PUBLIC) as witness:
                while len(told.events) < before + LOST:
                    rounds += 1
                    await table.rounds(rounds)
                more = len(told.events) - before
                await witness.until(lambda: len(witness.payloads(PUBLIC)) == more)
            at.restart()
            assert await waiting_messages(at.port) == 0
            async with system.running():
                await table.rounds(rounds + 1)
                await system.until(len(told.events))
        assert len(system.applied) > before + LOST
        for path in tmp_path.glob("journal.db*"):
            path.unlink()
        now = len(told.events)
        async with system.running(), serving(configuration(tmp_path, at), told):
            await told.until(lambda: len(told.events) > now)
            await system.until(len(told.events))
    assert system.applied == [(event["source"], event["id"]) for event in told.events]
    assert len({source for source, _ in system.applied}) == 2


async def test_what_one_of_five_consumers_asks_for_comes_to_no_other(
    tmp_path: Path, at: Mosquitto
) -> None:
    told = ToldEvents()
    system = table_system(at.port, SINK)
    with shoe_on_a_pty(tmp_path, seed=7) as rig:
        async with AsyncExitStack() as stack:
            others = [
                await stack.enter_async_context(
                    subscribed(at.port, PUBLIC, f"shoe/v1/{TABLE}/answers/other-{number}/#")
                )
                for number in range(4)
            ]
            daemon = await stack.enter_async_context(serving(configuration(tmp_path, at), told))
            caller = await stack.enter_async_context(calling(tmp_path / "shoectl.sock", held=True))
            table = SocketTable(daemon, rig, told, caller)
            await table.rounds(1)
            async with system.running():
                await system.until(len(told.events))
                await table.rounds(2)  # behind what was sent
                await system.until(len(told.events))
            sent = [event["id"] for event in told.events]
            for other in others:
                await other.until(lambda: len(other.got) >= len(sent))  # noqa: B023
                assert [json.loads(got.payload)["id"] for got in other.got] == sent
    assert system.applied == [(event["source"], event["id"]) for event in told.events]


async def test_a_program_that_stops_while_it_connects_leaves_no_connection(
    at: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that connects goes on when nobody waits for it any more."""
    begun, go_on, closed = threading.Event(), threading.Event(), asyncio.Event()
    connect, close = aiomqtt.Client._client_connect, aiomqtt.Client._on_socket_close

    def connecting(client: aiomqtt.Client) -> None:
        begun.set()
        assert go_on.wait(PATIENCE_S)
        connect(client)

    def closing(*args: Any) -> None:
        close(*args)
        closed.set()

    async def use() -> None:
        async with mqtt(HOST, port=at.port, client_id=USER)():
            raise AssertionError("it was stopped before")

    monkeypatch.setattr(aiomqtt.Client, "_client_connect", connecting)
    monkeypatch.setattr(aiomqtt.Client, "_on_socket_close", closing)
    using = asyncio.create_task(use())
    assert await asyncio.to_thread(begun.wait, PATIENCE_S)
    await ended(using)
    go_on.set()
    async with asyncio.timeout(PATIENCE_S):
        await closed.wait()


@pytest.mark.usefixtures("commands")
async def test_a_recording_that_is_published_is_applied_once_however_often_it_comes(
    tmp_path: Path, at: Mosquitto
) -> None:
    lines = (SHIPPED / "irregular_shoe.jsonl").read_bytes().splitlines()
    public = [event for event in map(json.loads, lines) if "/p" in event["id"]]
    system = table_system(at.port)
    words = (*PUBLISH, "--to", at.address)
    async with system.running():
        for more in (("--leave-out", "t1/p9"), (), ()):
            done = await run_shoectl_async(*words, *more)
            assert done.code == 0, done.err
        await system.until(len(public))
    assert system.applied == [(event["source"], event["id"]) for event in public]


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_guides_program_prints_how_rounds_stand(
    language: str, tmp_path: Path, at: Mosquitto
) -> None:
    async def publish() -> None:
        done = await run_shoectl_async(*PUBLISH, "--to", at.address)
        assert done.code == 0, done.err

    where = [HOST, str(at.port)] if language == "python" else [at.address]
    words = [*guide_program(language, "from_mqtt"), *where, SINK]
    lines = await lines_of(words, tmp_path, len(SHOWN), publish)
    assert are_as_shown(lines), lines


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_guides_program_logs_in_with_a_password_over_tls(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    cert, key = authority.issue("server", host=HOST)
    secret = tmp_path / "secret"
    secret.touch(0o600)
    secret.write_text("publishes")
    login = ("--user", "shoe", "--password-file", str(secret), "--ca", str(authority.file))
    lines = (
        passwords(tmp_path, shoe="publishes", results="reads"),
        *(f"cafile {authority.file}", f"certfile {cert}", f"keyfile {key}"),
    )
    monkeypatch.setenv("MQTT_PASSWORD", "reads")
    monkeypatch.setenv("MQTT_CA", str(authority.file))
    with broker(tmp_path, "allow_anonymous false", *lines, tls=True) as at:

        async def publish() -> None:
            done = await run_shoectl_async(*PUBLISH, "--to", at.address, *login)
            assert done.code == 0, done.err

        where = [HOST, str(at.port)] if language == "python" else [at.address]
        words = [*guide_program(language, "from_mqtt"), *where, SINK]
        shown = await lines_of(words, tmp_path, len(SHOWN), publish)
    assert are_as_shown(shown), shown


@pytest.mark.usefixtures("commands")
async def test_a_terminal_shows_how_far_a_publication_is(at: Mosquitto) -> None:
    words = ("publish", "--from", "irregular_shoe", "--pace-ms", "10", "--to", at.address)
    shown = await asyncio.to_thread(on_terminal, *words)
    assert shown.code == 0
    steps = {int(done) for done in re.findall(r"published +\[[#-]*\] +(\d+)/\d+", shown.text)}
    assert len(steps) > 1
    assert re.search(r"published (\d+) of \1 events", shown.text)
