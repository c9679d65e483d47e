"""What is no journal, or does not hold what is asked for, is told in a line."""

from __future__ import annotations

import json
import sqlite3
from base64 import b64encode
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from simulators.errors import PortFault, WrongUsage
from simulators.recorder.journal import read_journal, read_unpacked

META = {"game": b64encode(b'id = "tiger"').decode(), "settings": {"decks": 8, "method": "C"}}
LINK = {"input": "link_up", "t_us": 1, "profile": "angel_eye"}
EVENT = {"type": "round.opened", "id": "t/p1", "data": {"round_id": "t-s1-r1"}}


def unpacked(folder: Path, *records: tuple[str, str, Any]) -> Path:
    """A file of records: table, kind, body."""
    path = folder / "unpacked.db"
    with closing(sqlite3.connect(path)) as file:
        file.execute('CREATE TABLE record (n INTEGER, "table" TEXT, kind TEXT, body BLOB)')
        rows = [
            (n, table, kind, body if isinstance(body, bytes) else json.dumps(body).encode())
            for n, (table, kind, body) in enumerate(records, 1)
        ]
        file.executemany("INSERT INTO record VALUES (?, ?, ?, ?)", rows)
        file.commit()
    return path


def test_inputs_are_read_with_the_events_that_came_of_them(tmp_path: Path) -> None:
    path = unpacked(
        tmp_path,
        ("t", "meta", META),
        ("other", "input", LINK),
        (
            "t",
            "connection",
            {"number": 1, "settings": {"commands": True, "overdraw": "next_round"}},
        ),
        ("t", "input", LINK),
        ("t", "wire", b"{raw"),
        ("t", "event.public", EVENT),
        ("t", "event.restricted", EVENT | {"data": {"round_id": "t-s1-r1", "person": "Ann"}}),
    )
    recording = read_unpacked(path, path, table="t", source=path.name)
    assert recording.table == {
        "game": "tiger",
        "decks": 8,
        "method": "C",
        "shoe": {
            "profile": "angel_eye",
            "commands": True,
            "options": {"overdraw": "next_round"},
        },
    }
    (happened,) = recording.happened
    assert happened.what == LINK
    assert [told.data for told in happened.public] == [EVENT["data"]]
    assert happened.restricted[0].data["person"] == "Ann"
    assert recording.source == "unpacked.db, table t"


@pytest.mark.parametrize(
    ("records", "table", "said"),
    [
        ([("a", "input", LINK), ("b", "input", LINK)], None, "--table is missing: .* has a, b"),
        ([("a", "input", LINK)], "b", "--table: .* has a, not 'b'"),
        ([("a", "input", LINK)], "a", "does not say what the table was started with"),
        (
            [("a", "meta", META), ("a", "input", {"input": "tick", "t_us": 1})],
            "a",
            "no shoe was connected in it",
        ),
        ([("a", "input", b"{no json")], "a", "record 1: expected JSON in input"),
    ],
)
def test_what_a_file_lacks_is_told(
    records: list[tuple[str, str, Any]], table: str | None, said: str, tmp_path: Path
) -> None:
    path = unpacked(tmp_path, *records)
    with pytest.raises(WrongUsage, match=said):
        read_unpacked(path, path, table=table, source=path.name)


def test_a_file_that_is_no_journal_is_told_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(PortFault, match=r"no\.db: No such file or directory"):
        read_journal(tmp_path / "no.db", table=None, shoe=None)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(WrongUsage, match="text: expected a journal, or an export of one"):
        read_journal(tmp_path / "text", table=None, shoe=None)
