"""A journal of an older version: read as it is, brought up to date when it is written on.

``version_1.db.gz`` is what the daemon wrote when version 1 was the newest: a table started three
times on one shoe, once in mid-round. ``version_1.py`` makes another, as much as is wanted.
"""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner

from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import JournalError
from shoe_ctl.history import snapshots
from shoe_ctl.journal import schema
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.signing import signer
from shoe_ctl.journal.store import Store
from shoe_ctl.table.inputs import Restarted
from tests.journal import version_1
from tests.journal.disk import BROKEN, FULL, ONE_ERROR, WRITES, Failing, Fault, Listing, disk
from tests.journal.making import dealt, opened, records, spoil, stored, verified
from tests.wiring.at_a_journal import at_a_journal, replayed
from tests.wiring.test_rules import meta

KEPT = Path(__file__).with_name("version_1.db.gz")
CARDS = "4D 3C 4H TS 2D 3C TS 4D 9C 2D KD 3H"


@pytest.fixture(params=["as it was kept", "made by code"])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "journal.db"
    if request.param == "made by code":
        version_1.make(path, CARDS)
    else:
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
    assert (found.ok, found.records, found.tables) == (True, len(records(path)), 1)
    assert not {record.kind for record in records(path)} & {"snapshot", "checkpoint"}
    with Reader.open(path) as reader:
        again = snapshots.recover(reader, "bac-07").controller
    assert again is not None and again.state.rounds >= 2
    assert path.read_bytes() == before


def test_a_journal_of_version_1_is_brought_up_to_date_when_it_is_written_on(path: Path) -> None:
    before = records(path)
    (result,) = stored(path, [dealt(1)])
    assert result.first_n == len(before) + 1
    assert records(path)[: len(before)] == before
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
        assert store.last_n == len(before)


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


def test_a_table_goes_on_from_a_journal_of_version_1(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    version_1.make(path, CARDS)
    rounds = replayed(path).rounds
    assert replayed(path).differences == []
    with at_a_journal(path, meta(), [Restarted(t_us=2**50, host_boot="after")]) as table:
        assert table.controller.state.rounds == rounds > 2
        table.store.checkpoint(signer(path, None), 2**50)
    found = verified(path)
    assert (found.ok, found.signed.checkpoints, found.signed.upto) == (True, 1, found.last_n - 1)
    assert replayed(path).differences == []
    assert {"snapshot", "checkpoint"} <= {record.kind for record in records(path)}


@pytest.mark.parametrize("fault", [FULL, BROKEN, ONE_ERROR], ids=lambda fault: fault.name)
def test_the_migration_is_one_transaction_of_which_any_call_may_fail(
    tmp_path: Path, fault: Fault
) -> None:
    path = tmp_path / "journal.db"
    version_1.make(path, CARDS)
    whole, before = path.read_bytes(), records(path)
    with disk(listing := Listing()) as layer:
        Store.open(path, vfs=layer.name).close()
    tried = listing.numbers(*WRITES, "sync")
    assert len(tried) > 5
    for at in tried:
        for companion in path.parent.glob("journal.db-*"):
            companion.unlink()
        path.write_bytes(whole)
        with disk(Failing(fault, at)) as layer, suppress(JournalError):
            Store.open(path, vfs=layer.name).close()
        with opened(path) as store:
            assert store.last_n == len(before)
        assert version(path) == schema.VERSION
        assert records(path) == before


@pytest.mark.parametrize("read", [Reader.open, Store.open])
def test_a_newer_journal_is_refused_in_one_clear_line(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    path = tmp_path / "journal.db"
    stored(path, [dealt(1)])
    spoil(path, f"PRAGMA user_version = {schema.VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(JournalError) as error:
        read(path)
    assert str(error.value) == (
        f"journal {path} has version {schema.VERSION + 1}; this shoe-ctl reads versions 1 to "
        f"{schema.VERSION}"
    )
    assert path.read_bytes() == before
    said = CliRunner().invoke(shoectl, ["verify", str(path)])
    assert str(said.exception) == str(error.value)
