"""Runs seeds by hand: ``python -m tests.simulation SEED`` says what came of it, ``--shrink`` why.

In: a seed, perhaps narrowed to some of its faults, or how many seeds. Out: a line a seed.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time

from tests.simulation.plan import Plan
from tests.simulation.run import Run, plan_for, run, shrink


def main() -> int:
    """0 where every promise was kept, 1 where one was not."""
    asked = _asked()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    logging.disable(logging.NOTSET if asked.verbose else logging.CRITICAL)
    failed = 0
    for seed in range(asked.seed, asked.seed + asked.seeds):
        began = time.perf_counter()
        result = run(_narrowed(plan_for(seed), asked))
        _say(result, time.perf_counter() - began)
        if result.failed is not None:
            failed += 1
            if asked.shrink:
                smallest = shrink(result)
                print(f"  smallest: {smallest.line}")
                print(*(f"  {fault}" for fault in smallest.plan.faults), sep="\n")
    return 1 if failed else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("--seeds", type=int, default=1, help="so many, from SEED on")
    parser.add_argument("--only", help="the numbers of the faults that strike, or none")
    parser.add_argument("--lasts", type=float, help="seconds until all becomes well")
    parser.add_argument("--shrink", action="store_true", help="find the smallest part that fails")
    parser.add_argument("-v", "--verbose", action="store_true", help="with the daemon's own log")
    return parser.parse_args()


def _narrowed(plan: Plan, asked: argparse.Namespace) -> Plan:
    if asked.only is not None:
        numbers = set() if asked.only == "none" else {int(n) for n in asked.only.split(",")}
        plan = plan.only([fault for fault in plan.faults if fault.number in numbers])
    return plan if asked.lasts is None else plan.cut(asked.lasts)


def _say(result: Run, took_s: float) -> None:
    seed = result.plan.seed
    if result.failed is not None:
        print(f"seed {seed}: {result.line}")
        return
    rounds = result.counts["rounds"]
    print(
        f"seed {seed}: kept every promise; {rounds} rounds, {sum(result.struck.values())} faults, "
        f"{result.steps} steps, {result.simulated_s:.0f} s simulated in {took_s:.1f} s, "
        f"trace {result.trace[:16]}"
    )


if __name__ == "__main__":
    sys.exit(main())
