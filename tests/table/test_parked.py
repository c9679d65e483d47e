"""Events that a sink would not take: the alarm, and what the status keeps of it."""

from __future__ import annotations

from typing import Any

from shoe_ctl.records import Audience
from shoe_ctl.table import parked
from shoe_ctl.table.inputs import DeliveryParked
from tests.table.test_review import at


def refuses(table: Any, event: str, *, sink: str = "jsonl:-", public: bool = True) -> None:
    table.feed(
        DeliveryParked(
            t_us=table.t_us,
            sink=sink,
            public=public,
            event=event,
            event_type="round.outcome",
            why="ValueError: too long",
        )
    )


def test_an_event_that_a_sink_will_not_take_is_told_and_counted() -> None:
    table = at()
    state = table.now.state
    refuses(table, "bac-07/p3")
    refuses(table, "bac-07/p9")
    told = [e for e in table.events if e.type == "delivery.parked"]
    assert [e.data["event"] for e in told] == ["bac-07/p3", "bac-07/p9"]
    assert all(e.audience is Audience.PUBLIC and "why" not in e.data for e in told)
    restricted = [e.restricted_data["why"] for e in told if e.restricted_data is not None]
    assert restricted == ["ValueError: too long"] * 2
    shown = {"sink": "jsonl:-", "count": 2, "last": "bac-07/p9", "type": "round.outcome"}
    assert parked.shown(table.now, restricted=False) == [shown]
    assert table.now.state == state


def test_the_same_event_is_told_once_however_often_it_is_tried() -> None:
    table = at()
    refuses(table, "bac-07/p3")
    refuses(table, "bac-07/p3")
    refuses(table, "bac-07/p3", sink="jsonl:other")
    assert table.kinds.count("delivery.parked") == 2
    assert [p["count"] for p in parked.shown(table.now, restricted=False)] == [1, 1]


def test_what_a_sink_of_the_restricted_stream_refuses_is_for_those_who_see_it() -> None:
    table = at()
    refuses(table, "bac-07/r3", sink="jsonl:all", public=False)
    (told,) = (e for e in table.events if e.type == "delivery.parked")
    assert told.audience is Audience.RESTRICTED
    assert parked.shown(table.now, restricted=False) == []
    assert [p["sink"] for p in parked.shown(table.now, restricted=True)] == ["jsonl:all"]
