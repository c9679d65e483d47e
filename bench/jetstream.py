"""How long an event takes from its commit to a consumer of JetStream, beside a raw publish.

In: --events and more. Out: a table, or JSON: p50 and p99 of both, and the ratios promised and held.
A real nats-server that syncs each message, and a consumer in a process of its own. Commits of one
event and raw publishes of the same bytes take turns, at two paces. Exits 1 where a promise is
broken.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import platform
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path

from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig

from bench._delivery import PACES_MS, WARMED_BY, Ends, Figures, print_figures, take_turns
from shoe_ctl.sinks.nats import NatsSink
from shoe_testing.nats_server import nats_client, nats_server, target_of

RAW = "raw"
STREAMS = {"SHOE": "shoe.v1.*.public", "RAW": RAW}


def hear(address: str, number: int, out: Connection) -> None:
    """Consume both streams, and send what came, with the time. In its own process."""
    asyncio.run(_hear(address, number, out))


async def _hear(address: str, number: int, out: Connection) -> None:
    heard: list[tuple[str, bytes, int]] = []
    all_there = asyncio.Event()

    async def came(message: Msg) -> None:
        heard.append((message.subject, message.data, time.monotonic_ns()))
        if len(heard) == number:
            all_there.set()

    async with nats_client(address) as (client, js):
        for stream in STREAMS:
            inbox = client.new_inbox()
            await client.subscribe(inbox, cb=came)
            config = ConsumerConfig(deliver_subject=inbox, ack_policy=AckPolicy.NONE)
            await js.add_consumer(stream, config)
        out.send("ready")
        await all_there.wait()
    out.send(heard)


async def measure(address: str, folder: Path, pace_ms: int, events: int) -> Figures:
    """Commits and raw publishes in turn, one each ``pace_ms``."""
    listens, sends = multiprocessing.Pipe(duplex=False)
    async with AsyncExitStack() as stack:
        _, js = await stack.enter_async_context(nats_client(address))
        for name, subject in STREAMS.items():
            await js.add_stream(name=name, subjects=[subject])
            await js.purge_stream(name)
        child = multiprocessing.get_context("spawn").Process(
            target=hear, args=(address, 2 * (events + WARMED_BY), sends)
        )
        child.start()
        await asyncio.to_thread(listens.recv)
        sink = NatsSink("bench", target_of(address))
        stack.push_async_callback(sink.close)
        ends = Ends(sink, lambda body: js.publish(RAW, body), RAW, listens)
        found = await take_turns(folder / f"{pace_ms}.db", pace_ms, events, ends)
        child.join()
    return found


def main() -> int:
    """Exits 1 where a promised ratio is not held."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--events", type=int, default=1000, help="events of each pace and kind")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    found = []
    for pace_ms in PACES_MS:
        with tempfile.TemporaryDirectory() as name, nats_server(Path(name)) as server:
            found.append(asyncio.run(measure(server.address, Path(name), pace_ms, options.events)))
    if options.json:
        rows = [{**asdict(row), "held": row.held} for row in found]
        kept = [one.as_json() for row in found for one in row.promises]
        about = {"python": platform.python_version(), "promises": kept}
        print(json.dumps({**about, "paces": rows}))
    else:
        print_figures(found, options.events)
    return 0 if all(row.held for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
