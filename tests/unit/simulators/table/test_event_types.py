"""The types that scenarios may name are those of the controller's catalogue."""

from __future__ import annotations

from shoe_ctl.events import EVENTS
from simulators.table.event_types import EVENT_TYPES


def test_a_scenario_may_name_each_type_of_the_catalogue_and_no_other() -> None:
    assert list(EVENT_TYPES) == sorted(EVENTS)
