"""Reading checked values out of parsed TOML.

In: a table and where it stands. Out: values of the type asked for, or a GameFileError that names
file, key and what was expected. Must not know: what the keys mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date

from firmware_proto.suggestion import nearest_name
from shoe_ctl.errors import GameFileError

NONE = "none"
"""The word in a file where the rule document has nothing."""

_RULE = re.compile(r"[0-9]+(\.[0-9]+)*\Z")
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_NAME_EXPECTED = "an id of lower-case letters, digits and underscores"
_SHOWN = 60


class Fields:
    """One TOML table. Every key must be read: ``close`` refuses those that were not."""

    __slots__ = ("_file", "_path", "_read", "_table")

    def __init__(self, file: str, path: str, table: dict[str, object]) -> None:
        self._file = file
        self._path = path
        self._table = table
        self._read: list[str] = []

    def error(self, key: str, expected: str, found: object = None) -> GameFileError:
        """Return the error for this key; ``found`` is shown when given."""
        where = ".".join(part for part in (self._path, key) if part)
        shown = "" if found is None else f", found {_shown(found)}"
        return GameFileError(f"{self._file}: {where}: expected {expected}{shown}")

    def unknown(self, key: str, what: str, known: Iterable[str]) -> GameFileError:
        """Return the error for a key that is none of the known ones, with the one most like it."""
        names = tuple(known)
        typed = nearest_name(key, names)
        hint = "" if typed is None else f": is it `{typed}`?"
        return self.error(key, f"{what} ({', '.join(names)}){hint}")

    def names(self) -> tuple[str, ...]:
        """Return every key of the table, in the file's order."""
        return tuple(self._table)

    def has(self, key: str) -> bool:
        """Return True if the table has the key."""
        return key in self._table

    def text(self, key: str, expected: str = "text") -> str:
        """Return a string that is not empty."""
        found = self._take(key, expected)
        if not isinstance(found, str) or not found.strip():
            raise self.error(key, expected, found)
        return found

    def name(self, key: str) -> str:
        """Return an id: lower-case letters, digits and underscores."""
        found = self.text(key, _NAME_EXPECTED)
        if not _NAME.match(found):
            raise self.error(key, _NAME_EXPECTED, found)
        return found

    def check_name(self, key: str) -> None:
        """Refuse a key that is not an id itself."""
        if not _NAME.match(key):
            raise self.error(key, _NAME_EXPECTED, key)

    def one_of(self, key: str, choices: Iterable[str]) -> str:
        """Return one of these words."""
        known = tuple(choices)
        expected = _either(known)
        found = self._take(key, expected)
        if not isinstance(found, str) or found not in known:
            raise self.error(key, expected, found)
        return found

    def rule(self, key: str) -> str | None:
        """Return a rule number such as 3.14.2; None where the file says ``none``."""
        expected = 'a rule number such as "3.14.2", or "none"'
        found = self.text(key, expected)
        if found == NONE:
            return None
        if not _RULE.match(found):
            raise self.error(key, expected, found)
        return found

    def integer(self, key: str, low: int, high: int) -> int:
        """Return a whole number between these bounds, both included."""
        expected = f"a whole number from {low} to {high}"
        found = self._take(key, expected)
        if not isinstance(found, int) or isinstance(found, bool) or not low <= found <= high:
            raise self.error(key, expected, found)
        return found

    def integers(self, key: str, low: int, high: int) -> tuple[int, ...]:
        """Return a list of different whole numbers between these bounds."""
        expected = f"a list of different whole numbers from {low} to {high}"
        found = self._take(key, expected)
        whole = isinstance(found, list) and all(
            isinstance(item, int) and not isinstance(item, bool) and low <= item <= high
            for item in found
        )
        if not isinstance(found, list) or not whole or len(set(found)) != len(found):
            raise self.error(key, expected, found)
        return tuple(found)

    def flag(self, key: str) -> bool:
        """Return true or false."""
        found = self._take(key, "true or false")
        if not isinstance(found, bool):
            raise self.error(key, "true or false", found)
        return found

    def date(self, key: str) -> str | None:
        """Return a date as ``2022-03-09``; None where the file says ``none``."""
        expected = 'a date such as 2022-03-09 (no quotes), or "none"'
        found = self._take(key, expected)
        if found == NONE:
            return None
        if type(found) is not date:
            raise self.error(key, expected, found)
        return found.isoformat()

    def texts(self, key: str, choices: Sequence[str] | None = None) -> tuple[str, ...]:
        """Return a list of different strings, each one of ``choices`` where given."""
        expected = f"a list of {_either(choices)}" if choices is not None else "a list of text"
        found = self._take(key, expected)
        if not isinstance(found, list):
            raise self.error(key, expected, found)
        taken: list[str] = []
        for place, item in enumerate(found):
            if not isinstance(item, str) or (choices is not None and item not in choices):
                kind = _either(choices) if choices is not None else "text"
                raise self.error(f"{key}[{place}]", kind, item)
            if item in taken:
                raise self.error(f"{key}[{place}]", "no entry twice", item)
            taken.append(item)
        return tuple(taken)

    def table(self, key: str) -> Fields:
        """Return the table under this key."""
        found = self._take(key, "a table")
        if not isinstance(found, dict):
            raise self.error(key, "a table", found)
        return Fields(self._file, f"{self._path}.{key}" if self._path else key, found)

    def table_or_none(self, key: str) -> Fields | None:
        """Return the table under this key; None where the file says ``none``."""
        if self._table.get(key) == NONE:
            self._read.append(key)
            return None
        return self.table(key)

    def table_or_tables(self, key: str) -> tuple[Fields, ...]:
        """Return one table, or a list of them."""
        if isinstance(self._table.get(key), list):
            return self.tables(key)
        return (self.table(key),)

    def tables(self, key: str) -> tuple[Fields, ...]:
        """Return the list of tables under this key."""
        found = self._take(key, "a list of tables")
        if not isinstance(found, list):
            raise self.error(key, "a list of tables", found)
        path = f"{self._path}.{key}" if self._path else key
        for place, item in enumerate(found):
            if not isinstance(item, dict):
                raise self.error(f"{key}[{place}]", "a table", item)
        return tuple(Fields(self._file, f"{path}[{n}]", item) for n, item in enumerate(found))

    def values_of(self, key: str, known: Sequence[str | int | bool]) -> frozenset[str | int | bool]:
        """Return one of these values, or a list of some of them (compared with their type)."""
        expected = _either([_toml(value) for value in known])
        found = self._take(key, expected)
        listed = found if isinstance(found, list) else [found]
        if not listed:
            raise self.error(key, f"at least one of {expected}")
        kinds = {(type(value), value) for value in known}
        for item in listed:
            if not isinstance(item, (str, int)) or (type(item), item) not in kinds:
                raise self.error(key, expected, item)
        return frozenset(listed)

    def close(self) -> None:
        """Refuse every key that nobody asked for, naming those that may stand here.

        Raises:
            GameFileError: the table has an unknown key.
        """
        for key in self._table:
            if key not in self._read:
                known = _either(sorted(set(self._read)))
                raise self.error(key, f"no such key here (known: {known})")

    def _take(self, key: str, expected: str) -> object:
        self._read.append(key)
        if key not in self._table:
            typed = nearest_name(key, (name for name in self._table if name not in self._read))
            hint = "" if typed is None else f" (is `{typed}` a typing error?)"
            raise self.error(key, f"{expected}, but the key is missing{hint}")
        return self._table[key]


def _either(words: Sequence[str]) -> str:
    if not words:
        return "nothing"
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _shown(found: object) -> str:
    try:
        text = repr(found)
    except ValueError:  # a hexadecimal number of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _toml(value: str | int | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
