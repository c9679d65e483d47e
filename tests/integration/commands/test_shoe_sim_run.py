"""``shoe-sim run`` and ``shoe-sim record``: scenarios through daemons of their own, and reports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from shoe_testing.command_server import run_command
from shoe_testing.daemon import play_through_daemon
from shoe_testing.paths import child_environment
from simulators.report.observations import from_json
from simulators.table.scenario import SHIPPED, find

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]

SHOE_SIM = str(Path(sys.executable).with_name("shoe-sim"))
SHOECTL = str(Path(sys.executable).with_name("shoectl"))


def shoe_sim(*words: str | Path | int) -> subprocess.CompletedProcess[str]:
    return run_command(SHOE_SIM, *map(str, words))


def folder_of(tmp_path: Path) -> Path:
    """A folder with a scenario that plays, one that does not, and two that are wrong."""
    folder = tmp_path / "nights"
    folder.mkdir()
    text = (SHIPPED / "no_third_card.toml").read_text()
    (folder / "a_plays.toml").write_text(text)
    differs = text.replace("round.outcome", "round.outcome game=<b>", 1)
    assert differs != text
    (folder / "b_differs.toml").write_text(differs)
    (folder / "c_wrong.toml").write_text(text.replace("version = 1", "version = 2"))
    (folder / "d_game.toml").write_text(text.replace('game = "', 'game = "x_'))
    return folder


def test_a_folder_is_played_and_reported_for_people_and_for_tools(tmp_path: Path) -> None:
    page, junit = tmp_path / "nights.html", tmp_path / "nights.xml"
    ran = shoe_sim("run", folder_of(tmp_path), "--pace-ms", 0, "--jobs", 2,
                   "--report", page, "--junit", junit)  # fmt: skip
    assert (ran.returncode, ran.stderr) == (1, "")
    lines = ran.stdout.splitlines()
    assert lines[0].startswith("ok      a_plays  ")
    assert lines[1].startswith("DIFFERS b_differs  ")
    assert "game=<b>" in ran.stdout
    assert "c_wrong.toml: version: expected 1, not 2" in ran.stdout
    assert (
        "d_game.toml: table t1: game: no such game: x_dragon_tiger_no_commission (shipped: "
        in ran.stdout
    )
    assert lines[-1] == "4 scenarios, 3 not as expected"
    (suite,) = ET.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "1", "2")
    text = page.read_text()
    assert "4 scenarios, 3 not as expected" in text
    assert "game=&lt;b&gt;" in text and "<b>" not in text
    assert "card_drawn" in text and "outcome +" in text


def test_a_run_that_is_interrupted_reports_what_was_played(tmp_path: Path) -> None:
    page, left = tmp_path / "night.html", tmp_path / "left"
    left.mkdir()
    with subprocess.Popen(
        [SHOE_SIM, "run", "no_third_card", "early_draw_set_aside", "--report", str(page)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=child_environment() | {"TMPDIR": str(left), "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    ) as ran:
        assert ran.stdout is not None
        played = ran.stdout.readline()
        os.killpg(ran.pid, signal.SIGINT)
        _, said = ran.communicate()
    assert played.startswith("ok      no_third_card ")
    assert (ran.returncode, said.strip()) == (130, "interrupted: 1 of 2 scenarios were played")
    assert "1 scenario, all as expected" in page.read_text()
    assert not list(left.iterdir())


@pytest.mark.exhaustive(cpu_s=1.5)
def test_the_data_of_a_report_follows_a_card_from_its_bytes_to_the_outcome(tmp_path: Path) -> None:
    data = tmp_path / "night.json"
    ran = shoe_sim("run", "no_third_card", "--pace-ms", 0, "--report", data)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    report = from_json(data.read_text(), "night.json")
    marks = report.marks
    outcome = next(mark for mark in marks if mark.kind == "round.outcome")
    dealt = next(mark for mark in marks if mark.kind == "round.card_dealt")
    assert dealt.cause is not None and marks[dealt.cause].text.startswith("card_drawn ")
    line = marks[dealt.cause].cause
    assert line is not None and marks[line].lane == "line"
    sunk = next(mark for mark in marks if mark.lane == "sink")
    assert sunk.cause is not None and marks[sunk.cause] == outcome
    times = [mark.t_us for mark in marks]
    assert times == sorted(times)
    assert report.restricted is not None


@pytest.mark.exhaustive(cpu_s=3.0)
async def test_a_journal_is_recorded_and_plays_as_it_was(tmp_path: Path) -> None:
    await play_through_daemon(find("host_reboot"), tmp_path)
    file = tmp_path / "night.toml"
    recorded = shoe_sim(
        "record", tmp_path / "journal.db", "-o", file, "--junit", tmp_path / "n.xml"
    )
    assert recorded.returncode == 0, recorded.stderr
    lines = recorded.stderr.splitlines()
    assert lines[0].startswith("journal.db, table t1: 1 round, ")
    assert lines[-1].startswith("night.toml plays as recorded: ")
    assert '{host = "reboot"}' in file.read_text()
    assert ET.parse(tmp_path / "n.xml").getroot().get("tests") == "1"
    wrong = shoe_sim("record", tmp_path / "journal.db", "--table", "t9")
    assert (wrong.returncode, wrong.stderr) == (
        2,
        f"shoe-sim: --table: {tmp_path}/journal.db has t1, not 't9'\n",
    )


def test_a_scenario_at_a_daemon_of_ones_own_wants_its_files_before_it_is_played() -> None:
    for option in ("--report", "--junit", "--restricted"):
        ran = shoe_sim("serve", "--profile", "reference", "--port", "pty", option, "x.html")
        assert (ran.returncode, ran.stderr) == (
            2,
            f"shoe-sim: {option} needs --scenario: name the scenario\n",
        )


def test_a_demo_without_a_scenario_has_nothing_to_report() -> None:
    for option in ("--report", "--junit"):
        ran = run_command(SHOECTL, "demo", option, "x.html")
        assert ran.returncode == 2
        assert f"{option} needs --scenario: name the scenario" in ran.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "no_such"), "no scenario 'no_such' (have: "),
        (("run", "FOLDER"), "FOLDER: expected scenarios in this folder, there is no *.toml"),
        (
            ("run", "no_third_card", "--report", "FOLDER/no/x.html"),
            "FOLDER/no/x.html: there is no folder FOLDER/no",
        ),
        (("run", "a", "b", "--report", "x.json"), "--report x.json: data is of one scenario"),
        (
            ("run", "a", "--report", "x", "--junit", "x"),
            "--report and --junit name the same file x",
        ),
        (
            ("record", "FOLDER/no.db", "-o", "FOLDER/no/x.toml"),
            "FOLDER/no/x.toml: there is no folder FOLDER/no",
        ),
        (("record", "FOLDER/no.db"), "FOLDER/no.db: No such file or directory"),
        (("record", __file__), f"{__file__}: expected a journal, or an export of one"),
    ],
)
def test_what_is_wrong_is_one_line(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    ran = shoe_sim(*(word.replace("FOLDER", str(tmp_path)) for word in words))
    assert ran.returncode in (1, 2, 3)
    assert said.replace("FOLDER", str(tmp_path)) in ran.stderr + ran.stdout
    assert "Traceback" not in ran.stderr
