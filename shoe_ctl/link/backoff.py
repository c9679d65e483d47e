"""How long to wait before a lost port is tried again.

In: when each attempt failed. Out: delays in seconds.
Must not know: ports, sleeping, clocks.
"""

from __future__ import annotations

FIRST_S = 0.05
"""An adapter that only re-enumerates is back within a tenth of a second."""

QUICK_CAP_S = 0.25
"""A shoe that is plugged in again resumes within a second: one delay, opening, its hello."""

QUICK_PERIOD_S = 60.0
"""Whoever pulled a cable by mistake has found it within a minute."""

SLOW_CAP_S = 5.0
"""Later nobody waits at the table for it; five seconds still feel like *by itself*."""


class Backoff:
    """Delays that grow from ``FIRST_S``; slowly at first, up to ``SLOW_CAP_S`` after a minute."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._delay_s = 0.0
        self._died = False

    @property
    def failing(self) -> bool:
        """Whether anything failed since the shoe last spoke."""
        return self._since is not None

    def failed(self, now: float) -> float:
        """Seconds to wait after a failure at ``now`` (monotonic seconds)."""
        if self._since is None:
            self._since = now
        quick = now - self._since < QUICK_PERIOD_S and not self._died
        cap_s = QUICK_CAP_S if quick else SLOW_CAP_S
        self._delay_s = min(max(FIRST_S, 2 * self._delay_s), cap_s)
        return self._delay_s

    def died(self) -> None:
        """The shoe spoke and was gone at once: from now on the delays grow to the longest.

        Nobody pulled a cable, so that no minute of quick attempts is due.
        """
        self._died = True

    def arrived(self, now: float) -> None:
        """Something arrived where the port is: from now on it is as likely as after a loss."""
        self._since, self._delay_s, self._died = now, 0.0, False

    def spoke(self) -> None:
        """The shoe spoke: the next failure is a first one."""
        self._since, self._delay_s, self._died = None, 0.0, False
