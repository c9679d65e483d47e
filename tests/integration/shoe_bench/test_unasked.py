"""A device that does what a test did not ask for ends that test, with its bytes in the report.

In: a firmware behind a serial line whose lid is opened, whose cards are pulled, that ends.
Out: verdicts, what the report shows, how the next test begins.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from shoe_testing.bench_runs import BenchRun
from shoe_testing.firmware_kit import shoe_on_a_pty

pytestmark = pytest.mark.slow

HANDS = """
import os, signal, pytest

SHOE = {pid}

def someone(number):
    os.kill(SHOE, number)
"""


@pytest.fixture
def run_on_firmware(
    bench_run: Callable[..., BenchRun],
    firmware_port: tuple[Path, subprocess.Popen[bytes]],
    pytester: pytest.Pytester,
) -> Callable[[str], BenchRun]:
    """Tests on the firmware; ``someone`` opens its lid, or pulls a card out."""
    port, process = firmware_port

    def run(tests: str) -> BenchRun:
        pytester.makepyfile(HANDS.format(pid=process.pid) + tests)
        return bench_run("--shoe-port", str(port))

    return run


def test_it_ends_the_test_with_the_bytes_and_the_next_test_begins_anew(
    run_on_firmware: Callable[[str], BenchRun],
) -> None:
    done = run_on_firmware("""
def test_lid(shoe_bench):
    shoe_bench.table.play("round.card_dealt hand=banker index=2")
    someone(signal.SIGUSR1)
    shoe_bench.table.play("round.settled")

def test_card(shoe_bench):
    shoe_bench.commands.give("place_your_bets")
    someone(signal.SIGUSR2)
    shoe_bench.events.wait("round.settled")

def test_lid_that_was_asked_for(shoe_bench):
    someone(signal.SIGUSR1)
    assert shoe_bench.events.wait("shoe.noted what=lid").data["open"] is False

def test_card_that_was_asked_for(shoe_bench):
    shoe_bench.expect("irregularity.raised key=overdraw")
    shoe_bench.commands.give("place_your_bets")
    someone(signal.SIGUSR2)
    shoe_bench.table.wait_for("suspended")

def test_afterwards(shoe_bench):
    shoe_bench.table.play("round.settled")
""")
    assert done.verdicts == {
        "test_lid": "failed",
        "test_card": "failed",
        "test_lid_that_was_asked_for": "passed",
        "test_card_that_was_asked_for": "passed",
        "test_afterwards": "passed",
    }, done.failures
    lid, card = done.failures["test_lid"], done.failures["test_card"]
    for report in (lid, card):
        assert "Unasked: the shoe did what the test did not ask for:" in report
        assert "== bytes of the shoe ==" in report
    assert "shoe > host" in lid and "lid" in lid
    assert "card_drawn" in card and "armed=false" in card


PASSES = """
def test_nothing(shoe_bench):
    pass
"""


@pytest.mark.parametrize(
    ("left", "why"),
    [
        ("unplugged", "no known state to begin from: the daemon ended with exit code 3"),
        ("410", "the shoe's cutting card is out: load the next set of cards"),
    ],
)
def test_a_test_that_cannot_begin_says_why(  # noqa: PLR0913 - fixtures
    bench_run: Callable[..., BenchRun],
    firmware: Path,
    tmp_path: Path,
    pytester: pytest.Pytester,
    left: str,
    why: str,
) -> None:
    pytester.makepyfile(PASSES)
    port = tmp_path / "shoe"
    with ExitStack() as held:
        if left != "unplugged":
            held.enter_context(shoe_on_a_pty(firmware, port, "KIT-1", "1", left))
        done = bench_run("--shoe-port", str(port))
    assert done.verdicts == {"test_nothing": "error in setup"}
    assert why in done.failures["test_nothing"]
    assert str(port) in done.failures["test_nothing"]
