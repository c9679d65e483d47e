"""Asks for events that were passed over, once for each hole.

In: the number that is missing. Out: the number to ask for, if any.
Must not know: bytes, time: what asks in vain is made good by the shoe's own time-out.
"""

from __future__ import annotations


class Replay:
    """Behind one lost frame there may be a window of others: they all say the same."""

    __slots__ = ("_asked", "_due")

    def __init__(self) -> None:
        self._asked = 0
        self._due: int | None = None

    def want(self, first: int) -> None:
        """Event ``first`` is missing, and later ones are there or known of."""
        if first != self._asked:
            self._due = first

    def take(self) -> int | None:
        """The number to ask for now, once."""
        first, self._due = self._due, None
        if first is not None:
            self._asked = first
        return first
