"""A promise that was not kept, as what simulates and what judges both say it."""

from __future__ import annotations


class Broken(AssertionError):
    """``promise`` is which one, in a word; the message says how."""

    def __init__(self, promise: str, how: str) -> None:
        super().__init__(f"{promise}: {how}")
        self.promise = promise
