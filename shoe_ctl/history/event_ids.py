"""Event ids that are needed later: those of each command's answer and of each round's outcome.

In: answers and events as they are committed, or a table's records. Out: their ids, the same after a
restart. Must not know: who asks, what an outcome is, why it is revised.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from shoe_ctl.journal.batch import EventIds
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.records import Audience, Record, read_event_head
from shoe_ctl.table.answers import REMEMBERED_COMMANDS
from shoe_ctl.table.effects import Answer
from shoe_ctl.table.inputs import StorageRestored, TableCommand, from_bytes

OUTCOME_TYPES = frozenset({"round.outcome", "round.revised"})
"""The events that report a round's outcome. A revision names the event that it replaces."""

REMEMBERED_OUTCOMES = 16
"""Rounds whose outcome's event is remembered: more than a table lets people revise."""

_OUTCOME_MARKS = tuple(f'"type":"{kind}"'.encode() for kind in sorted(OUTCOME_TYPES))
_COMMAND_MARK = b'"input":"command"'
_EVENTS = (Kind.PUBLIC.value, Kind.RESTRICTED.value)

_MOST_GATHERED = 4 * REMEMBERED_COMMANDS
"""Once the events of so many commands are collected, those that the table forgot are dropped."""


class Answered(msgspec.Struct, frozen=True):
    """A command's answer, with the ids of the events it brought about for one audience."""

    answer: Answer
    events: tuple[str, ...]


class RecordedAnswer(msgspec.Struct, frozen=True):
    """A command's answer, with all ids of the events that it brought about."""

    answer: Answer
    events: tuple[EventIds, ...]

    def seen_by(self, sees: Audience) -> Answered:
        """Return the answer with the ids of this audience."""
        ids = [event.of(sees) for event in self.events]
        return Answered(self.answer, tuple(i for i in ids if i is not None))


class EventIndex:
    """One table's event ids, of as many commands as its controller remembers.

    ``answered`` and ``outcomes`` are the ids that a snapshot holds, by command and by round, oldest
    first. ``read`` adds those of the records after it.
    """

    def __init__(
        self,
        answered: Mapping[str, tuple[EventIds, ...]] | None = None,
        outcomes: Mapping[str, EventIds] | None = None,
    ) -> None:
        self._answers: dict[str, RecordedAnswer] = {}
        self._outcomes: dict[str, EventIds] = dict(outcomes or {})
        self._gathered = {command: list(ids) for command, ids in (answered or {}).items()}
        self._of_command: list[EventIds] | None = None  # of the input that is being read
        self._public: str | None = None  # the public copy, until its restricted copy is read

    def answer(self, command_id: str) -> RecordedAnswer | None:
        """Return the first answer to this command, or None for a new one."""
        return self._answers.get(command_id)

    def add_answer(self, answer: RecordedAnswer) -> None:
        """Remember a command's answer, and forget the oldest."""
        self._answers[answer.answer.command_id] = answer
        while len(self._answers) > REMEMBERED_COMMANDS:
            del self._answers[next(iter(self._answers))]

    def keep_answers(self, answered: Collection[str]) -> None:
        """Forget the answers that the table has forgotten."""
        self._answers = {c: answer for c, answer in self._answers.items() if c in answered}

    @property
    def outcomes(self) -> Mapping[str, EventIds]:
        """The event that last reported each round's outcome, by round, oldest first."""
        return self._outcomes

    def outcome(self, round_id: str) -> EventIds:
        """Return the event that last reported this round's outcome.

        Raises:
            KeyError: there is none, or it is not remembered any more.
        """
        return self._outcomes[round_id]

    def add_event(self, kind: str, subject: str | None, ids: EventIds) -> None:
        """Remember a committed event if it reports an outcome."""
        if kind not in OUTCOME_TYPES or subject is None:
            return
        self._outcomes.pop(subject, None)
        self._outcomes[subject] = ids
        while len(self._outcomes) > REMEMBERED_OUTCOMES:
            del self._outcomes[next(iter(self._outcomes))]

    def read(self, record: Record, answered: Collection[str] = ()) -> None:
        """Read the table's next record; ``answered`` are the commands that it knew before.

        Raises:
            ValueError: its body cannot be decoded (msgspec's errors are ValueErrors).
        """
        if record.kind == Kind.INPUT.value:
            self._of_command = None
            self._read_input(record.body, answered)
        elif record.kind in _EVENTS:
            self._read_event(record.body)

    def _read_input(self, body: bytes, answered: Collection[str]) -> None:
        if _COMMAND_MARK not in body:  # most inputs are cards: they need not be decoded
            return
        happened = from_bytes(body)
        # A ruling on a lost journal is answered without events: its events are every table's.
        ruling = happened.ruling if isinstance(happened, StorageRestored) else None
        command = happened if isinstance(happened, TableCommand) else ruling
        if command is None or command.command_id in answered:
            return
        self._gathered.pop(command.command_id, None)
        if len(self._gathered) >= _MOST_GATHERED:
            self._gathered = {c: ids for c, ids in self._gathered.items() if c in answered}
        events = self._gathered[command.command_id] = []
        self._of_command = None if command is ruling else events

    def _read_event(self, body: bytes) -> None:
        """Read an event. A public copy comes right before its restricted copy."""
        if self._of_command is None and not any(mark in body for mark in _OUTCOME_MARKS):
            return
        head = read_event_head(body)
        if head.id.rpartition("/")[2].startswith(Audience.PUBLIC.value):
            self._public = head.id
            return
        ids, self._public = EventIds(self._public, head.id), None
        if self._of_command is not None:
            self._of_command.append(ids)
        self.add_event(head.type, head.subject, ids)

    def finish(self, answers: Mapping[str, Answer]) -> None:
        """End reading: keep the ids of ``answers``, those that the table remembers, by command."""
        self._answers = {
            command_id: RecordedAnswer(answer, tuple(self._gathered[command_id]))
            for command_id, answer in answers.items()
            if command_id in self._gathered
        }
        self._gathered, self._of_command = {}, None
