"""Strict reading of a table in a file: each key is asked for once, and none may be left over.

In: values as TOML gives them. Out: checked values, or one line with key and what was expected.
Must not know: what the values are for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from firmware_proto.suggestion import nearest_name
from simulators.errors import SimulatorError


class Wrong(SimulatorError):
    """A file says what it cannot say: place, key, what was expected."""


class Fields:
    """The keys of one table that were not asked for yet; ``place`` names the table in errors."""

    def __init__(self, given: object, place: str) -> None:
        if not isinstance(given, Mapping):
            raise Wrong(f"{place}: expected a table, not {_shown(given)}")
        self._left: dict[str, Any] = dict(given)
        self._known: list[str] = []
        self._place = place

    def at(self, key: str) -> str:
        """Return the key's full place."""
        return f"{self._place}.{key}" if self._place else key

    def take(self, key: str) -> Any:
        """Return the key's value, None where it is not there."""
        self._known.append(key)
        return self._left.pop(key, None)

    def nothing_else(self) -> None:
        """Raises Wrong for a key that nobody asked for."""
        for key in self._left:
            have = ", ".join(self._known)
            raise Wrong(f"{self.at(key)}: unknown key, expected one of {have}")

    def one_of_keys(self, keys: Sequence[str]) -> str:
        """Return which one of these keys is there."""
        found = [key for key in keys if key in self._left]
        if len(found) != 1:
            expected = f"expected one of {', '.join(keys)}"
            if found or not self._left:
                there = ", ".join(found) or "none"
                raise Wrong(f"{self._place}: {expected}; there is {there}")
            key = next(iter(self._left))
            near = nearest_name(key, keys)
            meant = f" (is it {near}?)" if near else ""
            raise Wrong(f"{self._place}: unknown key {key}{meant}, {expected}")
        return found[0]

    def text(self, key: str, default: str | None = None) -> str:
        """Words; not empty."""
        value = self.optional_text(key)
        if value is None:
            value = default
        if value is None:
            raise Wrong(f"{self.at(key)}: missing, expected text")
        return value

    def optional_text(self, key: str) -> str | None:
        """Words, or None where the key is not there."""
        value = self.take(key)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip():
            raise Wrong(f"{self.at(key)}: expected text, not {_shown(value)}")
        return value

    def choice(self, key: str, choices: Sequence[str], default: str | None = None) -> str:
        """Return one of these words."""
        value = self.optional_choice(key, choices)
        if value is None:
            value = default
        if value is None:
            raise Wrong(f"{self.at(key)}: missing, expected one of {', '.join(choices)}")
        return value

    def optional_choice(self, key: str, choices: Sequence[str]) -> str | None:
        """Return one of these words, or None where the key is not there."""
        value = self.take(key)
        if value is not None and value not in choices:
            have = ", ".join(choices)
            raise Wrong(f"{self.at(key)}: expected one of {have}, not {_shown(value)}")
        return None if value is None else str(value)

    def whole(self, key: str, *, at_least: int, at_most: int | None = None) -> int:
        """Return a whole number in this range."""
        value = self.optional_whole(key, at_least=at_least, at_most=at_most)
        if value is None:
            raise Wrong(f"{self.at(key)}: missing, expected a whole number")
        return value

    def optional_whole(self, key: str, *, at_least: int, at_most: int | None = None) -> int | None:
        """Return a whole number in this range, or None where the key is not there."""
        value = self.take(key)
        if value is None:
            return None
        if type(value) is not int or value < at_least or (at_most is not None and value > at_most):
            span = f"from {at_least}" + ("" if at_most is None else f" to {at_most}")
            raise Wrong(f"{self.at(key)}: expected a whole number {span}, not {_shown(value)}")
        return value

    def number(self, key: str, *, above: float, at_most: float) -> float:
        """Return a number in this range, with or without decimals."""
        value = self.take(key)
        if type(value) not in (int, float) or not above < value <= at_most:
            raise Wrong(
                f"{self.at(key)}: expected a number above {above:g}, at most {at_most:g}, not "
                f"{_shown(value)}"
            )
        return float(value)

    def flag(self, key: str) -> bool:
        """True or false; false where the key is not there."""
        value = self.take(key)
        if value is not None and type(value) is not bool:
            raise Wrong(f"{self.at(key)}: expected true or false, not {_shown(value)}")
        return bool(value)

    def table(self, key: str) -> dict[str, Any]:
        """Return a table, empty where the key is not there."""
        value = self.take(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise Wrong(f"{self.at(key)}: expected a table, not {_shown(value)}")
        return value

    def array(self, key: str) -> list[Any]:
        """Return an array, empty where the key is not there."""
        value = self.take(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise Wrong(f"{self.at(key)}: expected an array, not {_shown(value)}")
        return value


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
