"""The shoe's clock: it drifts by as much as it is told, and never runs backwards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulators.shoe.clock import Clock


@given(
    st.lists(
        st.tuples(st.floats(0, 1000), st.integers(-1_000_000, 1_000_000)), min_size=1, max_size=6
    )
)
def test_a_clock_never_runs_backwards_and_drifts_by_its_ppm(
    changes: list[tuple[float, int]],
) -> None:
    clock, t, reading = Clock(), 0.0, 0.0
    for seconds, ppm in changes:
        clock.drift(ppm, t)
        t += seconds
        before, reading = reading, clock.read(t)
        assert reading >= before
        assert reading - before == pytest.approx(seconds * (1 + ppm / 1e6), rel=1e-6, abs=1e-6)
