"""How long an event takes from its commit to a subscriber, beside a raw publish of the same bytes.

In: --events and more. Out: a table, or JSON: p50 and p99 of both, and the ratios promised and held.
A real broker (mosquitto) and a subscriber in a process of its own. Commits of one event and raw
publishes with QoS 1 take turns, at two paces, so that a slow minute of the machine is shared by
both. Then a whole shoe is dealt, and the way of each card from the shoe's bytes to the subscriber
is reported in its parts: until its event is stored and handed to the sinks, and from there on.
Exits 1 where a promise is broken.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import platform
import socket
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from datetime import datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiomqtt
import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from bench._delivery import (
    PACES_MS,
    TABLE,
    WARMED_BY,
    Ends,
    Figures,
    of,
    print_figures,
    take_turns,
)
from bench._shoe import simulated_shoe
from shoe_ctl.clock import SystemClock
from shoe_ctl.config.schema import of_plain
from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.daemon.delivery import NamedSink
from shoe_ctl.records import Audience
from shoe_ctl.sinks.brokers import Asked
from shoe_ctl.sinks.mqtt import MqttSink, topic
from shoe_ctl.sinks.mqtt_connection import Broker
from shoe_ctl.sinks.pump import Sink
from shoe_testing.brokers import Mosquitto, broker
from shoe_testing.ports import HOST

RAW = "bench/raw"
CARD = "round.card_dealt"
CARD_EVERY_MS = 30
NODELAY = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class NoDesk:
    """No commands, and nothing to say of the table: the state is measured with the daemon."""

    async def answer(self, asked: Asked) -> bytes:
        raise AssertionError(asked)

    async def state(self, table: str) -> Mapping[str, Any]:
        return {"table": table}


def hear(port: int, number: int | None, out: Connection) -> None:
    """Subscribe, and send what came, with the time, once there are so many. In its own process.

    Without a number it is until the shoe is dealt, and times are those of the wall clock.
    """
    heard: list[tuple[str, bytes, int]] = []
    now = time.time_ns if number is None else time.monotonic_ns

    def came(client: paho.Client, _: object, message: paho.MQTTMessage) -> None:
        body = bytes(message.payload)
        heard.append((message.topic, body, now()))
        if len(heard) == number or (number is None and b'"shoe.change_due"' in body):
            client.disconnect()

    client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
    client.on_message = came
    client.on_subscribe = lambda *_: out.send("ready")
    client.connect(HOST, port)
    sock = client.socket()
    assert isinstance(sock, socket.socket)
    sock.setsockopt(*NODELAY)
    client.subscribe([(topic(TABLE, "public"), 1), (RAW, 1)])
    client.loop_forever()
    out.send(heard)


@dataclass(frozen=True, slots=True)
class Way:
    """The way of a card, in µs: from the shoe's bytes to its stored event, and to a subscriber."""

    cards: int
    stored_p50: float
    stored_p99: float
    heard_p50: float
    heard_p99: float
    whole_p50: float
    whole_p99: float


class Stored(Sink):
    """A sink that notes when it is handed an event."""

    def __init__(self) -> None:
        self.at: dict[str, int] = {}
        self.is_dealt = asyncio.Event()

    async def deliver(self, events: Sequence[bytes]) -> None:
        now = time.time_ns()
        for body in events:
            event = json.loads(body)
            if event["type"] == CARD:
                self.at[event["id"]] = now
            elif event["type"] == "shoe.change_due":
                self.is_dealt.set()


async def deal(at: Mosquitto, folder: Path) -> Way:
    """A shoe, dealt to a daemon that publishes to this broker."""
    stored, ready = Stored(), asyncio.Event()
    with simulated_shoe("reference", CARD_EVERY_MS) as port:
        listens, sends = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.get_context("spawn").Process(
            target=hear, args=(at.port, None, sends)
        )
        child.start()
        listens.recv()
        table = {
            "id": TABLE,
            "game": "tiger",
            "announcements": "implied",
            "method_b": {"faces": "face_up", "face_up_after_ms": 0},
            "shoe": {"profile": "reference", "port": port},
        }
        sink = {"kind": "mqtt", "address": at.address}
        journal = {"path": str(folder / "shoe.db")}
        config = of_plain({"journal": journal, "table": [table], "sink": [sink]}, "bench")
        with ThreadPoolExecutor(1) as executor:
            daemon = Daemon(
                config,
                clock=SystemClock(),
                executor=executor,
                host_boot="bench",
                sinks=[NamedSink("stored", Audience.PUBLIC, stored)],
            )
            running = asyncio.create_task(daemon.run(ready.set))
            await stored.is_dealt.wait()
            running.cancel()
            await asyncio.wait({running})
        heard = await asyncio.to_thread(listens.recv)
        child.join()
    parts: list[tuple[int, int]] = []
    for _, body, came in heard:
        event = json.loads(body)
        if event["type"] == CARD:
            read = round(datetime.fromisoformat(event["time"]).timestamp() * 1e6) * 1000
            parts.append((stored.at[event["id"]] - read, came - stored.at[event["id"]]))
    firsts, seconds = [a for a, _ in parts], [b for _, b in parts]
    wholes = [a + b for a, b in parts]
    return Way(
        len(parts),
        *(of(times, share) for times in (firsts, seconds, wholes) for share in (0.5, 0.99)),
    )


async def measure(at: Mosquitto, folder: Path, pace_ms: int, events: int) -> Figures:
    """Commits and raw publishes in turn, one each ``pace_ms``."""
    listens, sends = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("spawn").Process(
        target=hear, args=(at.port, 2 * (events + WARMED_BY), sends)
    )
    child.start()
    listens.recv()
    async with AsyncExitStack() as stack:
        where = Broker(HOST, at.port)
        sink = MqttSink("bench", where, Audience.PUBLIC, [TABLE], NoDesk(), states=[TABLE])
        await stack.enter_async_context(sink.connected())
        raw = await stack.enter_async_context(
            aiomqtt.Client(
                HOST, at.port, protocol=aiomqtt.ProtocolVersion.V5, socket_options=[NODELAY]
            )
        )
        ends = Ends(sink, lambda body: raw.publish(RAW, body, qos=1), RAW, listens)
        found = await take_turns(folder / f"{pace_ms}.db", pace_ms, events, ends)
    child.join()
    return found


def main() -> int:
    """Exits 1 where a promised ratio is not held."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--events", type=int, default=1000, help="events of each pace and kind")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with broker(folder) as at:
            found = [
                asyncio.run(measure(at, folder, pace_ms, options.events)) for pace_ms in PACES_MS
            ]
            way = asyncio.run(deal(at, folder))
    if options.json:
        rows = [{**asdict(row), "held": row.held} for row in found]
        kept = [one.as_json() for row in found for one in row.promises]
        about = {"python": platform.python_version(), "promises": kept}
        print(json.dumps({**about, "paces": rows, "way": asdict(way)}))
    else:
        print_figures(found, options.events)
        print(f"the way of {way.cards} cards, one each {CARD_EVERY_MS} ms; p50 and p99, µs:")
        for name, p50, p99 in (
            ("the shoe's bytes to a stored event", way.stored_p50, way.stored_p99),
            ("from there to a subscriber", way.heard_p50, way.heard_p99),
            ("the whole way", way.whole_p50, way.whole_p99),
        ):
            print(f"  {name:36}{p50:9.0f}{p99:9.0f}")
    return 0 if all(row.held for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
