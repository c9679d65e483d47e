"""How many cards a second one daemon takes, at 1 to 1,000 tables, and what each card costs.

In: --tables, --seconds, --tries. Out: a table (or JSON): the median of the tries, and their spread.
``shoe-sim floor`` in another process deals at that pace, over TCP. Cards a second and core are
cards for each second of the daemon's processor time (all its threads), which another program on the
machine hardly changes. Every card dealt must be stored, in order, and every table served. Exits 1
where a promise is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from bench._load import SETTLED_S, WARM_UP_S, loaded, served
from bench._promises import Promise, median_of, report

TABLES = (1, 10, 100, 400, 1000)
PROMISED_TABLES, CARDS_A_SECOND = 400, 4000
FAST_S, REAL_S = 0.1, 2.0
"""Seconds a card at each table, and those at which so many tables are dealt as are at a casino."""

MOST_FAST = 400
"""So many tables are dealt at ``FAST_S``: what they ask for is more than one core takes."""

MOST_MB = 48


def pace_s(tables: int) -> float:
    """The pace at which so many tables are dealt."""
    return FAST_S if tables <= MOST_FAST else REAL_S


def a_core(ran: dict[str, Any]) -> float:
    """Cards a second and core."""
    return float(ran["cards"] / ran["processor_s"])


def of_tables(tables: int, seconds: float, tries: int) -> list[Promise]:
    """What a daemon with so many tables does, by several tries."""
    pace = pace_s(tables)
    warm_s = WARM_UP_S if pace == FAST_S else SETTLED_S
    runs = [loaded(tables, pace, seconds, warm_s=warm_s) for _ in range(tries)]
    name = f"{tables} table{'s' * (tables > 1)}, a card every {pace:g} s each"
    promised = CARDS_A_SECOND if tables == PROMISED_TABLES else None
    return [
        median_of(f"{name}: cards a second and core", [*map(a_core, runs)], least=promised),
        median_of(f"{name}: cards a second, here", [run["reached"] for run in runs]),
        median_of(f"{name}: to stored, p50", of_stored("p50_ms", runs), unit="ms"),
        median_of(f"{name}: to stored, p99", of_stored("p99_ms", runs), unit="ms"),
        *served(name, runs, in_time=tables < PROMISED_TABLES or pace == REAL_S),
        median_of(
            f"{name}: memory",
            [run["peak_mb"] for run in runs],
            unit="MB",
            most=MOST_MB if tables == 1 else None,
        ),
    ]


def of_stored(key: str, runs: Sequence[dict[str, Any]]) -> list[float]:
    """One figure of the times to *stored*, of each run."""
    return [run["stored"][key] for run in runs]


def main() -> int:
    """Exits 1 where a promise is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=6.0, help="of each run (default 6)")
    parser.add_argument("--tries", type=int, default=3, help="of each (default 3)")
    parser.add_argument("--tables", type=int, action="append", help="only so many; again")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    if options.tries < 1:
        parser.error("--tries: one at least")
    found: list[Promise] = []
    for tables in options.tables or TABLES:
        found += of_tables(tables, options.seconds, options.tries)
    return report(found, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
