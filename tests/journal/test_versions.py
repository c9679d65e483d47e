"""A journal of an older version: read as it is, brought up to date when it is written on.

``version_1.db.gz`` is what the daemon wrote when version 1 was the newest: a table started three
times on one shoe, once in mid-round.
"""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from shoe_ctl import resuming
from shoe_ctl.errors import JournalError
from shoe_ctl.journal import schema
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.store import Store
from tests.journal.making import dealt, opened, records, stored, verified

KEPT = Path(__file__).with_name("version_1.db.gz")
RECORDS = 145


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal.db"
    path.write_bytes(gzip.decompress(KEPT.read_bytes()))
    return path


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def form(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {" ".join(sql.split()) for (sql,) in rows}


def test_a_journal_of_version_1_is_read_without_being_changed(path: Path) -> None:
    before = path.read_bytes()
    found = verified(path)
    assert (found.ok, found.records, found.tables) == (True, RECORDS, 1)
    with Reader.open(path) as reader:
        again = resuming.recover(reader, "bac-07").controller
    assert again is not None and again.state.rounds == 2
    assert path.read_bytes() == before


def test_a_journal_of_version_1_is_brought_up_to_date_when_it_is_written_on(path: Path) -> None:
    before = records(path)
    (result,) = stored(path, [dealt(1)])
    assert result.first_n == RECORDS + 1
    assert records(path)[:RECORDS] == before
    assert verified(path).ok
    assert version(path) == schema.VERSION
    stored(path.with_name("new.db"), [])
    assert form(path) == form(path.with_name("new.db"))


def test_a_migration_that_fails_leaves_the_journal_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = {**schema._MIGRATIONS, 1: schema._MIGRATIONS[1] + "CREATE TABLE record (n);"}
    before, form_before = records(path), form(path)
    with monkeypatch.context() as patch:
        patch.setattr(schema, "_MIGRATIONS", broken)
        with pytest.raises(JournalError, match="already exists"):
            Store.open(path)
    assert (version(path), form(path), records(path)) == (1, form_before, before)
    with opened(path) as store:
        assert store.last_n == RECORDS


def test_what_a_restart_looks_for_is_found_by_its_index(path: Path) -> None:
    with opened(path):
        connection = apsw.Connection(str(path))
        plan = connection.execute(
            'EXPLAIN QUERY PLAN SELECT n, body, hash FROM record WHERE "table" = ? AND kind = ?'
            f" AND n < ? AND {schema.LANDMARKS} ORDER BY n DESC LIMIT 1",
            ("bac-07", "meta", 100),
        ).fetchall()
        connection.close()
    assert [row[3] for row in plan] == [
        "SEARCH record USING INDEX landmark (table=? AND kind=? AND n<?)"
    ]
