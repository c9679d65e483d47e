"""Times in ranges: what they say of many times is true within a percent."""

from __future__ import annotations

import random

import pytest

from simulators.floor.times import Times


def test_percentiles_are_right_within_a_percent_and_the_longest_is_exact() -> None:
    draw = random.Random(7)
    seconds = sorted(10 ** draw.uniform(-5, 1) for _ in range(5000))
    parts = [Times(), Times()]
    for at, each in enumerate(seconds):
        parts[at % 2].add(each)
    whole = Times.together(parts)
    assert whole.count == 5000
    assert whole.longest_s == seconds[-1]
    for share in (0.01, 0.5, 0.99):
        assert whole.percentile(share) == pytest.approx(seconds[int(share * 5000) - 1], rel=0.0101)
    assert whole.percentile(1.0) == pytest.approx(seconds[-1], rel=0.0101)


def test_ranges_of_two_runs_put_together_give_the_percentiles_of_all_times() -> None:
    runs = [Times(), Times()]
    for at in range(1000):
        runs[at % 2].add((at + 1) / 1000)
    assert runs[0].ranges == sorted(runs[0].ranges)
    assert sum(count for _, count in runs[0].ranges) == 500
    pooled = sorted(s for run in runs for s, count in run.ranges for _ in range(count))
    for share in (0.01, 0.5, 0.99):
        assert pooled[int(share * 1000) - 1] == pytest.approx(share, rel=0.03)


def test_times_out_of_any_range_are_counted() -> None:
    times = Times()
    assert times.percentile(0.99) == 0.0
    for seconds in (0.0, 1e-9, 1e6):
        times.add(seconds)
    assert (times.count, times.longest_s) == (3, 1e6)
    assert times.percentile(0.5) == pytest.approx(1e-6, rel=0.02)
    times.clear()
    assert (times.count, times.longest_s, times.percentile(0.5)) == (0, 0.0, 0.0)
