"""The journal's file is taken away under a daemon at work: it stands still until the file is back.

In: a file moved, or put back as it once was. Out: no card lost, no other journal gone on with.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from shoe_ctl.daemon import outage
from shoe_ctl.journal.files import log_path
from shoe_ctl.journal.signing import open_signer
from shoe_testing.config import write_config
from shoe_testing.daemon import PATIENCE_S, ShoeAtTable, ToldEvents, nothing_is_wrong_with, serving
from shoe_testing.faulty_disk import FAULTS
from shoe_testing.journals import first_of, held, spoil
from shoe_testing.storage_faults import WAITS_FOR_RESUME, Evening

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "FIRST_RETRY_S", 0.01)
    monkeypatch.setattr(outage, "LONGEST_RETRY_S", 0.05)


@asynccontextmanager
async def evening(folder: Path) -> AsyncIterator[Evening]:
    with ShoeAtTable(folder, "reference", seed=43, decks=8) as shoe:
        night = Evening(folder, FAULTS[0], shoe)
        config = write_config(folder, str(folder / "shoe"), way_in=True)
        async with serving(config, night.told, tell=night.tell) as daemon:
            night.daemon = daemon
            await night.told.times(2, "round.outcome")
            yield night
            await night.ends()
        night.nothing_was_lost_doubled_or_made_up()


class Heard(logging.Handler):
    """Whoever waits for a warning of the daemon."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said = ""
        self._news = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self._said += record.getMessage()
        self._news.set()

    async def until(self, said: str) -> None:
        """Waits until this was said, in a warning of the daemon's loop."""
        async with asyncio.timeout(PATIENCE_S):
            while said not in self._said:
                self._news.clear()
                await self._news.wait()


@pytest.fixture
def heard() -> Iterator[Heard]:
    handler = Heard()
    outage.log.addHandler(handler)
    yield handler
    outage.log.removeHandler(handler)


async def test_a_journal_that_was_moved_is_gone_on_with_once_it_is_back(
    tmp_path: Path, heard: Heard
) -> None:
    journal, away = tmp_path / "journal.db", tmp_path / "away"
    async with evening(tmp_path) as night:
        journal.rename(away)
        await heard.until(f"{journal} not found. Restore journal.db")
        assert not journal.exists()
        away.rename(journal)
        await night.hears(WAITS_FOR_RESUME)
        await night.resumes()


async def test_another_journal_is_not_gone_on_with_in_its_place(
    tmp_path: Path, heard: Heard
) -> None:
    journal, away, old = (tmp_path / name for name in ("journal.db", "away", "old"))
    stored = ToldEvents()
    config = write_config(tmp_path, str(tmp_path / "shoe"), way_in=True)
    with ShoeAtTable(tmp_path, "reference", seed=43, decks=8) as shoe:
        shoe.rest_after(1)
        async with serving(config, stored):
            await shoe.rests()
            await stored.times(1, "round.outcome")
        shutil.copy(journal, old)
        shoe.go_on()
        night = Evening(tmp_path, FAULTS[0], shoe)
        async with serving(config, night.told, tell=night.tell) as daemon:
            night.daemon = daemon
            await night.told.times(2, "round.outcome")
            journal.rename(away)
            await heard.until(f"{journal} not found. Restore journal.db")
            log_path(journal).rename(log_path(away))  # what it was not written back of stands there
            shutil.copy(old, journal)
            await heard.until(f"{journal} may have lost its newest records: it ends at record")
            assert daemon.outage is not None
            journal.unlink()
            log_path(away).rename(log_path(journal))
            away.rename(journal)
            await night.hears(WAITS_FOR_RESUME)
            await night.resumes()
            await night.told.times(4, "round.outcome")
    assert nothing_is_wrong_with(journal) >= 4


async def test_a_journal_that_was_altered_meanwhile_is_not_gone_on_with(
    tmp_path: Path, heard: Heard
) -> None:
    journal, away, altered = (tmp_path / name for name in ("journal.db", "away", "altered"))
    async with evening(tmp_path) as night:
        journal.rename(away)
        await heard.until(f"{journal} not found. Restore journal.db")
        log_path(journal).rename(log_path(away))
        for from_, to in ((away, altered), (log_path(away), log_path(altered))):
            shutil.copy(from_, to)
        n, first = next((row[0], first_of(row)) for row in held(altered) if row[0] > 20)
        spoil(altered, f"UPDATE record_group SET body = zeroblob(length(body)) WHERE n = {n}")
        altered.rename(journal)
        await heard.until(f"{journal} is corrupt: record {first}: altered")
        journal.unlink()
        log_path(journal).unlink(missing_ok=True)
        log_path(away).rename(log_path(journal))
        away.rename(journal)
        await night.hears(WAITS_FOR_RESUME)
        await night.resumes()


async def test_a_journal_that_is_begun_anew_beside_an_old_key_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    open_signer(tmp_path / "journal.db", None)
    config = write_config(tmp_path, str(tmp_path / "shoe"))
    with ShoeAtTable(tmp_path, "reference", seed=43, decks=8):
        for warned in (True, False):
            caplog.clear()
            async with serving(config, told := ToldEvents()):
                await told.times(1, "round.outcome")
            assert ("journal: created beside an old key" in caplog.text) is warned
