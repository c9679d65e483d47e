"""Which events told the outcome of each round: a revision names the one that it replaces.

In: events with their ids, as they are committed or stand in the journal. Out: those ids.
Must not know: what an outcome is, why it is revised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from shoe_ctl.journal.group import EventIds

KINDS = frozenset({"round.outcome", "round.revised"})
"""The types of events that tell an outcome."""

REMEMBERED = 16
"""How many rounds are known: more than a table lets people revise."""

_MARKS = tuple(f'"type":"{kind}"'.encode() for kind in sorted(KINDS))


class Told:
    """One table's outcomes: by round, oldest first, the ids of the event that told it last."""

    def __init__(self, known: Mapping[str, EventIds] | None = None) -> None:
        self._ids: dict[str, EventIds] = dict(known or {})
        self._public: str | None = None

    @property
    def known(self) -> Mapping[str, EventIds]:
        """All that are remembered."""
        return self._ids

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
        for body in bodies:
            if not any(mark in body for mark in _MARKS):
                continue
            event = msgspec.json.decode(body, type=_Event)
            if event.id.rpartition("/")[2].startswith("p"):
                self._public = event.id
            else:
                self.note(event.type, event.subject, EventIds(self._public, event.id))
                self._public = None


class _Event(msgspec.Struct):
    id: str
    type: str
    subject: str | None
