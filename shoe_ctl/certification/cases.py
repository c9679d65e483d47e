"""The trials of a receiver: what happens to its events, and what it must hold at the end.

In: the recorded events of a shoe. Out: cases, each a list of steps at a table of its own, with the
journal that the receiver may ask. Must not know: brokers, processes, clocks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from shoe_ctl.records import event_id, source_of

FIRST_EPOCH = "5ec0de01"
NEXT_EPOCH = "5ec0de02"

_RECORDED_TABLE = "t1"
_REVISED_TO = 54
"""The recording's first two rounds, the second with its revision, end with this event."""
_SETTLED_TO = 51
"""The same without the revision."""
_OUTCOME_OF_ROUND_1 = 22
_OUTCOME_OF_ROUND_2 = 49
_VOID_TO = 87
"""Two void rounds more end with this event; the second one had an outcome before."""


class Event(NamedTuple):
    """An event as it is published, and what says where it belongs."""

    source: str
    id: str
    type: str
    round_id: str | None
    winner: str | None
    body: bytes

    @property
    def number(self) -> int:
        """Its number in its stream."""
        return event_id(self.id).number


@dataclass(frozen=True, slots=True)
class Send:
    """Publish these events."""

    events: Sequence[Event]


@dataclass(frozen=True, slots=True)
class SendUntilHeard:
    """Publish these one by one until the receiver shows that it gets events, then the rest."""

    events: Sequence[Event]


@dataclass(frozen=True, slots=True)
class SendGarbage:
    """Publish these bytes, which are no event."""

    body: bytes


@dataclass(frozen=True, slots=True)
class KillBroker:
    """The broker dies with all that it holds, and is there again a moment later."""


Step = Send | SendUntilHeard | SendGarbage | KillBroker


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One trial. ``journal`` is what the receiver may ask for, in order; empty: nobody answers."""

    name: str
    title: str
    table: str
    steps: Sequence[Step]
    journal: Sequence[Event] = ()
    kills_broker: bool = False
    beyond: Sequence[Event] = field(default=())
    """Events that the receiver got and the journal lost: it holds them all the same."""

    @property
    def events(self) -> list[Event]:
        """Every event that the receiver must have applied, each once, in the order it happened."""
        sent = [
            event
            for step in self.steps
            if isinstance(step, Send | SendUntilHeard)
            for event in step.events
        ]
        first = {(each.source, each.id): each for each in (*self.beyond, *self.journal, *sent)}
        return sorted(first.values(), key=lambda each: (each.source, each.number))


class Holdings(NamedTuple):
    """The holdings of a receiver: applied events by source, results by source and round."""

    events: dict[str, int]
    rounds: dict[str, dict[str, str]]


def holdings(events: Iterable[Event]) -> Holdings:
    """Return what follows from events that are each applied once, in order."""
    counts: dict[str, int] = {}
    rounds: dict[str, dict[str, str]] = {}
    for event in events:
        counts[event.source] = counts.get(event.source, 0) + 1
        if event.round_id is None:
            continue
        if event.type in ("round.outcome", "round.revised") and event.winner is not None:
            rounds.setdefault(event.source, {})[event.round_id] = event.winner
        elif event.type == "round.void":
            rounds.setdefault(event.source, {})[event.round_id] = "void"
    return Holdings(counts, rounds)


def cases(recorded: Sequence[dict[str, Any]]) -> list[Case]:
    """Return all trials, made from the public events of the shipped recording, in its order."""

    def events(table: str, first: int, last: int, epoch: str = FIRST_EPOCH) -> list[Event]:
        return [_event(recorded[n - 1], table, n, epoch) for n in range(first, last + 1)]

    def renumbered(table: str, first: int, last: int, number: int) -> list[Event]:
        """Some of the recording's events as those that follow ``number`` in the next source."""
        return [
            _event(recorded[n - 1], table, number + n - first + 1, NEXT_EPOCH)
            for n in range(first, last + 1)
        ]

    made = []

    def add(name: str, title: str, steps: Sequence[Step], **more: Any) -> None:
        made.append(Case(name=name, title=title, table=_table(name), steps=steps, **more))

    whole = events(_table("start"), 1, _SETTLED_TO)
    add("start", "the receiver connects, and gets what came before", [SendUntilHeard(whole)],
        journal=whole)  # fmt: skip

    whole = events(_table("in_order"), 1, _SETTLED_TO)
    add("in_order", "every event once, in order", [Send(whole)], journal=whole)

    whole = events(_table("revision"), 1, _REVISED_TO)
    add("revision", "an outcome is revised after it was settled", [Send(whole)], journal=whole)

    whole = events(_table("void"), 1, _VOID_TO)
    add("void", "a round is void, one of them after its outcome", [Send(whole)], journal=whole)

    whole = events(_table("doubles"), 1, _REVISED_TO)
    twice = [each for event in whole[:-1] for each in (event, event)]
    add("doubles", "every event twice, and all of them once more",
        [Send(twice), Send(whole[:-1]), Send(whole[-1:])], journal=whole)  # fmt: skip

    whole = events(_table("gap"), 1, _REVISED_TO)
    hole = range(_OUTCOME_OF_ROUND_1 - 1, _OUTCOME_OF_ROUND_1 + 3)
    add("gap", "an outcome and its neighbors never come unless they are asked for",
        [Send([e for e in whole if e.number not in hole])], journal=whole)  # fmt: skip

    whole = events(_table("late"), 1, _REVISED_TO)
    late = [e for e in whole if e.number == _OUTCOME_OF_ROUND_2]
    others = [e for e in whole if e not in late]
    add("late", "an outcome comes after its revision, and nobody answers requests",
        [Send(others), Send(late)])  # fmt: skip

    whole = events(_table("unknown"), 1, _REVISED_TO)
    unknown = _unknown(whole[-1])
    add("unknown", "types and keys of a later version, and bytes that are no event",
        [Send(whole[:10]), SendGarbage(b"\xff\x00 no event"), Send([*whole[10:], unknown])],
        journal=[*whole, unknown])  # fmt: skip

    table = _table("new_journal")
    before = events(table, 1, _OUTCOME_OF_ROUND_1 + 1)
    after = events(table, 1, _REVISED_TO, NEXT_EPOCH)
    add("new_journal", "a new source that begins with number 1: another journal",
        [Send(before), Send(after)], journal=after, beyond=before)  # fmt: skip

    table = _table("lost_part")
    before = events(table, 1, _REVISED_TO)
    kept = before[: _OUTCOME_OF_ROUND_2 + 1]
    after = renumbered(table, _REVISED_TO + 1, _REVISED_TO + 13, kept[-1].number)
    add("lost_part", "a new source that goes on: the journal lost its newest part",
        [Send(before), Send(after)], journal=[*kept, *after], beyond=before)  # fmt: skip

    whole = events(_table("broker_death"), 1, _VOID_TO)
    add("broker_death", "the broker is killed with events that it had not delivered",
        [Send(whole[:30]), KillBroker(), SendUntilHeard(whole[40:])],
        journal=whole, kills_broker=True)  # fmt: skip
    return made


def _table(case: str) -> str:
    """Return the table of a case: each has its own, so that no case meets another one's events."""
    return f"certify-{case.replace('_', '-')}"


def _event(recorded: dict[str, Any], table: str, number: int, epoch: str) -> Event:
    renamed = _renamed(recorded, table)
    plain = renamed | {"id": f"{table}/p{number}", "source": source_of(epoch, table)}
    return _as_event(plain)


def _as_event(plain: dict[str, Any]) -> Event:
    data = plain["data"]
    body = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()
    names = plain["source"], plain["id"], plain["type"]
    return Event(*names, data.get("round_id"), data.get("winner"), body)


def _unknown(last: Event) -> Event:
    """Return an event of a type that no version knows yet, right behind this one."""
    plain = json.loads(last.body)
    table = event_id(last.id).table
    return _as_event(
        plain
        | {
            "id": f"{table}/p{last.number + 1}",
            "type": "certify.unknown",
            "extension": "of a later version",
            "data": {"certify": [1, {"deep": None}]},
        }
    )


def _renamed(value: Any, table: str) -> Any:
    """Return a value of a recorded event with this table in the place of the recorded one."""
    if isinstance(value, dict):
        return {key: _renamed(inner, table) for key, inner in value.items()}
    if isinstance(value, list):
        return [_renamed(inner, table) for inner in value]
    if isinstance(value, str):
        for mark in ("/", "-s"):
            if value.startswith(_RECORDED_TABLE + mark):
                return table + value[len(_RECORDED_TABLE) :]
        return table if value == _RECORDED_TABLE else value
    return value


def difference(held: Holdings, expected: Holdings) -> str | None:
    """Return the first thing that is otherwise with the receiver, in words; None if nothing is.

    What ``held`` has of other sources does not matter.
    """
    for source, events in expected.events.items():
        wanted = expected.rounds.get(source, {})
        has = held.rounds.get(source, {})
        for round_id, result in wanted.items():
            if has.get(round_id) != result:
                return f"round {round_id} of {source}: expected {result}, holds {has.get(round_id)}"
        for round_id in has.keys() - wanted.keys():
            return f"round {round_id} of {source}: holds {has[round_id]}, was never told"
        if (applied := held.events.get(source, 0)) != events:
            return f"{source}: expected {events} events applied once each, applied {applied}"
    return None


def is_beyond(held: Holdings, expected: Holdings) -> bool:
    """True if the receiver applied more than there is: waiting does not help."""
    return any(held.events.get(source, 0) > many for source, many in expected.events.items())
