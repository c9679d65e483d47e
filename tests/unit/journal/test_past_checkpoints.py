"""The tree over a journal: what its checkpoints sign, and what is kept of it after retention."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import pytest

from shoe_ctl.journal.chain import AnchorRecord, BadRecord, Fault, note_of
from shoe_ctl.journal.past_checkpoints import PastCheckpoint, trees
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.signing import Signer, open_signer
from shoe_ctl.records import Record
from shoe_testing.journals import T_US, held, opened, records, spoil, stored_round, verified

CHECKPOINTS = 6
GROUPS = 7
"""Before each checkpoint."""


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    return open_signer(tmp_path_factory.mktemp("key") / "journal.db", None)


def go_on(path: Path, key: Signer, first: int) -> None:
    """Store seven groups and a checkpoint, by a writer that was just started."""
    with opened(path) as store:
        for number in range(GROUPS):
            store.commit([stored_round(first * GROUPS + number, "ab"[number % 2])])
        store.checkpoint(key, T_US + first)


@pytest.fixture
def path(tmp_path: Path, key: Signer) -> Path:
    path = tmp_path / "journal.db"
    for first in range(CHECKPOINTS):
        go_on(path, key, first)
    return path


def naive_root(leaves: Sequence[bytes]) -> bytes:
    if len(leaves) < 2:
        return leaves[0] if leaves else sha256().digest()
    k = max(2**e for e in range(len(leaves)) if 2**e < len(leaves))
    return sha256(b"\x01" + naive_root(leaves[:k]) + naive_root(leaves[k:])).digest()


def notes(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The record of each checkpoint, and its note's lines."""
    for record in records(path):
        if record.kind == "checkpoint":
            yield record.n, note_of(record.body).decode().split("\n")


def beginning(found: Sequence[Record], n: int) -> AnchorRecord:
    """What a journal of these records says if it begins with checkpoint ``n``."""

    def events(table: str, kind: str) -> int:
        return sum((r.table, r.kind) == (table, kind) for r in found if r.n < n)

    told = {
        table: (events(table, "event.public"), events(table, "event.restricted")) for table in "ab"
    }
    return AnchorRecord(n, told)


def takes_out(path: Path, key: Signer, begins: AnchorRecord) -> None:
    with opened(path) as store:
        store.truncate_before(begins, key, T_US + 100)


def test_a_checkpoint_is_a_note_over_the_tree_of_all_groups_before_it(
    path: Path, key: Signer
) -> None:
    leaves = [row[3] for row in held(path)]
    found = list(notes(path))
    assert len(found) == CHECKPOINTS
    for number, (n, lines) in enumerate(found, 1):
        size = sum(row[0] < n for row in held(path))
        assert lines[:3] == [
            f"shoe-ctl/journal/{leaves[0][:16].hex()}",
            str(size),
            base64.b64encode(naive_root(leaves[:size])).decode(),
        ]
        assert lines[3:6] == [
            f"checkpoint {number}",
            f"record {n - 1}",
            f"t_us {T_US + number - 1}",
        ]
        assert lines[7] == ""
        assert lines[8].startswith(f"— {lines[0]} ")


def test_a_leaf_is_the_hash_of_its_group_by_the_standard_of_trees(path: Path) -> None:
    n, table, body, digest = held(path)[0]
    lengths = n.to_bytes(8, "big") + b"\x00\x01" + len(body).to_bytes(8, "big")
    assert digest == sha256(b"\x00" + bytes(32) + lengths + table.encode() + body).digest()


def test_records_that_were_removed_leave_the_root_of_every_checkpoint(
    path: Path, key: Signer
) -> None:
    roots = [(n, int(lines[1]), lines[2]) for n, lines in notes(path)]
    places = {row[0]: row[3] for row in held(path)}
    steps = [beginning(records(path), roots[at][0]) for at in (1, 3)]
    for begins in steps:
        takes_out(path, key, begins)
        assert verified(path, frozenset({key.public_key})).ok
    go_on(path, key, CHECKPOINTS)
    found = verified(path, frozenset({key.public_key}))
    assert (found.ok, found.first_n) == (True, roots[3][0])
    with Reader.open(path) as reader:
        past = reader.past_checkpoints()
    kept = [(row.n, tree.size, base64.b64encode(tree.root()).decode()) for row, tree in trees(past)]
    assert kept == roots[:4]
    assert [row.leaf for row in past] == [places[n] for n, _, _ in roots[:4]]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM past_checkpoint WHERE n = (SELECT min(n) FROM past_checkpoint)",
        "DELETE FROM past_checkpoint WHERE n = (SELECT max(n) FROM past_checkpoint)",
        "DELETE FROM past_checkpoint",
        "UPDATE past_checkpoint SET leaf = zeroblob(32) WHERE n < (SELECT max(n) FROM"
        " past_checkpoint)",
        "UPDATE past_checkpoint SET leaf = zeroblob(31)",
        "UPDATE past_checkpoint SET parts = zeroblob(32)",
        "UPDATE past_checkpoint SET size = size + 1",
        "INSERT INTO past_checkpoint SELECT n + 99, size, leaf, parts FROM past_checkpoint",
    ],
)
def test_what_is_kept_of_removed_records_cannot_be_altered(
    path: Path, key: Signer, statement: str
) -> None:
    first = [n for n, _ in notes(path)][2]
    takes_out(path, key, beginning(records(path), first))
    spoil(path, statement)
    assert verified(path).first_bad == BadRecord(
        "",
        first,
        Fault.ALTERED,
        "what the file keeps of past checkpoints, that does not lead to it",
    )


def test_something_kept_of_records_that_are_all_there_is_found(path: Path) -> None:
    spoil(path, "INSERT INTO past_checkpoint VALUES (1, 0, zeroblob(32), x'')")
    assert not verified(path).ok


@pytest.mark.usefixtures("known_salts")
def test_a_writer_that_starts_goes_on_with_the_same_tree(
    path: Path, key: Signer, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    with opened(other) as store:
        for first in range(CHECKPOINTS):
            for number in range(GROUPS):
                store.commit([stored_round(first * GROUPS + number, "ab"[number % 2])])
            store.checkpoint(key, T_US + first)
    assert held(path) == held(other)


def test_rows_that_do_not_follow_one_another_are_refused() -> None:
    rows = [PastCheckpoint(5, 2, bytes(32), bytes(32)), PastCheckpoint(9, 1, bytes(32), b"")]
    with pytest.raises(ValueError, match="what is kept of checkpoint 9 does not follow"):
        list(trees(rows))
    with pytest.raises(ValueError, match="checkpoint 5 is of another length"):
        list(trees([PastCheckpoint(5, 2, bytes(32), bytes(64))]))
