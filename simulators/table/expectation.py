"""Expected events: ``type key=value key=value`` lines, held to what was told, shown as a diff.

In: lines, events as they were told. Out: None, or the difference for a person to read.
Must not know: how the events came about, files, clocks.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from firmware_proto.suggestion import nearest_name
from simulators.table.event_types import EVENT_TYPES

ANY = "*"
"""As a value: the key is there, whatever it holds."""

_TYPE = re.compile(r"[a-z][a-z_]*(\.[a-z][a-z_]*)*")
_KEY = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")
_QUOTED = frozenset(" ;\"'\\")
"""A value with one of these is shown in quotes, so that it reads back as what it is."""

_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Told:
    """One event as a stream told it."""

    type: str
    data: Mapping[str, Any]
    id: str = ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One expected event; what it does not name may be anything."""

    type: str
    wanted: tuple[tuple[str, str], ...] = ()

    def matches(self, told: Told) -> bool:
        """Return whether this event is the one."""
        if told.type != self.type:
            return False
        got = flat(told.data)
        return all(k in got and v in (ANY, got[k]) for k, v in self.wanted)

    def __str__(self) -> str:
        return " ".join((self.type, *(_pair(k, v) for k, v in self.wanted)))


def pattern(line: str) -> Pattern:
    """Return the pattern of this line; a value with a space in it is quoted.

    Raises:
        ValueError: says what was expected.
    """
    words = shlex.split(line)
    if not words or not _TYPE.fullmatch(words[0]):
        raise ValueError(f"expected an event's type first, such as round.outcome, not {line!r}")
    wanted: list[tuple[str, str]] = []
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if not equals or not _KEY.fullmatch(key):
            raise ValueError(f"expected key=value, not {word!r}")
        if key in dict(wanted):
            raise ValueError(f"{key} is there twice")
        wanted.append((key, value))
    return Pattern(words[0], tuple(wanted))


def expected_event(line: str) -> Pattern:
    """Return the pattern of this line, whose event is one that a table emits.

    Raises:
        ValueError: says what was expected, and for an unknown type the nearest one.
    """
    found = pattern(line)
    if found.type not in EVENT_TYPES:
        near = nearest_name(found.type, EVENT_TYPES)
        meant = f"is it {near}?" if near else "see: shoectl schema"
        raise ValueError(f"unknown event {found.type} ({meant})")
    return found


def flat(data: Mapping[str, Any]) -> dict[str, str]:
    """Return an event's data as patterns name it: dotted keys, values as they are written there.

    ``null``, ``true`` and ``false`` as in JSON; a list's items with commas between them.
    """
    return dict(_leaves("", data))


def difference(
    expected: Sequence[Pattern], never: Collection[str], told: Sequence[Told]
) -> str | None:
    """Return what differs, or None: of the types expected or forbidden, these events only."""
    came = of_interest(expected, never, told)
    if len(came) == len(expected) and all(map(Pattern.matches, expected, came)):
        return None
    return "\n".join(_lines(expected, came))


def _leaves(place: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and (value or not place):
        for key, inner in value.items():
            yield from _leaves(f"{place}.{key}" if place else str(key), inner)
    elif isinstance(value, list | tuple):
        yield place, ",".join(_word(item) for item in value)
    else:
        yield place, _word(value)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _pair(key: str, value: str) -> str:
    plain = value and not set(value) & _QUOTED
    return f"{key}={value if plain else json.dumps(value, ensure_ascii=False)}"


def _lines(expected: Sequence[Pattern], came: Sequence[Told]) -> Iterator[str]:
    """Yield both lists in one, as alike as they can be laid beside one another."""
    for wanted, told in beside(expected, came):
        if wanted is None:
            assert told is not None
            yield f"  + {shown(told, expected)}    <- came, not expected"
        elif told is None:
            yield f"  - {wanted}    <- expected, did not come"
        else:
            yield f"    {wanted}"


def beside(
    expected: Sequence[Pattern], came: Sequence[Told]
) -> Iterator[tuple[Pattern | None, Told | None]]:
    """Yield expected events and those that came in pairs, as alike as the lists can be laid."""
    i = 0
    while i < min(len(expected), len(came)) and expected[i].matches(came[i]):
        yield expected[i], came[i]
        i += 1
    expected, came = expected[i:], came[i:]
    longest = _common(expected, came)
    i = j = 0
    while i < len(expected) or j < len(came):
        both = i < len(expected) and j < len(came)
        if both and expected[i].matches(came[j]):
            yield expected[i], came[j]
            i, j = i + 1, j + 1
        elif j == len(came) or (both and longest[i + 1][j] >= longest[i][j + 1]):
            yield expected[i], None
            i += 1
        else:
            yield None, came[j]
            j += 1


def of_interest(
    expected: Sequence[Pattern], never: Collection[str], told: Sequence[Told]
) -> list[Told]:
    """Return the events of the types that are expected or forbidden."""
    listed = {p.type for p in expected} | set(never)
    return [t for t in told if t.type in listed]


def _common(expected: Sequence[Pattern], came: Sequence[Told]) -> list[list[int]]:
    """Return how many from here on can be laid beside one another, for every pair of places."""
    longest = [[0] * (len(came) + 1) for _ in range(len(expected) + 1)]
    for i in range(len(expected) - 1, -1, -1):
        for j in range(len(came) - 1, -1, -1):
            if expected[i].matches(came[j]):
                longest[i][j] = 1 + longest[i + 1][j + 1]
            else:
                longest[i][j] = max(longest[i + 1][j], longest[i][j + 1])
    return longest


def shown(told: Told, expected: Sequence[Pattern]) -> str:
    """Return an event by the keys that are asked of its type, or by its first few."""
    got = flat(told.data)
    asked = dict.fromkeys(k for p in expected if p.type == told.type for k, _ in p.wanted)
    keys = [k for k in asked if k in got] or list(got)[:_SHOWN]
    return str(Pattern(told.type, tuple((k, got[k]) for k in keys)))
