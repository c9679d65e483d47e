"""Ordinary play on simulated shoes of each profile, and where it ends: halts, limits, refusals.

In: tests. Out: verdicts, the words of failures.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shoe_testing.bench_runs import BenchRun

pytestmark = pytest.mark.slow

TESTS = """
import pytest
from shoe_bench.errors import BenchError, CommandRefused, NotInTime

@pytest.mark.parametrize("profile", [
    pytest.param(each, marks=pytest.mark.shoe(profile=each)) for each in ("angel_eye", "bee_tek")
])
def test_two_rounds(shoe_bench, profile):
    assert shoe_bench.events.only("table.started").data["profile"] == profile
    for _ in range(2):
        shoe_bench.table.play("round.settled")
    shoe_bench.table.wait_for("idle")

@pytest.mark.parametrize("profile", [
    pytest.param(each, marks=pytest.mark.shoe(profile=each))
    for each in ("reference", "angel_eye", "bee_tek")
])
def test_the_next_one(shoe_bench, profile):
    first = shoe_bench.table.play("round.settled")
    assert shoe_bench.events.wait("round.settled") == first
    shoe_bench.table.play("round.settled")
    shoe_bench.events.pass_over()
    with pytest.raises(NotInTime, match="^round.settled did not come in 0"):
        shoe_bench.events.wait("round.settled", 0)
    third = shoe_bench.table.play("round.settled")
    assert shoe_bench.events.wait("round.settled") == third != first

@pytest.mark.shoe(profile="bee_tek")
def test_lid(shoe_bench):
    shoe_bench.shoe.change("lid_open")

@pytest.mark.shoe(unreadable=[2])
def test_halts_and_limits(shoe_bench):
    with pytest.raises(NotInTime, match=r"^betting: not in 0 s; the table is idle, its link is up"):
        shoe_bench.table.wait_for("betting", within_s=0)
    with pytest.raises(CommandRefused, match="^settle: settle cannot be taken now"):
        shoe_bench.commands.give("settle")
    with pytest.raises(AssertionError, match="^place_your_bets was accepted: "):
        shoe_bench.commands.refused("place_your_bets")
    shoe_bench.commands.give("no_more_bets")
    assert shoe_bench.shoe.draw(4)[1] is None
    with pytest.raises(NotInTime, match="^draw: no card was freed in 0.05 s, 0 were drawn"):
        shoe_bench.shoe.draw(1, within_s=0.05)
    with pytest.raises(BenchError, match="the table is halted; the table is suspended, its link"):
        shoe_bench.table.play("round.settled")
    shoe_bench.commands.give(
        "decide", choice="void", reason="test", position="gaming_shift_manager"
    )
    shoe_bench.events.wait("round.void")
"""


def test_play_goes_as_the_status_says_and_ends_with_clear_words(
    bench_run: Callable[..., BenchRun], pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(TESTS)
    done = bench_run()
    assert done.verdicts == {
        "test_two_rounds[angel_eye]": "passed",
        "test_two_rounds[bee_tek]": "passed",
        "test_the_next_one[reference]": "passed",
        "test_the_next_one[angel_eye]": "passed",
        "test_the_next_one[bee_tek]": "passed",
        "test_lid": "left out",
        "test_halts_and_limits": "passed",
    }, done.failures
    assert done.left_out["test_lid"] == (
        "lid_open: a shoe of profile bee_tek cannot report that its lid was opened or closed"
    )
