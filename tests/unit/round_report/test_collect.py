"""A round of a real table told as an account: what was seen, who decided what, under which rule."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from shoe_ctl.cli.replay import replay
from shoe_ctl.errors import InputRefused
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Direction, Kind, Wire
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience, Record
from shoe_ctl.round_report import wording
from shoe_ctl.round_report.collect import Entry, RoundReport, collect
from shoe_ctl.round_report.lookup import find_round, last_rounds
from shoe_ctl.round_report.render import render_page
from shoe_ctl.round_report.summary import COLUMNS, RESTRICTED, summary_lines
from shoe_ctl.terminal_text import cell_width
from shoe_ctl.texts.screen import Words
from shoe_testing.cli import invoke
from shoe_testing.daemon import play_through_daemon
from shoe_testing.journals import (
    records,
    spoil,
    spoil_records,
)
from simulators.table.scenario import find as scenario


async def journal_of(name: str, folder: Path) -> Path:
    """The journal that a scenario leaves behind."""
    _, _, stuck = await play_through_daemon(scenario(name), folder)
    assert stuck is None
    return folder / "journal.db"


def account(journal: Path, round_id: str) -> RoundReport:
    with Reader.open(journal) as reader:
        return collect(reader, find_round(reader, round_id))


def is_idle(entry: Entry) -> bool:
    """A status message of which nothing came: it is folded, and its bytes are in the JSON alone."""
    return not entry.events and (entry.input.get("event") or {}).get("type") == "status"


run_replay = partial(invoke, replay)


def joined(text: str) -> str:
    """The text without its line breaks."""
    return " ".join(text.split())


@pytest.mark.slow
async def test_an_irregularity_reads_as_what_was_seen_who_decided_what_under_which_rule(
    tmp_path: Path,
) -> None:
    journal = await journal_of("power_failure_withdrawn", tmp_path)
    result = run_replay(str(journal), "--round", "t1-s1-r1")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert max(len(line) for line in lines) <= COLUMNS
    assert "\x1b" not in result.output
    assert lines[:2] == ["Round t1-s1-r1", RESTRICTED]
    text, at = joined(result.output), 0
    for said in (
        "rules of 2025-07-28",
        "sha256 ",
        "the dealer (dealer): place your bets through user ",
        "> the round is open",
        "wager 3 placed: Player bo at seat 4 on banker, +700 to 700, under rule 3.5.1",
        "the shoe: card drawn (event 2) card 4D, number 1",
        "> draw 1: 4D, Player's card 1 [restricted]",
        "the controller was started",
        "> IRREGULARITY power failure, at step power, under rule 5.15.1",
        "seen: the host lost power in a round",
        "choices: offer withdrawal (dealer); refer (dealer, with a reason)",
        "> THE TABLE HALTS: power failure",
        "REFUSED: ann withdraws all wagers or none",
        "> irregularity power failure ends: concluded, under rule 5.15.1 > the table goes on",
        "> OUTCOME Player wins: Player 4D 5S (9, Natural); Banker 7C QH (7) rules 3.14",
        "> THE ROUND IS SETTLED",
        "won player 1 to 1; all others are lost",
    ):
        assert said in text[at:], said
        at = text.index(said, at)


@pytest.mark.slow
async def test_what_is_told_of_a_round_later_stands_in_its_account_and_in_no_other(
    tmp_path: Path,
) -> None:
    journal = await journal_of("outcome_revised", tmp_path)
    first, second = account(journal, "t1-s1-r1"), account(journal, "t1-s1-r2")
    revised = next(first.events("round.revised"))
    assert [e.type for entry in first.afterwards for e in entry.events if e == revised]
    text = joined("\n".join(render_page(first)))
    assert "OUTCOME REVISED Banker wins" in text
    assert "under rule 6.3" in text
    assert "won banker 19/20 to 1" in text
    assert list(second.events("round.revised")) == []
    told_once = [
        e.restricted for one in (first, second) for entry in one.entries for e in entry.events
    ]
    assert len(told_once) == len(set(told_once))


@pytest.mark.slow
async def test_the_raw_bytes_stand_beneath_what_they_said(tmp_path: Path) -> None:
    journal = await journal_of("link_lost_resumes", tmp_path)
    with Reader.open(journal) as reader:
        wires = [Wire.from_bytes(r.body) for r in reader.records(kinds=(Kind.WIRE,))]
    streams: dict[int, bytes] = {}
    for wire in wires:
        if wire.direction is Direction.FROM_SHOE:
            streams[wire.connection] = streams.get(wire.connection, b"") + wire.data
    played_round = account(journal, "t1-s1-r1")
    said = [e for e in played_round.entries if e.input["input"] == "shoe"]
    assert len({e.input["connection"] for e in said}) > 1
    for entry in said:
        happened = entry.input
        part = streams[happened["connection"]][happened["first"] : happened["last"]]
        assert part
        assert entry.frame is not None
        assert entry.frame.data == part.hex()
    shown = re.findall(
        r"^ +((?:[0-9a-f]{2} )*[0-9a-f]{2})$", "\n".join(render_page(played_round)), re.MULTILINE
    )
    both_ways = [
        part
        for e in (*played_round.entries, *played_round.afterwards)
        for part in (*(went.data for went in e.bytes_sent), e.frame.data if e.frame else None)
        if part in {went.data for went in e.bytes_sent} or not is_idle(e)
    ]
    assert any(is_idle(e) for e in played_round.entries)
    assert bytes.fromhex("".join(shown)) == bytes.fromhex("".join(p for p in both_ways if p))


@pytest.mark.slow
async def test_an_account_begins_with_ten_lines_that_alone_are_the_brief_one(
    tmp_path: Path,
) -> None:
    journal = await journal_of("power_failure_withdrawn", tmp_path)
    brief = run_replay(str(journal), "--round", "t1-s1-r1", "--brief")
    whole = run_replay(str(journal), "--round", "t1-s1-r1")
    lines = brief.output.splitlines()
    assert (brief.exit_code, whole.exit_code) == (0, 0)
    assert whole.output.splitlines()[:11] == [*lines, ""]
    assert max(map(len, lines)) <= COLUMNS
    assert [line[:10].strip() for line in lines[2:]] == [
        *("played", "Player", "Banker", "outcome", "won", "wagers", "seen", "decided")
    ]
    assert re.match(
        r"played    \d{4}-\d\d-\d\d \d\d:\d\d:\d\d, \d+ s, table t1, Method B, ", lines[2]
    )
    assert lines[3] == "Player    4D 5S  = 9, Natural"
    assert lines[4] == "Banker    7C QH  = 7"
    assert lines[5].startswith("outcome   Player wins, 9 to 7, under 3.14")
    assert lines[6] == "won       player 1 to 1; all others are lost"
    assert re.match(r"wagers    \d+: .* banker [\d,]+ lose", lines[7])
    assert lines[8] == "seen      1 irregularity: power failure: concluded (5.15.1)"
    assert re.match(r"decided   \d+: the dealer \(dealer\): decides: offer withdrawal", lines[9])


@pytest.mark.slow
async def test_the_summary_of_a_void_round_says_so_and_why(tmp_path: Path) -> None:
    journal = await journal_of("power_failure_void", tmp_path)
    lines = list(summary_lines(account(journal, "t1-s1-r1")))
    assert len(lines) == 10
    assert lines[5].startswith("outcome   void: ")
    assert lines[6] == "won       nothing was decided"


@pytest.mark.slow
async def test_status_messages_of_which_nothing_came_are_folded(tmp_path: Path) -> None:
    journal = await journal_of("link_lost_resumes", tmp_path)
    played_round = account(journal, "t1-s1-r1")
    lines = list(render_page(played_round))
    idle = sum(is_idle(entry) for entry in played_round.entries)
    folded = [line for line in lines if "status, nothing came of it" in line]
    assert 0 < len(folded) <= idle
    counted = [re.search(r"(\d+) times status", line) for line in folded]
    assert sum(int(found[1]) if found else 1 for found in counted) == idle
    assert not any(re.search(r"the shoe: status$", line) for line in lines)


@pytest.mark.slow
async def test_what_went_to_the_shoe_stands_before_what_came_after_it(tmp_path: Path) -> None:
    journal = await journal_of("link_lost_resumes", tmp_path)
    with Reader.open(journal) as reader:
        wires = [Wire.from_bytes(r.body) for r in reader.records(kinds=(Kind.WIRE,))]
    streams: dict[int, bytes] = {}
    for wire in wires:
        if wire.direction is Direction.TO_SHOE:
            streams[wire.connection] = streams.get(wire.connection, b"") + wire.data
    played_round = account(journal, "t1-s1-r1")
    sent = [(entry, went) for entry in played_round.entries for went in entry.bytes_sent]
    assert len({went.connection for _, went in sent}) > 1
    for entry, went in sent:
        part = streams[went.connection][went.first : went.last]
        assert went.data == part.hex() != ""
        assert went.t_us <= entry.t_us
    at = "\n".join(render_page(played_round))
    first = sent[0][1]
    assert f"to the shoe: connection 1, bytes {first.first} to {first.last - 1}:" in at


@pytest.mark.slow
async def test_the_last_rounds_are_one_command_and_one_object_each(tmp_path: Path) -> None:
    journal = await journal_of("after_void_kept", tmp_path)
    read = run_replay(str(journal), "--last", "10")
    assert read.exit_code == 0
    assert re.findall("^Round (.*)$", read.output, re.MULTILINE) == ["t1-s1-r1", "t1-s1-r2"]
    assert "THE ROUND IS VOID: order altered, under rule 5.2" in read.output
    lines = run_replay(str(journal), "--last", "1", "--json").output.splitlines()
    [told_of] = [json.loads(line) for line in lines]
    assert told_of["round_id"] == "t1-s1-r2"
    assert told_of["ended"] == "round.settled"
    assert told_of["rules"]["settings"]["method"] == "B"
    whole = json.loads(run_replay(str(journal), "--round", "t1-s1-r2", "--json").output)
    assert whole == told_of
    with pytest.raises(InputRefused, match=r"no round t1-s1-r3 .t1 has t1-s1-r1 to t1-s1-r2"):
        CliRunner().invoke(
            replay,
            [str(journal), "--round", "t1-s1-r3"],
            catch_exceptions=False,
            help_option_names=["-h", "--help"],
        )


@pytest.mark.slow
async def test_a_journal_that_was_cut_or_spoilt_is_told_as_far_as_it_goes(tmp_path: Path) -> None:
    journal = await journal_of("no_third_card", tmp_path)
    found = records(journal)
    kept = [r for r in found[:-12] if r.kind not in ("meta", "snapshot", "wire")]
    last = {record.kind: record.n for record in kept}

    def edit(record: Record) -> bytes | None:
        if record not in kept:
            return None
        return b"{" if record.n in (last["input"], last["event.restricted"]) else record.body

    spoil_records(journal, edit)
    spoil(journal, "DELETE FROM landmark")
    with Reader.open(journal) as reader:
        text = joined("\n".join(render_page(collect(reader, last_rounds(reader, 1)[0]))))
    assert "the journal does not say how the table was started" in text
    assert "not all of them are in the journal" in text
    assert "an input that cannot be read" in text
    assert "not within this journal" in text


def test_a_frame_that_began_long_before_its_round_is_whole(tmp_path: Path) -> None:
    """It is gathered from as many chunks before the round's first input as it needs."""
    path = tmp_path / "journal.db"
    store = Store.open(path)
    for at in range(5):
        group = Batch()
        for _ in range(700):
            group.append_input("t", b'{"input":"tick","t_us":1}', 1)
        group.append_wire(
            "t", connection=4, direction=Direction.FROM_SHOE, offset=2 * at, t_us=1,
            data=bytes((2 * at, 2 * at + 1)),
        )  # fmt: skip
        store.commit([group])
    said = {
        "input": "shoe", "t_us": 1, "event": {"type": "button", "button": 1},
        "connection": 4, "seq": None, "first": 1, "last": 10,
    }  # fmt: skip

    group = Batch()
    group.append_input("t", json.dumps(said).encode(), 1)
    group.append_event("t", Audience.PUBLIC, "round.opened", t_us=1, subject="t-s1-r1", data={})
    store.commit([group])
    store.close()
    [entry] = account(path, "t-s1-r1").entries
    assert entry.frame is not None
    assert entry.frame.data == bytes(range(1, 10)).hex()


@pytest.mark.parametrize(
    "words", [("--round", "x", "--last", "1"), ("--table", "t"), ("--last", "0")]
)
def test_options_that_do_not_go_together_are_refused(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    assert run_replay(str(tmp_path / "none.db"), *words).exit_code == 2


def test_an_event_without_words_of_its_own_is_told_value_by_value() -> None:
    text, more = wording.event_words("shoe.sang", {"song": "a", "verses": [1, 2]}, commanded=False)
    assert (text, more) == ("shoe.sang", ["song a, verses 1 and 2"])


@pytest.mark.parametrize(
    ("kind", "data", "text"),
    [
        ("shoe.told", {"command": "self_test", "number": 7}, "the shoe is told: self test"),
        ("shoe.answered", {"command": "reset", "accepted": True}, "the shoe has done it: reset"),
        ("shoe.answered", {"command": "reset", "accepted": False}, "the shoe refuses: reset"),
        ("shoe.unanswered", {"command": "reset", "given_up": False}, "reset has no answer yet"),
        ("shoe.unanswered", {"command": "reset", "given_up": True},
         "reset was given up, and its result is unknown"),
        ("shoe.noted", {"what": "lid"}, "the shoe says: lid"),
    ],
)  # fmt: skip
def test_what_the_shoe_was_told_reads_as_a_sentence(
    kind: str, data: dict[str, Any], text: str
) -> None:
    assert wording.event_words(kind, data, commanded=False)[0] == text


def test_inputs_that_nobody_gave_read_as_what_happened() -> None:
    untold = {"input": "not_told", "t_us": 1, "number": 7, "why": "the key file is wrong"}
    assert wording.input_words(untold) == ("the shoe could not be told: the key file is wrong", [])
    stored = {"input": "storage_restored", "t_us": 1, "since_us": 0, "what": "the disk was full"}
    assert wording.input_words(stored)[0].endswith("it had failed: the disk was full")


async def test_a_reading_that_was_contradicted_stands_first_with_both_persons_and_reasons(
    tmp_path: Path,
) -> None:
    path = await journal_of("outcome_revised", tmp_path)
    report = account(path, "t1-s1-r1")
    shown = " ".join(" ".join(summary_lines(report)).split())
    head, _, _ = shown.partition(" played ")
    manager = "the gaming shift manager (gaming shift manager); second person: lee"
    first = f"contradicted Banker 2: QH is now 2H; {manager}; reason: a two"
    second = f"contradicted Player 2: 5S is now 4S; {manager}; reason: a four"
    assert head.endswith(f"{first} {second}")
    chinese = " ".join(summary_lines(report, Words("zh")))
    assert "QH 改为 2H" in chinese and "5S 改为 4S" in chinese
    assert all(cell_width(line) <= COLUMNS for line in summary_lines(report, Words("zh")))
    with Reader.open(path) as reader:
        command = b'"command":"revise_round"'
        revising = [r.n for r in reader.records(kinds=(Kind.INPUT,)) if command in r.body]
    (records,) = (line for line in render_page(report) if line.startswith("records"))
    assert len(revising) == 2 and f" to {revising[-1]} of" in records
