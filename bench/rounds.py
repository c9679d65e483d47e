"""What an auditor's million rounds cost: to list by the index, to verify and replay by two.

In: --rounds and more. Out: a table, or JSON: each figure beside its promise. The journals are made
in bulk; that of a million rounds takes some 4 GB. Each figure is that of a whole command, from its
start to its end. Runs by one and by two processes take turns. Times on the clock, and their ratios,
need a quiet machine; the processor's time holds on a busy one. Exits 1 where a promise is broken.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench._promises import Promise, median_of, report
from shoe_testing import bulk_journal

LAST_S = 0.5
LAST_WORK_S = 0.15
ALL_S = 20
ALL_WORK_US = 20
FASTER = 1.5
MORE_WORK = 1.1

SHOECTL = Path(sys.executable).with_name("shoectl")


def run(*words: str | Path) -> tuple[float, float, int]:
    """Run shoectl; return its seconds, its processor's seconds and the lines that it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run((SHOECTL, *words), stdout=subprocess.PIPE, check=True)
    took = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, worked, done.stdout.count(b"\n")


def listing(made: bulk_journal.Made, passes: int) -> list[Promise]:
    """The last hundred rounds, then all of them."""
    last, last_worked, whole, worked = [], [], [], []
    for _ in range(passes):
        took, work, lines = run("rounds", made.path, "--last", "100", "--json")
        if not 100 < lines <= 103:
            raise SystemExit(f"{lines} lines for the last 100 rounds")
        last.append(took)
        last_worked.append(work)
        took, work, lines = run("rounds", made.path, "--json")
        if lines <= made.rounds:
            raise SystemExit(f"{lines} lines for {made.rounds} rounds and their shoes")
        whole.append(took)
        worked.append(work / made.rounds * 1e6)
    return [
        median_of("last 100 rounds", last, unit="s", most=LAST_S),
        median_of("last 100, processor's time", last_worked, unit="s", most=LAST_WORK_S),
        median_of("all rounds", whole, unit="s", most=ALL_S),
        median_of("a round of all, processor's time", worked, unit="us", most=ALL_WORK_US),
    ]


def shared(command: str, path: Path, passes: int) -> list[Promise]:
    """A command by one process and by two, in turn."""
    faster, more = [], []
    for _ in range(passes):
        alone, alone_worked, _ = run(command, path)
        by_two, both_worked, _ = run(command, path, "--jobs", "2")
        faster.append(alone / by_two)
        more.append(both_worked / alone_worked)
    return [
        median_of(f"{command}, two processes to one", faster, unit="times", least=FASTER),
        median_of(f"{command}, processor's time of two", more, unit="times", most=MORE_WORK),
    ]


def main() -> int:
    """Exits 1 where something promised is not held."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1_000_000, help="to list (1000000)")
    parser.add_argument("--replayed", type=int, default=50_000, help="to replay and verify (50000)")
    parser.add_argument("--passes", type=int, default=3, help="of each (3)")
    parser.add_argument("--folder", type=Path, help="where to make it; 4 kB a round are needed")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    if min(options.rounds, options.replayed) < 1000 or options.passes < 1:
        parser.error("--rounds, --replayed: a thousand at least; --passes: one")
    folder = Path(tempfile.mkdtemp(prefix="rounds-", dir=options.folder))
    try:
        short = bulk_journal.make(folder / "short.db", options.replayed)
        found = [
            *shared("replay", short.path, options.passes),
            *shared("verify", short.path, options.passes),
        ]
        long = bulk_journal.make(folder / "long.db", options.rounds)
        size = long.path.stat().st_size
        found += [Promise("bytes a round", size / long.rounds, "bytes")]
        found += listing(long, options.passes)
    finally:
        shutil.rmtree(folder)
    if not options.json:
        print(f"{long.rounds:,} rounds, {long.records:,} records; {short.rounds:,} replayed")
    return report(found, as_json=options.json, rounds=long.rounds, records=long.records)


if __name__ == "__main__":
    sys.exit(main())
