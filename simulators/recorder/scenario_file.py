"""A recorded scenario as the text of its file.

In: a Recording. Out: the file's text, and what of the recording cannot be played again.
Must not know: where it is written, who plays it.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from simulators.recorder.acts import find_acts
from simulators.recorder.expected import Expectation
from simulators.recorder.names import Names
from simulators.recorder.recording import Recording
from simulators.table.expectation import Pattern
from simulators.table.scenario import VERSION

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_COLUMNS = 98


@dataclass(frozen=True, slots=True)
class RecordedScenario:
    """``text`` is the file. ``left_out`` names what cannot be played again, and how often.

    ``files`` are others that it needs beside it, by name.
    """

    text: str
    left_out: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)


def recorded_scenario(
    recording: Recording,
    *,
    title: str | None = None,
    names: Names | None = None,
    shipped_games: Collection[str] | None = None,
) -> RecordedScenario:
    """Return the scenario that plays a recording again.

    A game that is not one of ``shipped_games`` is written beside it; None: all are shipped.

    Raises:
        simulators.errors.WrongUsage: nothing of it can be played.
    """
    expectation = Expectation(recording)
    acts = find_acts(recording, Names() if names is None else names, expectation)
    left_out = tuple(
        what if times == 1 else f"{what} ({times} times)" for what, times in acts.left_out.items()
    )
    table, files = dict(recording.table), {}
    if shipped_games is not None and table["game"] not in shipped_games:
        name = f"{table['game']}.game.toml"
        files[name] = recording.game_file.decode()
        table["game"] = name
    title = f"Recorded from {recording.source}" if title is None else title
    lines = [
        f"# Recorded from {_one_line(recording.source)}",
        *(f"# Not played again: {_one_line(what)}" for what in left_out),
        f"version = {VERSION}",
        f"title = {_value(title)}",
        f"table = {_value(table)}",
        *_shoe(acts.shoe),
        *_array("steps", map(_value, acts.steps)),
        *_patterns("expect", expectation.public()),
        *_patterns("restricted", expectation.restricted()),
    ]
    return RecordedScenario("\n".join(lines) + "\n", left_out, files)


def _shoe(shoe: Mapping[str, Any]) -> Iterator[str]:
    """Yield the shoe in a table of its own where its cards do not fit into a line."""
    line = f"shoe = {_value(shoe)}"
    if len(line) <= _COLUMNS:
        yield line
        return
    for key, value in shoe.items():
        if isinstance(value, str) and len(value) > _COLUMNS // 2:
            yield f'shoe.{key} = """'
            yield from textwrap.wrap(value, _COLUMNS)
            yield '"""'
        else:
            yield f"shoe.{key} = {_value(value)}"


def _array(key: str, values: Iterable[str]) -> Iterator[str]:
    yield f"{key} = ["
    for value in values:
        yield f"  {value},"
    yield "]"


def _patterns(key: str, patterns: list[Pattern]) -> Iterator[str]:
    if patterns:
        yield from _array(key, (_value(str(wanted)) for wanted in patterns))


def _value(value: Any) -> str:
    """Return a plain value as TOML."""
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {_value(inner)}" for key, inner in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)
