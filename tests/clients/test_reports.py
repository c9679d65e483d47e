"""The kit reports what was applied, over every way in: once for each end, again after an outage."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from shoe_events import Consumer, Due, Reports, read_event
from shoe_events.follow import Connect, NotAnswered, follow
from shoe_events.mqtt import mqtt
from shoe_events.nats import nats_stream
from shoe_events.reports import Refused
from shoe_events.unix_socket import socket
from shoe_testing.brokers import broker
from shoe_testing.config import TABLE, make_config, table_section, this_user
from shoe_testing.daemon import SocketTable, ToldEvents, serving, shoe_on_a_pty
from shoe_testing.nats_server import nats_server
from shoe_testing.ports import HOST
from shoe_testing.socket_client import calling
from shoe_testing.typescript import built_package, program

pytestmark = pytest.mark.slow

USER = "results"
SINK = "floor"
PATIENCE_S = 60.0

Way = tuple[list[dict[str, Any]], Callable[[Consumer], Connect]]


def over_socket(folder: Path, _stack: ExitStack) -> Way:
    def connect(consumer: Consumer) -> Connect:
        return socket(folder / "shoectl.sock", consumer, [TABLE], from_first=True)

    return [], connect


def over_mqtt(folder: Path, stack: ExitStack) -> Way:
    served = stack.enter_context(broker(folder, "allow_anonymous true", "max_queued_messages 0"))

    def connect(_consumer: Consumer) -> Connect:
        return mqtt(HOST, port=served.port, client_id=USER, user=USER, sink=SINK)

    return [sink("mqtt", served.address)], connect


def over_nats(folder: Path, stack: ExitStack) -> Way:
    served = stack.enter_context(nats_server(folder))

    def connect(consumer: Consumer) -> Connect:
        return nats_stream(served.address, consumer, [TABLE], from_first=True, sink=SINK, user=USER)

    return [sink("nats", served.address)], connect


def sink(kind: str, address: str) -> dict[str, Any]:
    sender = {"user": USER, "position": "dealer", "applies": True}
    return {"kind": kind, "address": address, "name": SINK, "sender": [sender]}


def configuration(folder: Path, sinks: list[dict[str, Any]]) -> Path:
    config = folder / "table.toml"
    section = table_section(
        port=str(folder / "shoe"), announcements="explicit", applied_within_s=3600
    )
    user = this_user("gaming_shift_manager", applies=True)
    config.write_text(make_config(section, sink=sinks, socket={"user": [user]}))
    return config


@asynccontextmanager
async def reporting(connect: Connect, consumer: Consumer, reports: Reports) -> AsyncIterator[None]:
    """A table system that follows and reports until leaving."""
    following = asyncio.create_task(
        follow(connect, consumer, lambda _: None, reports=reports, ask_again_s=0.3)
    )
    try:
        yield
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following


def booking(due: Due) -> str:
    return f"b-{due.event.data['round_id']}"


@pytest.mark.parametrize("way", [over_socket, over_mqtt, over_nats])
async def test_each_outcome_is_reported_once_and_the_shoe_agrees(
    way: Callable[[Path, ExitStack], Way], tmp_path: Path
) -> None:
    told, reports = ToldEvents(), Reports(booking)
    consumer = Consumer(begin="first")
    with ExitStack() as stack, shoe_on_a_pty(tmp_path, seed=7) as rig:
        sinks, connect = way(tmp_path, stack)
        config = configuration(tmp_path, sinks)
        async with (
            serving(config, told) as daemon,
            calling(tmp_path / "shoectl.sock") as caller,
            reporting(connect(consumer), consumer, reports),
        ):
            table = SocketTable(daemon, rig, told, caller)
            await table.rounds(2)
            await told.until(lambda: len(of_type(told, "outcome.applied")) == 2)
            outcomes = of_type(told, "round.outcome")
            applied = [event["data"]["event"] for event in of_type(told, "outcome.applied")]
            assert applied == [event["id"] for event in outcomes]
            assert (await table.status())["unapplied"] == []
            shoe = outcomes[0]["data"]["shoe_id"]
            rounds = [{"round_id": event["subject"]} for event in outcomes]
            async with asyncio.timeout(PATIENCE_S):
                differs = await reports.shoe(TABLE, shoe, rounds[1:])
                assert differs["first"] == rounds[0]["round_id"]
                assert (await reports.shoe(TABLE, shoe, rounds))["agrees"]
                with pytest.raises(Refused, match="agreed"):
                    await reports.shoe(TABLE, shoe, rounds)


TYPESCRIPT = """
import {{ createInterface }} from "node:readline";
import {{ Consumer, follow, Reports }} from "{dist}/src/index.js";
import {{ mqtt }} from "{dist}/src/mqtt.js";
import {{ natsStream }} from "{dist}/src/nats.js";
import {{ socket }} from "{dist}/src/unix_socket.js";

const [way, address, table] = process.argv.slice(2);
const consumer = new Consumer([], {{ begin: "first" }});
const options = {{ fromFirst: true, sink: "{sink}" }};
const connect = {{
  socket: () => socket(address, consumer, [table], options),
  mqtt: () => mqtt(address, {{ clientId: "{user}", username: "{user}", sink: "{sink}" }}),
  nats: () => natsStream({{ servers: address, user: "{user}" }}, consumer, [table], options),
}}[way]();
const reports = new Reports((due) => `b-${{due.event.data.round_id}}`);
createInterface({{ input: process.stdin }}).on("line", async (line) => {{
  const {{ shoe, rounds }} = JSON.parse(line);
  const said = await reports.shoe(table, shoe, rounds).catch((error) => ({{ code: error.code }}));
  console.log(JSON.stringify(said));
}});
await follow(connect, consumer, () => undefined, {{ reports }});
"""


class Program:
    """The same table system in TypeScript, as a program of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def shoe(self, shoe: str, rounds: list[dict[str, Any]]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"shoe": shoe, "rounds": rounds}).encode() + b"\n")
        async with asyncio.timeout(PATIENCE_S):
            said: dict[str, Any] = json.loads(await self._process.stdout.readline())
        return said


@asynccontextmanager
async def program_of(folder: Path, way: str, address: str) -> AsyncIterator[Program]:
    script = folder / "reports.mjs"
    script.write_text(TYPESCRIPT.format(dist=built_package(), sink=SINK, user=USER))
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        program("node"), script, way, address, TABLE, stdin=pipe, stdout=pipe
    )
    try:
        yield Program(process)
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("way", [over_socket, over_mqtt, over_nats])
async def test_the_kit_in_typescript_reports_the_same(
    way: Callable[[Path, ExitStack], Way], tmp_path: Path
) -> None:
    told, path = ToldEvents(), str(tmp_path / "shoectl.sock")
    with ExitStack() as stack, shoe_on_a_pty(tmp_path, seed=7) as rig:
        sinks, _ = way(tmp_path, stack)
        kind, address = (sinks[0]["kind"], sinks[0]["address"]) if sinks else ("socket", path)
        async with (
            serving(configuration(tmp_path, sinks), told) as daemon,
            calling(Path(path)) as caller,
            program_of(tmp_path, kind, address) as system,
        ):
            table = SocketTable(daemon, rig, told, caller)
            await table.rounds(2)
            await told.until(lambda: len(of_type(told, "outcome.applied")) == 2)
            assert (await table.status())["unapplied"] == []
            rounds = [{"round_id": event["subject"]} for event in of_type(told, "round.outcome")]
            shoe = of_type(told, "round.outcome")[0]["data"]["shoe_id"]
            assert (await system.shoe(shoe, rounds[:1]))["first"] == rounds[1]["round_id"]
            assert (await system.shoe(shoe, rounds))["agrees"]
            assert await system.shoe(shoe, rounds) == {"code": "refused_shoe_agreed"}


def of_type(told: ToldEvents, kind: str) -> list[dict[str, Any]]:
    return [event for event in told.events if event["type"] == kind]


class Answering:
    """A connection with these answers, one for each request."""

    def __init__(self, *answers: Mapping[str, Any] | Exception) -> None:
        self.asked: list[Mapping[str, Any]] = []
        self.has_all = asyncio.Event()
        self._answers = list(answers)

    async def request(self, table: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        assert table == TABLE
        self.asked.append(asked)
        answer = self._answers.pop(0)
        if not self._answers:
            self.has_all.set()
        if isinstance(answer, Exception):
            raise answer
        return answer


def refusal(code: str) -> dict[str, Any]:
    return {"accepted": False, "error": {"code": code, "args": {}, "text": f"because {code}"}}


def due(number: int, kind: str = "round.outcome") -> Due:
    consumer = Consumer()
    event = {
        "id": f"{TABLE}/p{number}", "source": "/journal/1/table/x", "type": kind, "time": "t",
        "data": {"round_id": f"{TABLE}-s1-r{number}"},
    }  # fmt: skip
    consumer.offer(read_event(event))
    found = consumer.due()
    assert found is not None
    return found


async def sent(reports: Reports, connection: Answering) -> None:
    """Send until the connection has given all its answers."""
    sending = asyncio.create_task(reports.send(connection, 0))
    async with asyncio.timeout(PATIENCE_S):
        await connection.has_all.wait()
    for _ in range(3):
        await asyncio.sleep(0)
    sending.cancel()
    with suppress(asyncio.CancelledError, NotAnswered):
        await sending


async def test_a_report_without_an_answer_is_sent_again_over_the_next_connection() -> None:
    reports = Reports(booking)
    reports.applied(due(5))
    reports.applied(due(6, "round.settled"))  # nothing to report
    first = Answering(refusal("daemon_starting"), NotAnswered())
    await sent(reports, first)
    assert [asked["event"] for asked in first.asked] == [f"{TABLE}/p5"] * 2
    second = Answering({"applied": {}})
    await sent(reports, second)
    assert [asked["reference"] for asked in second.asked] == [f"b-{TABLE}-s1-r5"]
    third = Answering({"applied": {}})
    reports.applied(due(7))
    await sent(reports, third)
    assert [asked["event"] for asked in third.asked] == [f"{TABLE}/p7"]


async def test_a_refused_report_is_logged_and_does_not_hold_up_the_next_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reports = Reports(lambda due: None if due.event.number == 5 else booking(due))
    for number in (5, 6, 7):
        reports.applied(due(number))
    connection = Answering(refusal("refused_applied_superseded"), {"applied": {}})
    with caplog.at_level(logging.WARNING):
        await sent(reports, connection)
    assert [asked["event"] for asked in connection.asked] == [f"{TABLE}/p6", f"{TABLE}/p7"]
    assert f"{TABLE}/p6: because refused_applied_superseded" in caplog.text


async def test_of_too_many_reports_the_oldest_is_dropped_and_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoe_events.reports.MOST_WAITING", 2)
    reports = Reports(booking)
    statement = asyncio.create_task(reports.shoe(TABLE, f"{TABLE}-s1", []))
    await asyncio.sleep(0)
    for number in (5, 6, 7):
        reports.applied(due(number))
    with pytest.raises(Refused, match="too many reports wait"):
        await statement
    assert caplog.text.count("a report was dropped") == 2
    connection = Answering({"applied": {}}, {"applied": {}})
    await sent(reports, connection)
    assert [asked["event"] for asked in connection.asked] == [f"{TABLE}/p6", f"{TABLE}/p7"]
