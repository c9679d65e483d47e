"""The first answer to every command: given again when its id comes again, after restarts too.

In: commands answered, or the journal of them. Out: the same answer, with the same event ids.
Must not know: who asks, why an answer is what it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from shoe_ctl.journal.bodies import Kind
from shoe_ctl.journal.group import EventIds
from shoe_ctl.journal.reader import Reader
from shoe_ctl.records import Audience, Record
from shoe_ctl.table.controller import REMEMBERED_COMMANDS
from shoe_ctl.table.effects import Answer
from shoe_ctl.table.inputs import TableCommand, from_bytes


class Answered(msgspec.Struct, frozen=True):
    """A command's answer, with the ids of the events it brought about for one audience."""

    answer: Answer
    events: tuple[str, ...]


class FirstAnswer(msgspec.Struct, frozen=True):
    """A command's answer, with all ids of the events that it brought about."""

    answer: Answer
    events: tuple[EventIds, ...]

    def seen_by(self, sees: Audience) -> Answered:
        """With the ids of this audience."""
        ids = [event.of(sees) for event in self.events]
        return Answered(self.answer, tuple(i for i in ids if i is not None))


class Answers:
    """One table's last answers, as many as its controller remembers commands."""

    def __init__(self, known: Mapping[str, FirstAnswer] | None = None) -> None:
        self._known = dict(known or {})

    def to(self, command_id: str) -> FirstAnswer | None:
        """The answer that this command had, or None for a new one."""
        return self._known.get(command_id)

    def keep(self, first: FirstAnswer) -> None:
        """Remember it; the oldest is forgotten."""
        self._known[first.answer.command_id] = first
        while len(self._known) > REMEMBERED_COMMANDS:
            del self._known[next(iter(self._known))]


def recorded(reader: Reader, table: str, answered: Mapping[str, Answer]) -> Answers:
    """These answers, with the ids of their events as the journal has them.

    An input's events stand behind it, before the table's next input.

    Raises:
        JournalError: the journal cannot be read.
    """
    events: dict[str, list[str]] = {}
    if answered:
        kinds = (Kind.INPUT, Kind.PUBLIC, Kind.RESTRICTED)
        behind: list[str] | None = None
        for record in reader.records(table=table, kinds=kinds):
            if record.kind == Kind.INPUT.value:
                command_id = _command_id(record)
                behind = None
                if command_id is not None and command_id in answered:
                    behind = events[command_id] = []
            elif behind is not None:
                behind.append(msgspec.json.decode(record.body, type=_Told).id)
    return Answers(
        {
            command_id: FirstAnswer(answer, tuple(_ids(events[command_id])))
            for command_id, answer in answered.items()
            if command_id in events
        }
    )


class _Told(msgspec.Struct):
    id: str


def _command_id(record: Record) -> str | None:
    if b'"input":"command"' not in record.body:  # spares decoding every card of years
        return None
    happened = from_bytes(record.body)
    return happened.command_id if isinstance(happened, TableCommand) else None


def _ids(told: Sequence[str]) -> Iterator[EventIds]:
    """Each event's copies: a public one is followed by its restricted copy."""
    public: str | None = None
    for event_id in told:
        if event_id.rpartition("/")[2].startswith(Audience.PUBLIC.value):
            public = event_id
        else:
            yield EventIds(public, event_id)
            public = None
