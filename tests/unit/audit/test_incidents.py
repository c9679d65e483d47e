"""What was no ordinary play: each incident with its people, and no card before its time."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shoe_ctl.audit import incidents as audit
from shoe_ctl.audit.incidents import KINDS, OTHER_KINDS, Incident, incidents
from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import JournalError
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.signing import open_signer
from shoe_ctl.table.inputs import Tick
from shoe_ctl.terminal_text import cell_width, printable
from shoe_ctl.texts.catalogue import name_of
from shoe_testing import bulk_journal
from shoe_testing.cli import invoke
from shoe_testing.daemon import play_through_daemon
from shoe_testing.insider import t_us_of
from shoe_testing.journals import IMPLIED_SETTINGS, journal_table, spoil, table_meta
from shoe_testing.paths import ROOT
from shoe_testing.tables import TableHarness
from simulators.table.scenario import find

SCENARIOS = (
    *("outcome_revised", "late_wager_retracted", "wagers_returned", "finished_by_hand"),
    *("shoe_of_other_decks", "review", "foreign_card", "early_draw_set_aside", "host_restart"),
    *("card_corrected_reopens", "older_round_revised"),
)
RESUMED = ("play_resumed",)
LEE = {"login": "0", "consented_by": "lee"}
SHIFT = {"person": "the gaming shift manager", "position": "gaming_shift_manager"}
DEALER = {"person": "the dealer", "position": "dealer", "login": "0"}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each of the scenarios, each with its journal."""
    folder = tmp_path_factory.mktemp("played")

    async def play(name: str) -> None:
        (folder / name).mkdir()
        _, _, stuck = await play_through_daemon(find(name), folder / name)
        assert stuck is None

    async def play_all() -> None:
        await asyncio.gather(*map(play, SCENARIOS))

    asyncio.run(play_all())
    return folder


def listed(folder: Path, *words: str) -> list[dict[str, Any]]:
    """The incidents without their records, journal and times; what is not given is left out."""
    result = invoke(shoectl, "incidents", folder / "journal.db", "--json", *words)
    assert result.exit_code == 0, result.stderr
    dropped = ("journal", "n", "time", "table")
    return [
        {name: value for name, value in json.loads(line).items() if value and name not in dropped}
        for line in result.stdout.splitlines()
    ]


def of_kind(found: list[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in one.items() if name != "kind"}
        for one in found
        if one["kind"] in kinds
    ]


def test_a_revision_names_both_people_the_reason_the_rule_and_its_money(played: Path) -> None:
    found = listed(played / "outcome_revised")
    common = {"round_id": "t1-s1-r1", **SHIFT, **LEE}
    assert of_kind(found, "revision") == [
        {**common, "reason": "a two", "rule": "6.3", "players_get": -500},
        {**common, "reason": "a four", "rule": "6.3", "players_get": -500},
    ]
    assert of_kind(found, "card_corrected") == [
        {**common, "reason": "a two", "details": ["banker 2: QH -> 2H"]},
        {**common, "reason": "a four", "details": ["player 2: 5S -> 4S"]},
    ]
    assert [one["kind"] for one in found].count("start") == 2


def test_a_retraction_after_the_outcome_says_what_it_is_worth(played: Path) -> None:
    found = of_kind(listed(played / "late_wager_retracted"), "retraction")
    expected = {"round_id": "t1-s1-r1", "key": "late_wager", **SHIFT, **LEE}
    assert found == [{**expected, "reason": "there were none", "players_get": -500}]


def test_a_void_round_says_which_stakes_went_back(played: Path) -> None:
    found = listed(played / "wagers_returned")
    ruling = {"round_id": "t1-s1-r1", "key": "other", **SHIFT, "login": "0", "reason": "no camera"}
    assert of_kind(found, "round_void") == [{**ruling, "rule": "6.1", "returned": 5100}]
    assert of_kind(found, "resolved") == [{**ruling, "rule": "6.1", "how": "void"}]
    halt = {"round_id": "t1-s1-r1", "key": "other", **DEALER, "reason": "a card flew off"}
    assert of_kind(found, "halt") == [halt]


@pytest.mark.parametrize(
    ("scenario", "kinds"),
    [
        ("finished_by_hand", {"entered_by_hand", "irregularity", "halt", "resolved", *RESUMED}),
        ("shoe_of_other_decks", {"irregularity", "set_refused"}),
        ("review", {"review", "halt", "review_ended", "play_resumed"}),
        ("card_corrected_reopens", {"card_corrected", "round_reopened", "revision"}),
        ("older_round_revised", {"card_corrected", "revision"}),
        ("host_restart", {"start", "irregularity", "halt", "resolved", "play_resumed"}),
    ],
)
def test_every_kind_of_incident_is_listed(played: Path, scenario: str, kinds: set[str]) -> None:
    assert {one["kind"] for one in listed(played / scenario)} - {"start"} == kinds - {"start"}


def test_a_time_and_a_table_bound_the_list(played: Path) -> None:
    journal = played / "outcome_revised" / "journal.db"
    with Reader.open(journal) as reader:
        whole = [*incidents(reader)]
    third = whole[2].time
    later = listed(journal.parent, "--from", third)
    earlier = listed(journal.parent, "--to", third)
    assert len(earlier) == sum(one.time < third for one in whole)
    assert len(earlier) + len(later) == len(whole) and later and earlier
    assert listed(journal.parent, "--table", "t1") == listed(journal.parent)
    refused = invoke(shoectl, "incidents", journal, "--table", "t9")
    assert refused.exit_code == 1 and "no table t9 (have: t1)" in str(refused.exception)


def test_several_journals_are_listed_one_after_the_other(played: Path) -> None:
    both = [played / name / "journal.db" for name in ("review", "foreign_card")]
    apart = [invoke(shoectl, "incidents", one, "--json").stdout for one in both]
    assert invoke(shoectl, "incidents", *both, "--json").stdout == "".join(apart)
    assert invoke(shoectl, "incidents", *both, "--table", "t9").exit_code == 1


# What is not told before its time.


def cut_behind(journal: Path, n: int, folder: Path) -> Path:
    """A copy of the journal that ends with the group of this record."""
    cut = folder / "journal.db"
    shutil.copyfile(journal, cut)
    ends = "SELECT min(n) FROM record_group WHERE n >= ?"
    spoil(cut, (f"DELETE FROM record_group WHERE n > ({ends})", (n,)))
    return cut


@pytest.mark.parametrize("scenario", [one for one in SCENARIOS if one != "shoe_of_other_decks"])
def test_no_prefix_of_a_journal_says_more_of_an_open_round_than_the_public_stream(
    played: Path, tmp_path: Path, scenario: str
) -> None:
    source = played / scenario / "journal.db"
    lines = (source.parent / "public.jsonl").read_text().splitlines()
    public = [json.loads(line)["data"] for line in lines]
    keys = {data.get("key", data.get("reason")) for data in public}
    with Reader.open(source) as reader:
        ends = [n for n, *_ in reader.rows()]
        whole = {one.n: one for one in incidents(reader)}
        done = {
            record.n: json.loads(record.body)["data"]["round_id"]
            for record in reader.records()
            if record.kind == "event.restricted"
            and json.loads(record.body)["type"] in ("round.outcome", "round.void")
        }
    for end in ends:
        ended = {round_id for n, round_id in done.items() if n <= end}
        with Reader.open(cut_behind(source, end, tmp_path)) as reader:
            found = [*incidents(reader)]
        for one in found:
            if one.round_id in ended or one.round_id is None:
                continue
            assert one.reason is None and one.details == []
            if one.kind in ("irregularity", "decision", "resolved", "halt"):
                assert one.key in keys
        for one in found:  # once it has its outcome, nothing of it is withheld
            if one.round_id in ended and not whole[one.n].withheld and one.kind != "revision":
                assert one.reason == whole[one.n].reason or one.withheld


def test_a_reason_is_withheld_until_the_round_has_its_outcome(played: Path, tmp_path: Path) -> None:
    source = played / "wagers_returned" / "journal.db"
    with Reader.open(source) as reader:
        (halt,) = (one for one in incidents(reader) if one.kind == "halt")
    cut = cut_behind(source, halt.n, tmp_path)
    told = of_kind(listed(tmp_path), "halt")
    assert told == [{"round_id": "t1-s1-r1", "key": "other", **DEALER, "withheld": True}]
    text = invoke(shoectl, "incidents", cut).stdout
    assert "a card flew off" not in text and "withheld until its round has an outcome" in text


def test_a_key_that_tells_a_card_is_the_public_one_until_the_round_has_its_outcome(
    played: Path, tmp_path: Path
) -> None:
    source = played / "foreign_card" / "journal.db"
    with Reader.open(source) as reader:
        (halt,) = (one for one in incidents(reader) if one.kind == "halt")
    assert halt.key == "foreign_card"
    cut_behind(source, halt.n, tmp_path)
    (told,) = of_kind(listed(tmp_path), "halt")
    lines = (source.parent / "public.jsonl").read_text().splitlines()
    (public,) = (json.loads(line) for line in lines if '"table.halted"' in line)
    assert told["key"] == public["data"]["reason"] != "foreign_card"


@pytest.mark.parametrize("scenario", ["review", "finished_by_hand", "late_wager_retracted"])
def test_incidents_that_are_given_out_early_are_the_same(
    played: Path, monkeypatch: pytest.MonkeyPatch, scenario: str
) -> None:
    with Reader.open(played / scenario / "journal.db") as reader:
        whole = [(one.n, one.kind, one.person, one.key) for one in incidents(reader)]
        monkeypatch.setattr(audit, "_MOST_HELD", 2)
        early = [(one.n, one.kind, one.person, one.key) for one in incidents(reader)]
    assert early == whole


# Changes of rules, software and key.


def test_other_rules_other_software_and_another_key_are_told_with_what_changed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.db"
    begun = TableHarness(**IMPLIED_SETTINGS).open_shoe().inputs
    first = table_meta()
    with journal_table(path, first, begun):
        pass
    assert not {one["kind"] for one in listed(tmp_path)} & {*OTHER_KINDS}
    other = msgspec.structs.replace(table_meta(layout="b"), software="9.9.9")
    with journal_table(path, other) as table:
        for number in (1, 2):
            table.handle(Tick(t_us=begun[-1].t_us + number))
            key = open_signer(path.with_name(f"{number}.db"), None)
            table.store.checkpoint(key, number)
    found = {one["kind"]: one["details"] for one in listed(tmp_path) if one["kind"] in OTHER_KINDS}
    assert found["rules_changed"] == ['layout: null -> "b"']
    assert found["software_changed"] == [f'"{first.software}" -> "9.9.9"']
    (keys,) = found["key_changed"]
    assert re.fullmatch('"[0-9a-f]{64}" -> "[0-9a-f]{64}"', keys)


# How it is shown.


HOSTILE = (
    "=HYPERLINK(\"http://x\",\"y\")", "+1", "-2+3", "@SUM(A1)", "<script>alert(1)</script>",
    "\x1b[2J", "a,b\"c", "a\nb", "</td></table>", "\u202egnol", "x" * 500, "一" * 100,
)  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_what_an_insider_types_is_shown_as_text(tmp_path: Path, seed: int) -> None:
    said = random.Random(seed).sample(HOSTILE, len(HOSTILE))
    path = tmp_path / "journal.db"
    table = TableHarness(**IMPLIED_SETTINGS).open_shoe()
    for reason in said:
        table.does("pause", reason=reason)
        table.does("resume")
    with journal_table(path, table_meta(), table.inputs):
        pass
    text = invoke(shoectl, "incidents", path).stdout
    assert all(cell_width(line) <= 80 and line.isprintable() for line in text.splitlines())
    rows = [*csv.DictReader(io.StringIO(invoke(shoectl, "incidents", path, "--csv").stdout))]
    opened = [row["reason"] for row in rows if row["kind"] == "review"]
    assert [one.removeprefix("'") for one in opened] == [printable(one) for one in said]
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())
    page = invoke(shoectl, "incidents", path, "--html").stdout
    tags = re.findall(r"<([a-z]+)", page)
    assert "script" not in tags and tags.count("table") == 1
    assert "&lt;script&gt;" in page


def test_the_list_is_in_the_language_that_is_asked_for(played: Path) -> None:
    text = invoke(
        shoectl, "incidents", played / "outcome_revised" / "journal.db", "--language", "zh"
    ).stdout
    assert "更改结果，规则 6.3" in text and "第二人" in text and "理由：a two" in text
    assert all(cell_width(line) <= 80 for line in text.splitlines())
    for kind in {*KINDS.values(), *OTHER_KINDS, "set_refused"}:
        assert name_of("incident", kind, "zh") != kind.replace("_", " "), kind


def test_the_page_names_each_value_and_each_kind_once() -> None:
    page = (ROOT / "docs/audit/incidents.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    named = re.findall("`([a-z_]+)`", " ".join(rows))
    values = ("journal", *Incident.__struct_fields__)
    assert sorted(named) == sorted({*KINDS.values(), *OTHER_KINDS, "set_refused", *values})


def test_forms_are_given_one_at_a_time_and_what_is_no_journal_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "nothing.db"
    both = invoke(shoectl, "incidents", path, "--csv", "--json")
    assert both.exit_code == 2 and "give one of them" in both.stderr
    for content in (None, b"", b"no journal"):
        if content is not None:
            path.write_bytes(content)
        result = invoke(shoectl, "incidents", path)
        assert isinstance(result.exception, JournalError) and str(path) in str(result.exception)


def test_a_time_that_is_asked_for_gives_what_all_gives_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "AROUND_US", 600 * 1_000_000)
    made = bulk_journal.make(tmp_path / "journal.db", rounds=82 * 6)
    with Reader.open(made.path) as reader:
        every = list(incidents(reader))
        at = sorted({t_us_of(one.time) for one in every})
        since, until = at[len(at) // 3], at[2 * len(at) // 3]
        found = list(incidents(reader, since_us=since, until_us=until))
    assert found == [one for one in every if since <= t_us_of(one.time) < until]
    assert 1 < len(found) < len(every)
