"""How soon consumers get fresh events when their brokers are killed again and again.

In: --kills and more. Out: a table, or JSON: how long each consumer waits for a fresh event once
the brokers are up, what was lost and applied twice, what was sent again against what was missed.
Consumers of both kits, each in a process of its own, over mosquitto and nats-server; nothing is
patched. A consumer misses an event that the broker acknowledged before the consumer was there
again: a broker that is killed forgets who was there. Exits 1 where a promise is broken.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from bench._delivery import TABLE, NoAlarm, event
from bench._promises import Promise, median_of, most_of, report
from shoe_ctl.api.requests import Caller, Request, StatusRequest
from shoe_ctl.daemon.broker_desk import BrokerDesk
from shoe_ctl.daemon.delivery import NamedSink, delivering
from shoe_ctl.daemon.environment import SYSTEM
from shoe_ctl.daemon.principals import People
from shoe_ctl.daemon.requests import RequestHandler
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience
from shoe_ctl.sinks.mqtt import MqttSink
from shoe_ctl.sinks.mqtt_connection import Broker
from shoe_ctl.sinks.nats import NatsSink
from shoe_testing.brokers import Mosquitto
from shoe_testing.nats_server import NatsServer, target_of
from shoe_testing.paths import ROOT
from shoe_testing.ports import HOST
from shoe_testing.typescript import built_package, program

KILLED_EVERY_S = 6.0
EVENT_EVERY_S = 0.05
CAUGHT_UP_WITHIN_S = 30.0
MOST_MEDIAN_S, MOST_WAIT_S, MOST_AGAIN = 3.0, 10.0, 1.5

PYTHON = """
import asyncio, time
from contextlib import asynccontextmanager
from shoe_events import Consumer
from shoe_events.follow import follow
from shoe_events.{transport} import {function}

consumer = Consumer(begin="first")
connect = {connect}

@asynccontextmanager
async def connecting():
    async with connect() as connection:
        print("connected", time.time(), flush=True)
        yield connection

def apply(due):
    print(due.event.number, time.time(), flush=True)

asyncio.run(follow(connecting, consumer, apply))
"""
TYPESCRIPT = """
import {{ Consumer, follow }} from "{package}/src/index.js";
import {{ {function} }} from "{package}/src/{transport}.js";

const consumer = new Consumer([], {{ begin: "first" }});
const connect = {connect};
const connecting = async () => {{
  const connection = await connect();
  console.log("connected", Date.now() / 1000);
  return connection;
}};
await follow(connecting, consumer, (due) => {{
  console.log(due.event.number, Date.now() / 1000);
}});
"""
MQTT_SINK = "mqtt"
USERS = ("python", "typescript")


class Followers:
    """A process for each kit and transport, and when it applied which number."""

    def __init__(self, folder: Path, mqtt_port: int, nats_address: str) -> None:
        self.applied: dict[str, list[tuple[int, float]]] = {}
        self.connected: dict[str, list[float]] = {}
        self._folder = folder
        self._stack = AsyncExitStack()
        login = 'user="python", client_id="python"'
        self._programs = {
            "Python, MQTT": PYTHON.format(
                transport="mqtt",
                function="mqtt",
                connect=f'mqtt("{HOST}", port={mqtt_port}, {login}, sink="{MQTT_SINK}")',
            ),
            "Python, NATS": PYTHON.format(
                transport="nats",
                function="nats_stream",
                connect=f'nats_stream("{nats_address}", consumer, ["{TABLE}"], from_first=True)',
            ),
            "TypeScript, MQTT": TYPESCRIPT.format(
                package=built_package(),
                transport="mqtt",
                function="mqtt",
                connect=f'mqtt("mqtt://{HOST}:{mqtt_port}", {{ clientId: "typescript", '
                f'username: "typescript", sink: "{MQTT_SINK}" }})',
            ),
            "TypeScript, NATS": TYPESCRIPT.format(
                package=built_package(),
                transport="nats",
                function="natsStream",
                connect=f'natsStream({{ servers: "{nats_address}" }}, consumer, ["{TABLE}"], '
                "{ fromFirst: true })",
            ),
        }

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run all of them until leaving."""
        children, reading = [], []
        try:
            for name, text in self._programs.items():
                is_python = name.startswith("Python")
                path = self._folder / f"{name.replace(', ', '-')}.{'py' if is_python else 'mjs'}"
                path.write_text(text)
                child = await asyncio.create_subprocess_exec(
                    sys.executable if is_python else program("node"),
                    str(path),
                    env=os.environ | {"PYTHONPATH": str(ROOT / "clients/python")},
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.DEVNULL,
                )
                children.append(child)
                assert child.stdout is not None
                reading.append(asyncio.create_task(self._read(name, child.stdout)))
            yield
        finally:
            for child in children:
                if child.returncode is None:
                    child.kill()
                await child.wait()
            await asyncio.gather(*reading)

    async def _read(self, name: str, stream: asyncio.StreamReader) -> None:
        self.applied[name], self.connected[name] = [], []
        while line := await stream.readline():
            what, at = line.split()
            if what == b"connected":
                self.connected[name].append(float(at))
            else:
                self.applied[name].append((int(what), float(at)))

    async def have(self, number: int) -> bool:
        """Wait until each has applied so many events; False if one does not in time."""
        deadline = time.monotonic() + CAUGHT_UP_WITHIN_S
        while time.monotonic() < deadline:
            if len(self.applied) == len(self._programs) and all(
                len({number for number, _ in each}) >= number for each in self.applied.values()
            ):
                return True
            await asyncio.sleep(0.1)
        return False


class Timed:
    """A sink, and when it had delivered which number for the first time."""

    def __init__(self, sink: Any) -> None:
        self._sink = sink
        self.delivered: dict[int, float] = {}

    async def deliver(self, events: Sequence[bytes]) -> None:
        await self._sink.deliver(events)
        at = time.time()
        for body in events:
            self.delivered.setdefault(number_of(body), at)

    async def deliver_again(self, events: Sequence[bytes]) -> None:
        await getattr(self._sink, "deliver_again", self._sink.deliver)(events)


def number_of(body: bytes) -> int:
    """Return the number in an event's id."""
    return int(json.loads(body)["id"].rpartition("/p")[2])


class Hall:
    """Two brokers, the daemon's sinks and journal, and the consumers."""

    def __init__(self, folder: Path) -> None:
        self.sent_again = 0
        self.up_at: list[float] = []
        self.committed: list[float] = []
        self._mosquitto = Mosquitto(
            folder, "allow_anonymous true", "persistence true", "persistence_location {folder}/"
        )
        (folder / "nats").mkdir()
        self._nats = NatsServer(folder / "nats")
        self._folder = folder
        self.followers = Followers(folder, self._mosquitto.port, self._nats.address)
        self.sinks: dict[str, Timed] = {}

    async def run(self, kills: int) -> None:
        """Publish for as long as it takes to kill the brokers so often."""
        self._mosquitto.start()
        self._nats.start()
        async with AsyncExitStack() as stack:
            stack.callback(self._mosquitto.kill)
            stack.callback(self._nats.kill)
            store = Store.open(self._folder / "journal.db")
            journal = Journal(store, stack.enter_context(ThreadPoolExecutor(1)))
            stack.push_async_callback(journal.close)
            caller = Caller(user="bench", position="surveillance", sees=Audience.PUBLIC)
            desk = BrokerDesk(dict.fromkeys(USERS, caller), dict.fromkeys(USERS, (TABLE,)))
            over_mqtt = MqttSink(
                MQTT_SINK,
                Broker(HOST, self._mosquitto.port),
                Audience.PUBLIC,
                [TABLE],
                desk,
                takes_commands=True,
                states=[TABLE],
            )
            over_nats = NatsSink("nats", target_of(self._nats.address))
            stack.push_async_callback(over_nats.close)
            await stack.enter_async_context(over_mqtt.connected())
            self.sinks = {"MQTT": Timed(over_mqtt), "NATS": Timed(over_nats)}
            named = [
                NamedSink(name.lower(), Audience.PUBLIC, sink) for name, sink in self.sinks.items()
            ]
            deliveries = await stack.enter_async_context(
                delivering(named, journal, store, SYSTEM, lambda *_: NoAlarm(), tables=[TABLE])
            )
            handler = RequestHandler({}, deliveries.sinks, People([]))
            stack.push_async_callback(handler.close)

            async def answer(caller: Caller, asked: Request) -> Mapping[str, Any]:
                if isinstance(asked, StatusRequest):
                    return {"tables": [{"table": TABLE}]}
                found = await handler.answer(caller, asked)
                self.sent_again += found.get("resent", {}).get("events", 0)
                return found

            await stack.enter_async_context(desk.open(answer))
            await self._publish(journal)
            await stack.enter_async_context(self.followers.running())
            if not await self.followers.have(1):
                raise SystemExit("not every consumer has come")
            publishing = asyncio.create_task(self._publish_on(journal))
            for _ in range(kills):
                await asyncio.sleep(KILLED_EVERY_S)
                await asyncio.to_thread(self._kill)
                self.up_at.append(time.time())
            await asyncio.sleep(MOST_WAIT_S)
            publishing.cancel()
            await asyncio.wait({publishing})
            await self.followers.have(len(self.committed))

    def _kill(self) -> None:
        for server in (self._mosquitto, self._nats):
            server.kill()
        for server in (self._mosquitto, self._nats):
            server.start()

    async def _publish(self, journal: Journal) -> None:
        self.committed.append(time.time())
        await journal.commit(event(len(self.committed)))

    async def _publish_on(self, journal: Journal) -> None:
        while True:
            await self._publish(journal)
            await asyncio.sleep(EVENT_EVERY_S)


def promises(hall: Hall) -> list[Promise]:
    """Return the figures of each consumer, and of what was sent again."""
    found, missed_over_mqtt = [], 0
    for name, applied in hall.followers.applied.items():
        waits = [
            min(
                (at for number, at in applied if hall.committed[number - 1] >= up), default=up + 999
            )
            - up
            for up in hall.up_at
        ]
        times = Counter(number for number, _ in applied)
        first = dict(reversed(applied))
        delivered = hall.sinks[name.rpartition(" ")[2]].delivered
        connected = hall.followers.connected[name]
        missed = sum(
            any(delivered.get(number, at) < there <= at for there in connected)
            for number, at in first.items()
        )
        missed_over_mqtt += missed if name.endswith("MQTT") else 0
        lost = len(hall.committed) - len(times)
        found += [
            median_of(f"{name}: median wait", waits, unit="s", most=MOST_MEDIAN_S),
            most_of(f"{name}: longest wait", waits, unit="s", most=MOST_WAIT_S),
            Promise(f"{name}: lost of {len(hall.committed)}", lost, most=0),
            Promise(f"{name}: applied twice", sum(times.values()) - len(times), most=0),
            Promise(f"{name}: missed", missed),
        ]
    again = hall.sent_again / max(1, missed_over_mqtt)
    return [
        *found,
        Promise("events that the daemon sent again", hall.sent_again),
        Promise("sent again, times those missed over MQTT", again, most=MOST_AGAIN),
    ]


def main() -> int:
    """Exits 1 where a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=40, help="how often both brokers are killed")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    if options.kills < 1:
        parser.error(f"--kills {options.kills}: 1 or more")
    with tempfile.TemporaryDirectory() as name:
        hall = Hall(Path(name))
        asyncio.run(hall.run(options.kills))
    return report(promises(hall), as_json=options.json, kills=options.kills)


if __name__ == "__main__":
    sys.exit(main())
