"""A table that people deal, served at a socket, and a dealer that knows only what it is told there.

In: a folder. Out: a daemon with its socket, a shoe on a pty, rounds dealt by commands.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from firmware_proto.cards import DECKS
from shoe_ctl.clock import SystemClock
from shoe_ctl.config.schema import load
from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.daemon.delivery import NamedSink
from shoe_ctl.records import Audience
from shoe_testing.socket_client import PATIENCE_S, Caller, calling
from simulators.ports.pty import PtyPort
from simulators.rig import Rig
from simulators.shoe.build import simulated_shoe
from simulators.table.dealer import Supply, dealer_for

TABLE = "bac-07"
POSITION = "gaming_shift_manager"


class Told:
    """A sink that keeps the public events, over restarts too, and can be waited on."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._news = asyncio.Event()

    async def deliver(self, events: Sequence[bytes]) -> None:
        self.events += [json.loads(event) for event in events]
        self._news.set()

    def data(self, kind: str) -> list[dict[str, Any]]:
        """The data of the events of this type."""
        return [event["data"] for event in self.events if event["type"] == kind]

    async def until(self, so: Callable[[], bool]) -> None:
        """Waits until it is so; looked at after each delivery."""
        async with asyncio.timeout(PATIENCE_S):
            while not so():
                self._news.clear()
                await self._news.wait()


@contextmanager
def shoe_on_a_pty(folder: Path, *, seed: int) -> Iterator[Rig]:
    """A shoe in this loop, and a hand that draws when its lamp says so."""
    device = simulated_shoe("reference", seed=seed)
    dealer = dealer_for(device, Supply(DECKS["french52"], 8, 0, 0), pace_s=0.0)
    rig = Rig(device, PtyPort(str(folder / "shoe")), dealer)
    dealer.open_table(rig.now)
    rig.start()
    try:
        yield rig
    finally:
        rig.stop()


@asynccontextmanager
async def serving(config: Path, told: Told, vfs: str | None = None) -> AsyncIterator[Daemon]:
    """The daemon at work; on leaving it is cancelled, as SIGTERM does."""
    with ThreadPoolExecutor(1, "port") as executor:
        daemon = Daemon(
            load(config),
            clock=SystemClock(),
            executor=executor,
            host_boot="boot-1",
            sinks=[NamedSink("told", Audience.PUBLIC, told)],
            vfs=vfs,
        )
        ready = asyncio.Event()
        task = asyncio.create_task(daemon.run(ready.set), name="daemon")
        waiting = asyncio.create_task(ready.wait())
        try:
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            yield daemon
        finally:
            waiting.cancel()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


def configuration(
    folder: Path,
    *,
    position: str = POSITION,
    audience: str = "public",
    decks: int = 8,
    also: Sequence[str] = (),
) -> Path:
    """A table whose dealer announces and turns the cards, and this very user at the socket."""
    path = folder / "table.toml"
    path.write_text(
        f"""
[[table]]
id = "{TABLE}"
game = "tiger"
decks = {decks}
announcements = "explicit"
[table.shoe]
profile = "reference"
port = {json.dumps(str(folder / "shoe"))}
[socket]
[[socket.user]]
user = {os.getuid()}
position = "{position}"
audience = "{audience}"
also = {json.dumps(list(also))}
"""
    )
    return path


class Table:
    """One evening at the table: the daemon, the shoe, and what the public was told."""

    def __init__(self, daemon: Daemon, rig: Rig, told: Told, caller: Caller) -> None:
        self.daemon = daemon
        self.rig = rig
        self.told = told
        self.caller = caller
        self.seen: list[dict[str, Any]] = []
        self._settled = 0

    async def status(self) -> dict[str, Any]:
        answer = await self.caller.asks(request="status")
        (held,) = answer["tables"]
        self.seen.append(held)
        return dict(held)

    async def deal(self, until: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Does what is next, and nothing else, until the table stands as wanted."""
        while True:
            before = len(self.told.events)
            held = await self.status()
            if until(held):
                return held
            due = held["next"]
            if due["command"] is None:
                await self._told_more(before)
                continue
            answer = await self.caller.gives(due["command"], args=due["args"])
            assert answer["accepted"], answer
            self._settled += due["command"] == "settle"

    async def _told_more(self, than: int) -> None:
        await self.told.until(lambda: len(self.told.events) > than)

    async def rounds(self, wanted: int) -> None:
        """Deals so many rounds, to the last one's payment and what the public was told of it."""
        await self.deal(lambda held: held["state"] == "idle" and self._settled >= wanted)
        await self.told.until(lambda: len(self.told.data("round.settled")) >= wanted)


@asynccontextmanager
async def at_the_table(
    folder: Path, *, seed: int = 7, told: Told | None = None, **config: Any
) -> AsyncIterator[Table]:
    told = Told() if told is None else told
    with shoe_on_a_pty(folder, seed=seed) as rig:
        async with served(folder, rig, told, **config) as table:
            yield table


@asynccontextmanager
async def served(
    folder: Path, rig: Rig, told: Told, vfs: str | None = None, **config: Any
) -> AsyncIterator[Table]:
    """The daemon at this shoe; it may be served again after it was stopped."""
    path = configuration(folder, **config)
    async with serving(path, told, vfs) as daemon, calling(folder / "shoectl.sock") as caller:
        yield Table(daemon, rig, told, caller)
