"""A journal whose key is changed: who trusts the old key, and what is said where nothing endorses.

The expectations are of what a verifier was given and what happened to the key, never of a note.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from shoe_ctl.cli.main import shoectl
from shoe_ctl.journal.chain import AnchorRecord, Fault, note_of, read_checkpoint
from shoe_ctl.journal.export import select_records, write_export
from shoe_ctl.journal.key_changes import signing_keys
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.journal.signing import Signer
from shoe_ctl.journal.store import Store
from shoe_ctl.journal.verify import verify
from shoe_ctl.journal.verify_parts import in_parts
from shoe_testing.checkpoints import KEY_RULING, key_of
from shoe_testing.cli import invoke
from shoe_testing.journals import T_US, opened, records, rewrite_records, stored_round, verified

FIRST, SECOND, THIRD, STRANGER = map(key_of, range(1, 5))


class Making:
    """Makes a journal, a round and a checkpoint at a time."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.at = 0

    def signs(self, key: Signer) -> None:
        self._deal()
        self.store.checkpoint(key, T_US + self.at)

    def changes(self, key: Signer, endorser: Signer | None) -> int:
        """Returns the record of the change."""
        self._deal()
        return self.store.change_key(key, T_US + self.at, KEY_RULING, endorser=endorser)

    def _deal(self) -> None:
        self.at += 1
        self.store.commit([stored_round(self.at)])


def make(path: Path, *, endorsed: bool = True) -> Path:
    """Signed three times with the first key, and three times with the second."""
    with opened(path) as store:
        making = Making(store)
        for _ in range(3):
            making.signs(FIRST)
        making.changes(SECOND, FIRST if endorsed else None)
        for _ in range(2):
            making.signs(SECOND)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make(tmp_path / "journal.db")


@pytest.fixture
def lost(tmp_path: Path) -> Path:
    return make(tmp_path / "journal.db", endorsed=False)


def trusting(*keys: Signer) -> frozenset[bytes]:
    return frozenset(key.public_key for key in keys)


def test_a_key_that_the_old_one_endorses_is_trusted_with_it(path: Path) -> None:
    for trusted in (trusting(), trusting(FIRST), trusting(SECOND), trusting(FIRST, SECOND)):
        assert verified(path, trusted).ok, trusted
    bad = verified(path, trusting(STRANGER)).first_bad
    assert bad is not None and bad.why is Fault.WRONG_KEY


def test_each_key_is_told_with_the_records_that_it_signed_and_who_changed_it(path: Path) -> None:
    signed = verified(path).signed
    assert signed.keys == (FIRST.public_key.hex(), SECOND.public_key.hex())
    first, second = signed.ranges
    # a round of the fixture has 4 records, a checkpoint is one more
    assert (first.first, first.upto, first.change, first.endorsed) == (1, 14, None, None)
    assert (second.first, second.upto, second.n, second.endorsed) == (15, 29, 20, True)
    assert second.change is not None and second.change.ruling == KEY_RULING
    shown = " ".join(invoke(shoectl, "verify", path).stdout.split())
    assert f"public key {FIRST.public_key.hex()} records 1 to 14" in shown
    assert (
        f"public key {SECOND.public_key.hex()} endorsed by the key before it, checkpoint 20, by "
        "Ines (gaming_shift_manager) with Kim: a copy was seen records 15 to 29"
    ) in shown


def test_a_key_that_nothing_endorses_is_shown_as_such_and_not_trusted_with_the_old_one(
    lost: Path,
) -> None:
    shown = invoke(shoectl, "verify", lost)
    assert shown.exit_code == 0
    assert "NOT ENDORSED by the key before it, which was ruled lost" in " ".join(
        shown.stdout.split()
    )
    refused = invoke(shoectl, "verify", lost, "--public-key", FIRST.public_key.hex())
    assert refused.exit_code == 1
    said = " ".join(refused.stdout.split())
    assert f"{SECOND.public_key.hex()}, which the key before it did not endorse" in said
    for trusted in (trusting(SECOND), trusting(FIRST, SECOND)):
        assert verified(lost, trusted).ok


def test_who_trusts_the_new_key_alone_wants_a_checkpoint_of_it(tmp_path: Path) -> None:
    """A key that leaked can go on from any moment, but not with the key that followed it."""
    path = tmp_path / "journal.db"
    with opened(path) as store:
        making = Making(store)
        making.signs(FIRST)
        assert not verified(path, trusting(SECOND)).ok
        making.changes(SECOND, FIRST)
        assert verified(path, trusting(SECOND)).ok
        making.changes(FIRST, None)  # "the new one is lost", says who has the old one
    bad = verified(path, trusting(SECOND)).first_bad
    assert bad is not None and bad.why is Fault.WRONG_KEY and FIRST.public_key.hex() in bad.text


def test_a_key_that_is_changed_without_a_record_is_found_without_any_key(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with opened(path) as store:
        making = Making(store)
        making.signs(FIRST)
        making.signs(STRANGER)
    bad = verified(path).first_bad
    assert bad is not None and (bad.n, bad.why) == (10, Fault.WRONG_KEY)
    assert "no change from" in bad.text and STRANGER.public_key.hex() in bad.text


def test_a_change_from_another_key_than_the_one_that_signed_is_found(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with opened(path) as store:
        making = Making(store)
        making.signs(FIRST)
        making.changes(THIRD, FIRST)

    def instead(body: bytes) -> bytes:
        said = read_checkpoint(body)
        assert said.key_change is not None
        change = msgspec.structs.replace(said.key_change, old=STRANGER.public_key.hex())
        return msgspec.structs.replace(said, key_change=change).to_bytes(THIRD, STRANGER)

    rewrite_records(path, lambda r: instead(r.body) if b"\nkey " in r.body else r.body)
    path.with_name("journal.db-head").unlink()
    bad = verified(path).first_bad
    assert bad is not None and bad.why is Fault.WRONG_KEY


@pytest.mark.parametrize("holds", [(SECOND,), (STRANGER,), (FIRST, STRANGER)])
def test_a_reason_that_was_rewritten_is_no_longer_endorsed(
    path: Path, holds: tuple[Signer, ...]
) -> None:
    """Who holds the new key alone can sign other words, but not for the old key."""

    def other_words(body: bytes) -> bytes:
        said = read_checkpoint(body)
        assert said.key_change is not None
        ruling = msgspec.structs.replace(said.key_change.ruling, reason="routine")
        change = msgspec.structs.replace(said.key_change, ruling=ruling)
        endorser = holds[0] if len(holds) > 1 else None
        return msgspec.structs.replace(said, key_change=change).to_bytes(holds[-1], endorser)

    rewrite_records(path, lambda r: other_words(r.body) if b"\nkey " in r.body else r.body)
    path.with_name("journal.db-head").unlink()
    assert not verified(path, trusting(FIRST)).ok


def test_keys_are_changed_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with opened(path) as store:
        making = Making(store)
        making.signs(FIRST)
        making.changes(SECOND, FIRST)
        making.changes(THIRD, SECOND)  # nothing was signed between
        making.signs(THIRD)
    for key in (FIRST, SECOND, THIRD):
        assert verified(path, trusting(key)).ok
    assert len(verified(path).signed.ranges) == 3
    with Reader.open(path) as reader:
        assert signing_keys(reader) == trusting(FIRST, SECOND, THIRD)


@pytest.mark.parametrize("least", [3, 7, 12])
def test_a_journal_that_is_verified_in_parts_tells_the_same_of_its_keys(
    path: Path, least: int
) -> None:
    for trusted in (trusting(), trusting(FIRST), trusting(SECOND), trusting(STRANGER)):
        with Reader.open(path) as reader:
            shared = verify(
                reader, trusted, walk=in_parts(trusted, jobs=2, software="1", least=least)
            )
        assert shared == verified(path, trusted)


def test_records_that_are_removed_leave_what_ties_the_new_key_to_the_old_one(path: Path) -> None:
    signed = [r.n for r in records(path) if r.kind == Kind.CHECKPOINT.value]
    told = sum(r.kind == "event.restricted" for r in records(path) if r.n < signed[4])
    public = sum(r.kind == "event.public" for r in records(path) if r.n < signed[4])
    with opened(path) as store:
        store.truncate_before(
            AnchorRecord(signed[4], {"bac-07": (public, told)}), SECOND, T_US + 50
        )
        making = Making(store)
        making.at = 10
        making.changes(THIRD, SECOND)
        making.signs(THIRD)
    with Reader.open(path) as reader:
        assert reader.first_n() == signed[4]
        assert signing_keys(reader) == trusting(FIRST, SECOND, THIRD)
    for trusted in (trusting(FIRST), trusting(SECOND), trusting(THIRD)):
        assert verified(path, trusted).ok
    assert not verified(path, trusting(STRANGER)).ok


def test_an_export_made_after_a_change_is_trusted_with_the_journal_beside_it(path: Path) -> None:
    later = path.with_name("later.journal.gz")
    with Reader.open(path) as reader:
        write_export(reader, select_records(reader, "bac-07", 26, 29), later)
    assert not verified(later, trusting(FIRST)).ok
    folder = path.with_name("archive")
    folder.mkdir()
    for file in (path, later):
        shutil.copy(file, folder)
    for key, code in ((FIRST, 0), (SECOND, 0), (STRANGER, 1)):
        given = invoke(shoectl, "verify", folder, "--public-key", key.public_key.hex())
        assert given.exit_code == code, given.stdout


def test_a_checkpoint_of_the_old_key_that_somebody_kept_still_shows_continuity(path: Path) -> None:
    kept = path.with_name("kept.note")
    first = next(r for r in records(path) if r.kind == Kind.CHECKPOINT.value)
    kept.write_bytes(note_of(first.body))
    for more in ((), ("--public-key", SECOND.public_key.hex())):
        given = invoke(shoectl, "verify", path, "--against", kept, *more, "--json")
        assert given.exit_code == 0, given.stdout
        assert {"upto": 4, "by": "against", "name": str(kept)} in json.loads(given.stdout)[
            "complete"
        ]
