"""Input replay: the same handler gives the same bytes; another one is found, input by input."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from firmware_proto.commands import Armed, Locked
from shoe_ctl.errors import JournalError
from shoe_ctl.history.event_ids import EventIndex
from shoe_ctl.history.recorder import record_input
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Meta
from shoe_ctl.records import Audience
from shoe_ctl.replay.replay import Replay, replay
from shoe_ctl.table.effects import Answer, Effect, TableEvent, WakeAt
from shoe_ctl.table.inputs import Input, TableCommand, Tick
from shoe_testing.journals import (
    T_US,
    Edit,
    alter_record,
    records,
    spoil_records,
    stored,
    verified,
)

META = Meta(game=b"id = 'toy'", settings={"pays": 1}, software="0.1.0", t_us=T_US)


class Toy:
    """Opens a round at each third input and tells its count in two streams."""

    def __init__(self, meta: Meta, before: Toy | None) -> None:
        self.pays = meta.settings["pays"]
        self.count: int = before.count if before is not None else 0

    def handle(self, happened: Input) -> Sequence[Effect]:
        self.count += 1
        subject = f"t/{(self.count + 2) // 3}"
        data = {"z": 1, "count": self.count, "pays": self.pays}
        effects: list[Effect] = [WakeAt(happened.t_us + 1), Locked(), Armed(1, "player", 1)]
        if isinstance(happened, TableCommand):
            effects.append(Answer(command_id=happened.command_id, accepted=True))
        if self.count % 3 == 1:
            effects.append(TableEvent("round.opened", Audience.PUBLIC, subject, {}))
        if self.count % 3:
            rich = {**data, "proof": {"first": self.count}}
            effects.append(TableEvent("counted", Audience.PUBLIC, subject, data, rich))
            effects.append(TableEvent("secret", Audience.RESTRICTED, subject, data))
        return effects


def happenings(count: int) -> list[Input]:
    return [
        TableCommand(t_us=T_US + n, command_id=str(n), command="x", args={"b": 1, "a": 2})
        if n % 4 == 0
        else Tick(t_us=T_US + n)
        for n in range(count)
    ]


def recorded(path: Path, *, change_at: int | None = None) -> None:
    """Two tables' inputs in turn, started again now and then, once under other settings."""
    toys = {table: Toy(META, None) for table in "ab"}
    groups = []
    first = Batch()
    for table in "ab":
        first.append_meta(table, META)
    groups.append(first)
    for n, happened in enumerate(happenings(20)):
        group = Batch()
        for table, toy in list(toys.items()):
            if n == change_at:
                other = Meta(game=META.game, settings={"pays": 2}, software="0.1.0", t_us=T_US)
                group.append_meta(table, other)
                toys[table] = Toy(other, toy)
            elif n == 10 and change_at is None:
                group.append_meta(
                    table, Meta(game=META.game, settings={"pays": 1}, software="2", t_us=1)
                )
            record_input(group, table, happened, toys[table].handle(happened), EventIndex())
        groups.append(group)
    stored(path, groups)


def replayed(path: Path, start: type[Toy] = Toy) -> Replay:
    with Reader.open(path) as reader:
        return replay(reader, start, lambda toy, snapshot: toy.count == snapshot.inputs)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def test_replaying_gives_the_same_events_byte_for_byte(path: Path) -> None:
    recorded(path)
    assert verified(path).ok
    assert replayed(path) == Replay(14, [])


def test_a_change_of_settings_is_replayed_where_it_was_made(path: Path) -> None:
    recorded(path, change_at=7)
    assert replayed(path) == Replay(14, [])


def test_events_are_recorded_for_whom_they_are_and_no_other_effect_is(
    path: Path,
) -> None:
    group = Batch()
    effects: list[Effect] = [
        WakeAt(1),
        Locked(),
        TableEvent("a", Audience.PUBLIC, None, {"x": 1}, {"x": 1, "proof": 2}),
        TableEvent("b", Audience.RESTRICTED, None, {}),
    ]
    handles = record_input(group, "t", Tick(t_us=T_US), effects, EventIndex())
    (result,) = stored(path, [group])
    assert result.last_n == 4
    assert [result.ids[handle].restricted for handle in handles] == ["t/r1", "t/r2"]
    told = [json.loads(record.body)["data"] for record in records(path)[1:]]
    assert told == [{"x": 1}, {"proof": 2, "x": 1}, {}]


def test_a_rule_that_changed_is_found_input_by_input_and_nothing_else_is(path: Path) -> None:
    class Miscounting(Toy):
        def handle(self, happened: Input) -> Sequence[Effect]:
            effects = super().handle(happened)
            if self.count in (4, 8):
                data = {"count": 0}
                changed = TableEvent("counted", Audience.PUBLIC, "t/x", data)
                return [changed, changed, changed]
            return effects

    recorded(path)
    found = replayed(path, Miscounting).differences
    assert [(d.table, d.round_id, d.why) for d in found] == [
        ("a", "t/2", "other events"),
        ("b", "t/2", "other events"),
        ("a", "t/3", "other events"),
        ("b", "t/3", "other events"),
    ]
    with Reader.open(path) as reader:
        inputs = [r.n for r in reader.records(table="a") if r.kind == "input"]
    assert [d.n for d in found if d.table == "a"] == [inputs[3], inputs[7]]
    assert found[0].recorded is not None
    assert found[0].replayed is not None
    before, after = json.loads(found[0].recorded), json.loads(found[0].replayed)
    assert before["id"] == after["id"] == "a/p4"
    assert (before["type"], after["type"]) == ("round.opened", "counted")


def test_a_handler_that_raises_now_is_a_difference(path: Path) -> None:
    class Failing(Toy):
        def handle(self, happened: Input) -> Sequence[Effect]:
            effects = super().handle(happened)
            if self.count == 3:  # an input of which no event came
                raise ZeroDivisionError("three")
            return effects

    recorded(path)
    assert [(d.table, d.why) for d in replayed(path, Failing).differences] == [
        ("a", "handling raised ZeroDivisionError: three"),
        ("b", "handling raised ZeroDivisionError: three"),
    ]


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda r: b"\xff" if r.kind == "event.restricted" else r.body, "other events"),
        (lambda r: b"{}" if r.kind.startswith("event") else r.body, "other events"),
        (lambda r: b"{}" if r.kind == "input" and r.n > 100 else r.body, "cannot be read"),
        (lambda r: None if r.n == 1 else r.body, "before the table was started"),
        (lambda r: None if r.n == 3 else r.body, "events without an input"),
    ],
    ids=["an event", "all events", "inputs", "start", "an input"],
)
def test_a_spoilt_journal_is_a_difference_and_no_traceback(
    path: Path, edit: Edit, why: str
) -> None:
    recorded(path)
    spoil_records(path, edit)
    assert any(why in difference.why for difference in replayed(path).differences)


def test_a_start_that_cannot_be_read_is_told(path: Path) -> None:
    recorded(path)
    alter_record(path, 2, b"{}")
    with pytest.raises(JournalError, match="record 2 does not say how table b was started"):
        replayed(path)
