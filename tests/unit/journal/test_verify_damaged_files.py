"""A file that was damaged below its tables: a flipped bit, a column of another type, no UTF-8.

What is left unnoticed is nothing of a record; whatever is noticed is told in one line.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from shoe_ctl.cli.verify import verify as command
from shoe_ctl.errors import JournalError
from shoe_ctl.journal.chain import BadRecord, Fault
from shoe_ctl.journal.group import unpack_group
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.journal.signing import open_signer
from shoe_ctl.journal.store import Store
from shoe_ctl.journal.verify import verify
from shoe_ctl.records import Audience
from shoe_testing.cli import invoke
from shoe_testing.journals import (
    T_US,
    dealt_by,
    held,
    journal_table,
    opened,
    records,
    spoil,
    stored_round,
    table_meta,
    verified,
    with_body,
)

GROUPS = 18
FLIPS = 1500


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A journal of three tables and two checkpoints."""
    path = tmp_path_factory.mktemp("journal") / "journal.db"
    key = open_signer(path, None)
    with opened(path) as store:
        for number in range(GROUPS):
            store.commit([stored_round(number, "abc"[number % 3])])
            if number in (7, 12):
                store.checkpoint(key, T_US + number)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, whole: bytes) -> Path:
    path = tmp_path / "journal.db"
    path.write_bytes(whole)
    return path


def loosened(path: Path, *statements: str) -> None:
    """Changes a journal whose columns were made to take anything, as a flipped bit makes them."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT', ''), 'NOT NULL', '')"
            " WHERE name IN ('record_group', 'cursor')"
        )
        connection.commit()
    spoil(path, *statements)


def is_whole(path: Path) -> bool:
    try:
        return verified(path).ok
    except JournalError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize(
    "flips", [FLIPS // 4, pytest.param(FLIPS, marks=pytest.mark.exhaustive(cpu_s=3))]
)
def test_a_flipped_bit_is_found_or_hits_nothing_of_a_record(
    path: Path, whole: bytes, flips: int
) -> None:
    written, chance, noticed = records(path), random.Random(6), 0
    for _ in range(flips):
        spoilt = bytearray(whole)
        spoilt[chance.randrange(len(spoilt))] ^= 1 << chance.randrange(8)
        path.write_bytes(spoilt)
        if is_whole(path):
            assert records(path) == written
        else:
            noticed += 1
    assert noticed > flips / 10


def last_of(group: int) -> int:
    """The number of a group's last record: each has four, and two are checkpoints."""
    return 4 * group - 3 * (group > 8) - 3 * (group > 14)


@pytest.mark.parametrize("group", [1, 5, 9, GROUPS + 2])
@pytest.mark.parametrize(
    "change",
    [
        "\"table\" = CAST(x'62ff' AS TEXT)",
        "body = 'text'",
        "body = CAST(x'ff' AS TEXT)",
        "body = NULL",
        "body = 7",
        "hash = NULL",
        "hash = hex(hash)",
        "\"table\" = replace(hex(zeroblob(70000)), '00', 'x')",
    ],
)
def test_a_group_that_cannot_even_be_read_is_found_and_placed(
    path: Path, group: int, change: str
) -> None:
    loosened(path, f"UPDATE record_group SET {change} WHERE n = {last_of(group)}")
    found = verified(path)
    assert found.first_bad is not None
    assert (found.first_bad.n, found.records) == (last_of(group - 1) + 1, last_of(group - 1))
    assert found.first_bad.text == "altered: it cannot be read"


def test_a_group_missing_before_one_that_cannot_be_read_is_told_first(path: Path) -> None:
    loosened(
        path,
        "DELETE FROM record_group WHERE n = 28",
        "UPDATE record_group SET body = 7 WHERE n = 33",
    )
    bad = verified(path).first_bad
    assert bad is not None
    assert (bad.n, bad.text) == (25, "missing: no record 25 to 28")


def test_what_is_wrong_is_placed_though_a_group_behind_it_cannot_be_read(path: Path) -> None:
    loosened(
        path,
        "UPDATE record_group SET body = x'00' WHERE n = 20",
        "UPDATE record_group SET \"table\" = CAST(x'ff' AS TEXT) WHERE n = 24",
    )
    bad = verified(path).first_bad
    assert bad is not None and bad.n == 17
    assert bad.text.startswith("altered")


@pytest.mark.parametrize(
    ("spoils", "read"),
    [
        ("UPDATE head SET \"table\" = CAST(x'ff' AS TEXT) WHERE \"table\" = 'a'", Reader.heads),
        ("UPDATE cursor SET n = 'x'", lambda reader: reader.cursor("console")),
        (
            "UPDATE record_group SET body = 'x'",
            lambda reader: reader.events(Audience.PUBLIC, after=0, limit=10),
        ),
        (
            "UPDATE record_group SET body = x'0101'",
            lambda reader: reader.events(Audience.PUBLIC, after=0, limit=10),
        ),
        (
            "UPDATE record_group SET body = NULL WHERE \"table\" = ''",
            lambda reader: next(reader.indexed_records("", Kind.CHECKPOINT)),
        ),
    ],
)
def test_whoever_reads_on_is_told_in_one_line(
    path: Path, spoils: str, read: Callable[[Reader], object]
) -> None:
    with opened(path) as store:
        store.move_cursor("console", 1)
    loosened(path, spoils)
    with Reader.open(path) as reader, pytest.raises(JournalError, match="is corrupt"):
        read(reader)


def test_a_daemon_does_not_start_on_a_last_record_that_cannot_be_read(path: Path) -> None:
    loosened(path, "UPDATE record_group SET body = 7 WHERE n = (SELECT max(n) FROM record_group)")
    with pytest.raises(JournalError, match=r"is corrupt: record \d+ cannot be read"):
        Store.open(path)


HEAD_OF_A = "UPDATE head SET n = n - 1 WHERE \"table\" = 'a'"


def test_a_head_that_names_another_record_than_the_one_it_has_the_hash_of_is_found(
    path: Path,
) -> None:
    spoil(path, HEAD_OF_A)
    bad = verified(path).first_bad
    assert bad is not None
    assert (bad.table, bad.text) == ("a", "wrong head: the table's head is not its last record")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM landmark WHERE n = {n}",
        "UPDATE landmark SET n = n + 1 WHERE n = {n}",
        "UPDATE landmark SET kind = 'meta' WHERE n = {n}",
        "INSERT INTO landmark VALUES ('a', 'meta', {n})",
    ],
)
def test_a_landmark_that_does_not_lead_to_a_record_is_found(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "journal.db"
    with journal_table(path, table_meta(), dealt_by("8C KD")):
        pass
    n = next(record.n for record in records(path) if record.kind == "snapshot")
    assert verified(path).ok
    spoil(path, statement.format(n=n))
    bad = verified(path).first_bad
    assert bad is not None
    assert (bad.n, bad.why) == (n, Fault.ALTERED)
    assert "does not lead to it" in bad.text


def test_an_index_that_does_not_lead_to_a_group_is_found(path: Path) -> None:
    """As it stands where some of its bytes were lost: SQLite itself goes by it unseen."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        for was, now in ((")", ") WHERE n > 40"), (") WHERE n > 40", ")")):
            connection.execute(
                "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = 'of_table'",
                (was, now),
            )
            connection.commit()
            connection.execute("PRAGMA writable_schema = RESET")
            connection.execute("PRAGMA writable_schema = ON")
            if now != ")":
                connection.execute("REINDEX of_table")
                connection.commit()
    bad = verified(path).first_bad
    assert bad is not None
    assert bad.text == "altered: the file's index, that does not lead to each group of a table"


def begins_at(n: int) -> Callable[[dict[str, object]], None]:
    return lambda said: said.update(begins={"n": n, "told": {}})


def reforge(path: Path, place: int, change: Callable[[dict[str, object]], None]) -> int:
    """Changes what a checkpoint says, from the first on or the last back; its record's number."""
    signed = [row for row in held(path) if row[1] == ""]
    n, _, group, _ = signed[place]
    ((_, _, body),) = unpack_group("", group)
    note, details = body[: body.index(b"\n{") + 1], body[body.index(b"\n{") + 1 :]
    said = json.loads(details)
    change(said)
    forged_details = json.dumps(said).encode()
    was, now = (sha256(each).hexdigest().encode() for each in (details, forged_details))
    assert was in note
    forged = with_body("", group, 0, note.replace(was, now) + forged_details)
    spoil(path, ("UPDATE record_group SET body = ? WHERE n = ?", (forged, n)))
    return n


def test_a_forged_beginning_is_found(path: Path) -> None:
    for n in (10**30, 2**63 - 1, 0, -1, 60):
        last = reforge(path, -1, begins_at(n))
        bad = verified(path).first_bad
        assert bad is not None
        assert (bad.table, bad.n) == ("", last)
    reforge(path, -1, begins_at(5))
    bad = verified(path).first_bad
    assert bad is not None
    assert bad.text == "missing: the checkpoint with which the journal begins"


def test_a_beginning_that_is_no_checkpoint_is_placed(path: Path) -> None:
    def ruin(said: dict[str, object]) -> None:
        said["heads"] = {"a": {"n": 1, "hash": "no hex"}}

    first = reforge(path, 0, ruin)
    reforge(path, -1, begins_at(first))
    spoil(path, f"DELETE FROM record_group WHERE n < {first}")
    assert verified(path).first_bad == BadRecord("", first, Fault.ALTERED, "it is no checkpoint")


def test_a_name_cannot_write_on_the_terminal(path: Path) -> None:
    spoil(
        path,
        "UPDATE record_group SET \"table\" = 'a' || char(10) || 'chains      whole'"
        " || char(27) || '[8m'"
        " || replace(hex(zeroblob(500)), '00', 'x') WHERE n = 12",
    )
    shown = invoke(command, str(path))
    assert shown.exit_code == 1
    assert "\x1b" not in shown.output
    assert "of table a\\nchains      whole\\x1b[8mxxxxx" in shown.output
    assert "chains" not in [line.split()[0] for line in shown.output.splitlines()]
    assert all(len(line) <= 80 for line in shown.output.splitlines()[1:])


def test_how_far_it_has_come_is_told_as_it_goes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoe_ctl.journal.reader.BATCH", 5)
    come: list[tuple[int, int]] = []
    with Reader.open(path) as reader:
        assert verify(reader, progress=lambda n, last_n: come.append((n, last_n))).ok
    assert come == [(20, 74), (37, 74), (54, 74)]


def test_verify_does_not_advise_to_run_itself(path: Path) -> None:
    """Half of a journal cannot even be opened: the line says what else to do."""
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    result = invoke(command, path)
    assert isinstance(result.exception, JournalError)
    said = str(result.exception)
    assert "is corrupt" in said and said.endswith("Restore it from a copy or an export.")
    assert "shoectl verify" not in said
