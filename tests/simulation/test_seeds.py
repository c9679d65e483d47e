"""The whole daemon in a simulated world: every promise is kept, whatever fault strikes when."""

from __future__ import annotations

import os
import random
import time
from collections import Counter

import pytest

from shoe_testing.examples import sampled
from tests.simulation.faults import STRIKES
from tests.simulation.run import plan_for, run

FIXED = sampled(
    (pytest.param(seed, marks=[pytest.mark.slow] * (seed > 100)) for seed in range(100, 106)),
    one_in=3,
    cpu_s=0.7,
)
FRESH = 3


@pytest.mark.parametrize("seed", FIXED)
def test_a_seed_that_never_changes_keeps_every_promise(seed: int) -> None:
    result = run(plan_for(seed))
    assert result.failed is None, result.line
    assert result.counts["rounds"] > 0


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("number", range(FRESH))
def test_a_fresh_seed_keeps_every_promise(number: int) -> None:
    fresh = random.SystemRandom().getrandbits(32)
    result = run(plan_for(fresh))
    assert result.failed is None, result.line


@pytest.mark.soak
def test_seeds_keep_every_promise_for_as_long_as_the_soak_lasts(seed: int) -> None:
    """A quarter of the time that the soak has; its seeds follow from the run's."""
    end = time.monotonic() + float(os.environ["SHOE_CTL_SOAK_S"]) / 4
    struck: Counter[str] = Counter()
    number = steps = 0
    while time.monotonic() < end or number < len(STRIKES):
        result = run(plan_for((seed << 20) + number))
        assert result.failed is None, result.line
        struck += result.struck
        steps += result.steps
        number += 1
    print(f"{number} seeds, {steps} steps, {dict(struck)}")  # noqa: T201 - what a soak did
