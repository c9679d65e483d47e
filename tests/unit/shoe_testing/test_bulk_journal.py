"""A journal made in bulk is the journal that a table would have stored, set after set."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_ctl.journal.reader import Reader
from shoe_ctl.round_report import lookup
from shoe_testing import bulk_journal
from shoe_testing.journals import journal_table, records, replayed_journal, verified

SETS = 5


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> bulk_journal.Made:
    return bulk_journal.make(tmp_path_factory.mktemp("bulk") / "journal.db", rounds=400)


@pytest.mark.usefixtures("known_salts")
def test_it_is_byte_for_byte_what_a_table_stores(tmp_path: Path) -> None:
    made = bulk_journal.make(tmp_path / "bulk.db", rounds=400)
    with bulk_journal.dealing(tmp_path / "journal.db", SETS, made.signer) as table:
        assert table.controller.state.rounds == made.rounds
    assert records(made.path) == records(tmp_path / "journal.db")
    with Reader.open(made.path) as bulk, Reader.open(tmp_path / "journal.db") as dealt:
        assert bulk.heads() == dealt.heads()


def test_it_verifies_is_read_and_replays(made: bulk_journal.Made) -> None:
    found = verified(made.path, frozenset({made.signer.public_key}))
    assert (found.ok, found.records) == (True, made.records)
    assert found.signed.checkpoints > SETS + 1
    again = replayed_journal(made.path)
    assert (again.rounds, again.differences) == (made.rounds, [])
    with Reader.open(made.path) as reader:
        assert [place.round_id for place in lookup.last_rounds(reader, 2, None)] == [
            f"{bulk_journal.TABLE}-s{SETS}-r{made.rounds - 1}",
            f"{bulk_journal.TABLE}-s{SETS}-r{made.rounds}",
        ]


def test_a_table_goes_on_from_it(made: bulk_journal.Made) -> None:
    with journal_table(made.path, made.under) as table:
        assert table.controller.state.rounds == made.rounds
        assert table.controller.state.shoe is not None
        assert table.controller.state.shoe.id == f"{bulk_journal.TABLE}-s{SETS + 1}"
