"""The first answer to every command: given again when its id comes again, after restarts too.

In: commands answered, or the journal of them. Out: the same answer, with the same event ids.
Must not know: who asks, why an answer is what it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from shoe_ctl.journal.bodies import Kind
from shoe_ctl.journal.group import EventIds
from shoe_ctl.records import Audience, Record
from shoe_ctl.table.effects import Answer
from shoe_ctl.table.inputs import StorageRestored, TableCommand, from_bytes
from shoe_ctl.table.known_commands import REMEMBERED_COMMANDS


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

    def keep_only(self, answered: Collection[str]) -> None:
        """Forget those that the table has forgotten."""
        self._known = {c: first for c, first in self._known.items() if c in answered}


class Gathering:
    """The ids of the events that commands brought about, from a table's records in order.

    ``known`` are those of earlier commands. An input's events stand behind it, before the table's
    next input. One whose id is among those ``answered`` already has brought about nothing of its
    own: it came again, or was refused because it was another command.
    """

    def __init__(self, known: Mapping[str, tuple[EventIds, ...]]) -> None:
        self._known = dict(known)
        self._events: dict[str, list[str]] = {}
        self._behind: list[str] | None = None

    def see(self, record: Record, answered: Collection[str] = ()) -> None:
        """The table's next record; ``answered`` are the commands that the table knew before it."""
        if record.kind == Kind.INPUT.value:
            command_id, tells_events = _command_id(record)
            self._behind = None
            if command_id is not None and command_id not in answered:
                self._events.pop(command_id, None)
                behind = self._events[command_id] = []
                self._behind = behind if tells_events else None
                if len(self._events) > _MOST_SEEN:
                    self._events = {c: e for c, e in self._events.items() if c in answered}
                    self._events[command_id] = behind
        elif self._behind is not None and record.kind in _EVENTS:
            self._behind.append(msgspec.json.decode(record.body, type=_Told).id)

    def answers(self, answered: Mapping[str, Answer]) -> Answers:
        """These answers with the ids of their events, as far as those were seen."""
        known = self._known | {c: tuple(_ids(told)) for c, told in self._events.items()}
        return Answers(
            {
                command_id: FirstAnswer(answer, known[command_id])
                for command_id, answer in answered.items()
                if command_id in known
            }
        )


_MOST_SEEN = 4 * REMEMBERED_COMMANDS
"""So many commands are kept in mind before those are dropped that the table has forgotten."""

_EVENTS = (Kind.PUBLIC.value, Kind.RESTRICTED.value)


class _Told(msgspec.Struct):
    id: str


def _command_id(record: Record) -> tuple[str | None, bool]:
    """The command that this input is, if any, and whether its answer names the input's events.

    A ruling on a loss is answered without any: its events are those of every table.
    """
    if b'"input":"command"' not in record.body:  # spares decoding every card of years
        return None, False
    happened = from_bytes(record.body)
    if isinstance(happened, StorageRestored) and happened.ruling is not None:
        return happened.ruling.command_id, False
    return (happened.command_id, True) if isinstance(happened, TableCommand) else (None, False)


def _ids(told: Sequence[str]) -> Iterator[EventIds]:
    """Each event's copies: a public one is followed by its restricted copy."""
    public: str | None = None
    for event_id in told:
        if event_id.rpartition("/")[2].startswith(Audience.PUBLIC.value):
            public = event_id
        else:
            yield EventIds(public, event_id)
            public = None
