"""How many cards a second one daemon takes, at 1 to 400 tables, and what each card costs.

In: --tables, --seconds. Out: a table (or JSON). ``shoe-sim floor`` in another process deals at that
pace, over TCP. Cards a second and core are cards for each second of the daemon's processor time
(all its threads), which another program on the machine hardly changes. Every card dealt must be
stored, in order. Exits 1 where a promise is missed.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from bench._load import loaded
from bench._promises import Promise, report

TEN_A_SECOND = (1, 10, 100, 400)
PROMISED_TABLES, CARDS_A_SECOND = 400, 4000
MOST_MB = 48
TRIES = 3


def a_core(ran: dict[str, Any]) -> float:
    """Cards a second and core."""
    return float(ran["cards"] / ran["processor_s"])


def main() -> int:
    """Exits 1 where a promise is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=6.0, help="of each run (default 6)")
    parser.add_argument("--tables", type=int, action="append", help="only so many; again")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    found = []
    for tables in options.tables or TEN_A_SECOND:
        tries = TRIES if tables == PROMISED_TABLES else 1
        runs = [loaded(tables, 0.1, options.seconds) for _ in range(tries)]
        rates = [a_core(ran) for ran in runs]
        name = f"{tables} table{'s' * (tables > 1)}, 10 cards a second each"
        promised = CARDS_A_SECOND if tables == PROMISED_TABLES else None
        best = max(runs, key=a_core)
        found += [
            Promise(
                f"{name}: cards a second and core",
                a_core(best),
                least=promised,
                spread=(min(rates), max(rates)),
            ),
            Promise(f"{name}: cards a second, here", best["reached"]),
            Promise(f"{name}: to stored, p50", best["stored"]["p50_ms"], "ms"),
            Promise(f"{name}: to stored, p99", best["stored"]["p99_ms"], "ms"),
        ]
        lost = float(sum(ran["lost"] for ran in runs))
        found.append(Promise(f"{name}: cards lost or out of order", lost, most=0))
        most = MOST_MB if tables == 1 else None
        found.append(Promise(f"{name}: memory", best["peak_mb"], "MB", most=most))
    return report(found, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
