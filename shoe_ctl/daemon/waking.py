"""The one time at which a table asked to be woken.

In: times in microseconds, a clock. Out: word when it has come, or when it must be looked at anew.
Must not know: what for.
"""

from __future__ import annotations

import asyncio

from shoe_ctl.link.clock import Clock, Timer


class WakeUp:
    """For one event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._due = asyncio.Event()
        self._timer: Timer | None = None

    def at(self, wake_us: int | None, now_us: int) -> None:
        """In the place of what was asked before; None: never."""
        self.cancel()
        if wake_us is not None:
            delay_s = max(0, wake_us - now_us) / 1_000_000
            self._timer = self._clock.call_later(delay_s, self._due.set)

    async def due(self) -> None:
        """Returns when the time has come."""
        await self._due.wait()
        self._due.clear()

    def cancel(self) -> None:
        """Nobody is woken."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
