"""The one outcome that stands of a round: told, revised, or taken back by a void.

In: an event that is due, and what stood of its round before. Out: what stands now.
Must not know: wagers, money, stores, in which order events come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from shoe_events.consumer import Due
from shoe_events.event import Audience, Event, read_id

OUTCOME = "round.outcome"
REVISED = "round.revised"
VOID = "round.void"

RULINGS = frozenset({OUTCOME, REVISED, VOID})
"""The types of events that say how a round ended."""

_NAMES_FORMER = {REVISED: "revises", VOID: "revokes"}


@dataclass(frozen=True, slots=True)
class Round:
    """What a round is known by. Round ids are unique within a source."""

    source: str
    audience: Audience
    round_id: str


@dataclass(frozen=True, slots=True)
class Standing:
    """How a round stands: by an outcome, or void. ``event_id`` is the event that said so last.

    ``told_in`` is that event's source: another one than the round's, where the table went on under
    a new source in between.
    """

    round: Round
    result: Literal["outcome", "void"]
    event_id: str
    number: int
    told_in: str


@dataclass(frozen=True, slots=True)
class Change:
    """A round stands otherwise than before: settle it by ``now``, and take back ``was``.

    ``was`` is None for a round of which nothing stood. With ``now.result`` ``"outcome"`` the event
    has the whole outcome; with ``"void"`` all wagers go back.
    """

    event: Event
    was: Standing | None
    now: Standing


def round_of(event: Event) -> Round | None:
    """Return the round that an event is about, by its own source; None for other events."""
    round_id = event.data.get("round_id")
    if event.type not in RULINGS or not isinstance(round_id, str):
        return None
    return Round(event.source, event.audience, round_id)


def replaced_event(event: Event) -> str | None:
    """Return the id of the event that a revision revises or a void revokes; None without one."""
    found = event.data.get(_NAMES_FORMER.get(event.type, ""))
    return found if isinstance(found, str) else None


def change_of(
    due: Due,
    find_round: Callable[[Round], Standing | None],
    find_event: Callable[[str, Audience], Standing | None],
) -> Change | None:
    """Return what an event changes of its round; None if it changes nothing.

    ``find_round`` returns how a round stands; ``find_event`` how the round stands of which the
    event with this id and audience spoke last, the newest one of several. It is asked where a table
    went on under a new source, and a revision names an event of the source before. An event that
    comes late changes nothing if a later one already says how the round stands.
    """
    event = due.event
    key = round_of(event)
    if key is None:
        return None
    was = find_round(key)
    if was is None and (replaced := replaced_event(event)) is not None:
        is_earlier_source = due.position.begun and read_id(replaced)[2] < due.position.first
        was = find_event(replaced, event.audience) if is_earlier_source else None
    if was is not None:
        if event.source == was.told_in:
            is_older = event.number <= was.number
        else:
            is_older = event.source == was.round.source  # a later source spoke of it since
        if is_older:
            return None
        key = was.round
    result: Literal["outcome", "void"] = "void" if event.type == VOID else "outcome"
    return Change(event, was, Standing(key, result, event.id, event.number, event.source))


class Rounds:
    """How rounds stand, in memory: for an application that keeps nothing, and for tests."""

    def __init__(self) -> None:
        self._rounds: dict[Round, Standing] = {}
        self._events: dict[tuple[str, Audience], Standing] = {}

    def __iter__(self) -> Iterator[Standing]:
        return iter(self._rounds.values())

    def apply(self, due: Due) -> Change | None:
        """Take in an event that is due; return what it changes, None if nothing."""
        event = due.event
        change = change_of(due, self._rounds.get, lambda *key: self._events.get(key))
        if change is not None:
            self._rounds[change.now.round] = change.now
            self._events[change.now.event_id, event.audience] = change.now
        return change
