"""What a table's journal costs: bytes a round on disk, and the processor's time to verify it.

In: --profiles, --shoes, --passes, --json. Out: a table, or JSON: promise, measured (the median),
spread. A daemon plays one whole shoe of a simulated shoe, with a sink of each audience, and stops;
its file is measured then, with all records, indexes, cursors and signatures. Passes of verifying
take turns with hashes alone over the same bytes, so that a slow machine shows. Exits 1 where a
promise is broken.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

from bench._promises import Promise, median_of, report
from bench._shoe import simulated_shoe
from shoe_ctl.clock import SystemClock
from shoe_ctl.config.schema import of_plain
from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.verify import verify
from shoe_testing import bulk_journal

KB_A_ROUND = {"reference": 4.2, "angel_eye": 3.2}
VERIFIED_A_S = 400_000

PROFILES = tuple(KB_A_ROUND)
"""Those whose shoes name each card's round without staff's commands."""

TABLE = "bac-07"
PACE_MS = 3
PATIENCE_S = 120
QUIET_S = 1.5
"""A shoe that reported nothing for so long is dealt out."""

ROUNDS = 4_000
"""In the journal that is verified."""


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


def on_disk(folder: Path, profile: str, shoes: int) -> Promise:
    """The kilobytes that a round of this profile's shoes takes, each shoe with its own daemon."""
    kb = [kb_a_round(folder / f"{profile}-{seed}", profile, seed) for seed in range(1, shoes + 1)]
    return median_of(f"{profile}: a round on disk", kb, unit="kB", most=KB_A_ROUND[profile])


def kb_a_round(folder: Path, profile: str, seed: int) -> float:
    """The kilobytes that a round takes in the journal of one shoe."""
    path = folder / "journal.db"
    folder.mkdir()
    with simulated_shoe(profile, PACE_MS, seed=seed) as port:
        rounds = asyncio.run(played(path, profile, port))
    with Reader.open(path) as reader:
        found = verify(reader)
    if not found.ok:
        raise SystemExit(f"{path} does not verify: {found.first_bad}")
    return path.stat().st_size / rounds / 1000


def verifying(folder: Path, passes: int) -> list[Promise]:
    """Verifying and hashing alone, in turn."""
    made = bulk_journal.make(folder / "long.db", ROUNDS)
    trusted = frozenset({made.signer.public_key})
    with Reader.open(made.path) as reader:
        bodies = [row[2] for row in reader.rows()]
    rates: list[float] = []
    ratios: list[float] = []
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
        Promise(
            f"angel_eye: a round of {ROUNDS:,}, all in one journal",
            kb,
            "kB",
            most=KB_A_ROUND["angel_eye"],
        ),
        median_of("verified", rates, unit="records/s", least=VERIFIED_A_S),
        median_of("verifying to hashes alone", ratios, unit="times"),
    ]


def main() -> int:
    """Exits 1 where something promised is not held."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--profiles", nargs="+", choices=PROFILES, default=PROFILES)
    parser.add_argument("--shoes", type=int, default=3, help="of each profile (3)")
    parser.add_argument("--passes", type=int, default=9, help="of verifying (9)")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    if min(options.shoes, options.passes) < 1:
        parser.error("--shoes, --passes: one at least")
    folder = Path(tempfile.mkdtemp(prefix="disk-"))
    try:
        found = [on_disk(folder, profile, options.shoes) for profile in options.profiles]
        found += verifying(folder, options.passes)
    finally:
        shutil.rmtree(folder)
    return report(found, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
