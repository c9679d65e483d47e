"""Leaving the sinks in a hurry: what a thread still reads is not closed under it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partialmethod
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from shoe_ctl.daemon.delivery import NamedSink, delivering
from shoe_ctl.daemon.environment import SYSTEM
from shoe_ctl.daemon.worker_thread import WorkerThread
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience
from shoe_testing.journals import Never, stored, stored_round


class Nowhere:
    async def deliver(self, events: object) -> None:
        """Takes all."""


def _instead(its: object, call: Callable[..., Any], *args: Any, **named: Any) -> Any:
    return call(its, *args, **named)


class SlowDisk:
    """Holds the first read back until a thread is to end; remembers how the read went."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reading, self._go = Event(), Event()
        self.went: list[object] = []
        self._read, self._shut = Reader.events, WorkerThread.shutdown
        monkeypatch.setattr(Reader, "events", partialmethod(_instead, self.read))
        monkeypatch.setattr(WorkerThread, "shutdown", partialmethod(_instead, self.shut))

    def read(self, *args: Any, **named: Any) -> Any:
        self.reading.set()
        self._go.wait()
        try:
            found = self._read(*args, **named)
        except Exception as error:
            self.went.append(error)
            raise
        self.went.append("well")
        return found

    def shut(self, *args: Any, **named: Any) -> None:
        self._go.set()
        self._shut(*args, **named)


async def test_a_reader_is_closed_only_when_nobody_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    stored(path, [stored_round(0)])  # which the sink lacks, so that it reads
    store = Store.open(path)
    disk = SlowDisk(monkeypatch)
    with ThreadPoolExecutor(1) as writer:
        journal = Journal(store, writer)

        async def at_work() -> None:
            places = [NamedSink("a", Audience.PUBLIC, Nowhere())]
            async with delivering(places, journal, store, SYSTEM, lambda *_: Never()):
                await asyncio.Event().wait()

        serving = asyncio.create_task(at_work())
        await asyncio.get_running_loop().run_in_executor(None, disk.reading.wait)
        for _ in range(2):  # as two signals do: the second while it waits for the first
            serving.cancel()
            for _ in range(10):
                await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await serving
        await journal.close()
    assert disk.went == ["well"]
