"""The disk that tables take: bytes a day by table, and when it is full at that rate.

In: bytes stored so far, free bytes, the clock. Out: what the status shows, a warning in the log.
Must not know: records, what a table stores, who asks.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from shoe_ctl.clock import Clock, sleep
from shoe_ctl.records import utc

log = logging.getLogger(__name__)

EVERY_S = 60.0
"""The pace of samples."""

WINDOW = 60
"""Samples, so that a rate is that of the last hour. A flood shows within minutes."""

DAY_S = 86_400
WARN_S = 3 * DAY_S
"""The disk is full within this time: long enough for a weekend."""

WARN_AGAIN_S = 3600.0


class DiskUse:
    """The rates of one journal: ``stored`` returns its bytes by table, ``free`` its disk's."""

    def __init__(
        self, clock: Clock, stored: Callable[[], Mapping[str, int]], free: Callable[[], int]
    ) -> None:
        self._clock = clock
        self._stored = stored
        self._free = free
        self._samples: deque[tuple[float, dict[str, int]]] = deque(maxlen=WINDOW + 1)
        self._warned_at: float | None = None

    async def run(self) -> None:
        """Take samples until cancelled; warn where the disk is soon full."""
        while True:
            self.sample()
            await sleep(self._clock, EVERY_S)

    def sample(self) -> None:
        """Note what is stored by now, and warn once an hour while the disk is soon full."""
        now = self._clock.monotonic()
        self._samples.append((now, dict(self._stored())))
        full_s = self._full_s()
        if full_s is None or full_s > WARN_S:
            self._warned_at = None
        elif self._warned_at is None or now >= self._warned_at + WARN_AGAIN_S:
            self._warned_at = now
            table, a_day = max(self._a_day().items(), key=lambda each: each[1])
            log.warning(
                "disk: full soon: hours=%d most=%s most_mb_a_day=%d. Free some space, set "
                "journal.retention, or look at this table's line.",
                *(full_s // 3600, table, a_day // 1_000_000),
            )

    def describe(self, tables: Iterable[str]) -> dict[str, Any]:
        """Return for the status: free bytes, those a day of these tables, when the disk is full.

        ``full_at`` is None where nothing is stored, or nothing is known yet.
        """
        full_s = self._full_s()
        full_us = None if full_s is None else self._clock.wall_us() + int(full_s * 1_000_000)
        a_day = self._a_day()
        far = full_s is not None and full_s > 1000 * DAY_S
        return {
            "free": self._free(),
            "a_day": {table: a_day[table] for table in tables if table in a_day},
            "full_at": None if full_us is None or far else utc(full_us),
        }

    def _a_day(self) -> dict[str, int]:
        if len(self._samples) < 2:
            return {}
        (began, before), (ended, stored) = self._samples[0], self._samples[-1]
        days = (ended - began) / DAY_S
        return {table: int((n - before.get(table, 0)) / days) for table, n in stored.items()}

    def _full_s(self) -> float | None:
        a_day = sum(self._a_day().values())
        return None if a_day <= 0 else self._free() * DAY_S / a_day
