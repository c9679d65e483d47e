"""What a card costs a daemon at 1 to 1,000 tables, beside the daemon of an earlier commit.

In: --commit, --pairs, --tables. Out: a table (or JSON): processor time of a card, the ratio that is
promised of it, and, at one table, how many system calls and switches between threads it takes.
Both daemons take turns in one run, so that a slow minute of the machine slows both. ``shoe-sim
floor`` in another process deals at each table's pace, over TCP. What a daemon does once after its
start is over before anything counts. System calls are counted in a run of their own, as counting
takes time. Exits 1 where a promise is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench._daemon import RUN, call_counter
from bench._load import SETTLED_S, loaded, served
from bench._promises import Promise, median_of, report
from bench._table import daemon_at, packages_at

BEFORE = "d590948d"
"""The last commit before cards were stored in groups and handed over at rest."""


class Load(NamedTuple):
    """A number of tables, and what is promised of a card there.

    ``pace_s``: seconds a card at each table. ``seconds``: how long it is measured. ``most``: the
    processor time of a card, in parts of that of ``BEFORE``. ``most_cores``: seconds of processor
    time in a second.
    """

    pace_s: float
    seconds: float
    most: float | None = None
    most_cores: float | None = None


LOADS: Mapping[int, Load] = {
    1: Load(0.1, 15.0, most=0.6),
    40: Load(0.1, 6.0, most=0.6),
    400: Load(0.1, 5.0, most=0.78),
    1000: Load(5.0, 15.0, most_cores=0.25),
}
"""400 tables ask for more than one core takes: theirs is the cost of a card without a pause."""

MOST_FUTEX_CALLS = 10


def ran(tables: int, run: Sequence[str], *, is_ours: bool, counts: bool = False) -> dict[str, Any]:
    """What a daemon with so many tables did."""
    load = LOADS[tables]
    found = loaded(
        tables, load.pace_s, load.seconds, warm_s=SETTLED_S, run=run, can_read=is_ours,
        counts_calls=counts,
    )  # fmt: skip
    return found | {"card_us": found["settled_s"] / found["measured"] * 1e6}


def compared(tables: int, before: Path, commit: str, pairs: int) -> list[Promise]:
    """A card of now and of before, in turns; who goes first changes each time."""
    load = LOADS[tables]
    ours: list[dict[str, Any]] = []
    theirs: list[dict[str, Any]] = []
    for number in range(pairs):
        for is_ours in (True, False) if number % 2 else (False, True):
            show(f"{tables} tables, pair {number + 1} of {pairs}: {'now' if is_ours else commit}")
            run = RUN if is_ours else daemon_at(before)
            (ours if is_ours else theirs).append(ran(tables, run, is_ours=is_ours))
    show("")
    name = f"{tables} table{'s' * (tables > 1)}, a card every {load.pace_s:g} s each"
    now, was = ([run["card_us"] for run in runs] for runs in (ours, theirs))
    ratios = [one / other for one, other in zip(now, was, strict=True)]
    cores = [run["settled_s"] / load.seconds for run in ours]
    found = [
        median_of(f"{name}: processor time of a card", now, unit="µs"),
        median_of(f"  that of {commit}", was, unit="µs"),
        median_of(f"{name}: times that of {commit}", ratios, most=load.most),
        median_of(f"{name}: of a core", cores, most=load.most_cores),
        median_of(f"{name}: switches between threads a card", per_card("switches", ours)),
        median_of(f"  those of {commit}", per_card("switches", theirs)),
    ]
    return [*found, *served(name, ours, in_time=tables != 400)]


def per_card(key: str, runs: Sequence[Mapping[str, Any]]) -> list[float]:
    """How many a card takes, in each run."""
    return [run[key] / run["measured"] for run in runs]


def counted(before: Path, commit: str, pairs: int) -> list[Promise]:
    """System calls of a card that comes alone."""
    calls: dict[tuple[bool, str], list[float]] = {}
    for number in range(pairs):
        for is_ours in (False, True):
            show(f"system calls, pair {number + 1} of {pairs}")
            run = RUN if is_ours else daemon_at(before)
            found = ran(1, run, is_ours=is_ours, counts=True)
            for kind in ("all", "futex"):
                rate = found["calls"].get(kind, 0) / found["measured"]
                calls.setdefault((is_ours, kind), []).append(rate)
    show("")
    return [
        median_of("1 table: system calls a card", calls[True, "all"]),
        median_of(f"  those of {commit}", calls[False, "all"]),
        median_of("1 table: futex calls a card", calls[True, "futex"], most=MOST_FUTEX_CALLS),
        median_of(f"  those of {commit}", calls[False, "futex"]),
    ]


def show(line: str) -> None:
    """Show on a terminal what is at work; an empty line removes that."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()


def main() -> int:
    """Exits 1 where a promise is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--commit", default=BEFORE, help="before (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=3, help="pairs of daemons (default 3)")
    parser.add_argument(
        "--tables", type=int, action="append", choices=LOADS, help="only so many; again"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    if options.pairs < 1:
        parser.error("--pairs: one at least")
    found: list[Promise] = []
    left_out = []
    with packages_at(options.commit) as before:
        for tables in options.tables or LOADS:
            found += compared(tables, before, options.commit, options.pairs)
            if tables != 1:
                continue
            if call_counter() is None:
                left_out.append("system calls: neither perf nor strace is there")
            else:
                found += counted(before, options.commit, options.pairs)
    counter = call_counter()
    return report(
        found, as_json=options.json, commit=options.commit, counted_with=counter, left_out=left_out
    )


if __name__ == "__main__":
    sys.exit(main())
