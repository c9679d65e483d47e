"""Runs all tests several times, demos, and a program that opens terminals quickly, side by side.

    python -m tests.side_by_side                      # 3 times make test, ten demos
    python -m tests.side_by_side --tests 3 'nice .venv/bin/python -m pytest -q -n0 tests/unit/link'

In: how many of each. Out: what failed, how many terminals were opened; exit code 1 if anything
failed, or if anybody wrote into a terminal that is not his or set it otherwise. The kernel gives
the numbers of ptys out again: whoever goes by an old number meets a terminal of that program.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import shlex
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SHOECTL = str(Path(sys.executable).with_name("shoectl"))
SCENARIOS = (
    "link_lost_resumes",
    "shoe_reboot_play_on",
    "link_lost_play_on",
    "host_reboot",
    "shoe_told_over_a_lost_link",
)
"""Demos in turn: of these situations, in which ports go and come back, and of a few rounds."""

AT_ONCE = 24
"""Terminals that the program has open at once, each for a moment."""

OPEN_S = 0.005
LAST_WORDS, LONGEST_WORDS = 6, 300
SHOWN = 10


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended."""

    name: str
    code: int
    seconds: float
    last_words: list[str]


def open_terminals() -> int:
    """Opens terminals until stdin ends; one line of JSON says how many, and who touched them."""
    opened, numbers, touched = 0, set(), []
    while not select.select([0], [], [], 0)[0]:
        terminals = [os.openpty() for _ in range(random.randrange(1, AT_ONCE))]
        as_made = [termios.tcgetattr(theirs) for _, theirs in terminals]
        names = [os.ttyname(theirs) for _, theirs in terminals]
        time.sleep(OPEN_S)
        for (ours, theirs), before, name in zip(terminals, as_made, names, strict=True):
            if select.select([ours], [], [], 0)[0]:
                touched.append(f"{name}: {os.read(ours, 64).hex(' ')} was written into it")
            elif termios.tcgetattr(theirs) != before:
                touched.append(f"{name} was set otherwise")
            os.close(ours)
            os.close(theirs)
        opened += len(terminals)
        numbers.update(names)
    print(json.dumps({"opened": opened, "numbers": len(numbers), "touched": touched}))
    return 0


def run(name: str, words: list[str], folder: Path) -> Done:
    """Runs one command to its end, with a folder of its own for what it leaves."""
    home = folder / name.replace(" ", "-")
    home.mkdir()
    began = time.monotonic()
    done = subprocess.run(
        words,
        cwd=ROOT,
        # Tests make folders of their own, deep ones: below another, sockets' paths are too long.
        env=os.environ | ({} if name.startswith("tests") else {"TMPDIR": str(home)}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    last = [line[:LONGEST_WORDS] for line in done.stdout.splitlines()[-LAST_WORDS:]]
    return Done(name, done.returncode, time.monotonic() - began, last)


def demo(number: int) -> list[str]:
    """The words of one demo; every other one plays a situation."""
    turn, situation = divmod(number, 2)
    if situation:
        return [SHOECTL, "demo", "--scenario", SCENARIOS[turn % len(SCENARIOS)], "--pace-ms", "5"]
    return [SHOECTL, "demo", "--rounds", "5", "--seed", str(number), "--pace-ms", "5"]


@contextmanager
def terminals_opened() -> Iterator[dict[str, Any]]:
    """The program at work; what it found is there once the block is left."""
    found: dict[str, Any] = {}
    with subprocess.Popen(
        [sys.executable, __file__, "--open-terminals"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield found
        finally:
            found |= json.loads(process.communicate()[0])


def main() -> int:
    """Exits 1 if anything failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tests", type=int, default=3, help="runs of the tests (default 3)")
    parser.add_argument("--demos", type=int, default=10, help="demos in each go (default 10)")
    parser.add_argument("--goes", type=int, default=1, help="goes of demos, one after the other")
    parser.add_argument("--open-terminals", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("command", nargs="?", default="make test", help="what runs the tests")
    options = parser.parse_args()
    if options.open_terminals:
        return open_terminals()
    tests = [(f"tests {n + 1}", shlex.split(options.command)) for n in range(options.tests)]
    ended: list[Done] = []
    with (
        tempfile.TemporaryDirectory(prefix="side-by-side-") as folder,
        ThreadPoolExecutor(max(1, options.tests + options.demos)) as pool,
        terminals_opened() as found,
    ):
        running = [pool.submit(run, name, words, Path(folder)) for name, words in tests]
        for go in range(options.goes):
            demos = [(f"demo {go + 1}.{n + 1}", demo(n)) for n in range(options.demos)]
            shown = [pool.submit(run, name, words, Path(folder)) for name, words in demos]
            ended += [each.result() for each in shown]
        ended += [each.result() for each in running]
    for done in ended:
        print(f"{'ok' if done.code == 0 else 'FAILED':7}{done.seconds:7.1f} s  {done.name}")
        for line in done.last_words if done.code or done.name.startswith("tests") else ():
            print(f"    {line}")
    failed = sum(done.code != 0 for done in ended)
    print(f"{failed} of {len(ended)} failed")
    print(f"{found['opened']} terminals opened, under {found['numbers']} numbers")
    touched = found["touched"]
    print(f"{len(touched)} of them touched by somebody")
    for line in touched[:SHOWN]:
        print(f"    {line}")
    return 1 if failed or touched else 0


if __name__ == "__main__":
    sys.exit(main())
