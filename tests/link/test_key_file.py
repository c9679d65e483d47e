"""A table's key file: for its owner's eyes only, and never repeated in a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_ctl.errors import ConfigError
from shoe_ctl.link.key_file import read_keys

KEY, OTHER = "ab" * 32, "cd" * 32


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
