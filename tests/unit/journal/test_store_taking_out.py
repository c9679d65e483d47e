"""Taking records out is one transaction: done or not done, whatever happens to the disk."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.errors import JournalError
from shoe_ctl.journal.chain import AnchorRecord
from shoe_ctl.journal.record_format import JOURNAL
from shoe_ctl.journal.signing import Signer, open_signer
from shoe_ctl.journal.store import Store
from shoe_testing.examples import sampled
from shoe_testing.faulty_disk import (
    BROKEN,
    ONE_ERROR,
    WRITES,
    Call,
    Do,
    Failing,
    ForgetfulDisk,
    Listing,
    disk,
)
from shoe_testing.journals import T_US, opened, records, stored_round, verified

SIGNED_AT = 21
LATER_US = T_US + 10**9


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    return open_signer(tmp_path_factory.mktemp("key") / "journal.db", None)


@pytest.fixture
def path(tmp_path: Path, key: Signer) -> Path:
    """A journal of two tables: a checkpoint behind 5 groups of 4 records, and 5 groups more."""
    (tmp_path / "at").mkdir()
    path = tmp_path / "at" / "journal.db"
    with opened(path) as store:
        for number in range(10):
            store.commit([stored_round(number, "ab"[number % 2])])
            if number == 4:
                store.checkpoint(key, T_US)
    return path


def begins() -> AnchorRecord:
    """From the checkpoint on: tables a and b told 3 and 2 events for each audience before."""
    return AnchorRecord(SIGNED_AT, {"a": (3, 6), "b": (2, 4)})


def whole(path: Path, key: Signer) -> int:
    """Verifies, and says where the journal begins."""
    found = verified(path, frozenset({key.public_key}))
    assert found.ok, found
    assert found.first_n in {1, SIGNED_AT}
    numbers = [record.n for record in records(path)]
    assert numbers == list(range(found.first_n, found.last_n + 1))
    return found.first_n


def test_what_is_left_begins_at_the_checkpoint_and_is_written_on(path: Path, key: Signer) -> None:
    before = records(path)
    with opened(path) as store:
        n = store.truncate_before(begins(), key, LATER_US)
        assert n == len(before) + 1
        store.commit([stored_round(10, "a")])
        assert store.checkpoint(key, LATER_US + 1) == n + 5
    assert whole(path, key) == SIGNED_AT
    assert records(path)[: len(before) - SIGNED_AT + 1] == before[SIGNED_AT - 1 :]
    with opened(path) as store:  # every later checkpoint says so, too
        store.commit([stored_round(11, "b")])
        store.checkpoint(key, LATER_US + 2)
    assert whole(path, key) == SIGNED_AT


@pytest.mark.parametrize("n", [1, 20, 22, 41, 99])
def test_a_journal_begins_only_at_a_checkpoint(path: Path, key: Signer, n: int) -> None:
    with opened(path) as store:
        with pytest.raises(JournalError, match=f"record {n} is no checkpoint"):
            store.truncate_before(AnchorRecord(n, {}), key, LATER_US)
        assert store.failure is None
    assert whole(path, key) == 1


def test_events_counted_wrongly_before_the_beginning_are_found(path: Path, key: Signer) -> None:
    with opened(path) as store:
        store.truncate_before(AnchorRecord(SIGNED_AT, {"a": (3, 6), "b": (2, 5)}), key, LATER_US)
    bad = verified(path).first_bad
    assert bad is not None and "it counts other events before it" in bad.text


@pytest.mark.parametrize(
    "fault", sampled([BROKEN, ONE_ERROR], one_in=2, cpu_s=0.7), ids=lambda fault: fault.name
)
def test_any_call_to_the_disk_may_fail(path: Path, key: Signer, fault: Any) -> None:
    content = path.read_bytes()
    with disk(listing := Listing()) as layer:
        taken_out(path, key, layer.name)
    done: set[int] = set()
    for at in listing.numbers(*WRITES, "sync"):
        for left in path.parent.iterdir():
            left.unlink()
        path.write_bytes(content)
        with disk(Failing(fault, at)) as layer:
            try:
                taken_out(path, key, layer.name)
            except JournalError:
                pass
            else:
                assert whole(path, key) == SIGNED_AT
        done.add(whole(path, key))
        with opened(path) as store:
            store.commit([stored_round(10, "a")])
        whole(path, key)
    assert done == {1, SIGNED_AT}


def taken_out(path: Path, key: Signer, vfs: str | None = None) -> None:
    store = Store.open(path, vfs=vfs)
    try:
        store.truncate_before(begins(), key, LATER_US)
    finally:
        store.close()


def test_the_power_may_fail_at_any_write_or_sync(
    path: Path, key: Signer, tmp_path: Path, seed: int
) -> None:
    forgetful, chance, done = ForgetfulDisk(path.parent), random.Random(seed), set()
    said = False

    def around(call: Call, do: Do) -> Any:
        if call.op in WRITES | {"sync"}:
            for all_written, choose in ((False, None), (True, None), (False, chance)):
                left = tmp_path / "left"
                forgetful.cut(left, choose, all_written=all_written)
                with opened(left / path.name):
                    pass
                begins_at = whole(left / path.name, key)
                assert begins_at == SIGNED_AT or not said
                done.add(begins_at)
                shutil.rmtree(left)
        return forgetful(call, do)

    with disk(around) as layer:
        store = Store.open(path, vfs=layer.name)
        try:
            store.truncate_before(begins(), key, LATER_US)
            said = True
            store.commit([stored_round(10, "a")])
        finally:
            store.close()
    assert done == {1, SIGNED_AT}
    assert JOURNAL in {record.table for record in records(path)}
