"""Up to which record a journal is complete, and by what: `verify` always says so."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.cli.main import shoectl
from shoe_ctl.journal.chain import note_of
from shoe_ctl.journal.cosignatures import append_cosigned, encode_cosigned
from shoe_ctl.journal.signed_note import (
    COSIGNATURE,
    cosign,
    read_checkpoint_text,
    read_note,
    verifier_key,
)
from shoe_ctl.journal.signing import open_signer
from shoe_testing.checkpoints import NAME, NOW_S, OWN
from shoe_testing.cli import invoke
from shoe_testing.journals import T_US, opened, records, spoil, stored_round

WITNESS = verifier_key(NAME, OWN.public_key, COSIGNATURE)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Two rounds of four records, each with a checkpoint, and one more round: 14 records."""
    path = tmp_path / "journal.db"
    with opened(path) as store:
        for number in (1, 2):
            store.commit([stored_round(number)])
            store.checkpoint(open_signer(path, None), T_US + number)
        store.commit([stored_round(3)])
    return path


def claimed(path: Path, *words: object) -> list[tuple[Any, ...]]:
    found = json.loads(invoke(shoectl, "verify", path, "--json", *words).stdout)["complete"]
    return [(each["upto"], each["by"], each["name"]) for each in found]


def shown(path: Path, *words: object) -> str:
    text = " ".join(invoke(shoectl, "verify", path, *words).stdout.split())
    return text.partition(" complete ")[2]


CHECKPOINT = (9, "checkpoint", "2")
HEAD_FILE = (14, "head_file", None)


def test_the_last_checkpoint_and_the_head_file_show_it(journal: Path) -> None:
    assert claimed(journal) == [CHECKPOINT, HEAD_FILE]
    assert shown(journal) == "up to record 9 by checkpoint 2; up to record 14 by the head file"


def test_a_journal_without_its_head_file_is_complete_up_to_its_checkpoint(journal: Path) -> None:
    journal.with_name("journal.db-head").unlink()

    assert claimed(journal) == [CHECKPOINT]


def test_of_a_journal_that_was_never_signed_nothing_shows_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with opened(path) as store:
        store.commit([stored_round(1)])
    path.with_name("journal.db-head").unlink()

    assert (claimed(path), shown(path)) == ([], "nothing shows it")


def test_what_was_kept_elsewhere_comes_first(journal: Path) -> None:
    copy = journal.with_name("copy.db")
    shutil.copy(journal, copy)
    first = next(record for record in records(journal) if record.kind == "checkpoint")
    note = read_note(note_of(first.body))
    note = note.add(cosign(note.text, NAME, OWN, NOW_S))
    append_cosigned(journal, [encode_cosigned(NAME, read_checkpoint_text(note.text), note, NOW_S)])

    words = ("--witness", WITNESS, "--against", copy, "--signed-to", 7)

    kept = [(4, "witness", NAME), (14, "against", str(copy)), (7, "signed_to", None)]
    assert claimed(journal, *words) == [*kept, CHECKPOINT, HEAD_FILE]
    assert shown(journal, *words).startswith(f"up to record 4 by witness {NAME}; up to record 14 ")


def test_nothing_is_claimed_of_a_journal_in_which_something_is_wrong(journal: Path) -> None:
    assert claimed(journal, "--signed-to", 10) == []

    spoil(journal, "UPDATE record_group SET body = x'00' WHERE n = 9")

    assert (claimed(journal), shown(journal)) == ([], "no: see above")


def test_the_verifier_key_is_that_which_a_witness_is_given(journal: Path) -> None:
    key = invoke(shoectl, "checkpoint", journal, "--key").stdout.strip()

    assert f" verifier {key} " in " ".join(invoke(shoectl, "verify", journal).stdout.split())
    assert json.loads(invoke(shoectl, "verify", journal, "--json").stdout)["verifier_keys"] == [key]
