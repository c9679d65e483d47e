"""The corpus: recorded inputs of tables and the effects that they had, as canonical JSON.

A run is one table from its first input on. Replaying its inputs in a fresh controller must give
the same effects, with and without a restart from a snapshot in the middle.
"""

from __future__ import annotations

import difflib
import json
import lzma
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from firmware_proto.events import Armed, Locked
from shoe_ctl.games import catalog
from shoe_ctl.table import inputs, state
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.effects import Answer, Effect, ShoeCommand, TableEvent, WakeAt
from shoe_ctl.table.settings import TableSettings

FOLDER = Path(__file__).parent / "data"

_KINDS: tuple[tuple[type, str], ...] = (
    (TableEvent, "event"),
    (Answer, "answer"),
    (ShoeCommand, "shoe_command"),
    (WakeAt, "wake_at"),
    (Armed, "armed"),
    (Locked, "locked"),
)


class Step(msgspec.Struct, frozen=True, array_like=True):
    """One input, in its recorded bytes, and the effects it had."""

    input: str
    effects: tuple[str, ...]


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded table. ``settings`` are those of ``TableSettings``, as plain values."""

    name: str
    game: str
    settings: dict[str, Any]
    steps: tuple[Step, ...]


_decoder = msgspec.json.Decoder(Run)


@dataclass(frozen=True, slots=True)
class Difference:
    """The first step of a run whose effects are not the recorded ones."""

    run: str
    step: int
    where: str
    recorded: tuple[str, ...]
    now: tuple[str, ...]

    @property
    def kinds(self) -> list[str]:
        """What differs, each as ``event type: path of the value``."""
        found = [
            kind
            for was, now in zip(self.recorded, self.now, strict=False)
            if was != now
            for kind in _kinds(json.loads(was), json.loads(now))
        ]
        if len(self.recorded) != len(self.now):
            found.append(f"{len(self.recorded)} effects were recorded, now {len(self.now)}")
        return found

    def __str__(self) -> str:
        lines = difflib.unified_diff(self.recorded, self.now, "recorded", "now", n=0, lineterm="")
        return "\n".join([f"{self.run}, step {self.step} ({self.where}):", *lines])


@dataclass(slots=True)
class Comparison:
    """What came of comparing runs."""

    runs: int = 0
    inputs: int = 0
    differences: list[Difference] = field(default_factory=list)

    def add(self, other: Comparison) -> None:
        """Adds what came of comparing others."""
        self.runs += other.runs
        self.inputs += other.inputs
        self.differences += other.differences

    @property
    def kinds(self) -> Counter[str]:
        """How many runs first differ in which way."""
        return Counter(kind for found in self.differences for kind in set(found.kinds))


def effect_json(effect: Effect) -> str:
    """The effect as canonical JSON: sorted keys, its kind first in the object's ``effect``."""
    kind = next(name for of, name in _KINDS if isinstance(effect, of))
    plain = {"effect": kind, **msgspec.to_builtins(effect)}
    return json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def record(name: str, controller: TableController, happened: Iterable[inputs.Input]) -> Run:
    """The run that these inputs make at a new table like the controller's."""
    fresh = TableController(controller.game, controller.settings)
    steps = tuple(
        Step(inputs.to_bytes(i).decode(), tuple(effect_json(e) for e in fresh.handle(i)))
        for i in happened
    )
    return Run(
        name=name,
        game=controller.game.id,
        settings=msgspec.to_builtins(controller.settings),
        steps=steps,
    )


def compare(run: Run) -> Difference | None:
    """The first step that has other effects now, in one go or after a restart in the middle."""
    game = catalog.load(run.game)
    settings = msgspec.convert(run.settings, TableSettings)
    middle = len(run.steps) // 2
    for where, restarts_at in (("in one go", None), ("restarted in the middle", middle)):
        controller = TableController(game, settings)
        for number, step in enumerate(run.steps):
            if number == restarts_at:
                kept = state.from_bytes(state.to_bytes(controller.state))
                controller = TableController(game, settings, kept)
            try:
                effects = controller.handle(inputs.from_bytes(step.input.encode()))
            except Exception as error:  # noqa: BLE001 - whatever is raised is a difference
                said = json.dumps({"effect": f"{type(error).__name__}: {error}"})
                return Difference(run.name, number, where, step.effects, (said,))
            now = tuple(effect_json(e) for e in effects)
            if now != step.effects:
                return Difference(run.name, number, where, step.effects, now)
    return None


def compare_all(runs: Iterable[Run]) -> Comparison:
    """Compares each run."""
    found = Comparison()
    for run in runs:
        found.runs += 1
        found.inputs += len(run.steps)
        difference = compare(run)
        if difference is not None:
            found.differences.append(difference)
    return found


def write(path: Path, runs: Sequence[Run]) -> None:
    """Writes runs as compressed lines; the same runs always give the same bytes."""
    lines = b"".join(msgspec.json.encode(run) + b"\n" for run in runs)
    path.write_bytes(lzma.compress(lines, preset=9))


def lines(path: Path) -> Iterator[bytes]:
    """The runs in a file, each as ``decode`` takes it."""
    with lzma.open(path) as file:
        yield from file


def decode(line: bytes) -> Run:
    """The run in a line of the corpus."""
    return _decoder.decode(line)


def files() -> list[Path]:
    """The files of the corpus."""
    return sorted(FOLDER.glob("*.xz"))


def _kinds(was: Any, now: Any, path: str = "") -> Iterator[str]:
    """Where two values differ, as paths; the effect's kind and type stand before them."""
    if not path and isinstance(was, dict):
        path = f"{was.get('effect')} {was.get('type', '')}".strip() + ":"
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted(was.keys() | now.keys()):
            if was.get(key) != now.get(key):
                yield from _kinds(was.get(key), now.get(key), f"{path} {key}")
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for one, other in zip(was, now, strict=True):
            if one != other:
                yield from _kinds(one, other, f"{path} []")
    else:
        yield path
