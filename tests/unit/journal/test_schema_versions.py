"""A journal file of another version: refused in one line that says which shoe-ctl reads it."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner

from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import JournalError
from shoe_ctl.journal import schema
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience, event_id
from shoe_testing.config import make_config, table_section, this_user
from shoe_testing.journals import (
    both_replays,
    held,
    opened,
    records,
    spoil,
    stored,
    stored_round,
    verified,
)
from shoe_testing.paths import DATA

NEWER = schema.VERSION + 1
OTHERS = {1: "shoe-ctl 0.1.0", 2: "shoe-ctl 0.1.0", NEWER: "a newer shoe-ctl"}


def of_version_4(folder: Path) -> Path:
    """A journal as a table of version 4 wrote it: 30 inputs, signed."""
    path = folder / "journal.db"
    path.write_bytes(gzip.decompress((DATA / "journal_of_version_4.db.gz").read_bytes()))
    return path


def of_version_3(folder: Path) -> Path:
    """The same without the index of events, as version 3 was."""
    path = of_version_4(folder)
    spoil(path, "DROP INDEX event", "PRAGMA user_version = 3")
    return path


OLDER = {3: of_version_3, 4: of_version_4}


def of_version(folder: Path, version: int) -> Path:
    path = folder / "journal.db"
    stored(path, [stored_round(1)])
    spoil(path, f"PRAGMA user_version = {version}")
    return path


def line(path: Path, version: int) -> str:
    return (
        f"journal {path} has version {version}, written by {OTHERS[version]}; this version reads "
        f"3 to 6: use {OTHERS[version]} for this journal, or begin a new one"
    )


@pytest.mark.parametrize("read", [Reader.open, Store.open])
@pytest.mark.parametrize("version", OTHERS)
def test_a_journal_of_another_version_is_refused_in_one_clear_line(
    tmp_path: Path, version: int, read: Callable[[Path], object]
) -> None:
    path = of_version(tmp_path, version)
    before = path.read_bytes()
    with pytest.raises(JournalError) as error:
        read(path)
    assert str(error.value) == line(path, version)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        ["verify", "{}"],
        ["replay", "{}"],
        ["replay", "{}", "--last", "1"],
        ["rounds", "{}"],
        ["export", "{}"],
        ["capture", "--journal", "{}"],
        ["run", "--config", "shoe.toml"],
    ],
    ids=" ".join,
)
def test_every_command_says_so(
    tmp_path: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = of_version(tmp_path, 2)
    Path("shoe.toml").write_text(
        make_config(
            table_section("a", port="/dev/none", decks=8),
            journal={"path": str(path)},
            socket={"path": "socket", "user": [this_user("dealer")]},
        )
    )
    said = CliRunner().invoke(shoectl, [word.format(path) for word in words])
    assert isinstance(said.exception, JournalError)
    assert str(said.exception) == line(path, 2)


def test_what_a_restart_looks_for_is_found_by_its_index(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with opened(path):
        connection = apsw.Connection(str(path))
        plan = connection.execute(
            'EXPLAIN QUERY PLAN SELECT n, body, hash FROM record WHERE "table" = ? AND kind = ?'
            f" AND n < ? AND {schema.INDEXED} ORDER BY n DESC LIMIT 1",
            ("bac-07", "meta", 100),
        ).fetchall()
        connection.close()
    assert [row[3] for row in plan] == [
        "SEARCH record USING INDEX landmark (table=? AND kind=? AND n<?)"
    ]


@pytest.mark.parametrize("version", OLDER)
def test_an_older_journal_is_read_verified_replayed_and_written_on_as_it_is(
    tmp_path: Path, version: int
) -> None:
    path = OLDER[version](tmp_path)
    before = held(path)
    assert verified(path).ok
    assert verified(path).signed.checkpoints == 2
    replayed = both_replays(path)
    assert (replayed.found, replayed.connections, replayed.rounds > 2) == (0, 1, True)
    with opened(path) as store, store.reader() as reader:
        store.commit([stored_round(7, "t1")])
        n = reader.find_event(event_id("t1/p40"))
        assert n is not None
        ((at, body),) = reader.events(Audience.PUBLIC, after=n - 1, limit=1)[0]
        assert (at, b'"id":"t1/p40"' in body) == (n, True)
        indexed = reader.indexed_events(n)
        assert (indexed is None) == (version == 3)
    after = held(path)
    assert after[: len(before)] == before == records(path)[: len(before)]
    assert all(record.body[:1] == b"{" for record in after[len(before) :])
    with closing(apsw.Connection(str(path))) as connection:
        assert connection.pragma("user_version") == version
    assert verified(path).ok


def test_a_table_s_events_are_found_by_their_index(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with opened(path) as store, store.reader() as reader:
        for audience in Audience:
            after = reader._events_of(audience, ">", "ASC")
            for query in (after, reader._events_of(audience, "<", "DESC")):
                plan = reader._fetch(f"EXPLAIN QUERY PLAN {query} LIMIT 1", ("bac-07", 100))
                found, *others = (str(row[3]) for row in plan)
                assert re.match(
                    r"SEARCH record USING (COVERING )?INDEX event \(table=\? AND", found
                )
                assert others in ([], ["SEARCH public USING INTEGER PRIMARY KEY (rowid=?)"])
