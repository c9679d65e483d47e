"""Follow all tables of an MQTT broker, and ask the daemon for what the broker loses.

MQTT_PASSWORD logs in. MQTT_CA is the file of the authority that signed the broker's certificate.
"""

import asyncio
import os
import sqlite3
import ssl
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
    password, ca = os.environ.get("MQTT_PASSWORD"), os.environ.get("MQTT_CA")
    connect = mqtt(
        host,
        port=int(port),
        client_id="results",
        user="results",
        password=password,
        tls=ssl.create_default_context(cafile=ca) if ca else None,
        sink=sink,
    )
    await follow(connect, consumer, store.apply)


asyncio.run(main(*sys.argv[1:]))
