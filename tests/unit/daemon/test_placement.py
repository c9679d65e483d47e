"""No table is served from a journal that lacks its records, wherever the configuration puts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_ctl.config.schema import load
from shoe_ctl.daemon.placement import check_histories
from shoe_ctl.errors import ConfigError, JournalError
from shoe_testing.config import make_config, table_section
from shoe_testing.journals import stored, stored_round


def check(folder: Path, **workers: int) -> None:
    """Check these tables, each at its worker."""
    tables = [table_section(name, port="/dev/x", worker=n) for name, n in workers.items()]
    config = folder / "table.toml"
    config.write_text(make_config(*tables))
    check_histories(load(config))


def test_a_table_stays_with_the_journal_that_has_its_records(tmp_path: Path) -> None:
    check(tmp_path, t1=1, t2=2)  # there is no journal yet
    stored(tmp_path / "journal.db", [stored_round(0, "t1")])
    stored(tmp_path / "journal-2.db", [stored_round(0, "t2")])
    check(tmp_path, t1=1, t2=2, t3=2)  # a new one may be anywhere
    check(tmp_path, t1=1, t3=3)
    for moved in ({"t1": 2}, {"t1": 1, "t2": 1}, {"t2": 1}, {"t1": 3, "t2": 2}):
        with pytest.raises(ConfigError) as refused:
            check(tmp_path, **moved)
        assert "its records are in" in str(refused.value)
    assert f"{tmp_path / 'journal-2.db'}: set worker = 2" in _refusal(tmp_path, t1=1, t2=1)
    (tmp_path / "old").mkdir()
    for journal in tmp_path.glob("journal*"):
        journal.rename(tmp_path / "old" / journal.name)
    check(tmp_path, t1=2, t2=1)


def _refusal(folder: Path, **workers: int) -> str:
    with pytest.raises(ConfigError) as refused:
        check(folder, **workers)
    return str(refused.value)


def test_a_journal_that_cannot_be_read_is_left_to_its_worker_or_ends_the_start(
    tmp_path: Path,
) -> None:
    (tmp_path / "journal-2.db").write_bytes(b"no journal")
    check(tmp_path, t1=1, t2=2)
    with pytest.raises(JournalError, match=r"journal-2\.db"):
        check(tmp_path, t1=1)


def test_a_file_with_another_number_is_no_worker_of_this_journal(tmp_path: Path) -> None:
    for name in ("journal-2026.db", "journal-0.db", "journal-1.db", "journal-65.db"):
        stored(tmp_path / name, [stored_round(0, "t1")])
    check(tmp_path, t1=1)
