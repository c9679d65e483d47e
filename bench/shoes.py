"""Simulated eight-deck shoes a second and core, from the shoe's bytes to the journal.

In: --runs. Out: a table (or JSON): shoes for each second of processor time, for each profile, and
where the time goes. All in one process and on a clock moved by hand: simulated shoe and dealer, the
wire's codec and sessions at both ends, the controller, and one transaction in the journal for all
that a card brings. Exits 1 where the promise is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from time import process_time

from bench._promises import Promise, median_of, report
from bench._table import calibration_ms
from firmware_proto.events import CardDrawn
from firmware_proto.profiles import PROFILES
from firmware_proto.session import HostSession, ReceivedEvent, Resume
from shoe_ctl.games import catalog
from shoe_ctl.history.event_ids import EventIndex
from shoe_ctl.history.recorder import record_input
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.codec import Direction
from shoe_ctl.journal.store import Store
from shoe_ctl.table.effects import TableEvent
from shoe_ctl.table.inputs import Input
from shoe_testing.bench import DealtTable

SHOES_A_SECOND = 15.0
GROUPS_AT_ONCE = 40
"""Groups of records that share a transaction: as many as wait at so many tables."""

FRAME = bytes(31)
"""As many bytes as a card takes on the wire."""


class StoredTable(DealtTable):
    """A table whose inputs and events are stored, and the time that the parts of it take."""

    def __init__(self, store: Store, profile: str, seed: int) -> None:
        super().__init__(catalog.load("tiger"), profile, seed, face_up_after_ms=0)
        self.spent: defaultdict[str, float] = defaultdict(float)
        self._store = store
        self._index = EventIndex()
        self._groups: list[Batch] = []
        self._offset = 0

    def deal(self, sets: int = 1) -> None:
        """Deal, and store what is left."""
        super().deal(sets)
        self._commit()

    def _session(self, resume: Resume | None, settings: Mapping[str, object]) -> HostSession:
        session = super()._session(resume, settings)
        receive = session.receive

        def timed(data: bytes, t: float) -> list[ReceivedEvent]:
            began = process_time()
            heard = receive(data, t)
            self.spent["decode"] += process_time() - began
            return heard

        session.receive = timed  # type: ignore[method-assign]
        return session

    def _happened(self, happened: Input) -> None:
        began = process_time()
        effects = self.controller.handle(happened)
        handled = process_time()
        group = Batch()
        group.append_wire(
            self.controller.settings.table,
            connection=1,
            direction=Direction.FROM_SHOE,
            offset=self._offset,
            t_us=happened.t_us,
            data=FRAME,
        )
        self._offset += len(FRAME)
        record_input(group, self.controller.settings.table, happened, effects, self._index)
        self._groups.append(group)
        recorded = process_time()
        self.spent["controller"] += handled - began
        self.spent["record"] += recorded - handled
        self.inputs.append(happened)
        self.count.update(effect.type for effect in effects if isinstance(effect, TableEvent))
        if len(self._groups) >= GROUPS_AT_ONCE:
            self._commit()

    def _commit(self) -> None:
        began = process_time()
        groups, self._groups = self._groups, []
        self._store.commit(groups)
        self.spent["commit"] += process_time() - began


def dealt(folder: Path, profile: str, runs: int) -> list[Promise]:
    """Several shoes of a profile, one after the other."""
    rates, cards, calibrated = [], 0, []
    spent: defaultdict[str, float] = defaultdict(float)
    for seed in range(1, runs + 1):
        store = Store.open(folder / f"{profile}-{seed}.db")
        calibrated.append(calibration_ms())
        table = StoredTable(store, profile, seed)
        began = process_time()
        table.deal()
        took = process_time() - began
        store.close()
        rates.append(1 / took)
        drawn = sum(isinstance(getattr(each, "event", None), CardDrawn) for each in table.inputs)
        cards += drawn
        table.spent["simulated shoe, sessions"] = took - sum(table.spent.values())
        for part, s in table.spent.items():
            spent[part] += s
    best = max(rates)
    found = [
        Promise(
            f"{profile}: shoes a second and core",
            best,
            least=SHOES_A_SECOND,
            spread=(min(rates), best),
        )
    ]
    found += [Promise(f"  {part}, a card", s / cards * 1e6, "µs") for part, s in spent.items()]
    return [*found, median_of("  a fixed loop beside it", calibrated, unit="ms")]


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
