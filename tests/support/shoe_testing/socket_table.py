"""A table that people deal, served at a socket, and a dealer that knows only what it is told there.

In: a folder. Out: a daemon with its socket, a shoe on a pty, rounds dealt by commands.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from firmware_proto.cards import DECKS
from shoe_ctl.daemon.daemon import Daemon
from shoe_testing.daemon import TABLE, Told, serving
from shoe_testing.socket_client import Caller, calling
from simulators.ports.pty import PtyPort
from simulators.rig import Rig
from simulators.shoe.build import simulated_shoe
from simulators.table.dealer import Supply, dealer_for

POSITION = "gaming_shift_manager"


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
    async with serving(path, told, vfs=vfs) as daemon, calling(folder / "shoectl.sock") as caller:
        yield Table(daemon, rig, told, caller)
