"""pytest run with the plugin ``shoe_bench``, in this process, and the verdicts of each test.

In: tests, options. Out: which passed, failed, were left out and why; what a report shows.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

WITHIN_S = "120"
"""How long anything may take on a machine that has stalled."""

ALONE = ("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
"""A variable of the environment: no plugin but those named. Others take most of a run's time."""

THE_PLUGIN = ("-p", "shoe_bench")


@dataclass(frozen=True, slots=True)
class BenchRun:
    """Each by the test's name: ``verdicts``, the reasons of ``left_out``, texts of ``failures``.

    ``left_out_at`` has file and line.
    """

    verdicts: dict[str, str]
    left_out: dict[str, str]
    left_out_at: dict[str, tuple[str, int]]
    failures: dict[str, str]


def run_bench(pytester: pytest.Pytester, *words: str) -> BenchRun:
    """Runs pytest with these words, and the plugin that is under test."""
    options = (*THE_PLUGIN, "-p", "no:cacheprovider", "--shoe-wait-s", WITHIN_S, "-rs")
    # Without it pytest goes by the port, and looks through every folder above the tests.
    done = pytester.inline_run(f"--rootdir={pytester.path}", *options, *words)
    verdicts: dict[str, str] = {}
    left_out: dict[str, str] = {}
    left_out_at: dict[str, tuple[str, int]] = {}
    failures: dict[str, str] = {}
    for report in done.getreports("pytest_runtest_logreport"):
        assert isinstance(report, pytest.TestReport)
        name = report.nodeid.rpartition("::")[2]
        if report.failed:
            verdicts[name] = "failed" if report.when == "call" else f"error in {report.when}"
            sections = "\n".join(f"== {title} ==\n{text}" for title, text in report.sections)
            failures[name] = f"{report.longreprtext}\n{sections}"
        elif report.skipped:
            assert isinstance(report.longrepr, tuple)
            verdicts[name] = "left out"
            left_out_at[name] = report.longrepr[:2]
            left_out[name] = report.longrepr[2].removeprefix("Skipped: ")
        elif report.when == "call":
            verdicts[name] = "passed"
    return BenchRun(verdicts, left_out, left_out_at, failures)


def suite_command(folder: Path, *options: str) -> list[str]:
    """The words that run the plugin's own suite, in any process; its verdicts come to a folder."""
    return [
        *("env", "=".join(ALONE), sys.executable, "-m", "pytest", "-c", os.devnull, *THE_PLUGIN),
        *("-p", "no:cacheprovider", "--junit-xml", str(folder / "verdicts.xml"), "-rs"),
        *("--shoe-wait-s", WITHIN_S, *options),
        *("--pyargs", "shoe_bench.examples"),
    ]


def read_verdicts(folder: Path) -> dict[str, str]:
    """What became of each test of ``suite_command``, by its name: ``passed``, or what and why."""
    verdicts = {}
    for case in ET.parse(folder / "verdicts.xml").iter("testcase"):
        ends = [f"{end.tag}: {end.get('message')}" for end in case if end.get("message")]
        verdicts[case.attrib["name"]] = "; ".join(ends) or "passed"
    return verdicts
