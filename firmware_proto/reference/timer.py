"""A timer for sessions that are told the time only now and then.

In: starts and the times that ``tick`` brings. Out: whether it ran out, when to look again.
Must not know: clocks, what is waited for.
"""

from __future__ import annotations

AT_ONCE = 0.0
"""A deadline that has passed on any scale of seconds: ``tick`` is wanted now, to start a timer."""


class Timer:
    """Runs from the first ``observe`` after its start: what is sent knows no time of its own."""

    __slots__ = ("_due", "_span_s", "ran_out")

    def __init__(self) -> None:
        self.ran_out = False
        self._span_s: float | None = None
        self._due: float | None = None

    @property
    def idle(self) -> bool:
        """Neither running nor run out."""
        return not self.ran_out and self._span_s is None and self._due is None

    @property
    def deadline(self) -> float | None:
        """When ``observe`` is wanted, or None."""
        return AT_ONCE if self._span_s is not None else self._due

    def start(self, span_s: float) -> None:
        """Runs for so many seconds, from the next time that is observed."""
        self.ran_out, self._span_s, self._due = False, span_s, None

    def fire(self) -> None:
        """Runs out now."""
        self.ran_out, self._span_s, self._due = True, None, None

    def stop(self) -> None:
        """Waits for nothing."""
        self.ran_out, self._span_s, self._due = False, None, None

    def observe(self, t: float) -> None:
        """The time is ``t`` seconds."""
        if self._span_s is not None:
            self._due, self._span_s = t + self._span_s, None
        elif self._due is not None and t >= self._due:
            self.fire()
