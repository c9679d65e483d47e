"""Decide whether a shoe that is received receives anything itself, or its line is half dead.

In: what the session counts of a shoe's frames, whether the line was read empty, the time. Out:
whether the shoe hears. Must not know: frames, ports, sessions.
"""

from __future__ import annotations

CROSSING_S = 0.5
"""All that was on its way when the first frame without an effect came has arrived by then: a frame
that comes after the line was read empty was sent later."""

PROVED_S = 2.5
"""For so long the shoe shows no effect of anything sent. Its status comes every 2 s: the first one
without an effect 2 s after it was sent at the latest, the next 2 s later. That makes 4.5 s."""

STEP_S = 0.5
"""A suspicion is looked at so often."""

LONGEST_STEP_S = 0.75
"""A host that is late, because it has much to do or stood still, counts no more than this at once:
it may not have read yet what the shoe sent meanwhile."""

ASK_EVERY_S = 1.0
"""A shoe that does not hear is asked for its hello so often: it answers once it does."""


class Hearing:
    """The hearing of one connection's shoe. Times are monotonic seconds.

    A shoe repeats what is not acknowledged in time, and its messages and the host's cross. It is
    therefore deaf only if it goes on for ``PROVED_S`` without showing an effect of anything, and
    frames that show none came later than what could cross.
    """

    def __init__(self) -> None:
        self.is_lost = False
        self._heeded = 0
        self._seen = 0
        self._at: float | None = None
        """When the suspicion was last looked at; None while there is none."""
        self._suspected_s = 0.0
        self._was_empty = self._is_confirmed = False
        self._asked_at = 0.0

    @property
    def next_deadline(self) -> float | None:
        """When to call ``observe`` next, or None: at the shoe's next frame."""
        return None if self._at is None else self._at + STEP_S

    def observe(self, heeded: int, unheeded: int, now: float, *, empty: bool) -> bool:
        """Take what the session counts (see ``Heeding``); return whether to ask for hello.

        ``empty``: all that was on the line is read by now.
        """
        if heeded != self._heeded or not (unheeded or self.is_lost):
            self._heeded, self._at, self.is_lost = heeded, None, False
            if not unheeded:
                return False
        if self._at is None:
            self._at, self._suspected_s, self._seen = now, 0.0, unheeded
            self._was_empty = self._is_confirmed = False
            return False
        if now < self._at + STEP_S and unheeded == self._seen and not empty:
            return False
        passed_s, self._at = now - self._at, now
        self._suspected_s += min(passed_s, LONGEST_STEP_S)
        if self._was_empty and unheeded > self._seen:
            self._is_confirmed = True
        self._seen = unheeded
        self._was_empty |= empty and self._suspected_s >= CROSSING_S
        self.is_lost |= self._is_confirmed and self._suspected_s >= PROVED_S
        if not self.is_lost or now < self._asked_at + ASK_EVERY_S:
            return False
        self._asked_at = now
        return True
