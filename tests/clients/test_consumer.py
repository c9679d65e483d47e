"""The consumer in Python: the vectors that both languages share, kills, and any order by seed."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_events import Due, Event, Position, Resend, Rounds
from shoe_testing.consumer_vectors import VECTORS, Program, make_event, play
from shoe_testing.for_each import for_each

STREAMS = [("t1", "public"), ("t1", "restricted"), ("t2", "public")]


@for_each(VECTORS)
def test_a_vector_comes_out_as_expected(path: Path) -> None:
    expected, found = play(path)
    assert found == expected


class Killed(Exception):
    """The program was killed."""


class KilledProgram(Program):
    """A program that can be killed before its transaction, or right after it."""

    kill: str | None = None

    def apply(self, due: Due) -> None:
        self._die_if("before")
        super().apply(due)
        self._die_if("after")

    def _die_if(self, moment: str) -> None:
        if self.kill == moment:
            self.kill = None
            raise Killed


class Publisher:
    """A journal and a transport that loses, repeats and delays, by chance."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.epoch = 0
        self.kept: dict[tuple[str, str], list[Event]] = {key: [] for key in STREAMS}
        self.delayed: list[Event] = []
        self.commits = 0
        self.lost_some = False

    def emit(self) -> list[Event]:
        """Commit an event; return what comes of it at the consumer now."""
        return self._emit(self.chance.choice(STREAMS))

    def _emit(self, key: tuple[str, str]) -> list[Event]:
        events = self.kept[key]
        event_id = f"{key[0]}/{key[1][0]}{len(events) + 1}"
        self.commits += 1
        kind, data = self._content(events)
        events.append(make_event(f"{self.epoch:08x}", event_id, kind, data, f"{self.commits:09}"))
        fate = self.chance.choice(["once", "once", "twice", "lost", "late"])
        if fate == "late":
            self.delayed.append(events[-1])
        return {"once": 1, "twice": 2}.get(fate, 0) * [events[-1]]

    def _content(self, events: list[Event]) -> tuple[str, dict[str, Any]]:
        round_id = f"r{self.chance.randrange(4)}"
        told = [e for e in events if e.data.get("round_id") == round_id]
        if not told:
            kind = self.chance.choice(["round.outcome", "round.void"])
            return kind, {"round_id": round_id}
        if told[-1].type == "round.void" or self.chance.random() < 0.4:
            return "table.resumed", {}
        if self.chance.random() < 0.7:
            return "round.revised", {"round_id": round_id, "revises": told[-1].id}
        return "round.void", {"round_id": round_id, "revokes": told[-1].id}

    def emit_surely(self, key: tuple[str, str]) -> list[Event]:
        """Commit an event of this stream that comes."""
        self._emit(key)
        return self.kept[key][-1:]

    def come_late(self) -> list[Event]:
        """Return an event that was delayed."""
        late, self.delayed = self.delayed[:1], self.delayed[1:]
        return late

    def lose_newest(self) -> list[Event]:
        """Go on without the newest events of each stream, under a new source."""
        self.lost_some = True
        for events in self.kept.values():
            del events[max(0, len(events) - self.chance.randrange(8)) :]
        return self._begin()

    def begin_anew(self) -> list[Event]:
        """Go on with a new journal."""
        for events in self.kept.values():
            events.clear()
        return self._begin()

    def _begin(self) -> list[Event]:
        """Every table says that it was started."""
        self.epoch += 1
        kept = [event for events in self.kept.values() for event in events]
        self.delayed = [event for event in self.delayed if event in kept]
        return [event for key in STREAMS for event in self._emit(key)]

    def resend(self, asked: Resend) -> list[Event] | int:
        """Return what is wanted behind an event, or the last number if there is no such event."""
        events = self.kept[asked.table, asked.audience]
        after = int(asked.after.rpartition("/")[2][1:])
        return events[after : asked.upto] if after <= len(events) else len(events)


def restart_if_killed(program: Program, events: list[Event]) -> None:
    """Offer events; a program that is killed has forgotten what it had not applied."""
    for event in events:
        try:
            program.offer([event])
        except Killed:
            program.restart()


def ask_all(program: Program, publisher: Publisher, wanted: list[Resend]) -> None:
    for asked in wanted:
        ask(program, publisher, asked)


def ask(program: Program, publisher: Publisher, asked: Resend) -> None:
    answer = publisher.resend(asked)
    if isinstance(answer, int):
        earlier = program.consumer.step_back(asked, answer)
        if earlier is not None:
            ask(program, publisher, earlier)
    else:
        restart_if_killed(program, answer)


STEPS = [*["emit"] * 12, "late", "kill", "restart", "ask", "lose", "begin"]
"""What may happen. Events come most of the time."""


def take_step(program: KilledProgram, publisher: Publisher, step: str) -> None:
    if step == "kill":
        program.kill = publisher.chance.choice(["before", "after"])
    elif step == "restart":
        program.restart()
        ask_all(program, publisher, program.consumer.resume())
    elif step == "ask":
        ask_all(program, publisher, program.consumer.wanted())
    else:
        come = {
            "emit": publisher.emit,
            "late": publisher.come_late,
            "lose": publisher.lose_newest,
            "begin": publisher.begin_anew,
        }
        restart_if_killed(program, come[step]())


def play_by_chance(seed: int, *, hold: bool, steps: int) -> tuple[Program, Publisher]:
    chance = random.Random(seed)
    program = KilledProgram(hold=hold, begin="first", most_held=chance.choice([2, 10_000]))
    publisher = Publisher(chance)
    for _ in range(steps):
        take_step(program, publisher, chance.choice(STEPS))
    program.kill = None
    program.restart()
    restart_if_killed(program, [e for key in STREAMS for e in publisher.emit_surely(key)])
    for _ in range(200):
        if not (wanted := program.consumer.wanted()):
            break
        ask_all(program, publisher, wanted)
    return program, publisher


@given(st.integers(0, 2**32), st.booleans())
def test_whatever_is_lost_repeated_late_or_killed_each_event_is_applied_once(
    number: int, hold: bool
) -> None:
    check_run(number, hold=hold, steps=60)


def check_run(seed: int, *, hold: bool, steps: int) -> None:
    program, publisher = play_by_chance(seed, hold=hold, steps=steps)
    assert program.consumer.wanted() == []
    applied = Counter((due.event.source, due.event.id) for due in program.applied)
    assert [key for key, times in applied.items() if times > 1] == []
    kept = [event for events in publisher.kept.values() for event in events]
    assert [e.id for e in kept if (e.source, e.id) not in applied] == []
    if hold:
        for table, audience in STREAMS:
            order = [
                (due.event.source, due.event.number)
                for due in program.applied
                if (due.event.table, due.event.audience) == (table, audience) and not due.late
            ]
            assert order == sorted(order), (table, audience)
    if not publisher.lost_some:
        newest = f"{publisher.epoch:08x}"
        truth = Rounds()
        for event in kept:
            position = Position(event.source, event.table, event.audience, event.number)
            truth.apply(Due(event, position))
        stands = [each for each in program.rounds if newest in each.round.source]
        assert sorted(stands, key=repr) == sorted(truth, key=repr)


@pytest.mark.exhaustive(cpu_s=5)
@pytest.mark.parametrize("hold", [True, False])
def test_many_longer_runs_lose_nothing_and_apply_nothing_twice(seed: int, hold: bool) -> None:
    for number in range(600):
        check_run(random.Random(f"{seed} {number}").getrandbits(32), hold=hold, steps=100)
