"""A journal that is taken away while it is written, or was lost: nothing is stored into nowhere."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from shoe_ctl.errors import JournalError
from shoe_ctl.journal.files import RESERVED, head_path, log_path
from shoe_ctl.journal.store import Store
from shoe_testing.journals import opened, records, stored, stored_round, verified


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal.db"
    stored(path, [stored_round(0)])
    return path


def replaced(path: Path) -> None:
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").rename(path)


@pytest.mark.parametrize(
    "taken",
    [
        Path.unlink,
        lambda path: path.rename(path.with_name("elsewhere")),
        replaced,
        lambda path: log_path(path).unlink(),
        lambda path: path.parent.rename(f"{path.parent}-moved"),
    ],
    ids=["removed", "moved", "replaced", "its log removed", "its folder moved"],
)
@pytest.mark.parametrize("write", ["commit", "cursor"])
def test_what_is_written_to_a_file_that_is_gone_is_not_stored(
    path: Path, taken: Callable[[Path], object], write: str
) -> None:
    store = Store.open(path)
    try:
        store.commit([stored_round(1)])
        taken(path)
        with pytest.raises(JournalError, match="was moved, deleted or replaced while"):
            store.commit([stored_round(2)]) if write == "commit" else store.move_cursor(
                "console", 1
            )
        with pytest.raises(JournalError, match="it must be reopened"):
            store.commit([stored_round(3)])
        assert store.ends()["bac-07"][0] == 8
    finally:
        store.close()


def test_a_journal_that_was_lost_is_not_begun_anew_beside_its_log(path: Path) -> None:
    with opened(path) as store:
        store.commit([stored_round(1)])
        log = log_path(path).read_bytes()
    for lost in (path.unlink, lambda: path.write_bytes(b"")):
        log_path(path).write_bytes(log)
        lost()
        both = r"not found, but its log journal\.db-wal and its head file journal\.db-head exist"
        with pytest.raises(JournalError, match=both):
            Store.open(path)
        assert not path.exists() or path.stat().st_size == 0
        path.write_bytes(b"")
    log_path(path).unlink()
    with pytest.raises(JournalError, match=r"not found, but its head file journal\.db-head exists"):
        Store.open(path)
    head_path(path).unlink()
    with opened(path) as store:
        assert store.last_n == 0


def test_what_must_be_there_is_not_made(path: Path) -> None:
    stood = records(path)
    Store.open(path, new=False).close()
    assert records(path) == stood
    path.unlink()
    with pytest.raises(JournalError, match=r"journal\.db not found"):
        Store.open(path, new=False)
    assert not path.exists()


@dataclass(frozen=True, slots=True)
class Disk:
    f_frsize: int
    f_bavail: int = 1 << 20


def test_a_journal_is_not_opened_without_room_to_grow(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.statvfs", lambda _: Disk(4096, 255))
    with pytest.raises(JournalError, match="cannot grow: the disk is full"):
        Store.open(path)
    monkeypatch.setattr("os.statvfs", lambda _: Disk(4096, 256))
    Store.open(path).close()


def test_where_blocks_are_small_the_log_s_index_has_all_of_its_blocks(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for blocks, reserved in ((4096, False), (1024, True)):
        monkeypatch.setattr("os.statvfs", lambda _, blocks=blocks: Disk(blocks))
        with opened(path) as store:
            store.commit([stored_round(1)])
            index = path.with_name("journal.db-shm").stat()
            assert (index.st_blocks * 512 >= RESERVED) is reserved
            assert (index.st_size >= RESERVED) is reserved
            assert verified(path).ok
        assert not path.with_name("journal.db-shm").exists()


def test_without_room_for_the_index_the_journal_is_not_opened(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.statvfs", lambda _: Disk(1024))
    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(JournalError, match="No space left on device"):
        Store.open(path)
    monkeypatch.undo()
    assert verified(path).ok


def test_a_journal_with_a_second_name_is_refused_under_both_and_left_as_it_is(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.db"
    with opened(path) as store:
        store.commit([stored_round(1)])
    other = tmp_path / "elsewhere" / "copy.db"
    other.parent.mkdir()
    other.hardlink_to(path)
    before = path.read_bytes()
    for name in (path, other):
        with pytest.raises(JournalError, match=r"has 2 names \(hard links\)"):
            Store.open(name)
    assert path.read_bytes() == before
    other.unlink()
    with opened(path) as store:
        store.commit([stored_round(2)])
