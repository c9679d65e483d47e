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

from firmware_proto.commands import Armed, Locked
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
    """A step of a run whose effects are not the recorded ones."""

    run: str
    step: int
    where: str
    recorded: tuple[str, ...]
    now: tuple[str, ...]

    @property
    def kinds(self) -> list[str]:
        """What differs: ``event type: path of a value``, or the types where these differ."""
        was, now = map(_types, (self.recorded, self.now))
        if was != now:
            return [f"was {' + '.join(was) or 'nothing'}, now {' + '.join(now) or 'nothing'}"]
        return [
            kind
            for one, other in zip(self.recorded, self.now, strict=True)
            if one != other
            for kind in _kinds(json.loads(one), json.loads(other))
        ]

    @property
    def goes_another_way(self) -> bool:
        """The effects are of other types: what follows in this run cannot be compared."""
        return _types(self.recorded) != _types(self.now)

    def __str__(self) -> str:
        lines = difflib.unified_diff(self.recorded, self.now, "recorded", "now", n=0, lineterm="")
        return "\n".join([f"{self.run}, step {self.step} ({self.where}):", *lines])


@dataclass(slots=True)
class Comparison:
    """What came of comparing runs."""

    runs: int = 0
    inputs: int = 0
    differing: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    """How many runs differ in which way."""
    examples: dict[str, Difference] = field(default_factory=dict)
    """The first step that was found to differ, for each way."""

    def add(self, other: Comparison) -> None:
        """Adds what came of comparing others."""
        self.runs += other.runs
        self.inputs += other.inputs
        self.differing += other.differing
        self.kinds += other.kinds
        self.examples = other.examples | self.examples

    def add_run(self, run: Run) -> None:
        """Adds what came of comparing a run."""
        self.runs += 1
        self.inputs += len(run.steps)
        differences = compare(run)
        self.differing += bool(differences)
        examples = {kind: found for found in reversed(differences) for kind in found.kinds}
        self.kinds.update(examples.keys())
        self.examples = examples | self.examples


def effect_json(effect: Effect) -> str:
    """The effect as canonical JSON: sorted keys, its kind first in the object's ``effect``."""
    kind = next(name for of, name in _KINDS if isinstance(effect, of))
    plain = {"effect": kind, **msgspec.to_builtins(effect)}
    if plain.get("reopens", "") is None:
        del plain["reopens"]  # runs were recorded before events had it; it is kept where it is set
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


def compare(run: Run) -> list[Difference]:
    """The steps that have other effects now: in one go, else after a restart in the middle.

    A run that goes another way is followed no further.
    """
    return _compare(run, None) or _compare(run, len(run.steps) // 2)


def _compare(run: Run, restarts_at: int | None) -> list[Difference]:
    game = catalog.load(run.game)
    settings = msgspec.convert(run.settings, TableSettings)
    where = "in one go" if restarts_at is None else f"restarted at step {restarts_at}"
    controller = TableController(game, settings)
    found = []
    for number, step in enumerate(run.steps):
        if number == restarts_at:
            kept = state.from_bytes(state.to_bytes(controller.state))
            controller = TableController(game, settings, kept)
        try:
            effects = controller.handle(inputs.from_bytes(step.input.encode()))
            now = tuple(effect_json(effect) for effect in effects)
        except Exception as error:  # noqa: BLE001 - whatever is raised is a difference
            now = (json.dumps({"effect": f"{type(error).__name__}: {error}"}),)
        if now != step.effects:
            found.append(Difference(run.name, number, where, step.effects, now))
            if found[-1].goes_another_way:
                break
    return found


def compare_all(runs: Iterable[Run]) -> Comparison:
    """Compares each run."""
    found = Comparison()
    for run in runs:
        found.add_run(run)
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


def _types(effects: Sequence[str]) -> list[str]:
    plain = map(json.loads, effects)
    return [f"{effect['effect']} {effect.get('type', '')}".strip() for effect in plain]


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
