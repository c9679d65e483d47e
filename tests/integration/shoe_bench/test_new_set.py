"""A test changes the set of cards and plays on, on a shoe of each profile.

In: tests of an outsider. Out: verdicts.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from firmware_proto.profiles import PROFILES
from shoe_testing.bench_runs import BenchRun

pytestmark = pytest.mark.slow

TESTS = """
import pytest

@pytest.mark.parametrize("profile", [
    pytest.param(each, marks=pytest.mark.shoe(profile=each))
    for each in ("reference", "angel_eye", "bee_tek")
])
def test_new_set(shoe_bench, profile):
    shoe_bench.table.play("round.settled")
    loaded = shoe_bench.table.new_shoe(seed=7)
    assert loaded.data["shoe_id"] == "bench-s2"
    shoe_bench.commands.give("place_your_bets")
    shoe_bench.commands.give("no_more_bets")
    drawn = shoe_bench.shoe.draw(4)
    shoe_bench.table.play("round.settled")
    cards = [
        event.data["card"]
        for event in shoe_bench.events.all("round.card_drawn round_id=bench-s2-r2")
    ]
    assert cards[:4] == drawn
    assert not shoe_bench.events.all("irregularity.raised")
    shoe_bench.table.new_shoe()
    shoe_bench.table.play("round.settled")
    assert [e.data["shoe_id"] for e in shoe_bench.events.all("shoe.loaded")] == [
        "bench-s1", "bench-s2", "bench-s3"
    ]

def test_within_a_round(shoe_bench):
    from shoe_bench.errors import CommandRefused
    shoe_bench.table.play("round.card_dealt")
    with pytest.raises(CommandRefused, match="^change_shoe: "):
        shoe_bench.table.new_shoe()
    shoe_bench.table.play("round.settled")
"""


def test_another_set_is_loaded_and_play_goes_on_with_its_first_card(
    bench_run: Callable[..., BenchRun], pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(TESTS)
    done = bench_run()
    assert done.verdicts == {
        **{f"test_new_set[{profile}]": "passed" for profile in PROFILES},
        "test_within_a_round": "passed",
    }, done.failures


def test_a_device_that_takes_no_changes_leaves_the_test_out_before_anything_is_said(
    bench_run: Callable[..., BenchRun], pytester: pytest.Pytester, served_port: str
) -> None:
    pytester.makepyfile("def test_change(shoe_bench): shoe_bench.table.new_shoe()")
    done = bench_run(f"--shoe-port={served_port}")
    assert done.left_out == {
        "test_change": f"new_shoe: the shoe at {served_port} takes no changes (no --shoe-control)"
    }, done.failures
