"""An evening on a disk that fails again and again, at every call of its layer in turn.

Each time the table stands still until the disk works and a person resumes it; in the end every card
is where the shoe's own list has it, and everything published is stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from shoe_ctl.daemon import outage
from shoe_ctl.link.reconnect import LinkState
from shoe_testing.config import write_config
from shoe_testing.daemon import ShoeAtTable, runner, serving
from shoe_testing.faulty_disk import FAULTS, ONE_SYNC, Fault, disk
from shoe_testing.storage_faults import WAITS_FOR_RESUME, Evening
from shoe_testing.transports import HangingPorts, until

pytestmark = pytest.mark.slow


@asynccontextmanager
async def evening(folder: Path, fault: Fault) -> AsyncIterator[Evening]:
    with ShoeAtTable(folder, "reference", seed=41, decks=8) as shoe:
        night = Evening(folder, fault, shoe)
        config = write_config(folder, str(folder / "shoe"), way_in=True)
        with disk(night.failing) as layer:
            async with serving(config, night.told, vfs=layer.name, tell=night.tell) as daemon:
                night.daemon = daemon
                yield night
                await night.ends()
        night.nothing_was_lost_doubled_or_made_up()


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "FIRST_RETRY_S", 0.0)


CALLS = 24
"""How many calls an evening tries, one after another; a card costs about as many."""

FEW_CALLS = 3
SOAK_CALLS = 80

HOW_MANY = [
    FEW_CALLS,
    pytest.param(CALLS, marks=pytest.mark.exhaustive(cpu_s=2.5)),
    pytest.param(SOAK_CALLS, marks=pytest.mark.soak),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
@pytest.mark.parametrize("calls", HOW_MANY)
async def test_at_whichever_call_the_disk_fails_the_table_waits_for_a_person(
    tmp_path: Path, fault: Fault, calls: int
) -> None:
    async with evening(tmp_path, fault) as night:
        for at in range(1, calls + 1):
            night.failing.arm(at)
            await night.hears(WAITS_FOR_RESUME)
            await night.resumes()
    assert len(night.failing.met) >= calls


async def test_after_an_outage_a_port_is_opened_once_its_closing_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hanging = HangingPorts(monkeypatch)
    async with evening(tmp_path, ONE_SYNC) as night:
        night.failing.arm(1)
        await night.hears(WAITS_FOR_RESUME)
        assert hanging.closing == 1
        await night.resumes()
        assert night.daemon is not None
        link = runner(night.daemon).link._supervisor
        assert link is not None
        await until(lambda: link.state is LinkState.CONNECTING)
        await asyncio.wrap_future(night.daemon._executor.submit(int))  # behind an opening, if any
        await asyncio.sleep(0)
        hanging.sent.set()
    assert "port taken" not in caplog.text


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
@pytest.mark.parametrize("calls", HOW_MANY)
async def test_a_disk_that_fails_again_while_the_journal_is_reopened_only_prolongs_the_outage(
    tmp_path: Path, fault: Fault, calls: int
) -> None:
    async with evening(tmp_path, fault) as night:
        for at in range(1, calls + 1):
            night.failing.arm(1)
            night.failing.then = at
            await night.hears(WAITS_FOR_RESUME)
            await night.resumes()
    assert len(night.failing.met) > calls
