"""The benches start where only the checkout is installed, and fail where nothing was measured."""

from __future__ import annotations

import ast
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import _load, _parent, _report, line, load, startup, tables
from bench._promises import Promise, least_of, median_of, most_of, parts
from shoe_testing.paths import ROOT

COMPARED_WITH = ("bellows", "pymodbus")
"""Libraries that only ``make bench`` installs."""

IMPORTS_ALL = f"""
import importlib, pathlib
for path in sorted(pathlib.Path("bench").glob("[!_]*.py")):
    try:
        importlib.import_module(f"bench.{{path.stem}}")
    except ModuleNotFoundError as error:
        if error.name not in {COMPARED_WITH}:
            raise
    print(path.stem)
"""


@pytest.mark.slow
def test_each_bench_finds_what_it_imports() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    found = subprocess.run(
        [sys.executable, "-c", IMPORTS_ALL],
        env=environment, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.stderr == ""
    assert found.stdout.split() == [p.stem for p in sorted(Path(ROOT, "bench").glob("[!_]*.py"))]


# What is promised, and its spread.

CANNOT_DIFFER = {
    "disk": "a journal that is made in bulk has the same bytes each time",
    "killed_brokers": "events are counted, over all kills",
    "load": "cards are counted, over all rounds",
    "refill": "events are counted, over the whole stream",
}
"""Benches with a promise whose figure has no spread, and why."""


def test_every_promise_has_a_spread_but_for_what_is_counted() -> None:
    without = {
        path.stem
        for path in Path(ROOT, "bench").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "Promise"
        if {"most", "least"} & (given := {keyword.arg for keyword in node.keywords})
        if "spread" not in given and path.stem != "_promises"
    }
    assert without == set(CANNOT_DIFFER)


def test_the_middle_the_highest_and_the_lowest_come_with_their_range() -> None:
    found = [3.0, 1.0, 2.0]
    assert median_of("x", found, most=2.0) == Promise("x", 2.0, most=2.0, spread=(1.0, 3.0))
    assert most_of("x", found, most=2.0) == Promise("x", 3.0, most=2.0, spread=(1.0, 3.0))
    assert least_of("x", found, least=2.0) == Promise("x", 1.0, least=2.0, spread=(1.0, 3.0))
    assert not most_of("x", found, most=2.0).held and not least_of("x", found, least=2.0).held


def test_a_run_is_divided_into_parts_in_its_order() -> None:
    assert parts(list(range(11))) == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    assert parts([1, 2]) == [[1], [2]]


# `make bench`.

HELD = {"name": "speed", "measured": 5.0, "least": 4.0, "spread": [4.5, 6.0]}
MISSED = {**HELD, "measured": 3.0}


def report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *words: str, **benches: tuple[Any, int]
) -> int:
    """Run these benches, each of which prints an object and exits so; the exit code."""
    for name, (printed, code) in benches.items():
        said = "" if printed is None else json.dumps(printed)
        (tmp_path / f"{name}.py").write_text(f"import sys\nprint({said!r})\nsys.exit({code!r})\n")
    monkeypatch.setattr(_report, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "argv", ["_report", *words])
    return _report.main()


def test_a_report_has_promise_measured_and_spread_of_each_bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {"promises": [HELD, {"name": "no promise", "measured": 1.0}], "left_out": ["MQTT"]}
    nothing: tuple[Any, int] = ({"stages": {}}, 0)
    assert report(tmp_path, monkeypatch, one=(found, 0), two=nothing) == 0
    _, _, *lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "one", "speed at least 4.00 5.00 4.50 to 6.00", "left out: MQTT", "two",
        "promises nothing",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("printed", "code", "said"),
    [
        ({"promises": [MISSED]}, 1, "NOT HELD"),
        ({"promises": [MISSED]}, 0, "failed: exit 0, although a promise is missed"),
        ({"promises": [HELD]}, 1, "failed: exit 1"),
        ({"promises": []}, 0, "failed: no promise in its output, exit 0"),
        ({"promises": [{"name": "x", "measured": 1.0}]}, 0, "failed: no promise in its output"),
        (None, 0, "failed: no promise in its output, exit 0"),
        (None, "this disk does not sync", "  this disk does not sync"),
    ],
)
def test_a_bench_that_misses_a_promise_or_measures_none_fails(  # noqa: PLR0913 - by name
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    printed: Any,
    code: Any,
    said: str,
) -> None:
    assert report(tmp_path, monkeypatch, "--", bench=(printed, code)) == 1
    out = capsys.readouterr().out
    assert said in out and out.endswith("not held: bench\n")


# What was reached last.

TARGET = {"name": "cards", "measured": 2800.0, "least": 4000.0, "spread": [2700.0, 2900.0]}


@pytest.mark.parametrize(
    ("measured", "code", "said"),
    [
        (2800.0, 0, "last 2,800, not reached yet"),
        (2431.0, 0, "last 2,800, not reached yet"),  # a tenth below 2,700, the worst of last time
        (2429.0, 1, "last 2,800, FELL"),
        (4100.0, 0, "last 2,800"),
    ],
)
def test_a_target_that_is_not_reached_yet_fails_only_where_its_figure_falls(  # noqa: PLR0913
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    measured: float,
    code: int,
    said: str,
) -> None:
    assert report(tmp_path, monkeypatch, "--record", bench=({"promises": [TARGET]}, 1)) == 1
    capsys.readouterr()
    now = {**TARGET, "measured": measured, "spread": [measured, measured]}
    held = measured >= 4000.0
    assert report(tmp_path, monkeypatch, bench=({"promises": [now]}, 0 if held else 1)) == code
    row = next(line for line in capsys.readouterr().out.splitlines() if "cards" in line)
    assert row.endswith(said)


def test_a_promise_that_was_held_last_time_and_is_missed_now_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    most = {"name": "wait", "measured": 9.5, "most": 10.0, "spread": [9.0, 10.0]}
    assert report(tmp_path, monkeypatch, "--record", bench=({"promises": [most]}, 0)) == 0
    over = {**most, "measured": 10.5}
    assert report(tmp_path, monkeypatch, bench=({"promises": [over]}, 1)) == 1
    assert "last 9.50, NOT HELD" in capsys.readouterr().out


def test_figures_of_another_machine_are_not_compared_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fast = {**HELD, "measured": 500.0, "spread": [450.0, 600.0]}
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(platform, "python_compiler", lambda: "another compiler")
        assert report(tmp_path, elsewhere, "--record", bench=({"promises": [fast]}, 0)) == 0
    capsys.readouterr()
    assert report(tmp_path, monkeypatch, bench=({"promises": [HELD]}, 0)) == 0
    out = capsys.readouterr().out
    assert "not compared with what was reached last, elsewhere: " in out
    assert "another compiler" in out and "FELL" not in out


# Beside the parent commit.


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


def test_without_a_parent_commit_one_line_says_that_nothing_was_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    monkeypatch.setattr(_parent, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["_parent"])
    assert _parent.main() == 0
    out = capsys.readouterr().out
    assert out == "a card's cost was not compared: git has no parent of this commit here\n"


def test_a_shallow_clone_is_deepened_to_the_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, shallow = tmp_path / "whole", tmp_path / "shallow"
    whole.mkdir()
    git(whole, "init", "-q")
    for number in range(3):
        git(whole, "commit", "-q", "--allow-empty", "-m", str(number))
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{whole}", str(shallow))
    monkeypatch.setattr(_parent, "ROOT", shallow)
    found = _parent.parent()
    expected = subprocess.run(
        ["git", "-C", str(whole), "rev-parse", "HEAD^1"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found == expected.stdout.strip()


def test_the_least_of_each_is_compared_with_the_parent() -> None:
    found = _parent.compared("x", [(10.0, 12.0), (20.0, 11.0)])
    assert found.measured == pytest.approx(1.1)
    assert found.spread == (0.55, 1.2)
    assert found.held
    assert not _parent.compared("x", [(10.0, 11.6)]).held


# What a bench must not take for success.


def test_a_line_on_a_disk_that_does_not_sync_is_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line, "SYNC_LEAST_S", 1e9)
    monkeypatch.setattr(sys, "argv", ["line", "--folder", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        line.main()
    assert ended.value.code == "this disk does not sync: name another with --folder"


SERVED = {"connections": 1, "never_armed": False}
AWAY = {"connections": 0, "never_armed": True}
RUN = {
    "each": [SERVED, SERVED], "waiting": 0, "refused": 0, "measured": 9, "lost": 0, "unserved": 0,
    "reached": 9.0, "asked": 9.0, "alarms": 0,
}  # fmt: skip


def test_tables_that_were_never_served_are_counted() -> None:
    assert _load.unserved(RUN) == 0
    never_armed = {**SERVED, "never_armed": True}
    never_connected = {**SERVED, "connections": 0}
    assert _load.unserved({**RUN, "each": [SERVED, AWAY, never_armed, never_connected]}) == 3


@pytest.mark.parametrize(
    ("what", "row"),
    [
        ({"lost": 1}, "x: cards lost or out of order"),
        ({"unserved": 1}, "x: tables not connected or never armed"),
        ({"alarms": 1}, "x: shoes said not to hear"),
        ({"reached": 8.0}, "x: part of the cards asked for"),
    ],
)
def test_one_run_of_several_that_went_wrong_breaks_its_promise(
    what: dict[str, Any], row: str
) -> None:
    found = _load.served("x", [RUN, {**RUN, **what}, RUN], in_time=True)
    assert [one.name for one in found if not one.held] == [row]
    assert all(one.held for one in _load.served("x", [RUN, RUN], in_time=True))


def test_a_floor_that_failed_for_no_reason_in_its_report_ends_the_bench() -> None:
    _load.check_ended(RUN, 0)
    _load.check_ended({**RUN, "each": [SERVED, AWAY]}, 1)
    _load.check_ended({**RUN, "waiting": 2}, 1)
    with pytest.raises(SystemExit, match="shoe-sim floor: exit 1"):
        _load.check_ended(RUN, 1)
    with pytest.raises(SystemExit, match="no card was measured"):
        _load.check_ended({**RUN, "measured": 0}, 1)


def test_a_load_that_leaves_a_table_out_breaks_the_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"p50_ms": 1.0, "p99_ms": 2.0, "max_ms": 3.0, "share": 0.1}
    more = {"stored": times, "simulator": times, "processor_s": 1.0, "dealt_s": 2.0}
    found = {**RUN, **more}
    monkeypatch.setattr(load, "loaded", lambda *_: found)
    assert not load.point(3, 1.0, 1.0).is_broken(250.0)
    found["unserved"] = 1
    assert load.point(3, 1.0, 1.0).is_broken(250.0)


def test_times_of_several_runs_are_put_together() -> None:
    runs = [{"stored": {"ranges_ms": [[1.0, 98], [5.0, 1]]}}, {"stored": {"ranges_ms": [[9.0, 1]]}}]
    assert _load.pooled_ms(runs, 0.5) == 1.0
    assert _load.pooled_ms(runs, 0.98) == 5.0
    assert _load.pooled_ms(runs, 0.99) == 9.0


def test_the_rate_that_is_promised_is_the_median_of_the_tries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored = {"p50_ms": 1.0, "p99_ms": 2.0}
    rates = iter((5000.0, 3000.0, 2000.0))
    monkeypatch.setattr(
        tables,
        "loaded",
        lambda *_, **__: {
            **RUN,
            "stored": stored,
            "peak_mb": 1,
            "cards": next(rates),
            "processor_s": 1,
        },
    )
    rate, *_ = tables.of_tables(tables.PROMISED_TABLES, 1.0, 3)
    assert (rate.measured, rate.spread, rate.held) == (3000.0, (2000.0, 5000.0), False)


def test_every_command_is_measured_and_a_forgotten_one_is_named() -> None:
    commands = (*startup.SUBJECTS, *startup.OF_A_JOURNAL, startup.DAEMON)
    startup.check_all_measured(commands)
    with pytest.raises(SystemExit, match="not measured: doctor"):
        startup.check_all_measured([each for each in commands if each.argv[1] != "doctor"])
