"""How late a floor of tables is beside a single one, and at how many tables a daemon breaks.

In: rounds of both; the pace of each table, how long each load lasts, what counts as broken. Out:
what is promised of a thousand tables at a real pace; then a table with a picture in text, or JSON;
with --svg also a drawing. The tables are those of ``shoe-sim floor``, in another process, over TCP.
A daemon is broken where the 99th percentile of the time to *stored* is above the limit, a twentieth
of the cards asked for is missing, a table is not served, or a card is lost or out of order. Exits 1
where a promise is missed, or the fewest tables break it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import log10, sqrt
from pathlib import Path

from bench._load import LEAST_REACHED, SETTLED_S, loaded, pooled_ms, served
from bench._promises import Promise, median_of, report

FLOOR_TABLES, FLOOR_PACE_S = 1000, 2.0
SINGLE_PACE_S = 0.1
"""The single table rests between its cards, too, and three rounds of it have a thousand cards: one
in a hundred is then more than a few."""

SLOWER = 2.0
FLOOR_S, SINGLE_S = 15.0, 34.0
LEAST_POOLED = 1000
"""Cards of the single table that the promise rests on, all rounds together."""

FIRST_TABLES = 25
MOST_TABLES = 5000
CLOSE_ENOUGH = 1.1
"""Between the most tables that it served and the fewest at which it broke."""

BAR = 40


@dataclass(frozen=True, slots=True)
class Point:
    """What one load showed. Rates are cards a second, times ms, cores seconds a second."""

    tables: int
    asked: float
    reached: float
    acknowledged: bool
    p50_ms: float
    p99_ms: float
    max_ms: float
    daemon_cores: float
    simulator_cores: float
    simulator_p99_ms: float

    def is_broken(self, limit_ms: float) -> bool:
        """Whether the daemon could not bear that load."""
        reached = self.reached >= LEAST_REACHED * self.asked
        return not (reached and self.acknowledged and self.p99_ms <= limit_ms)


def point(tables: int, pace_s: float, seconds: float) -> Point:
    """A new daemon under this load."""
    found = loaded(tables, pace_s, seconds)
    stored, own = found["stored"], found["simulator"]
    return Point(
        tables=tables,
        asked=found["asked"],
        reached=found["reached"],
        acknowledged=not (found["lost"] or found["unserved"]),
        p50_ms=stored["p50_ms"],
        p99_ms=stored["p99_ms"],
        max_ms=stored["max_ms"],
        daemon_cores=found["processor_s"] / found["dealt_s"],
        simulator_cores=own["share"],
        simulator_p99_ms=own["p99_ms"],
    )


def at_a_real_pace(rounds: int) -> list[Promise]:
    """A floor of tables at the pace of a dealer, beside a single one, in turn.

    Each round's floor is compared with the single table's cards of all rounds.
    """
    single, many = [], []
    for number in range(1, rounds + 1):
        show(f"{FLOOR_TABLES} tables beside one, round {number} of {rounds}")
        single.append(loaded(1, SINGLE_PACE_S, SINGLE_S))
        many.append(loaded(FLOOR_TABLES, FLOOR_PACE_S, FLOOR_S, warm_s=SETTLED_S))
    show("")
    one = f"one table, a card every {SINGLE_PACE_S:g} s"
    name = f"{FLOOR_TABLES} tables, a card every {FLOOR_PACE_S:g} s each"
    p99_ms = [run["stored"]["p99_ms"] for run in many]
    alone_ms = pooled_ms(single, 0.99)
    spread = [run["stored"]["p99_ms"] for run in single]
    cards = sum(run["stored"]["count"] for run in single)
    return [
        Promise(f"{one}: cards measured", cards, least=LEAST_POOLED),
        Promise(f"{one}: to stored, p99", alone_ms, "ms", spread=(min(spread), max(spread))),
        median_of(f"{name}: to stored, p99", p99_ms, unit="ms"),
        median_of(f"{name}: p99, times one table's", [ms / alone_ms for ms in p99_ms], most=SLOWER),
        *served(one, single, in_time=True),
        *served(name, many, in_time=True),
    ]


def search(pace_s: float, seconds: float, limit_ms: float) -> list[Point]:
    """Double the tables until the daemon breaks, then look between; all points, fewest first."""
    points: list[Point] = []
    served, broke, tables = 0, 0, FIRST_TABLES
    while tables <= MOST_TABLES and not (served and broke and broke / served <= CLOSE_ENOUGH):
        show(f"{tables} tables")
        found = point(tables, pace_s, seconds)
        points.append(found)
        if found.is_broken(limit_ms):
            broke = tables
        else:
            served = tables
        if not served:
            tables //= 2
            if not tables:
                break
        else:
            tables = round(sqrt(served * broke)) if broke else tables * 2
    show("")
    return sorted(points, key=lambda each: each.tables)


def show(line: str) -> None:
    """Show on a terminal what is at work; an empty line removes that."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()


def in_text(points: Sequence[Point], limit_ms: float) -> Iterator[str]:
    """A row for each load, with a bar for its p99; a factor of ten is ten characters long."""
    yield (
        f"{'tables':>6}{'asked/s':>9}{'reached':>9}{'p50 ms':>8}{'p99 ms':>8}{'max ms':>8}"
        f"{'daemon':>8}{'shoes':>7}  p99"
    )
    for each in points:
        bar = "#" * max(1, min(BAR, round(log10(max(each.p99_ms, 0.1) * 10) * 10)))
        broken = "  BROKEN" if each.is_broken(limit_ms) else ""
        yield (
            f"{each.tables:>6}{each.asked:>9,.0f}{each.reached:>9,.0f}{each.p50_ms:>8.1f}"
            f"{each.p99_ms:>8.1f}{each.max_ms:>8.1f}{each.daemon_cores:>8.0%}"
            f"{each.simulator_cores:>7.0%}  {bar}{broken}"
        )


def in_words(points: Sequence[Point], limit_ms: float) -> str:
    """Where it breaks."""
    most = max((each.tables for each in points if not each.is_broken(limit_ms)), default=0)
    broken = [each.tables for each in points if each.is_broken(limit_ms)]
    if not broken:
        return f"not broken at {most} tables"
    return f"serves {most} tables, breaks at {min(broken)}"


WIDTH, HEIGHT, MARGIN, LABEL = 720, 400, 60, 40
LOWEST_MS, HIGHEST_MS = 0.1, 10_000.0
COLOURS = {"p50_ms": "#1f77b4", "p99_ms": "#d62728", "max_ms": "#999999"}


def drawing(points: Sequence[Point], limit_ms: float) -> str:
    """Latency over load as SVG: cards a second asked for, milliseconds by factors of ten."""
    most = max(each.asked for each in points)

    def x(asked: float) -> float:
        return MARGIN + asked / most * (WIDTH - 2 * MARGIN)

    def y(ms: float) -> float:
        share = log10(min(max(ms, LOWEST_MS), HIGHEST_MS) / LOWEST_MS)
        return HEIGHT - MARGIN - share / log10(HIGHEST_MS / LOWEST_MS) * (HEIGHT - 2 * MARGIN)

    def text(at: tuple[float, float], words: str, more: str = "") -> str:
        return f'<text x="{at[0]:.0f}" y="{at[1]:.0f}" {more}>{words}</text>'

    def line(start: tuple[float, float], end: tuple[float, float], more: str) -> str:
        ends = f'x1="{start[0]:.0f}" y1="{start[1]:.0f}" x2="{end[0]:.0f}" y2="{end[1]:.0f}"'
        return f"<line {ends} {more}/>"

    left, right, foot = MARGIN, WIDTH - MARGIN, HEIGHT - MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        text((left, 24), f"From a card's bytes to stored: {in_words(points, limit_ms)}"),
        text((WIDTH / 2, HEIGHT - 12), "cards a second asked for", 'text-anchor="middle"'),
    ]
    ms = LOWEST_MS
    while ms <= HIGHEST_MS:
        parts.append(line((left, y(ms)), (right, y(ms)), 'stroke="#dddddd"'))
        parts.append(text((left - 6, y(ms) + 4), f"{ms:g} ms", 'text-anchor="end"'))
        ms *= 10
    parts.append(
        line((left, y(limit_ms)), (right, y(limit_ms)), 'stroke="black" stroke-dasharray="4"')
    )
    labelled = -float(LABEL)
    for each in points:
        if x(each.asked) - labelled >= LABEL:
            labelled = x(each.asked)
            parts.append(text((labelled, foot + 18), f"{each.asked:.0f}", 'text-anchor="middle"'))
        if each.is_broken(limit_ms):
            parts.append(text((x(each.asked), foot - 4), "x", 'text-anchor="middle"'))
    for at, (name, colour) in enumerate(COLOURS.items()):
        way = " ".join(f"{x(each.asked):.1f},{y(getattr(each, name)):.1f}" for each in points)
        parts.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>')
        words = name.removesuffix("_ms")
        parts.append(text((right - 40, 24 + 14 * at), words, f'fill="{colour}"'))
    return "\n".join((*parts, "</svg>\n"))


def main() -> int:
    """Exits 1 where a promise is missed, or a daemon breaks with the fewest tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="of a floor and one table (3)")
    parser.add_argument("--no-search", action="store_true", help="leave the search out")
    parser.add_argument("--pace", type=float, default=0.1, help="seconds a card (default 0.1)")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each load (default 5)")
    parser.add_argument("--limit-ms", type=float, default=250.0, help="highest p99 (default 250)")
    parser.add_argument("--tables", type=int, action="append", help="only so many; again")
    parser.add_argument("--svg", type=Path, help="draw latency over load in this file")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    found = at_a_real_pace(options.rounds) if options.rounds else []
    if options.no_search:
        return report(found, as_json=options.json)
    if options.tables:
        points = [point(n, options.pace, options.seconds) for n in sorted(options.tables)]
    else:
        points = search(options.pace, options.seconds, options.limit_ms)
    served = [each.tables for each in points if not each.is_broken(options.limit_ms)]
    if options.svg is not None:
        options.svg.write_text(drawing(points, options.limit_ms))
    more = {"serves": max(served, default=0), "points": [asdict(each) for each in points]}
    missed = report(found, as_json=options.json, **more)
    if not options.json:
        print("\n".join((*in_text(points, options.limit_ms), in_words(points, options.limit_ms))))
    return missed or (0 if served else 1)


if __name__ == "__main__":
    sys.exit(main())
