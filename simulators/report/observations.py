"""The observations made while one scenario was played, as plain data.

In: marks on lanes, expected events beside those that came. Out: values, and their JSON.
Must not know: how they are shown, who observed them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from simulators.errors import PortFault, WrongUsage

LANES = ("line", "shoe", "acts", "table", "sink")
Lane = Literal["line", "shoe", "acts", "table", "sink"]
"""Bytes; what the shoe says; hands, staff and cables; the table's public events; the sink."""

Verdict = Literal["passed", "failed", "error"]

MOST_MARKS = 20_000
"""Of one playing. What comes after is counted."""

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something at a time, in µs since 1970.

    ``cause`` is the number of the mark that led to it. ``routine``: a message that is repeated
    while nothing happens. ``event`` is the id of a table's event, ``kind`` its type.
    """

    t_us: int
    lane: Lane
    text: str
    detail: str = ""
    cause: int | None = None
    routine: bool = False
    kind: str = ""
    event: str = ""
    wrong: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One line of two lists: an expected event, the one that came, or both.

    ``event`` is the id of the one that came.
    """

    expected: str | None
    came: str | None
    event: str = ""

    @property
    def agrees(self) -> bool:
        """True if it was expected, and came."""
        return self.expected is not None and self.came is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """One playing. ``failure`` says what was wrong, None where all came as expected.

    ``public`` and ``restricted`` are the events expected beside those that came; ``restricted`` is
    None where nobody looked. ``left_out`` marks were too many to be kept.
    """

    name: str
    title: str
    verdict: Verdict
    failure: str | None = None
    began_us: int = 0
    ended_us: int = 0
    table: Mapping[str, Any] = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()
    public: tuple[Compared, ...] = ()
    restricted: tuple[Compared, ...] | None = None
    left_out: int = 0

    @property
    def seconds(self) -> float:
        """The time that it took."""
        return max(0, self.ended_us - self.began_us) / 1_000_000

    @property
    def first_difference(self) -> Compared | None:
        """The first expected event that did not come, or that came and was not expected."""
        rows = (*self.public, *(self.restricted or ()))
        return next((row for row in rows if not row.agrees), None)


def to_json(report: RunReport) -> str:
    """Return the report as JSON; ``from_json`` reads it."""
    return json.dumps({"version": VERSION, **asdict(report)}, ensure_ascii=False) + "\n"


def from_json(text: str, file: str) -> RunReport:
    """Return the report that ``to_json`` wrote.

    Raises:
        WrongUsage: it is none of this version.
    """
    try:
        plain = json.loads(text)
        if plain.pop("version") != VERSION:
            raise WrongUsage(f"{file}: version: expected {VERSION}")
        restricted = plain.pop("restricted")
        return RunReport(
            **{key: plain[key] for key in plain if key not in ("marks", "public")},
            marks=tuple(Mark(**mark) for mark in plain["marks"]),
            public=tuple(Compared(**row) for row in plain["public"]),
            restricted=None if restricted is None else tuple(Compared(**r) for r in restricted),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise WrongUsage(f"{file}: expected a report of shoe-sim: {error}") from None


def write(path: Path, text: str) -> None:
    """Write a report, or a scenario.

    Raises:
        PortFault: it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise PortFault(f"cannot write {path}: {error.strerror}") from None
