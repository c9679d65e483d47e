"""The guide's example is run as it stands there, and prints what the guide shows.

In: the page, a firmware behind a serial line in place of its device. Out: what pytest prints.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from shoe_bench import shoe
from shoe_bench.plugin import MARKERS
from shoe_testing.bench_runs import ALONE, THE_PLUGIN, BenchRun
from shoe_testing.console_pages import blocks, commands, matches
from shoe_testing.paths import ROOT

PAGE = (ROOT / "docs/guides/bench-tests.md").read_text("utf-8")

DEVICE = "/dev/card-shoe/SH-0042"
"""The port of the page."""


@pytest.mark.slow
def test_the_example_prints_what_the_guide_shows(
    bench_run: Callable[..., BenchRun],
    firmware_port: tuple[Path, subprocess.Popen[bytes]],
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(shoe, "ASK_AFTER_S", shoe.ASK_AFTER_S * 20)  # on a machine that stalls
    port = str(firmware_port[0])
    found = blocks(PAGE)
    (example,) = [block for block in found if block.kind == "python" and block.about]
    pytester.makeini("[pytest]")
    (pytester.path / example.about).write_text(example.text, "utf-8")
    typed = [command for block in found if block.kind == "console" for command in commands(block)]
    assert len(typed) == 2
    for command in typed:
        program, *words = shlex.split(command.typed.replace(DEVICE, port))
        assert program == "pytest"
        done = pytester.runpytest_inprocess(*THE_PLUGIN, *words)
        printed = done.stdout.str().replace(port, DEVICE)
        assert matches(command.shown, f"{printed}\n"), printed


def test_the_guide_names_every_option_and_every_marker(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(*ALONE)
    printed = pytester.runpytest_inprocess(*THE_PLUGIN, "--help").stdout.str()
    options = re.findall(r"(?m)^  (--shoe[a-z-]*)", printed)
    assert len(options) == 6
    for option in options:
        assert f"| `{option} " in PAGE
    for marker in MARKERS:
        assert f"| `{marker.partition(':')[0].partition('(')[0]}" in PAGE
