"""What the shoe was told and has not answered yet: values that the table remembers.

In: nothing. Out: Errand, Outbox. Must not know: how they change, sessions, keys.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Command = Literal["reset", "self_test", "query", "clear_error", "rotate_key", "show"]
"""What a shoe is told once and answers; ``Capabilities.obeys`` says which shoes have which."""


class Errand(msgspec.Struct, frozen=True, kw_only=True):
    """A command on its way to the shoe. ``number`` is its id on the wire, 1 to 2**32 - 1.

    ``of`` is what is asked, an overdrawn card's fate (``keep``, ``discard``) or the new key's id.
    It is for this device alone, None where shoes do not name themselves. ``overdue``: that no
    answer came in time was told.
    """

    number: int
    command: Command
    of: str | int | None = None
    since_us: int
    device_id: str | None = None
    overdue: bool = False


class Outbox(msgspec.Struct, frozen=True, kw_only=True):
    """One errand of each command at most, oldest first; ``count`` are all there ever were.

    ``last`` is the last answer as the room was told it.
    """

    count: int = 0
    waiting: tuple[Errand, ...] = ()
    last: dict[str, Any] | None = None

    def find(self, number: int | None) -> Errand | None:
        """The one with this id."""
        return next((e for e in self.waiting if e.number == number), None)

    def of(self, command: str) -> Errand | None:
        """The one that is on its way with this command."""
        return next((e for e in self.waiting if e.command == command), None)
