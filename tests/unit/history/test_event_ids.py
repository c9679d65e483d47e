"""Which event index an outcome last: noted as it is committed, read back from a journal."""

from __future__ import annotations

import json

import pytest

from shoe_ctl.history.event_ids import REMEMBERED_OUTCOMES, EventIndex
from shoe_ctl.history.recorder import record_input
from shoe_ctl.journal.batch import Batch, Counters, EventIds
from shoe_ctl.journal.group import EncodedRecord, encode_batch
from shoe_ctl.records import Audience, Record
from shoe_ctl.table.effects import TableEvent
from shoe_ctl.table.inputs import Tick


def test_the_event_that_index_it_last_is_known_and_others_are_not() -> None:
    index = EventIndex()
    index.add_event("round.outcome", "r1", EventIds("t/p1", "t/r2"))
    index.add_event("round.settled", "r1", EventIds("t/p2", "t/r3"))
    index.add_event("round.revised", "r1", EventIds("t/p4", "t/r5"))
    assert index.outcome("r1") == EventIds("t/p4", "t/r5")
    with pytest.raises(KeyError):
        index.outcome("r2")


def test_the_oldest_rounds_are_forgotten() -> None:
    index = EventIndex()
    for n in range(REMEMBERED_OUTCOMES + 1):
        index.add_event("round.outcome", f"r{n}", EventIds(f"t/p{n}", f"t/r{n}"))
    with pytest.raises(KeyError):
        index.outcome("r0")
    assert index.outcome("r1").public == "t/p1"


def test_each_audience_is_index_the_id_that_it_knows() -> None:
    index = EventIndex()
    index.add_event("round.outcome", "r1", EventIds("t/p7", "t/r9"))
    secret = {"x": 1, "who": "kim"}
    revised = TableEvent("round.revised", Audience.PUBLIC, "r1", {"x": 1}, secret, revises="r1")
    group = Batch()
    record_input(group, "t", Tick(t_us=1), [revised], index)
    bodies = [json.loads(record.body) for record in _laid(group)[1:]]
    assert [body["data"] for body in bodies] == [
        {"revises": "t/p7", "x": 1},
        {"revises": "t/r9", "who": "kim", "x": 1},
    ]


def test_what_a_journal_has_is_read_back() -> None:
    group, index = Batch(), EventIndex()
    outcome = TableEvent("round.outcome", Audience.PUBLIC, "r1", {"winner": "tie"})
    opened = TableEvent("round.opened", Audience.PUBLIC, "r1", {"type": "round.outcome"})
    record_input(group, "t", Tick(t_us=1), [opened, outcome, opened], index)
    for n, each in enumerate(_laid(group)):
        index.read(Record(n=n, table="t", kind=each.kind, body=each.body, hash=b""))
    assert index.outcome("r1") == EventIds("t/p2", "t/r2")


def _laid(group: Batch) -> list[EncodedRecord]:
    counters = Counters()
    return encode_batch(group, lambda _: counters).records
