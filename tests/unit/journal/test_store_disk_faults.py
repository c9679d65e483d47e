"""A disk that fails at any one call, or loses power there: nothing acknowledged is ever lost."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from shoe_ctl.errors import JournalError
from shoe_ctl.journal import wal
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience
from shoe_testing.faulty_disk import (
    FAULTS,
    WRITES,
    Call,
    Do,
    Failing,
    Fault,
    ForgetfulDisk,
    Listing,
    disk,
)
from shoe_testing.journals import opened, records, stored_round, verified

GROUPS = 4
SINK = "jsonl:-"


@pytest.fixture(autouse=True)
def _tidied_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is written back every few commits, so that these calls are among those tried."""
    monkeypatch.setattr(wal, "PAGES", 6)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: what is synced here outlives nothing anyhow."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with TemporaryDirectory(dir=memory, prefix="shoe-ctl-") as made:
        yield Path(made)


class Work:
    """Opens a journal, stores groups, reads them, moves a cursor, closes. ``said`` was promised."""

    def __init__(self, path: Path, vfs: str | None) -> None:
        self._path = path
        self._vfs = vfs
        self.said: list[int] = []
        self.closing = False

    def run(self, first: int = 0) -> None:
        store = Store.open(self._path, vfs=self._vfs)
        try:
            self._store(store, first)
            self.closing = True
        except JournalError:
            self.takes_nothing_more(store)
            raise
        finally:
            store.close()

    def _store(self, store: Store, first: int) -> None:
        with store.reader() as reader:
            for number in range(first, first + GROUPS):
                store.commit([stored_round(number)])
                self.said.append(number)
                after = reader.cursor(SINK)
                events, _ = reader.events(Audience.PUBLIC, after=after, limit=10)
                assert [json.loads(body)["data"]["number"] for _, body in events][-1] == number
                store.move_cursor(SINK, events[-1][0])

    def takes_nothing_more(self, store: Store) -> None:
        if store.failure is not None:
            with pytest.raises(JournalError, match=r"must be reopened$"):
                store.commit([stored_round(99)])


def holds_what_was_said(path: Path, said: list[int]) -> int:
    """Whole groups, those promised and at most one more; verified. How many there are."""
    assert verified(path).ok
    found: Counter[int] = Counter()
    for record in records(path):
        body = json.loads(record.body)
        found[body["number"] if record.kind == "input" else body["data"]["number"]] += 1
    assert found == dict.fromkeys(range(len(found)), 4)
    assert said == list(range(len(said)))
    assert len(said) <= len(found) <= len(said) + 1
    return len(found)


@contextmanager
def worked(folder: Path) -> Iterator[Listing]:
    """Every call of the work on a disk that never fails."""
    listing = Listing()
    with disk(listing) as layer:
        Work(folder / "journal.db", layer.name).run()
    yield listing


@pytest.mark.parametrize("sparse", [12, pytest.param(1, marks=pytest.mark.exhaustive(cpu_s=2.2))])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_disk_that_fails_at_any_call_never_makes_the_store_promise_what_is_not_there(
    folder: Path, fault: Fault, sparse: int
) -> None:
    with worked(folder) as clean:
        tried = clean.numbers(*fault.ops)
    assert len(tried) > 10
    for at in tried[::sparse]:
        path = folder / f"{at}.db"
        failing = Failing(fault, at)
        with disk(failing) as layer:
            work = Work(path, layer.name)
            failed = None
            try:
                work.run()
            except JournalError as error:
                failed = str(error)
        assert failing.met is not None
        if failing.met.op in ("write", "sync") and not work.closing:
            assert failed is not None, failing.met
            assert "\n" not in failed
        with opened(path):  # the disk works again
            pass
        again = Work(path, None)
        stored = holds_what_was_said(path, work.said)
        again.run(first=stored)
        holds_what_was_said(path, [*range(stored), *again.said])


def found_after_the_cut(folder: Path, said: list[int]) -> None:
    """What is left opens, holds all that was said, and takes more; the folder is cleared."""
    path = folder / "journal.db"
    try:
        with opened(path) as store:
            store.commit([stored_round(store.last_n // 4)])
        found = records(path)
        assert verified(path).ok
        numbers = [json.loads(record.body)["number"] for record in found if record.kind == "input"]
        assert numbers == list(range(len(found) // 4))
        assert len(said) + 1 <= len(numbers) <= len(said) + 2
    finally:
        shutil.rmtree(folder)


class Cut:
    """Cuts the power before each call of the work and looks at what is left."""

    def __init__(self, folder: Path, forgetful: ForgetfulDisk, chance: random.Random) -> None:
        self._folder = folder
        self._forgetful = forgetful
        self._chance = chance
        self.work: Work | None = None
        self.cuts = 0

    def __call__(self, call: Call, do: Do) -> Any:
        assert self.work is not None
        if call.op in CHANGES:
            for all_written, choose in ((False, None), (True, None), (False, self._chance)):
                left = self._folder / "left"
                self._forgetful.cut(left, choose, all_written=all_written)
                found_after_the_cut(left, self.work.said)
                self.cuts += 1
        return self._forgetful(call, do)


CHANGES = WRITES | {"sync"}


def made(folder: Path) -> Path:
    """A journal that a store made and closed."""
    (folder / "at").mkdir(parents=True)
    with opened(folder / "at" / "journal.db"):
        pass
    return folder / "at" / "journal.db"


def test_power_lost_at_any_write_or_sync_leaves_all_that_was_said(folder: Path, seed: int) -> None:
    path = made(folder)
    cut = Cut(folder, ForgetfulDisk(path.parent), random.Random(seed))
    with disk(cut) as layer:
        cut.work = Work(path, layer.name)
        cut.work.run()
    assert cut.cuts > 100


def test_what_a_failed_sync_lost_is_not_relied_upon_after_reopening(folder: Path) -> None:
    path, syncs = made(folder), 0
    while True:
        syncs += 1
        forgetful = ForgetfulDisk(path.parent, failing_syncs=[syncs])
        left = folder / f"killed-at-{syncs}"
        with disk(forgetful) as layer:
            first = Killed(path, layer.name, partial(forgetful.killed, left))
            with suppress(JournalError):
                first.run()
        if first.left is None:
            break
        with disk(first.left) as layer, opened(left / path.name, vfs=layer.name) as store:
            there = store.last_n // 4
            first.left.cut(folder / "left")
            found_after_the_cut(folder / "left", list(range(there)))
            store.commit([stored_round(there)])
            first.left.cut(folder / "left")
            found_after_the_cut(folder / "left", list(range(there + 1)))
        assert len(first.said) <= there <= len(first.said) + 1
        path = made(folder / f"{syncs}")
    assert syncs > 10


class Killed(Work):
    """Work whose process is killed as soon as the disk failed, before it closes anything."""

    def __init__(self, path: Path, vfs: str, kill: Callable[[], ForgetfulDisk]) -> None:
        super().__init__(path, vfs)
        self._kill = kill
        self.left: ForgetfulDisk | None = None

    def takes_nothing_more(self, store: Store) -> None:  # noqa: ARG002 - as the work has it
        self.left = self._kill()


@pytest.mark.parametrize(
    "step",
    [
        911,
        pytest.param(61, marks=pytest.mark.exhaustive(cpu_s=2)),
        pytest.param(1, marks=pytest.mark.soak),
    ],
)
def test_a_last_write_torn_at_any_byte_leaves_all_that_was_said(
    folder: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wal, "PAGES", 100)
    path = made(folder)
    listing = Listing()
    with disk(listing) as layer:
        store = Store.open(path, vfs=layer.name)
        try:
            store.commit([stored_round(0)])
            log = path.with_name("journal.db-wal")
            before, first = log.read_bytes(), len(listing.calls)
            store.commit([stored_round(1)])
            writes = [
                call
                for call in listing.calls[first:]
                if call.op == "write" and call.part != "head"  # is written once it is durable
            ]
            whole = path.read_bytes()
        finally:
            store.close()
    assert {call.part for call in writes} == {"wal"}
    done = bytearray(before)
    for call in writes:
        for at in _places(call, step):
            done[call.offset :] = call.data[:at]
            (folder / "left").mkdir()
            (folder / "left" / path.name).write_bytes(whole)
            (folder / "left" / log.name).write_bytes(done)
            found_after_the_cut(folder / "left", [0])


def _places(call: Call, step: int) -> list[int]:
    """Where it is torn: always near both ends, and every ``step`` bytes."""
    size = len(call.data)
    return sorted({*range(0, size + 1, step), *range(min(size, 9)), *range(size - 8, size + 1)})
