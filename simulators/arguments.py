"""Arguments by name: the values that each may have, out of a file, of JSON or of a command line.

In: a value, or the text of one. Out: the value, or one line that says what was expected.
Must not know: what an argument is for.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from simulators.table.fields import Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument(ABC):
    """``about`` says in a few words what it is; ``default`` stands where it is not given."""

    about: str
    default: Any = None
    required: bool = False

    metavar: ClassVar[str] = "VALUE"

    @property
    @abstractmethod
    def expected(self) -> str:
        """The values that it may have, in words."""

    @abstractmethod
    def takes(self, value: object) -> bool:
        """Return whether it may have this value."""

    def of_text(self, text: str) -> object:
        """Return the value that this text stands for; a text that stands for none as it is."""
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeNumber(Argument):
    """A whole number in a range."""

    at_least: int
    at_most: int

    metavar = "N"

    @property
    def expected(self) -> str:
        return f"a whole number from {self.at_least:,} to {self.at_most:,}"

    def takes(self, value: object) -> bool:
        return type(value) is int and self.at_least <= value <= self.at_most

    def of_text(self, text: str) -> object:
        return int(text) if re.fullmatch(r"-?[0-9]{1,15}", text) else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Argument):
    """A number in a range."""

    at_least: float = 0.0
    at_most: float = 1.0

    metavar = "X"

    @property
    def expected(self) -> str:
        return f"a number from {self.at_least:g} to {self.at_most:g}"

    def takes(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return self.at_least <= value <= self.at_most  # no NaN is

    def of_text(self, text: str) -> object:
        return float(text) if re.fullmatch(r"-?[0-9]*\.?[0-9]+(e-?[0-9]+)?", text) else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Word(Argument):
    """One of a few words."""

    words: tuple[str, ...]

    @property
    def expected(self) -> str:
        return f"one of {', '.join(self.words)}"

    def takes(self, value: object) -> bool:
        return value in self.words


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Argument):
    """Text of a form: ``form`` says in words what ``pattern`` matches."""

    pattern: str
    form: str

    metavar = "TEXT"

    @property
    def expected(self) -> str:
        return self.form

    def takes(self, value: object) -> bool:
        return isinstance(value, str) and re.fullmatch(self.pattern, value) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class YesNo(Argument):
    """True or false; false where it is not given."""

    default: Any = False

    @property
    def expected(self) -> str:
        return "true or false"

    def takes(self, value: object) -> bool:
        return type(value) is bool

    def of_text(self, text: str) -> object:
        return {"true": True, "false": False}.get(text, text)


Arguments = Mapping[str, Argument]


def read_arguments(arguments: Arguments, fields: Fields) -> dict[str, Any]:
    """Return the value of each argument, and take its key.

    Raises:
        simulators.table.fields.Wrong: says key and what was expected.
    """
    return {name: _read(argument, name, fields) for name, argument in arguments.items()}


def _read(argument: Argument, name: str, fields: Fields) -> Any:
    value = fields.take(name)
    if value is None:
        if argument.required:
            mistake = f"{fields.at(name)}: missing, expected {argument.expected}"
            return fields.refuse(mistake, None)
        return argument.default
    if not argument.takes(value):
        shown = repr(value)
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        return fields.refuse(
            f"{fields.at(name)}: expected {argument.expected}, not {shown}", argument.default
        )
    return value
