"""What was reached last of each promise, and whether a new figure falls behind that.

In: ``reached.json``, figures. Out: what to say of a figure; the file anew. A target that nobody has
reached yet says nothing about a change; a fall does. Figures are compared where they were measured:
on the same processor, with the same Python, built alike.
"""

from __future__ import annotations

import json
import platform
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench._promises import Promise, number

Measured = tuple[float, float, float]
"""A figure, and the lowest and the highest of its measurements."""

FALL = 0.1
"""A figure may be worse than the worst one last time by so much of it."""

BUILD_FLAGS = ("--enable-optimizations", "--with-lto", "--enable-shared", "--with-pydebug")


def place() -> str:
    """The processor, and the Python with its compiler and the flags that change its speed."""
    lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if "model name" in line), "")
    given = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
    flags = " ".join(flag for flag in BUILD_FLAGS if flag in given) or "no flags"
    python = f"Python {platform.python_version()}, {platform.python_compiler()}, {flags}"
    return f"{model or platform.machine()}; {python}"


@dataclass
class Reached:
    """The figures of one place, by bench and name: measured, and the range of that time."""

    place: str = ""
    figures: dict[str, dict[str, Measured]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Reached:
        """What stands in the file; nothing where there is none."""
        if not path.exists():
            return cls()
        said = json.loads(path.read_text("utf-8"))
        figures = {
            bench: {name: (one[0], one[1], one[2]) for name, one in rows.items()}
            for bench, rows in said["figures"].items()
        }
        return cls(said["place"], figures)

    def write(self, path: Path) -> None:
        """Write the file, its figures in order."""
        said = {"place": self.place, "figures": self.figures}
        path.write_text(json.dumps(said, indent=1, sort_keys=True, ensure_ascii=False) + "\n")

    def of(self, bench: str) -> Mapping[str, Measured]:
        """What this bench reached here; nothing where it was measured elsewhere."""
        return self.figures.get(bench, {}) if self.place == place() else {}

    def put(self, bench: str, found: Sequence[Promise]) -> None:
        """Replace what this bench reached. What was measured elsewhere is dropped."""
        if self.place != place():
            self.place, self.figures = place(), {}
        self.figures[bench] = {
            one.name: (one.measured, *(one.spread or (one.measured, one.measured))) for one in found
        }


def fell(one: Promise, last: Measured | None) -> bool:
    """Whether a figure is worse than any of last time by more than ``FALL``."""
    if last is None:
        return False
    _, low, high = last
    if one.most is not None:
        return one.measured > high * (1 + FALL) and one.measured > 0
    return one.least is not None and one.measured < low * (1 - FALL)


def verdict(one: Promise, last: Measured | None) -> tuple[bool, str]:
    """Whether the figure is good enough, and what the row says of it.

    A target that was not reached last time either is no failure.
    """
    if last is None:
        return one.held, "" if one.held else "NOT HELD"
    before = replace(one, measured=last[0])
    was = f"last {number(last[0])}"
    if fell(one, last):
        return False, f"{was}, FELL"
    if one.held:
        return True, was
    if before.held:
        return False, f"{was}, NOT HELD"
    return True, f"{was}, not reached yet"
