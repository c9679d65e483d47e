"""Follow all tables of an MQTT broker, and ask the daemon for what the broker loses."""

import asyncio
import sqlite3
import sys

from shoe_events import Change, Consumer, Due
from shoe_events.follow import follow
from shoe_events.mqtt import mqtt
from shoe_events.sqlite import SqliteStore


def book(_db: sqlite3.Connection, due: Due, change: Change | None) -> None:
    """Print what changes a round."""
    if change is not None:
        winner = due.event.data.get("winner")
        print(change.now.round.round_id, change.now.result, winner, flush=True)


async def main(host: str, port: str, sink: str) -> None:
    """Read until the program is stopped. ``sink`` is the daemon's sink for this broker."""
    store = SqliteStore(sqlite3.connect("mqtt.db"), book)
    consumer = Consumer(store.positions(), begin="first")
    connect = mqtt(host, port=int(port), client_id="results", user="results", sink=sink)
    await follow(connect, consumer, store.apply)


asyncio.run(main(*sys.argv[1:]))
