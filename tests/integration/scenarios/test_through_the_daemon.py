"""The same scenarios through the running daemon: real bytes over a pty, commands by its socket."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_testing.daemon import nothing_is_wrong_with, play_through_daemon
from shoe_testing.examples import sampled
from simulators.table.scenario import find, shipped

pytestmark = pytest.mark.slow


ONE_IN = 12
"""Of so many one is played in every run. In process all are: ``test_in_process.py``."""


@pytest.mark.parametrize("name", sampled(shipped(), one_in=ONE_IN, cpu_s=0.2))
async def test_a_scenario_comes_out_the_same_through_the_daemon(name: str, tmp_path: Path) -> None:
    scenario = find(name)
    public, restricted, stuck = await play_through_daemon(scenario, tmp_path)
    differs = scenario.differences(public, restricted)
    said = [text for text in (stuck, differs) if text is not None]
    if said:
        pytest.fail("\n".join(said), pytrace=False)
    nothing_is_wrong_with(tmp_path / "journal.db")
