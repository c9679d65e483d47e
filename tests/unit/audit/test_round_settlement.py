"""A round's wagers settled again: from its cards and the recorded rules, beside what was paid."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import Result

from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import UsageError
from shoe_ctl.records import Record
from shoe_testing.cli import invoke
from shoe_testing.daemon import play_through_daemon
from shoe_testing.journals import rewrite_records
from simulators.table.scenario import find

SCENARIOS = (
    *("late_wager_retracted", "outcome_revised", "older_round_revised", "wagers_returned"),
    *("under_minimum_once", "over_maximum_excess", "power_failure_withdrawn"),
)


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


def settled(journal: Path, round_id: str = "t1-s1-r1", *more: str) -> Result:
    return invoke(shoectl, "settle", "--from", journal, "--round", round_id, *more)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("late_wager_retracted", ["1 3 player 5000 win 1 5000 4.1"]),
        ("outcome_revised", ["1 3 player 500 lose 0 3.16"]),
        ("older_round_revised", ["1 3 player 500 lose 0 3.16"]),
        ("wagers_returned", ["1 3 player 5000 returned 0 6.1", "2 4 tie 100 returned 0 6.1"]),
        ("power_failure_withdrawn", ["3 4 banker 700 lose 0 3.14", "4 5 player 900 win 1 900 4.1"]),
    ],
)
def test_each_wager_is_settled_again_with_its_rule(
    played: Path, name: str, lines: list[str]
) -> None:
    shown = settled(played / name / "journal.db")
    assert shown.exit_code == 0, shown.stdout
    text = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert text[2 : 2 + len(lines)] == lines
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "as recorded" in shown.stdout and "NOT VERIFIED" in shown.stdout


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_a_table_paid_is_what_is_settled_again(played: Path, name: str) -> None:
    journal = played / name / "journal.db"
    listed = invoke(shoectl, "rounds", journal, "--json").stdout.splitlines()
    rounds = [one for one in map(json.loads, listed) if one["line"] == "round"]
    assert rounds
    for one in rounds:
        if one["state"] != "open":
            shown = settled(journal, one["round_id"], "--json")
            assert (shown.exit_code, json.loads(shown.stdout)["agrees"]) == (0, True), shown.stdout


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (b'"pays":5000', b'"pays":6000', "DIFFERS: pays was recorded as 6000, and is 5000"),
        (b'"odds":"1"', b'"odds":"8"', "DIFFERS: odds was recorded as 8, and is 1"),
        (b'"rule":"4.1"', b'"rule":"4.9"', "DIFFERS: rule was recorded as 4.9, and is 4.1"),
        (b'"stake":5000', b'"stake":50', "DIFFERS: stake was recorded as 50, and is 5000"),
        (b'"winner":"player"', b'"winner":"banker"', "DIFFERS: winner of the recorded outcome"),
    ],
)
def test_money_that_was_written_otherwise_is_named(
    played: Path, tmp_path: Path, was: bytes, now: bytes, said: str
) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes((played / "late_wager_retracted" / "journal.db").read_bytes())

    def altered(record: Record) -> bytes:
        ends = any(kind in record.body for kind in (b'"wager.settled"', b'"round.outcome"'))
        return record.body.replace(was, now) if ends else record.body

    rewrite_records(path, altered)
    shown = settled(path)
    assert (shown.exit_code, said in shown.stdout) == (1, True), shown.stdout
    assert "NOT as recorded" in shown.stdout


def test_a_proof_settles_its_round_and_says_what_it_stands_on(played: Path, tmp_path: Path) -> None:
    journal, proof = played / "late_wager_retracted" / "journal.db", tmp_path / "round.json"
    invoke(shoectl, "prove", journal, "--round", "t1-s1-r1", "-o", proof)
    shown = invoke(shoectl, "settle", "--from", proof)
    assert shown.exit_code == 0, shown.stdout
    text = " ".join(shown.stdout.split())
    assert "1 3 player 5000 win 1 5000 4.1" in text
    assert "stands on checkpoint" in text and "NOT VERIFIED" not in text


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("--from", "j.db"), "--from a journal needs --round: shoectl rounds lists them"),
        (("tiger", "--from", "j.db"), "remove GAME"),
        (("tiger", "--round", "a"), "name a GAME, or a journal"),
        ((), "name a GAME, or a journal"),
    ],
)
def test_wrong_usage_is_said_in_one_line(given: tuple[str, ...], why: str) -> None:
    shown = invoke(shoectl, "settle", *given)
    assert isinstance(shown.exception, UsageError)
    assert why in str(shown.exception)
