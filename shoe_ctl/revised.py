"""Which events told the outcome of each round: a revision names the one that it replaces.

In: events with their ids, as they are committed or stand in the journal. Out: those ids.
Must not know: what an outcome is, why it is revised.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from shoe_ctl.journal.bodies import Kind
from shoe_ctl.journal.group import EventIds
from shoe_ctl.journal.reader import Reader

KINDS = frozenset({"round.outcome", "round.revised"})
"""The types of events that tell an outcome."""

REMEMBERED = 16
"""How many rounds are known: more than a table lets people revise."""

_MARKS = tuple(f'"type":"{kind}"'.encode() for kind in sorted(KINDS))


class Told:
    """One table's outcomes: by round, the ids of the event that told it last."""

    def __init__(self) -> None:
        self._ids: dict[str, EventIds] = {}

    def of(self, round_id: str) -> EventIds:
        """The event that told this round's outcome last.

        Raises:
            KeyError: none did, or long ago.
        """
        return self._ids[round_id]

    def note(self, kind: str, subject: str | None, ids: EventIds) -> None:
        """An event was committed."""
        if kind not in KINDS or subject is None:
            return
        self._ids.pop(subject, None)
        self._ids[subject] = ids
        while len(self._ids) > REMEMBERED:
            del self._ids[next(iter(self._ids))]

    def read(self, bodies: Iterable[bytes]) -> None:
        """Events as they stand in the journal: each public copy before its restricted one."""
        public: str | None = None
        for body in bodies:
            if not any(mark in body for mark in _MARKS):
                continue
            event = msgspec.json.decode(body, type=_Event)
            if event.id.rpartition("/")[2].startswith("p"):
                public = event.id
            else:
                self.note(event.type, event.subject, EventIds(public, event.id))
                public = None


class _Event(msgspec.Struct):
    id: str
    type: str
    subject: str | None


def recorded(reader: Reader, table: str) -> Told:
    """The outcomes that the journal has of this table.

    Raises:
        JournalError: the journal cannot be read.
    """
    told = Told()
    records = reader.records(table=table, kinds=(Kind.PUBLIC, Kind.RESTRICTED))
    told.read(record.body for record in records)
    return told
