"""Years of rounds in one journal: all of it verifies, and what needs a part reads only that."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench import journal
from shoe_ctl.history import recorder, snapshots
from shoe_ctl.history.shoe_sections import find_section
from shoe_ctl.journal import export
from shoe_ctl.journal.reader import Reader
from shoe_ctl.round_report import lookup
from shoe_testing import bulk_journal
from shoe_testing.journals import counted_reads, replayed_journal, verified
from shoe_testing.paths import child_environment

MOST_READ = recorder.MOST_RECORDS + 100
RESTART_S = 0.3


@pytest.mark.slow
@pytest.mark.parametrize(
    "rounds", [1_000, pytest.param(10_000, marks=pytest.mark.exhaustive(cpu_s=5))]
)
def test_thousands_of_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rounds: int) -> None:
    holds(tmp_path / "journal.db", rounds, monkeypatch)


@pytest.mark.slow
@pytest.mark.exhaustive(cpu_s=60)
def test_a_hundred_thousand_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holds(tmp_path / "journal.db", 100_000, monkeypatch)


@pytest.mark.soak
def test_a_million_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holds(tmp_path / "journal.db", 1_000_000, monkeypatch)


def holds(path: Path, rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything, on a journal of so many rounds: gigabytes, which are not left behind."""
    try:
        made = bulk_journal.make(path, rounds)
        found = verified(path, frozenset({made.signer.public_key}))
        assert (found.ok, found.records) == (True, made.records)
        assert found.signed.upto == made.records - 1
        goes_on(made, monkeypatch)
        middle = find_round(made)
        export_holds(path, middle.rpartition("-r")[0])
    finally:
        path.unlink(missing_ok=True)


def goes_on(made: bulk_journal.Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restart finds the table in no time, reading next to nothing."""
    with Reader.open(made.path) as reader, counted_reads(monkeypatch) as rows:
        began = time.process_time()
        again = snapshots.recover_tables(reader, [bulk_journal.TABLE])[bulk_journal.TABLE]
        took_s = time.process_time() - began
    assert again.controller is not None
    assert again.controller.state.rounds == made.rounds
    assert sum(rows) < MOST_READ
    assert took_s < RESTART_S


def find_round(made: bulk_journal.Made) -> str:
    """A round in the middle is found by looking at a small part."""
    number = made.rounds // 2
    each = made.rounds // (number_of_sets(made))
    round_id = f"{bulk_journal.TABLE}-s{(number - 1) // each + 1}-r{number}"
    with Reader.open(made.path) as reader:
        assert lookup.find_round(reader, round_id).round_id == round_id
    return round_id


def number_of_sets(made: bulk_journal.Made) -> int:
    with Reader.open(made.path) as reader:
        return find_section(reader, None).number - 1


def export_holds(path: Path, shoe_id: str) -> None:
    to = path.with_name("export.gz")
    with Reader.open(path) as reader:
        span = find_section(reader, shoe_id)
        export.write_export(
            reader, export.select_records(reader, span.table, span.first, span.last), to
        )
    assert verified(to).ok
    assert replayed_journal(to).differences == []


@pytest.mark.soak
def test_a_table_holds_no_more_memory_however_long_it_deals(tmp_path: Path) -> None:
    """For an eighth of the time that the soak has, at some 200 rounds a second."""
    seconds = float(os.environ.get("SHOE_CTL_SOAK_S", "600")) / 8
    rounds = max(2000, int(200 * seconds))
    program = "from sys import argv; from bench.journal import deal_on\n"
    program += "print(deal_on(argv[1], int(argv[2])))"
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "journal.db"), str(rounds)],
        env=child_environment(),
        stdout=subprocess.PIPE,
        check=True,
    )
    added_mb = float(done.stdout)
    print(f"{rounds} rounds dealt, {added_mb:.2f} MB more held")  # noqa: T201 - what a soak did
    assert added_mb <= journal.ADDED_MB
