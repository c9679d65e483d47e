"""The journal of 0.3.0: what a version wrote, every later one reads, verifies and goes on with."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_ctl.audit.starts import changes
from shoe_ctl.cli.main import shoectl
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Kind
from shoe_ctl.journal.recovery import recovered_events, rulings
from shoe_testing import released_journal
from shoe_testing.cli import invoke
from shoe_testing.journals import both_replays, opened, records, stored_round, verified
from shoe_testing.released_journal import EPOCH, PROFILES, PUBLIC_KEY, ROUNDS, table_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal.db"
    released_journal.unpack(path)
    return path


def test_it_holds_every_kind_of_record(path: Path) -> None:
    assert {Kind(record.kind) for record in records(path)} == set(Kind)


def test_it_is_verified_from_where_it_begins_to_its_last_checkpoint(path: Path) -> None:
    found = verified(path, frozenset({bytes.fromhex(PUBLIC_KEY.read_text())}))
    assert found.ok
    assert found.first_n > 1
    assert (found.not_signed, found.signed.upto) == (0, found.last_n - 1)


def test_what_its_tables_told_follows_from_their_bytes_with_each_profile(path: Path) -> None:
    replayed = both_replays(path)
    assert replayed.differences == []
    assert (replayed.connections, replayed.rounds) == (len(PROFILES), ROUNDS * len(PROFILES) + 1)


def test_its_ruling_is_known_with_what_a_sink_still_had(path: Path) -> None:
    with Reader.open(path) as reader:
        ((record, ruling),) = rulings(reader)
        (recovered,) = recovered_events(reader, record.n)
        assert (ruling.epoch, len(recovered.lines)) == (EPOCH, 2)
        assert JOURNAL in reader.heads()[1]


def test_its_start_and_the_change_of_its_key_are_known(path: Path) -> None:
    with Reader.open(path) as reader:
        (start,) = changes(reader)
    assert start.version == "0.3.0"
    first, second = verified(path).signed.ranges
    assert first.key == PUBLIC_KEY.read_text().strip()
    assert (second.endorsed, second.change and second.change.old) == (True, first.key)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_shoe_of_it_is_exported_and_its_rounds_are_listed(
    path: Path, tmp_path: Path, profile: str
) -> None:
    shoe, out = f"{table_of(profile)}-s1", tmp_path / "shoe.journal.gz"
    assert invoke(shoectl, "export", path, "--shoe", shoe, "--output", out).exit_code == 0
    for journal in (path, out):
        listed = invoke(shoectl, "rounds", journal, "--json").output
        assert all(f'"{shoe}-r{number}"' in listed for number in range(1, ROUNDS + 1))
        assert invoke(shoectl, "verify", journal).exit_code == 0
        assert invoke(shoectl, "replay", journal).exit_code == 0


def test_it_is_gone_on_with(path: Path) -> None:
    before = records(path)
    with opened(path) as store:
        store.commit([stored_round(1, "new")])
    assert records(path)[: len(before)] == before
    assert verified(path).ok
