"""Measures how long the tests of an earlier commit and of this checkout take, in turn.

    python -m tools.test_times --before 25e38fb --runs 2
    python -m tools.test_times --runs 1 --target quick --folders --slowest 30

In: the earlier commit (without one only this checkout is measured), how often, a target of make.
Out: for each run its time by the clock, its processor time and that of all other programs, and the
last line of pytest; then the medians. ``--folders`` and ``--slowest`` add the processor time of
each folder and of the slowest tests, in the last run. Exits 1 if tests failed, or if this
checkout's median is longer than ``--most`` seconds.

The earlier commit gets a checkout and an environment of its own in a temporary folder. Both set
themselves up and compile everything before the first run, which is not measured. Use an idle
machine: what other programs take is shown, and is to be small.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLUGIN = Path(__file__).with_name("cpu_times.py")
TICKS = os.sysconf("SC_CLK_TCK")

LEFT_OUT = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHONDONTWRITEBYTECODE", "PYTEST_ADDOPTS")
"""Of the environment: both checkouts keep their bytecode, whatever their Makefiles say."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the tests. ``others_s`` is the processor time of all other programs meanwhile."""

    name: str
    code: int
    wall_s: float
    cpu_s: float
    others_s: float
    summary: str
    collection_s: float = 0.0
    tests: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@contextmanager
def checkout_of(commit: str) -> Iterator[Path]:
    """A checkout of the commit, without the rest of the repository.

    Raises:
        SystemExit: this repository does not have the commit.
    """
    packed = subprocess.run(
        ("git", "-C", str(ROOT), "archive", commit), capture_output=True, check=False
    )
    if packed.returncode != 0:
        raise SystemExit(f"{commit}: git cannot export it: {packed.stderr.decode().strip()}")
    # In a folder with a short name: sockets of tests may lie below it.
    with tempfile.TemporaryDirectory(prefix="tests-") as folder:
        subprocess.run(("tar", "-x", "-C", folder), input=packed.stdout, check=True)
        # Tests that ask git which files there are find a repository with one commit.
        git = ("git", "-C", folder, "-c", "user.name=tests", "-c", "user.email=tests@localhost")
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", commit)):
            subprocess.run((*git, *words), check=True)
        yield Path(folder)


def environment(**more: str) -> dict[str, str]:
    """What make is run with."""
    return {key: value for key, value in os.environ.items() if key not in LEFT_OUT} | more


def set_up(checkout: Path, target: str, workers: str) -> None:
    """Let the checkout set itself up and compile its tests.

    Raises:
        SystemExit: it cannot.
    """
    words = ("make", target, f"WORKERS={workers}", "ARGS=--collect-only -q")
    done = subprocess.run(
        words, cwd=checkout, env=environment(), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{checkout}: {' '.join(words)} failed:\n{done.stdout}{done.stderr}")


def busy_s() -> float:
    """Processor seconds that all programs of this machine have taken since it was started."""
    _, user, nice, system, *_ = Path("/proc/stat").read_text().split(None, 5)
    return (int(user) + int(nice) + int(system)) / TICKS


def run_tests(name: str, checkout: Path, target: str, workers: str, log: Path) -> Run:
    """Run the target once."""
    with tempfile.TemporaryDirectory(prefix="cpu-times-") as folder, log.open("wb") as out:
        shutil.copy(PLUGIN, folder)
        env = environment(
            CPU_TIMES_FOLDER=folder, PYTHONPATH=folder, PYTEST_ADDOPTS=f"-p {PLUGIN.stem}"
        )
        busy, began = busy_s(), time.monotonic()
        process = subprocess.Popen(
            ("make", target, f"WORKERS={workers}"),
            cwd=checkout,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        _, status, used = os.wait4(process.pid, 0)
        wall_s, busy = time.monotonic() - began, busy_s() - busy
        process.returncode = os.waitstatus_to_exitcode(status)
        written = [json.loads(path.read_text()) for path in Path(folder).glob("*.json")]
    cpu_s = used.ru_utime + used.ru_stime
    lines = [line for line in log.read_text(errors="replace").splitlines() if " in " in line]
    return Run(
        name,
        process.returncode,
        wall_s,
        cpu_s,
        max(0.0, busy - cpu_s),
        lines[-1].strip("= ") if lines else "(no summary)",
        sum(each["collection_s"] for each in written),
        {test: (cpu, wall) for each in written for test, (cpu, wall) in each["tests"].items()},
    )


def by_folder(tests: Mapping[str, tuple[float, float]]) -> dict[str, tuple[int, float]]:
    """How many tests there are in each folder, and their processor seconds."""
    found: dict[str, tuple[int, float]] = {}
    for test, (cpu_s, _) in sorted(tests.items()):
        folder = test.partition("::")[0].rpartition("/")[0]
        count, sum_s = found.get(folder, (0, 0.0))
        found[folder] = (count + 1, sum_s + cpu_s)
    return found


def show(run: Run) -> None:
    """Print one run in a line."""
    print(
        f"{run.name:10} {run.wall_s:7.1f} {run.cpu_s:7.1f} {run.others_s:8.1f}  "
        f"{'' if run.code == 0 else 'FAILED: '}{run.summary}",
        flush=True,
    )


def show_medians(runs: list[Run], names: list[str]) -> dict[str, float]:
    """Print the medians, and how the two checkouts compare; return the times by the clock."""
    medians = {}
    print()
    for name in names:
        of = [run for run in runs if run.name == name]
        medians[name] = statistics.median(run.wall_s for run in of)
        cpu_s = statistics.median(run.cpu_s for run in of)
        print(f"median {name:10} {medians[name]:7.1f} s by the clock, {cpu_s:7.1f} s of processor")
    if len(names) > 1:
        print(f"{names[0]} takes {medians[names[0]] / medians[names[1]]:.2f} times as long")
    return medians


def show_details(run: Run, *, folders: bool, slowest: int) -> None:
    """Print where the processor time of a run went."""
    if folders:
        print(f"\n{run.name}: processor seconds by folder; {run.collection_s:.1f} of collection")
        for folder, (count, cpu_s) in by_folder(run.tests).items():
            print(f"{cpu_s:8.1f}  {count:5}  {folder}")
    if slowest:
        print(f"\n{run.name}: the slowest tests, processor seconds and seconds by the clock")
        in_order = sorted(run.tests.items(), key=lambda each: -each[1][0])
        for test, (cpu_s, wall_s) in in_order[:slowest]:
            print(f"{cpu_s:8.2f} {wall_s:7.2f}  {test}")


def main() -> int:
    """Exits 1 if tests failed, or took too long."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--before", metavar="COMMIT", help="an earlier commit to compare with")
    parser.add_argument("--runs", type=int, default=2, help="of each checkout (default 2)")
    parser.add_argument("--target", default="test", help="of make: test (default), quick, test-all")
    parser.add_argument("--workers", default="auto", help="processes (default: as the Makefile)")
    parser.add_argument("--most", type=float, metavar="SECONDS", help="that this checkout may take")
    parser.add_argument("--folders", action="store_true", help="show the time of each folder")
    parser.add_argument("--slowest", type=int, default=0, metavar="N", help="show so many tests")
    parser.add_argument("--logs", type=Path, metavar="FOLDER", help="keep what each run printed")
    options = parser.parse_args()
    names = ["now"] if options.before is None else [options.before, "now"]
    runs: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="test-times-") as temporary:
        logs = options.logs or Path(temporary)
        logs.mkdir(parents=True, exist_ok=True)
        if options.before is None:
            measure(runs, {"now": ROOT}, options, logs)
        else:
            with checkout_of(options.before) as earlier:
                measure(runs, {options.before: earlier, "now": ROOT}, options, logs)
    medians = show_medians(runs, names)
    for name in names:
        last = [run for run in runs if run.name == name][-1]
        show_details(last, folders=options.folders, slowest=options.slowest)
    too_long = options.most is not None and medians["now"] > options.most
    if too_long:
        print(f"\nnow takes longer than {options.most:g} s")
    return int(too_long or any(run.code for run in runs))


def measure(
    runs: list[Run], checkouts: Mapping[str, Path], options: argparse.Namespace, logs: Path
) -> None:
    """Run the tests of each checkout in turn, and note each run."""
    for checkout in checkouts.values():
        set_up(checkout, options.target, options.workers)
    cores = len(os.sched_getaffinity(0))
    print(
        f"make {options.target}, {cores} cores, load {os.getloadavg()[0]:.1f} before the first run"
    )
    print(f"{'':10} {'clock s':>7} {'CPU s':>7} {'others s':>8}")
    for number in range(1, options.runs + 1):
        for name, checkout in checkouts.items():
            log = logs / f"{name}-{number}.log"
            runs.append(run_tests(name, checkout, options.target, options.workers, log))
            show(runs[-1])


if __name__ == "__main__":
    sys.exit(main())
