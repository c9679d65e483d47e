"""One plan, run to its end in a folder and a loop of its own.

In: a Plan. Out: a Run: what was counted, or how it failed. Must not know: what a plan holds.
"""

from __future__ import annotations

import tempfile
from asyncio.events import _set_running_loop
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from shoe_testing.simulated_time import VirtualLoop
from tests.simulation.broken import Broken
from tests.simulation.faults import APART, WEIGHTS
from tests.simulation.plan import Plan, plan_of
from tests.simulation.shrink import shrunk
from tests.simulation.world import World

MEMORY = Path("/dev/shm")
"""Files in memory, where there are such: a simulated disk needs no real one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """``failed`` is what broke, as one line, None where nothing did; ``kind`` groups it.

    ``steps`` are callbacks of the loop, ``simulated_s`` seconds of its time. ``trace`` stands for
    all that was told, by whom and when: it is the same whenever the same plan runs.
    """

    plan: Plan
    failed: str | None
    kind: str | None
    steps: int
    simulated_s: float
    counts: Counter[str]
    struck: Counter[str]
    trace: str

    @property
    def line(self) -> str:
        """What failed, and the command that runs exactly this again."""
        return f"{self.failed} | run again: {self.plan.command}"


def plan_for(seed: int) -> Plan:
    """The seed's plan, with every kind of fault there is."""
    return plan_of(seed, WEIGHTS, APART)


def run(plan: Plan) -> Run:
    """Runs it. Whatever goes wrong is in the result, but for an interruption."""
    where = str(MEMORY) if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="simulated-", dir=where) as folder:
        loop = VirtualLoop()
        _set_running_loop(loop)
        try:
            world = World(plan, Path(folder), loop)
        finally:
            _set_running_loop(None)
        failed = kind = None
        counts: Counter[str] = Counter()
        try:
            counts = loop.run_until_complete(world.run())
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the seed found
            failed = f"{type(error).__name__}: {error}"
            kind = error.promise if isinstance(error, Broken) else type(error).__name__
        finally:
            world.close()
    return Run(
        plan=plan,
        failed=failed,
        kind=kind,
        steps=loop.steps,
        simulated_s=loop.time(),
        counts=counts,
        struck=world.struck,
        trace=world.trace.hexdigest(),
    )


def shrink(first: Run) -> Run:
    """The smallest part of a failed run that fails in the same way."""
    last = first

    def fails(plan: Plan) -> bool:
        nonlocal last
        found = run(plan)
        if found.kind != first.kind:
            return False
        last = found
        return True

    shrunk(first.plan, fails)
    return last
