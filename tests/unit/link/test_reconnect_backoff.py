"""How long is waited before a port is tried again."""

from __future__ import annotations

import pytest

from shoe_ctl.link.reconnect import Backoff


def delays(backoff: Backoff, until_s: float) -> list[tuple[float, float]]:
    """Each failure's time and the delay after it, when every attempt fails at once."""
    now, found = 0.0, []
    while now <= until_s:
        found.append((now, backoff.failed(now)))
        now += found[-1][1]
    return found


def test_the_first_retries_are_quick() -> None:
    assert [delay for _, delay in delays(Backoff(), 1)] == pytest.approx(
        [0.05, 0.1, 0.2, 0.25, 0.25, 0.25]
    )


def test_for_a_minute_no_delay_is_over_a_quarter_of_a_second() -> None:
    assert max(delay for at, delay in delays(Backoff(), 300) if at < 60) == 0.25


def test_later_the_delays_grow_to_a_cap() -> None:
    late = [delay for at, delay in delays(Backoff(), 300) if at >= 60]
    assert late[:6] == [0.5, 1, 2, 4, 5, 5]
    assert max(late) == 5


def test_a_shoe_that_spoke_is_waited_for_afresh() -> None:
    backoff = Backoff()
    delays(backoff, 300)
    failing = [backoff.failing]
    backoff.spoke()
    assert [*failing, backoff.failing] == [True, False]
    assert backoff.failed(1000) == 0.05
    assert backoff.failed(1059) == 0.1


def test_an_arrival_is_waited_for_as_quickly_as_a_loss_and_still_counts_as_failing() -> None:
    backoff = Backoff()
    delays(backoff, 300)
    backoff.arrived(400)
    assert backoff.failing
    assert [backoff.failed(400 + t) for t in range(4)] == pytest.approx([0.05, 0.1, 0.2, 0.25])
    assert backoff.failed(461) == 0.5


def test_a_shoe_that_died_as_it_spoke_is_waited_for_longer_at_once() -> None:
    backoff = Backoff()
    backoff.died()
    waits = [delay for at, delay in delays(backoff, 30)]
    assert waits[:9] == pytest.approx([0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5])
    backoff.spoke()
    assert backoff.failed(31) == 0.05
