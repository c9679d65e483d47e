"""Follow the tables of a daemon at its socket. The store is the one of results.py."""

import asyncio
import sqlite3
import sys

from shoe_events import Change, Consumer, Due
from shoe_events.follow import follow
from shoe_events.sqlite import SqliteStore
from shoe_events.unix_socket import socket


def book(_db: sqlite3.Connection, due: Due, change: Change | None) -> None:
    """Print what changes a round."""
    if change is not None:
        winner = due.event.data.get("winner")
        print(change.now.round.round_id, change.now.result, winner, flush=True)


async def main(path: str, *tables: str) -> None:
    """Read until the program is stopped."""
    store = SqliteStore(sqlite3.connect("socket.db"), book)
    consumer = Consumer(store.positions())
    await follow(socket(path, consumer, tables, from_first=True), consumer, store.apply)


asyncio.run(main(*sys.argv[1:]))
