"""Verifying: whatever is done to a record is found and placed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_ctl.cli.verify import verify as command
from shoe_ctl.errors import JournalError
from shoe_ctl.journal.chain import GENESIS, BadRecord, Coverage, Fault, chain_hash
from shoe_ctl.journal.store import Store
from shoe_testing.cli import invoke
from shoe_testing.journals import (
    held,
    opened,
    plain_group,
    records,
    spoil,
    stored,
    stored_round,
    verified,
)

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


GROUPS = LAST // 4


def last_of(group: int) -> int:
    """The number of a group's last record; groups are counted from 1."""
    return 4 * group


@pytest.mark.parametrize("group", [1, 2, 11, 19, GROUPS])
@pytest.mark.parametrize(
    "change",
    [
        "body = x'7b7d'",
        "body = zeroblob(length(body))",
        "body = substr(body, 1, length(body) - 1)",
        "body = CAST(body || x'00' AS BLOB)",
        "\"table\" = 'c'",
        "hash = zeroblob(32)",
    ],
)
def test_an_altered_group_is_found_and_placed(path: Path, group: int, change: str) -> None:
    spoil(path, f"UPDATE record_group SET {change} WHERE n = {last_of(group)}")
    found = verified(path)
    assert not found.ok
    assert found.records == last_of(group - 1)
    assert found.first_bad is not None
    assert found.first_bad.n == last_of(group - 1) + 1
    assert found.first_bad.text.startswith("altered")


@pytest.mark.parametrize("group", [1, 2, 11, 19, GROUPS])
def test_a_missing_group_is_found_and_placed(path: Path, group: int) -> None:
    spoil(path, f"DELETE FROM record_group WHERE n = {last_of(group)}")
    bad = verified(path).first_bad
    assert bad is not None
    first = last_of(group - 1) + 1
    assert (bad.table, bad.n) == (table_of(first), LAST if group == GROUPS else first)
    assert bad.text.startswith("missing")


def test_records_cut_off_the_end_are_found(path: Path) -> None:
    spoil(path, "DELETE FROM record_group WHERE n > 70")
    bad = verified(path).first_bad
    assert bad is not None
    assert bad.n == 76  # the last record of the table whose head comes first
    assert bad.text == "missing: the journal breaks off at record 68"


@pytest.mark.parametrize("group", [1, 11, 15])
def test_a_group_taken_out_and_the_rest_renumbered_is_found(path: Path, group: int) -> None:
    n = last_of(group)
    spoil(
        path,
        f"DELETE FROM record_group WHERE n = {n}",
        f"UPDATE record_group SET n = -n WHERE n > {n}",
        "UPDATE record_group SET n = -n - 4 WHERE n < 0",
        "UPDATE head SET n = n - 4",
    )
    bad = verified(path).first_bad
    assert bad is not None
    assert bad.n == n - 3
    assert bad.text.startswith("missing")


ADDED = plain_group(("I", b"{}"))
"""A group of one record."""


@pytest.mark.parametrize("group", [1, 2, 11, GROUPS])
def test_a_group_put_in_between_is_found(path: Path, group: int) -> None:
    n = last_of(group - 1) + 1
    spoil(
        path,
        f"UPDATE record_group SET n = -n WHERE n >= {n}",
        "UPDATE record_group SET n = -n + 1 WHERE n < 0",
        ("INSERT INTO record_group VALUES (?, 'a', ?, zeroblob(32))", (n, ADDED)),
        "UPDATE head SET n = n + 1",
    )
    assert verified(path).first_bad == BadRecord(
        "a", n, Fault.ADDED, f"what was record {n} stands at {n + 1}"
    )


@pytest.mark.parametrize(("n", "why"), [(0, "numbered from 1"), (-7, "numbered from 1")])
def test_a_group_put_before_the_first_is_found(path: Path, n: int, why: str) -> None:
    spoil(path, ("INSERT INTO record_group VALUES (?, 'a', ?, zeroblob(32))", (n, ADDED)))
    bad = verified(path).first_bad
    assert bad is not None
    assert bad.n == n
    assert why in bad.text


def test_a_group_put_behind_the_last_is_found_even_with_a_fitting_hash(path: Path) -> None:
    end = [record for record in records(path) if record.table == "b"][-1].hash
    counted = plain_group(("I", b"{}"), before=(10, 20))
    fitting = chain_hash(end, LAST + 1, "b", counted)
    for digest, why in ((bytes(32), "behind the journal's end"), (fitting, "head is not its last")):
        insert = "INSERT OR REPLACE INTO record_group VALUES (?, 'b', ?, ?)"
        spoil(path, (insert, (LAST + 1, counted, digest)))
        bad = verified(path).first_bad
        assert bad is not None
        assert bad.table == "b"
        assert why in bad.text


@pytest.mark.parametrize(("first", "second"), [(1, 2), (3, 4), (2, 13), (1, GROUPS), (3, 5)])
def test_groups_that_changed_places_are_found(path: Path, first: int, second: int) -> None:
    spoil(
        path,
        f"UPDATE record_group SET n = -1 WHERE n = {last_of(first)}",
        f"UPDATE record_group SET n = {last_of(first)} WHERE n = {last_of(second)}",
        f"UPDATE record_group SET n = {last_of(second)} WHERE n = -1",
    )
    began, begins = last_of(first - 1) + 1, last_of(second - 1) + 1
    assert verified(path).first_bad == BadRecord(
        table_of(began), began, Fault.OUT_OF_ORDER, f"record {began} stands at {begins}"
    )


def a_group(*records: tuple[str, bytes]) -> bytes:
    """What may follow a group of ``stored_round``."""
    return plain_group(*records, before=(1, 2))


@pytest.mark.parametrize(
    ("group", "why"),
    [
        (bytes((9,)) + a_group(("I", b"{}"))[1:], "its form, 9, is not known"),
        (a_group(("?", b"{}")), "a record of an unknown kind"),
        (a_group(("I", b"{}"))[:9], "it is cut short"),
        (a_group(("I", b"{}"))[:-1], "not as long as its header says"),
        (a_group(("I", b"{}"), ("=", b"")), "a copy does not follow a public event"),
        (plain_group(("I", b"{}"), before=(3, 9)), "other events before it"),
    ],
    ids=["form", "kind", "short header", "short", "copy", "counters"],
)
def test_a_group_that_fits_its_hash_and_not_the_form_is_found(
    tmp_path: Path, group: bytes, why: str
) -> None:
    """As whoever computes the hashes writes it: a group stands there, and nobody can read it."""
    path = tmp_path / "journal.db"
    stored(path, [stored_round(1, "a")])
    n = 4 + max(1, group[1])
    end = chain_hash(records(path)[-1].hash, n, "a", group)
    spoil(
        path,
        ("INSERT INTO record_group VALUES (?, 'a', ?, ?)", (n, group, end)),
        ("UPDATE head SET n = ?, hash = ?", (n, end)),
    )
    bad = verified(path).first_bad
    assert bad is not None
    assert (bad.table, bad.n, bad.why) == ("a", 5, Fault.ALTERED)
    assert why in bad.text


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE head SET public = 9 WHERE \"table\" = 'a'", "counts 9 public"),
        ("UPDATE head SET restricted = 21 WHERE \"table\" = 'a'", "there are 10 and 20"),
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


def flipped_anywhere(path: Path, whole: bytes, groups: Iterable[int]) -> None:
    """Each byte of these groups is flipped in turn, and placed."""
    path.write_bytes(whole)
    rows = {row[0]: row for row in held(path)}
    for group in groups:
        n, table, body, _ = rows[last_of(group)]
        for at in range(len(body)):
            spoilt = bytearray(body)
            spoilt[at] ^= 1 << at % 8
            spoil(path, ("UPDATE record_group SET body = ? WHERE n = ?", (bytes(spoilt), n)))
            assert verified(path).first_bad == BadRecord(table, n - 3, Fault.ALTERED), at
        spoil(path, ("UPDATE record_group SET body = ? WHERE n = ?", (body, n)))


@pytest.mark.parametrize(
    "groups",
    [(7, GROUPS), pytest.param(range(1, GROUPS + 1), marks=pytest.mark.exhaustive(cpu_s=20))],
    ids=["sample", "all"],
)
def test_every_flipped_byte_of_a_group_is_found_and_placed(
    path: Path, whole: bytes, groups: Iterable[int]
) -> None:
    flipped_anywhere(path, whole, groups)


text = st.text(max_size=4)
group = st.tuples(
    st.integers(0, 2**63 - 1), text, st.binary(max_size=6), st.binary(min_size=32, max_size=32)
)


@given(first=group, second=group)
def test_no_two_different_groups_have_the_same_hash(
    first: tuple[int, str, bytes, bytes], second: tuple[int, str, bytes, bytes]
) -> None:
    hashes = {chain_hash(before, n, t, body) for n, t, body, before in (first, second)}
    assert len(hashes) == len({first, second})


@given(n=st.integers(1, 99), parts=st.binary(max_size=12).map(lambda b: b.decode("latin-1")))
def test_moving_a_letter_from_one_field_to_the_next_gives_another_hash(n: int, parts: str) -> None:
    cuts = range(len(parts) + 1)
    hashes = {chain_hash(GENESIS, n, parts[:cut], parts[cut:].encode()) for cut in cuts}
    assert len(hashes) == len(cuts)


def test_the_hash_is_the_one_that_the_docs_describe() -> None:
    # sha256 of: a zero, 32 zeros, n = 1 in 8 bytes, length 1 in 2 bytes, 3 in 8 bytes, t, 2, {}
    assert (
        chain_hash(GENESIS, 1, "t", b"\2{}").hex()
        == "d69406129c072abe159420a13780f475e002a5bfc73254e7d36f74937be053cd"
    )


def test_a_journal_can_be_verified_while_it_is_written(path: Path) -> None:
    with opened(path) as store:
        store.commit([stored_round(21, "a")])
        found = verified(path)
        store.commit([stored_round(22, "b")])
        assert (found.ok, found.records) == (True, LAST + 4)
        assert verified(path).records == LAST + 8


def test_verify_says_whole_and_exits_0(path: Path) -> None:
    result = invoke(command, str(path), "--json")
    assert result.output == (
        '{"ok":true,"records":80,"tables":2,"first_bad":null,'
        '"signed":{"checkpoints":0,"upto":0,"t_us":null,"keys":[],"number":null,"origin":null,"ranges":[]},'
        '"last_n":80,"first_n":1,'
        '"not_signed":80,"head_file":"missing","backwards":[],"verifier_keys":[],"complete":[],"starts":[]}\n'
    )
    assert result.exit_code == 0
    assert "whole" in invoke(command, str(path)).output


def test_verify_places_what_is_wrong_and_exits_1(path: Path) -> None:
    spoil(path, "UPDATE record_group SET body = x'00' WHERE n = 8")
    result = invoke(command, str(path), "--json")
    assert result.output == (
        '{"ok":false,"records":4,"tables":1,"first_bad":{"table":"b","n":5,"why":"altered","detail":null},'
        '"signed":{"checkpoints":0,"upto":0,"t_us":null,"keys":[],"number":null,"origin":null,"ranges":[]},'
        '"last_n":80,"first_n":1,'
        '"not_signed":4,"head_file":"missing","backwards":[],"verifier_keys":[],"complete":[],"starts":[]}\n'
    )
    assert result.exit_code == 1
    shown = invoke(command, str(path))
    assert "record 5 of table b" in shown.output
    assert "no valid checkpoint found before the damage" in shown.output
    assert shown.exit_code == 1


def test_verify_refuses_what_is_no_journal_with_exit_code_3(tmp_path: Path) -> None:
    result = invoke(command, str(tmp_path / "none.db"))
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
        assert invoke(command, str(path)).exit_code == 0
    finally:
        for store in stores:
            store.close()
