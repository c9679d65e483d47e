"""Keep the result of each round in results.db, from events on stdin."""

import sqlite3
import sys

from shoe_events import Change, Consumer, Due, read_event
from shoe_events.sqlite import SqliteStore

TABLE = (
    "CREATE TABLE IF NOT EXISTS result (source, round_id, winner, PRIMARY KEY (source, round_id))"
)


def book(db: sqlite3.Connection, due: Due, change: Change | None) -> None:
    """Your effect. It runs in the transaction that stores the position, and commits nothing."""
    if change is None:
        return  # not an outcome, or an older one than the one that stands
    winner = "void" if change.now.result == "void" else due.event.data["winner"]
    key = change.now.round
    db.execute("INSERT OR REPLACE INTO result VALUES (?, ?, ?)", (key.source, key.round_id, winner))


db = sqlite3.connect("results.db")
db.execute(TABLE)
store = SqliteStore(db, book)
consumer = Consumer(store.positions())
for line in sys.stdin:
    consumer.offer(read_event(line))
    while (due := consumer.due()) is not None:
        store.apply(due)
        consumer.applied(due)
for row in db.execute("SELECT round_id, winner FROM result ORDER BY round_id"):
    print(*row)
for asked in consumer.wanted():
    print("missing behind", asked.after, "up to number", asked.upto)
