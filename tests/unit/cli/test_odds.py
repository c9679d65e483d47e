"""``shoectl odds``: JSON as the contract shows, a table for people, one line for an error."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from click.testing import CliRunner, Result

from shoe_ctl.cli.odds import odds
from shoe_ctl.errors import GameFileError, InputRefused
from shoe_ctl.games import catalog
from shoe_testing.paths import LUCKY_EIGHT, ROOT

VARIANT = LUCKY_EIGHT
PAGE = ROOT / "docs" / "guides" / "odds.md"


def run(*args: str) -> Result:
    return CliRunner().invoke(odds, list(args))


def test_json_is_as_the_contract_shows() -> None:
    done = run("immortal_dragon_tiger", "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert list(found) == ["game", "decks", "wagers"]
    assert (found["game"], found["decks"]) == ("immortal_dragon_tiger", 8)
    assert list(found["wagers"]) == list(catalog.load("immortal_dragon_tiger").wagers)
    assert found["wagers"]["player_pair"] == {"ev": "-43/415", "rtp": 0.8963855421686747}


def test_every_ev_in_json_is_the_exact_fraction_behind_its_rtp() -> None:
    for wager in json.loads(run("dragon_bonus_royal", "--json").stdout)["wagers"].values():
        assert float(1 + Fraction(wager["ev"])) == wager["rtp"]


def test_people_read_percentages_within_80_columns() -> None:
    done = run("dragon_bonus_royal")
    assert done.stdout.splitlines()[:5] == [
        "Dragon Bonus Royal Baccarat, 8 decks of french52",
        "WAGER                    WINS %    PUSHES %   RETURNS %      EDGE %",
        "player                  44.6247      9.5156     98.7649      1.2351",
        "banker                  45.8597      9.5156     98.9421      1.0579",
        "tie                      9.5156      0.0000     85.6404     14.3596",
    ]


@pytest.mark.parametrize("name", catalog.shipped())
def test_no_line_of_a_shipped_game_is_wider_than_a_terminal(name: str) -> None:
    lines = run(name).stdout.splitlines()
    assert len(lines) == 2 + len(catalog.load(name).wagers)
    assert max(map(len, lines)) <= 80


def test_the_number_of_decks_is_said_and_counts() -> None:
    found = json.loads(run("tiger", "--decks", "4", "--json").stdout)
    assert found["decks"] == 4
    assert (
        found["wagers"]["player"] != json.loads(run("tiger", "--json").stdout)["wagers"]["player"]
    )
    assert run("tiger", "--decks", "4").stdout.startswith("Tiger Baccarat, 4 decks of french52\n")


def test_a_game_file_is_taken_by_its_path() -> None:
    found = json.loads(run(str(VARIANT), "--json").stdout)
    assert (found["game"], len(found["wagers"])) == ("lucky_eight", 5)


def test_a_wrong_number_of_decks_is_refused() -> None:
    done = run("tiger", "--decks", "3")
    assert isinstance(done.exception, InputRefused)
    assert done.exception.exit_code == 1
    assert str(done.exception) == "tiger is played with 4 to 10 decks, not 3"
    assert done.stdout == ""


def test_an_unknown_game_is_refused() -> None:
    assert isinstance(run("tigre").exception, GameFileError)


@pytest.mark.parametrize("args", [[], ["tiger", "--decks", "many"], ["tiger", "more"]])
def test_wrong_usage_exits_with_2(args: list[str]) -> None:
    assert run(*args).exit_code == 2


def test_the_page_for_integrators_shows_what_is_printed() -> None:
    shown = PAGE.read_text().split("$ shoectl odds dragon_bonus_royal\n")[1].split("…")[0]
    assert run("dragon_bonus_royal").stdout.startswith(shown)


def test_help_shows_an_example() -> None:
    assert "Examples:\n    shoectl odds tiger" in run("--help").stdout
