"""Play scenarios, each through a daemon of its own, and gather what was observed.

In: names, files and folders of scenarios. Out: reports, as each ends.
Must not know: how a report is shown, the controller.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from simulators.errors import SimulatorError, WrongUsage
from simulators.report.observations import RunReport, from_json
from simulators.report.observer import wall_us
from simulators.shoectl import find_shoectl, said_last
from simulators.table.scenario import Scenario, find

NOT_AS_EXPECTED = 1

MOST_LINES = 20
"""That a person is told of what differs; events that came as expected are left out."""


@dataclass(frozen=True, slots=True)
class Run:
    """A scenario that was played: its report, and the exit code for it."""

    report: RunReport
    exit_code: int


def find_scenarios(given: Sequence[str]) -> list[str]:
    """Return names and files of scenarios; a folder stands for the files in it, by their names.

    Raises:
        WrongUsage: a folder holds none.
    """
    found: list[str] = []
    for name in given:
        if not Path(name).is_dir():
            found.append(name)
            continue
        files = sorted(str(file) for file in Path(name).glob("*.toml"))
        if not files:
            raise WrongUsage(f"{name}: expected scenarios in this folder, there is no *.toml")
        found += files
    return found


def play_all(names: Sequence[str], *, pace_ms: int, jobs: int) -> Iterator[Run]:
    """Yield each playing in turn; ``jobs`` of them run at a time.

    Raises:
        PortFault: shoectl is not there.
    """
    find_shoectl()
    with ThreadPoolExecutor(jobs, "scenario") as pool:
        playing = [pool.submit(play_one, name, pace_ms=pace_ms) for name in names]
        try:
            for future in playing:
                yield future.result()
        finally:
            for future in playing:
                future.cancel()


def play_one(name: str, *, pace_ms: int) -> Run:
    """Play one scenario; what is wrong with it, or with this host, is in its report."""
    began_us = wall_us()
    try:
        scenario = find(name)
    except SimulatorError as wrong:
        return Run(_error(name, "", str(wrong), began_us), wrong.exit_code)
    with tempfile.TemporaryDirectory(prefix="shoe-sim-") as folder:
        return _play(scenario, name, Path(folder) / "report.json", pace_ms, began_us)


def _play(scenario: Scenario, name: str, data: Path, pace_ms: int, began_us: int) -> Run:
    command = [find_shoectl(), "demo", "--scenario", name, "--report", str(data)]
    ended = subprocess.run(
        [*command, "--pace-ms", str(pace_ms), "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
        text=True,
        errors="replace",
    )
    code = abs(ended.returncode)
    report = _read(data)
    if report is None or report.verdict == "error":  # it was broken off: shoectl says why
        why = said_last(ended.stderr)
        if report is None:
            report = _error(scenario.name, scenario.title, why, began_us)
        else:
            report = replace(report, failure=f"{name}: {why}")
        return Run(report, max(code, NOT_AS_EXPECTED))
    return Run(report, code)


def _read(data: Path) -> RunReport | None:
    try:
        text = data.read_text(encoding="utf-8")
    except OSError:
        return None
    return from_json(text, str(data))


def _error(name: str, title: str, failure: str, began_us: int) -> RunReport:
    return RunReport(
        name=Path(name).stem if "/" in name else name,
        title=title,
        verdict="error",
        failure=failure,
        began_us=began_us,
        ended_us=wall_us(),
    )


Tell = Callable[[str], None]


def tell_run(run: Run, tell: Tell) -> None:
    """Tell a person in a line how a scenario went, and below it what was wrong."""
    report = run.report
    words = {"passed": "ok", "failed": "DIFFERS", "error": "ERROR"}[report.verdict]
    tell(f"{words:8}{report.name}  {report.seconds:.1f} s")
    lines = [line for line in (report.failure or "").splitlines() if not line.startswith("    ")]
    for line in lines[:MOST_LINES]:
        tell(f"        {line}")
    if len(lines) > MOST_LINES:
        tell(f"        and {len(lines) - MOST_LINES} lines more: --report FILE.html shows all")
