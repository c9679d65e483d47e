"""A journal made in bulk is the journal that a table would have stored, set after set."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import _bulk
from shoe_ctl.journal.reader import Reader
from shoe_ctl.round_report import lookup
from tests.journal.making import records, verified
from tests.wiring.journal_table import at_a_journal, replayed

SETS = 5


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> _bulk.Made:
    return _bulk.make(tmp_path_factory.mktemp("bulk") / "journal.db", rounds=400)


def test_it_is_byte_for_byte_what_a_table_stores(made: _bulk.Made, tmp_path: Path) -> None:
    with _bulk.dealing(tmp_path / "journal.db", SETS, made.signer) as table:
        assert table.controller.state.rounds == made.rounds
    assert records(made.path) == records(tmp_path / "journal.db")
    with Reader.open(made.path) as bulk, Reader.open(tmp_path / "journal.db") as dealt:
        assert bulk.heads() == dealt.heads()


def test_it_verifies_is_read_and_replays(made: _bulk.Made) -> None:
    found = verified(made.path, frozenset({made.signer.public_key}))
    assert (found.ok, found.records) == (True, made.records)
    assert found.signed.checkpoints > SETS + 1
    again = replayed(made.path)
    assert (again.rounds, again.differences) == (made.rounds, [])
    with Reader.open(made.path) as reader:
        assert [place.round_id for place in lookup.last_round(reader, 2, None)] == [
            f"{_bulk.TABLE}-s{SETS}-r{made.rounds - 1}",
            f"{_bulk.TABLE}-s{SETS}-r{made.rounds}",
        ]


def test_a_table_goes_on_from_it(made: _bulk.Made) -> None:
    with at_a_journal(made.path, made.under) as table:
        assert table.controller.state.rounds == made.rounds
        assert table.controller.state.shoe is not None
        assert table.controller.state.shoe.id == f"{_bulk.TABLE}-s{SETS + 1}"
