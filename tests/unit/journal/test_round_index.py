"""The index of rounds: the commit keeps it, removals leave it right, verifying compares it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoe_ctl.errors import JournalError
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.chain import AnchorRecord, Fault
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Kind
from shoe_ctl.journal.round_index import IndexedRound, RoundId, RoundQuery
from shoe_ctl.journal.signing import Signer, open_signer
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience
from shoe_testing.journals import T_US, opened, spoil, verified

TABLES = ("a", "b")
SECOND_US = 1_000_000


def told(table: str, type_: str, subject: str, t_us: int) -> Batch:
    """An input, and one event about a round on both streams."""
    group = Batch()
    group.append_input(table, b'{"input":"tick","t_us":%d}' % t_us, t_us)
    group.append_event(table, Audience.PUBLIC, type_, t_us=t_us, subject=subject, data={})
    return group


def play(store: Store, table: str, shoe: int, number: int, t_us: int) -> None:
    """Store a round of four groups."""
    for at, type_ in enumerate(
        ("round.opened", "round.card_dealt", "round.outcome", "round.settled")
    ):
        store.commit([told(table, type_, f"{table}-s{shoe}-r{number}", t_us + at)])


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    return open_signer(tmp_path_factory.mktemp("key") / "journal.db", None)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, key: Signer) -> tuple[Path, AnchorRecord]:
    """Two tables in turn, two shoes of four rounds each, a checkpoint after each first shoe."""
    path = tmp_path_factory.mktemp("played") / "journal.db"
    with opened(path) as store:
        for shoe in (1, 2):
            for number in range(1, 5):
                for table in TABLES:
                    t_us = T_US + (shoe * 10 + number) * SECOND_US
                    play(store, table, shoe, number, t_us)
            store.checkpoint(key, T_US)
        store.commit([told("a", "round.revised", "a-s1-r4", T_US + 30 * SECOND_US)])
    with Reader.open(path) as reader:
        signed = next(reader.indexed_records(JOURNAL, Kind.CHECKPOINT, after=0)).n
    return path, AnchorRecord(signed, dict.fromkeys(TABLES, (16, 16)))


@pytest.fixture
def journal(played: tuple[Path, AnchorRecord], tmp_path: Path) -> Path:
    for file in played[0].parent.iterdir():
        shutil.copy(file, tmp_path)
    return tmp_path / "journal.db"


def rounds(path: Path, query: RoundQuery) -> list[str]:
    with Reader.open(path) as reader:
        return [str(found.id) for found in reader.rounds(query)]


def found(path: Path, table: str, shoe: int, number: int) -> IndexedRound | None:
    with Reader.open(path) as reader:
        return reader.round(RoundId(table, shoe, number))


def types_at(path: Path, numbers: tuple[int, ...]) -> Iterator[str]:
    with Reader.open(path) as reader:
        for record in reader.records_at(numbers):
            yield record.body.decode().split('"type":"')[1].split('"')[0]


def test_a_round_leads_to_its_own_events_also_to_those_that_come_long_after_it(
    journal: Path,
) -> None:
    last = found(journal, "a", 1, 4)
    assert last is not None and last.t_us == T_US + 14 * SECOND_US
    assert list(types_at(journal, last.records)) == [
        "round.opened", "round.outcome", "round.settled", "round.revised",
    ]  # fmt: skip
    assert found(journal, "a", 3, 1) is None
    assert found(journal, "c", 1, 1) is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (RoundQuery(table="b", shoe=2), ["b-s2-r1", "b-s2-r2", "b-s2-r3", "b-s2-r4"]),
        (RoundQuery(table="a", last=2), ["a-s2-r3", "a-s2-r4"]),
        (RoundQuery(last=3), ["b-s2-r3", "a-s2-r4", "b-s2-r4"]),
        (
            RoundQuery(since_us=T_US + 14 * SECOND_US, until_us=T_US + 22 * SECOND_US),
            ["a-s1-r4", "b-s1-r4", "a-s2-r1", "b-s2-r1"],
        ),
        (RoundQuery(table="a", shoe=1, last=1), ["a-s1-r4"]),
        (RoundQuery(table="zz"), []),
    ],
    ids=str,
)
def test_rounds_are_found_by_table_shoe_time_and_from_the_end(
    journal: Path, query: RoundQuery, expected: list[str]
) -> None:
    assert rounds(journal, query) == expected


def test_pages_before_a_round_lead_back_to_the_first(journal: Path) -> None:
    pages: list[str] = []
    before: int | None = None
    with Reader.open(journal) as reader:
        while page := list(reader.rounds(RoundQuery(table="a", before=before, last=3))):
            pages[:0] = [str(one.id) for one in page]
            before = page[0].records[0]
    assert pages == [f"a-s{shoe}-r{number}" for shoe in (1, 2) for number in range(1, 5)]


def test_what_was_taken_out_is_not_found_and_what_is_said_of_it_later_changes_nothing(
    played: tuple[Path, AnchorRecord], journal: Path, key: Signer
) -> None:
    with opened(journal) as store:
        store.truncate_before(played[1], key, T_US)
        store.commit([told("a", "round.revised", "a-s1-r4", T_US + 40 * SECOND_US)])
        store.commit([told("a", "round.revised", "a-s2-r4", T_US + 41 * SECOND_US)])
    assert found(journal, "a", 1, 4) is None
    assert rounds(journal, RoundQuery(table="a"))[0] == "a-s2-r1"
    last = found(journal, "a", 2, 4)
    assert last is not None and len(last.records) == 4
    assert verified(journal, frozenset({key.public_key})).ok


def test_events_that_are_about_no_round_of_their_table_are_in_no_index(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with opened(path) as store:
        for subject in ("b-s1-r1", "a-s1", "a-s1-r01", "a-s1-r-1", "a-s1-r1x"):
            store.commit([told("a", "round.opened", subject, T_US)])
    assert rounds(path, RoundQuery()) == []
    assert verified(path).ok


_LEFT_OUT = "the file's index of rounds, that does not lead to it"
_TOO_MUCH = "the file's index of rounds, that leads to what is no event of a round"


@pytest.mark.parametrize(
    ("lie", "detail"),
    [
        ("DELETE FROM round WHERE \"table\" = 'b' AND shoe = 2 AND number = 4", _LEFT_OUT),
        ("DELETE FROM round WHERE n = 3", _LEFT_OUT),
        ("UPDATE round SET number = 9 WHERE n = 3", _LEFT_OUT),
        ("UPDATE round SET shoe = 3 WHERE shoe = 2", _LEFT_OUT),
        (
            "UPDATE round SET records = substr(CAST(records AS BLOB), 1, 24)"
            " WHERE length(records) = 32",
            _LEFT_OUT,
        ),
        ("UPDATE round SET t_us = t_us + 1 WHERE shoe = 2 AND number = 1", _TOO_MUCH),
        (
            "INSERT INTO round VALUES (1, 'a', 1, 7, 0, x'0000000000000001')",
            _TOO_MUCH,
        ),
        (
            "UPDATE round SET records = CAST(records || x'0000000000000064' AS BLOB)"
            " WHERE \"table\" = 'a' AND shoe = 1 AND number = 1",
            _TOO_MUCH,
        ),
    ],
)
def test_verifying_notices_an_index_that_differs_from_the_records(
    journal: Path, key: Signer, lie: str, detail: str
) -> None:
    assert verified(journal, frozenset({key.public_key})).ok
    spoil(journal, lie)
    bad = verified(journal, frozenset({key.public_key})).first_bad
    assert bad is not None
    assert (bad.why, bad.detail) == (Fault.ALTERED, detail)


def test_a_row_that_no_writer_stored_is_one_clear_error(journal: Path) -> None:
    spoil(journal, "UPDATE round SET records = x'0102' WHERE n = 3 OR number = 1")
    with pytest.raises(JournalError, match="its index of rounds cannot be read"):
        rounds(journal, RoundQuery())
