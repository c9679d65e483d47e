"""Commands that read a journal whose records were changed to nonsense: one line, and where."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import JournalError
from shoe_ctl.journal.record_format import Kind
from shoe_testing.cli import invoke
from shoe_testing.journals import (
    alter_record,
    dealt_journal,
    first_of,
    held,
    records,
)

ROUNDS = 3
CARD = b'"type":"card_drawn"'


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("written") / "journal.db"
    dealt_journal(path, "reference", ROUNDS)
    return path


@pytest.fixture
def journal(written: Path, tmp_path: Path) -> Path:
    """A copy, to be changed."""
    return Path(shutil.copy(written, tmp_path))


def changed(journal: Path, kind: Kind, holds: bytes, body: Any) -> int:
    """Gives the last record of this kind that holds these bytes another body.

    Returns the first record of its group.
    """
    found = [r for r in records(journal) if r.kind == kind.value and holds in r.body]
    said = body if isinstance(body, bytes) else json.dumps(json.loads(found[-1].body) | body)
    n = found[-1].n
    (group,) = (row for row in held(journal) if first_of(row) <= n <= row[0])
    alter_record(journal, n, said.encode() if isinstance(said, str) else said)
    return first_of(group)


def is_told(n: int, *words: object) -> None:
    """The command says in one line at which record the journal is damaged."""
    ended = invoke(shoectl, *words)
    assert isinstance(ended.exception, JournalError), ended.exception
    assert f"is corrupt: record {n}, altered" in str(ended.exception)
    assert len(str(ended.exception).splitlines()) == 1


@pytest.mark.parametrize(
    ("kind", "holds", "body"),
    [
        (Kind.INPUT, CARD, {"event": True}),
        (Kind.INPUT, CARD, {"t_us": 10**30}),
        (Kind.RESTRICTED, b'"type":"round.outcome"', {"data": {"wagers": [1, 2]}}),
        (Kind.RESTRICTED, b'"type":"round.card_drawn"', {"data": {"hand": False, "number": {}}}),
    ],
)
def test_the_account_of_a_round(journal: Path, kind: Kind, holds: bytes, body: Any) -> None:
    is_told(changed(journal, kind, holds, body), "replay", journal, "--last", ROUNDS)


@pytest.mark.parametrize("command", [("decode",), ("capture", "--journal")])
@pytest.mark.parametrize(
    ("kind", "body"),
    [(Kind.WIRE, b"[]"), (Kind.WIRE, bytes(24) + b"?"), (Kind.CONNECTION, b'{"number": 1}')],
)
def test_the_bytes_of_a_shoe(
    journal: Path, command: tuple[str, ...], kind: Kind, body: bytes
) -> None:
    is_told(changed(journal, kind, b"", body), *command, journal)


def test_an_export(journal: Path, tmp_path: Path) -> None:
    n = changed(journal, Kind.INPUT, CARD, b"{}")
    ended = CliRunner().invoke(
        shoectl, ["export", str(journal), "--output", str(tmp_path / "shoe.gz")]
    )
    assert str(ended.exception).startswith(f"journal {journal} is corrupt where it is exported")
    assert f"record {n}" in str(ended.exception)
    assert [path.name for path in tmp_path.iterdir()] == [journal.name]


def test_what_fails_at_a_whole_journal_is_no_damage(
    journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise TypeError("a mistake of ours")

    monkeypatch.setattr("shoe_ctl.round_report.collect.collect", broken)
    ended = invoke(shoectl, "replay", str(journal), "--last", "1")
    assert isinstance(ended.exception, TypeError)
