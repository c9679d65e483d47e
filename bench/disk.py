"""What a table's journal costs: bytes a round on disk, and the processor's time to verify it.

In: --profiles, --passes, --json. Out: a table, or JSON: promise, measured, spread. A daemon plays
one whole shoe of a simulated shoe, with a sink of each audience, and stops; its file is measured
then, with all records, indexes, cursors and signatures. Records verified a second of processor's
time are those of the best pass: a shared machine only ever makes one slower. Passes take turns with
hashes alone over the same bytes, so that a slow machine shows. Exits 1 where a promise is broken.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import median

from bench._shoe import simulated_shoe
from shoe_ctl.clock import SystemClock
from shoe_ctl.config.schema import of_plain
from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.verify import verify
from shoe_testing import bulk_journal

KB_A_ROUND = 8.0
VERIFIED_A_S = 400_000

PROFILES = ("reference", "angel_eye")
"""Those whose shoes name each card's round without staff's commands."""

TABLE = "bac-07"
PACE_MS = 3
PATIENCE_S = 120
QUIET_S = 1.5
"""A shoe that reported nothing for so long is dealt out."""

ROUNDS = 4_000
"""In the journal that is verified."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured, and what is promised of its median, or of the best where that is named."""

    name: str
    unit: str
    values: tuple[float, ...]
    promised: float | None = None
    at_most: bool = True
    best: bool = False

    @property
    def value(self) -> float:
        return max(self.values) if self.best else median(self.values)

    @property
    def held(self) -> bool:
        if self.promised is None:
            return True
        return self.value <= self.promised if self.at_most else self.value >= self.promised


async def played(path: Path, profile: str, port: str) -> int:
    """Serve a table until its shoe is dealt out; how many rounds it played."""
    settings = {"game": "tiger", "announcements": "implied"}
    face_up = {"faces": "face_up", "face_up_after_ms": 0}
    sinks = [
        {"kind": "jsonl", "audience": audience, "path": str(path.with_name(f"{audience}.jsonl"))}
        for audience in ("public", "restricted")
    ]
    shoe = {"profile": profile, "port": port}
    config = of_plain(
        {
            "journal": {"path": str(path)},
            "sink": sinks,
            "table": [{"id": TABLE, **settings, "method_b": face_up, "shoe": shoe}],
        },
        "bench",
    )
    ready = asyncio.Event()
    with ThreadPoolExecutor() as executor:
        daemon = Daemon(config, clock=SystemClock(), executor=executor, host_boot="bench")
        serving = asyncio.create_task(daemon.run(ready.set))
        async with asyncio.timeout(PATIENCE_S):
            await ready.wait()
        controller = daemon.runners[TABLE].controller
        due, heard = time.monotonic() + PATIENCE_S, -1
        while time.monotonic() < due:
            await asyncio.sleep(QUIET_S)
            if controller.state.rounds and controller.state.inputs == heard:
                break
            heard = controller.state.inputs
        rounds = controller.state.rounds
        serving.cancel()
        await asyncio.wait({serving})
    if rounds < 50:
        raise SystemExit(f"{profile}: {rounds} rounds only were played in {PATIENCE_S} s")
    return rounds


def on_disk(folder: Path, profile: str) -> Figure:
    """The kilobytes that a round of this profile's shoe takes."""
    path = folder / profile / "journal.db"
    path.parent.mkdir()
    with simulated_shoe(profile, PACE_MS) as port:
        rounds = asyncio.run(played(path, profile, port))
    with Reader.open(path) as reader:
        found = verify(reader)
    if not found.ok:
        raise SystemExit(f"{path} does not verify: {found.first_bad}")
    return Figure(
        f"{profile}: a round on disk", "kB", (path.stat().st_size / rounds / 1000,), KB_A_ROUND
    )


def verifying(folder: Path, passes: int) -> list[Figure]:
    """Verifying and hashing alone, in turn."""
    made = bulk_journal.make(folder / "long.db", ROUNDS)
    trusted = frozenset({made.signer.public_key})
    with Reader.open(made.path) as reader:
        bodies = [row[3] for row in reader.rows()]
    rates, ratios = [], []
    for _ in range(passes):
        began = time.process_time()
        with Reader.open(made.path) as reader:
            found = verify(reader, trusted)
        took = time.process_time() - began
        if not found.ok or found.records != made.records:
            raise SystemExit(f"the journal does not verify: {found.first_bad}")
        began = time.process_time()
        end = bytes(32)
        for body in bodies:
            end = sha256(end + body).digest()
        alone = time.process_time() - began
        rates.append(found.records / took)
        ratios.append(took / alone)
    kb = made.path.stat().st_size / made.rounds / 1000
    return [
        Figure("angel_eye: a round of many shoes", "kB", (kb,), KB_A_ROUND),
        Figure("verified", "records/s", tuple(rates), VERIFIED_A_S, at_most=False, best=True),
        Figure("verifying to hashes alone", "times", tuple(ratios)),
    ]


def main() -> int:
    """Exits 1 where something promised is not held."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--profiles", nargs="+", choices=PROFILES, default=PROFILES)
    parser.add_argument("--passes", type=int, default=9, help="of verifying (9)")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    if options.passes < 1:
        parser.error("--passes: one at least")
    folder = Path(tempfile.mkdtemp(prefix="disk-"))
    try:
        figures = [on_disk(folder, profile) for profile in options.profiles]
        figures += verifying(folder, options.passes)
    finally:
        shutil.rmtree(folder)
    report(figures, as_json=options.json)
    return 0 if all(figure.held for figure in figures) else 1


def report(figures: list[Figure], *, as_json: bool) -> None:
    """One JSON object, or a table."""
    if as_json:
        rows = [
            {
                "name": figure.name,
                "unit": figure.unit,
                "value": round(figure.value, 3),
                "least": round(min(figure.values), 3),
                "most": round(max(figure.values), 3),
                "promised": figure.promised,
                "held": figure.held,
            }
            for figure in figures
        ]
        print(json.dumps({"python": platform.python_version(), "figures": rows}))
        return
    print(f"Python {platform.python_version()}")
    print(f"{'':36}{'promise':>20}{'measured':>12}{'spread':>24}")
    for figure in figures:
        bound = "at most" if figure.at_most else "at least"
        promise = "" if figure.promised is None else f"{bound} {figure.promised:,}"
        digits = 0 if figure.value >= 1000 else 2
        spread = f"{min(figure.values):,.{digits}f} to {max(figure.values):,.{digits}f}"
        broken = "" if figure.held else "  NOT HELD"
        print(
            f"{figure.name:36}{promise:>20}{figure.value:>12,.{digits}f}"
            f"{spread:>24} {figure.unit}{broken}"
        )


if __name__ == "__main__":
    sys.exit(main())
