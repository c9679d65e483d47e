"""What is promised of a figure, and whether it is held: the same in every bench.

In: figures. Out: rows of a table, or of the key ``promises`` in what a bench prints with --json.
"""

from __future__ import annotations

import json
import platform
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Promise:
    """A figure, the range in which it was found, and what is promised of it, if anything.

    ``most`` is the highest figure that holds the promise, ``least`` the lowest one.
    """

    name: str
    measured: float
    unit: str = ""
    most: float | None = None
    least: float | None = None
    spread: tuple[float, float] | None = None
    """The lowest and the highest of several measurements."""

    @property
    def held(self) -> bool:
        """Whether the promise is kept. A figure of which nothing is promised keeps it."""
        return (self.most is None or self.measured <= self.most) and (
            self.least is None or self.measured >= self.least
        )

    def as_json(self) -> dict[str, Any]:
        """The row, and whether it holds."""
        return {**asdict(self), "held": self.held}


def read(row: Mapping[str, Any]) -> Promise:
    """A row that a bench printed."""
    spread = row.get("spread")
    return Promise(
        name=row["name"],
        measured=row["measured"],
        unit=row.get("unit", ""),
        most=row.get("most"),
        least=row.get("least"),
        spread=None if spread is None else (spread[0], spread[1]),
    )


def median_of(name: str, measured: Sequence[float], **promised: Any) -> Promise:
    """The median of several measurements, with their range."""
    spread = (min(measured), max(measured))
    return Promise(name, statistics.median(measured), spread=spread, **promised)


def most_of(name: str, measured: Sequence[float], **promised: Any) -> Promise:
    """The highest of several measurements, with their range: where none may be higher."""
    return Promise(name, max(measured), spread=(min(measured), max(measured)), **promised)


def least_of(name: str, measured: Sequence[float], **promised: Any) -> Promise:
    """The lowest of several measurements, with their range: where none may be lower."""
    return Promise(name, min(measured), spread=(min(measured), max(measured)), **promised)


PARTS = 5
"""A run that is one measurement is divided into so many parts, whose figures give the spread."""


def parts(values: Sequence[T]) -> list[Sequence[T]]:
    """The values in ``PARTS`` parts of one size, in their order; fewer where there are fewer."""
    size = max(1, len(values) // PARTS)
    return [values[at : at + size] for at in range(0, size * PARTS, size) if values[at:]]


def percentile(values: Iterable[float], share: float) -> float:
    """The value below which this share of them lies; 0 where there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


NAME_COLUMNS = 54

HEADER = f"{'':{NAME_COLUMNS}}{'promised':>16}{'measured':>12}{'spread':>22}"


def row(one: Promise, note: str | None = None) -> str:
    """A line of the table; two where the name is long. ``note`` replaces *NOT HELD*."""
    promised = "" if one.most is None else f"at most {number(one.most)}"
    promised = promised if one.least is None else f"at least {number(one.least)}"
    spread = "" if one.spread is None else " to ".join(map(number, one.spread))
    name = f"{one.name}, {one.unit}" if one.unit else one.name
    missed = "" if one.held else "  NOT HELD"
    missed = missed if note is None else f"  {note}"
    if len(name) >= NAME_COLUMNS:
        name += f"\n{'':{NAME_COLUMNS}}"
    return f"{name:{NAME_COLUMNS}}{promised:>16}{number(one.measured):>12}{spread:>22}{missed}"


def number(value: float) -> str:
    """A figure for people."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def report(found: Sequence[Promise], *, as_json: bool, **more: Any) -> int:
    """Print them; the exit code is 1 where one is not held."""
    if as_json:
        about = {"python": platform.python_version(), **more}
        print(json.dumps({**about, "promises": [one.as_json() for one in found]}))
    else:
        print(HEADER)
        for one in found:
            print(row(one))
    return 0 if all(one.held for one in found) else 1
