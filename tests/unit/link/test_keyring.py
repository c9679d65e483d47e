"""A table's key file: for its owner's eyes only, and never repeated in a message."""

from __future__ import annotations

import os
import stat
import threading
from itertools import count
from pathlib import Path

import pytest

from shoe_ctl.errors import ConfigError
from shoe_ctl.link.keyring import RETIRED, KeyRing, read_keys

KEY, OTHER = "ab" * 32, "cd" * 32
MADE = "11" * 32


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "shoes.keys"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_keys_are_read_by_shoe_and_number(tmp_path: Path) -> None:
    text = f"# ours\nSH-1 1 {KEY}\n\nSH-1 2 {OTHER}  # the new one\nSH-2 1 {KEY}\n"
    assert read_keys(written(tmp_path, text)) == {
        "SH-1": {1: bytes.fromhex(KEY), 2: bytes.fromhex(OTHER)},
        "SH-2": {1: bytes.fromhex(KEY)},
    }


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666, 0o611])
def test_a_file_that_others_may_use_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(ConfigError, match="chmod 600"):
        read_keys(written(tmp_path, f"SH-1 1 {KEY}\n", mode))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"SH-1 {KEY}", "line 2: expected DEVICE_ID KEY_ID KEY"),
        ("SH-1 1 xyz", "line 2: expected DEVICE_ID KEY_ID KEY"),
        (f"SH-1 one {KEY}", "line 2: expected DEVICE_ID KEY_ID KEY"),
        (f"SH-1 1 {KEY[:-2]}", "line 2: a key has 64 hex digits"),
        (f"SH-1 1 {KEY} more", "line 2: a key has 64 hex digits"),
        (f"SH-1 0 {KEY}", "line 2: a key id is 1 or more"),
        (f"{'S' * 37} 1 {KEY}", "line 2: a device id has up to 36"),
        (f"SH-0 1 {KEY}", "line 2: this shoe has that key id already"),
    ],
)
def test_a_wrong_line_is_named_and_not_shown(tmp_path: Path, line: str, said: str) -> None:
    path = written(tmp_path, f"SH-0 1 {OTHER}\n{line}\n")
    with pytest.raises(ConfigError, match=said) as wrong:
        read_keys(path)
    assert KEY[:8] not in str(wrong.value)
    assert OTHER[:8] not in str(wrong.value)


@pytest.mark.parametrize("text", ["", "# none yet\n"])
def test_a_file_without_keys_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="no key"):
        read_keys(written(tmp_path, text))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_keys(tmp_path / "none")
    with pytest.raises(ConfigError, match="key_file"):
        read_keys(tmp_path)
    path = tmp_path / "bytes"
    path.write_bytes(b"\xff\xfe")
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="not text"):
        read_keys(path)


# --- new keys, old keys ---------------------------------------------------------------------------


def ring(path: Path, made: str = MADE) -> KeyRing:
    return KeyRing(path, lambda: bytes.fromhex(made))


def test_a_new_key_is_in_the_file_before_it_is_known(tmp_path: Path) -> None:
    text = f"# ours\nSH-1 1 {KEY}  # of the maker\nSH-2 7 {OTHER}"
    path = written(tmp_path, text)
    keys = ring(path)
    assert keys.newest("SH-1") == 1 and keys.newest("SH-3") == 0
    assert keys.add("SH-1", 2) == bytes.fromhex(MADE)
    assert path.read_text() == f"{text}\nSH-1 2 {MADE}\n"
    assert keys.key("SH-1", 2) == bytes.fromhex(MADE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["shoes.keys"]


def test_a_key_that_is_in_the_file_is_not_made_again(tmp_path: Path) -> None:
    path = written(tmp_path, f"SH-1 1 {KEY}\nSH-1 2 {OTHER}\n")
    keys = ring(path)
    before = path.stat().st_ino
    assert keys.add("SH-1", 2) == bytes.fromhex(OTHER)
    assert path.stat().st_ino == before


def test_what_was_put_into_the_file_meanwhile_stays_there(tmp_path: Path) -> None:
    path = written(tmp_path, f"SH-1 1 {KEY}\n")
    keys = ring(path)
    with path.open("a") as file:
        file.write(f"SH-2 1 {OTHER}\n")
    keys.add("SH-1", 2)
    assert read_keys(path)["SH-2"] == {1: bytes.fromhex(OTHER)}
    assert keys.key("SH-2", 1) is None
    keys.reload()
    assert keys.key("SH-2", 1) == bytes.fromhex(OTHER)


def test_older_keys_than_a_proved_one_become_comments_and_count_no_more(tmp_path: Path) -> None:
    lines = [f"SH-1 1 {KEY}  # first\n", f"SH-1 2 {OTHER}\n", f"SH-2 1 {KEY}\n", "# SH-1 1 x\n"]
    path = written(tmp_path, "".join(lines))
    keys = ring(path)
    held = keys.keys
    assert keys.retire_before("SH-1", 2)
    assert path.read_text() == "".join([RETIRED + lines[0], *lines[1:]])
    assert held is keys.keys and keys.keys["SH-1"] == {2: bytes.fromhex(OTHER)}
    assert not keys.retire_before("SH-1", 2)
    keys.reload()
    assert set(keys.keys["SH-1"]) == {2}


def test_the_newest_key_is_never_retired(tmp_path: Path) -> None:
    path = written(tmp_path, f"SH-1 1 {KEY}\n")
    keys = ring(path)
    assert not keys.retire_before("SH-1", 1)
    assert path.read_text() == f"SH-1 1 {KEY}\n"


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_disk_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = written(tmp_path, f"SH-1 1 {KEY}\n")
    keys = ring(path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os if call == "fsync" else Path, call, full)
        with pytest.raises(ConfigError, match="No space left") as failed:
            keys.add("SH-1", 2)
    assert MADE[:8] not in str(failed.value)
    assert path.read_text() == f"SH-1 1 {KEY}\n"
    assert keys.key("SH-1", 2) is None
    assert [p.name for p in tmp_path.iterdir()] == ["shoes.keys"]
    keys.add("SH-1", 2)
    assert keys.newest("SH-1") == 2


def test_what_a_crash_left_beside_the_file_is_in_nobodys_way(tmp_path: Path) -> None:
    path = written(tmp_path, f"SH-1 1 {KEY}\n")
    path.with_name("shoes.keys-new").write_text("SH-1 2 half of a k")
    keys = ring(path)
    keys.add("SH-1", 2)
    assert read_keys(path)["SH-1"] == {1: bytes.fromhex(KEY), 2: bytes.fromhex(MADE)}
    assert not path.with_name("shoes.keys-new").exists()


def test_a_file_behind_a_link_is_changed_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    path = written(tmp_path / "there", f"SH-1 1 {KEY}\n")
    link = tmp_path / "here.keys"
    link.symlink_to(path)
    ring(link).add("SH-1", 2)
    assert link.is_symlink()
    assert set(read_keys(path)["SH-1"]) == {1, 2}


def test_writers_wait_for_one_another(tmp_path: Path) -> None:
    path = written(tmp_path, f"SH-1 1 {KEY}\n")
    numbers = count(1)

    def add(device_id: str) -> None:
        keys = KeyRing(path, lambda: next(numbers).to_bytes(32, "big"))
        for key_id in range(2, 12):
            keys.add(device_id, key_id)

    threads = [threading.Thread(target=add, args=(f"SH-{n}",)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = read_keys(path)
    assert [len(kept[f"SH-{n}"]) for n in range(1, 5)] == [11, 10, 10, 10]


def test_a_folder_that_is_not_to_be_written_in_is_told_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = ring(written(tmp_path, f"SH-1 1 {KEY}\n"))
    keys.check_writable()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ConfigError, match="cannot write to its folder: check its mode"):
        keys.check_writable()


def test_a_file_that_is_too_long_to_be_kept_whole_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, f"SH-1 1 {KEY}\n" + "# long\n" * 150_000)
    with pytest.raises(ConfigError, match="larger than 1,048,576 bytes"):
        read_keys(path)
