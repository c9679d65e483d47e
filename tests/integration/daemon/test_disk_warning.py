"""A disk that will be full soon: every table's staff read it before the disk halts the tables.

In: a daemon at work, a disk that fills. Out: events of the restricted stream, what the status says
is next in both languages.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_ctl.daemon import disk_use
from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.records import Audience
from shoe_ctl.texts.catalogue import text
from shoe_testing.config import SOCKET, write_config
from shoe_testing.daemon import ShoeAtTable, ToldEvents, nothing_is_wrong_with, serving
from shoe_testing.rounds import lines_of
from shoe_testing.socket_client import calling

pytestmark = pytest.mark.slow

PLENTY = 10**15


async def test_staff_are_warned_before_the_disk_is_full_and_told_when_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = [PLENTY]
    monkeypatch.setattr(disk_use, "EVERY_S", 0.05)
    monkeypatch.setattr(Daemon, "_free_bytes", lambda _: free[0])
    config, told = write_config(tmp_path, str(tmp_path / "shoe"), way_in=True), ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=5, decks=8) as shoe:
        shoe.rest_after(1)
        async with (
            serving(config, told, sees=Audience.RESTRICTED),
            calling(tmp_path / SOCKET) as caller,
        ):
            await told.times(1, "round.outcome")
            free[0] = 1_000_000
            await told.times(1, "disk.filling")
            (table,) = (await caller.asks(request="status"))["tables"]
            said = table["next"]["message"]
            assert "; the disk is full in " in said["text"]
            chinese = text(said, "zh")
            assert "磁盘将在" in chinese and "disk" not in chinese
            free[0] = PLENTY
            await told.times(1, "disk.relieved")
            (table,) = (await caller.asks(request="status"))["tables"]
            assert "disk" not in table["next"]["message"]["text"]
    public, restricted = (
        [event["type"] for event in lines_of(tmp_path / f"{audience}.jsonl")]
        for audience in ("public", "restricted")
    )
    warned = ["disk.filling", "disk.relieved"]
    assert [kind for kind in restricted if kind.startswith("disk.")] == warned
    assert not any(kind.startswith("disk.") for kind in public)
    nothing_is_wrong_with(tmp_path / "journal.db")
