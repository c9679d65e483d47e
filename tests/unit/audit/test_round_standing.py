"""The last lines of a report: which checkpoint and key it stands on, or that it stands on none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shoe_ctl.cli.main import shoectl
from shoe_ctl.journal.chain import note_of
from shoe_ctl.journal.signing import open_signer
from shoe_testing.cli import invoke
from shoe_testing.journals import T_US, dealt_journal, opened, records, rewrite_records

ROUND = "t1-s1-r2"


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal.db"
    dealt_journal(path, "reference", 3, keyed=True)
    return path


def report(journal: Path) -> str:
    shown = invoke(shoectl, "replay", journal, "--round", ROUND)
    assert shown.exit_code == 0, shown.exception
    return " ".join(shown.stdout.split())


def test_a_report_names_the_shoe_the_checkpoint_and_the_key(journal: Path) -> None:
    with opened(journal) as store:
        signer = open_signer(journal, None)
        store.checkpoint(signer, T_US)
    (note,) = [note_of(one.body).decode() for one in records(journal) if one.kind == "checkpoint"]
    text = report(journal)
    assert f"signed checkpoint 1 of {note.splitlines()[0]}, " in text
    assert f"key {signer.public_key.hex()}" in text.replace(" ", " ")
    assert "witness NOT VERIFIED: the holder of the key can sign another journal" in text
    assert "profile reference, firmware sim-1.0, it proved who it is with a key" in text
    said = json.loads(invoke(shoectl, "replay", journal, "--round", ROUND, "--json").stdout)
    assert (said["standing"]["checkpoint"], said["standing"]["why_not"]) == (1, None)
    assert said["device"]["authenticated"] is True


def test_a_round_that_no_checkpoint_signs_is_not_verified(journal: Path) -> None:
    assert f"signed NOT VERIFIED: no checkpoint signs round {ROUND} yet" in report(journal)


def test_a_round_rewritten_behind_its_checkpoint_does_not_stand_on_it(journal: Path) -> None:
    with opened(journal) as store:
        store.checkpoint(open_signer(journal, None), T_US)
    rewrite_records(journal, lambda one: one.body.replace(b'"manual":false', b'"manual":true'))
    text = report(journal)
    assert "signed NOT VERIFIED: journal" in text
    assert "its groups are not those that checkpoint 1 signed" in text
