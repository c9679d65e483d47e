"""Notes of an outage: what is left of them on disks that are full, broken or gone."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from shoe_ctl.config.schema import of_plain
from shoe_ctl.daemon.outage import (
    UNKNOWN_CAUSE,
    Outage,
    OutageMarker,
    journal_failed,
    marker_for,
)

FULL = Outage(since_us=1_764_000_000_000_000, what=journal_failed("cannot grow: it is full"))


def test_what_is_noted_is_found_until_it_is_cleared(tmp_path: Path) -> None:
    notes = OutageMarker([tmp_path / "a-outage", tmp_path / "b-outage"])
    assert notes.found() is None
    notes.write(FULL)
    assert OutageMarker(notes.places[1:]).found() == FULL
    assert notes.found() == FULL
    notes.clear()
    assert notes.found() is None
    notes.clear()


def test_one_place_is_enough(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    notes = OutageMarker([tmp_path / "gone/a-outage", tmp_path / "b-outage"])
    with caplog.at_level(logging.ERROR):
        notes.write(FULL)
    assert notes.found() == FULL
    assert caplog.records == []


def test_that_it_could_be_noted_nowhere_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    notes = OutageMarker([tmp_path / "gone/a-outage"])
    with caplog.at_level(logging.ERROR):
        notes.write(FULL)
    assert notes.found() is None
    assert "asks nobody to resume" in caplog.text


@pytest.mark.parametrize(
    "left", [b"", b'{"since_us": 17', b'{"since_us": "x", "what": 3}', b"\xff"]
)
def test_a_note_without_room_for_a_word_is_an_outage_since_the_file_was_made(
    tmp_path: Path, left: bytes
) -> None:
    note = tmp_path / "j.db-outage"
    note.write_bytes(left)
    expected = Outage(since_us=note.stat().st_mtime_ns // 1000, what=UNKNOWN_CAUSE)
    assert OutageMarker([note]).found() == expected


def test_of_two_notes_the_one_that_was_made_first_says_since_when(tmp_path: Path) -> None:
    early, late = (OutageMarker([tmp_path / name]) for name in ("a-outage", "b-outage"))
    later = Outage(since_us=FULL.since_us + 1, what=journal_failed("a sync failed"))
    late.write(later)
    early.write(FULL)
    assert OutageMarker([*late.places, *early.places]).found() == FULL


def test_a_note_that_cannot_be_removed_is_said_and_asks_once_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    note = tmp_path / "a-outage"
    note.mkdir()
    notes = OutageMarker([note])
    notes.clear()
    assert "asks people to resume once more" in caplog.text
    assert notes.found() is not None


def test_they_lie_beside_the_socket_and_the_journal_the_quicker_place_first() -> None:
    table = {"id": "t", "game": "tiger", "shoe": {"profile": "reference", "port": "/dev/x"}}
    plain = {"table": [table], "journal": {"path": "/var/lib/j.db"}}
    assert marker_for(of_plain(plain, "x")).places == (Path("/var/lib/j.db-outage"),)
    user = {"user": 0, "position": "dealer"}
    plain["socket"] = {"path": "/run/s.sock", "user": [user]}
    places = (Path("/run/s.sock-outage"), Path("/var/lib/j.db-outage"))
    assert marker_for(of_plain(plain, "x")).places == places
