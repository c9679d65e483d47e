"""A journal file of another version: refused in one line that says which shoe-ctl reads it."""

from __future__ import annotations

from collections.abc import Callable
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
from shoe_testing.journals import opened, spoil, stored, stored_round, verified

NEWER = schema.VERSION + 1
OTHERS = {1: "shoe-ctl 0.1.0", 2: "shoe-ctl 0.1.0", NEWER: "a newer shoe-ctl"}


def of_0_2_0(folder: Path, count: int = 1) -> Path:
    """A journal as shoe-ctl 0.2.0 made it: without the index of events."""
    path = folder / "journal.db"
    stored(path, [stored_round(n, "ab"[n % 2]) for n in range(count)])
    spoil(path, "DROP INDEX event", f"PRAGMA user_version = {schema.WITHOUT_EVENT_INDEX}")
    return path


def of_version(folder: Path, version: int) -> Path:
    path = folder / "journal.db"
    stored(path, [stored_round(1)])
    spoil(path, f"PRAGMA user_version = {version}")
    return path


def line(path: Path, version: int) -> str:
    return (
        f"journal {path} has version {version}, written by {OTHERS[version]}; this version reads "
        f"3 and 4: use {OTHERS[version]} for this journal, or begin a new one"
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


def test_a_journal_of_0_2_0_is_written_on_as_it_is_and_its_events_are_found(tmp_path: Path) -> None:
    path = of_0_2_0(tmp_path, 6)
    with opened(path) as store, store.reader() as reader:
        store.commit([stored_round(7, "b")])
        n = reader.find_event(event_id("b/p4"))
        assert n is not None
        ((at, body),) = reader.events(Audience.PUBLIC, after=n - 1, limit=1)[0]
        assert (at, b'"id":"b/p4"' in body) == (n, True)
        assert reader.indexed_events(n) is None
    assert verified(path).ok


def test_a_table_s_events_are_found_by_their_index(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with opened(path):
        connection = apsw.Connection(str(path))
        for bound, order in (("n > ?", "ASC"), ("n < ?", "DESC")):
            plan = connection.execute(
                'EXPLAIN QUERY PLAN SELECT n, body FROM record WHERE "table" = ? AND kind = ?'
                f" AND {bound} AND {schema.EVENTS} ORDER BY n {order} LIMIT 1",
                ("bac-07", "event.public", 100),
            ).fetchall()
            (found,) = (str(row[3]) for row in plan)
            assert found.startswith("SEARCH record USING INDEX event (table=? AND kind=? AND n")
        connection.close()
