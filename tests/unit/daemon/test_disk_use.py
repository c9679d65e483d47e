"""What the status says of the disk, on a clock by hand.

In: bytes by table as they are stored, free bytes. Out: bytes a day, when the disk is full, the log.
"""

from __future__ import annotations

import asyncio
import logging

import pytest

from shoe_ctl.daemon.disk_use import DiskUse
from shoe_testing.transports import HandClock

MB = 1_000_000
HOUR_S = 3600


class Disk:
    """A journal's disk; what is stored on it takes room."""

    def __init__(self, free: int) -> None:
        self.clock = HandClock()
        self.stored = {"t1": 0, "t2": 0}
        self.free = free
        self.use = DiskUse(self.clock, lambda: self.stored, lambda: self.free)
        self.use.sample()

    def passes(self, minutes: int, **a_minute: int) -> None:
        """Let each table store so many bytes a minute."""
        for _ in range(minutes):
            self.clock.advance(60)
            for table, size in a_minute.items():
                self.stored[table] += size
                self.free -= size
            self.use.sample()


def test_the_rate_of_each_table_is_that_of_the_last_hour() -> None:
    disk = Disk(10**12)
    assert disk.use.describe(["t1", "t2"])["a_day"] == {}
    disk.passes(600, t1=MB)
    assert disk.use.describe(["t1", "t2"])["a_day"] == {"t1": 1440 * MB, "t2": 0}
    disk.passes(60, t2=MB)
    assert disk.use.describe(["t2"])["a_day"] == {"t2": 1440 * MB}


def test_the_disk_is_full_at_the_rate_of_all_tables() -> None:
    disk = Disk(1440 * 3 * MB + 60 * 2 * MB)
    disk.passes(60, t1=MB, t2=MB)
    told = disk.use.describe(["t1"])
    assert told["free"] == 1440 * 3 * MB
    # 1,000 s after 1970 and an hour later, and a day and a half on
    assert told["full_at"].startswith("1970-01-02T13:16:40")


def test_a_disk_that_lasts_for_years_is_not_full_at_any_time() -> None:
    disk = Disk(10**12)
    assert disk.use.describe(["t1"])["full_at"] is None
    disk.passes(60, t1=1)
    assert disk.use.describe(["t1"])["full_at"] is None


def test_a_table_that_floods_the_disk_is_named_once_an_hour_three_days_before(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    disk = Disk(10**10)
    disk.passes(60, t1=10_000, t2=10_000)
    assert caplog.records == []
    disk.passes(59, t1=10_000, t2=10 * MB)
    [first] = caplog.records
    assert "disk: full soon: hours=" in first.getMessage()
    assert "most=t2" in first.getMessage()
    disk.passes(60, t1=10_000, t2=10 * MB)
    assert len(caplog.records) == 2


async def test_tables_are_told_once_when_the_disk_is_full_soon_and_once_when_it_is_not() -> None:
    disk, reported = Disk(10**10), list[int | None]()

    async def report(full_us: int | None) -> None:
        reported.append(full_us)

    use = DiskUse(disk.clock, lambda: disk.stored, lambda: disk.free, report)
    running = asyncio.create_task(use.run())
    for minute in range(180):
        if minute < 90:
            disk.stored["t2"] += 10 * MB
            disk.free -= 10 * MB
        disk.clock.advance(60)
        for _ in range(4):
            await asyncio.sleep(0)
    first, last = reported
    assert first is not None and last is None
    days = (first - disk.clock.wall_us()) / 86_400e6
    assert 0 < days < 3
    assert use.trouble is None
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
