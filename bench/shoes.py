"""Simulated eight-deck shoes a second and core, from the shoe's bytes to the journal.

In: --runs. Out: a table (or JSON): shoes for each second of processor time, for each profile (the
median of the runs, and their spread), and where the time goes. All in one process and on a clock
moved by hand: simulated shoe and dealer, the wire's codec and sessions at both ends, the
controller, and the journal. It stores what a daemon stores: a group for each portion that a port
brings, with its bytes, those that were sent to the shoe before, the inputs and their events; a
status from which nothing follows goes with the next group. Exits 1 where the promise is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from time import process_time
from typing import Any

from bench._promises import Promise, median_of, report
from bench._table import calibration_ms
from firmware_proto.events import CardDrawn, Status
from firmware_proto.profiles import PROFILES
from firmware_proto.session import HostSession, ReceivedEvent, Resume
from shoe_ctl.games import catalog
from shoe_ctl.history.event_ids import EventIndex
from shoe_ctl.history.recorder import record_input
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.record_format import Direction
from shoe_ctl.journal.store import Store
from shoe_ctl.table.effects import TableEvent
from shoe_ctl.table.inputs import Input, ShoeSaid
from shoe_testing.bench import DealtTable

SHOES_A_SECOND = 15.0
GROUPS_AT_ONCE = 40
"""Groups that somebody waits for and that share a transaction: as many as so many tables have."""


Measure = Callable[[str, Callable[..., Any]], Callable[..., Any]]
"""Returns the function that stands for a part of the work, by the part's name."""


def unmeasured(_: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself: a clock that is asked at each call takes its own part of the time."""
    return call


class Spent:
    """The processor time of each part. To ask the clock takes about a microsecond; see ``net``."""

    def __init__(self) -> None:
        self.s: defaultdict[str, float] = defaultdict(float)
        self.calls: Counter[str] = Counter()

    def measure(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its time counted."""

        def measured(*arguments: Any) -> Any:
            began = process_time()
            try:
                return call(*arguments)
            finally:
                self.s[part] += process_time() - began
                self.calls[part] += 1

        return measured

    def net(self, took: float) -> dict[str, float]:
        """The seconds of each part and of all else, without what it took to measure them."""
        inside, outside = _clock_s()
        parts = {part: s - self.calls[part] * inside for part, s in self.s.items()}
        whole = took - self.calls.total() * (inside + outside)
        return {**parts, THE_REST: whole - sum(parts.values())}


THE_REST = "simulated shoe, sessions"


def _clock_s() -> tuple[float, float]:
    """What measuring adds to each call: to the seconds of its part, and to those around it."""
    calls = 2000
    spent = Spent()
    nothing = spent.measure("nothing", int)
    began = process_time()
    for _ in range(calls):
        nothing()
    took = process_time() - began
    return spent.s["nothing"] / calls, (took - spent.s["nothing"]) / calls


class StoredTable(DealtTable):
    """A table whose link, inputs and events are stored."""

    def __init__(
        self, store: Store, profile: str, seed: int, measure: Measure = unmeasured
    ) -> None:
        super().__init__(catalog.load("tiger"), profile, seed, face_up_after_ms=0)
        self._measure = measure
        self._handle = measure("controller", self.controller.handle)
        self._record = measure("record", record_input)
        self._prepare = measure("pack and chain", store.prepare)
        self._write = measure("commit", store.commit_prepared)
        self._table = self.controller.settings.table
        self._index = EventIndex()
        self._groups: list[Batch] = []
        self._waiting = 0
        self._portion = Batch()
        self._waits = False
        self._received = self._wrote = 0
        self._sent: list[tuple[int, bytes, int]] = []

    def deal(self, sets: int = 1) -> None:
        """Deal, and store what is left."""
        super().deal(sets)
        self._commit()

    def _session(self, resume: Resume | None, settings: Mapping[str, object]) -> HostSession:
        session = super()._session(resume, settings)
        receive, outgoing = self._measure("decode", session.receive), session.outgoing
        self._received = self._wrote = 0

        def received(data: bytes, t: float) -> list[ReceivedEvent]:
            heard: list[ReceivedEvent] = receive(data, t)
            self._begin_portion(data, heard)
            return heard

        def sent() -> bytes:
            data = outgoing()
            if data:
                self._sent.append((self._wrote, data, self._now_us))
                self._wrote += len(data)
            return data

        session.receive = received  # type: ignore[method-assign]
        session.outgoing = sent  # type: ignore[method-assign]
        return session

    def _begin_portion(self, data: bytes, heard: list[ReceivedEvent]) -> None:
        """Begin the group of a portion. The inputs that it brings are added as they are handled."""
        self._portion = self._begin()
        self._append(self._portion, Direction.FROM_SHOE, self._received, data, self._now_us)
        self._received += len(data)
        self._waits = any(type(one.event) is not Status for one in heard)
        self._waiting += self._waits

    def _begin(self) -> Batch:
        """Return a new group, with what was sent to the shoe before it; store those that wait."""
        if self._waiting >= GROUPS_AT_ONCE:
            self._commit()
        group = Batch()
        self._groups.append(group)
        for sent in self._sent:
            self._append(group, Direction.TO_SHOE, *sent)
        self._sent.clear()
        return group

    def _append(
        self, group: Batch, direction: Direction, offset: int, data: bytes, t_us: int
    ) -> None:
        group.append_wire(
            self._table,
            connection=self._connection,
            direction=direction,
            offset=offset,
            t_us=t_us,
            data=data,
        )

    def _happened(self, happened: Input) -> None:
        effects = self._handle(happened)
        if not isinstance(happened, ShoeSaid):
            self._portion, self._waits = self._begin(), True
            self._waiting += 1
        elif effects and not self._waits:
            self._waits = True
            self._waiting += 1
        self._record(self._portion, self._table, happened, effects, self._index)
        self.inputs.append(happened)
        for effect in effects:
            if isinstance(effect, TableEvent):
                self.count[effect.type] += 1

    def _commit(self) -> None:
        groups, self._groups, self._waiting = self._groups, [], 0
        self._write(self._prepare(groups))


def dealt(folder: Path, profile: str, runs: int) -> list[Promise]:
    """Several shoes of a profile, one after the other; one more shows where the time goes."""
    rates, calibrated = [], []
    for seed in range(1, runs + 1):
        calibrated.append(calibration_ms())
        took, _ = _deal(folder / f"{profile}-{seed}.db", profile, seed, unmeasured)
        rates.append(1 / took)
    found = [median_of(f"{profile}: shoes a second and core", rates, least=SHOES_A_SECOND)]
    spent = Spent()
    took, cards = _deal(folder / f"{profile}-parts.db", profile, 1, spent.measure)
    parts = spent.net(took)
    found += [Promise(f"  {part}, a card", s / cards * 1e6, "µs") for part, s in parts.items()]
    return [*found, median_of("  a fixed loop beside it", calibrated, unit="ms")]


def _deal(journal: Path, profile: str, seed: int, measure: Measure) -> tuple[float, int]:
    """Deal a shoe; return the processor time that it took, and how many cards it had."""
    store = Store.open(journal)
    table = StoredTable(store, profile, seed, measure)
    began = process_time()
    table.deal()
    took = process_time() - began
    store.close()
    drawn = sum(isinstance(getattr(each, "event", None), CardDrawn) for each in table.inputs)
    return took, drawn


def main() -> int:
    """Exits 1 where the promise is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=7, help="shoes of each profile (default 7)")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs: one at least")
    with tempfile.TemporaryDirectory(prefix="shoe-ctl-") as folder:
        found = [one for name in PROFILES for one in dealt(Path(folder), name, options.runs)]
    return report(found, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
