"""More than one shoe in a test: each at a table of its own, and a report that tells them apart.

In: tests of an outsider. Out: verdicts, the sections of a failure.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shoe_testing.bench_runs import BenchRun

pytestmark = pytest.mark.slow

TESTS = """
def test_three(shoe_bench, open_shoe_bench):
    others = [
        open_shoe_bench(profile="angel_eye"),
        open_shoe_bench(profile="bee_tek", table={"game": "dragon_tiger_no_commission"}),
    ]
    benches = [shoe_bench, *others]
    assert len({bench.socket for bench in benches}) == 3
    assert len({bench.journal for bench in benches}) == 3
    others[0].table.play("round.card_dealt")
    shoe_bench.shoe.change("unplug")
    shoe_bench.events.wait("shoe.lost")
    for bench in others:
        bench.table.play("round.settled")
        assert bench.events.only("round.outcome").data["game"] == bench.table.status["game"]
        assert not bench.events.all("shoe.lost")

def test_another_alone(open_shoe_bench):
    open_shoe_bench(cards="4D 7C 5S QH").table.play("round.outcome winner=player player.total=9")

def test_the_second_one_does_what_nobody_asked_for(shoe_bench, open_shoe_bench):
    other = open_shoe_bench()
    other.shoe._made("lid_open", {})
    other.events.wait_for_news("the lid", 30)
"""


def test_each_shoe_has_a_table_of_its_own_and_what_one_does_is_told_of_it(
    bench_run: Callable[..., BenchRun], pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(TESTS)
    done = bench_run()
    assert done.verdicts == {
        "test_three": "passed",
        "test_another_alone": "passed",
        "test_the_second_one_does_what_nobody_asked_for": "failed",
    }, done.failures
    told = done.failures["test_the_second_one_does_what_nobody_asked_for"]
    assert "shoe.noted open=true" in told
    assert "== events at the shoe bench ==" in told
    assert "== events at the shoe bench 2 ==" in told
    first, second = told.split("== events at the shoe bench 2 ==")
    assert "what=lid" not in first.partition("== events at the shoe bench ==")[2]
    assert "what=lid" in second


def test_beside_a_device_the_others_are_simulated(
    bench_run: Callable[..., BenchRun], pytester: pytest.Pytester, served_port: str
) -> None:
    pytester.makepyfile(
        "def test_two(shoe_bench, open_shoe_bench):\n"
        "    other = open_shoe_bench()\n"
        "    assert (shoe_bench.shoe.kind, other.shoe.kind) == ('device', 'simulated')\n"
        "    other.table.play('round.settled')\n"
    )
    assert bench_run(f"--shoe-port={served_port}").verdicts == {"test_two": "passed"}
