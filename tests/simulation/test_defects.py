"""Defects that seeds have found, each as the smallest plan that showed it."""

from __future__ import annotations

import pytest

from tests.simulation.plan import Plan
from tests.simulation.plans import struck
from tests.simulation.run import run


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(
            struck(*(("clock_set", 4.0 + i) for i in range(6))), id="the table's time stood still"
        ),
        pytest.param(
            struck(*(("clock_set", 4.0 + i) for i in range(4)), ("killed", 9.0)),
            id="the table's time stood still after a restart",
        ),
        pytest.param(
            struck(("disk_full", 5.0), ("stopped", 5.0005), ("disk_full", 9.0), ("stopped", 9.0)),
            id="being stopped was forgotten as the disk failed",
        ),
    ],
)
def test_what_a_seed_found_stays_mended(plan: Plan) -> None:
    result = run(plan)
    assert result.failed is None, result.failed
