"""The budget of refused commands that are recorded of each principal; others are only counted.

In: refusals, times. Out: whether a refusal is recorded; counts and answers of those that are not.
Must not know: tables, the journal, why a command is refused.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import UNSET, UnsetType

from shoe_ctl.table.answers import REMEMBERED_COMMANDS
from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.table.state import FirstAnswer

RECORDED = 60
"""Refused commands of one principal that a table records in one stretch of time."""

STRETCH_US = 600_000_000
"""Length of a stretch, which begins with the first of them."""


class Principal(NamedTuple):
    """The owner of a budget: a user, or a person whose login the user vouches for.

    For each kind of ``note`` such a user has one of its own.
    """

    user: str
    person: str | UnsetType = UNSET
    note: str | None = None


def principal_of(command: TableCommand) -> Principal:
    """Return who gives this command."""
    return Principal(command.user, command.logged_in)


class Unrecorded(NamedTuple):
    """So many refused commands were not recorded since then."""

    by: Principal
    number: int
    since_us: int


class _Stretch:
    def __init__(self, since_us: int) -> None:
        self.since_us = since_us
        self.recorded = 0
        self.counted = 0


class RefusalBudget:
    """One table's, for each principal. Times never run backwards.

    ``answered`` are the last refusals that were not recorded, by command id: as many as a table
    remembers commands, and for as long as this process runs.
    """

    def __init__(self) -> None:
        self._stretches: dict[Principal, _Stretch] = {}
        self.answered: dict[str, FirstAnswer] = {}

    def is_spent(self, by: Principal, now_us: int) -> bool:
        """Return whether no more refused commands of this principal are recorded now."""
        stretch = self._stretches.get(by)
        return (
            stretch is not None
            and now_us < stretch.since_us + STRETCH_US
            and stretch.recorded >= RECORDED
        )

    def record(self, by: Principal, now_us: int) -> None:
        """Count a refusal that is recorded."""
        stretch = self._stretches.get(by)
        if stretch is None or (now_us >= stretch.since_us + STRETCH_US and not stretch.counted):
            stretch = self._stretches[by] = _Stretch(now_us)
        stretch.recorded += 1

    def count(self, by: Principal, now_us: int) -> None:
        """Count a refusal that is not recorded."""
        self._stretches.setdefault(by, _Stretch(now_us)).counted += 1

    def remember(self, first: FirstAnswer) -> None:
        """Remember a refusal that is not recorded: it is repeated when its id comes again."""
        self.answered[first.command_id] = first
        while len(self.answered) > REMEMBERED_COMMANDS:
            del self.answered[next(iter(self.answered))]

    def due_us(self) -> int | None:
        """Return when the next count is to be recorded; None where there is none."""
        if not self._stretches:
            return None
        counting = (s.since_us + STRETCH_US for s in self._stretches.values() if s.counted)
        return min(counting, default=None)

    def take(self, now_us: int | None = None) -> list[Unrecorded]:
        """Return the counts that are due, each once; without a time all of them."""
        ended = {
            by: stretch
            for by, stretch in self._stretches.items()
            if now_us is None or now_us >= stretch.since_us + STRETCH_US
        }
        for by in ended:
            del self._stretches[by]
        return [Unrecorded(by, s.counted, s.since_us) for by, s in ended.items() if s.counted]
