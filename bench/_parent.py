"""A card of this commit beside a card of its parent, in two minutes at most; ``.ci/run`` asks.

In: --commit, if not the first parent; --json. Out: processor time in parts of the parent's: the
controller, decoding, packing, and a whole daemon with 40 tables. Both take turns, so that a slow
minute of the machine slows both, and the least of each counts: other programs only add to it. Exits
1 where this commit takes ``MOST`` times as much. Where there is no
parent, or its packages cannot be run by these scripts, one line says so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench._daemon import RUN
from bench._load import loaded
from bench._promises import Promise, report
from bench._table import ROOT, daemon_at, packages_at, run_with

MOST = 1.15
"""Two runs of the same code differ by a twentieth, on a busy machine by a tenth."""

STAGES = ("controller", "decode", "pack and chain")
STAGES_S = 50.0
LEAST_PAIRS, MOST_PAIRS = 3, 9

TABLES, PACE_S, SECONDS = 40, 0.1, 4.0
DAEMON_PAIRS = 3


def parent() -> str | None:
    """The first parent of what is checked out; None where git does not have it.

    A shallow clone is deepened by one commit, if the remote can be reached.
    """
    for command in ((), ("fetch", "--quiet", "--deepen=1")):
        if command:
            subprocess.run(_git(*command), capture_output=True, check=False)
        found = subprocess.run(
            _git("rev-parse", "--verify", "--quiet", "HEAD^1"),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if found.returncode == 0:
            return found.stdout.strip()
    return None


def _git(*words: str) -> tuple[str, ...]:
    return ("git", "-C", str(ROOT), *words)


def stages_us(packages: Path) -> dict[str, float]:
    """Processor time of a card at each stage, in a new process with these packages.

    Raises:
        SystemExit: this script cannot run them.
    """
    script = str(ROOT / "bench" / "shoes.py")
    printed = run_with(packages, script, "--runs", "1", "--json", may_miss=True)
    found: dict[str, float] = {}
    for each in json.loads(printed)["promises"]:  # the first profile's come first
        found.setdefault(each["name"].strip().removesuffix(", a card"), each["measured"])
    return {stage: found[stage] for stage in STAGES}


def stages(before: Path) -> list[Promise]:
    """The stages of a card, in turns, for ``STAGES_S``."""
    until = time.monotonic() + STAGES_S
    pairs: list[tuple[dict[str, float], dict[str, float]]] = []
    for number in range(MOST_PAIRS):
        if number >= LEAST_PAIRS and time.monotonic() >= until:
            break
        pairs.append((stages_us(before), stages_us(ROOT)))
    return [compared(stage, [(was[stage], now[stage]) for was, now in pairs]) for stage in STAGES]


def compared(name: str, pairs: Sequence[tuple[float, float]]) -> Promise:
    """The least of now in parts of the least before, with the range of the pairs' ratios."""
    ratios = [now / was for was, now in pairs]
    least = min(now for _, now in pairs) / min(was for was, _ in pairs)
    spread = (min(ratios), max(ratios))
    return Promise(f"{name}: times the parent's", least, most=MOST, spread=spread)


def daemons(before: Path) -> Promise:
    """A card at 40 tables in a daemon, in turns."""
    pairs = [(card_us(daemon_at(before)), card_us(RUN)) for _ in range(DAEMON_PAIRS)]
    return compared(f"a daemon with {TABLES} tables", pairs)


def card_us(run: tuple[str, ...]) -> float:
    """Processor time of a card in this daemon, whose journal may be of any form."""
    found: dict[str, Any] = loaded(TABLES, PACE_S, SECONDS, run=run, can_read=False)
    return float(found["settled_s"] / found["measured"] * 1e6)


def main() -> int:
    """Exits 1 where a card became dearer."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--commit", help="beside this one (default: the first parent)")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    commit = options.commit or parent()
    if commit is None:
        print("a card's cost was not compared: git has no parent of this commit here")
        return 0
    found: list[Promise] = []
    left_out: list[str] = []
    with packages_at(commit) as before:
        try:
            stages_us(before)
        except SystemExit as why:
            left_out.append(f"stages of a card: the parent's cannot be measured ({why})")
        else:
            found += stages(before)
        found.append(daemons(before))
    for line in left_out:
        print(f"left out: {line}", file=sys.stderr)
    return report(found, as_json=options.json, commit=commit, left_out=left_out)


if __name__ == "__main__":
    sys.exit(main())
