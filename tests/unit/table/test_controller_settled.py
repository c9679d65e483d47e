"""An input that changes nothing leaves orders and wake-ups as they are, and costs less."""

from __future__ import annotations

import pytest

from shoe_ctl.table.controller import TableController
from shoe_testing.bench import DealtTable, game_of
from simulators.faults import Faults, FaultyLine

FAULTS = Faults(drop=0.02, flip=0.02, repeat=0.05, unplug=0.01)


@pytest.mark.parametrize("face_up_after_ms", [0, 300])
def test_a_controller_that_goes_on_does_as_one_that_begins_at_each_input(
    face_up_after_ms: int,
) -> None:
    table = DealtTable(
        game_of("tiger"),
        "reference",
        seed=5,
        face_up_after_ms=face_up_after_ms,
        to_host=FaultyLine(5, FAULTS),
    )
    table.deal()
    game, settings = table.controller.game, table.controller.settings
    goes_on = TableController(game, settings)
    unchanged = 0
    for happened in table.inputs:
        before = goes_on.state
        begins = TableController(game, settings, before)
        assert goes_on.handle(happened) == begins.handle(happened)
        assert goes_on.state == begins.state
        assert goes_on.desired == begins.desired
        after = goes_on.state
        unchanged += after.round is before.round and after.halt is before.halt
    assert unchanged > len(table.inputs) / 4
