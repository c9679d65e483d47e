"""First answers as the journal has them."""

from __future__ import annotations

from pathlib import Path

from shoe_ctl.history.event_ids import EventIndex, RecordedAnswer
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.reader import Reader
from shoe_ctl.records import Audience
from shoe_ctl.table.answers import REMEMBERED_COMMANDS
from shoe_ctl.table.effects import Answer
from shoe_ctl.table.inputs import TableCommand, Tick, to_bytes
from shoe_testing.journals import T_US, stored


def tells(group: Batch, *audiences: Audience, table: str = "bac-07") -> None:
    for audience in audiences:
        group.append_event(table, audience, "x", t_us=T_US, subject=None, data={})


def asked(group: Batch, command_id: str, table: str = "bac-07") -> None:
    command = TableCommand(t_us=T_US, command_id=command_id, command="settle")
    group.append_input(table, to_bytes(command), T_US)


def test_the_events_behind_a_command_are_its_own(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    public, restricted = Audience.PUBLIC, Audience.RESTRICTED
    group = Batch()
    asked(group, "a")
    tells(group, public, restricted, public)
    tells(group, public, table="bac-08")
    group.append_input("bac-07", to_bytes(Tick(t_us=T_US)), T_US)
    tells(group, public)
    asked(group, "b")
    asked(group, "a", table="bac-08")
    tells(group, public, table="bac-08")
    asked(group, "forgotten")
    tells(group, public)
    stored(path, [group])
    answers = {i: Answer(command_id=i, accepted=True) for i in ("a", "b", "never")}
    with Reader.open(path) as reader:
        known = EventIndex()
        for record in reader.records(table="bac-07"):
            known.read(record)
        known.finish(answers)
    first = known.answer("a")
    assert first is not None and first.answer == answers["a"]
    assert first.seen_by(public).events == ("bac-07/p1", "bac-07/p2")
    assert first.seen_by(restricted).events == ("bac-07/r1", "bac-07/r2", "bac-07/r3")
    assert known.answer("b") == RecordedAnswer(answers["b"], ())
    assert known.answer("never") is None and known.answer("forgotten") is None


def test_no_more_is_remembered_than_the_table_remembers() -> None:
    known = EventIndex()
    for number in range(REMEMBERED_COMMANDS + 3):
        known.add_answer(RecordedAnswer(Answer(command_id=f"c{number}", accepted=True), ()))
    assert [known.answer(f"c{n}") is None for n in range(4)] == [True, True, True, False]
