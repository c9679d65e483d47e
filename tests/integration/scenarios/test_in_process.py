"""Every shipped scenario in process, on a clock by hand: what it expects, and the same again."""

from __future__ import annotations

import pytest

from shoe_testing.bench import assert_replays, played_once
from simulators.table.scenario import shipped


@pytest.mark.parametrize("name", shipped())
async def test_a_scenario_comes_out_as_its_file_expects(name: str) -> None:
    scenario, bench, stuck, _ = await played_once(name)
    differs = scenario.differences(bench.public, bench.restricted)
    said = [text for text in (stuck, differs) if text is not None]
    if said:
        pytest.fail("\n".join(said), pytrace=False)
    assert_replays(bench)
