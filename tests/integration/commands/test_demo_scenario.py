"""A scenario shown to a person: ``shoectl demo`` with its own daemon, ``shoe-sim serve`` with
another."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shoe_testing.cli import on_terminal
from shoe_testing.command_server import WarmProgram, run_command
from shoe_testing.examples import sampled
from shoe_testing.recordings import recording_of_dealt, recording_of_scenario
from simulators.recorder.scenario_file import recorded_scenario
from simulators.table.scenario import SHIPPED, parse

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]

DEMO = [str(Path(sys.executable).with_name("shoectl")), "demo"]
SERVE = [str(Path(sys.executable).with_name("shoe-sim")), "serve"]
RUN_SCENARIOS = [str(Path(sys.executable).with_name("shoe-sim")), "run"]
RUN = [str(Path(sys.executable).with_name("shoectl")), "run"]


def done(*words: str) -> subprocess.CompletedProcess[str]:
    return run_command(*words)


def wrong_scenario(folder: Path) -> Path:
    """One that expects what does not come."""
    text = (SHIPPED / "explicit_natural.toml").read_text()
    path = folder / "wrong.toml"
    path.write_text(text.replace("hand=player total=9", "hand=player total=8"))
    return path


def test_the_demo_shows_acts_and_events_and_says_that_all_came_as_expected() -> None:
    shown = done(*DEMO, "--scenario", "host_reboot")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("The controller's host loses power")
    assert "> dealer: place_your_bets" in lines
    assert "> dealer: decide choice=play_on" in lines
    order = [lines.index(line) for line in lines if "host: reboot" in line or "halted" in line]
    assert len(order) == 2 and order == sorted(order)
    assert "all came as expected" in shown.stderr


AROUND = """
version = 1
title = "All that can happen around a daemon"
table = {game = "tiger", applied_within_s = 60}
shoe = {cards = "4D 7C 5S QH"}
steps = [
  {disk = "fill"},
  {sink = "refuse"},
  {say = "place_your_bets"},
  {wait = "delivery.parked"},
  {request = "redeliver"},
  {wait = "delivery.taken"},
  {play = "round.outcome"},
  {sink = "lose"},
  {wait = "delivery.refilled"},
  {disk = "fail"},
  {say = "resume", position = "pit_supervisor"},
  {request = "applied", event = "round.outcome", reference = "B-1"},
  {disk = "clear"},
  {play = "round.settled"},
]
expect = [
  "delivery.parked sink=hall", "delivery.taken sink=hall",
  "delivery.lost sink=hall first=1", "delivery.refilled sink=hall first=1",
  "outage.opened", "outage.closed", "outcome.applied", "round.settled",
]
restricted = ["disk.filling", "disk.relieved"]
"""


def test_the_demo_lets_the_disk_fail_and_a_sink_refuse_and_lose_events(tmp_path: Path) -> None:
    file = tmp_path / "around.toml"
    file.write_text(AROUND)
    shown = done(*DEMO, "--scenario", str(file), "--pace-ms", "0")
    assert shown.returncode == 0, shown.stderr
    assert "storage fault, nothing is stored" in shown.stderr
    lines = shown.stdout.splitlines()
    assert [line for line in lines if line.startswith(("> disk", "> sink", "> request"))] == [
        "> disk: fill",
        "> sink: refuse",
        "> request: redeliver",
        "> sink: lose",
        "> disk: fail",
        "> request: applied round.outcome",
        "> disk: clear",
    ]


def test_a_recording_is_played_without_its_waits_by_a_daemon_at_a_port(tmp_path: Path) -> None:
    made = recorded_scenario(recording_of_dealt("reference", rounds=15, face_up_after_ms=1000))
    steps = tomllib.loads(made.text)["steps"]
    took_s = sum(step.get("pass_ms", 0) for step in steps) / 1000
    assert took_s > 60
    file = tmp_path / "recorded.toml"
    file.write_text(made.text)
    began = time.monotonic()
    shown = done(*DEMO, "--scenario", str(file), "--json", "--pace-ms", "0")
    assert shown.returncode == 0, shown.stderr
    assert time.monotonic() - began < took_s / 2
    types = [json.loads(line)["type"] for line in shown.stdout.splitlines()]
    assert types.count("round.settled") == 15


EARLY = """
version = 1
title = "A card is drawn while bets are placed, long after the round before"
table = {game = "tiger", method_b = {faces = "face_up", face_up_after_ms = 60000}}
shoe = {cards = "2D 4C 5S 3H"}
steps = [
  {play = "round.settled"},
  {say = "place_your_bets"},
  {draw_early = 1},
  {wait = "table.halted"},
]
expect = ["irregularity.raised key=drawn_early seen.code=seen_drawn_early"]
"""


async def test_the_clock_of_a_recorded_shoe_goes_with_the_time_of_its_table(tmp_path: Path) -> None:
    played = parse(EARLY.encode(), "early.toml", name="early")
    file = tmp_path / "recorded.toml"
    file.write_text(recorded_scenario(await recording_of_scenario(played)).text)
    shown = done(*DEMO, "--scenario", str(file), "--json", "--pace-ms", "0")
    assert "seen_drawn_early" in file.read_text()
    assert shown.returncode == 0, shown.stderr


def test_the_demo_gives_the_public_events_alone_as_json() -> None:
    shown = done(*DEMO, "--scenario", "no_third_card", "--json", "--pace-ms", "0")
    assert shown.returncode == 0, shown.stderr
    events = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [event["id"] for event in events] == [f"t1/p{n + 1}" for n in range(len(events))]
    assert events[-1]["type"] == "round.settled"


def test_the_demo_of_a_scenario_that_expects_something_else_fails_with_the_difference(
    tmp_path: Path,
) -> None:
    shown = done(*DEMO, "--scenario", str(wrong_scenario(tmp_path)))
    assert shown.returncode == 1
    assert "- round.total_announced hand=player total=8    <- expected" in shown.stderr
    assert "+ round.total_announced hand=player total=9    <- came" in shown.stderr
    assert "Traceback" not in shown.stderr


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (
            ("--scenario", "gap", "--game", "tiger"),
            2,
            "--game cannot be combined with --scenario: the scenario defines the game.",
        ),
        (("--scenario", "nothing"), 2, "no scenario 'nothing' (have: "),
        (("--scenario", "link_lost_resume"), 2, "'link_lost_resume': is it link_lost_resumes?"),
        (("--rounds", "few"), 2, "'few' is not a valid whole number"),
        (("--scenario", "nothing.toml"), 2, "nothing.toml: No such file or directory"),
    ],
)
def test_a_demo_that_cannot_be_shown_says_why(
    words: tuple[str, ...], code: int, error: str
) -> None:
    shown = done(*DEMO, *words)
    assert (shown.returncode, shown.stdout) == (code, "")
    assert error in shown.stderr
    assert (shown.stderr.count("\n"), len(shown.stderr) < 240) == (1, True)
    assert "Traceback" not in shown.stderr


@pytest.mark.parametrize("command", [DEMO, RUN_SCENARIOS], ids=["demo", "run"])
def test_all_mistakes_of_a_scenario_are_shown_in_a_line_each(
    command: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "mistaken.toml"
    path.write_text('version = 1\ntitle = "x"\nsteps = [{draw = 0}, {darw = 1}]\nexpect = [7]\n')
    shown = done(*command, *(["--scenario"] if command is DEMO else []), str(path))
    assert shown.returncode == 1
    said = shown.stdout + shown.stderr
    for place in ("table.game", "steps[0].draw", "steps[1]", "expect[0]"):
        (line,) = [line for line in said.splitlines() if f"{path}: {place}: " in line]
        assert line.strip().removeprefix("shoectl: ").startswith(str(path))


def test_the_demo_lists_every_scenario_in_a_line_each() -> None:
    shown = done(*DEMO, "--scenarios")
    assert (shown.returncode, shown.stderr) == (0, "")
    header, *lines = shown.stdout.splitlines()
    assert header.split() == ["SCENARIO", "WHAT", "HAPPENS"]
    assert [line.split()[0] for line in lines] == sorted(p.stem for p in SHIPPED.glob("*.toml"))
    assert all(len(line.split(maxsplit=1)[1]) > 10 for line in lines)
    plain = [json.loads(line) for line in done(*DEMO, "--scenarios", "--json").stdout.splitlines()]
    assert [f"{one['name']} {one['title']}" for one in plain] == [
        " ".join(line.split(maxsplit=1)) for line in lines
    ]


def test_on_a_terminal_each_scenario_is_listed_with_all_of_its_title() -> None:
    listed = on_terminal("demo", "--scenarios", columns=80)
    assert (listed.code, listed.width <= 80) == (0, True)
    assert listed.text.split() == done(*DEMO, "--scenarios").stdout.split()


@pytest.mark.parametrize(
    "words", sampled([("--scenario", "no_third_card"), ("--rounds", "1")], one_in=2, cpu_s=1.6)
)
def test_what_a_demo_wrote_goes_when_it_ends_unless_it_is_kept(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    for keep in ((), ("--keep",)):
        shown = subprocess.run(
            (*DEMO, *words, "--pace-ms", "0", *keep),
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        left = [str(path) for path in tmp_path.glob("*/journal.db")]
        assert len(left) == len(keep)
        assert all(path in shown.stdout + shown.stderr for path in left)
        assert "journal.db" not in shown.stdout + shown.stderr or keep
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("keep", [(), ("--keep",)], ids=["not kept", "kept"])
def test_a_demo_that_fails_says_where_its_journal_is_or_how_to_keep_it(
    tmp_path: Path, keep: tuple[str, ...]
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    scenario = str(wrong_scenario(tmp_path))
    shown = subprocess.run(
        (*DEMO, "--scenario", scenario, *keep),
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    says = shown.stderr.splitlines()[-1]
    if keep:
        (journal,) = folder.glob("*/journal.db")
        assert says.endswith(f"; its journal: {journal}")
    else:
        assert list(folder.iterdir()) == []
        assert says.endswith(
            f"; to keep its journal: shoectl demo --scenario {shlex.quote(scenario)} --keep"
        )


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--scenario", "gap", "--port", "pty"), "--socket is missing"),
        (
            ("--scenario", "gap", "--port", "pty", "--socket", "s", "--decks", "8"),
            "--decks cannot be combined with --sc",
        ),
        (
            ("--scenario", "gap", "--port", "pty", "--socket", "s", "--fault", "drop=1"),
            "--faults cannot be combined with --sc",
        ),
        (
            ("--profile", "reference", "--port", "pty", "--events", "e"),
            "--events needs --scenario",
        ),
        (("--port", "pty"), "--profile is missing: give one of reference, angel_eye"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words: tuple[str, ...], error: str) -> None:
    shown = done(*SERVE, *words)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert error in shown.stderr


@contextmanager
def daemon(folder: Path, table: str) -> Iterator[None]:
    """``shoectl run`` on this table, as a bench engineer has it."""
    config = folder / "table.toml"
    config.write_text(
        f"""
{table}
[socket]
path = "s"
user = [
    {{user = {os.getuid()}, position = "gaming_shift_manager"}},
    {{user = {os.getuid() + 1}, name = "lee", position = "pit_supervisor"}},
]
[[sink]]
kind = "jsonl"
path = "public.jsonl"
"""
    )
    with WarmProgram([*RUN, "--config", str(config)], stderr=subprocess.DEVNULL) as running:
        try:
            yield
        finally:
            running.terminate()


@pytest.mark.parametrize("wrong", [False, True])
def test_a_scenario_is_served_to_a_daemon_that_someone_else_runs(
    tmp_path: Path, wrong: bool
) -> None:
    scenario = str(wrong_scenario(tmp_path)) if wrong else "early_draw_set_aside"
    words = ("--scenario", scenario, "--port", f"pty:{tmp_path}/shoe", "--pace-ms", "0")
    reached = ("--socket", str(tmp_path / "s"), "--events", str(tmp_path / "public.jsonl"))
    pipe = subprocess.PIPE
    with WarmProgram([*SERVE, *words, *reached], stdout=pipe, stderr=pipe, text=True) as serving:
        assert serving.stdout is not None and serving.stderr is not None
        assert serving.stdout.readline() == f"{tmp_path}/shoe\n"
        told = [serving.stderr.readline() for _ in range(5)]
        assert told[2:4] == ["[[table]]\n", 'id = "t1"\n']
        table = "".join(told[2:])
        while "shoe = " not in table:
            table += serving.stderr.readline()
        with daemon(tmp_path, table):
            rest = serving.stderr.read()
            assert serving.wait() == wrong
    assert ("all came as expected" in rest) is not wrong
    assert ("<- expected, did not come" in rest) is wrong
