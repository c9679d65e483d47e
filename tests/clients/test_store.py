"""The store in SQLite: effect, standing round and position are there together, or none of them."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from shoe_ctl.cli.recording import SHIPPED
from shoe_events import Change, Consumer, Due, Round, read_event
from shoe_events.sqlite import SqliteStore
from shoe_testing.paths import ROOT

LINES = [
    line
    for line in (SHIPPED / "irregular_shoe.jsonl").read_bytes().splitlines()
    if b'"t1/p' in line
]

PROGRAM = """
import sqlite3, sys
from shoe_events import Consumer, read_event
from shoe_events.sqlite import SqliteStore
db = sqlite3.connect("store.db")
db.execute("CREATE TABLE IF NOT EXISTS applied (id)")
store = SqliteStore(db, lambda db, due, change: db.execute("INSERT INTO applied VALUES (?)", (due.event.id,)))
consumer = Consumer(store.positions())
for line in sys.stdin:
    consumer.offer(read_event(line))
    while (due := consumer.due()) is not None:
        store.apply(due)
        consumer.applied(due)
        print(due.event.id, flush=True)
"""  # noqa: E501 - one line of a program


@contextmanager
def database(folder: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(folder / "store.db")) as db:
        db.execute("CREATE TABLE IF NOT EXISTS applied (id)")
        yield db


def apply_all(store: SqliteStore, lines: Iterable[bytes]) -> None:
    consumer = Consumer(store.positions())
    for line in lines:
        consumer.offer(read_event(line))
        while (due := consumer.due()) is not None:
            store.apply(due)
            consumer.applied(due)


class Failed(Exception):
    """The effect failed."""


def test_an_effect_that_fails_leaves_nothing_and_is_made_again(tmp_path: Path) -> None:
    fails_at = iter([5, 20, 20, 60])
    count = 0
    fails = next(fails_at)

    def effect(db: sqlite3.Connection, due: Due, _: Change | None) -> None:
        nonlocal count, fails
        db.execute("INSERT INTO applied VALUES (?)", (due.event.id,))
        count += 1
        if count == fails:
            count, fails = 0, next(fails_at, 0)
            raise Failed

    with database(tmp_path) as db:
        store = SqliteStore(db, effect)
        for _ in range(4):
            with pytest.raises(Failed):
                apply_all(store, LINES)
        apply_all(store, LINES)
        applied = [event_id for (event_id,) in db.execute("SELECT id FROM applied")]
        assert applied == [read_event(line).id for line in LINES]


def test_it_knows_how_each_round_stands(tmp_path: Path) -> None:
    with database(tmp_path) as db:
        store = SqliteStore(db, lambda *_: None)
        apply_all(store, LINES)
        source = read_event(LINES[0]).source
        stands = [store.round(Round(source, "public", f"t1-s1-r{n}")) for n in range(1, 8)]
    results = [None if each is None else each.result for each in stands]
    assert results == ["outcome", "outcome", "void", "void", "outcome", "outcome", None]


@pytest.mark.slow
def test_a_program_that_is_killed_anywhere_applies_each_event_once(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "clients/python")}
    for reads in (1, 7, 20, 33, None):
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ) as child:  # fmt: skip
            assert child.stdin is not None and child.stdout is not None
            child.stdin.write(b"\n".join(LINES) + b"\n")
            child.stdin.flush()
            for _ in range(reads or 0):
                assert child.stdout.readline()
            if reads is not None:
                child.kill()
            child.stdin.close()
            child.stdout.read()
    with database(tmp_path) as db:
        applied = [event_id for (event_id,) in db.execute("SELECT id FROM applied")]
    assert applied == [read_event(line).id for line in LINES]
