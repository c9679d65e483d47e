"""How long a card takes to *stored* and to the subscriber's line, beside the least possible.

In: --seconds and more. Out: a table (or JSON): p50 and p99 of both beside the floor's, the ratios
promised and held. A shoe at a pty is dealt at 3, 30 and 300 ms; a daemon serves it. *Stored* is the
acknowledgement that the shoe gets after the commit, the line is the event at the command socket.
The floor, in another process, reads as many bytes from a pty, commits once to SQLite (write-ahead
log, full sync), answers and writes one line. Both take turns in one run. Exits 1 where a promise
is missed, or the disk does not sync: there the figures would say nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from bench._line import played
from bench._promises import Promise, parts, percentile, report

PACES_MS = (3, 30, 300)
PROMISED_AT_MS = 30
P50_MOST = {"stored": 1.7, "line": 1.9}
P99_MOST = 2.5
SYNC_LEAST_S = 20e-6
"""A disk that syncs takes longer."""

NO_SYNC = "this disk does not sync: name another with --folder"


def sync_s(folder: Path) -> float:
    """How long a sync of a page that was written takes there."""
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        times = []
        for _ in range(20):
            file.write(bytes(4096))
            file.flush()
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - began)
    return percentile(times, 0.5)


def compared(
    name: str, mine: list[float], floor: list[float], *, p50_most: float | None
) -> list[Promise]:
    """Both percentiles, and how they compare with the floor's of the same time.

    Nothing is promised without ``p50_most``.
    """
    found = []
    for share, most in ((0.5, p50_most), (0.99, None if p50_most is None else P99_MOST)):
        ratios = [
            percentile(one, share) / percentile(least, share)
            for one, least in zip(parts(mine), parts(floor), strict=False)
        ]
        label = f"{name}, p{share * 100:.0f}"
        found.append(Promise(label, percentile(mine, share) * 1e3, "ms"))
        found.append(
            Promise(f"  the floor's, p{share * 100:.0f}", percentile(floor, share) * 1e3, "ms")
        )
        found.append(
            Promise(
                f"{label}, times the floor",
                percentile(mine, share) / percentile(floor, share),
                most=most,
                spread=(min(ratios), max(ratios)),
            )
        )
    return found


def main() -> int:
    """Exits 1 where a promised ratio is not held."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=20, help="at 30 ms (default 20)")
    parser.add_argument("--pace", type=int, action="append", choices=PACES_MS, help="only this one")
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()), help="on a disk that syncs"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    if not options.folder.is_dir():
        parser.error(f"--folder {options.folder}: no such folder")
    if sync_s(options.folder) <= SYNC_LEAST_S:
        raise SystemExit(NO_SYNC)
    found = []
    for pace_ms in options.pace or PACES_MS:
        times = {3: 0.2, 30: 1.0, 300: 1.5}[pace_ms]
        for_s = options.seconds * times
        ran = played(pace_ms / 1000, for_s, floor=True, folder=options.folder)
        if not ran["dealt"] or ran["journal"] != ran["dealt"]:
            raise SystemExit(f"{pace_ms} ms: the journal does not hold the cards that were dealt")
        promised = pace_ms == PROMISED_AT_MS
        for what, name in (("stored", "card to stored"), ("line", "bytes to line")):
            mine, floor = ran[f"{what}_s"], ran[f"floor_{what}_s"]
            most = P50_MOST[what] if promised else None
            found += compared(f"{pace_ms} ms: {name}", mine, floor, p50_most=most)
        cost_us = ran["processor_s"] / max(1, ran["cards"]) * 1e6
        found.append(Promise(f"{pace_ms} ms: processor time of a card", cost_us, "µs"))
    return report(found, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
