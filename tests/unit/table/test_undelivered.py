"""Events that a sink would not take: the alarm, and what the status keeps of it."""

from __future__ import annotations

from typing import Any

from shoe_ctl.records import Audience
from shoe_ctl.table import undelivered
from shoe_ctl.table.inputs import (
    DeliveryLost,
    DeliveryParked,
    DeliveryRefilled,
    DeliveryTaken,
    from_bytes,
    to_bytes,
)
from shoe_ctl.texts.message import message
from shoe_testing.event_check import OwnData
from shoe_testing.table_situations import review_table

WHY = message("daemon_sink_refused", detail="ValueError: too long")


def refuses(
    table: Any, event: str, *, sink: str = "jsonl:-", public: bool = True, record: int = 0
) -> None:
    table.feed(
        DeliveryParked(
            t_us=table.t_us,
            sink=sink,
            public=public,
            event=event,
            event_type="round.outcome",
            why=WHY,
            record=record,
        )
    )


def takes(table: Any, event: str, record: int, *, sink: str = "jsonl:-") -> None:
    table.feed(
        DeliveryTaken(
            t_us=table.t_us, sink=sink, event=event, event_type="round.outcome", record=record
        )
    )


def test_an_event_that_a_sink_will_not_take_is_told_and_counted() -> None:
    table = review_table()
    state = table.now.state
    refuses(table, "bac-07/p3")
    refuses(table, "bac-07/p9")
    told = [e for e in table.events if e.type == "delivery.parked"]
    assert [e.data["event"] for e in told] == ["bac-07/p3", "bac-07/p9"]
    assert all(e.audience is Audience.PUBLIC and "reason" not in e.data for e in told)
    restricted = [e.restricted_data["reason"] for e in told if e.restricted_data is not None]
    assert restricted == [WHY.as_data()] * 2
    shown = {"sink": "jsonl:-", "count": 2, "last": "bac-07/p9", "type": "round.outcome"}
    assert undelivered.describe(table.now, restricted=False) == [shown | {"waiting": 0}]
    assert table.now.state == state


def test_the_same_event_is_told_once_however_often_it_is_tried() -> None:
    table = review_table()
    refuses(table, "bac-07/p3")
    refuses(table, "bac-07/p3")
    refuses(table, "bac-07/p3", sink="jsonl:other")
    assert table.kinds.count("delivery.parked") == 2
    assert [p["count"] for p in undelivered.describe(table.now, restricted=False)] == [1, 1]


def test_what_a_sink_of_the_restricted_stream_refuses_is_for_those_who_see_it() -> None:
    table = review_table()
    refuses(table, "bac-07/r3", sink="jsonl:all", public=False)
    (told,) = (e for e in table.events if e.type == "delivery.parked")
    assert told.audience is Audience.RESTRICTED
    assert undelivered.describe(table.now, restricted=False) == []
    assert [p["sink"] for p in undelivered.describe(table.now, restricted=True)] == ["jsonl:all"]


def test_what_is_taken_after_all_is_told_and_waits_no_more() -> None:
    table = review_table()
    for record in (30, 20):
        refuses(table, f"bac-07/p{record}", record=record)
    refuses(table, "bac-07/p20", record=20)
    assert undelivered.list_waiting(table.now, restricted=False) == {"jsonl:-": (30, 20)}
    takes(table, "bac-07/p30", 30)
    takes(table, "bac-07/p30", 30)
    (told,) = (e for e in table.events if e.type == "delivery.taken")
    assert OwnData(told.data) == {"sink": "jsonl:-", "event": "bac-07/p30", "type": "round.outcome"}
    (shown,) = undelivered.describe(table.now, restricted=False)
    assert (shown["count"], shown["waiting"]) == (2, 1)
    assert undelivered.list_waiting(table.now, restricted=False) == {"jsonl:-": (20,)}
    takes(table, "bac-07/p20", 20, sink="jsonl:other")
    assert undelivered.list_waiting(table.now, restricted=False) == {"jsonl:-": (20,)}


def test_that_a_sink_of_the_restricted_stream_took_it_is_for_those_who_see_it() -> None:
    table = review_table()
    refuses(table, "bac-07/r3", sink="jsonl:all", public=False, record=3)
    assert undelivered.list_waiting(table.now, restricted=False) == {}
    assert undelivered.list_waiting(table.now, restricted=True) == {"jsonl:all": (3,)}
    takes(table, "bac-07/r3", 3, sink="jsonl:all")
    (told,) = (e for e in table.events if e.type == "delivery.taken")
    assert told.audience is Audience.RESTRICTED


def test_a_sink_that_takes_little_for_years_keeps_no_more_than_it_can_be_offered() -> None:
    table = review_table()
    for record in range(1, undelivered.MOST_WAITING + 4):
        refuses(table, f"bac-07/p{record}", record=record)
    (records,) = undelivered.list_waiting(table.now, restricted=False).values()
    assert records == tuple(range(4, undelivered.MOST_WAITING + 4))


def loses(table: Any, first: int, last: int, *, public: bool = True) -> None:
    table.feed(
        DeliveryLost(t_us=table.t_us, sink="nats:floor", public=public, first=first, last=last)
    )


def test_what_a_sink_lost_is_told_and_kept_until_it_has_all_of_it_again() -> None:
    table = review_table()
    loses(table, 40, 70)
    loses(table, 50, 90)
    assert undelivered.list_lost(table.now) == {"nats:floor": (40, 90)}
    assert undelivered.describe(table.now, restricted=True) == []  # none of it was refused
    table.feed(DeliveryRefilled(t_us=table.t_us, sink="nats:floor", refused=2))
    assert undelivered.list_lost(table.now) == {}
    told = [e for e in table.events if e.type.startswith("delivery.")]
    assert all(e.audience is Audience.PUBLIC for e in told)
    assert [(e.type, OwnData(e.data)) for e in told] == [
        ("delivery.lost", {"sink": "nats:floor", "first": 40, "last": 70}),
        ("delivery.lost", {"sink": "nats:floor", "first": 50, "last": 90}),
        ("delivery.refilled", {"sink": "nats:floor", "first": 40, "last": 90, "refused": 2}),
    ]


def test_what_a_sink_of_the_restricted_stream_lost_is_for_those_who_see_it() -> None:
    table = review_table()
    loses(table, 1, 2, public=False)
    table.feed(DeliveryRefilled(t_us=table.t_us, sink="nats:floor", refused=0))
    told = [e for e in table.events if e.type.startswith("delivery.")]
    assert [(e.type, e.audience) for e in told] == [
        ("delivery.lost", Audience.RESTRICTED),
        ("delivery.refilled", Audience.RESTRICTED),
    ]


def test_a_sink_that_lost_events_and_refuses_one_is_counted_for_that_one() -> None:
    table = review_table()
    loses(table, 1, 2)
    refuses(table, "bac-07/p3", sink="nats:floor", record=3)
    (shown,) = undelivered.describe(table.now, restricted=False)
    assert (shown["count"], shown["waiting"]) == (1, 1)
    assert undelivered.list_lost(table.now) == {"nats:floor": (1, 2)}


def test_an_alarm_of_before_its_place_was_noted_reads_and_writes_as_it_was() -> None:
    was = (
        b'{"input":"delivery_parked","t_us":5,"sink":"a","public":true,"event":"t/p1",'
        b'"event_type":"round.outcome","why":{"code":"daemon_sink_refused","args":{"detail":"no"}}}'
    )
    read = from_bytes(was)
    assert isinstance(read, DeliveryParked) and read.record == 0
    assert to_bytes(read) == was
