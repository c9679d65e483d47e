"""``shoectl decided``: JSON as the contract shows, a line a wager, one line for an error."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial

import pytest

from shoe_ctl.cli.decided import decided
from shoe_ctl.errors import GameFileError, InputRefused
from shoe_ctl.games import catalog
from shoe_testing.cli import invoke
from shoe_testing.paths import LUCKY_EIGHT, ROOT

VARIANT = LUCKY_EIGHT
PAGE = ROOT / "docs" / "guides" / "odds.md"


run_decided = partial(invoke, decided)


def test_json_is_as_the_contract_shows() -> None:
    done = run_decided("immortal_dragon_tiger", "7D ? TS ?", "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert list(found) == ["wagers"]
    assert list(found["wagers"]) == list(catalog.load("immortal_dragon_tiger").wagers)
    assert found["wagers"]["player_pair"] == "lose"
    assert found["wagers"]["player"] == "open"


def test_people_read_a_line_a_wager_below_a_header() -> None:
    done = run_decided("tiger", "4D 9C 4S TH")
    assert done.stdout.splitlines() == [
        "WAGER        STATE",
        "player       lose",
        "banker       win",
        "tie          lose",
        "tiger        lose",
        "big_tiger    lose",
        "small_tiger  lose",
        "tiger_pair   win",
        "tiger_tie    lose",
    ]


def test_a_layout_leaves_out_what_it_does_not_offer() -> None:
    found = json.loads(
        run_decided("immortal_dragon_tiger", "7D ? TS ?", "--layout", "A", "--json").stdout
    )
    assert "player_pair" not in found["wagers"]
    assert "tiger_tie" in found["wagers"]


def test_no_card_at_all_is_a_round_before_its_first() -> None:
    assert set(json.loads(run_decided("tiger", "", "--json").stdout)["wagers"].values()) == {"open"}


def test_a_game_file_is_taken_by_its_path() -> None:
    found = json.loads(run_decided(str(VARIANT), "7S ? 7S ?", "--json").stdout)
    assert found["wagers"]["perfect_pair"] == "win"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ["7D x"],
            "no such card: 'x' (rank then suit, such as TS or 4g); tiger is played with french52",
        ),
        (["4g"], "4g is not a card of french52"),
        (["TS TS TS TS TS", "--decks", "4"], "5 copies of TS: 4 decks hold 4"),
        (["9D ? TS ? ?"], "5 cards are too many: the round is complete after 4"),
        (["7D", "--layout", "Z"], "tiger has no layout 'Z' (layouts: A, B, C, D, E, F, G, H)"),
        (["7D", "--decks", "11"], "tiger is played with 4 to 10 decks, not 11"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(args: list[str], told: str) -> None:
    done = run_decided("tiger", *args)
    assert isinstance(done.exception, InputRefused)
    assert (done.exception.exit_code, str(done.exception)) == (1, told)
    assert done.stdout == ""


def test_an_unknown_game_is_refused() -> None:
    assert isinstance(run_decided("tigre", "7D").exception, GameFileError)


@pytest.mark.parametrize("args", [[], ["tiger"], ["tiger", "7D", "?"]])
def test_wrong_usage_exits_with_2(args: list[str]) -> None:
    assert run_decided(*args).exit_code == 2


def test_the_page_for_integrators_shows_what_is_printed() -> None:
    shown = PAGE.read_text().split('$ shoectl decided tiger "9D ? TS ?"\n')[1].split("```")[0]
    assert run_decided("tiger", "9D ? TS ?").stdout == shown


def test_help_shows_an_example() -> None:
    assert 'Example:\n    shoectl decided tiger "7D ? TS ?"' in run_decided("--help").stdout


@pytest.mark.slow
@pytest.mark.parametrize("command", [["odds", "tiger"], ["decided", "tiger", "7D ?"]])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_command_imports_nothing_it_does_not_need(command: list[str], form: list[str]) -> None:
    script = (
        "import sys\n"
        f"sys.argv[1:] = {command + form!r}\n"
        "from shoe_ctl.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'construct', 'rich', 'asyncio', 'apsw', 'transitions', 'serial'}\n"
        "print(sorted(heavy & sys.modules.keys()), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == "[]\n"
    assert done.stdout
