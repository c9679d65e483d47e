"""The disk that tables take: bytes a day by table, and when it is full at that rate.

In: bytes stored so far, free bytes, the clock. Out: what the status shows, warnings.
Must not know: records, what a table stores, who asks.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from shoe_ctl.clock import Clock, sleep
from shoe_ctl.records import utc
from shoe_ctl.table.status import with_trouble
from shoe_ctl.texts.message import Message, message

log = logging.getLogger(__name__)

EVERY_S = 60.0
"""The pace of samples."""

WINDOW = 60
"""Samples, so that a rate is that of the last hour. A flood shows within minutes."""

DAY_S = 86_400
WARN_S = 3 * DAY_S
"""The disk is full within this time: long enough for a weekend."""

WARN_AGAIN_S = 3600.0


async def _ignore(_: int | None) -> None:
    """Nobody is told."""


class DiskUse:
    """The rates of one journal: ``stored`` returns its bytes by table, ``free`` its disk's.

    ``report`` is told when the disk will be full, in µs since 1970 UTC, once that is soon, and None
    once it is not any more.
    """

    def __init__(
        self,
        clock: Clock,
        stored: Callable[[], Mapping[str, int]],
        free: Callable[[], int],
        report: Callable[[int | None], Awaitable[None]] = _ignore,
    ) -> None:
        self._clock = clock
        self._stored = stored
        self._free = free
        self._report = report
        self._is_reported = False
        self._samples: deque[tuple[float, dict[str, int]]] = deque(maxlen=WINDOW + 1)
        self._warned_at: float | None = None

    async def run(self) -> None:
        """Take samples until cancelled; warn where the disk is soon full."""
        while True:
            self.sample()
            if self._is_reported is not self.is_filling:
                self._is_reported = self.is_filling
                await self._report(self._full_us() if self.is_filling else None)
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

    @property
    def is_filling(self) -> bool:
        """True if the disk is full within ``WARN_S``, by the last sample."""
        return self._warned_at is not None

    @property
    def trouble(self) -> Message | None:
        """The warning beside what a table waits for; None while the disk is not full soon."""
        full_s = self._full_s() if self.is_filling else None
        return (
            None if full_s is None else message("daemon_disk_full_soon", hours=int(full_s // 3600))
        )

    def describe(self, tables: Iterable[str]) -> dict[str, Any]:
        """Return for the status: free bytes, those a day of these tables, when the disk is full.

        ``full_at`` is None where nothing is stored, or nothing is known yet.
        """
        full_s, full_us = self._full_s(), self._full_us()
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

    def _full_us(self) -> int | None:
        full_s = self._full_s()
        return None if full_s is None else self._clock.wall_us() + int(full_s * 1_000_000)

    def _full_s(self) -> float | None:
        a_day = sum(self._a_day().values())
        return None if a_day <= 0 else self._free() * DAY_S / a_day


def with_warning(told: dict[str, Any], trouble: Message | None) -> dict[str, Any]:
    """Return a table's status with this warning beside what it waits for, if there is one."""
    return told if trouble is None else told | {"next": with_trouble(told["next"], trouble)}
