"""What a long journal costs: to verify, to restart from, to commit to, and in memory.

In: --rounds and more. Out: a table, or JSON: each figure beside its promise. The journal is made in
bulk. A restart is timed from opening it to the shoe's port being open and stored, nothing of the
file in memory. Commits to it, to one of 10,000 rounds, and bare syncs of as many bytes take turns;
ratios are medians of each turn's own, and their spread is that of the run's parts. Exits 1 where a
promise is broken.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from typing import Any

from bench._promises import Promise, median_of, most_of, parts, report
from bench._shoe import NEVER_MS, simulated_shoe
from shoe_ctl.clock import SystemClock
from shoe_ctl.config.schema import of_plain
from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Direction
from shoe_ctl.journal.signing import open_signer
from shoe_ctl.journal.store import Store
from shoe_ctl.journal.verify import verify
from shoe_ctl.records import Audience
from shoe_testing import bulk_journal

SHORT_ROUNDS = 10_000
VERIFIED_A_S = 450_000
VERIFIED_A_CPU_S = 450_000
RESTART_MS = 60
TO_A_SYNC = 2.2
TO_A_SHORT_ONE = 1.1
ADDED_MB = 1.0

WARM_ROUNDS = 20_000
"""Of these a journal's process grows by some 3 MB, and of 60,000 more by 0.2 MB."""

REMEMBERED = 2
"""Tables whose memory is watched."""

RESTARTS = 7
TURNS = 600
WARMED_BY = 300
"""Commits until SQLite's log has begun again at its start: from there on it no longer grows."""

LOG_BYTES = 1000 * 4096
"""How long SQLite's log gets before it begins again."""


def verifying(made: bulk_journal.Made, passes: int) -> list[Promise]:
    """A few passes over the whole journal."""
    trusted = frozenset({made.signer.public_key})
    rates: list[float] = []
    worked: list[float] = []
    for _ in range(passes):
        with Reader.open(made.path) as reader:
            began, began_work = time.perf_counter(), time.process_time()
            found = verify(reader, trusted)
            worked.append(found.records / (time.process_time() - began_work))
            rates.append(found.records / (time.perf_counter() - began))
        if not found.ok or found.records != made.records:
            raise SystemExit(f"the journal does not verify: {found.first_bad}")
    return [
        median_of("verified", rates, unit="records/s", least=VERIFIED_A_S),
        median_of("verified, processor's time", worked, unit="records/s", least=VERIFIED_A_CPU_S),
    ]


def forget(path: Path) -> None:
    """Takes the file out of the system's memory."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


async def restarted(path: Path, port: str) -> float:
    """Milliseconds from opening the journal until the table is ready for its next card."""
    config = of_plain(
        {
            "journal": {"path": str(path)},
            "table": [
                {
                    "id": bulk_journal.TABLE,
                    "game": "tiger",
                    "announcements": "implied",
                    "method_b": {"faces": "face_up", "face_up_after_ms": 0},
                    "shoe": {"profile": bulk_journal.PROFILE, "port": port},
                }
            ],
        },
        "bench",
    )
    ready = asyncio.Event()
    with ThreadPoolExecutor() as executor:
        daemon = Daemon(config, clock=SystemClock(), executor=executor, host_boot="bench")
        began = time.perf_counter()
        serving = asyncio.create_task(daemon.run(ready.set))
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        took_ms = (time.perf_counter() - began) * 1000
        known = daemon.runners[bulk_journal.TABLE].controller.state if daemon.runners else None
        for task in (serving, waiting):
            task.cancel()
        await asyncio.wait({serving, waiting})
    if not ready.is_set() or known is None or not known.rounds:
        raise SystemExit(f"the daemon did not go on from {path}: {serving}")
    return took_ms


def restarting(path: Path) -> Promise:
    """A few restarts, the first of which imports what is imported late."""
    took = []
    with simulated_shoe(bulk_journal.PROFILE, NEVER_MS) as port:
        for _ in range(RESTARTS):
            forget(path)
            took.append(asyncio.run(restarted(path, port)))
    return median_of("restart", took, unit="ms", most=RESTART_MS)


def a_card(number: int) -> Batch:
    """What a shoe's card brings: raw bytes, an input, and events for both audiences."""
    group, table, t_us = Batch(), "bench", 4_000_000_000_000_000 + number
    said = b"\x052D\xc1\x96\x0322"
    group.append_wire(
        table, connection=1, direction=Direction.FROM_SHOE, offset=number * 8, t_us=t_us, data=said
    )
    drawn = b'{"input":"shoe","event":{"type":"card_drawn","card":"2D"}}' * 2
    group.append_input(table, drawn, t_us)
    for kind in ("round.card_dealt", "round.card_revealed"):
        data = {"card": "2D", "hand": "player", "index": 1}
        group.append_event(
            table, Audience.PUBLIC, kind, t_us=t_us, subject="bench-s1-r1", data=data
        )
    return group


class _Beside:
    """A file that bytes are written to and synced as SQLite's log is: over and over again."""

    def __init__(self, path: Path, size: int) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self._bytes = os.urandom(size)
        self._at = 0

    def write(self) -> None:
        if self._at + len(self._bytes) > LOG_BYTES:
            self._at = 0
        os.pwrite(self._fd, self._bytes, self._at)
        os.fdatasync(self._fd)
        self._at += len(self._bytes)

    def close(self) -> None:
        os.close(self._fd)


def logged_bytes(store: Store) -> int:
    """How many bytes a commit adds to SQLite's log: the median of a few."""
    log = store.path.with_name(store.path.name + "-wal")
    added = []
    for number in range(20):
        before = log.stat().st_size
        store.commit([a_card(number)])
        added.append(log.stat().st_size - before)
    return round(median(added))


def committing(long: Path, short: Path) -> list[Promise]:
    """Commits to both journals and bare syncs, in turn."""
    with ExitStack() as stack:
        stores = [stack.enter_context(closing(Store.open(path))) for path in (long, short)]
        size = logged_bytes(stores[1])
        beside = stack.enter_context(closing(_Beside(short.with_name("beside"), size)))
        turns: list[tuple[float, float, float]] = []
        for number in range(WARMED_BY + TURNS):
            took = [0.0, 0.0, 0.0]
            for place in range(3):
                # whoever comes first in a turn may find the disk busy: they take turns in that
                which = (place + number) % 3
                group = a_card(number)
                began = time.perf_counter()
                if which < 2:
                    stores[which].commit([group])
                else:
                    beside.write()
                took[which] = (time.perf_counter() - began) * 1000
            if number >= WARMED_BY:
                turns.append((took[0], took[1], took[2]))
    return [
        Promise("bytes a commit", size, "bytes"),
        of_turns("commit, long journal", [t[0] for t in turns], unit="ms"),
        of_turns("commit, short journal", [t[1] for t in turns], unit="ms"),
        of_turns("bare sync", [t[2] for t in turns], unit="ms"),
        of_turns("commit to bare sync", [t[0] / t[2] for t in turns], unit="times", most=TO_A_SYNC),
        of_turns(
            "commit, long to short", [t[0] / t[1] for t in turns], unit="times", most=TO_A_SHORT_ONE
        ),
    ]


def of_turns(name: str, values: list[float], **promised: Any) -> Promise:
    """The median of all turns; the spread is that of the medians of the run's parts."""
    medians = [median(part) for part in parts(values)]
    return Promise(name, median(values), spread=(min(medians), max(medians)), **promised)


def resident_mb() -> float:
    """What this process holds in memory that is its own."""
    fields = Path("/proc/self/statm").read_text("ascii").split()
    return (int(fields[1]) - int(fields[2])) * resource.getpagesize() / 1e6


def deal_on(file: str, rounds: int) -> float:
    """Deal so many rounds at a table with a journal; return the megabytes of memory they added.

    ``WARM_ROUNDS`` come before: modules that load late, tables and SQLite's cache of pages fill up
    to their bounds, and the allocator takes memory from the system by the megabyte.
    """
    path = Path(file)
    key, warm = open_signer(path, None), None
    with bulk_journal.opened(path) as table:
        for _ in bulk_journal.heard_by(table, key):
            dealt = table.controller.state.rounds
            if warm is None and dealt >= WARM_ROUNDS:
                warm = resident_mb()
            if warm is not None and dealt >= WARM_ROUNDS + rounds:
                return resident_mb() - warm
    raise AssertionError("sets come without end")


def remembering(folder: Path, rounds: int) -> Promise:
    """The most of a few tables, each in a process of its own that holds nothing else."""
    asked = [(str(folder / f"dealt-{number}.db"), rounds) for number in range(REMEMBERED)]
    with multiprocessing.get_context("spawn").Pool(os.cpu_count(), maxtasksperchild=1) as pool:
        added = pool.starmap(deal_on, asked, chunksize=1)
    return most_of(f"memory added, {rounds:,} rounds", added, unit="MB", most=ADDED_MB)


def measure(
    folder: Path, rounds: int, dealt: int, passes: int
) -> tuple[bulk_journal.Made, list[Promise]]:
    """Everything, on journals made in this folder."""
    began = time.perf_counter()
    long = bulk_journal.make(folder / "long.db", rounds)
    took_s = time.perf_counter() - began
    short = bulk_journal.make(folder / "short.db", SHORT_ROUNDS)
    return long, [
        Promise("made", long.records / took_s, "records/s"),
        *verifying(long, passes),
        restarting(long.path),
        *committing(long.path, short.path),
        remembering(folder, dealt),
    ]


def main() -> int:
    """Exits 1 where something promised is not held."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100_000, help="in the journal (100000)")
    parser.add_argument(
        "--dealt",
        type=int,
        default=10_000,
        help=f"to watch memory over, after {WARM_ROUNDS} that warm up (10000)",
    )
    parser.add_argument("--passes", type=int, default=3, help="of verifying (3)")
    parser.add_argument("--folder", type=Path, help="where to make it; 5 kB a round are needed")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    if min(options.rounds, options.dealt) < 1000 or options.passes < 1:
        parser.error("--rounds, --dealt: a thousand at least; --passes: one")
    folder = Path(tempfile.mkdtemp(prefix="journal-", dir=options.folder))
    try:
        made, found = measure(folder, options.rounds, options.dealt, options.passes)
    finally:
        shutil.rmtree(folder)
    if not options.json:
        print(f"{made.rounds:,} rounds, {made.records:,} records")
    return report(found, as_json=options.json, rounds=made.rounds, records=made.records)


if __name__ == "__main__":
    sys.exit(main())
