"""``shoectl games``: the list, and the check of a file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from shoe_ctl.cli.games import games
from shoe_ctl.errors import GameFileError
from shoe_ctl.games import catalog
from shoe_testing.paths import LUCKY_EIGHT

GOOD = LUCKY_EIGHT


def test_the_list_for_people_fits_eighty_columns_and_has_every_game() -> None:
    told = CliRunner().invoke(games, []).stdout.splitlines()
    assert [line.split()[0] for line in told[1:]] == list(catalog.shipped())
    assert max(map(len, told)) <= 80


def test_the_list_for_programs_has_what_the_contract_names() -> None:
    done = CliRunner().invoke(games, ["--json"])
    listed = {game["id"]: game for game in json.loads(done.stdout)}
    assert (done.exit_code, done.stderr) == (0, "")
    assert set(listed) == set(catalog.shipped())
    source = Path(catalog.__file__).with_name("data") / "tiger.toml"
    readings = listed["tiger"].pop("readings")
    assert [one.keys() for one in readings] == [{"about", "rule", "text"}] * len(readings)
    assert len(readings) >= 8
    assert listed["tiger"] == {
        "id": "tiger",
        "title": "Tiger Baccarat",
        "version": "3",
        "date": "2022-03-09",
        "deck": "french52",
        "decks": {"min": 4, "max": 10, "default": 8},
        "methods": ["A", "B", "C"],
        "wagers": [
            "player",
            "banker",
            "tie",
            "tiger",
            "big_tiger",
            "small_tiger",
            "tiger_pair",
            "tiger_tie",
        ],
        "sha256": hashlib.sha256(source.read_bytes()).hexdigest(),
    }
    assert listed["dragon_bonus_royal"]["methods"] == []
    assert listed["dragon_bonus_royal"]["date"] is None


def test_a_good_file_is_said_to_be_good() -> None:
    done = CliRunner().invoke(games, ["--check", str(GOOD)])
    assert done.exit_code == 0
    assert done.stdout == (
        f"{GOOD}: valid: Lucky Eight Baccarat (lucky_eight), 5 wagers, 10 pay lines\n"
    )
    plain = json.loads(CliRunner().invoke(games, ["--json", "--check", str(GOOD)]).stdout)
    assert (plain["ok"], plain["game"]["id"]) == (True, "lucky_eight")


@pytest.mark.parametrize("source", [None, "id = 'x'"])
def test_a_bad_file_is_one_clear_line_and_a_failed_check(
    tmp_path: Path, source: str | None
) -> None:
    file = tmp_path / "bad.toml"
    if source is not None:
        file.write_text(source)
    done = CliRunner().invoke(games, ["--check", str(file)])
    assert isinstance(done.exception, GameFileError)
    assert done.exception.exit_code == 1
    assert str(done.exception).startswith(f"{file}: ")
    assert done.stdout == ""
    plain = CliRunner().invoke(games, ["--json", "--check", str(file)])
    assert isinstance(plain.exception, GameFileError)
    assert json.loads(plain.stdout) == {
        "ok": False,
        "file": str(file),
        "error": str(done.exception),
    }
