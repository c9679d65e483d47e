"""The report of a load test on a floor of tables, for programs and in words.

In: the tables and what was measured. Out: a mapping for JSON, lines of text.
Must not know: how cards are dealt.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simulators.floor.load import Load
from simulators.floor.times import Times

WORST = 5
"""The text names so many tables: of the highest 99th percentiles, and of each kind of failure."""

_SHARES = ("p50_ms", 0.5), ("p99_ms", 0.99)


def as_json(load: Load) -> dict[str, Any]:
    """Return the whole report. Times are in ms, ``asked`` and ``reached`` in cards a second."""
    settings, measured, tables = load.settings, load.measured, load.tables
    seconds, stored = measured.seconds, Times.together(table.stored for table in tables)
    reached = measured.cards / seconds if seconds else 0.0
    each = [table.as_json() for table in tables]
    return {
        "tables": settings.tables,
        "connected": sum(1 for table in tables if table.connections),
        "connections": sum(table.connections for table in tables),
        "never_armed": sum(table.was_never_armed for table in tables),
        "pace_s": settings.pace_s,
        "deck": settings.deck,
        "decks": settings.decks,
        "seed": settings.seed,
        "drawn": sum(table.drawn for table in tables),
        "acknowledged": sum(table.acknowledged for table in tables),
        "waiting": sum(table.waits for table in tables),
        "refused": sum(table.refused for table in tables),
        "seconds": seconds,
        "measured": measured.cards,
        "asked": settings.tables / settings.pace_s,
        "reached": reached,
        "stored": _times(stored)
        | {"ranges_ms": [[middle_s * 1e3, count] for middle_s, count in stored.ranges]},
        "held": _times(Times.together(table.held for table in tables)),
        "simulator": _times(Times.together(table.own for table in tables))
        | {
            "processor_s": measured.processor_s,
            "share": measured.processor_s / seconds if seconds else 0.0,
            "us_a_card": measured.processor_s / measured.cards * 1e6 if measured.cards else 0.0,
        },
        "worst": [each[at]["table"] for at in _worst(each)],
        "each": each,
    }


def _times(times: Times) -> dict[str, Any]:
    shares = {name: times.percentile(share) * 1e3 for name, share in _SHARES}
    return {"count": times.count, **shares, "max_ms": times.longest_s * 1e3}


def _worst(each: list[dict[str, Any]]) -> list[int]:
    """Return the places in ``each`` of the tables with the longest times, the worst first."""
    order = sorted(range(len(each)), key=lambda at: -each[at]["p99_ms"])
    return [at for at in order if each[at]["measured"]][:WORST]


def in_words(report: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a table for people."""
    tables, seconds = report["tables"], report["seconds"]
    again = report["connections"] - report["connected"]
    yield (
        f"tables        {report['connected']:,} of {tables:,} connected"
        + (f", {again:,} times again" if again else "")
        + (f", {report['never_armed']:,} never armed" if report["never_armed"] else "")
    )
    waiting = f", {report['waiting']:,} not acknowledged" if report["waiting"] else ""
    yield (
        f"cards         {report['drawn']:,} drawn, {report['acknowledged']:,} acknowledged{waiting}"
    )
    if report["refused"]:
        yield f"refused       {report['refused']:,} messages of the daemon"
    yield from _at_fault(report["each"])
    seed = report["seed"]
    following = seed + tables
    yield f"seeds         {seed} to {following - 1}, then from {following} on (--seed {seed})"
    if not seconds:
        yield "measured      nothing: it ended before the time that counts"
        return
    yield (
        f"measured      {report['measured']:,} cards in {seconds:.1f} s: "
        f"{report['reached']:,.1f} a second of {report['asked']:,.1f} asked for"
    )
    own = report["simulator"]
    yield (
        f"simulator     {own['share']:.0%} of a core, {own['us_a_card']:.0f} µs a card, "
        f"{own['p99_ms']:.1f} ms late (p99)"
    )
    yield ""
    yield f"{'milliseconds':30}{'p50':>10}{'p99':>10}{'max':>10}"
    yield _row("from bytes to acknowledged", report["stored"])
    yield _row("waiting until armed", report["held"])
    by_name = {one["table"]: one for one in report["each"]}
    for name in report["worst"]:
        yield _row(f"  table {name}", by_name[name])


def _at_fault(each: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the tables that make the exit code 1, a line for each reason."""
    for why, found in (
        ("not connected", [one for one in each if not one["connections"]]),
        ("never armed", [one for one in each if one["never_armed"]]),
        ("no answer", [one for one in each if one["waiting"]]),
    ):
        if 0 < len(found) < len(each):  # if it is all of them, the sums show it
            named = ", ".join(f"{one['table']} ({one['port']})" for one in found[:WORST])
            more = f" and {len(found) - WORST:,} more" if len(found) > WORST else ""
            yield f"{why:14}{named}{more}"


def _row(name: str, times: dict[str, Any]) -> str:
    columns = "".join(f"{times[key]:>10,.2f}" for key in ("p50_ms", "p99_ms", "max_ms"))
    return f"{name:30}{columns}"
