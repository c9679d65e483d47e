"""Follow tables in a stream of NATS JetStream.

NATS_USER and NATS_PASSWORD log in. NATS_CA is the file of the authority that signed the server's
certificate.
"""

import asyncio
import os
import sqlite3
import ssl
import sys
from typing import Any

from shoe_events import Change, Consumer, Due
from shoe_events.follow import follow
from shoe_events.nats import nats_stream
from shoe_events.sqlite import SqliteStore


def book(_db: sqlite3.Connection, due: Due, change: Change | None) -> None:
    """Print what changes a round."""
    if change is not None:
        winner = due.event.data.get("winner")
        print(change.now.round.round_id, change.now.result, winner, flush=True)


async def main(servers: str, *tables: str) -> None:
    """Read until the program is stopped."""
    store = SqliteStore(sqlite3.connect("nats.db"), book)
    consumer = Consumer(store.positions(), begin="first")
    login: dict[str, Any] = {}
    if user := os.environ.get("NATS_USER"):
        password = os.environ["NATS_PASSWORD"]
        login = {"user": user, "password": password, "inbox_prefix": f"_INBOX_{user}"}
    if ca := os.environ.get("NATS_CA"):
        login["tls"] = ssl.create_default_context(cafile=ca)
    connect = nats_stream(servers, consumer, tables, from_first=True, **login)
    await follow(connect, consumer, store.apply)


asyncio.run(main(*sys.argv[1:]))
