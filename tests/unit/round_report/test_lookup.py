"""Rounds are found by their number: each one, in any journal, and without reading all of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_ctl.errors import InputRefused
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.signing import open_signer
from shoe_ctl.records import Audience, Record
from shoe_ctl.round_report import lookup
from shoe_ctl.round_report.lookup import RoundLocation
from shoe_testing.journals import (
    T_US,
    opened,
    plain_group,
    spoil,
    spoil_records,
    stored,
)


def tick(group: Batch, table: str) -> None:
    group.append_input(table, json.dumps({"input": "tick", "t_us": T_US}).encode(), T_US)


def open_round(group: Batch, table: str, round_id: str) -> None:
    tick(group, table)
    data = {"round_id": round_id}
    group.append_event(
        table, Audience.PUBLIC, "round.opened", t_us=T_US, subject=round_id, data=data
    )


def long_journal(path: Path, rounds: int, between: int) -> list[str]:
    """Two tables, whose rounds are opened in turn, and shoes of seven rounds."""
    ids: list[str] = []
    with opened(path) as store:
        for number in range(rounds):
            group = Batch()
            for table in ("a-s1", "b"):
                ids.append(f"{table}-s{number // 7 + 1}-r{number % 7 + 1}")
                open_round(group, table, ids[-1])
                for _ in range(between):
                    tick(group, table)
            store.commit([group])
    return ids


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    path = tmp_path_factory.mktemp("long") / "journal.db"
    return path, long_journal(path, 700, 20)


class Counting:
    """A reader that counts the records it reads."""

    def __init__(self, reader: Reader) -> None:
        self._reader, self.read = reader, 0
        self.path = reader.path

    def heads(self) -> Any:
        return self._reader.heads()

    def records(self, **how: Any) -> Iterator[Record]:
        for record in self._reader.records(**how):
            self.read += 1
            yield record


def test_every_round_is_found_where_it_was_opened(journal: tuple[Path, list[str]]) -> None:
    path, ids = journal
    with Reader.open(path) as reader:
        tables = ("a-s1", "b")
        known = {p.round_id: p for t in tables for p in lookup.rounds_opened_after(reader, t, 0)}
        assert sorted(known) == sorted(ids)
        for round_id in ids[::37] + ids[:3] + ids[-3:]:
            assert lookup.find_round(reader, round_id) == known[round_id]


def test_finding_reads_a_small_part_of_a_long_journal(journal: tuple[Path, list[str]]) -> None:
    path, ids = journal
    with Reader.open(path) as reader:
        for round_id in (ids[0], ids[len(ids) // 2], ids[-1]):
            counting = Counting(reader)
            lookup.find_round(counting, round_id)  # type: ignore[arg-type]
            assert counting.read < 200


@given(data=st.data())
def test_a_round_is_found_however_the_rounds_lie(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "journal.db"
    gaps = data.draw(st.lists(st.integers(0, 3000), min_size=1, max_size=6))
    ids = []
    with opened(path) as store:
        for number, gap in enumerate(gaps, 1):
            group = Batch()
            for _ in range(gap):
                tick(group, "t")
            ids.append(f"t-s1-r{number}")
            open_round(group, "t", ids[-1])
            store.commit([group])
    with Reader.open(path) as reader:
        assert [lookup.find_round(reader, round_id).round_id for round_id in ids] == ids
        assert [p.round_id for p in lookup.last_rounds(reader, 3)] == ids[-3:]


def test_the_last_rounds_are_those_opened_last_of_all_tables_or_of_one(
    journal: tuple[Path, list[str]],
) -> None:
    path, ids = journal
    with Reader.open(path) as reader:
        assert [p.round_id for p in lookup.last_rounds(reader, 5)] == ids[-5:]
        of_b = [p.round_id for p in lookup.last_rounds(reader, 3, "b")]
        assert of_b == [i for i in ids if i.startswith("b-")][-3:]
        assert len(lookup.last_rounds(reader, 10_000)) == len(ids)
        with pytest.raises(InputRefused, match=r"no table c .have: a-s1, b"):
            lookup.last_rounds(reader, 1, "c")


@pytest.mark.parametrize(
    ("round_id", "known"),
    [
        ("b-s1-r9", "b has b-s1-r1 to b-s100-r7"),
        ("b-s101-r1", "b has b-s1-r1 to b-s100-r7"),
        ("c-s1-r1", "a-s1 has a-s1-s1-r1 to a-s1-s100-r7; b has b-s1-r1 to b-s100-r7"),
        ("17", "a-s1 has a-s1-s1-r1 to a-s1-s100-r7; b has b-s1-r1 to b-s100-r7"),
    ],
)
def test_an_unknown_round_is_told_with_those_that_are_known(
    journal: tuple[Path, list[str]], round_id: str, known: str
) -> None:
    with Reader.open(journal[0]) as reader, pytest.raises(InputRefused) as error:
        lookup.find_round(reader, round_id)
    assert str(error.value) == f"{journal[0]}: no round {round_id} ({known})"


def test_a_journal_without_rounds_says_so(tmp_path: Path) -> None:
    group = Batch()
    tick(group, "t")
    stored(tmp_path / "journal.db", [group])
    with Reader.open(tmp_path / "journal.db") as reader:
        assert lookup.last_rounds(reader, 10) == []
        with pytest.raises(InputRefused, match="t has none"):
            lookup.find_round(reader, "t-s1-r1")


def test_a_spoilt_opening_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    groups = [Batch(), Batch()]
    for number, group in enumerate(groups, 1):
        open_round(group, "t", f"t-s1-r{number}")
    stored(path, groups)
    broken = b'{"type":"round.opened"'
    spoil_records(path, lambda record: broken if record.n <= 3 else record.body)
    with Reader.open(path) as reader:
        assert lookup.last_rounds(reader, 10) == [RoundLocation("t", "t-s1-r2", 6)]
        assert lookup.find_round(reader, "t-s1-r2").n == 6


def test_a_record_put_in_at_the_end_of_all_numbers_keeps_nobody_searching(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    ids = long_journal(path, 3, 5)
    for n in (2**63 - 1, 2**63 - 2, 2**40):
        added = (n, plain_group(("R", b"{}")))
        spoil(path, ("INSERT INTO record_group VALUES (?, 'a', ?, zeroblob(32))", added))
    with Reader.open(path) as reader:
        assert [place.round_id for place in lookup.last_rounds(reader, 2)] == ids[-2:]


def test_the_journal_s_own_chain_is_no_table_to_anyone(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    ids = long_journal(path, 1, 1)
    with opened(path) as store:
        store.checkpoint(open_signer(path, None), T_US)
    with Reader.open(path) as reader:
        known = rf"\(a-s1 has {ids[0]} to {ids[0]}; b has {ids[1]} to {ids[1]}\)"
        with pytest.raises(InputRefused, match=f"no round x {known}"):
            lookup.find_round(reader, "x")
        with pytest.raises(InputRefused, match=r"no table x \(have: a-s1, b\)"):
            lookup.last_rounds(reader, 1, "x")
