"""The test vectors of the kit for table systems, and a consumer that is played through one.

In: the files in ``clients/vectors``. Out: what was applied, asked for and what stands, by step.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shoe_events import Consumer, Due, Event, Position, Rounds, read_event
from shoe_testing.paths import ROOT

VECTORS = sorted((ROOT / "clients/vectors").glob("*.json"))


def make_event(
    epoch: str, event_id: str, kind: str, data: Mapping[str, Any], time: str | None = None
) -> Event:
    """Return an event of the journal with this epoch, whose events come one a second."""
    table, _, last = event_id.rpartition("/")
    hour, second = int(epoch[0], 16), int(last[1:])
    envelope = {
        "specversion": "1.0",
        "id": event_id,
        "source": f"/journal/{epoch}/table/{table}",
        "type": kind,
        "time": time or f"2026-01-01T{hour:02}:{second // 60:02}:{second % 60:02}.000000Z",
        "data": data,
    }
    return read_event(json.dumps(envelope))


class Program:
    """A table system with a store: it keeps positions and rounds when it ends."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self.stored: dict[tuple[str, str], str] = {}
        self.rounds = Rounds()
        self.applied: list[Due] = []
        self.consumer = Consumer(**options)

    def restart(self) -> None:
        """End, and begin again with what is stored."""
        positions = map(Position.from_json, self.stored.values())
        self.consumer = Consumer(positions, **self._options)

    def offer(self, events: Iterable[Event]) -> list[Due]:
        """Take in these events; return what was applied."""
        before = len(self.applied)
        for event in events:
            self.consumer.offer(event)
            self.apply_due()
        return self.applied[before:]

    def give_up(self) -> list[Due]:
        """Go on without what is missing; return what was applied."""
        before = len(self.applied)
        for asked in self.consumer.wanted():
            self.consumer.give_up(asked)
        self.apply_due()
        return self.applied[before:]

    def apply_due(self) -> None:
        """Apply what is due."""
        while (due := self.consumer.due()) is not None:
            self.apply(due)
            self.consumer.applied(due)

    def apply(self, due: Due) -> None:
        """Store an event's effect and its position."""
        self.applied.append(due)
        self.rounds.apply(due)
        self.stored[due.position.key] = due.position.to_json()


def play(path: Path) -> tuple[list[Any], list[Any]]:
    """Return what a vector expects, and what came of it."""
    vector = json.loads(path.read_bytes())
    program = Program(hold=vector.get("hold", True), begin=vector.get("begin", "anywhere"))
    expected: list[Any] = [
        (step.get("applied", []), step.get("wanted", []), step.get("new_source"))
        for step in vector["steps"]
    ]
    found: list[Any] = [_step(program, step) for step in vector["steps"]]
    standing = [
        {
            "round_id": each.round.round_id,
            "epoch": each.round.source.split("/")[2],
            "result": each.result,
            "event": each.event_id,
            "told_in": each.told_in.split("/")[2],
        }
        for each in program.rounds
    ]
    return [*expected, _sorted(vector["rounds"])], [*found, _sorted(standing)]


def _sorted(rounds: list[dict[str, str]]) -> list[dict[str, str]]:
    return sorted(rounds, key=lambda each: (each["round_id"], each["epoch"], each["event"]))


def _step(
    program: Program, step: Mapping[str, Any]
) -> tuple[list[str], list[Any], list[Any] | None]:
    applied: list[Due] = []
    if "offer" in step:
        applied = program.offer(make_event(*each) for each in step["offer"])
    elif "expect" in step:
        program.consumer.expect(step["expect"])
    elif "give_up" in step:
        applied = program.give_up()
    else:
        program.restart()
    ids = [f"{due.event.id} late" if due.late else due.event.id for due in applied]
    sources = [due.new_source for due in applied if due.new_source is not None]
    new = [[each.first, None if each.disowned is None else list(each.disowned)] for each in sources]
    wanted = [[each.after, each.upto] for each in program.consumer.wanted()]
    return ids, wanted, new[0] if new else None
