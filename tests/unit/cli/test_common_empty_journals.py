"""A journal in which nothing is recorded yet: each command says so, in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_ctl.cli.main import shoectl
from shoe_ctl.journal.store import Store
from shoe_testing.cli import invoke


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["rounds"], 0, "no rounds recorded"),
        (["replay", "--last", "1"], 0, "no rounds recorded"),
        (["replay"], 0, "0 rounds replayed"),
        (["verify"], 0, "nothing: no valid checkpoint found"),
        (["export"], 1, "no shoe is recorded yet"),
        (["export", "--shoe", "bac-07-s1"], 1, "no shoe is recorded yet"),
        (["decode"], 1, "no table is recorded yet"),
        (["capture", "--table", "bac-07", "--journal"], 1, "no table is recorded yet"),
    ],
)
def test_a_journal_without_records_is_told_as_one(
    tmp_path: Path, words: list[str], code: int, told: str
) -> None:
    journal = tmp_path / "journal.db"
    Store.open(journal).close()
    result = invoke(shoectl, *words, journal)
    refused = getattr(result.exception, "exit_code", 0) if result.exception is not None else 0
    assert (refused, told in f"{result.output}{result.exception}") == (code, True)
