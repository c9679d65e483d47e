"""Where the time of one card goes in a daemon, stage by stage, by how long the table rested before.

In: --seconds a pace. Out: a table (or JSON) in microseconds: the mean of the cards in the middle, a
fifth of all, by their whole time. A simulated shoe at a pty is dealt at 3, 30 and 300 ms, and a
daemon notes the time between the stages of each card. The rest matters: after it, the code and the
data that a card needs are no longer in the processor's caches. Nothing is promised here; `line`
promises the whole, which is longer by what both processes take to wake up.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from bench._line import played
from bench._stages import STAGES

PACES_MS = (3, 30, 300)
LEAST_CARDS = 20
NAME_COLUMNS = 40


def stages_us(pace_ms: int, seconds: float) -> tuple[list[float], int]:
    """The time of each stage and of all together, and how many cards were noted.

    Raises:
        SystemExit: too few cards were seen at every stage.
    """
    with tempfile.TemporaryDirectory(prefix="shoe-ctl-") as folder:
        noted = Path(folder) / "stages.json"
        run = (sys.executable, "-m", "bench._stages", str(noted))
        played(pace_ms / 1000, seconds, run=run)
        cards = [[0, *times] for times in json.loads(noted.read_text())]
    if len(cards) < LEAST_CARDS:
        raise SystemExit(f"{pace_ms} ms: {len(cards)} cards noted, {LEAST_CARDS} are needed")
    cards.sort(key=lambda times: times[-1])
    middle = cards[len(cards) * 2 // 5 : len(cards) * 3 // 5]
    spans = [[after - before for before, after in pairwise(times)] for times in middle]
    stages = [statistics.fmean(span) / 1e3 for span in zip(*spans, strict=True)]
    return [*stages, sum(stages)], len(cards)


def main() -> int:
    """Measure and print; 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10, help="at each pace (default 10)")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    found = {}
    for pace_ms in PACES_MS:
        found[pace_ms] = stages_us(pace_ms, options.seconds)
    names = (*STAGES, "all")
    if options.json:
        print(json.dumps({
            f"{pace_ms} ms": {"cards": cards, "us": dict(zip(names, us, strict=True))}
            for pace_ms, (us, cards) in found.items()
        }))  # fmt: skip
        return 0
    print(" " * NAME_COLUMNS + "".join(f"{f'{pace} ms':>9}" for pace in found) + "   (µs)")
    for at, name in enumerate(names):
        row = "".join(f"{us[at]:9.0f}" for us, _ in found.values())
        print(f"{name:{NAME_COLUMNS}}{row}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
