"""One set of cards of a recording begins with the latest link, and ends with the next set."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_testing.recordings import play_again, recording_of_scenario
from simulators.errors import WrongUsage
from simulators.recorder.card_sets import left_behind, only_set
from simulators.recorder.recording import Happened
from simulators.recorder.scenario_file import recorded_scenario
from simulators.table.expectation import Told
from simulators.table.scenario import find

STATE: dict[str, Any] = {
    "host_boot": "boot-9",
    "shoe": {"id": "t-s2", "set_id": "B-2", "decks": 8, "drawn": 3},
    "link": {
        "up": True, "connection": 4, "profile": "reference", "device_id": "SH-7", "boot_id": 5,
        "since_us": 10,
    },
}  # fmt: skip


def told(kind: str, **data: Any) -> tuple[Told, ...]:
    return (Told(kind, data),)


def said(number: int, *events: Told, **event: Any) -> Happened:
    return Happened({"input": "shoe", "t_us": number, "event": event}, events, events)


LINK = Happened({"input": "link_up", "t_us": 1, "profile": "reference"})
HELLO = said(
    2,
    *told("shoe.connected"),
    *told("shoe.loaded", shoe_id="t-s1"),
    type="hello",
    firmware="2.1",
    drawn=0,
)
FIRST = said(3, *told("round.opened", round_id="t-s1-r1"), type="card_drawn", card="4D")
SECOND_SET = said(4, *told("shoe.loaded", shoe_id="t-s2"), type="shoe_loaded")
SECOND = said(5, *told("round.opened", round_id="t-s2-r2"), type="card_drawn", card="5D")
THIRD_SET = said(6, *told("shoe.loaded", shoe_id="t-s3"), type="shoe_loaded")
NIGHT = [LINK, HELLO, FIRST, SECOND_SET, SECOND, THIRD_SET]


def test_the_first_set_ends_where_the_next_one_comes() -> None:
    assert only_set(NIGHT, "t-s1", None, {}, "french52") == (None, [LINK, HELLO, FIRST])


def test_a_later_set_begins_with_the_latest_link_and_the_shoes_identity() -> None:
    begin, happened = only_set(NIGHT, "t-s2", 4, STATE, "french52")
    assert begin == 3
    assert [each.kind for each in happened] == ["restarted", "link_up", "shoe", "shoe"]
    assert happened[2].shoe_event == {"type": "hello", "firmware": "2.1", "drawn": 0}
    assert [each.type for each in happened[2].public] == ["shoe.connected"]
    assert happened[3] is SECOND


def test_an_export_without_the_link_has_it_from_the_snapshot() -> None:
    begin, happened = only_set([SECOND, THIRD_SET], "t-s2", 0, STATE, "french52")
    assert begin == 0
    assert [each.kind for each in happened] == ["restarted", "link_up", "shoe", "shoe"]
    hello = happened[2].shoe_event
    assert (hello["device_id"], hello["set_id"], hello["drawn"]) == ("SH-7", "B-2", 3)


def test_a_set_that_is_not_there_is_refused() -> None:
    with pytest.raises(WrongUsage, match="t-s9 is not in it"):
        only_set(NIGHT, "t-s9", None, {}, "french52")


def test_what_had_halted_the_table_before_is_named() -> None:
    assert left_behind({"halt": {"stack": []}, "control": {"holder": None}}) == (
        "what had halted the table before",
    )


async def test_a_lost_tcp_line_plays_again_without_the_links_that_died_before_a_hello() -> None:
    recording = await recording_of_scenario(find("link_lost_card_kept"))
    happened: list[Happened] = []
    for each in recording.happened:
        if each.kind == "link_up" and any(e.kind == "link_lost" for e in happened):
            happened += [  # the port answered twice before the shoe behind it did
                Happened({**each.what, "t_us": each.what["t_us"]}),
                Happened({"input": "link_lost", "t_us": each.what["t_us"], "reason": "closed"}),
            ] * 2
        if each.kind == "link_lost":
            happened.append(
                Happened({**each.what, "reason": "closed"}, *map(closed, streams(each)))
            )
        else:
            happened.append(each)
    changed = type(recording)(**{**fields(recording), "happened": tuple(happened)})
    assert recorded_scenario(changed).text.count('{shoe = "unplug"}') == 1
    again = await play_again(changed)
    assert again.wrong is None


def streams(happened: Happened) -> tuple[tuple[Told, ...], tuple[Told, ...]]:
    return happened.public, happened.restricted


def closed(events: tuple[Told, ...]) -> tuple[Told, ...]:
    """A cable that came off, as a lost TCP line says it."""
    return tuple(
        Told(e.type, {**e.data, "reason": "closed"}) if e.type == "shoe.lost" else e for e in events
    )


def fields(recording: Any) -> dict[str, Any]:
    return {name: getattr(recording, name) for name in recording.__dataclass_fields__}
