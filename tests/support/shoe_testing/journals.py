"""What the journal's tests store, how they spoil a file, and a writer to be killed."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from shoe_ctl.journal.batch import Batch, CommitResult
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.store import Store
from shoe_ctl.journal.verify import Verification, verify
from shoe_ctl.records import Audience, Record
from shoe_testing.paths import child_environment

T_US = 1_700_000_000_000_000


def dealt(number: int, table: str = "bac-07") -> Batch:
    """An input with one event for each audience: four records, and a device's number."""
    group = Batch()
    hello = {"type": "hello", "device_id": "SH-0042"}
    said = {"input": "shoe", "t_us": T_US + number, "number": number, "event": hello}
    body = json.dumps({**said, "seq": number}, separators=(",", ":"))
    group.append_input(table, body.encode(), T_US + number)
    group.append_event(
        table,
        Audience.PUBLIC,
        "round.card_dealt",
        t_us=T_US + number,
        subject=f"{table}/1",
        data={"number": number},
    )
    group.append_event(
        table,
        Audience.RESTRICTED,
        "round.card_drawn",
        t_us=T_US + number,
        subject=f"{table}/1",
        data={"number": number, "card": "8S"},
    )
    group.set_device_seq(table, "SH-0042", number)
    return group


class Never:
    """For sinks that take everything."""

    async def parked(self, n: int, event: bytes, why: str) -> None:
        raise AssertionError(f"{event!r}, record {n}, was not taken: {why}")

    async def taken(self, n: int, event: bytes) -> None:
        raise AssertionError(f"{event!r}, record {n}, was never parked")


@contextmanager
def opened(path: Path, vfs: str | None = None) -> Iterator[Store]:
    """A store that is closed in the end."""
    store = Store.open(path, vfs=vfs)
    try:
        yield store
    finally:
        store.close()


def stored(path: Path, groups: Sequence[Batch]) -> list[CommitResult]:
    """Opens, stores each group with a commit of its own, closes."""
    with opened(path) as store:
        return [store.commit([group])[0] for group in groups]


def records(path: Path) -> list[Record]:
    """Everything in a journal at rest."""
    with Reader.open(path) as reader:
        return list(reader.records())


def verified(path: Path, trusted: frozenset[bytes] = frozenset()) -> Verification:
    """What verifying a journal finds."""
    with Reader.open(path) as reader:
        return verify(reader, trusted)


def spoil(path: Path, *statements: str | tuple[str, Sequence[Any]]) -> None:
    """Changes a journal behind shoe-ctl's back, as anyone with the file could."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # nothing here outlives the power
        for statement in statements:
            text, bindings = (statement, ()) if isinstance(statement, str) else statement
            connection.execute(text, bindings)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def child(program: str, *arguments: str) -> subprocess.Popen[str]:
    """Another Python that runs ``program`` that can import ``shoe_testing``."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        env=child_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
