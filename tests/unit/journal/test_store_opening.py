"""Opening: one writer, journals only, and every refusal one clear line that changes nothing."""

from __future__ import annotations

import errno
import gzip
import os
import sqlite3
import stat
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from shoe_ctl.errors import JournalError
from shoe_ctl.journal.files import is_held, log_path
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.store import Store
from shoe_testing.journals import child, opened, records, spoil, stored, stored_round, verified


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def beside(path: Path) -> list[str]:
    """Every file in the journal's folder but the lock's, which stays."""
    names = (entry.name for entry in path.parent.iterdir())
    return sorted(name for name in names if name != f"{path.name}-lock")


def test_a_second_writer_is_told_who_has_the_journal(path: Path) -> None:
    with opened(path):
        with pytest.raises(JournalError, match=rf"in use by process {os.getpid()} \("):
            Store.open(path)
        link = path.with_name("link.db")
        link.symlink_to(path)
        with pytest.raises(JournalError, match="in use by process"):
            Store.open(link)
    with opened(path):
        pass


def test_the_lock_file_stays_and_names_its_holder_while_there_is_one(path: Path) -> None:
    beside_it = path.with_name("journal.db-lock")
    with opened(path):
        assert beside_it.read_text() == f"{os.getpid()}\n"
        inode = beside_it.stat().st_ino
    assert beside_it.read_text() == ""
    with opened(path), pytest.raises(JournalError, match="in use by process"):
        Store.open(path)
    assert beside_it.stat().st_ino == inode


def test_the_lock_is_held_and_its_holder_known_where_a_full_disk_has_no_room_for_the_name(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr(os, "pwrite", full)
        with (
            opened(path),
            pytest.raises(JournalError, match=rf"in use by process {os.getpid()} \("),
        ):
            Store.open(path)
    with opened(path):
        pass


def test_a_writer_that_died_has_let_go_of_the_lock(path: Path) -> None:
    program = """
import sys
from shoe_ctl.journal.store import Store
store = Store.open(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""
    with child(program, str(path)) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(JournalError, match=rf"in use by process {other.pid} \("):
            Store.open(path)
        other.kill()
        other.wait()
        with opened(path) as store:
            store.commit([stored_round(1)])
    assert len(records(path)) == 4


def test_a_new_journal_is_for_its_owner_only_and_leaves_nothing_beside_it(path: Path) -> None:
    stored(path, [stored_round(1)])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert beside(path) == ["journal.db", "journal.db-head"]
    assert stat.S_IMODE(path.with_name("journal.db-head").stat().st_mode) == 0o600


def test_reading_a_journal_at_rest_leaves_nothing_beside_it(path: Path) -> None:
    stored(path, [stored_round(1)])
    assert verified(path).ok
    assert beside(path) == ["journal.db", "journal.db-head"]


def test_an_empty_file_becomes_a_journal(path: Path) -> None:
    path.touch()
    assert len(stored(path, [stored_round(1)])) == 1


def test_a_half_made_journal_is_made_anew(path: Path) -> None:
    path.with_name("journal.db-new").write_bytes(b"cut off")
    stored(path, [stored_round(1)])
    assert beside(path) == ["journal.db", "journal.db-head"]


def _text(path: Path) -> None:
    path.write_text("not a database at all, but long enough to look like one\n" * 20)


def _foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")


def _other_version(path: Path) -> None:
    stored(path, [])
    spoil(path, "PRAGMA user_version = 99")
    path.with_name("journal.db-head").unlink()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (_text, "is not a journal of shoe-ctl: it is not an SQLite file"),
        (_foreign, "is not a journal of shoe-ctl: another program's file"),
        (
            _other_version,
            "has version 99, written by a newer shoe-ctl; this version reads 9: use",
        ),
        (Path.mkdir, "is a"),
    ],
    ids=["text", "foreign", "version", "directory"],
)
def test_what_is_no_journal_is_refused_in_one_line_and_left_as_it_is(
    path: Path, make: object, told: str
) -> None:
    assert callable(make)
    make(path)
    before = path.read_bytes() if path.is_file() else None
    for refused in (Store.open, Reader.open):
        with pytest.raises(JournalError) as error:
            refused(path)
        assert "\n" not in str(error.value)
        if before is not None or refused is Store.open:
            assert told in str(error.value)
    if before is not None:
        assert path.read_bytes() == before
    assert beside(path) == ["journal.db"]


def test_a_missing_directory_and_a_missing_journal_are_told(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no such directory"):
        Store.open(tmp_path / "none" / "journal.db")
    with pytest.raises(JournalError, match="does not exist"):
        Reader.open(tmp_path / "journal.db")


def test_places_that_cannot_be_written_are_told() -> None:
    # root may write anywhere, so the child becomes nobody once it has imported what it needs
    program = """
import os, sys
from shoe_ctl.errors import JournalError
from shoe_ctl.journal.store import Store
if os.geteuid() == 0:
    os.setuid(65534)
for name in ("new.db", "old.db"):
    try:
        Store.open(f"{sys.argv[1]}/{name}")
    except JournalError as error:
        print(error)
"""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stored(folder / "old.db", [stored_round(1)])
        folder.chmod(0o555)
        with child(program, name, stderr=subprocess.PIPE) as other:
            out, err = other.communicate()
        folder.chmod(0o755)
        assert beside(folder / "old.db") == ["old.db", "old.db-head"]
    assert err == ""
    assert [line.partition("db ")[2] for line in out.splitlines()] == [
        "is not writable: Permission denied"
    ] * 2


def test_a_log_beside_a_journal_that_nothing_can_be_made_beside_is_told_what_to_do_with() -> None:
    # as where the disk of a table that lost its power is looked at without being changed
    program = """
import os, sys
from shoe_ctl.errors import JournalError
from shoe_ctl.journal.reader import Reader
if os.geteuid() == 0:
    os.setuid(65534)
try:
    Reader.open(sys.argv[1])
except JournalError as error:
    print(error)
"""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "journal.db")
        with opened(path) as store:
            store.commit([stored_round(1)])
            log = log_path(path).read_bytes()
        log_path(path).write_bytes(log)
        for file in (path, log_path(path)):
            file.chmod(0o444)
        path.parent.chmod(0o555)
        with child(program, str(path), stderr=subprocess.PIPE) as other:
            out, err = other.communicate()
        path.parent.chmod(0o755)
    assert err == ""
    assert "copy both, journal.db and journal.db-wal, to a folder of yours" in out


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM record_group WHERE n = 8",
        "UPDATE record_group SET hash = x'00' WHERE n = 8",
        "DELETE FROM head",
        "INSERT INTO record_group VALUES (9, 'x', x'00', x'00')",
    ],
)
def test_a_journal_that_does_not_end_as_it_should_is_not_written_on(
    path: Path, statement: str
) -> None:
    stored(path, [stored_round(1), stored_round(2)])
    spoil(path, statement)
    with pytest.raises(JournalError, match="is corrupt"):
        Store.open(path)
    assert not is_held(path)


def test_a_damaged_file_is_told_in_one_line(path: Path) -> None:
    stored(path, [stored_round(n) for n in range(200)])
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))
    for refused in (Store.open, verified):
        with pytest.raises(JournalError, match="is corrupt"):
            refused(path)


def test_a_journal_that_was_compressed_is_read_as_it_is(path: Path, tmp_path: Path) -> None:
    stored(path, [stored_round(1), stored_round(2)])
    packed = tmp_path / "journal.db.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert records(packed) == records(path)
    assert verified(packed).ok
    with Reader.open(packed) as reader:
        assert not reader.is_export
    with pytest.raises(JournalError):
        Store.open(packed)


def test_a_compressed_nothing_is_no_journal(tmp_path: Path) -> None:
    packed = tmp_path / "journal.db.gz"
    packed.write_bytes(gzip.compress(b""))
    with pytest.raises(JournalError, match="is not a journal of shoe-ctl: there is nothing in it"):
        Reader.open(packed)
