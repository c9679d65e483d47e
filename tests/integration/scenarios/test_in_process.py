"""Every shipped scenario in process, on a clock by hand: what it expects, and the same again."""

from __future__ import annotations

import pytest

from shoe_testing.bench import assert_replays, play_in_process, played_once
from simulators.table.scenario import find, shipped

HELD_BACK = [
    name for name in shipped() if any(getattr(step, "held_back", None) for step in find(name).steps)
]


@pytest.mark.parametrize("name", shipped())
async def test_a_scenario_comes_out_as_its_file_expects(name: str) -> None:
    scenario, bench, stuck, _ = await played_once(name)
    differs = scenario.differences(bench.public, bench.restricted)
    said = [text for text in (stuck, differs) if text is not None]
    if said:
        pytest.fail("\n".join(said), pytrace=False)
    assert_replays(bench)


@pytest.mark.parametrize("name", HELD_BACK)
async def test_a_report_held_back_comes_out_the_same_from_a_shoe_with_a_key(name: str) -> None:
    """The shoe's time of a card counts in authenticated frames too."""
    scenario, key = find(name), bytes(range(32))
    assert scenario.profile == "reference"
    bench, stuck = await play_in_process(scenario, key=key)
    assert (stuck, scenario.differences(bench.public, bench.restricted)) == (None, None)
    assert bench.controller.state.link.authenticated
    assert_replays(bench)
