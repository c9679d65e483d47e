"""What a sink's files still hold of lost events: the file, rotated ones, and strangers' files.

In: files as logrotate leaves them, and as nobody should. Out: lines, or why there are none.
"""

from __future__ import annotations

import bz2
import gzip
import json
import os
from pathlib import Path

import pytest

from shoe_ctl.records import Audience
from shoe_ctl.sinks import jsonl_tail
from shoe_ctl.sinks.jsonl_tail import LostLines, find_lost_lines, newest_ids

SOURCE = "/journal/0a0a0a0a/table/bac-07"


def line(number: int, **more: object) -> bytes:
    return json.dumps({"id": f"bac-07/p{number}", "source": SOURCE, **more}).encode()


def lines(*numbers: int) -> bytes:
    return b"".join(line(number) + b"\n" for number in numbers)


def lost_behind(number: int, path: Path) -> dict[str, LostLines]:
    """What each file holds of the events behind this one, by its name."""

    def is_lost(id_: str, source: str) -> bool | None:
        return int(id_.rpartition("p")[2]) > number if source == SOURCE else None

    return {found.path.name: found for found in find_lost_lines(path, is_lost)}


def aged(path: Path, content: bytes, age_s: int) -> None:
    path.write_bytes(content)
    os.utime(path, (1_700_000_000 - age_s,) * 2)


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("events.jsonl.1", bytes),
        ("events.jsonl.2.gz", gzip.compress),
        ("events.jsonl.3.bz2", bz2.compress),
        ("events.jsonl-20261123", bytes),
        ("events.jsonl-20261123-1763900000.gz", gzip.compress),
        ("events-20261123.jsonl", bytes),
        ("events.1.jsonl.gz", gzip.compress),
        ("events.jsonl.old", bytes),
    ],
)
def test_a_rotated_file_is_read_under_each_name_that_logrotate_gives(
    tmp_path: Path, name: str, pack: type[bytes]
) -> None:
    path = tmp_path / "events.jsonl"
    aged(path, lines(6, 7), 0)
    aged(tmp_path / name, pack(lines(3, 4, 5)), 10)
    found = lost_behind(3, path)
    assert found["events.jsonl"].lines == [line(6), line(7)]
    assert found[name].lines == [line(4), line(5)]
    assert not any(each.trouble for each in found.values())


@pytest.mark.parametrize(
    "name", ["events-restricted.jsonl", "events2.jsonl", "events.jsonl.tmp", "other.jsonl.1"]
)
def test_a_file_of_another_sink_is_none_of_the_rotated_ones(tmp_path: Path, name: str) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(lines(2))
    (tmp_path / name).write_bytes(lines(9))
    assert lost_behind(1, path).keys() == {"events.jsonl"}


def test_files_are_read_back_to_the_first_rotated_one_without_a_lost_event(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    aged(path, b"", 0)
    for age, numbers in enumerate([(7, 8), (5, 6), (3, 4), (1, 2)], start=1):
        aged(tmp_path / f"events.jsonl.{age}", lines(*numbers), 10 * age)
    found = lost_behind(4, path)
    assert list(found) == ["events.jsonl", "events.jsonl.1", "events.jsonl.2", "events.jsonl.3"]
    assert found["events.jsonl.2"].lines == [line(5), line(6)]


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(lines(5))
    packed = gzip.compress(lines(4) * 1000)
    (tmp_path / "events.jsonl.1.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "events.jsonl.2.gz").write_bytes(b"no gzip")
    (tmp_path / "events.jsonl.3.xz").write_bytes(b"")
    (tmp_path / "events.jsonl.4").mkdir()
    os.mkfifo(tmp_path / "events.jsonl.5")
    found = lost_behind(3, path)
    assert found["events.jsonl"].lines == [line(5)]
    assert {name: each.trouble for name, each in found.items() if each.trouble} == {
        "events.jsonl.1.gz": "it ends before its end: it was cut off, or is still being compressed",
        "events.jsonl.2.gz": "Not a gzipped file (b'no')",
        "events.jsonl.3.xz": ".xz cannot be unpacked here: unpack it beside the others",
        "events.jsonl.4": "not a regular file",
        "events.jsonl.5": "not a regular file",
    }
    assert lost_behind(3, tmp_path / "none.jsonl")["none.jsonl"].trouble == "no such file"


def test_a_strangers_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    strange = [
        b"[" * 100_000,
        b'{"id":"bac-07/p9","source":' + b"[" * 100_000,
        b'{"id":"bac-07/p' + b"9" * 5000 + b'","source":"' + SOURCE.encode() + b'"}',
        b'{"id":"bac-07/x9","source":"' + SOURCE.encode() + b'"}',
        b"\xff\x00\n\r",
        line(9, data="x" * jsonl_tail.LONGEST_LINE),
        line(9)[:-4],
    ]
    path.write_bytes(b"\n".join([line(4), *strange, line(5)]))
    assert lost_behind(3, path)["events.jsonl"].lines == [line(4), line(5)]
    assert newest_ids(path) == {(SOURCE, Audience.PUBLIC): 5}


def test_a_compressed_file_that_never_ends_is_read_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl_tail, "MOST_UNPACKED_BYTES", 4 << 20)
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"")
    (tmp_path / "events.jsonl.1.gz").write_bytes(gzip.compress(lines(4) + b" " * (64 << 20)))
    found = lost_behind(3, path)["events.jsonl.1.gz"]
    assert found.lines == [line(4)]
    assert found.trouble == "only its first 4 MB were read"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_events_beyond_what_is_kept_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: type[bytes]
) -> None:
    monkeypatch.setattr(jsonl_tail, "MOST_KEPT_BYTES", 100_000)
    monkeypatch.setattr(jsonl_tail, "MOST_BYTES", 50_000)
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"")
    name = "events.jsonl.1" if pack is bytes else "events.jsonl.1.gz"
    (tmp_path / name).write_bytes(pack(lines(*range(1, 10_001))))
    found = lost_behind(0, path)[name]
    assert 0 < sum(map(len, found.lines)) <= 100_000
    assert len(found.lines) + found.not_kept == 10_000


def test_the_newest_ids_of_a_file_rotated_just_now_are_those_of_the_rotated_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "events.jsonl"
    assert newest_ids(path) is None
    aged(path, b"", 0)
    assert newest_ids(path) == {}
    aged(tmp_path / "events.jsonl.2.gz", gzip.compress(lines(1, 2)), 20)
    assert newest_ids(path) == {(SOURCE, Audience.PUBLIC): 2}
    aged(tmp_path / "events.jsonl.1", lines(3, 4), 10)
    assert newest_ids(path) == {(SOURCE, Audience.PUBLIC): 4}
    path.write_bytes(lines(5))
    assert newest_ids(path) == {(SOURCE, Audience.PUBLIC): 5}
