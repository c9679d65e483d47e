"""``shoectl rounds``: every shoe and round of a journal, one a line, in each of its forms."""

from __future__ import annotations

import csv
import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import InputRefused, JournalError
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.journal.round_index import RoundQuery
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience, utc
from shoe_ctl.round_report.lookup import rounds_opened_after
from shoe_ctl.round_report.rounds import RoundLine, ShoeLine, lines
from shoe_testing.cli import invoke
from shoe_testing.daemon import play_through_daemon
from shoe_testing.journals import T_US, dealt_journal, opened, spoil
from simulators.table.scenario import find as scenario

ROUNDS = 12
SHOECTL = str(Path(sys.executable).parent / "shoectl")


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dealt") / "journal.db"
    dealt_journal(path, "reference", ROUNDS)
    return path


def rounds(*words: str | Path) -> Result:
    return invoke(shoectl, "rounds", *words)


def objects(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_every_round_is_one_line_behind_its_shoe(journal: Path) -> None:
    result = rounds(journal)
    assert result.exit_code == 0
    assert result.stderr == (
        "listed by the journal's index, each round from its own records\n"
        f"NOT VERIFIED: run shoectl verify {journal}\n"
    )
    header, *found = result.stdout.splitlines()
    assert header.split() == ["ROUND", "OPENED", "PLAYER", "BANKER", "HOUSE", "OUTCOME"]
    assert found[0].startswith("shoe t1-s1, its first round on ")
    with Reader.open(journal) as reader:
        known = [place.round_id for place in rounds_opened_after(reader, "t1", 0)]
    assert [line.split()[0] for line in found[1:]] == known
    assert len(known) == ROUNDS
    assert max(map(len, found)) <= 90
    assert found[1].index(known[0]) == header.index("ROUND")
    assert found[1][header.index("OPENED") :][2:6:3] == "::"


def test_json_is_one_object_a_line_and_csv_says_the_same(journal: Path) -> None:
    plain = objects(rounds(journal, "--json"))
    assert [one["line"] for one in plain] == ["shoe", *["round"] * ROUNDS]
    rows = list(csv.DictReader(rounds(journal, "--csv").stdout.splitlines()))
    assert len(rows) == len(plain)
    for row, one in zip(rows, plain, strict=True):
        assert row["shoe_id"] == one["shoe_id"] and row["n"] == str(one["n"])
        assert row["winner"] == one.get("winner", "")
        assert row["player"].split() == one.get("player", [])
    with Reader.open(journal) as reader:
        outcomes = [
            json.loads(record.body)
            for record in reader.records(table="t1")
            if record.kind == Kind.RESTRICTED.value and b'"type":"round.outcome"' in record.body
        ]
    told = [(e["data"]["winner"], e["data"]["banker"]["cards"]) for e in outcomes]
    assert [(one["winner"], one["banker"]) for one in plain[1:]] == told


def test_an_export_lists_its_own_rounds_and_so_does_a_journal_in_use(
    journal: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copy(journal, tmp_path))
    exported = tmp_path / "shoe.journal.gz"
    invoke(shoectl, "export", str(copy), "--output", str(exported))
    whole = objects(rounds(copy, "--json"))
    assert objects(rounds(exported, "--json")) == whole
    store = Store.open(copy)
    try:
        assert objects(rounds(copy, "--json")) == whole
    finally:
        store.close()


@pytest.mark.parametrize("command", ["rounds", "export"])
def test_a_shoe_that_is_not_there_names_those_that_are(journal: Path, command: str) -> None:
    result = invoke(shoectl, command, str(journal), "--shoe", "zz")
    assert isinstance(result.exception, InputRefused)
    assert "no shoe zz from its beginning (it has: " in str(result.exception)
    assert "t1-s1" in str(result.exception)
    assert len(str(result.exception).splitlines()) == 1


def test_one_shoe_is_listed_alone(journal: Path) -> None:
    assert rounds(journal, "--shoe", "t1-s1").stdout == rounds(journal).stdout
    with Reader.open(journal) as reader:
        assert list(lines(reader, RoundQuery(table="t1", shoe=9))) == []


def test_the_last_rounds_those_of_a_table_and_those_between_two_times(journal: Path) -> None:
    whole = objects(rounds(journal, "--json"))[1:]
    times = [one["time"] for one in whole]
    for narrowed, expected in (
        (["--last", "3"], whole[-3:]),
        (["--table", "t1", "--last", "99"], whole),
        (["--since", times[4]], whole[4:]),
        (["--until", times[4]], whole[:4]),
        (["--since", times[2], "--until", times[9], "--last", "2"], whole[7:9]),
        (["--until", times[0]], []),
    ):
        for also in ([], ["--all-records"]):
            found = objects(rounds(journal, "--json", *narrowed, *also))
            assert [one for one in found if one["line"] == "round"] == expected
            assert [one["line"] for one in found][:1] == (["shoe"] if expected else [])


def test_without_the_index_all_records_are_read_and_it_says_so(journal: Path) -> None:
    result = rounds(journal, "--all-records")
    assert result.stdout == rounds(journal).stdout
    assert result.stderr.startswith("listed from all records, without an index\n")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--table", "zz"], "no table zz (have: t1)"),
        (["--shoe", "t1-s1", "--table", "zz"], "no table zz (have: t1)"),
        (["--since", "noon"], "'noon' is no time; write 2026-03-01 or 2026-03-01T18:30"),
    ],
)
def test_what_cannot_be_listed_is_one_line(journal: Path, words: list[str], why: str) -> None:
    result = rounds(journal, *words)
    assert result.exit_code != 0
    assert why in f"{result.exception} {result.output}"


@pytest.mark.parametrize(
    "lie",
    [
        "UPDATE round SET number = 99 WHERE number = 3",
        "UPDATE round SET t_us = t_us - 1 WHERE number = 3",
        "UPDATE round SET records = CAST(substr(records, 1, 8) || substr((SELECT records FROM"
        " round WHERE number = 4), 9, 8) AS BLOB) WHERE number = 3",
        "UPDATE round SET records = CAST(substr(records, 1, 8) || x'7fffffffffffffff' AS BLOB)"
        " WHERE number = 3",
    ],
    ids=["id", "time", "another round's outcome", "no record"],
)
def test_an_index_that_leads_elsewhere_makes_no_round_up(
    journal: Path, tmp_path: Path, lie: str
) -> None:
    copy = Path(shutil.copy(journal, tmp_path))
    spoil(copy, lie)
    result = rounds(copy)
    assert isinstance(result.exception, JournalError)
    assert "its index leads from round t1-s1-r" in str(result.exception)
    assert rounds(copy, "--all-records").stdout == rounds(journal).stdout


def test_csv_and_json_are_not_both_given(journal: Path) -> None:
    assert rounds(journal, "--csv", "--json").exit_code == 2


@pytest.mark.slow
async def test_a_revised_outcome_is_listed_as_it_was_told_last(tmp_path: Path) -> None:
    await play_through_daemon(scenario("outcome_revised"), tmp_path)
    with Reader.open(tmp_path / "journal.db") as reader:
        shoe, first, *_ = lines(reader)
    assert isinstance(shoe, ShoeLine) and isinstance(first, RoundLine)
    assert (first.winner, first.revised, first.state) == ("banker", True, "settled")
    assert (first.paid, first.collected, first.returned, first.commission) == (0, 500, 0, 0)
    assert "+500  banker, revised" in rounds(tmp_path / "journal.db").stdout


@pytest.mark.slow
async def test_a_void_round_and_its_irregularity_are_listed(tmp_path: Path) -> None:
    await play_through_daemon(scenario("power_failure_void"), tmp_path)
    found = rounds(tmp_path / "journal.db").stdout
    assert "void, power failure" in found
    in_chinese = rounds(tmp_path / "journal.db", "--language", "zh").stdout
    assert in_chinese.split()[:6] == ["局", "开局", "闲家", "庄家", "场方", "结果"]
    assert "作废，断电" in in_chinese


@pytest.mark.slow
def test_people_at_a_terminal_are_shown_a_table(journal: Path) -> None:
    master, slave = pty.openpty()
    with subprocess.Popen(
        (SHOECTL, "rounds", str(journal)),
        stdout=slave,
        env={**os.environ, "COLUMNS": "80", "TERM": "xterm"},
    ) as showing:
        os.close(slave)
        shown = b""
        while True:
            try:
                shown += os.read(master, 65536)
            except OSError:  # its other end is closed
                break
    os.close(master)
    assert showing.returncode == 0
    text = shown.decode()
    assert "\x1b[1m" in text and "OUTCOME" in text
    assert f"t1-s1-r{ROUNDS}" in text


@pytest.mark.slow
def test_a_reader_that_went_away_ends_it_quietly(journal: Path) -> None:
    command = f"{SHOECTL} rounds {journal} --json | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, check=True)
    assert (done.stdout.count(b"\n"), done.stderr) == (1, b"")


def test_a_journal_without_rounds_gives_a_header_and_says_so(tmp_path: Path) -> None:
    Store.open(tmp_path / "journal.db").close()
    result = rounds(tmp_path / "journal.db")
    assert result.stdout.split() == ["ROUND", "OPENED", "PLAYER", "BANKER", "HOUSE", "OUTCOME"]
    assert result.exit_code == 0
    assert result.stderr.splitlines()[0] == "no rounds recorded"
    plain = rounds(tmp_path / "journal.db", "--json")
    assert (plain.exit_code, plain.stdout, plain.stderr) == (0, "", "")


def test_a_round_that_opens_later_than_its_group_begins_is_listed_all_the_same(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.db"
    with opened(path) as store:
        group = Batch()
        group.append_input("t1", b'{"input":"tick","t_us":%d}' % T_US, T_US)
        for later_us, type_ in enumerate(("round.opened", "round.void"), 7):
            group.append_event(
                "t1",
                Audience.PUBLIC,
                type_,
                t_us=T_US + later_us,
                subject="t1-s1-r1",
                data={"round_id": "t1-s1-r1"},
            )
        store.commit([group])
    listed = rounds(path, "--json").stdout.splitlines()
    assert listed == rounds(path, "--json", "--all-records").stdout.splitlines()
    line = json.loads(listed[1])
    assert (line["time"], line["state"]) == (utc(T_US + 7), "void")
