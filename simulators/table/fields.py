"""Strict reading of a table in a file: each key is asked for once, and none may be left over.

In: values as TOML gives them. Out: checked values, or one line with key and what was expected.
Must not know: what the values are for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from firmware_proto.suggestion import nearest_name
from simulators.errors import SimulatorError

T = TypeVar("T")


class Wrong(SimulatorError):
    """A file says what it cannot say: place, key, what was expected; a line for each mistake."""

    def __init__(self, *mistakes: str) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = mistakes

    @property
    def lines(self) -> tuple[str, ...]:
        """The mistakes."""
        return self.mistakes


class Fields:
    """The keys of one table that were not asked for yet; ``place`` names the table in errors.

    A mistake is raised at once. With ``gathers`` something that could stand there is returned
    instead, and ``nothing_else`` raises all mistakes.
    """

    def __init__(self, given: object, place: str, *, gathers: bool = False) -> None:
        self._gathers = gathers
        self._mistakes: list[str] = []
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

    def refuse(self, mistake: str, otherwise: T) -> T:
        """Raise Wrong with this mistake; where mistakes are gathered, note it and return the other.

        Raises:
            Wrong: mistakes are not gathered.
        """
        if not self._gathers:
            raise Wrong(mistake)
        self._mistakes.append(mistake)
        return otherwise

    def part(self, read: Callable[[], T], otherwise: T) -> T:
        """Return what was read of a part; note all that is wrong with it, as ``refuse`` does."""
        try:
            return read()
        except Wrong as wrong:
            for mistake in wrong.mistakes:
                self.refuse(mistake, None)
            return otherwise

    def nothing_else(self) -> None:
        """Raises Wrong for keys that nobody asked for, and for what was gathered."""
        have = ", ".join(self._known)
        for key in self._left:
            self.refuse(f"{self.at(key)}: unknown key, expected one of {have}", None)
        self.check()

    def check(self) -> None:
        """Raises Wrong for what was gathered; keys may be left over."""
        if self._mistakes:
            raise Wrong(*self._mistakes)

    def has(self, key: str) -> bool:
        """Return whether the key is there and not empty."""
        return bool(self._left.get(key))

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
        return str(self._value(key, _is_text, "text", "", default=default, required=True))

    def optional_text(self, key: str) -> str | None:
        """Words, or None where the key is not there."""
        value: str | None = self._value(key, _is_text, "text", None)
        return value

    def choice(self, key: str, choices: Sequence[str], default: str | None = None) -> str:
        """Return one of these words."""
        expected = f"one of {', '.join(choices)}"
        takes = choices.__contains__
        return str(self._value(key, takes, expected, choices[0], default=default, required=True))

    def whole(self, key: str, *, at_least: int, at_most: int | None = None) -> int:
        """Return a whole number in this range."""
        takes, expected = _whole_number(at_least, at_most)
        return int(self._value(key, takes, expected, at_least, required=True))

    def optional_whole(self, key: str, *, at_least: int, at_most: int | None = None) -> int | None:
        """Return a whole number in this range, or None where the key is not there."""
        takes, expected = _whole_number(at_least, at_most)
        value: int | None = self._value(key, takes, expected, None)
        return value

    def number(self, key: str, *, above: float, at_most: float) -> float:
        """Return a number in this range, with or without decimals."""

        def takes(value: Any) -> bool:
            return type(value) in (int, float) and above < value <= at_most

        expected = f"a number above {above:g}, at most {at_most:g}"
        return float(self._value(key, takes, expected, at_most, required=True))

    def flag(self, key: str) -> bool:
        """True or false; false where the key is not there."""
        return bool(self._value(key, lambda v: type(v) is bool, "true or false", False))

    def table(self, key: str) -> dict[str, Any]:
        """Return a table, empty where the key is not there."""
        value = self._value(key, lambda v: isinstance(v, dict), "a table", None)
        return {} if value is None else dict(value)

    def array(self, key: str, *, of: str | None = None) -> list[Any]:
        """Return an array, empty where the key is not there; with ``of`` it must hold one of it."""
        if of is not None and self._left.get(key, []) == []:
            self.take(key)
            expected = f"an array with one {of} or more"
            return self.refuse(f"{self.at(key)}: missing, expected {expected}", [])
        value = self._value(key, lambda v: isinstance(v, list), "an array", None)
        return [] if value is None else list(value)

    def _value(  # noqa: PLR0913 - what a value may be, each by name
        self,
        key: str,
        takes: Callable[[Any], bool],
        expected: str,
        otherwise: object,
        *,
        default: object = None,
        required: bool = False,
    ) -> Any:
        """Return a value that is taken, its default, or after a mistake ``otherwise``."""
        value = self.take(key)
        if value is None and (default is not None or not required):
            return default
        if value is None:
            return self.refuse(f"{self.at(key)}: missing, expected {expected}", otherwise)
        if not takes(value):
            return self.refuse(
                f"{self.at(key)}: expected {expected}, not {_shown(value)}", otherwise
            )
        return value


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _whole_number(at_least: int, at_most: int | None) -> tuple[Callable[[Any], bool], str]:
    """Return what takes whole numbers in this range, and the range in words."""
    span = f"from {at_least}" + ("" if at_most is None else f" to {at_most}")

    def takes(value: Any) -> bool:
        return type(value) is int and at_least <= value and (at_most is None or value <= at_most)

    return takes, f"a whole number {span}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
