"""Whether a journal continues what somebody kept of it: against who holds the signing key."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shoe_ctl.cli.verify import verify as command
from shoe_ctl.journal.chain import note_of
from shoe_ctl.journal.signing import open_signer
from shoe_testing.cli import invoke
from shoe_testing.journals import T_US, opened, records, stored_round


def play(path: Path, *numbers: int) -> None:
    """Store rounds and sign them, with the journal's own key."""
    with opened(path) as store:
        key = open_signer(path, store.signed_with)
        for number in numbers:
            store.commit([stored_round(number, "ab"[number % 2])])
        store.checkpoint(key, T_US + max(numbers))


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """What somebody else kept: a copy, and the note of its last checkpoint."""
    path = tmp_path / "kept.db"
    play(path, 1, 2, 3)
    (note,) = [note_of(r.body) for r in records(path) if r.kind == "checkpoint"]
    path.with_name("kept.note").write_bytes(note)
    return path


def continued(kept: Path) -> Path:
    path = kept.with_name("journal.db")
    for suffix in ("", "-key", "-head"):
        shutil.copy(f"{kept}{suffix}", f"{path}{suffix}")
    return path


def forged(kept: Path) -> Path:
    """Whoever holds the key plays another second round, and signs everything again."""
    path = kept.with_name("journal.db")
    shutil.copy(f"{kept}-key", f"{path}-key")
    with opened(path) as store:
        key = open_signer(path, None)
        for number in (1, 9, 3):
            store.commit([stored_round(number, "ab"[number % 2 if number < 9 else 0])])
        store.checkpoint(key, T_US + 3)
    return path


@pytest.mark.parametrize("name", ["kept.db", "kept.note"])
def test_a_journal_that_went_on_continues_what_was_kept(kept: Path, name: str) -> None:
    path = continued(kept)
    play(path, 4, 5)
    said = invoke(command, str(path), "--against", str(kept.with_name(name)))
    assert (said.exit_code, "up to record 1" in said.output) == (0, True), said.output


@pytest.mark.usefixtures("known_salts")
@pytest.mark.parametrize("name", ["kept.db", "kept.note"])
def test_a_journal_written_again_with_its_own_key_is_found(kept: Path, name: str) -> None:
    path = forged(kept)
    assert invoke(command, str(path)).exit_code == 0  # nothing in it shows that
    said = invoke(command, str(path), "--against", str(kept.with_name(name)))
    assert (said.exit_code, "rewritten" in said.output) == (1, True), said.output


@pytest.mark.usefixtures("known_salts")
def test_the_first_group_that_differs_from_a_copy_is_named(kept: Path) -> None:
    said = invoke(command, str(forged(kept)), "--against", str(kept))
    assert "first bad   record 5 of table a" in said.output


@pytest.mark.parametrize("name", ["kept.db", "kept.note"])
def test_a_journal_that_was_cut_at_a_checkpoint_is_found(kept: Path, name: str) -> None:
    path = continued(kept)
    play(kept, 4, 5)
    *_, note = [note_of(r.body) for r in records(kept) if r.kind == "checkpoint"]
    kept.with_name("kept.note").write_bytes(note)
    assert invoke(command, str(path)).exit_code == 0
    said = invoke(command, str(path), "--against", str(kept.with_name(name)))
    assert (said.exit_code, "missing" in said.output) == (1, True), said.output


def test_a_checkpoint_of_another_journal_or_of_a_strangers_key_is_refused_in_one_line(
    kept: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    play(other, 7)
    said = invoke(command, str(other), "--against", str(kept.with_name("kept.note")))
    assert said.exit_code == 1 and "is a checkpoint of another journal" in str(said.exception)
    note = kept.with_name("kept.note")
    note.write_bytes(note.read_bytes().replace(b"record 1", b"record 2"))
    said = invoke(command, str(continued(kept)), "--against", str(note))
    assert said.exit_code == 1 and "is not that of its key" in str(said.exception)


def noted(kept: Path) -> str:
    """What the daemon's log says of the last checkpoint: its last record, and the root."""
    *_, note = [
        note_of(r.body).decode().splitlines() for r in records(kept) if r.kind == "checkpoint"
    ]
    return f"{note[4].partition(' ')[2]}:{note[2]}"


def test_a_root_that_was_noted_is_that_of_a_journal_that_went_on(kept: Path) -> None:
    path = continued(kept)
    play(path, 4, 5)
    assert invoke(command, str(path), "--signed-to", noted(kept)).exit_code == 0
    said = invoke(command, str(path), "--signed-to", f"3:{noted(path).partition(':')[2]}")
    assert (said.exit_code, "no checkpoint signs the journal" in said.output) == (1, True), said


def test_a_root_that_was_noted_shows_a_journal_written_again_by_its_key(kept: Path) -> None:
    said = invoke(command, str(forged(kept)), "--signed-to", noted(kept))
    assert (said.exit_code, "another root than the one" in said.output) == (1, True), said.output


@pytest.mark.parametrize(
    ("text", "line"),
    [("x", "'x' is no record's number"), ("12:AAAA", "'AAAA' is no root: 44 characters")],
)
def test_what_is_no_number_or_no_root_is_refused(kept: Path, text: str, line: str) -> None:
    said = invoke(command, str(kept), "--signed-to", text)
    assert (said.exit_code, line in said.output) == (2, True), said.output
