"""What the simulation is worth: code that is broken on purpose breaks the promise it is there for.

A failing plan runs again in the same way, in another process too, and shrinks to what matters.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from shoe_ctl.daemon.table_runner import TableRunner
from shoe_ctl.history.event_ids import EventIndex
from shoe_ctl.journal import schema
from shoe_ctl.journal.journal import SinkFeed
from shoe_ctl.link.connection import Connection
from shoe_ctl.table import undelivered, visible_cards
from shoe_testing.examples import sampled
from shoe_testing.paths import ROOT, child_environment
from tests.simulation.plan import Plan
from tests.simulation.plans import struck
from tests.simulation.run import plan_for, run, shrink

Break = Callable[[pytest.MonkeyPatch], None]


def commits_are_not_synced(patch: pytest.MonkeyPatch) -> None:
    honest = schema.open_writing

    def writing(path: Path, vfs: str | None, *, synchronous: str) -> apsw.Connection:
        return honest(path, vfs, synchronous="OFF" if synchronous == "FULL" else synchronous)

    patch.setattr(schema, "open_writing", writing)


def a_sink_is_moved_too_far(patch: pytest.MonkeyPatch) -> None:
    honest = SinkFeed.delivered

    async def delivered(self: SinkFeed, n: int) -> None:
        await honest(self, n + 6)

    patch.setattr(SinkFeed, "delivered", delivered)


def cards_are_told_as_they_are_drawn(patch: pytest.MonkeyPatch) -> None:
    honest = visible_cards._dealt

    def dealt(card: Any, noted: Any) -> dict[str, Any]:
        return honest(card, noted) | {"card": None if card.card is None else card.card.code}

    patch.setattr(visible_cards, "_dealt", dealt)


def answers_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    def answer(_: EventIndex, __: str) -> None:
        return None

    patch.setattr(EventIndex, "answer", answer)


def events_are_acknowledged_as_they_are_heard(patch: pytest.MonkeyPatch) -> None:
    honest = Connection._decode

    async def decode(self: Connection, chunk: bytes, t_us: int, step: Callable[[], Any]) -> None:
        def heard() -> Any:
            found = step()
            for event in found:
                if event.seq is not None:
                    self._session.stored(event.seq)
            self._transport.write(self._session.outgoing())
            return found

        await honest(self, chunk, t_us, heard)

    patch.setattr(Connection, "_decode", decode)


def tables_are_not_told_of_an_outage(patch: pytest.MonkeyPatch) -> None:
    honest = TableRunner.start

    async def start(self: TableRunner, host_boot: str, profile: str, *_: object) -> None:
        await honest(self, host_boot, profile)

    patch.setattr(TableRunner, "start", start)


def what_was_parked_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    def list_waiting(_: object, *, restricted: bool) -> dict[str, tuple[int, ...]]:
        return {}

    patch.setattr(undelivered, "list_waiting", list_waiting)


QUIET = struck(lasts_s=10.0)
LOST = struck(("killed", 3.0), ("killed", 6.0), ("power_lost", 9.0), lasts_s=12.0)
ENDED_IN_AN_OUTAGE = struck(("disk_full", 3.0), ("killed", 3.3), lasts_s=10.0)
CHOKED = struck(("sink_chokes", 3.0), lasts_s=10.0)
CLOSED = struck(face_up=False, lasts_s=10.0)
REPEATED = struck(("said_twice", 1.0), ("said_twice", 4.0), face_up=False, lasts_s=10.0)


BREAKS: list[tuple[Break, Plan, str]] = [
    (commits_are_not_synced, LOST, "PossibleLoss"),  # the head file shows what was lost
    (events_are_acknowledged_as_they_are_heard, QUIET, "nothing is lost"),
    (tables_are_not_told_of_an_outage, ENDED_IN_AN_OUTAGE, "a person resumes"),
    (what_was_parked_is_forgotten, CHOKED, "delivered"),
    (a_sink_is_moved_too_far, QUIET, "order"),
    (cards_are_told_as_they_are_drawn, CLOSED, "no card known early"),
    (answers_are_forgotten, REPEATED, "one answer a command"),
]
EVERY = [pytest.param(*each, id=each[0].__name__) for each in BREAKS]


@pytest.mark.slow
@pytest.mark.parametrize(("broken", "plan", "promise"), sampled(EVERY, one_in=3, cpu_s=0.5))
def test_what_is_broken_on_purpose_is_found(
    broken: Break, plan: Plan, promise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(plan)
    assert whole.failed is None, whole.line
    broken(monkeypatch)
    assert run(plan).kind == promise


@pytest.mark.slow
def test_a_failing_plan_shrinks_to_the_one_fault_that_matters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers_are_forgotten(monkeypatch)
    others = ("line_flip", "unplugged", "sink_dead", "paused", "shoe_reboots", "wager_late")
    noise = [(kind, 1.0 + 2 * number) for number, kind in enumerate(others)]
    failed = run(struck(*noise[:4], ("said_twice", 8.0), *noise[4:], face_up=False))
    assert failed.kind == "one answer a command"
    smallest = shrink(failed)
    assert [fault.kind for fault in smallest.plan.faults] == ["said_twice"]
    assert smallest.plan.lasts_s < failed.plan.lasts_s
    assert run(smallest.plan) == smallest


@pytest.mark.slow
@pytest.mark.exhaustive(cpu_s=2)
def test_a_seed_runs_in_the_same_way_in_any_process() -> None:
    seed = 107
    here = run(plan_for(seed))
    assert here.failed is None, here.line
    told = subprocess.run(
        [sys.executable, "-m", *here.plan.command.split()[2:]],
        cwd=ROOT,
        env={**child_environment(), "PYTHONHASHSEED": "42"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert told.rstrip().endswith(f"trace {here.trace[:16]}")
