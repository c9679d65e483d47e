"""``shoectl settle``: rounds in on stdin, one line out for each."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result

from shoe_ctl.cli.settle import settle
from shoe_ctl.errors import GameFileError, InputRefused
from shoe_ctl.games import catalog
from shoe_testing.cli import invoke
from shoe_testing.paths import LUCKY_EIGHT

VARIANT = LUCKY_EIGHT


def settled(given: str | bytes, *words: str) -> Result:
    return invoke(settle, *words, stdin=given)


def test_a_round_in_json_is_as_the_contract_shows() -> None:
    done = settled("7D 9C TS TH\n", "immortal_dragon_tiger", "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    (line,) = done.stdout.splitlines()
    found = json.loads(line)
    wagers = found.pop("wagers")
    assert found == {
        "cards": "7D 9C TS TH",
        "winner": "banker",
        "player": {"total": 7, "cards": 2},
        "banker": {"total": 9, "cards": 2},
    }
    assert len(wagers) == 12
    assert wagers["player"] == {"result": "push"}
    assert wagers["banker"] == {"result": "win", "odds": "19/20"}
    assert wagers["immortal_dragon"] == {"result": "win", "odds": "25"}
    assert wagers["tie"] == {"result": "lose"}


def test_it_goes_on_after_a_bad_line_and_sums_up() -> None:
    given = "7D 9C TS TH\n7D 9C\n4g 9C TS TH\nxx\n\n# a remark\n7D  7C TS TH # tie"
    done = settled(given, "tiger", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line.get("winner") for line in lines] == ["banker", None, None, None, "tie"]
    assert lines[1] == {
        "cards": "7D 9C",
        "error": "2 cards are too few: the next card is Player's",
    }
    assert "4g is not a card of french52" in lines[2]["error"]
    assert "no such card: 'xx'" in lines[3]["error"]
    assert lines[4]["cards"] == "7D 7C TS TH"
    assert done.exit_code == 1
    assert done.stderr == (
        "shoectl: 3 of 5 lines refused: line 2: 2 cards are too few: the next card is Player's\n"
    )


def test_half_a_round_is_one_clear_line_and_a_failure() -> None:
    done = settled("7D 9C", "tiger")
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert "line 1: 2 cards are too few" in done.stderr
    assert done.stdout.count("\n") == 1


def test_people_read_the_totals_the_winner_and_what_does_not_lose() -> None:
    done = settled("2D 6C KS TH AH\n9S 9H 9D 9C\n", "tiger")
    assert done.stdout.splitlines() == [
        "2D 6C KS TH AH     player 3, banker 6: banker wins; "
        "banker pays 0.95:1, tiger pays 12:1, small_tiger pays 22:1",
        "9S 9H 9D 9C        player natural 8, banker natural 8: tie; "
        "player pushes, banker pushes, tie pays 8:1, tiger_pair pays 100:1",
    ]


def test_nothing_in_is_nothing_out() -> None:
    done = settled("", "tiger")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")


def test_bytes_that_are_no_text_are_a_bad_line() -> None:
    done = settled(b"\xff\xfe 9C\n7D 9C TS TH\n", "tiger", "--json")
    assert ["error" in json.loads(line) for line in done.stdout.splitlines()] == [True, False]


def test_more_copies_than_the_decks_hold_are_refused() -> None:
    five = "TS TS TS TS TS 6D"
    assert settled(five, "tiger").exit_code == 0
    done = settled(five, "tiger", "--decks", "4", "--json")
    assert json.loads(done.stdout)["error"] == "5 copies of TS: 4 decks hold 4"


def test_a_number_of_decks_the_game_does_not_know_is_refused_at_once() -> None:
    done = settled("7D 9C TS TH", "tiger", "--decks", "11")
    assert isinstance(done.exception, InputRefused)
    assert done.stdout == ""


@pytest.mark.parametrize("name", ["tigre", "no/such/file.toml"])
def test_an_unknown_game_is_refused(name: str) -> None:
    assert isinstance(settled("", name).exception, GameFileError)


def test_a_game_file_is_settled_by_its_path() -> None:
    done = settled("7S 8H AD TC", str(VARIANT), "--json")
    assert json.loads(done.stdout)["wagers"]["lucky_eight"] == {"result": "win", "odds": "25/2"}


@pytest.mark.slow
@pytest.mark.parametrize("command", [["games"], ["games", "--json"], ["settle", "tiger"]])
def test_the_command_imports_nothing_it_does_not_need(command: list[str]) -> None:
    script = (
        "import sys\n"
        f"sys.argv[1:] = {command!r}\n"
        "from shoe_ctl.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'construct', 'rich', 'asyncio', 'apsw', 'transitions', 'serial'}\n"
        "print(sorted(heavy & sys.modules.keys()), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input="7D 9C TS TH\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == "[]\n"
    assert done.stdout


@pytest.mark.parametrize("written", ["8.5:1", "17:2", "34:4"])
def test_odds_are_printed_as_the_game_file_writes_them(tmp_path: Path, written: str) -> None:
    source = catalog.load("tiger").source.decode()
    assert 'pays = "8:1"' in source
    (tmp_path / "my.toml").write_text(source.replace('pays = "8:1"', f'pays = "{written}"'))
    done = settled(b"7D 7C TS TH\n", str(tmp_path / "my.toml"))
    assert f"tie pays {written}" in done.stdout


@pytest.mark.slow
def test_a_person_at_a_keyboard_is_told_what_to_type() -> None:
    master, slave = pty.openpty()
    try:
        os.write(master, b"7D 9C TS TH\n\x04")
        done = subprocess.run(
            [sys.executable, "-c", "from shoe_ctl.cli.main import main; main()", "settle", "tiger"],
            stdin=slave, capture_output=True, text=True, check=True,
        )  # fmt: skip
    finally:
        os.close(master)
        os.close(slave)
    assert done.stderr == "type a round on each line, for example 7D 9C TS TH; end with Ctrl-D\n"
    assert "banker wins" in done.stdout
