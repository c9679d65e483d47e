"""What a crash, a full disk or a failed sync leaves: whole groups, and never a false yes."""

from __future__ import annotations

import json
import random
import signal
import subprocess
from collections import Counter
from pathlib import Path

import apsw
import pytest

from shoe_ctl.errors import JournalError
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.store import _Transaction
from shoe_testing.faulty_disk import Failing, Fault, Listing, disk, quietly
from shoe_testing.journals import child, opened, records, stored_round, verified

WRITER = """
import sys
from shoe_testing.journals import stored_round
from shoe_ctl.journal.store import Store
store = Store.open(sys.argv[1])
number = int(sys.argv[2])
while True:
    store.commit([stored_round(number)])
    print(number, flush=True)
    number += 1
    store.move_cursor("jsonl:-", number)
"""

FULL = """
import resource, sys
from shoe_testing.journals import stored_round
from shoe_ctl.errors import JournalError
from shoe_ctl.journal.store import Store
store = Store.open(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
number = 0
try:
    while True:
        store.commit([stored_round(number)])
        number += 1
except JournalError as error:
    print(number, error, sep="\\n")
try:
    store.commit([stored_round(number)])
except JournalError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
try:
    store.commit([stored_round(number)])
except JournalError as error:
    print(error)
store.close()
"""


def numbers_in(path: Path) -> Counter[int]:
    """How many records each group has in the journal."""
    found: Counter[int] = Counter()
    for record in records(path):
        body = json.loads(record.body)
        found[body["number"] if record.kind == "input" else body["data"]["number"]] += 1
    return found


@pytest.mark.parametrize("times", [1, pytest.param(8, marks=pytest.mark.exhaustive(cpu_s=3))])
def test_a_killed_writer_leaves_every_acknowledged_group_and_no_part_of_another(
    tmp_path: Path, times: int
) -> None:
    path = tmp_path / "journal.db"
    acknowledged = -1
    for _ in range(times):
        with child(WRITER, str(path), str(acknowledged + 1)) as writer:
            assert writer.stdout is not None
            for _ in range(random.randint(1, 120)):
                acknowledged = int(writer.stdout.readline())
            writer.send_signal(signal.SIGKILL)
            for line in writer.stdout:  # what it said before it died counts as well
                acknowledged = int(line)
        assert verified(path).ok  # as the crash left it, before anyone writes again
        with opened(path):
            pass
        groups = numbers_in(path)
        # the last group may have been stored without having been acknowledged
        last = max(groups)
        assert last in (acknowledged, acknowledged + 1)
        assert groups == dict.fromkeys(range(last + 1), 4)
        assert verified(path).ok
        with Reader.open(path) as reader:
            assert reader.devices("bac-07") == {"SH-0042": last}
            assert reader.cursor("jsonl:-") in (last, last + 1)
        acknowledged = last


def test_a_full_disk_is_told_and_leaves_whole_groups(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with child(FULL, str(path), stderr=subprocess.PIPE) as writer:
        out, err = writer.communicate()
    stored, first, then, with_room_again = out.splitlines()
    assert err == ""
    assert first.startswith(f"journal {path} cannot ")
    assert then == with_room_again == f"{first}; it must be reopened"
    assert int(stored) > 5
    assert numbers_in(path) == dict.fromkeys(range(int(stored)), 4)
    with opened(path) as store:
        store.commit([stored_round(int(stored))])
    assert verified(path).ok


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        ("sync", apsw.IOError, "cannot be read or written"),
        ("write", apsw.IOError, "cannot be read or written"),
        ("write", apsw.FullError, "the disk is full"),
    ],
)
def test_after_a_failed_write_or_sync_nothing_is_stored_until_reopened(
    tmp_path: Path, call: str, error: type[apsw.Error], told: str
) -> None:
    path = tmp_path / "journal.db"
    with disk() as layer:
        with opened(path, vfs=layer.name) as store:
            store.commit([stored_round(0)])
            layer.around = Failing(Fault(told, frozenset({call}), error, lasting=True), at=1)
            with pytest.raises(JournalError, match=told):
                store.commit([stored_round(1)])
            layer.around = quietly
            for refused in (
                lambda: store.commit([stored_round(1)]),
                lambda: store.move_cursor("s", 1),
            ):
                with pytest.raises(JournalError, match=f"{told}.*; it must be reopened$"):
                    refused()
        with opened(path, vfs=layer.name) as store:
            store.commit([stored_round(2)])
    groups = numbers_in(path)
    assert groups in ({0: 4, 2: 4}, {0: 4, 1: 4, 2: 4})
    assert verified(path).ok


def test_every_commit_is_synced_once_and_a_cursor_needs_none(tmp_path: Path) -> None:
    calls = Listing()
    with disk(calls) as layer, opened(tmp_path / "journal.db", vfs=layer.name) as store:
        # A new chain takes a sync of the head file; the first records are written back, and the
        # log begins again behind them.
        for number in range(2):
            store.commit([stored_round(number), stored_round(number, "other")])
        before = len(calls.numbers("sync"))
        for number in range(10):
            store.commit([stored_round(number), stored_round(number, "other")])
        assert len(calls.numbers("sync")) == before + 10
        for number in range(10):
            store.move_cursor("jsonl:-", number)
        assert len(calls.numbers("sync")) == before + 10


def test_a_disk_full_from_the_start_leaves_no_half_made_journal(tmp_path: Path) -> None:
    program = """
import resource, sys
from shoe_ctl.errors import JournalError
from shoe_ctl.journal.store import Store
resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, resource.RLIM_INFINITY))
try:
    Store.open(sys.argv[1])
except JournalError as error:
    print(error)
"""
    path = tmp_path / "journal.db"
    with child(program, str(path), stderr=subprocess.PIPE) as writer:
        out, err = writer.communicate()
    assert err == ""
    assert out.startswith(f"journal {path} cannot ")
    assert [left.name for left in tmp_path.iterdir()] == ["journal.db-lock"]
    with opened(path):
        pass


def test_a_write_that_is_broken_off_leaves_nothing_and_is_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    with opened(path) as store:
        store.commit([stored_round(0)])

        def broken_off(batch: _Transaction, connection: apsw.Connection) -> None:
            write(batch, connection)
            raise KeyboardInterrupt

        write = _Transaction.write
        with monkeypatch.context() as patched:
            patched.setattr(_Transaction, "write", broken_off)
            with pytest.raises(KeyboardInterrupt):
                store.commit([stored_round(1)])
        with pytest.raises(JournalError, match=r"was broken off; it must be reopened$"):
            store.commit([stored_round(1)])
    assert numbers_in(path) == {0: 4}
    with opened(path) as store:
        store.commit([stored_round(1)])
    assert numbers_in(path) == {0: 4, 1: 4}
