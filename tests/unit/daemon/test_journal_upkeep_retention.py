"""What is kept and what is taken out: never what is not in a file, or still waited for."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from shoe_ctl.config.schema import of_plain
from shoe_ctl.daemon.journal_upkeep import (
    DAY_US,
    SUFFIX,
    Retention,
    RetentionPolicy,
    exported,
    retention_policy,
)
from shoe_ctl.errors import JournalError
from shoe_ctl.history import shoe_sections, snapshots
from shoe_ctl.history.shoe_sections import find_section
from shoe_ctl.journal.export import select_records
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_testing import bulk_journal
from shoe_testing.faulty_disk import Call, Do, disk
from shoe_testing.journals import (
    dealt_by,
    journal_table,
    opened,
    records,
    replayed_journal,
    spoil,
    stored_round,
    table_meta,
    verified,
)

SETS = 8


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bulk_journal.Made:
    return bulk_journal.make(tmp_path_factory.mktemp("bulk") / "journal.db", rounds=82 * SETS)


@pytest.fixture
def made(tmp_path: Path, whole: bulk_journal.Made) -> bulk_journal.Made:
    """A journal of eight sets of cards and the beginning of a ninth, to be spoilt."""
    path = tmp_path / "journal.db"
    path.write_bytes(whole.path.read_bytes())
    return bulk_journal.Made(path, whole.rounds, whole.records, whole.signer, whole.under)


def ended_us(made: bulk_journal.Made, number: int) -> int:
    """When the end of this set was signed."""
    with Reader.open(made.path) as reader:
        span = find_section(reader, f"{bulk_journal.TABLE}-s{number}")
        ended = select_records(reader, span.table, span.first, span.last).t_us
    assert ended is not None
    return ended


def asked(tmp_path: Path, **given: object) -> RetentionPolicy:
    plain = {
        "keep_us": DAY_US,
        "archive": tmp_path / "archive",
        "tables": frozenset({bulk_journal.TABLE}),
        "sinks": (),
    }
    return RetentionPolicy(**{**plain, **given})  # type: ignore[arg-type]


def held(made: bulk_journal.Made, asked_for: RetentionPolicy, now_us: int) -> int:
    """Holds the journal to the policy; how many steps it took."""
    with opened(made.path) as store:
        with store.reader() as reader:
            steps = exported(reader, asked_for, now_us)
        for begins in steps:
            store.truncate_before(begins, made.signer, now_us)
    return len(steps)


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_sets_of_long_ago_are_in_files_and_out_of_the_journal(
    made: bulk_journal.Made, tmp_path: Path
) -> None:
    before = records(made.path)
    now_us = ended_us(made, 5) + DAY_US
    steps = held(made, asked(tmp_path), now_us)
    left = records(made.path)
    assert steps > 1
    assert left[:-steps] == before[left[0].n - 1 :]
    found = verified(made.path, frozenset({made.signer.public_key}))
    assert (found.ok, found.first_n, found.last_n) == (True, left[0].n, left[-1].n)
    assert names(tmp_path / "archive") == [f"t1-s{n}{SUFFIX}" for n in range(6)]
    with Reader.open(made.path) as reader:
        assert [span.number for span in shoe_sections.sections(reader, bulk_journal.TABLE)] == [
            6,
            7,
            8,
            9,
        ]
    again = replayed_journal(made.path)
    assert (again.rounds, again.differences) == (82 * 3, [])


def test_files_and_journal_together_hold_every_record(
    made: bulk_journal.Made, tmp_path: Path
) -> None:
    before = records(made.path)
    held(made, asked(tmp_path), ended_us(made, 5) + DAY_US)
    kept = {record.n: record for record in records(made.path)}
    for file in (tmp_path / "archive").iterdir():
        with Reader.open(file) as reader:
            kept.update({record.n: record for record in reader.records()})
        assert verified(file, frozenset({made.signer.public_key})).ok
        again = replayed_journal(file)
        assert again.differences == []
    assert [kept[record.n] for record in before] == before


def test_a_table_goes_on_from_what_is_left(made: bulk_journal.Made, tmp_path: Path) -> None:
    held(made, asked(tmp_path), ended_us(made, 8) + DAY_US)
    with journal_table(made.path, made.under) as table:
        assert table.controller.state.rounds == made.rounds
        assert table.controller.state.shoes == SETS + 1
    assert verified(made.path).ok
    assert replayed_journal(made.path).differences == []


def test_other_software_goes_on_from_what_is_left(
    made: bulk_journal.Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held(made, asked(tmp_path), ended_us(made, 5) + DAY_US)
    monkeypatch.setattr(snapshots, "software", lambda: "99.0")
    with journal_table(made.path, made.under) as table:
        assert table.controller.state.rounds == made.rounds


def test_the_last_set_is_kept_however_old(made: bulk_journal.Made, tmp_path: Path) -> None:
    held(made, asked(tmp_path), ended_us(made, 8) + 1000 * DAY_US)
    with Reader.open(made.path) as reader:
        assert [span.number for span in shoe_sections.sections(reader, bulk_journal.TABLE)] == [9]
    assert held(made, asked(tmp_path), 2**60) == 0
    assert verified(made.path).ok


def test_nothing_is_taken_out_before_its_time(made: bulk_journal.Made, tmp_path: Path) -> None:
    now_us = ended_us(made, 0) + DAY_US - 1
    assert held(made, asked(tmp_path), now_us) == 0
    assert not (tmp_path / "archive").exists()
    assert len(records(made.path)) == made.records


@pytest.mark.parametrize("had", [0, 3, 5000, 12_000, 10**6])
def test_nothing_is_taken_out_that_a_sink_still_waits_for(
    made: bulk_journal.Made, tmp_path: Path, had: int
) -> None:
    with opened(made.path) as store:
        store.move_cursor("fast", store.last_n)
        if had:
            store.move_cursor("slow", min(had, store.last_n))
    waited_for = asked(tmp_path, sinks=("fast", "slow"))
    held(made, waited_for, ended_us(made, 5) + DAY_US)
    found = verified(made.path)
    assert found.ok
    assert found.first_n <= had + 1
    assert (found.first_n > 1) == (had >= 5000)


def test_nothing_is_taken_out_that_cannot_be_exported(
    made: bulk_journal.Made, tmp_path: Path
) -> None:
    (tmp_path / "archive").write_text("no folder")
    with pytest.raises(JournalError, match=r"cannot be (made|written)"):
        held(made, asked(tmp_path), ended_us(made, 5) + DAY_US)
    assert len(records(made.path)) == made.records


def test_a_file_of_the_archive_that_is_not_the_same_is_told(
    made: bulk_journal.Made, tmp_path: Path
) -> None:
    held(made, asked(tmp_path), ended_us(made, 2) + DAY_US)
    files = names(tmp_path / "archive")
    (tmp_path / "archive" / files[1]).rename(tmp_path / "archive" / f"t1-s3{SUFFIX}")
    left = records(made.path)
    with pytest.raises(JournalError, match="does not hold table t1 up to"):
        held(made, asked(tmp_path), ended_us(made, 3) + DAY_US)
    assert records(made.path) == left


def test_a_file_that_is_there_already_and_holds_the_set_is_good(
    made: bulk_journal.Made, tmp_path: Path
) -> None:
    policy_ = asked(tmp_path)
    with Reader.open(made.path) as reader:
        steps = exported(reader, policy_, ended_us(made, 3) + DAY_US)
    assert len(steps) > 1  # and as if the power failed here
    assert held(made, policy_, ended_us(made, 3) + DAY_US) == len(steps)


@pytest.mark.parametrize("op", ["write", "sync"])
def test_a_step_whose_commit_fails_is_taken_again(
    made: bulk_journal.Made, tmp_path: Path, op: str
) -> None:
    now_us = ended_us(made, 5) + DAY_US
    fails = False

    def around(call: Call, do: Do) -> object:
        if fails and (call.op, call.part) == (op, "wal"):
            raise apsw.IOError("the disk failed")
        return do()

    with disk(around) as failing, opened(made.path, vfs=failing.name) as store:
        with store.reader() as reader:
            steps = exported(reader, asked(tmp_path), now_us)
        store.truncate_before(steps[0], made.signer, now_us)
        fails = True
        with pytest.raises(JournalError):
            store.truncate_before(steps[1], made.signer, now_us)
        fails = False
    found = verified(made.path)
    assert found.ok
    assert found.first_n in {steps[0].n, steps[1].n}
    held(made, asked(tmp_path), now_us)
    assert verified(made.path).first_n == steps[-1].n


def test_what_is_taken_out_besides_is_found(made: bulk_journal.Made, tmp_path: Path) -> None:
    held(made, asked(tmp_path), ended_us(made, 5) + DAY_US)
    first = verified(made.path).first_n
    whole = made.path.read_bytes()
    spoil(made.path, f"DELETE FROM record_group WHERE n = {first}")
    bad = verified(made.path).first_bad
    assert bad is not None and (bad.n, bad.text) == (
        first, "missing: the checkpoint with which the journal begins",
    )  # fmt: skip
    made.path.write_bytes(whole)
    second = next(r.n for r in records(made.path)[1:] if r.kind == Kind.CHECKPOINT.value)
    spoil(made.path, f"DELETE FROM record_group WHERE n < {second}")
    bad = verified(made.path).first_bad
    assert bad is not None and bad.text.startswith("missing")
    made.path.write_bytes(whole)
    spoil(made.path, f"INSERT INTO record_group VALUES ({first - 1}, 't1', x'7b7d', x'00')")
    bad = verified(made.path).first_bad
    assert bad is not None and (bad.n, bad.text) == (
        first - 1, f"added: records are numbered from {first}",
    )  # fmt: skip


def test_a_beginning_cut_off_by_hand_is_no_beginning(made: bulk_journal.Made) -> None:
    second = [r.n for r in records(made.path) if r.kind == Kind.CHECKPOINT.value][1]
    spoil(made.path, f"DELETE FROM record_group WHERE n < {second}")
    bad = verified(made.path).first_bad
    assert bad is not None and (bad.n, bad.text) == (1, f"missing: no record 1 to {second - 1}")


def test_a_table_that_was_long_ago_is_taken_out_whole_and_not_begun_again(tmp_path: Path) -> None:
    """Its rounds would bear ids that were given before."""
    path = tmp_path / "journal.db"
    key = bulk_journal.make(tmp_path / "other.db", 1).signer
    old = table_meta(table="old")
    with journal_table(path, old, dealt_by("2D 3C")) as table:
        table.store.checkpoint(key, 1)
    with journal_table(path, table_meta(), dealt_by("2D 3C")) as table:
        table.store.checkpoint(key, 2)
        with table.store.reader() as reader:
            asked_for = asked(tmp_path, tables=frozenset({"bac-07"}))
            steps = exported(reader, asked_for, 3 * DAY_US)
        for begins in steps:
            table.store.truncate_before(begins, key, 3 * DAY_US)
    assert {r.table for r in records(path)} == {"", "bac-07"}
    assert names(tmp_path / "archive") == [f"old-s0{SUFFIX}", f"old-s1{SUFFIX}"]
    assert verified(path).ok
    with (
        pytest.raises(JournalError, match="table old was served long ago"),
        journal_table(path, old),
    ):
        pass


def test_records_that_are_in_no_set_of_cards_stay(made: bulk_journal.Made, tmp_path: Path) -> None:
    with opened(tmp_path / "strange.db") as store:
        store.commit([stored_round(1, "strange")])
        store.checkpoint(made.signer, 1)
        store.commit([stored_round(2, "strange")])
        store.checkpoint(made.signer, 2)
        with store.reader() as reader:
            assert exported(reader, asked(tmp_path), 3 * DAY_US) == []


async def test_what_cannot_be_exported_is_logged_and_stays(
    made: bulk_journal.Made, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "archive").write_text("no folder")
    with ThreadPoolExecutor(1) as writer, opened(made.path) as store:
        journal = Journal(store, writer)
        retention = Retention(journal, store.reader, writer, asked(tmp_path))
        now_us = ended_us(made, 5) + DAY_US
        with caplog.at_level(logging.ERROR):
            await retention.hold(made.signer, now_us)
        assert "No records are removed" in caplog.text
        (tmp_path / "archive").unlink()
        await retention.hold(made.signer, now_us)
    assert verified(made.path).first_n > 1


def test_the_configuration_says_how_long_and_where() -> None:
    def of(journal: dict[str, object], sinks: Sequence[str] = ()) -> RetentionPolicy | None:
        table = {"id": "bac-07", "game": "tiger", "shoe": {"profile": "angel_eye", "port": "/x"}}
        return retention_policy(of_plain({"table": [table], "journal": journal}, "test"), sinks)

    assert of({}) is None
    assert of({"keep_days": 400}, ["jsonl:-"]) == RetentionPolicy(
        keep_us=400 * DAY_US,
        archive=Path("archive"),
        tables=frozenset({"bac-07"}),
        sinks=("jsonl:-",),
    )
