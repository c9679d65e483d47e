"""A journal as version 1 laid it out: no index, no snapshots, no checkpoints, one start a start.

In: what a table heard. Out: the file, with the very tables of then.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw

from shoe_ctl.journal.chain import GENESIS, link
from shoe_ctl.journal.schema import APPLICATION_ID
from tests.journal.making import records
from tests.wiring.at_a_journal import at_a_journal
from tests.wiring.test_start_records import dealt_by, meta

_NEW_SINCE = {"snapshot", "checkpoint"}

_TABLES = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = 1;
CREATE TABLE record (
    n       INTEGER PRIMARY KEY,
    "table" TEXT NOT NULL,
    kind    TEXT NOT NULL,
    body    BLOB NOT NULL,
    hash    BLOB NOT NULL
) STRICT;
CREATE TABLE head (
    "table"    TEXT PRIMARY KEY,
    n          INTEGER NOT NULL,
    hash       BLOB NOT NULL,
    public     INTEGER NOT NULL,
    restricted INTEGER NOT NULL,
    connection INTEGER NOT NULL,
    t_us       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE device (
    "table"   TEXT NOT NULL,
    device_id TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    PRIMARY KEY ("table", device_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE cursor (
    sink    TEXT NOT NULL,
    "table" TEXT NOT NULL,
    n       INTEGER NOT NULL,
    PRIMARY KEY (sink, "table")
) STRICT, WITHOUT ROWID;
"""


def make(path: Path, cards: str) -> int:
    """A table that was dealt these cards; how many records it gave."""
    now = path.with_name("now.db")
    with at_a_journal(now, meta(), dealt_by(cards)) as table:
        head = table.store.head("bac-07")
    rows: list[tuple[int, str, str, bytes, bytes]] = []
    end, started = GENESIS, False
    for record in records(now):
        if record.kind in _NEW_SINCE or (record.kind == "meta" and started):
            continue
        started = True
        n = len(rows) + 1
        end = link(end, n, record.table, record.kind, record.body)
        rows.append((n, record.table, record.kind, record.body, end))
    now.unlink()
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(_TABLES)
        with connection:
            connection.executemany("INSERT INTO record VALUES (?, ?, ?, ?, ?)", rows)
            counters = (head.counters.public, head.counters.restricted)
            connection.execute(
                "INSERT INTO head VALUES (?, ?, ?, ?, ?, ?, ?)",
                ("bac-07", len(rows), end, *counters, head.connection, head.t_us),
            )
        connection.pragma("journal_mode", "wal")
    return len(rows)
