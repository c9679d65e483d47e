"""Records that an insider took out whole: what is left replays the same, and the gap is named."""

from __future__ import annotations

import json
import random
import shutil
from itertools import groupby
from pathlib import Path

import pytest

from shoe_ctl.cli.main import shoectl
from shoe_testing.cli import invoke
from shoe_testing.journals import (
    dealt_by,
    first_of,
    held,
    journal_table,
    replayed_journal,
    spoil,
    table_meta,
)


@pytest.fixture(scope="module")
def two_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal in which the records of two tables take turns."""
    path = tmp_path_factory.mktemp("two") / "journal.db"
    inputs = dealt_by("2D 3C TS 4D")
    half = len(inputs) // 2
    for part in (inputs[:half], inputs[half:]):
        for table in ("bac-07", "bac-08"):
            with journal_table(path, table_meta(table=table), part):
                pass
    return path


@pytest.mark.parametrize("table", ["bac-07", "bac-08"])
def test_a_deleted_table_is_named_by_its_records(
    two_tables: Path, tmp_path: Path, table: str
) -> None:
    path = tmp_path / "journal.db"
    shutil.copyfile(two_tables, path)
    rows = held(path)
    last_left = max(row[0] for row in rows if row[1] != table)
    runs = [[*of] for gone, of in groupby(rows, lambda row: row[1] == table) if gone]
    gaps = [(first_of(of[0]), of[-1][0]) for of in runs if of[-1][0] < last_left]
    assert gaps
    spoil(
        path,
        ('DELETE FROM record_group WHERE "table" = ?', (table,)),
        ('DELETE FROM head WHERE "table" = ?', (table,)),
    )
    found = replayed_journal(path)
    assert (found.found, found.missing) == (0, gaps)
    result = invoke(shoectl, "replay", path)
    first, last = gaps[0]
    assert result.exit_code == 1
    assert f"MISSING      records {first:,} to {last:,} are not in the journal" in result.stdout
    assert json.loads(invoke(shoectl, "replay", path, "--json").stdout)["missing"] == [
        [*gap] for gap in gaps
    ]
    assert invoke(shoectl, "verify", path).exit_code == 1


@pytest.mark.parametrize("seed", range(6))
def test_each_group_that_is_taken_out_is_named(two_tables: Path, tmp_path: Path, seed: int) -> None:
    path = tmp_path / "journal.db"
    shutil.copyfile(two_tables, path)
    rows = held(path)
    gone = random.Random(seed).choice(rows[1:-1])
    spoil(path, ("DELETE FROM record_group WHERE n = ?", (gone[0],)))
    assert replayed_journal(path).missing == [(first_of(gone), gone[0])]


def test_a_whole_journal_lacks_nothing(two_tables: Path) -> None:
    assert replayed_journal(two_tables).missing == []
    assert invoke(shoectl, "replay", two_tables).exit_code == 0
