"""Garbage that came in one go as one input: nothing of it is lost, and nothing else is touched."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, Discarded, Repeated, ShoeEvent, Standby, Status
from firmware_proto.profiles import profile
from firmware_proto.reference.mac import BAD_MAC, SENT_BEFORE
from firmware_proto.session import ReceivedEvent
from shoe_ctl.history.recorder import in_runs, of_a_run

REASONS = ["crc", "outside_frame", BAD_MAC, SENT_BEFORE]
events = st.one_of(
    st.sampled_from(REASONS).map(lambda reason: Discarded(reason=reason)),
    st.just(Discarded(reason="history", of="card_drawn", history=True)),
    st.sampled_from(["card_drawn", "hello"]).map(lambda of: Repeated(of=of)),
    st.sampled_from([Standby(), CardDrawn(card=None)]),
)


def placed(said: list[ShoeEvent]) -> list[ReceivedEvent]:
    """Each on ten bytes of its own."""
    return [ReceivedEvent(event, None, 10 * at, 10 * at + 10) for at, event in enumerate(said)]


def many(event: ShoeEvent) -> int:
    return getattr(event, "count", None) or 1


@given(st.lists(events, max_size=30))
def test_every_piece_is_in_one_run_and_every_event_stands_where_it_stood(
    said: list[ShoeEvent],
) -> None:
    heard = placed(said)
    runs = in_runs(heard, bytes(300), 0)
    assert sum(many(run.event) for run in runs) == len(said)
    assert [one.event for one in runs if not isinstance(one.event, Discarded | Repeated)] == [
        event for event in said if not isinstance(event, Discarded | Repeated)
    ]
    for run in runs:
        inside = [one for one in heard if run.first <= one.first and one.last <= run.last]
        assert len(inside) == many(run.event)
    assert all(before.last == after.first for before, after in pairwise(runs))


@given(st.lists(events, max_size=30))
def test_what_only_a_key_can_tell_is_found_again_for_each_frame(said: list[ShoeEvent]) -> None:
    for run in in_runs(placed(said), bytes(300), 0):
        for event in said[run.first // 10 : run.last // 10]:
            verdict = isinstance(event, Discarded) and event.reason in (BAD_MAC, SENT_BEFORE)
            if verdict or isinstance(event, Repeated):
                assert of_a_run(run.event) == event


def test_a_run_shows_its_first_and_last_bytes_and_why() -> None:
    heard = [
        ReceivedEvent(Discarded(reason="a"), None, 3, 20),
        ReceivedEvent(Discarded(reason="b"), None, 20, 30),
    ]
    [run] = in_runs(heard, bytes(range(10, 30)), 10)
    assert (run.first, run.last) == (3, 30)
    assert run.event == Discarded(
        reason="several", count=2, first_bytes="0a0b0c0d0e0f1011", last_bytes="161718191a1b1c1d"
    )


def test_one_piece_is_as_it_was() -> None:
    heard = [ReceivedEvent(Discarded(reason="a"), None, 3, 20)]
    assert in_runs(heard, bytes(30), 0) == heard


@pytest.mark.parametrize("name", ["angel_eye", "bee_tek", "reference"])
@given(data=st.binary(max_size=600))
def test_garbage_of_any_profile_is_a_handful_of_inputs(name: str, data: bytes) -> None:
    session = profile(name).host_session(resume=None, settings={})
    heard = session.receive(data, 0.0)
    runs = in_runs(heard, data, 0)
    useful = [one for one in heard if not isinstance(one.event, Discarded)]
    assert len(runs) <= 2 * len(useful) + 1


def test_a_state_that_comes_again_without_a_change_is_stored_once_and_counted() -> None:
    state = Status(drawn=3, unacknowledged=0)
    runs = in_runs(placed([state] * 40), bytes(400), 0)
    assert [(one.event, one.first, one.last) for one in runs] == [
        (state, 0, 10),
        (Repeated(of="status", count=39), 10, 400),
    ]


def test_a_state_that_changed_and_a_card_that_is_like_the_last_stay_as_they_are() -> None:
    said: list[ShoeEvent] = [
        Status(drawn=3, unacknowledged=0),
        Status(drawn=3, unacknowledged=1),
        CardDrawn(card=card("8S"), hand="burn", index=1),
        CardDrawn(card=card("8S"), hand="burn", index=1),
        Status(drawn=3, unacknowledged=1),
    ]
    assert in_runs(placed(said), bytes(50), 0) == placed(said)
