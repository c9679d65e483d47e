"""A journal file of another version: refused in one line that says which shoe-ctl reads it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import JournalError
from shoe_ctl.journal import schema
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.store import Store
from shoe_testing.config import make_config, table_section, this_user
from shoe_testing.journals import (
    opened,
    spoil,
    stored,
    stored_round,
)

NEWER = schema.VERSION + 1
OTHERS = {
    **dict.fromkeys(range(1, schema.VERSION), "a build before shoe-ctl 0.3.0, the first release"),
    NEWER: "a newer shoe-ctl",
}
USED = {
    **dict.fromkeys(range(1, schema.VERSION), "that build"),
    NEWER: "the newer shoe-ctl",
}


def of_version(folder: Path, version: int) -> Path:
    path = folder / "journal.db"
    stored(path, [stored_round(1)])
    spoil(path, f"PRAGMA user_version = {version}")
    return path


def line(path: Path, version: int) -> str:
    return (
        f"journal {path} has version {version}, written by {OTHERS[version]}; this version reads "
        f"{schema.VERSION}: use {USED[version]} for this journal, or begin a new one"
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


def test_what_is_looked_up_is_found_by_an_index(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with opened(path) as store, store.reader() as reader:
        for query, found in (
            (
                'SELECT n FROM landmark WHERE "table" = ? AND kind = ? AND n < ? ORDER BY n DESC',
                "SEARCH landmark USING PRIMARY KEY (table=? AND kind=? AND n<?)",
            ),
            (
                'SELECT n, body FROM record_group WHERE "table" = ? AND n > ? ORDER BY n LIMIT 1',
                "SEARCH record_group USING INDEX of_table (table=? AND rowid>?)",
            ),
        ):
            bindings = ("bac-07", "meta", 100)[: query.count("?")]
            plan = reader._fetch(f"EXPLAIN QUERY PLAN {query}", bindings)
            assert [row[3] for row in plan] == [found]
