"""Every irregularity and each of its ends has a scenario, in each method where it differs."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import pytest

from shoe_ctl.events.catalog import EVENTS
from shoe_ctl.games import irregularity_ends
from shoe_ctl.table.effects import TableEvent
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_testing.bench import played_once
from simulators.table.scenario import shipped


class End(NamedTuple):
    """How an irregularity ends, as it is told."""

    key: str
    how: str


ENDS = {End(key, end.how) for key, procedure in PROCEDURES.items() for end in procedure.ends}

HALTS_NOTHING = {
    End("insufficient_cards", "void"),
    End("late_wager", "refused"),
    End("late_wager", "returned"),
    End("late_withdrawal", "refused"),
    End("late_withdrawal", "settled_as_placed"),
    End("over_maximum", "earlier_settled"),
    End("over_maximum", "late"),
    End("over_maximum", "to_maximum"),
    End("under_minimum", "earlier_settled"),
    End("under_minimum", "once"),
    End("under_minimum", "returned"),
}
"""What has no procedure: it closes by itself."""

HANDED = ("A", "C")
"""Methods in which Players handle cards."""

DIFFERS: dict[End, tuple[str, ...]] = {
    End("wrong_player", "retrieved"): HANDED,
    End("wrong_player", "stands"): ("A", "B"),
    End("holder_absent", "dealer_exposes"): HANDED,
    End("card_taken", "replaced"): ("A", "B", "C"),
    End("power_failure", "play_on"): ("A",),
    End("power_failure", "concluded"): ("A", "B"),
    End("power_failure", "continued"): ("A", "B"),
    End("overdraw", "kept"): ("A", "B", "C"),
    End("double_draw", "reconstructed"): ("A", "B", "C"),
    End("wrong_order", "reconstructed"): ("A", "B"),
}
"""Where who handles the cards, or the shoe, makes a difference to what is done."""


@pytest.mark.slow
async def test_each_end_is_come_to_in_a_scenario_in_each_method_where_it_differs() -> None:
    methods: dict[End, set[str | None]] = defaultdict(set)
    told: set[End] = set()
    for name in shipped():
        scenario = await played_once(name)
        for method, (key, end_name) in scenario.reached:
            end = PROCEDURES[key].end(end_name)
            assert end is not None
            methods[End(key, end.how)].add(method)
        for effect in (each for effects in scenario.bench.effects for each in effects):
            if isinstance(effect, TableEvent) and effect.type == "irregularity.resolved":
                data = effect.restricted_data or effect.data
                told.add(End(data["key"], data["how"]))
    assert ENDS - methods.keys() == set()
    assert {end: set(wanted) - methods[end] for end, wanted in DIFFERS.items()} == {
        end: set() for end in DIFFERS
    }
    halts_nothing = {end for end in told if end.key not in PROCEDURES}
    assert halts_nothing == HALTS_NOTHING
    assert set(irregularity_ends.ENDS) - {end.key for end in told} == set()


AT_THE_DOOR = {
    *("login.accepted", "login.ended", "login.locked", "login.refused", "login.unrecorded"),
    "restricted.viewed",
}
"""Events of a program at which people log in, which no scenario plays: ``test_door_notes.py``."""


@pytest.mark.slow
async def test_each_type_of_event_comes_in_a_scenario_but_those_at_the_door() -> None:
    told: set[str] = set()
    for name in shipped():
        scenario = await played_once(name)
        for effect in (each for effects in scenario.bench.effects for each in effects):
            if isinstance(effect, TableEvent):
                told.add(effect.type)
    assert set(EVENTS) - told == AT_THE_DOOR
