"""A shoe of another process that takes changes: each test begins as the one before it did.

In: ``shoe-sim serve --control``, tests that leave it unplugged, jammed, without cards.
Out: verdicts.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from shoe_testing.bench_runs import BenchRun
from shoe_testing.command_server import WarmProgram
from simulators import ShoeControl

pytestmark = pytest.mark.slow

TESTS = """
import pytest

@pytest.fixture(autouse=True)
def begins_well(shoe_bench):
    shoe = shoe_bench.shoe.change("status").shoe
    assert shoe["plugged"] and shoe["resting"] and shoe["remaining"] > 60
    assert shoe["powered"] and not shoe["locked_by_key"] and not shoe["frozen"]
    assert not (shoe["jammed"] or shoe["fault"] or shoe["cut"] or shoe["dirty_lens"]["misread"])

def test_everything_at_once(shoe_bench):
    for _ in range(99):
        shoe_bench.shoe.change("pull", cards=4)
    shoe_bench.shoe.change("fault", drop=0.5)
    shoe_bench.shoe.change("dirty_lens", misread=1)
    shoe_bench.shoe.change("jam")
    shoe_bench.shoe.change("lock")
    shoe_bench.shoe.change("deal")
    shoe_bench.shoe.change("cut")
    shoe_bench.shoe.change("freeze")
    shoe_bench.shoe.change("unplug")

def test_no_power(shoe_bench):
    shoe_bench.shoe.change("power_off")

def test_last(shoe_bench):
    shoe_bench.table.play("round.settled")
"""


def test_what_a_test_leaves_of_the_shoe_is_undone_before_the_next(
    bench_run: Callable[..., BenchRun], pytester: pytest.Pytester, tmp_path: Path
) -> None:
    port, control = tmp_path / "shoe", tmp_path / "shoe.ctl"
    words = ("serve", "--profile", "reference", "--port", f"pty:{port}", "--seed", "1")
    program: subprocess.Popen[bytes] = WarmProgram(
        ("shoe-sim", *words, "--control", str(control)), stdout=subprocess.PIPE
    )
    with program as served:
        try:
            assert served.stdout is not None
            assert served.stdout.readline().decode().strip() == str(port)
            pytester.makepyfile(TESTS)
            done = bench_run("--shoe-port", str(port), "--shoe-control", str(control))
            with ShoeControl(control) as shoe:
                assert shoe.change("status").shoe["resting"]
        finally:
            served.terminate()
    assert set(done.verdicts.values()) == {"passed"}, done.failures
    assert len(done.verdicts) == 3


def test_a_control_socket_that_is_not_there_is_named(
    bench_run: Callable[..., BenchRun], pytester: pytest.Pytester, tmp_path: Path
) -> None:
    pytester.makepyfile("def test_it(shoe_bench): ...")
    done = bench_run("--shoe-port", str(tmp_path / "shoe"), "--shoe-control", "none.ctl")
    assert done.verdicts == {"test_it": "error in setup"}
    assert "none.ctl: no shoe answers there: No such file" in done.failures["test_it"]
