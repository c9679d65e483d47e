"""A journal with its exports in a folder: what somebody kept back is named, and nothing else."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.cli.main import shoectl
from shoe_ctl.daemon.journal_upkeep import RetentionPolicy, exported
from shoe_ctl.history.shoe_sections import find_section
from shoe_ctl.journal.export import select_records, write_export
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.signing import open_signer
from shoe_testing import bulk_journal
from shoe_testing.cli import invoke
from shoe_testing.journals import T_US, opened, records, spoil, stored_round

SETS = 6
TABLE = bulk_journal.TABLE


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as retention leaves it: five files, and a journal that begins behind them."""
    folder = tmp_path_factory.mktemp("kept")
    made = bulk_journal.make(folder / "journal.db", rounds=82 * SETS)
    policy = RetentionPolicy(keep_us=0, archive=folder, tables=frozenset({TABLE}), sinks=())
    with Reader.open(made.path) as reader:
        span = find_section(reader, f"{TABLE}-s4")
        now_us = select_records(reader, TABLE, span.first, span.last).t_us
    assert now_us is not None
    with opened(made.path) as store:
        with store.reader() as reader:
            steps = exported(reader, policy, now_us)
        for begins in steps:
            store.truncate_before(begins, made.signer, now_us)
    assert {file.name for file in folder.glob("*.gz")} == {named(n) for n in range(5)}
    return folder


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    return shutil.copytree(kept, tmp_path / "folder")


def named(number: int) -> str:
    return f"{TABLE}-s{number}.journal.gz"


def told(folder: Path, *words: str | Path) -> tuple[int, dict[str, Any]]:
    result = invoke(shoectl, "verify", folder, "--json", *words)
    return result.exit_code, json.loads(result.stdout)


def of_table(path: Path) -> set[int]:
    return {record.n for record in records(path) if record.table == TABLE}


def signed(path: Path, numbers: Sequence[int], tables: Sequence[str] = "a") -> Path:
    """Rounds of these tables in turn, signed behind each."""
    with opened(path) as store:
        key = open_signer(path, store.signed_with)
        for number in numbers:
            store.commit([stored_round(number, tables[number % len(tables)])])
            store.checkpoint(key, T_US + number)
    return path


def export(journal: Path, table: str, to: Path) -> Path:
    with Reader.open(journal) as reader:
        n = [record.n for record in reader.records(table=table)]
        write_export(reader, select_records(reader, table, n[0], n[-1]), to)
    return to


def test_a_journal_and_its_exports_are_complete(folder: Path) -> None:
    code, said = told(folder)
    assert (code, said["ok"], len(said["files"])) == (0, True, 6)
    assert said["others"] == []  # what a daemon keeps beside its journal is not worth a word
    assert "complete    no record is missing" in invoke(shoectl, "verify", folder).stdout


@pytest.mark.parametrize("seed", range(6))
def test_a_shoe_that_is_kept_back_is_named_by_its_records(folder: Path, seed: int) -> None:
    number = random.Random(seed).randrange(1, 5)
    gone = of_table(folder / named(number))
    (folder / named(number)).unlink()
    left = set[int]().union(*map(of_table, [*folder.glob("*.gz"), folder / "journal.db"]))
    code, said = told(folder)
    (gap,) = said["missing"]
    assert (code, said["ok"], gap["table"]) == (1, False, TABLE)
    inside = set(range(gap["first"], gap["last"] + 1))
    assert gone - left and gone - left <= inside and not inside & left
    sides = (Path(gap["behind"]).name, Path(gap["before"]).name)
    assert sides == (named(number - 1), named(number + 1) if number < 4 else "journal.db")
    assert f"MISSING     table {TABLE}, in records" in invoke(shoectl, "verify", folder).stdout


def test_several_that_are_kept_back_one_after_the_other_are_one_run(folder: Path) -> None:
    for number in range(4):  # from the very first on
        (folder / named(number)).unlink()
    _, said = told(folder)
    (gap,) = said["missing"]
    assert (gap["first"], gap["behind"], Path(gap["before"]).name) == (1, None, named(4))


@pytest.mark.parametrize("seed", range(3))
def test_the_export_of_another_journal_is_foreign_and_what_it_stands_for_missing(
    folder: Path, tmp_path: Path, seed: int
) -> None:
    replaced = folder / named(random.Random(seed).randrange(1, 5))
    replaced.unlink()
    export(signed(tmp_path / "other.db", range(4), (TABLE,)), TABLE, replaced)
    code, said = told(folder)
    assert (code, said["foreign"], len(said["missing"])) == (1, [str(replaced)], 1)


def test_times_that_run_backwards_are_named_with_their_file(tmp_path: Path) -> None:
    signed(tmp_path / "journal.db", (1, 5, 3))
    result = invoke(shoectl, "verify", tmp_path)
    said = " ".join(result.stdout.split())
    assert result.exit_code == 1
    assert "journal.db: record 12 of table a: 2023-11-14T22:13:20.000003Z after" in said
    assert "journal.db: record 15, a checkpoint: 2023-11-14T22:13:20.000003Z after" in said


def test_an_archive_may_be_a_folder_beside_the_journal(folder: Path) -> None:
    (folder / "archive").mkdir()
    for file in folder.glob("*.gz"):
        file.rename(folder / "archive" / file.name)
    result = invoke(shoectl, "verify", folder)
    assert result.exit_code == 0
    assert f"file        archive/{named(1)}: whole" in result.stdout


def test_files_of_other_kinds_are_said_not_to_be_read(folder: Path) -> None:
    (folder / "ledger.jsonl").write_text("{}\n")
    assert "not read    ledger.jsonl" in invoke(shoectl, "verify", folder).stdout


@pytest.mark.parametrize("seed", range(3))
def test_two_copies_of_one_export_are_no_fault(folder: Path, seed: int) -> None:
    number = random.Random(seed).randrange(5)
    shutil.copy(folder / named(number), folder / "copy.gz")
    code, said = told(folder)
    assert (code, said["ok"], len(said["files"])) == (0, True, 7)


def test_a_file_that_does_not_verify_counts_as_missing(folder: Path) -> None:
    (folder / named(2)).write_bytes(b"")
    spoil(folder / "journal.db", "UPDATE head SET public = public + 1 WHERE \"table\" = 't1'")
    code, said = told(folder)
    bad = [Path(file["path"]).name for file in said["files"] if not file.get("ok")]
    assert (code, sorted(bad), len(said["missing"])) == (1, ["journal.db", named(2)], 1)


def test_of_a_file_that_cannot_be_read_nothing_is_called_complete(tmp_path: Path) -> None:
    (tmp_path / "journal.db").write_bytes(b"torn")
    result = invoke(shoectl, "verify", tmp_path)
    assert (result.exit_code, "complete" in result.stdout) == (1, False)


@pytest.mark.usefixtures("known_salts")
def test_who_holds_the_key_is_found_by_an_export_of_what_was_before(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    before = signed(tmp_path / "before.db", (1, 2, 4))
    shutil.copy(f"{before}-key", folder / "journal.db-key")
    again = signed(folder / "journal.db", (1, 3, 4))
    one = export(before, "a", folder / "a.journal.gz")
    code, said = told(folder)
    (fork,) = said["forks"]
    assert (code, fork["table"]) == (1, "a")
    assert {fork["one"], fork["other"]} == {str(again), str(one)}


def test_a_journal_that_ends_before_its_export_is_cut(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    journal = signed(tmp_path / "journal.db", (1, 2), "ab")
    shutil.copy(journal, folder)
    signed(journal, (3, 4), "ab")
    export(journal, "b", folder / "b.journal.gz")
    code, said = told(folder)
    assert (code, said["cut"]) == (1, [str(folder / "journal.db")])


def test_without_a_journal_what_is_behind_the_last_export_is_not_shown(folder: Path) -> None:
    (folder / "journal.db").unlink()
    result = invoke(shoectl, "verify", folder)
    assert result.exit_code == 0
    assert "what is behind the last export is not" in " ".join(result.stdout.split())


def test_the_keys_that_are_trusted_are_those_of_each_file(folder: Path, tmp_path: Path) -> None:
    code, said = told(folder, "--public-key", "ab" * 32)
    assert code == 1
    assert {file["first_bad"]["why"] for file in said["files"]} == {"wrong_key"}


def test_what_is_for_one_file_and_a_folder_without_any_are_one_line_each(tmp_path: Path) -> None:
    result = invoke(shoectl, "verify", tmp_path, "--signed-to", "3")
    assert result.exit_code == 2
    result = invoke(shoectl, "verify", tmp_path)
    assert f"{result.exception}" == f"{tmp_path}: no file in it is a journal or an export"
