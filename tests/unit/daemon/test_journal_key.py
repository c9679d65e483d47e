"""Another key for a journal: a kill at any moment leaves a journal that opens, with a key."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.daemon.journal_key import KeyRuling, change_key, describe_key, warn_if_open
from shoe_ctl.errors import JournalError
from shoe_ctl.journal import signing
from shoe_ctl.journal.signing import finish_change, key_path, open_signer
from shoe_ctl.journal.store import Store
from shoe_testing.checkpoints import KEY_RULING
from shoe_testing.journals import T_US, opened, stored_round, verified

ENDORSED, LOST = KeyRuling(KEY_RULING), KeyRuling(KEY_RULING, is_lost=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal.db"
    with opened(path) as store:
        store.commit([stored_round(1)])
        store.checkpoint(open_signer(path, None), T_US)
        store.commit([stored_round(2)])
    return path


def key_files(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.glob("journal.db-key*"))


def changed(path: Path, given: KeyRuling) -> tuple[bytes, bytes]:
    """The old key and the new one."""
    with opened(path) as store:
        old = store.signed_with
        change_key(store, given, T_US + 1)
        new = store.signed_with
    assert old is not None and new is not None
    return old, new


def test_the_old_key_is_replaced_by_the_one_that_it_endorses(path: Path) -> None:
    old, new = changed(path, ENDORSED)
    assert old != new
    assert open_signer(path, new).public_key == new
    assert key_files(path) == ["journal.db-key"]
    assert verified(path, frozenset({old})).ok


def test_a_lost_key_is_replaced_and_nothing_endorses_the_new_one(path: Path) -> None:
    key_path(path).unlink()
    old, new = changed(path, LOST)
    assert open_signer(path, new).public_key == new
    assert not verified(path, frozenset({old})).ok
    assert verified(path, frozenset({new})).ok


def test_another_key_that_lies_there_is_taken_where_the_old_one_is_lost(path: Path) -> None:
    other = open_signer(path.with_name("other.db"), None).public_key
    key_path(path.with_name("other.db")).rename(key_path(path))
    with opened(path) as store, pytest.raises(JournalError, match="is another key"):
        change_key(store, ENDORSED, T_US + 1)
    assert changed(path, LOST)[1] == other


def test_a_key_that_is_not_lost_is_not_given_up(path: Path) -> None:
    with opened(path) as store, pytest.raises(JournalError, match="not lost: start with --new-key"):
        change_key(store, LOST, T_US + 1)


def test_a_key_that_was_changed_does_not_come_back(path: Path) -> None:
    leaked = key_path(path).read_bytes()
    changed(path, ENDORSED)
    key_path(path).write_bytes(leaked)
    with opened(path) as store, pytest.raises(JournalError, match="changed before"):
        change_key(store, LOST, T_US + 2)


def test_a_journal_that_was_never_signed_needs_no_ruling(tmp_path: Path) -> None:
    with opened(tmp_path / "journal.db") as store:
        for given in (ENDORSED, LOST):
            with pytest.raises(JournalError, match="was never signed"):
                change_key(store, given, T_US)


def run_until_step(path: Path, given: KeyRuling, at: int) -> bool:
    """Change the key in a process that is killed before its step ``at``; False if it ended."""
    pid = os.fork()
    if pid == 0:
        try:
            _die_at(at)
            with opened(path) as store:
                change_key(store, given, T_US + 1)
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the process ends here, whatever it is
            os._exit(70)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0


def _die_at(at: int) -> None:
    """Count what is done to the key's files, syncs and the commit; die before the right one."""
    left = at

    def step(*_: object) -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    def audited(event: str, args: tuple[Any, ...]) -> None:
        if event in {"open", "os.rename", "os.remove"} and "-key" in str(args[0]):
            step()

    def counted(inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            step()
            result = inner(*args, **more)
            step()
            return result

        return call

    os.fsync = counted(os.fsync)
    Store._write = counted(Store._write)  # type: ignore[method-assign]
    sys.addaudithook(audited)


@pytest.mark.parametrize("given", [ENDORSED, LOST], ids=["endorsed", "lost"])
def test_a_kill_at_any_step_leaves_a_journal_that_opens(
    path: Path, tmp_path: Path, given: KeyRuling
) -> None:
    if given.is_lost:
        key_path(path).unlink()
    with opened(path) as store:
        old = store.signed_with
    assert old is not None
    seen = set()
    at = 0
    while True:
        folder = tmp_path / f"step-{at}"
        folder.mkdir()
        for file in path.parent.glob("journal.db*"):
            shutil.copy(file, folder)
        copy = folder / path.name
        was_killed = run_until_step(copy, given, at)
        with opened(copy) as store:
            due = store.signed_with
            finish_change(copy, due)
            if given.is_lost and due == old:  # nothing was ruled yet: it is ruled again
                change_key(store, given, T_US + 2)
                due = store.signed_with
            assert due is not None
            store.commit([stored_round(3)])
            store.checkpoint(open_signer(copy, due), T_US + 3)
            seen.add(due == old)
        assert key_files(copy) == ["journal.db-key"]
        assert verified(copy, frozenset({due})).ok
        assert verified(copy, frozenset({old})).ok is not given.is_lost
        if not was_killed:
            break
        at += 1
    assert at > 8
    assert seen == ({False} if given.is_lost else {True, False})


def test_whether_the_key_is_private_is_told(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with opened(path) as store:
        told = describe_key(store)
        assert (told["state"], told["mode"]) == ("private", "600")
        warn_if_open(path)
        assert not caplog.records
        key_path(path).chmod(0o640)
        assert (describe_key(store)["state"], describe_key(store)["mode"]) == (
            "open_to_others", "640",
        )  # fmt: skip
        warn_if_open(path)
        key_path(path).unlink()
        assert describe_key(store)["state"] == "missing"
        warn_if_open(path)
    assert [record.message.split(" state=")[1].split(".")[0] for record in caplog.records] == [
        "open_to_others", "missing",
    ]  # fmt: skip
    assert signing.key_mode(path) is None
