"""Verifying: whatever is done to a record is found and placed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from shoe_ctl.cli.verify import verify as command
from shoe_ctl.errors import JournalError
from shoe_ctl.journal.chain import GENESIS, BadRecord, Coverage, Fault, chain_hash
from shoe_ctl.journal.store import Store
from shoe_testing.journals import opened, records, spoil, stored, stored_round, verified

LAST = 80


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A journal of two tables in turn: 20 groups of 4 records."""
    path = tmp_path_factory.mktemp("journal") / "journal.db"
    stored(path, [stored_round(n, "ab"[n % 2]) for n in range(20)])
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, whole: bytes) -> Path:
    path = tmp_path / "journal.db"
    path.write_bytes(whole)
    return path


def table_of(n: int) -> str:
    return "ab"[(n - 1) // 4 % 2]


def test_a_journal_as_it_was_written_is_whole(path: Path) -> None:
    found = verified(path)
    assert (found.ok, found.records, found.tables, found.first_bad) == (True, LAST, 2, None)


def test_an_empty_journal_is_whole(tmp_path: Path) -> None:
    stored(tmp_path / "new.db", [])
    assert verified(tmp_path / "new.db").ok


@pytest.mark.parametrize("n", [1, 2, 4, 5, 41, 79, LAST])
@pytest.mark.parametrize(
    "change",
    [
        "body = x'7b7d'",
        "body = zeroblob(length(body))",
        "kind = 'wire'",
        "\"table\" = 'c'",
        "hash = zeroblob(32)",
    ],
)
def test_an_altered_record_is_found_and_placed(path: Path, n: int, change: str) -> None:
    spoil(path, f"UPDATE record SET {change} WHERE n = {n}")
    found = verified(path)
    assert not found.ok
    assert found.records == n - 1
    assert found.first_bad is not None
    assert found.first_bad.n == n
    assert found.first_bad.text.startswith("altered")


@pytest.mark.parametrize("n", [1, 2, 5, 41, 79, LAST])
def test_a_missing_record_is_found_and_placed(path: Path, n: int) -> None:
    spoil(path, f"DELETE FROM record WHERE n = {n}")
    bad = verified(path).first_bad
    assert bad is not None
    assert (bad.table, bad.n) == (table_of(n), n)
    assert bad.text.startswith("missing")


def test_records_cut_off_the_end_are_found(path: Path) -> None:
    spoil(path, "DELETE FROM record WHERE n > 70")
    bad = verified(path).first_bad
    assert bad is not None
    assert bad.n == 76  # the last record of the table whose head comes first
    assert bad.text == "missing: the journal breaks off at record 70"


@pytest.mark.parametrize("n", [3, 41, 60])
def test_a_record_taken_out_and_the_rest_renumbered_is_found(path: Path, n: int) -> None:
    spoil(
        path,
        f"DELETE FROM record WHERE n = {n}",
        f"UPDATE record SET n = -n WHERE n > {n}",
        "UPDATE record SET n = -n - 1 WHERE n < 0",
        "UPDATE head SET n = n - 1",
    )
    bad = verified(path).first_bad
    assert bad is not None
    assert bad.n == n
    assert bad.text.startswith("missing")


@pytest.mark.parametrize("n", [1, 2, 5, 41, 79])
def test_a_record_put_in_between_is_found(path: Path, n: int) -> None:
    spoil(
        path,
        f"UPDATE record SET n = -n WHERE n >= {n}",
        "UPDATE record SET n = -n + 1 WHERE n < 0",
        f"INSERT INTO record VALUES ({n}, 'a', 'input', x'7b7d', zeroblob(32))",
        "UPDATE head SET n = n + 1",
    )
    assert verified(path).first_bad == BadRecord(
        "a", n, Fault.ADDED, f"what was record {n} stands at {n + 1}"
    )


@pytest.mark.parametrize(("n", "why"), [(0, "numbered from 1"), (-7, "numbered from 1")])
def test_a_record_put_before_the_first_is_found(path: Path, n: int, why: str) -> None:
    spoil(path, f"INSERT INTO record VALUES ({n}, 'a', 'input', x'7b7d', zeroblob(32))")
    bad = verified(path).first_bad
    assert bad is not None
    assert bad.n == n
    assert why in bad.text


def test_a_record_put_behind_the_last_is_found_even_with_a_fitting_hash(path: Path) -> None:
    end = [record for record in records(path) if record.table == "b"][-1].hash
    fitting = chain_hash(end, LAST + 1, "b", "input", b"{}")
    for digest, why in ((bytes(32), "behind the journal's end"), (fitting, "head is not its last")):
        insert = "INSERT OR REPLACE INTO record VALUES (?, 'b', 'input', x'7b7d', ?)"
        spoil(path, (insert, (LAST + 1, digest)))
        bad = verified(path).first_bad
        assert bad is not None
        assert bad.table == "b"
        assert why in bad.text


@pytest.mark.parametrize(("first", "second"), [(1, 2), (3, 4), (4, 5), (2, 50), (1, 80), (9, 17)])
def test_records_that_changed_places_are_found(path: Path, first: int, second: int) -> None:
    spoil(
        path,
        f"UPDATE record SET n = -1 WHERE n = {first}",
        f"UPDATE record SET n = {first} WHERE n = {second}",
        f"UPDATE record SET n = {second} WHERE n = -1",
    )
    assert verified(path).first_bad == BadRecord(
        table_of(first), first, Fault.OUT_OF_ORDER, f"record {first} stands at {second}"
    )


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE head SET public = 9 WHERE \"table\" = 'a'", "counts 9 records of event.public"),
        ("UPDATE head SET restricted = 21 WHERE \"table\" = 'a'", "there are 20"),
        ("DELETE FROM head WHERE \"table\" = 'a'", "head is missing"),
        ("UPDATE head SET hash = zeroblob(32) WHERE \"table\" = 'a'", "not its last record"),
    ],
)
def test_heads_that_do_not_fit_the_records_are_found(path: Path, statement: str, why: str) -> None:
    spoil(path, statement)
    bad = verified(path).first_bad
    assert bad is not None
    assert bad.table == "a"
    assert why in bad.text


@given(n=st.integers(1, LAST), byte=st.integers(0, 10**6), flip=st.integers(1, 255))
def test_every_flipped_byte_of_every_record_is_found(
    whole: bytes,
    tmp_path_factory: pytest.TempPathFactory,
    n: int,
    byte: int,
    flip: int,
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal.db"
    path.write_bytes(whole)
    with closing(sqlite3.connect(path)) as connection:
        (body,) = connection.execute("SELECT body FROM record WHERE n = ?", (n,)).fetchone()
    spoilt = bytearray(body)
    spoilt[byte % len(spoilt)] ^= flip
    spoil(path, ("UPDATE record SET body = ? WHERE n = ?", (bytes(spoilt), n)))
    bad = verified(path).first_bad
    assert bad == BadRecord(table_of(n), n, Fault.ALTERED)


text = st.text(max_size=4)
record = st.tuples(
    st.integers(0, 2**63 - 1),
    text,
    text,
    st.binary(max_size=6),
    st.binary(min_size=32, max_size=32),
)


@given(first=record, second=record)
def test_no_two_different_records_have_the_same_hash(
    first: tuple[int, str, str, bytes, bytes], second: tuple[int, str, str, bytes, bytes]
) -> None:
    hashes = {chain_hash(before, n, t, k, body) for n, t, k, body, before in (first, second)}
    assert len(hashes) == len({first, second})


@given(n=st.integers(1, 99), parts=st.binary(max_size=12).map(lambda b: b.decode("latin-1")))
def test_moving_a_letter_from_one_field_to_the_next_gives_another_hash(n: int, parts: str) -> None:
    cuts = [(a, b) for a in range(len(parts) + 1) for b in range(a, len(parts) + 1)]
    hashes = {chain_hash(GENESIS, n, parts[:a], parts[a:b], parts[b:].encode()) for a, b in cuts}
    assert len(hashes) == len(cuts)


def test_the_hash_is_the_one_that_the_docs_describe() -> None:
    # sha256 of: 32 zeros, n = 1 in 8 bytes, lengths 1 and 5 in 2 bytes, 2 in 8 bytes, t input {}
    assert (
        chain_hash(GENESIS, 1, "t", "input", b"{}").hex()
        == "140844ba205d7e8c8ada558a0bae04171d130044ab9cfbafce3504071c017de5"
    )


def test_a_journal_can_be_verified_while_it_is_written(path: Path) -> None:
    with opened(path) as store:
        store.commit([stored_round(21, "a")])
        found = verified(path)
        store.commit([stored_round(22, "b")])
        assert (found.ok, found.records) == (True, LAST + 4)
        assert verified(path).records == LAST + 8


def test_verify_says_whole_and_exits_0(path: Path) -> None:
    result = CliRunner().invoke(command, [str(path), "--json"])
    assert result.output == (
        '{"ok":true,"records":80,"tables":2,"first_bad":null,'
        '"signed":{"checkpoints":0,"upto":0,"t_us":null,"keys":[]},"last_n":80,"first_n":1,'
        '"not_signed":80,"head_file":"missing"}\n'
    )
    assert result.exit_code == 0
    assert "whole" in CliRunner().invoke(command, [str(path)]).output


def test_verify_places_what_is_wrong_and_exits_1(path: Path) -> None:
    spoil(path, "UPDATE record SET body = x'00' WHERE n = 7")
    result = CliRunner().invoke(command, [str(path), "--json"])
    assert result.output == (
        '{"ok":false,"records":6,"tables":2,"first_bad":{"table":"b","n":7,"why":"altered","detail":null},'
        '"signed":{"checkpoints":0,"upto":0,"t_us":null,"keys":[]},"last_n":80,"first_n":1,'
        '"not_signed":6,"head_file":"missing"}\n'
    )
    assert result.exit_code == 1
    shown = CliRunner().invoke(command, [str(path)])
    assert "record 7 of table b" in shown.output
    assert "no valid checkpoint found before the damage" in shown.output
    assert shown.exit_code == 1


def test_verify_refuses_what_is_no_journal_with_exit_code_3(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, [str(tmp_path / "none.db")])
    assert isinstance(result.exception, JournalError)
    assert result.exception.exit_code == 3


def test_a_writer_that_comes_while_a_journal_at_rest_is_read_is_noticed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoe_ctl.journal import verify as module

    walk: Callable[..., module.Verification] = module.verify
    stores: list[Store] = []

    def misread(reader: object, trusted: object, **others: object) -> module.Verification:
        if not stores:
            stores.append(Store.open(path))
            return module.Verification(False, 0, 0, BadRecord("a", 1, Fault.ALTERED), Coverage(), 0)
        return walk(reader, trusted, **others)

    monkeypatch.setattr(module, "verify", misread)
    try:
        assert CliRunner().invoke(command, [str(path)]).exit_code == 0
    finally:
        for store in stores:
            store.close()
