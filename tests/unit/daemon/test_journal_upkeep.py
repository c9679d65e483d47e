"""When a journal is signed: at the start, at each shoe, in between, and never over nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from shoe_ctl.daemon.journal_upkeep import FIRST_S, Checkpointer
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.signing import Signer, open_signer
from shoe_ctl.journal.store import Store
from shoe_testing.journals import records, stored_round, verified
from shoe_testing.transports import HandClock, until

EVERY_S = 600.0


class AtWork:
    """A journal that is kept; ``signed`` counts its checkpoints."""

    def __init__(self, path: Path, writer: ThreadPoolExecutor) -> None:
        self.store = Store.open(path)
        self.journal = Journal(self.store, writer)
        self.clock = HandClock()
        load = partial(open_signer, path, None)
        self.keeper = Checkpointer(self.journal, load, self.clock, writer, every_s=EVERY_S)

    def signed(self) -> int:
        return sum(record.kind == "checkpoint" for record in records(self.store.path))

    async def until_signed(self, number: int) -> None:
        await until(lambda: self.signed() >= number)


@asynccontextmanager
async def at_work(path: Path) -> AsyncIterator[AtWork]:
    with ThreadPoolExecutor(1) as writer:
        kept = AtWork(path, writer)
        await kept.journal.commit(stored_round(0))  # nothing is signed where nothing is stored
        task = asyncio.create_task(kept.keeper.run())
        try:
            await until(lambda: kept.clock.asked == [FIRST_S])
            assert kept.signed() == 0
            await kept.clock.pass_next()
            await kept.until_signed(1)
            yield kept
        finally:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await kept.journal.close()


async def test_it_is_signed_at_the_start_at_each_shoe_and_at_intervals(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with at_work(path) as kept:
        await kept.journal.commit(stored_round(1))
        kept.keeper.new_shoe()
        await kept.until_signed(2)
        await kept.journal.commit(stored_round(2))
        await until(lambda: kept.clock.waiting)
        kept.clock.advance(EVERY_S - 1)
        assert kept.clock.waiting
        kept.clock.advance(1)
        await kept.until_signed(3)
    assert verified(path).signed.upto == 14


async def test_a_shoe_that_is_known_at_once_is_signed_no_sooner(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as writer:
        kept = AtWork(tmp_path / "journal.db", writer)
        await kept.journal.commit(stored_round(1))
        kept.keeper.new_shoe()
        running = asyncio.create_task(kept.keeper.run())
        await until(lambda: kept.clock.asked == [FIRST_S])
        kept.clock.advance(FIRST_S / 2)
        await asyncio.get_running_loop().run_in_executor(writer, int)
        assert kept.signed() == 0
        kept.clock.advance(FIRST_S)
        await kept.until_signed(1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await kept.journal.close()


async def test_the_log_has_what_the_note_of_a_checkpoint_says(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "journal.db"
    with caplog.at_level(logging.INFO):
        async with at_work(path) as kept:
            await kept.journal.commit(stored_round(1))
            await kept.keeper.sign()

    said = [line for line in caplog.messages if line.startswith("journal: signed: ")]
    notes = [record.body.decode().split("\n") for record in records(path) if not record.table]
    assert [line.rpartition(" public_key=")[0] for line in said] == [
        f"journal: signed: last_{record.replace(' ', '=')} {number.replace(' ', '=')}"
        f" size={size} root={root}"
        for _, size, root, number, record, *_ in notes
    ]
    assert len(said) == 2


async def test_nothing_new_is_not_signed_again(tmp_path: Path) -> None:
    async with at_work(tmp_path / "journal.db") as kept:
        for _ in range(3):
            await kept.clock.pass_next()
            await kept.keeper.sign()
        assert kept.signed() == 1


async def test_a_key_that_is_being_made_when_it_is_stopped_is_not_made_twice(
    tmp_path: Path,
) -> None:
    made: list[None] = []
    asked, go = Event(), Event()

    def load() -> Signer:
        made.append(None)
        asked.set()
        go.wait()
        return open_signer(path, None)

    path = tmp_path / "journal.db"
    with ThreadPoolExecutor(1) as writer, ThreadPoolExecutor(2) as loaders:
        journal = Journal(Store.open(path), writer)
        clock = HandClock()
        keeper = Checkpointer(journal, load, clock, loaders, every_s=EVERY_S)
        await journal.commit(stored_round(1))
        running = asyncio.create_task(keeper.run())
        await until(lambda: clock.waiting)
        await clock.pass_next()
        await asyncio.get_running_loop().run_in_executor(None, asked.wait)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        last = asyncio.create_task(keeper.sign())
        for _ in range(5):
            await asyncio.sleep(0)
        go.set()
        await last
        await journal.close()
    assert len(made) == 1
    assert verified(path).ok
