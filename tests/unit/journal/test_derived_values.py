"""What stands beside the records, and what a file holds besides: verify looks at all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_ctl.cli.verify import verify as command
from shoe_ctl.errors import JournalError
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.files import head_path, log_path
from shoe_ctl.journal.record_format import Connection
from shoe_ctl.journal.store import Store
from shoe_testing.cli import invoke
from shoe_testing.journals import T_US, opened, spoil, stored_round, verified

HELLO = b'{"input":"shoe","t_us":%d,"event":{"type":"hello","device_id":"SH-%d"},"seq":%d}'
CARD = b'{"input":"shoe","t_us":%d,"event":{"type":"card_drawn","card":"2D"},"seq":%d}'
STATUS = b'{"input":"shoe","t_us":%d,"event":{"type":"status"},"seq":null}'


def connected(number: int) -> Batch:
    group = Batch()
    opened_so = Connection(number=number, profile="reference", settings={}, resume=(), t_us=T_US)
    group.append_connection("a", opened_so)
    return group


def said(body: bytes, t_us: int, *stored: tuple[str, int]) -> Batch:
    group = Batch()
    group.append_input("a", body, t_us)
    for device, seq in stored:
        group.set_device_seq("a", device, seq)
    return group


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two shoes at one table, one after the other; a second table; a sink."""
    path = tmp_path / "journal.db"
    with opened(path) as store:
        for group in (
            connected(1),
            said(HELLO % (T_US + 1, 1, 4), T_US + 1, ("SH-1", 4)),
            said(CARD % (T_US + 2, 5), T_US + 2, ("SH-1", 5)),
            said(STATUS % (T_US + 3), T_US + 3),
            connected(2),
            said(HELLO % (T_US + 4, 2, 0), T_US + 4, ("SH-2", 0)),
            said(CARD % (T_US + 5, 1), T_US + 5, ("SH-2", 1)),
            said(STATUS % (T_US + 6), T_US + 6),
            stored_round(1, "b"),
        ):
            store.commit([group])
        store.move_cursor("jsonl:-", 11)
    return path


def test_notes_that_are_what_the_records_lead_to_are_whole(path: Path) -> None:
    assert verified(path).ok
    assert verified(path).head_file == "agrees"


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE head SET connection = 3 WHERE \"table\" = 'a'", "the head counts 3 connections"),
        ("UPDATE head SET t_us = t_us + 1 WHERE \"table\" = 'a'", "the head has another time"),
        ("UPDATE device SET seq = 6 WHERE device_id = 'SH-1'", "shoe SH-1 is altered: it says 6"),
        ("UPDATE device SET seq = 0 WHERE device_id = 'SH-2'", "shoe SH-2 is altered: it says 0"),
        ("DELETE FROM device WHERE device_id = 'SH-1'", "the note of shoe SH-1 is missing"),
        ("INSERT INTO device VALUES ('a', 'SH-3', 9)", "the note of shoe SH-3 is added"),
        ("INSERT INTO device VALUES ('c', 'SH-3', 9)", "the note of a shoe of no table"),
        ("UPDATE cursor SET n = -1", "the place of sink jsonl:- is no record's"),
        ("UPDATE cursor SET n = 99", "sink jsonl:- "),
        (
            "CREATE TRIGGER t AFTER INSERT ON record_group BEGIN DELETE FROM cursor; END",
            "trigger t",
        ),
        ("CREATE VIEW v AS SELECT * FROM record_group", "added: the file's view v"),
        ("CREATE TABLE other (x)", "added: the file's table other"),
        ("CREATE INDEX more ON record_group (hash)", "added: the file's index more"),
        ("DROP INDEX of_table", "missing: the file's index of_table"),
    ],
)
def test_what_was_altered_beside_the_records_is_found(path: Path, statement: str, why: str) -> None:
    spoil(path, statement)
    bad = verified(path).first_bad
    assert bad is not None
    assert why in bad.text
    shown = invoke(command, str(path))
    assert shown.exit_code == 1
    assert ("the file itself" in shown.output) == (" the file's " in bad.text)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON record_group BEGIN DELETE FROM cursor; END",
        "DROP INDEX of_table",
    ],
)
def test_a_file_of_another_form_is_not_written_on(path: Path, statement: str) -> None:
    spoil(path, statement)
    with pytest.raises(JournalError, match=r"is corrupt: (added|missing): the file's"):
        Store.open(path)


def test_an_event_that_could_not_be_handled_moves_its_shoes_number(path: Path) -> None:
    fault = b'{"input":"fault","t_us":%d,"where":"ShoeSaid","what":"ValueError"}' % (T_US + 7)
    with opened(path) as store:
        store.commit([said(fault, T_US + 7, ("SH-2", 2))])
    assert verified(path).ok


def test_verify_says_what_the_head_file_and_the_log_show(path: Path, tmp_path: Path) -> None:
    with opened(path) as store:
        for number in range(2, 9):
            store.commit([stored_round(number, "b")])
        log, head = log_path(path).read_bytes(), head_path(path).read_bytes()
        main = path.read_bytes()
    left = tmp_path / "left" / "journal.db"
    left.parent.mkdir()
    for cut, flip, why in ((len(log) // 2, None, "records up to 40"), (None, 100, "is damaged")):
        left.write_bytes(main)
        spoilt = bytearray(log[:cut])
        if flip is not None:
            spoilt[flip] ^= 1
        log_path(left).write_bytes(spoilt)
        head_path(left).write_bytes(head)
        bad = verified(left).first_bad
        assert bad is not None
        assert bad.text.startswith("missing: ")
        assert why in bad.text
        head_path(left).unlink()
        shown = invoke(command, str(left))
        if cut is None:
            assert shown.exit_code == 1
        else:
            assert shown.exit_code == 0
            assert "head file   missing: the newest records may be missing too" in shown.output
