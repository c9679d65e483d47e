"""What the events of every recorded run have in common: the round, the instance, the actor."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pytest

from shoe_ctl.events.event_type import Actor
from shoe_ctl.records import Audience
from shoe_ctl.table.effects import TableEvent
from shoe_testing import recorded_events as recorded
from shoe_testing.event_check import copies

SAMPLE = 5
"""One run in so many is read where not all are."""

ACTOR = set(Actor.__struct_fields__)
OPENS = {
    "irregularity.raised": "irregularity",
    "review.opened": "review",
    "outage.opened": "outage",
    "withdrawal.opened": "withdrawal",
    "table.halted": "halt",
    "method.breached": "breach",  # it is over at once; a retraction names it
}
GOES_ON = {"irregularity.step": "irregularity"}
CLOSES = {
    "irregularity.resolved": "irregularity",
    "review.closed": "review",
    "outage.closed": "outage",
    "withdrawal.closed": "withdrawal",
    "table.resumed": "halt",
}

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "one_in", [SAMPLE, pytest.param(1, marks=pytest.mark.exhaustive(cpu_s=4))], ids=["some", "all"]
)
def test_an_event_is_about_its_round_in_the_envelope_and_in_the_data(one_in: int) -> None:
    wrong: Counter[str] = Counter()
    of_rounds = 0
    for event in recorded.effects(one_in):
        of_round = "-r" in (event.subject or "")
        of_rounds += of_round
        for _, data in copies(event):
            if data.get("round_id") != (event.subject if of_round else None):
                wrong[event.type] += 1
    assert not wrong
    assert of_rounds > 50_000 // one_in


@pytest.mark.parametrize(
    "one_in", [SAMPLE, pytest.param(1, marks=pytest.mark.exhaustive(cpu_s=4))], ids=["some", "all"]
)
def test_a_restricted_copy_says_who_gave_the_command_and_a_public_one_never_does(
    one_in: int,
) -> None:
    wrong: Counter[str] = Counter()
    given_by_people = 0
    for run in recorded.runs(one_in):
        for happened, events in run:
            asked = happened if happened["input"] == "command" else happened.get("ruling")
            given_by_people += asked is not None
            for event in events:
                for audience, data in copies(event):
                    if audience is Audience.PUBLIC or asked is None:
                        wrong[event.type] += bool(ACTOR & data.keys())
                    else:
                        wrong[event.type] += who(data) != who_asked(asked)
    assert not +wrong
    assert given_by_people > 10_000 // one_in


def who(data: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(data[name] for name in Actor.__struct_fields__)


def who_asked(command: dict[str, Any]) -> tuple[Any, ...]:
    names = ("person", "position", "reason", "consented_by", "command_id")
    return tuple(command.get(name) for name in names)


@pytest.mark.parametrize(
    "one_in", [SAMPLE, pytest.param(1, marks=pytest.mark.exhaustive(cpu_s=4))], ids=["some", "all"]
)
def test_what_opens_and_closes_has_an_instance_which_each_stream_counts_without_gaps(
    one_in: int,
) -> None:
    ended = 0
    for run in recorded.runs(one_in):
        streams = [Stream(), Stream()]
        for _, events in run:
            for event in events:
                for audience, data in copies(event):
                    streams[audience is Audience.PUBLIC].read(event, data)
        for stream in streams:
            assert sorted(stream.kinds) == list(range(1, len(stream.kinds) + 1))
        ended += sum(stream.ended for stream in streams)
    assert ended > 1_000 // one_in


@pytest.mark.parametrize(
    "one_in", [SAMPLE, pytest.param(1, marks=pytest.mark.exhaustive(cpu_s=4))], ids=["some", "all"]
)
def test_a_void_revokes_the_outcome_of_its_round_exactly_if_there_was_one(one_in: int) -> None:
    voids = revoking = 0
    for run in recorded.runs(one_in):
        told: set[str | None] = set()
        for event in (event for _, events in run for event in events):
            if event.type in ("round.outcome", "round.revised"):
                told.add(event.subject)
            if event.type == "round.void":
                assert event.revokes == (event.subject if event.subject in told else None)
                voids += 1
                revoking += event.revokes is not None
    assert voids > 100 // one_in
    assert revoking


class Stream:
    """What is open on one stream of a table, by instance."""

    def __init__(self) -> None:
        self.kinds: dict[int, tuple[str, str]] = {}
        self.open: defaultdict[str, set[int]] = defaultdict(set)
        self.ended = 0

    def read(self, event: TableEvent, data: dict[str, Any]) -> None:
        """The next event of the stream."""
        instance = data.get("instance")
        kind = OPENS.get(event.type) or GOES_ON.get(event.type) or CLOSES.get(event.type)
        if kind is None:
            assert instance is None, event
            return
        if event.type == "irregularity.step" and instance is None:
            assert data["step"] in ("set_aside_no_further_round", "placed_by_shoe"), event
            return
        assert isinstance(instance, int)
        what = (kind, str(data.get("key")))
        if event.type not in CLOSES and instance not in self.kinds:
            self.kinds[instance] = what
            self.open[kind].add(instance)
        assert self.kinds[instance] == what, "one instance is one thing, from its first event on"
        if event.type in CLOSES and data.get("whose") != "player":
            assert instance in self.open[kind], "it closes once"
            self.open[kind].remove(instance)
            self.ended += 1
        if event.type == "table.resumed":
            assert self.open["halt"] == set(), "a table is halted once at a time"
