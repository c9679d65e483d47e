"""The suite that ships with the plugin: the same verdicts on every shoe.

In: the suite, a simulated shoe, a firmware built from the kit behind a serial line. Out: verdicts.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from shoe_testing.bench_runs import BenchRun

SUITE = ("--pyargs", "shoe_bench.examples")

NOT_FOR_A_DEVICE = {
    "test_a_natural_nine_wins_and_no_more_cards_are_drawn": (
        "cards: the cards of a real shoe cannot be chosen"
    ),
    "test_a_round_goes_on_when_the_cable_is_back": (
        "unplug, replug: the shoe at {port} takes no changes (no --shoe-control)"
    ),
}

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "some",
    [
        pytest.param(("-k", "natural or cable or started"), id="some"),
        pytest.param((), marks=pytest.mark.exhaustive(cpu_s=4), id="all"),
    ],
)
def test_a_firmware_behind_a_serial_line_gets_the_verdicts_of_a_simulated_shoe(
    bench_run: Callable[..., BenchRun],
    firmware_port: tuple[Path, subprocess.Popen[bytes]],
    some: tuple[str, ...],
) -> None:
    port, _ = firmware_port
    simulated = bench_run(*SUITE, *some)
    assert set(simulated.verdicts.values()) == {"passed"}, simulated.failures
    assert len(simulated.verdicts) >= 3
    device = bench_run(*SUITE, *some, "--shoe-port", str(port))
    assert device.failures == {}
    wanted = {name: why.format(port=port) for name, why in NOT_FOR_A_DEVICE.items()}
    assert device.left_out == wanted
    assert device.verdicts == {
        name: "left out" if name in wanted else verdict
        for name, verdict in simulated.verdicts.items()
    }


@pytest.mark.parametrize(
    ("profile", "some"),
    [
        pytest.param("bee_tek", ("-k", "cards_come"), id="some"),
        pytest.param("bee_tek", (), marks=pytest.mark.exhaustive(cpu_s=4), id="bee_tek"),
        pytest.param("angel_eye", (), marks=pytest.mark.exhaustive(cpu_s=4), id="angel_eye"),
    ],
)
def test_a_simulated_shoe_of_each_profile_passes(
    bench_run: Callable[..., BenchRun], profile: str, some: tuple[str, ...]
) -> None:
    done = bench_run(*SUITE, *some, "--shoe-profile", profile)
    assert set(done.verdicts.values()) == {"passed"}, done.failures
