"""The names of people in a recording, and what a scenario calls them instead.

In: names as the table was given them. Out: names that tell nobody who it was.
Must not know: steps, files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SECOND_PERSONS = ("Ann", "lee")
"""Users of the demo's daemon who consent in scenarios."""


STRANGER = "a stranger"
"""Someone whom no daemon knows."""


class Names:
    """Gives each person one name, the same for all of a recording.

    With ``keep`` everybody keeps their own.
    """

    def __init__(self, *, keep: bool = False) -> None:
        self._keep = keep
        self._second: dict[str, str] = {}
        self._players: dict[str, str] = {}

    def second_person(self, name: str, *, is_known: bool = True) -> str:
        """Return the name of someone who consents; ``is_known``: the daemon knew the person."""
        if self._keep:
            return name
        if not is_known:
            return STRANGER
        if name not in self._second:
            at = len(self._second)
            new = SECOND_PERSONS[at] if at < len(SECOND_PERSONS) else f"person {at + 1}"
            self._second[name] = new
        return self._second[name]

    def in_arguments(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return a command's arguments with the names of Players replaced."""
        return {
            key: self.player(value) if key == "player" and isinstance(value, str) else value
            for key, value in args.items()
        }

    def player(self, name: str) -> str:
        """Return the name of a Player."""
        if self._keep or name in ("player", "banker"):
            return name
        return self._players.setdefault(name, f"player {len(self._players) + 1}")
