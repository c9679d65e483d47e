"""``shoectl publish``: recorded events on stdout, from every kind of recording; refusals."""

from __future__ import annotations

import gzip
import json
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.cli.recording import SHIPPED
from shoe_ctl.events import check
from shoe_ctl.records import Audience, event_id
from shoe_testing.cli import Result, run_shoectl
from shoe_testing.journals import dealt_journal, stored, stored_round
from shoe_testing.programs import rest_of, started_program
from tools import recordings

pytestmark = pytest.mark.usefixtures("commands")

NAME = "irregular_shoe"
LINES = (SHIPPED / f"{NAME}.jsonl").read_bytes().splitlines()
EVENTS: list[dict[str, Any]] = [json.loads(line) for line in LINES]
PUBLIC = [e for e in EVENTS if event_id(e["id"]).audience is Audience.PUBLIC]


def published(*words: str | Path) -> Result:
    return run_shoectl("publish", "--pace-ms", "0", "--from", *map(str, words))


def objects(result: Result) -> list[dict[str, Any]]:
    assert result.code == 0, result.err
    return [json.loads(line) for line in result.out.splitlines()]


def test_the_shipped_recording_is_what_its_scenario_gives_today() -> None:
    assert recordings.recorded(recordings.SCENARIOS[0]) == b"".join(x + b"\n" for x in LINES)


def test_the_shipped_recording_has_what_a_table_system_must_get_right() -> None:
    types = Counter(each["type"] for each in PUBLIC)
    assert types["round.outcome"] == 5
    assert types["round.revised"] == 1
    voids = [each["data"] for each in PUBLIC if each["type"] == "round.void"]
    outcomes = {each["id"] for each in PUBLIC if each["type"] == "round.outcome"}
    assert ["revokes" in void for void in voids] == [False, True]
    assert voids[1]["revokes"] in outcomes
    keys = {e["data"]["key"] for e in PUBLIC if e["type"] == "irregularity.raised"}
    assert keys == {"link_lost", "double_draw", "other"}
    assert max(Counter((e["source"], e["id"]) for e in EVENTS).values()) == 1
    for each in EVENTS:
        check(each["type"], event_id(each["id"]).audience, each["data"])


def test_every_public_event_is_published_with_its_bytes() -> None:
    result = published(NAME)
    assert objects(result) == PUBLIC
    assert set(result.out.encode().splitlines()) <= set(LINES)
    assert result.err == f"published {len(PUBLIC)} of {len(PUBLIC)} events\n"


def test_the_restricted_stream_is_published_where_it_is_asked_for() -> None:
    found = objects(published(NAME, "--audience", "restricted"))
    assert [e["id"] for e in found] == [f"t1/r{n}" for n in range(1, len(found) + 1)]


def test_a_new_source_is_the_same_for_all_and_another_each_time() -> None:
    first, second = (objects(published(NAME, "--new-source")) for _ in range(2))
    sources = {e["source"] for e in first}, {e["source"] for e in second}
    assert len(sources[0]) == len(sources[1]) == len({*sources[0], *sources[1]}) - 1 == 1
    assert [{**e, "source": ""} for e in first] == [{**e, "source": ""} for e in PUBLIC]


def test_an_event_that_is_left_out_makes_a_gap() -> None:
    result = published(NAME, "--leave-out", "t1/p7", "--leave-out", "t1/p9")
    missing = {e["id"] for e in PUBLIC} - {e["id"] for e in objects(result)}
    assert missing == {"t1/p7", "t1/p9"}
    assert result.err.endswith("events, left out 2\n")


def test_a_journal_an_export_and_compressed_lines_are_recordings(tmp_path: Path) -> None:
    journal = tmp_path / "journal.db"
    dealt_journal(journal, "reference", 2)
    found = objects(published(journal))
    assert Counter(e["type"] for e in found)["round.outcome"] == 2
    lines = tmp_path / "events.jsonl.gz"
    lines.write_bytes(gzip.compress(b"".join(json.dumps(e).encode() + b"\n" for e in found)))
    assert objects(published(lines)) == found
    exported = tmp_path / "shoe.journal.gz"
    assert run_shoectl("export", str(journal), "--output", str(exported)).code == 0
    assert objects(published(exported)) == found


def test_one_table_of_several_is_published(tmp_path: Path) -> None:
    journal = tmp_path / "journal.db"
    stored(journal, [stored_round(1, "one"), stored_round(1, "two"), stored_round(2, "one")])
    found = objects(published(journal, "--table", "two"))
    assert {e["source"].rpartition("/")[2] for e in found} == {"two"}
    assert len(objects(published(journal))) == 3 * len(found)


def test_speed_divides_the_recorded_times() -> None:
    result = run_shoectl("publish", "--from", NAME, "--speed", "1000")
    assert objects(result) == PUBLIC


REFUSED = [
    (("nothing",), 3, "no recording 'nothing': give a file, or one of: irregular_shoe"),
    (("no/such.jsonl",), 3, "no/such.jsonl: No such file or directory"),
    ((NAME, "--table", "x"), 1, f"{NAME}.jsonl: there is no public event of table x in it"),
    ((NAME, "--leave-out", "t1/p999"), 2, "--leave-out: there is no public event 't1/p999'"),
    ((NAME, "--speed", "2"), 2, "--pace-ms cannot be combined with --speed"),
    ((NAME, "--to", "http://x"), 2, "--to: expected mqtt://HOST:PORT"),
]


@pytest.mark.parametrize(("words", "code", "line"), REFUSED)
def test_what_cannot_be_published_is_refused_in_a_line(
    words: tuple[str, ...], code: int, line: str
) -> None:
    result = published(*words)
    assert (result.code, result.out) == (code, "")
    assert line in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"shoe\n", "line 1: expected an event as a JSON object: JSON is malformed"),
        (LINES[0] + b'\n{"id": "t1/x2"}\n', "line 2: expected an event as a JSON object"),
        (b"\x1f\x8b\x08damaged", "its compressed data is damaged"),
        (b"", "there is no public event in it"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_before_anything_is_published(
    content: bytes, line: str, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    result = published(path)
    assert (result.code, result.out) == (1, "")
    assert line in result.err
    assert result.err.count("\n") == 1


@pytest.mark.slow
def test_ctrl_c_in_the_middle_ends_with_130_and_says_how_far_it_got() -> None:
    with started_program("publish", "--from", NAME, "--pace-ms", "3600000") as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == PUBLIC[0]
        process.send_signal(signal.SIGINT)
        code, said = rest_of(process)
    assert code == 130
    # an event that is under way counts as published only when the sink has said so
    assert re.fullmatch(f"interrupted: published [01] of {len(PUBLIC)} events\n", said.decode())
