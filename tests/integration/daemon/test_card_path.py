"""The way of one card through the daemon, from its bytes at the port to its line in a sink.

Whoever follows a card through the code opens each file on its way, and turns from one to another at
each change. A bound on both keeps that readable, and every file more is also one more piece of code
that is not in the processor's caches when a card comes after a rest.
"""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from types import FrameType

import pytest

import firmware_proto
import shoe_ctl
from shoe_ctl.clock import SystemClock
from shoe_ctl.config.schema import load
from shoe_ctl.daemon import journal_upkeep
from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.journal import journal
from shoe_testing.config import FACE_UP, PUBLIC_SINK, make_config, table_section
from shoe_testing.daemon import ready_or_ended, stopped
from shoe_testing.rounds import lines_of, of_type
from shoe_testing.transports import until
from simulators.shoe.build import simulated_shoe
from simulators.shoe.model import CardOut

MOST_FILES = 36
MOST_CHANGES = 180
"""Calls of a function in another file than that of the call before, in all threads together."""

NEVER_S = 3600.0

QUIET_S = 0.1
"""Less than the time after which a host asks a shoe again that does not answer."""

OURS = tuple(f"{folder}/" for package in (shoe_ctl, firmware_proto) for folder in package.__path__)


class Calls:
    """The files of the functions of ours that are called, in every thread that begins after it."""

    def __init__(self) -> None:
        self.files: list[str] = []

    def note(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(OURS):
            self.files.append(frame.f_code.co_filename)


@contextmanager
def counted() -> Iterator[Calls]:
    """Calls in this thread, and in those that begin meanwhile."""
    calls, before = Calls(), sys.getprofile()
    threading.setprofile(calls.note)
    sys.setprofile(calls.note)
    try:
        yield calls
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


class ShoeInHand:
    """A shoe on a pty that says nothing unless it is asked to."""

    def __init__(self) -> None:
        self._fd, there = os.openpty()
        tty.setraw(there, termios.TCSANOW)
        os.set_blocking(self._fd, False)
        self.port = os.ttyname(there)
        self._there = there
        self._device = simulated_shoe("reference", seed=1)
        self._device.boot(perf_counter())
        self._device.host_opened()

    def close(self) -> None:
        os.close(self._fd)
        os.close(self._there)

    @property
    def is_armed(self) -> bool:
        """Once it has answered its host; and its host is told all that it has to say."""
        with suppress(BlockingIOError):
            self._device.receive(os.read(self._fd, 4096), perf_counter())
        self._device.tick(perf_counter())
        os.write(self._fd, self._device.outgoing())
        return self._device.lamp is not None

    def draw(self, calls: Calls) -> None:
        """A card leaves it: that and its new status are one write. Calls count from then on."""
        assert isinstance(self._device.draw(perf_counter()), CardOut)
        data = self._device.outgoing()
        calls.files.clear()
        os.write(self._fd, data)


async def until_quiet(calls: Calls) -> None:
    """Waits until nothing is called for a while: all that was to be done is done."""
    seen = -1
    while seen != len(calls.files):
        seen = len(calls.files)
        await asyncio.sleep(QUIET_S)


def dealt_to(lines: Path) -> str | None:
    """Whose hand the last card that the sink was told of went to."""
    dealt = of_type(lines_of(lines), "round.card_dealt")
    return dealt[-1]["hand"] if dealt else None


async def test_a_card_enters_few_files_and_changes_between_them_seldom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_upkeep, "FIRST_S", NEVER_S)  # no card waits for a signature
    monkeypatch.setattr(journal, "CURSOR_DELAY_S", NEVER_S)  # nor for a cursor
    shoe, lines = ShoeInHand(), tmp_path / "public.jsonl"
    table = table_section(port=shoe.port, announcements="implied", method_b=FACE_UP)
    config = tmp_path / "table.toml"
    config.write_text(make_config(table, sink=[PUBLIC_SINK]))
    with counted() as calls, ThreadPoolExecutor(1, "port") as executor:
        clock = SystemClock()
        daemon = Daemon(load(config), clock=clock, executor=executor, host_boot="boot-1")
        ready = asyncio.Event()
        task = asyncio.create_task(daemon.run(ready.set), name="daemon")
        try:
            await ready_or_ended(task, ready)
            paths: list[list[str]] = []
            for hand in ("player", "banker", "player"):  # the first card opens the round
                await until(lambda: shoe.is_armed)
                await until_quiet(calls)
                shoe.draw(calls)
                await until(lambda: dealt_to(lines) == hand)  # noqa: B023 - it ends in this turn
                await until_quiet(calls)
                paths.append(list(calls.files))
        finally:
            await stopped(task)
            shoe.close()
    # A busy machine adds calls to a card's path, by timers and half-read lines: the shorter counts.
    called = min(paths[1:], key=changes_of_file)
    files = sorted(set(called))
    assert len(files) <= MOST_FILES, "\n".join(files)
    assert changes_of_file(called) <= MOST_CHANGES


def changes_of_file(called: list[str]) -> int:
    return 1 + sum(before != after for before, after in pairwise(called))
