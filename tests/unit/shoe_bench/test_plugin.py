"""Which tests the plugin leaves out, with which reason, and which options it refuses.

In: tests with markers, options. Out: verdicts; no daemon is started here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_bench import bench, shoe
from shoe_testing.bench_runs import ALONE, THE_PLUGIN, run_bench

PORT = "/dev/null"

MARKED = """
import pytest

@pytest.mark.simulated
def test_simulated(shoe_bench): ...

@pytest.mark.kernel
def test_kernel(shoe_bench): ...

@pytest.mark.hardware
def test_hardware(shoe_bench): ...

@pytest.mark.simulated
@pytest.mark.kernel
def test_simulated_or_kernel(shoe_bench): ...

@pytest.mark.shoe(profile="angel_eye")
def test_profile(shoe_bench): ...

@pytest.mark.shoe(cards="4D 7C", cut_after=2)
def test_cards(shoe_bench): ...

@pytest.mark.shoe_changes("unplug", "jam")
def test_changes(shoe_bench): ...

def test_any(shoe_bench): ...

@pytest.mark.kernel
def test_without_a_bench(): ...
"""

IS_A_DEVICE = f"the shoe is at {PORT}"
NO_DRIVER = f"{IS_A_DEVICE}, which has no driver of this kernel"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(*ALONE)


@pytest.fixture
def bench_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Benches that start nothing."""
    monkeypatch.setattr(bench.ShoeBench, "start", lambda _: None)


@pytest.fixture
def marked(pytester: pytest.Pytester, bench_starts: None) -> pytest.Pytester:
    pytester.makepyfile(MARKED)
    return pytester


def test_without_a_port_tests_for_devices_are_left_out(marked: pytest.Pytester) -> None:
    assert run_bench(marked).left_out == {
        "test_kernel": "kernel: the shoe is simulated (no --shoe-port)",
        "test_hardware": "hardware: the shoe is simulated (no --shoe-port)",
    }


def test_a_device_leaves_out_what_it_cannot_be_told(marked: pytest.Pytester) -> None:
    assert run_bench(marked, "--shoe-port", PORT).left_out == {
        "test_simulated": f"simulated: {NO_DRIVER}",
        "test_kernel": f"kernel: {NO_DRIVER}",
        "test_simulated_or_kernel": f"simulated or kernel: {NO_DRIVER}",
        "test_profile": f"profile angel_eye: the shoe at {PORT} is of profile reference",
        "test_cards": "cards, cut_after: the cards of a real shoe cannot be chosen",
        "test_changes": f"unplug, jam: the shoe at {PORT} takes no changes (no --shoe-control)",
    }


def test_a_port_with_a_driver_runs_what_is_for_a_kernel(
    marked: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shoe, "has_driver", lambda _: True)
    done = run_bench(marked, "--shoe-port", PORT, "--shoe-profile", "angel_eye")
    assert done.left_out.keys() == {"test_simulated", "test_cards", "test_changes"}
    assert done.left_out["test_simulated"] == f"simulated: {IS_A_DEVICE}"


def test_a_shoe_at_a_port_that_takes_changes_is_told(marked: pytest.Pytester) -> None:
    done = run_bench(marked, "--shoe-port", PORT, "--shoe-control", "shoe.ctl")
    assert done.verdicts["test_changes"] == "passed"


def test_a_change_that_was_not_named_leaves_the_test_out_when_it_comes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(begun: bench.ShoeBench) -> None:
        begun.shoe = shoe.BenchShoe(
            kind=shoe.DEVICE, profile="reference", port=PORT, control=None, tell=lambda _: None
        )

    monkeypatch.setattr(bench.ShoeBench, "start", start)
    path = pytester.makepyfile(
        "import os\ndef test_it(shoe_bench):\n    shoe_bench.shoe.change('jam')\n"
    )
    done = run_bench(pytester, "--shoe-port", PORT)
    assert done.left_out == {
        "test_it": f"jam: the shoe at {PORT} takes no changes (no --shoe-control)"
    }
    assert done.left_out_at == {"test_it": (str(path), 2)}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--shoe-control", "x"], "--shoe-control: name the shoe's port with --shoe-port"),
        (["--shoe-wait-s", "0"], "--shoe-wait-s: expected seconds above 0"),
        (["--shoe-option", "baud"], "--shoe-option: expected KEY=VALUE, not 'baud'"),
        (
            ["-p", "xdist", "--shoe-port", PORT, "-n", "2"],
            "--shoe-port: one shoe takes one test at a time",
        ),
    ],
    ids=["control", "wait", "option", "workers"],
)
def test_an_option_that_is_wrong_is_one_line(
    pytester: pytest.Pytester, words: list[str], why: str
) -> None:
    done = pytester.runpytest_inprocess(*THE_PLUGIN, *words)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"ERROR: {why}*"])


def test_a_port_that_pytest_takes_for_a_folder_of_tests_is_noticed(
    pytester: pytest.Pytester,
) -> None:
    (pytester.path / "pytest.ini").write_text("[pytest]\n")
    done = pytester.runpytest_inprocess(*THE_PLUGIN, "--shoe-port", PORT)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"ERROR: --shoe-port: write --shoe-port={PORT}*"])
    for words in ([f"--shoe-port={PORT}"], [".", "--shoe-port", PORT]):
        done = pytester.runpytest_inprocess(*THE_PLUGIN, *words)
        assert done.ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_marker_takes_keys(pytester: pytest.Pytester, bench_starts: None) -> None:
    pytester.makepyfile(
        "import pytest\n@pytest.mark.shoe_table('tiger')\ndef test_it(shoe_bench): ...\n"
    )
    failure = run_bench(pytester).failures["test_it"]
    assert 'test_it: shoe_table takes keys, such as game="tiger"' in failure


def test_a_change_that_there_is_not_is_one_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import pytest\n@pytest.mark.shoe_changes('unplg')\ndef test_it(shoe_bench): ...\n"
    )
    done = pytester.runpytest_inprocess(*THE_PLUGIN)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["ERROR: *::test_it: shoe_changes: no such change 'unplg' (*"])


MISTAKES = """
import pytest

def test_event(shoe_bench):
    shoe_bench.events.wait("Round outcome")

def test_change(shoe_bench):
    shoe_bench.shoe.change("fault", drop=3)

@pytest.mark.shoe(cardz="4D")
def test_start(shoe_bench): ...
"""


@pytest.mark.slow
def test_a_failure_shows_the_lines_of_the_test_and_none_of_the_plugin(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(MISTAKES)
    failures = run_bench(pytester).failures
    for test, why in {
        "test_event": "WrongEvent: expected an event's type first, such as round.outcome",
        "test_change": "WrongUsage: fault.drop: expected a number from 0 to 1, not 3",
        "test_start": "the simulated shoe: no known state to begin from: shoe.",
    }.items():
        shown = failures[test].partition("\n== ")[0]
        assert why in shown
        assert "shoe_bench/" not in shown, shown


def test_the_port_is_named_above_the_tests(marked: pytest.Pytester) -> None:
    done = marked.runpytest_inprocess(*THE_PLUGIN, "--co", ".", f"--shoe-port={PORT}")
    done.stdout.fnmatch_lines([f"shoe: {PORT}, profile reference"])


def test_every_marker_and_option_is_described(pytester: pytest.Pytester) -> None:
    done = pytester.runpytest_inprocess(*THE_PLUGIN, "--markers")
    for marker in ("simulated", "kernel", "hardware", "shoe", "shoe_table", "shoe_changes"):
        done.stdout.fnmatch_lines([f"@pytest.mark.{marker}*: *"])


@pytest.mark.parametrize(
    ("port", "has"), [("usb:SH-1", True), ("tcp://127.0.0.1:1", False), (PORT, False)]
)
def test_only_a_device_of_this_kernel_has_a_driver(port: str, has: bool) -> None:
    assert shoe.has_driver(port) is has


def test_a_file_or_nothing_at_all_has_no_driver(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not shoe.has_driver(str(tmp_path / "file"))
    assert not shoe.has_driver(str(tmp_path / "nothing"))
