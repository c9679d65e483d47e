"""Every shipped scenario in process, on a clock by hand: what it expects, and the same again."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from shoe_ctl.table.controller import TableController
from shoe_ctl.table.inputs import from_bytes, to_bytes
from shoe_ctl.table.turn import Turn
from shoe_testing.reached_ends import Reached, ends_reached
from shoe_testing.scenario_bench import InProcess
from simulators.table.bench import Stuck
from simulators.table.scenario import Scenario, find, shipped
from simulators.table.scenario_player import ScenarioPlayer


async def played(scenario: Scenario) -> tuple[InProcess, str | None]:
    """The bench after the scenario, and where it got stuck."""
    bench = InProcess(scenario)
    try:
        await ScenarioPlayer(scenario, bench).play()
    except Stuck as stuck:
        return bench, str(stuck)
    await bench.rest()
    return bench, None


class Played(NamedTuple):
    """A scenario that was played, and the ends that it came to, each in the table's method."""

    scenario: Scenario
    bench: InProcess
    stuck: str | None
    reached: list[tuple[str | None, Reached]]


async def played_once(name: str) -> Played:
    """A shipped scenario; whoever looks at it next in this process looks at the same playing."""
    if name not in _PLAYED:
        scenario, reached = find(name), list[tuple[str | None, Reached]]()

        def take(turn: Turn, end: Reached) -> None:
            reached.append((turn.method, end))

        with ends_reached(take):
            bench, stuck = await played(scenario)
        _PLAYED[name] = Played(scenario, bench, stuck, reached)
    return _PLAYED[name]


_PLAYED: dict[str, Played] = {}


def says_again(bench: InProcess) -> None:
    """The inputs from their bytes, handled by a fresh controller, have the same effects."""
    again = TableController(bench.game, bench.settings)
    for happened, effects in zip(bench.inputs, bench.effects, strict=True):
        assert again.handle(from_bytes(to_bytes(happened))) == effects
    assert again.state == bench.controller.state


@pytest.mark.parametrize("name", shipped())
async def test_a_scenario_comes_out_as_its_file_expects(name: str) -> None:
    scenario, bench, stuck, _ = await played_once(name)
    differs = scenario.differences(bench.public, bench.restricted)
    said = [text for text in (stuck, differs) if text is not None]
    if said:
        pytest.fail("\n".join(said), pytrace=False)
    says_again(bench)
